/*
 * The pool keeps the bytes of the plan that its shims were started with; a request fits
 * if its plan has the same bytes there. The rest of a plan (limits, groups, umask)
 * comes with the second message, and the command's own process enters it.
 *
 * Shims of one kind are interchangeable: started by the same plan, with the same mounts of the host
 * and the same files at held paths. The first difference begins a new kind, and no shim of an old
 * kind is used again. Shims that serve one command, and those that renew a network namespace or a
 * devpts after each, have a pool of their own inside the pool, so that a run of one sort leaves the
 * other's alone.
 */
#include "os/spawn/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "os/mountinfo.h"
#include "os/procfs.h"

#define IDLE_MAX 64     /* idle shims; between bursts POOL_RESTING */
#define UNUSED_MS 30000 /* discard a shim that was not needed for so long ... */
#define KEPT 1          /* ... but keep so many: whoever asks after a pause waits for no new one */
#define REFILL_MS 5     /* by then a short command has returned its shim, and none is made */
#define RUNS_MAX 1000   /* of one shim */
#define MESSAGE_OVERHEAD 32 /* of SO_SNDBUF, as unix_dgram_sendmsg() of Linux counts */
#define OWN_FLAGS (SHIM_ANNOUNCE | SHIM_POOLED | SHIM_QUEUED | SHIM_REUSABLE | SHIM_TERMINAL | \
		   SHIM_TYPED_STDIN | SHIM_NULL_STDIN)
#define NEVER (SHIM_LISTENER | SHIM_TRIAL)

struct idle_shim {
	pid_t pid;
	int control_fd;
	bool ready; /* SHIM_READY came, or it served a command */
	struct spawn_past past;
};

/* The file that lay at a held path: one that is hidden, read-only or pinned. It is kept open, so
 * that no other file gets its inode number. */
struct found {
	int fd; /* -1: nothing was there */
	dev_t dev;
	ino_t ino;
	struct timespec changed;
};

struct pool {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct shim_plan *plan; /* for new shims; NULL: no run was started yet */
	uint32_t generation;    /* of its mounts, as in spawn_request */
	size_t made_of;         /* bytes of its tail: filter and mounts */
	size_t message_max;     /* bytes; 0: not known yet */
	int clone_flags;
	uint32_t kind;          /* counts up, in `apart` the odd numbers; 0: none */
	struct idle_shim idle[IDLE_MAX];
	size_t count;
	size_t least;           /* lowest count since the timer `unused` was started */
	ev_timer refill, unused;
	struct found *held;     /* at the plan's held paths, in order */
	size_t held_count;
	int mounts_fd;          /* mountinfo_watch() */
	struct spawn_ruleset maker; /* of Landlock's, one for each shim: it may add rules, and
				     * commands enter it before their plan comes */
	struct pool *apart;     /* for shims that serve one command, or renew something after
				 * each; NULL in that pool itself */
};

/* ---- those that wait ---- */

/* Remove and return idle[i]. */
static struct idle_shim pool_take(struct pool *s, size_t i)
{
	struct idle_shim k = s->idle[i];

	s->idle[i] = s->idle[--s->count];
	if (s->count < s->least)
		s->least = s->count;
	if (!s->count)
		loop_timer_stop(s->loop, &s->unused);
	reaper_unwatch(s->reaper, k.pid);
	return k;
}

/* It has no tree, so nothing is lost by SIGKILL; stopped, it would not see its socket close. Watch
 * it until it is gone, or reaper_sweep() would take it for an orphan. */
static void pool_discard(struct pool *s, const struct idle_shim *k)
{
	reaper_watch(s->reaper, k->pid, NULL, NULL);
	kill(k->pid, SIGKILL); /* our child, and not yet collected */
	close(k->control_fd);
}

static void pool_discard_at(struct pool *s, size_t i)
{
	struct idle_shim k = pool_take(s, i);

	pool_discard(s, &k);
}

