#include "os/shim/log_writer.h"

#include <asm/signal.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/stat.h>

#include "os/shim/report.h"
#include "os/shim/sys.h"

#define NAME_BYTES 256 /* NAME_MAX and a NUL */
#define STACK_BYTES 2048
#define LOG_FD 1

static struct statx opened SHIM_LARGE; /* the file then */

/* The next component of *@path into @name; moves *@path behind it. 0: there is none, or a negative
 * errno. */
static long log_writer_next(const char **path, char name[NAME_BYTES])
{
	const char *from = *path;
	long len = 0;

	while (*from == '/' || (from[0] == '.' && (from[1] == '/' || !from[1])))
		from++;
	for (; from[len] && from[len] != '/'; len++) {
		if (len == NAME_BYTES - 1)
			return -ENAMETOOLONG;
		name[len] = from[len];
	}
	name[len] = '\0';
	*path = from + len;
	return len == 2 && name[0] == '.' && name[1] == '.' ? -EXDEV : len;
}

/* 0 if @name in @dir ("": @dir itself) is a regular file with one link; a negative errno. */
static long log_writer_check(long dir, const char *name, struct statx *st)
{
	long result = sys5(__NR_statx, dir, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
			   STATX_TYPE | STATX_NLINK | STATX_SIZE, st);

	if (result < 0)
		return result;
	if (S_ISLNK(st->stx_mode))
		return -ELOOP;
	if (!S_ISREG(st->stx_mode))
		return S_ISDIR(st->stx_mode) ? -EISDIR : -EOPNOTSUPP;
	return st->stx_nlink > 1 ? -EMLINK : 0;
}

/* Open the last component. Looks first: to open a device or a FIFO may have effects. */
static long log_writer_open_file(long dir, const char *name)
{
	struct statx st;
	long result = log_writer_check(dir, name, &st), fd;

	if (result < 0 && result != -ENOENT)
		return result;
	fd = sys4(__NR_openat, dir, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW |
		  O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
	if (fd < 0)
		return fd;
	result = log_writer_check(fd, "", &st); /* it may be another one by now */
	return result < 0 ? result : fd;
}

static long log_writer_open(const char *path)
{
	char name[NAME_BYTES], next[NAME_BYTES];
	long dir = AT_FDCWD, len = log_writer_next(&path, name), more = len;

	while (len > 0 && (more = log_writer_next(&path, next)) > 0) {
		struct statx st;
		long deeper = sys4(__NR_openat, dir, name,
				   O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);

		/* open(2): a link is ENOTDIR here. */
		if (deeper == -ENOTDIR && log_writer_check(dir, name, &st) == -ELOOP)
			deeper = -ELOOP;
		if (deeper < 0)
			return deeper;
		if (dir != AT_FDCWD)
			sys1(__NR_close, dir);
		dir = deeper;
		for (long i = 0; i <= more; i++)
			name[i] = next[i];
	}
	if (len <= 0 || more < 0)
		return len < 0 ? len : more < 0 ? more : -EISDIR;
	return path[-1] == '/' ? -EISDIR : log_writer_open_file(dir, name);
}

/* ---- the writer ---- */

/* Write all of @len bytes; counts into *@written. 0 or a negative errno. */
static long log_writer_write(const uint8_t *bytes, uint64_t len, uint64_t *written)
{
	while (len) {
		long n = sys3(__NR_write, LOG_FD, bytes, len);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? n : -EIO;
		bytes += n;
		len -= (uint64_t)n;
		*written += (uint64_t)n;
	}
	return 0;
}

static long log_writer_look(struct statx *st)
{
	return sys5(__NR_statx, LOG_FD, "", AT_EMPTY_PATH, STATX_SIZE | STATX_MTIME, st);
}

/* The bytes that the file may still grow by, into *@room: others may write to it too. 0 or a
 * negative errno. */
static long log_writer_room(uint64_t log_bytes, uint64_t *room)
{
	struct statx st;
	long result = log_writer_look(&st);

	if (result < 0)
		return result;
	*room = st.stx_size < log_bytes ? log_bytes - st.stx_size : 0;
	return 0;
}

/* Was the file written to since it was opened, as by a command whose own output goes there? */
static int log_writer_is_touched(void)
{
	struct statx st;

	return log_writer_look(&st) < 0 || st.stx_size != opened.stx_size ||
	       st.stx_mtime.tv_sec != opened.stx_mtime.tv_sec ||
	       st.stx_mtime.tv_nsec != opened.stx_mtime.tv_nsec;
}

/* Drop what the file held, once a byte says that the command has begun; but nothing that was
 * written meanwhile: *@kept. 1: go on. Else there is nothing to write: 0: the command never began;
 * or a negative errno. */
static long log_writer_truncate(int32_t *kept)
{
	uint8_t begun;
	long result = sys3(__NR_read, 0, &begun, 1);

	if (result <= 0)
		return result;
	*kept = opened.stx_size && log_writer_is_touched();
	if (opened.stx_size && !*kept)
		result = sys2(__NR_ftruncate, LOG_FD, 0);
	return result < 0 ? result : 1;
}

/* Copy stdin to the file. Returns what stopped it, as SHIM_LOGGED has it; 0: the end of file. */
static int log_writer_copy(struct shim_plan *plan, uint64_t *written)
{
	for (;;) {
		/* Our copy of the plan is not needed any more. */
		long n = sys3(__NR_read, 0, plan->tail, sizeof(plan->tail)), result;
		uint64_t room, len;

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return (int)-n;
		result = log_writer_room(plan->log_bytes, &room);
		if (result < 0)
			return (int)-result;
		len = (uint64_t)n < room ? (uint64_t)n : room;
		result = log_writer_write(plan->tail, len, written);
		if (result < 0)
			return (int)-result;
		if (len < (uint64_t)n)
			return SHIM_LOG_FULL;
	}
}

/* Entry of the writer. All signals are blocked, so a write beyond RLIMIT_FSIZE is EFBIG. */
static int log_writer_run(void *ctx)
{
	struct shim_plan *plan = ctx;
	struct shim_report report = { .event = SHIM_LOGGED };
	uint64_t written = 0;
	long result = 1;

	sys5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* No process of the run, which has our uid, may get at the shim's socket through us. */
	sys5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	sys5(__NR_prctl, PR_SET_NAME, "procpen-log", 0, 0, 0);
	if (plan->flags & SHIM_LOG_TRUNCATE)
		result = log_writer_truncate(&report.value);
	report.error = result > 0 ? log_writer_copy(plan, &written) : (int)-result;
	result = sys1(__NR_close, LOG_FD); /* close(2): NFS and quotas may only fail here */
	if (!report.error && result < 0 && result != -EINTR)
		report.error = (int)-result;
	report.io_write_bytes = written;
	(void)report_send(&report);
	return 0;
}

long log_writer_start(struct shim_plan *plan, const char *path)
{
	static char stack[STACK_BYTES] SHIM_LARGE __attribute__((aligned(16)));
	long fd = log_writer_open(path), pid;

	if (fd < 0)
		return fd;
	sys3(__NR_fcntl, fd, F_SETFL, O_APPEND);
	sys3(__NR_dup3, fd, LOG_FD, O_CLOEXEC);
	(void)log_writer_look(&opened);
	sys3(__NR_close_range, SHIM_FD_CONTROL + 1, ~0U, 0);
	/* A process of its own memory: the shim must not wait for it as it does for an exec. */
	pid = sys_clone_call(CLONE_PARENT | SIGCHLD, stack + STACK_BYTES, 0, log_writer_run, plan);
	return pid < 0 ? pid : 0;
}
