#include "os/shim/proctree.h"

#include <stdbool.h>
#include <stddef.h>

#include <asm/signal.h>
#include <linux/fcntl.h>

#include "os/shim/sys.h"

#define OTHERS_MAX 128 /* a listing of more takes longer than a kill may wait */
#define TREE_MAX 8192 /* processes looked at in one pass; the next pass sees the rest */
#define WALK_PASSES 50 /* over a tree that grows during a walk */

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static int self_pid;
static int children_fd = -1; /* our own children: open early, in case descriptors run out */
static int tree[TREE_MAX] SHIM_LARGE;
static char scratch[4096] SHIM_LARGE;
static uint64_t page_bytes; /* 0: not asked yet */

static char *put_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = '\0';
	return at;
}

static char *put_number(char *at, unsigned number)
{
	char digits[12];
	int n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n)
		*at++ = digits[--n];
	*at = '\0';
	return at;
}

/* Leading decimal number at *@at, which moves behind it; 0 if there is none. */
static uint64_t take_number(const char **at)
{
	uint64_t number = 0;

	while (**at >= '0' && **at <= '9')
		number = number * 10 + (uint64_t)(*(*at)++ - '0');
	return number;
}

/* Read the whole of a small /proc file into scratch as a C string; its length or -errno. */
static long read_proc(const char *path)
{
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return fd;
	n = sys3(__NR_read, fd, scratch, sizeof(scratch) - 1);
	sys1(__NR_close, fd);
	scratch[n > 0 ? n : 0] = '\0';
	return n;
}

/* Read /proc/PID/@name into scratch; its length, or not more than 0. */
static long read_of(int pid, const char *name)
{
	char path[40];

	put_text(put_number(put_text(path, "/proc/"), (unsigned)pid), name);
	return read_proc(path);
}

/* The ") S ..." of /proc/PID/stat, or 0 if @pid is gone. */
static const char *behind_name(int pid)
{
	long n = read_of(pid, "/stat");
	const char *at = scratch + n;

	if (n <= 0)
		return 0;
	while (at > scratch && *at != ')') /* the name may hold anything, also ')' */
		at--;
	return at[0] == ')' && at[1] == ' ' ? at : 0;
}

/* State letter and parent of @pid from /proc/PID/stat; 0 if it is gone. */
static char state_of(int pid, int *parent)
{
	const char *at = behind_name(pid);

	if (!at)
		return 0;
	if (parent) {
		const char *number = at + 4;

		*parent = (int)take_number(&number);
	}
	return at[2];
}

/* Append what the children file @fd lists to tree[]; the new count. */
static int add_listed(long fd, int count)
{
	int number = 0;
	long n, at = 0;

	for (; (n = sys4(__NR_pread64, fd, scratch, sizeof(scratch), at)) > 0; at += n)
		for (long i = 0; i < n; i++) {
			if (scratch[i] >= '0' && scratch[i] <= '9') {
				number = number * 10 + (scratch[i] - '0');
			} else if (number) {
				if (count < TREE_MAX)
					tree[count++] = number;
				number = 0;
			}
		}
	return count;
}

static int add_children(const char *path, int count)
{
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return count;
	count = add_listed(fd, count);
	sys1(__NR_close, fd);
	return count;
}

/* Call @fn with each name in the directory @path, those that begin with a dot left out, until it
 * says no. It may not look into another directory meanwhile. */