static void pool_discard_all(struct pool *s)
{
	while (s->count)
		pool_discard_at(s, s->count - 1);
}

static void pool_on_shim_dead(void *ctx, pid_t pid, int wait_status)
{
	struct pool *s = ctx;

	(void)wait_status;
	for (size_t i = 0; i < s->count; i++) {
		if (s->idle[i].pid == pid) {
			struct idle_shim k = pool_take(s, i);

			close(k.control_fd); /* the reaper has collected the pid */
			return;
		}
	}
}

static void pool_begin_period(struct pool *s)
{
	s->least = s->count;
	loop_timer_start(s->loop, &s->unused, UNUSED_MS);
}

static void pool_on_unused(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct pool *s = w->data;

	(void)loop;
	(void)revents;
	for (size_t left = s->least; left && s->count > KEPT; left--)
		pool_discard_at(s, 0);
	if (s->count > KEPT)
		pool_begin_period(s);
}

static void pool_add(struct pool *s, const struct idle_shim *k)
{
	s->idle[s->count++] = *k;
	reaper_watch(s->reaper, k->pid, pool_on_shim_dead, s);
	if (s->count > KEPT && !loop_timer_is_set(&s->unused))
		pool_begin_period(s);
}

/* ---- is an idle shim still what a run needs? ---- */

static void pool_forget_held(struct pool *s)
{
	while (s->held_count)
		mem_cleanup_close(&s->held[--s->held_count].fd);
}

/* The next entry of @plan from *@at on that is put over what is found at its path, or NULL. */
static const struct shim_mount *pool_next_held(const struct shim_plan *plan, size_t *at)
{
	const uint8_t *entries = plan->tail + (size_t)plan->filter_len * 8;

	while (*at < plan->mounts_size) {
		const struct shim_mount *entry = (const void *)(entries + *at);

		*at += entry->size;
		if (entry->kind == SHIM_MOUNT_HIDE || entry->kind == SHIM_MOUNT_PIN ||
		    entry->kind == SHIM_MOUNT_READONLY)
			return entry;
	}
	return NULL;
}

/* A shim mounts on the files that it finds at held paths. Record them before the first shim of a
 * kind is started. */
static void pool_note_held(struct pool *s)
{
	const struct shim_mount *entry;
	struct stat st;
	size_t at = 0;

	pool_forget_held(s);
	while ((entry = pool_next_held(s->plan, &at))) {
		struct found f = { .fd = open(entry->path, O_PATH | O_NOFOLLOW | O_CLOEXEC) };

		if (f.fd >= 0 && !fstat(f.fd, &st)) {
			f.dev = st.st_dev;
			f.ino = st.st_ino;
			f.changed = st.st_ctim;
		}
		s->held = mem_realloc(s->held, (s->held_count + 1) * sizeof(*s->held));
		s->held[s->held_count++] = f;
	}
}

/*
 * A mount belongs to a name: unlink(2) removes it, rename(2) takes it along. A file can
 * get its name back without the mount, by link(2), which changes its ctime. A directory cannot:
 * only rename(2) brings it back, and the mount with it.
 */
static bool pool_held_is_unchanged(const char *path, const struct found *f)
{
	struct stat now;
	bool there = !lstat(path, &now);

	if (f->fd < 0)
		return !there;
	return there && now.st_dev == f->dev && now.st_ino == f->ino &&
	       (S_ISDIR(now.st_mode) || (now.st_ctim.tv_sec == f->changed.tv_sec &&
					 now.st_ctim.tv_nsec == f->changed.tv_nsec));
}

/* Has a file appeared at a held path or gone from one since pool_note_held()? Where nothing is,
 * nothing is below it, such as hooks where there is no repository. */
