/*
 * What a keeper was made with is kept as the bytes of its plan; a request fits if
 * its plan has the same ones. Everything else of a plan (limits, groups, umask,
 * capabilities) is entered by the command's own process and comes with the second
 * message.
 *
 * Keepers of one kind are alike: made by the same plan, in the same state of the
 * host's mounts and of what lies at hidden paths. With the first difference there is
 * another kind, and no keeper of an old one is used again.
 */
#include "os/spawn/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define WAITING_MAX 16    /* as many commands of a burst find one */
#define UNUSED_MS 30000   /* what nobody has needed for so long goes */
#define MORE_MS 5         /* a short command gives its keeper back before another one is made */
#define RUNS_MAX 1000     /* of one keeper */
#define OWN_FLAGS (SHIM_ANNOUNCE | SHIM_SPARE | SHIM_FED | SHIM_STAYS)
#define NEVER (SHIM_LISTENER | SHIM_TRIAL | SHIM_NET_NS)

struct keeper {
	pid_t pid;
	int control_fd;
	bool ready; /* it has said so */
	struct spawn_past past;
};

/* What lay at a hidden path. Held open, so that nothing else gets its inode number. */
struct found {
	int fd; /* -1: nothing was there */
	struct timespec changed;
};

struct spare {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct shim_plan *plan; /* what keepers are made with now; NULL: nothing was started yet */
	size_t made_of;         /* bytes of its tail that count */
	int clone_flags;
	uint32_t kind;          /* counts up; 0 is none */
	struct keeper waiting[WAITING_MAX];
	size_t count;
	size_t least;           /* so many have waited all the time since `unused` began */
	ev_timer more, unused;
	struct found *hidden;   /* at the plan's hidden paths, in order */
	size_t hidden_count;
	int mounts_fd;          /* /proc/self/mountinfo: tells of changes (proc(5)) */
};

/* ---- those that wait ---- */

/* Take the i-th out. */
static struct keeper take_out(struct spare *s, size_t i)
{
	struct keeper k = s->waiting[i];

	s->waiting[i] = s->waiting[--s->count];
	if (s->count < s->least)
		s->least = s->count;
	if (!s->count)
		loop_timer_stop(s->loop, &s->unused);
	reaper_unwatch(s->reaper, k.pid);
	return k;
}

static void on_gone(void *ctx, pid_t pid, int wait_status)
{
	(void)ctx;
	(void)pid;
	(void)wait_status;
}

/* It sees its socket close, and leaves. Watched until then, or a hunt would take it for an orphan
 * of the run it hunts. */
static void send_away(struct spare *s, const struct keeper *k)
{
	reaper_watch(s->reaper, k->pid, on_gone, NULL);
	close(k->control_fd);
}

static void dismiss(struct spare *s, size_t i)
{
	struct keeper k = take_out(s, i);

	send_away(s, &k);
}

static void dismiss_all(struct spare *s)
{
	while (s->count)
		dismiss(s, s->count - 1);
}

static void on_keeper_dead(void *ctx, pid_t pid, int wait_status)
{
	struct spare *s = ctx;

	(void)wait_status;
	for (size_t i = 0; i < s->count; i++) {
		if (s->waiting[i].pid == pid) {
			struct keeper k = take_out(s, i);

			close(k.control_fd); /* and the pid is nobody's any more */
			return;
		}
	}
}

static void begin_period(struct spare *s)
{
	s->least = s->count;
	loop_timer_start(s->loop, &s->unused, UNUSED_MS);
}

static void on_unused(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct spare *s = w->data;

	(void)loop;
	(void)revents;
	for (size_t left = s->least; left; left--)
		dismiss(s, 0);
	if (s->count)
		begin_period(s);
}

static void add(struct spare *s, const struct keeper *k)
{
	s->waiting[s->count++] = *k;
	reaper_watch(s->reaper, k->pid, on_keeper_dead, s);
	if (s->count == 1)
		begin_period(s);
}

/* ---- what they were made with, and in which world ---- */

static void forget_hidden(struct spare *s)
{
	while (s->hidden_count)
		mem_cleanup_close(&s->hidden[--s->hidden_count].fd);
}