static void each_entry(const char *path, bool (*fn)(void *ctx, const char *name), void *ctx)
{
	static char entries[2048] SHIM_LARGE;
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	bool more = true;
	long n;

	if (fd < 0)
		return;
	while (more && (n = sys3(__NR_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; more && at < n;) {
			struct dirent64 *entry = (struct dirent64 *)(void *)(entries + at);

			at += entry->reclen;
			if (entry->name[0] != '.')
				more = fn(ctx, entry->name);
		}
	sys1(__NR_close, fd);
}

/* A walk over the threads of a process. */
struct threads {
	char path[64];
	char *tail; /* in it, where a thread's name goes */
	int count;  /* of tree[] */
	uint64_t *resident, *shared;
};

static void each_thread(int pid, bool (*fn)(void *ctx, const char *name), struct threads *t)
{
	t->tail = put_text(put_number(put_text(t->path, "/proc/"), (unsigned)pid), "/task/");
	each_entry(t->path, fn, t);
}

static bool add_children_of_thread(void *ctx, const char *name)
{
	struct threads *t = ctx;

	put_text(put_text(t->tail, name), "/children");
	t->count = add_children(t->path, t->count);
	return true;
}

/* Append the children of all threads of @pid. */
static int add_children_of(int pid, int count)
{
	struct threads t = { .count = count };

	each_thread(pid, add_children_of_thread, &t);
	return t.count;
}

static bool add_child(void *ctx, const char *name)
{
	int *count = ctx, pid = (int)take_number(&name), parent = 0;

	if (pid && state_of(pid, &parent) && parent == self_pid && *count < TREE_MAX)
		tree[(*count)++] = pid;
	return true;
}

/* Without CONFIG_PROC_CHILDREN: our own children by a scan of /proc. Deeper ones follow when
 * their parents are dead and they are ours. */
static int add_children_by_scan(int count)
{
	each_entry("/proc", add_child, &count);
	return count;
}

static int add_own_children(int count)
{
	return children_fd < 0 ? add_children_by_scan(count) : add_listed(children_fd, count);
}

int proctree_children(const int **pids)
{
	*pids = tree;
	return add_own_children(0);
}

static bool count_process(void *ctx, const char *name)
{
	uint32_t *count = ctx;

	*count += name[0] >= '1' && name[0] <= '9';
	return *count <= OTHERS_MAX;
}

uint32_t proctree_others(void)
{
	uint32_t count = 0;

	each_entry("/proc", count_process, &count);
	return count ? count - 1 : 0;
}

int proctree_list(const int **pids)
{
	int count = proctree_children(pids);

	if (children_fd < 0)
		return count;
	for (int i = 0; i < count; i++)
		count = add_children_of(tree[i], count);
	return count;
}

/* The number in the @fields-th field behind *@at, which moves there. */
static uint64_t skip_fields(const char **at, int fields)
{
	while (fields && **at)
		fields -= *(*at)++ == ' ';
	return take_number(at);
}

int proctree_facts(int pid, struct proctree_facts *facts)
{
	const char *at = behind_name(pid);

	if (!at)
		return -1;
	facts->state = at[2];
	facts->parent = (int)skip_fields(&at, 2); /* ppid, 4th of all fields */
	facts->group = (int)skip_fields(&at, 1);
	facts->child_ticks = skip_fields(&at, 11); /* cutime, 16th */
	facts->child_ticks += skip_fields(&at, 1); /* cstime */
	facts->threads = (uint32_t)skip_fields(&at, 3);
	facts->ignores_children = skip_fields(&at, 13) >> (SIGCHLD - 1) & 1; /* sigignore, 33rd */
	return 0;
}

/* A process whose first thread has ended is a zombie to look at, and lives on in the others. */
static bool shows_life(const struct proctree_facts *facts)
{
	return (facts->state != 'Z' || facts->threads > 1) && facts->state != 'X';
}

int proctree_is_live(int pid)
{
	struct proctree_facts facts;

	return !proctree_facts(pid, &facts) && shows_life(&facts);
}

/* ---- a walk ---- */

static bool is_listed(int pid, int count)
{
	for (int i = 0; i < count; i++)
		if (tree[i] == pid)
			return true;
	return false;
}

/* Of what was appended to the first @known entries of tree[] keep what is new; the new count. */
static int keep_new(int known, int count)
{
	int kept = known;

	for (int i = known; i < count; i++)
		if (!is_listed(tree[i], kept))
			tree[kept++] = tree[i];
	return kept;
}

/* Append to the first @known entries of tree[] who else is below us now; the new count. */
static int add_new(int known)
{
	int count = keep_new(known, add_own_children(known));

	for (int i = 0; i < count && children_fd >= 0; i++)
		count = keep_new(count, add_children_of(tree[i], count));
	return count;
}

/* Only who still has its parent among us is ours: the number may be another's by now. */
static bool is_member(int pid, int count, struct proctree_facts *facts)
{
	return !proctree_facts(pid, facts) && shows_life(facts) &&
	       (facts->parent == self_pid || is_listed(facts->parent, count));
}

void proctree_walk(void (*visit)(void *ctx, int pid, const struct proctree_facts *facts),
		   void *ctx)
{
	int count = add_new(0), visited = 0;

	for (int pass = 0; visited < count && pass < WALK_PASSES; pass++) {
		for (; visited < count; visited++) {
			struct proctree_facts facts;

			if (is_member(tree[visited], count, &facts))
				visit(ctx, tree[visited], &facts);
		}
		count = add_new(count);
	}
}

/* What stands in scratch behind the beginning of a line and blanks; 0 if there is no such line. */
static const char *behind(const char *name)
{
	for (const char *at = scratch; *at; at++) {
		size_t n = 0;

		while (name[n] && at[n] == name[n])
			n++;
		if (!name[n]) {
			for (at += n; *at == ' ' || *at == '\t'; at++)
				;
			return at;
		}
		while (*at && *at != '\n')
			at++;
		if (!*at)
			break;
	}
	return 0;
}

static uint64_t line_kib(const char *name)
{
	const char *at = behind(name);

	return at ? take_number(&at) : 0;
}

int proctree_stop_pending(int pid)
{
	const unsigned bit = SIGSTOP - 1, place = 15 - bit / 4; /* 16 digits, the highest first */
	const char *at = read_of(pid, "/status") > 0 ? behind("ShdPnd:") : 0;
	unsigned digit;

	for (unsigned i = 0; at && i < 16; i++)
		if (!at[i])
			return 0;
	if (!at)
		return 0;
	digit = (unsigned)(at[place] <= '9' ? at[place] - '0' : at[place] - 'a' + 10);
	return digit >> bit % 4 & 1;
}

/* The unit of statm; some machines have pages of 16 or 64 KiB. */
static void learn_page_size(void)
{
	if (read_proc("/proc/self/smaps") > 0)
		page_bytes = line_kib("KernelPageSize:") * 1024;
	if (!page_bytes)
		page_bytes = 4096;
}

/* Resident and shared pages in the statm that was just read. */
static void take_pages(uint64_t *resident, uint64_t *shared)
{
	const char *at = scratch;

	*resident = skip_fields(&at, 1);
	*shared = skip_fields(&at, 1);
}

static bool take_pages_of_thread(void *ctx, const char *name)
{
	struct threads *t = ctx;

	put_text(put_text(t->tail, name), "/statm");
	if (read_proc(t->path) > 0)
		take_pages(t->resident, t->shared);
	return !*t->resident;
}

/* The memory of a process is told by any thread that has not ended; the first one may have. */
static void take_pages_of_threads(int pid, uint64_t *resident, uint64_t *shared)
{
	struct threads t = { .resident = resident, .shared = shared };

	each_thread(pid, take_pages_of_thread, &t);
}

int proctree_memory(int pid, struct proctree_memory *memory)
{
	uint64_t resident, shared;

	if (!page_bytes)
		learn_page_size();
	if (read_of(pid, "/statm") <= 0)
		return -1;
	take_pages(&resident, &shared);
	if (!resident)
		take_pages_of_threads(pid, &resident, &shared);
	memory->resident = resident * page_bytes;
	memory->private = (resident > shared ? resident - shared : 0) * page_bytes;
	return 0;
}

int64_t proctree_proportional(int pid)
{
	uint64_t kib;

	if (read_of(pid, "/smaps_rollup") <= 0)
		return -1;
	kib = line_kib("Pss_Anon:") + line_kib("Pss_Shmem:");
	/* Kernels before 5.3 have neither line; every process has anonymous memory. */
	return kib ? (int64_t)((kib + line_kib("SwapPss:")) * 1024) : -1;
}

void proctree_io(int io_fd, uint64_t *read_bytes, uint64_t *write_bytes)
{
	const char *at = scratch;
	long n = sys4(__NR_pread64, io_fd, scratch, sizeof(scratch) - 1, 0);
	uint64_t *value = NULL;

	scratch[n > 0 ? n : 0] = '\0';
	for (; *at; at++) {
		if (at != scratch && at[-1] != '\n')
			continue;
		value = at[0] == 'r' && at[1] == 'e' ? read_bytes
		      : at[0] == 'w' && at[1] == 'r' ? write_bytes
						     : NULL;
		while (*at && *at != ' ')
			at++;
		if (!*at)
			return;
		if (value) {
			at++;
			*value = take_number(&at);
			if (!*at)
				return;
		}
	}
}

/* Without this file (CONFIG_PROC_CHILDREN) children are found by scanning /proc. */
void proctree_init(int pid)
{
	char path[64];
	char *at = put_number(put_text(path, "/proc/self/task/"), (unsigned)pid);

	self_pid = pid;
	put_text(at, "/children");
	children_fd = (int)sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}