static bool pool_held_changed(const struct pool *s)
{
	const struct shim_mount *entry;
	const char *absent = NULL;
	size_t at = 0, count = 0;

	for (; (entry = pool_next_held(s->plan, &at)); count++) {
		const struct found *f = &s->held[count];

		if (count >= s->held_count)
			return true;
		if (f->fd < 0 && absent && str_path_lies_in(entry->path, absent))
			continue;
		if (!pool_held_is_unchanged(entry->path, f))
			return true;
		absent = f->fd < 0 ? entry->path : NULL;
	}
	return false;
}

static size_t pool_tail_of_plan(const struct shim_plan *plan)
{
	return (size_t)plan->filter_len * 8 + plan->mounts_size;
}

/* The rulesets of a generation are alike. A shim that can start a command in a control group serves
 * one without, too: runs of both sorts in turns share a kind. */
static bool pool_is_same_kind(const struct pool *s, const struct spawn_request *request)
{
	const struct shim_plan *a = s->plan, *b = request->plan;
	uint32_t any = OWN_FLAGS | (a ? a->flags & SHIM_GROUPED : 0);

	return a && s->clone_flags == request->clone_flags &&
	       s->generation == request->generation &&
	       s->maker.make == request->ruleset.make &&
	       !((a->flags ^ b->flags) & ~any) && a->uid == b->uid &&
	       a->gid == b->gid && a->caps == b->caps && a->filter_len == b->filter_len &&
	       a->mounts_size == b->mounts_size && !memcmp(a->tail, b->tail, s->made_of);
}

/* Start shims with the plan of @request from now on. */
static void pool_set_plan(struct pool *s, const struct spawn_request *request)
{
	const struct shim_plan *plan = request->plan;

	s->made_of = pool_tail_of_plan(plan);
	/* Not all of SHIM_TAIL_MAX: spawn() adds a path, and no directory. */
	s->plan = mem_realloc(s->plan, SHIM_PLAN_HEAD + s->made_of + SHIM_PATH_MAX + 1);
	memset(s->plan, 0, SHIM_PLAN_HEAD);
	s->plan->flags = (plan->flags & ~(uint32_t)OWN_FLAGS) | SHIM_POOLED;
	s->plan->umask = plan->umask;
	s->plan->uid = plan->uid;
	s->plan->gid = plan->gid;
	s->plan->caps = plan->caps;
	s->plan->proc_rights = plan->proc_rights;
	s->plan->pts_rights = plan->pts_rights;
	s->plan->group_fd = s->plan->forks_fd = -1;
	s->maker = request->ruleset;
	s->plan->landlock_fd = s->maker.make ? SHIM_FD_EXTRA : -1;
	s->plan->filter_len = plan->filter_len;
	s->plan->mounts_size = plan->mounts_size;
	memcpy(s->plan->tail, plan->tail, s->made_of);
	s->clone_flags = request->clone_flags;
	s->generation = request->generation;
}

/* Call before a shim is used or started: if plan, mounts or held files changed, discard the idle
 * shims and begin a new kind. */
static void pool_check_stale(struct pool *s, bool other_plan)
{
	bool changed = mountinfo_changed(s->mounts_fd); /* reports a change once: call always */

	if (s->mounts_fd < 0) /* not yet, or descriptors had run out */
		s->mounts_fd = mountinfo_watch();
	if (!changed && !other_plan && !pool_held_changed(s))
		return;
	pool_discard_all(s);
	pool_note_held(s);
	s->kind += 2;
}

/* ---- starting one ---- */

/* @path is for messages; the plan has none. @flags: SHIM_QUEUED or 0. */
static int pool_spawn(struct pool *s, const char *path, uint32_t flags, struct spawn_result *result,
		      struct err *e)
{
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int ruleset = -1; /* spawn_start() puts it there */
	char name[] = "procpen-shim", *argv[] = { name, NULL }, *envp[] = { NULL };
	struct spawn_request request = {
		.path = path, .argv = argv, .envp = envp, .cwd_fd = root,
		.stdin_fd = null, .stdout_fd = null, .stderr_fd = null,
		.plan = s->plan, .clone_flags = s->clone_flags,
		.fds = &ruleset, .fd_count = s->maker.make ? 1 : 0, .ruleset = s->maker,
	};