/* The next entry of @plan from *@at on that hides something, or NULL. */
static const struct shim_mount *next_hidden(const struct shim_plan *plan, size_t *at)
{
	const uint8_t *entries = plan->tail + (size_t)plan->filter_len * 8;

	while (*at < plan->mounts_size) {
		const struct shim_mount *entry = (const void *)(entries + *at);

		*at += entry->size;
		if (entry->kind == SHIM_MOUNT_HIDE)
			return entry;
	}
	return NULL;
}

/* A keeper covers what it finds, so what they will find is noted before the first is started. */
static void note_hidden(struct spare *s)
{
	const struct shim_mount *entry;
	struct stat st;
	size_t at = 0;

	forget_hidden(s);
	while ((entry = next_hidden(s->plan, &at))) {
		struct found f = { .fd = open(entry->path, O_PATH | O_NOFOLLOW | O_CLOEXEC) };

		if (f.fd >= 0 && !fstat(f.fd, &st))
			f.changed = st.st_ctim;
		s->hidden = mem_realloc(s->hidden, (s->hidden_count + 1) * sizeof(*s->hidden));
		s->hidden[s->hidden_count++] = f;
	}
}

/*
 * A cover lies on a name: it is gone with the name, or goes with it. A file may get its name back
 * all the same, by a link, which the time of its last change tells. A directory cannot: only a
 * rename brings it back, and that brings the cover too.
 */
static bool is_still(const char *path, const struct found *f)
{
	struct stat now, then;
	bool there = !lstat(path, &now);

	if (f->fd < 0 || fstat(f->fd, &then) < 0)
		return !there && f->fd < 0;
	return there && now.st_dev == then.st_dev && now.st_ino == then.st_ino &&
	       (S_ISDIR(now.st_mode) || (now.st_ctim.tv_sec == f->changed.tv_sec &&
					 now.st_ctim.tv_nsec == f->changed.tv_nsec));
}

/* Has something come to a hidden path since, or gone from it? */
static bool hidden_changed(const struct spare *s)
{
	const struct shim_mount *entry;
	size_t at = 0, count = 0;

	while ((entry = next_hidden(s->plan, &at)))
		if (count >= s->hidden_count || !is_still(entry->path, &s->hidden[count++]))
			return true;
	return false;
}

static size_t tail_of(const struct shim_plan *plan)
{
	return (size_t)plan->filter_len * 8 + plan->mounts_size;
}

static bool is_same(const struct spare *s, const struct spawn_request *request)
{
	const struct shim_plan *a = s->plan, *b = request->plan;

	return a && s->clone_flags == request->clone_flags &&
	       !((a->flags ^ b->flags) & ~(uint32_t)OWN_FLAGS) && a->uid == b->uid &&
	       a->gid == b->gid && a->filter_len == b->filter_len &&
	       a->mounts_size == b->mounts_size && !memcmp(a->tail, b->tail, s->made_of);
}

/* Mounts made or gone since the last look. */
static bool mounts_changed(const struct spare *s)
{
	struct pollfd look = { .fd = s->mounts_fd, .events = POLLPRI };

	return s->mounts_fd < 0 || poll(&look, 1, 0) != 0;
}

/* What keepers are made with from now on. */
static void set_plan(struct spare *s, const struct spawn_request *request)
{
	const struct shim_plan *plan = request->plan;

	if (!s->plan)
		s->plan = mem_zalloc(sizeof(*s->plan));
	if (s->mounts_fd < 0)
		s->mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	memset(s->plan, 0, SHIM_PLAN_HEAD);
	s->plan->flags = (plan->flags & ~(uint32_t)OWN_FLAGS) | SHIM_SPARE;
	s->plan->uid = plan->uid;
	s->plan->gid = plan->gid;
	s->plan->landlock_fd = s->plan->group_fd = s->plan->forks_fd = -1;
	s->plan->filter_len = plan->filter_len;
	s->plan->mounts_size = plan->mounts_size;
	s->made_of = tail_of(plan);
	memcpy(s->plan->tail, plan->tail, s->made_of);
	s->clone_flags = request->clone_flags;
}

/* Before a keeper is used or made: is the world still that of the others? */
static void look_around(struct spare *s, bool other_plan)
{
	bool changed = mounts_changed(s); /* this tells once only */

	if (!changed && !other_plan && !hidden_changed(s))
		return;
	dismiss_all(s);
	note_hidden(s);
	s->kind++;
}