	*result = (struct spawn_result){ .control_fd = -1 };
	if (root < 0 || null < 0)
		return spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, path, e);
	s->plan->flags = (s->plan->flags & ~(uint32_t)SHIM_QUEUED) | flags;
	return spawn_start(&request, result, e);
}

static void pool_on_refill(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct pool *s = w->data;
	struct spawn_result made;
	ERR_LOCAL(ignored); /* the next run starts its own shim and reports errors */

	(void)loop;
	(void)revents;
	if (s->count)
		return;
	pool_check_stale(s, false);
	if (pool_spawn(s, "", 0, &made, &ignored))
		err_release(&ignored);
	else
		pool_add(s, &(struct idle_shim){ .pid = made.shim_pid,
						 .control_fd = made.control_fd });
}

static void pool_plan_refill(struct pool *s, int64_t ms)
{
	if (!loop_timer_is_set(&s->refill))
		loop_timer_start(s->loop, &s->refill, ms);
}

static struct pool *pool_make(struct ev_loop *loop, struct reaper *reaper)
{
	struct pool *s = mem_zalloc(sizeof(*s));

	s->loop = loop;
	s->reaper = reaper;
	s->mounts_fd = -1;
	loop_timer_init(&s->refill, pool_on_refill, s);
	loop_timer_init(&s->unused, pool_on_unused, s);
	return s;
}

struct pool *pool_new(struct ev_loop *loop, struct reaper *reaper)
{
	struct pool *s = pool_make(loop, reaper);

	s->apart = pool_make(loop, reaper);
	s->apart->kind = 1;
	return s;
}

void pool_free(struct pool *s)
{
	if (!s)
		return;
	pool_free(s->apart);
	loop_timer_stop(s->loop, &s->refill);
	pool_discard_all(s);
	pool_forget_held(s);
	mem_cleanup_close(&s->mounts_fd);
	free(s->held);
	free(s->plan);
	free(s);
}

/* ---- the second plan ---- */

/* stdin, stdout, stderr, the working directory, and the plan's descriptors. */
#define RIGHTS_MAX (4 + SHIM_EXTRA_FDS_MAX)

union rights {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(RIGHTS_MAX * sizeof(int))];
};

/* Append @texts with their NULs. False: they do not fit. */
static bool pool_add_texts(struct shim_plan *plan, size_t *len, char *const *texts, uint32_t *count)
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

/*
 * Landlock keeps a command from writing below /proc/PID of its shim, which taint.c would not
 * detect, and from tracing a process of another run. Without it a descriptor of this /proc that is
 * kept would show later runs (namespaces_mount_both_procs()).
 */
static bool pool_may_reuse(const struct shim_plan *plan)
{
	return plan->landlock_fd >= 0;
}

/* Does @request bypass the pool? A command with a terminal of the host needs a ruleset that no
 * other run may have. */
static bool pool_never_serves(const struct spawn_request *request)
{
	const struct shim_plan *plan = request->plan;
	bool adds_rules = plan->proc_rights || plan->pts_rights;

	return plan->flags & NEVER || (adds_rules && !(plan->flags & SHIM_OWN_PTS));
}

/* Write the second plan. Returns the bytes of the message; 0: the command does not fit. */
static size_t pool_write_second(struct shim_plan *plan, const struct spawn_request *request,
				bool reuse)
{
	size_t len;

	memcpy(plan, request->plan, SHIM_PLAN_HEAD);
	plan->flags |= reuse ? SHIM_REUSABLE : 0;
	plan->filter_len = plan->mounts_size = plan->strings_size = 0;
	len = spawn_add_command(plan, request);
	return len && pool_add_texts(plan, &len, request->argv, &plan->argc) &&
			       pool_add_texts(plan, &len, request->envp, &plan->envc)
		       ? len
		       : 0;
}