/* ---- starting one ---- */

/* @path is for messages; the plan has none. @flags: SHIM_FED or 0. */
static int make(struct spare *s, const char *path, uint32_t flags, struct spawn_result *result,
		struct err *e)
{
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char name[] = "procpen-spare", *argv[] = { name, NULL }, *envp[] = { NULL };
	struct spawn_request request = {
		.path = path, .argv = argv, .envp = envp, .cwd_fd = root,
		.stdin_fd = null, .stdout_fd = null, .stderr_fd = null,
		.plan = s->plan, .clone_flags = s->clone_flags,
	};

	*result = (struct spawn_result){ .control_fd = -1 };
	if (root < 0 || null < 0)
		return spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, path, e);
	s->plan->flags = (s->plan->flags & ~(uint32_t)SHIM_FED) | flags;
	return spawn_start(&request, result, e);
}

static void on_more(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct spare *s = w->data;
	struct spawn_result made;
	struct err ignored = ERR_INIT; /* the next run starts in the ordinary way, and tells */

	(void)loop;
	(void)revents;
	if (s->count)
		return;
	look_around(s, false);
	if (make(s, "", 0, &made, &ignored))
		err_release(&ignored);
	else
		add(s, &(struct keeper){ .pid = made.keeper_pid, .control_fd = made.control_fd });
}

struct spare *spare_new(struct ev_loop *loop, struct reaper *reaper)
{
	struct spare *s = mem_zalloc(sizeof(*s));

	s->loop = loop;
	s->reaper = reaper;
	s->mounts_fd = -1;
	ev_timer_init(&s->more, on_more, 0., 0.);
	ev_timer_init(&s->unused, on_unused, 0., 0.);
	s->more.data = s->unused.data = s;
	return s;
}

void spare_free(struct spare *s)
{
	if (!s)
		return;
	loop_timer_stop(s->loop, &s->more);
	dismiss_all(s);
	forget_hidden(s);
	mem_cleanup_close(&s->mounts_fd);
	free(s->hidden);
	free(s->plan);
	free(s);
}

/* ---- the second plan ---- */

/* stdin, stdout, stderr, the working directory, and what else the command is to find. */
#define RIGHTS_MAX (4 + SHIM_EXTRA_FDS_MAX)

union rights {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(RIGHTS_MAX * sizeof(int))];
};

/* Append @texts with their NULs; false when they do not fit. */
static bool add_texts(struct shim_plan *plan, size_t *len, char *const *texts, uint32_t *count)
{
	for (*count = 0; texts[*count]; ++*count) {
		size_t size = strlen(texts[*count]) + 1;

		if (plan->strings_size + size > SHIM_STRINGS_MAX ||
		    *count >= SHIM_STRINGS_MAX_COUNT / 2)
			return false;
		memcpy((char *)plan + *len, texts[*count], size);
		plan->strings_size += (uint32_t)size;
		*len += size;
	}
	return true;
}

/* Bytes of the message, 0 when the command does not fit into it. */
static size_t write_second(struct shim_plan *plan, const struct spawn_request *request)
{
	const char *cwd = request->cwd ? request->cwd : "";
	size_t path_len = strlen(request->path), cwd_len = strlen(cwd);
	size_t len = SHIM_PLAN_HEAD;

	if (path_len >= SHIM_PATH_MAX || cwd_len >= SHIM_PATH_MAX)
		return 0;
	memcpy(plan, request->plan, SHIM_PLAN_HEAD);
	plan->flags |= request->announce ? SHIM_ANNOUNCE : 0;
	/* With one of these a command cannot write below /proc/PID of its keeper, which none of
	 * intact.c's looks would show. */
	if (plan->flags & SHIM_MOUNTS || plan->landlock_fd >= 0)
		plan->flags |= SHIM_STAYS;
	plan->filter_len = plan->mounts_size = plan->strings_size = 0;
	plan->path_len = (uint32_t)path_len;
	plan->cwd_len = (uint32_t)cwd_len;
	memcpy((char *)plan + len, request->path, path_len + 1);
	len += path_len + 1;
	memcpy((char *)plan + len, cwd, cwd_len + 1);
	len += cwd_len + 1;
	return add_texts(plan, &len, request->argv, &plan->argc) &&
			       add_texts(plan, &len, request->envp, &plan->envc)
		       ? len
		       : 0;
}

/* 0, or -1 with errno. */
static int send_second(int control_fd, const struct shim_plan *plan, size_t len,
		       const struct spawn_request *request)
{
	int fds[RIGHTS_MAX] = { request->stdin_fd, request->stdout_fd, request->stderr_fd,
				request->cwd_fd };
	size_t count = 4 + (size_t)request->fd_count;
	union rights rights = { .bytes = { 0 } };
	struct iovec part = { (void *)(uintptr_t)plan, len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights };

	if (request->fd_count)
		memcpy(fds + 4, request->fds, (size_t)request->fd_count * sizeof(int));
	rights.head.cmsg_level = SOL_SOCKET;
	rights.head.cmsg_type = SCM_RIGHTS;
	rights.head.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&rights.head), fds, count * sizeof(int));
	message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	return sendmsg(control_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len ? 0 : -1;
}

/* ---- commands ---- */

/* Its first word says that everything is in place; without it, it is not to be trusted yet. */
static bool is_ready(struct keeper *k)
{
	struct shim_report report;

	if (!k->ready && recv(k->control_fd, &report, sizeof(report), MSG_DONTWAIT) ==
				 sizeof(report))
		k->ready = report.event == SHIM_READY;
	return k->ready;
}

/* Where nothing keeps commands from it, one may have stopped a keeper: it would never read what we
 * send, nor see its socket close. The reaper does not take that news. */
static bool is_stopped(const struct keeper *k)
{
	siginfo_t news = { 0 };

	return !waitid(P_PID, (id_t)k->pid, &news, WSTOPPED | WNOHANG | WNOWAIT) && news.si_pid;
}

/* Give the command to one that waits, the last one first: its memory is the warmest. */
static int give(struct spare *s, const struct shim_plan *second, size_t len,
		const struct spawn_request *request, struct spawn_result *result)
{
	for (size_t i = s->count; i--;) {
		struct keeper k;

		if (!is_ready(&s->waiting[i]))
			continue;
		k = take_out(s, i);
		if (is_stopped(&k))
			kill(k.pid, SIGKILL); /* our child, and not yet collected */
		else if (!send_second(k.control_fd, second, len, request)) {
			*result = (struct spawn_result){
				.keeper_pid = k.pid, .control_fd = k.control_fd,
				.kind = s->kind, .past = k.past,
			};
			return 0;
		}
		send_away(s, &k);
	}
	return -1;
}

int spare_start(struct spare *s, const struct spawn_request *request, struct spawn_result *result,
		struct err *e)
{
	static struct shim_plan second; /* big, and used by one call at a time */
	bool other_plan;
	size_t len;

	if (request->plan->flags & NEVER || request->plan->group_fd >= 0)
		return spawn_start(request, result, e);
	len = write_second(&second, request);
	if (!len)
		return spawn_start(request, result, e);
	other_plan = !is_same(s, request);
	if (other_plan)
		set_plan(s, request);
	look_around(s, other_plan);
	if (!s->count && !ev_is_active(&s->more))
		loop_timer_start(s->loop, &s->more, MORE_MS);
	if (!give(s, &second, len, request, result))
		return 0;
	if (make(s, request->path, SHIM_FED, result, e))
		return -1;
	result->kind = s->kind;
	if (!send_second(result->control_fd, &second, len, request))
		return 0;
	spawn_failed(SHIM_STAGE_PLAN, errno, request->path, e);
	mem_cleanup_close(&result->control_fd);
	return -1;
}

void spare_return(struct spare *s, const struct spawn_result *started,
		  const struct shim_report *last)
{
	struct keeper k = {
		.pid = started->keeper_pid, .control_fd = started->control_fd, .ready = true,
		.past = started->past,
	};

	if (!s) {
		close(k.control_fd);
		return;
	}
	if (started->kind != s->kind || s->count == WAITING_MAX || ++k.past.runs >= RUNS_MAX) {
		send_away(s, &k);
		return;
	}
	k.past.cpu_us += last->cpu_us;
	k.past.io_read_bytes += last->io_read_bytes;
	k.past.io_write_bytes += last->io_write_bytes;
	add(s, &k);
}

bool spare_drop_idle(struct spare *s)
{
	bool any = s && s->count;

	if (any)
		dismiss_all(s);
	return any;
}