/* How long a message may be: the send buffer of a new socket, whose size the administrator sets,
 * less what the kernel takes of it for itself. */
static size_t pool_message_max(void)
{
	int pair[2], size = 0;
	socklen_t len = sizeof(size);

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return 0;
	if (getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, &len) < 0 || size < MESSAGE_OVERHEAD)
		size = MESSAGE_OVERHEAD;
	close(pair[0]);
	close(pair[1]);
	return (size_t)(size - MESSAGE_OVERHEAD);
}

/* Send the second plan with the command's descriptors. 0, or -1 with errno. */
static int pool_send_second(int control_fd, const struct shim_plan *plan, size_t len,
			    const struct spawn_request *request)
{
	int fds[RIGHTS_MAX] = { request->stdin_fd, request->stdout_fd, request->stderr_fd,
				request->cwd_fd };
	size_t count = 4 + (size_t)request->fd_count;
	union rights rights = { .bytes = { 0 } };
	struct iovec part = { (void *)(uintptr_t)plan, len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights };

	for (int i = 0; i < request->fd_count; i++) /* -1: the shim has it */
		fds[4 + i] = request->fds[i] < 0 ? request->cwd_fd : request->fds[i];
	rights.head.cmsg_level = SOL_SOCKET;
	rights.head.cmsg_type = SCM_RIGHTS;
	rights.head.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&rights.head), fds, count * sizeof(int));
	message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	return sendmsg(control_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len ? 0 : -1;
}

/* A new shim did not take its plan. It may have reported why, such as that it may make no process;
 * else it was killed, which the next one need not be. */
static void pool_fail_second(int control_fd, int sys, const char *path, struct err *e)
{
	bool gone = sys == EPIPE || sys == ECONNRESET; /* the latter if its first plan is unread */
	struct shim_report report;

	if (gone && recv(control_fd, &report, sizeof(report), MSG_DONTWAIT) == sizeof(report) &&
	    report.event == SHIM_FAILED)
		spawn_failed(report.value, report.error, path, e);
	else if (gone)
		spawn_killed(e);
	else
		spawn_failed(SHIM_STAGE_PLAN, sys, path, e);
}

/* ---- commands ---- */

/* Use a shim only after its SHIM_READY: namespaces, mounts and filter are in place. */
static bool pool_idle_is_ready(struct idle_shim *k)
{
	struct shim_report report;

	if (!k->ready && recv(k->control_fd, &report, sizeof(report), MSG_DONTWAIT) ==
				 sizeof(report))
		k->ready = report.event == SHIM_READY;
	return k->ready;
}

/* A command that may signal the shim can have stopped it: then it would neither read the second
 * plan nor see its socket close. Of one that has just died, the process that waits may still hold
 * the socket. */
static bool pool_idle_is_lost(const struct idle_shim *k)
{
	return reaper_child_is(k->pid, WSTOPPED | WEXITED);
}

/* Send the second plan to an idle shim, the last returned first: its memory is the warmest. */
static int pool_acquire(struct pool *s, const struct shim_plan *second, size_t len,
			const struct spawn_request *request, struct spawn_result *result)
{
	for (size_t i = s->count; i--;) {
		struct idle_shim k;

		if (!pool_idle_is_ready(&s->idle[i]))
			continue;
		k = pool_take(s, i);
		if (!pool_idle_is_lost(&k) &&
		    !pool_send_second(k.control_fd, second, len, request)) {
			*result = (struct spawn_result){
				.shim_pid = k.pid, .control_fd = k.control_fd,
				.kind = s->kind, .past = k.past,
			};
			return 0;
		}
		pool_discard(s, &k);
	}
	return -1;
}

/* The pool for runs like @request, inside @s. */
static struct pool *pool_choose(struct pool *s, const struct spawn_request *request)
{
	return !pool_may_reuse(request->plan) || request->plan->flags & SHIM_RENEWED ? s->apart : s;
}

void pool_make_ready(struct pool *s, const struct spawn_request *request)
{
	if (pool_never_serves(request))
		return;
	if (request->plan->group_fd >= 0)
		request->plan->flags |= SHIM_GROUPED;
	s = pool_choose(s, request);
	pool_set_plan(s, request);
	pool_check_stale(s, true);
	pool_plan_refill(s, 0);
}

int pool_start(struct pool *s, const struct spawn_request *request, struct spawn_result *result,
	       struct err *e)
{
	static struct shim_plan second; /* big, and used by one call at a time */
	bool other_plan, acquired, reuse;
	size_t len;
	int sys;

	if (pool_never_serves(request))
		return spawn_start(request, result, e);
	if (!s->message_max)
		s->message_max = pool_message_max();
	if (request->terminal && request->plan->flags & SHIM_OWN_PTS)
		request->plan->flags |= SHIM_RENEW_PTS;
	if (request->plan->group_fd >= 0)
		request->plan->flags |= SHIM_GROUPED;
	reuse = pool_may_reuse(request->plan);
	len = pool_write_second(&second, request, reuse);
	if (!len || len > s->message_max)
		return spawn_start(request, result, e);
	s = pool_choose(s, request);
	other_plan = !pool_is_same_kind(s, request);
	if (other_plan)
		pool_set_plan(s, request);
	pool_check_stale(s, other_plan);
	if (s->maker.make) /* the shim has it */
		second.landlock_fd = -1;
	acquired = !pool_acquire(s, &second, len, request, result);
	if (!s->count)
		pool_plan_refill(s, reuse ? REFILL_MS : 0);
	if (acquired)
		return 0;
	if (pool_spawn(s, request->path, SHIM_QUEUED, result, e))
		return -1;
	result->kind = s->kind;
	if (!pool_send_second(result->control_fd, &second, len, request))
		return 0;
	sys = errno;
	if (sys != ETOOMANYREFS)
		pool_fail_second(result->control_fd, sys, request->path, e);
	mem_cleanup_close(&result->control_fd);
	/* A command may have sent as many as its user may: let the shim inherit them. */
	return sys == ETOOMANYREFS ? spawn_start(request, result, e) : -1;
}

void pool_return(struct pool *s, const struct spawn_result *started,
		 const struct shim_report *last)
{
	struct idle_shim k = {
		.pid = started->shim_pid, .control_fd = started->control_fd, .past = started->past,
	};

	if (!s) {
		close(k.control_fd);
		return;
	}
	if (started->kind % 2)
		s = s->apart;
	k.ready = !last->renews; /* else its SHIM_READY comes */
	if (started->kind != s->kind || s->count == IDLE_MAX || ++k.past.runs >= RUNS_MAX) {
		pool_discard(s, &k);
		return;
	}
	k.past.cpu_us += last->cpu_us;
	k.past.io_read_bytes += last->io_read_bytes;
	k.past.io_write_bytes += last->io_write_bytes;
	pool_add(s, &k);
}

void pool_add_usage(const struct pool *s, struct spawn_past *sum)
{
	for (; s; s = s->apart)
		for (size_t i = 0; i < s->count; i++) {
			const struct idle_shim *k = &s->idle[i];

			sum->cpu_us += k->past.cpu_us + procfs_own_us(k->pid);
			sum->io_read_bytes += k->past.io_read_bytes;
			sum->io_write_bytes += k->past.io_write_bytes;
		}
}

bool pool_drop_idle(struct pool *s, size_t keep)
{
	bool any = false;

	for (; s; s = s->apart)
		for (; s->count > keep; any = true)
			pool_discard_at(s, 0);
	return any;
}
