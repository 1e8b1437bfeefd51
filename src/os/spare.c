/*
 * What a keeper was made with is kept as the bytes of its plan; a request fits if
 * its plan has the same ones. Everything else of a plan (limits, groups, umask,
 * capabilities) is entered by the command's own process and comes with the second
 * message.
 */
#include "os/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define AGE_MAX_MS 30000 /* it pins the mounts of its time */
#define OWN_FLAGS (SHIM_ANNOUNCE | SHIM_SPARE)
#define NEVER (SHIM_LISTENER | SHIM_TRIAL | SHIM_NET_NS)

struct spare {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct shim_plan *plan; /* what the waiting keeper, or the next, is made with */
	size_t made_of;         /* bytes of its tail that count */
	int clone_flags;
	bool wanted;
	ev_idle idle;
	ev_timer age;
	int *hidden;            /* what lay at the plan's hidden paths, in order; -1: nothing. Held
				 * open, so that nothing else gets its inode number */
	size_t hidden_count;
	int mounts_fd;          /* /proc/self/mountinfo: tells of changes (proc(5)) */
	struct spawn_result keeper; /* keeper_pid 0: there is none */
	bool ready;
};

static void forget_hidden(struct spare *s)
{
	while (s->hidden_count)
		mem_cleanup_close(&s->hidden[--s->hidden_count]);
}

static void on_keeper_dead(void *ctx, pid_t pid, int wait_status)
{
	struct spare *s = ctx;

	(void)wait_status;
	if (s->keeper.keeper_pid != pid)
		return;
	s->keeper.keeper_pid = 0;
	mem_cleanup_close(&s->keeper.control_fd);
	loop_timer_stop(s->loop, &s->age);
	forget_hidden(s);
}

/* It sees its socket close, and leaves; the reaper collects it. */
static void discard(struct spare *s)
{
	if (!s->keeper.keeper_pid)
		return;
	reaper_unwatch(s->reaper, s->keeper.keeper_pid);
	s->keeper.keeper_pid = 0;
	mem_cleanup_close(&s->keeper.control_fd);
	loop_timer_stop(s->loop, &s->age);
	forget_hidden(s);
}

static void on_age(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	discard(w->data);
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

/* A keeper covers what it finds, so what it will find is noted before it is started. */
static void note_hidden(struct spare *s)
{
	const struct shim_mount *entry;
	size_t at = 0;

	forget_hidden(s);
	while ((entry = next_hidden(s->plan, &at))) {
		s->hidden = mem_realloc(s->hidden, (s->hidden_count + 1) * sizeof(*s->hidden));
		s->hidden[s->hidden_count++] = open(entry->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	}
}

static bool is_still(const char *path, int fd)
{
	struct stat now, then;
	bool there = !lstat(path, &now);

	if (fd < 0 || fstat(fd, &then) < 0)
		return !there && fd < 0;
	return there && now.st_dev == then.st_dev && now.st_ino == then.st_ino;
}

/* Has something come to a hidden path since, or gone from it? */
static bool hidden_changed(const struct spare *s)
{
	const struct shim_mount *entry;
	size_t at = 0, count = 0;

	while ((entry = next_hidden(s->plan, &at)))
		if (count >= s->hidden_count || !is_still(entry->path, s->hidden[count++]))
			return true;
	return false;
}

static void start_one(struct spare *s)
{
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char name[] = "procpen-spare", *argv[] = { name, NULL }, *envp[] = { NULL };
	struct spawn_request request = {
		.path = "", .argv = argv, .envp = envp, .cwd_fd = root,
		.stdin_fd = null, .stdout_fd = null, .stderr_fd = null,
		.plan = s->plan, .clone_flags = s->clone_flags,
	};
	struct err ignored = ERR_INIT; /* the next run starts in the ordinary way, and tells */

	note_hidden(s);
	if (root < 0 || null < 0 || spawn_start(&request, &s->keeper, &ignored)) {
		s->keeper = (struct spawn_result){ .control_fd = -1 };
		err_release(&ignored);
		return;
	}
	s->ready = false;
	reaper_watch(s->reaper, s->keeper.keeper_pid, on_keeper_dead, s);
	loop_timer_start(s->loop, &s->age, AGE_MAX_MS);
}

static void on_idle(struct ev_loop *loop, ev_idle *w, int revents)
{
	struct spare *s = w->data;

	(void)revents;
	ev_idle_stop(loop, w);
	if (!s->keeper.keeper_pid)
		start_one(s);
}

struct spare *spare_new(struct ev_loop *loop, struct reaper *reaper)
{
	struct spare *s = mem_zalloc(sizeof(*s));

	s->loop = loop;
	s->reaper = reaper;
	s->keeper.control_fd = s->mounts_fd = -1;
	ev_idle_init(&s->idle, on_idle);
	ev_set_priority(&s->idle, EV_MINPRI);
	ev_timer_init(&s->age, on_age, 0., 0.);
	s->idle.data = s->age.data = s;
	return s;
}

void spare_free(struct spare *s)
{
	if (!s)
		return;
	ev_idle_stop(s->loop, &s->idle);
	discard(s);
	mem_cleanup_close(&s->mounts_fd);
	free(s->hidden);
	free(s->plan);
	free(s);
}

/* ---- does it fit? ---- */

static size_t tail_of(const struct shim_plan *plan)
{
	return (size_t)plan->filter_len * 8 + plan->mounts_size;
}

static bool is_same(const struct spare *s, const struct spawn_request *request)
{
	const struct shim_plan *a = s->plan, *b = request->plan;

	return s->clone_flags == request->clone_flags &&
	       !((a->flags ^ b->flags) & ~(uint32_t)OWN_FLAGS) && a->uid == b->uid &&
	       a->gid == b->gid && a->filter_len == b->filter_len &&
	       a->mounts_size == b->mounts_size && !memcmp(a->tail, b->tail, s->made_of);
}

/* Mounts made or gone since the keeper took its copy of them. */
static bool mounts_changed(const struct spare *s)
{
	struct pollfd look = { .fd = s->mounts_fd, .events = POLLPRI };

	return s->mounts_fd < 0 || poll(&look, 1, 0) != 0;
}

/* Its first word says that everything is in place; without it, it is not to be trusted yet. */
static bool is_ready(struct spare *s)
{
	struct shim_report report;

	if (!s->ready &&
	    recv(s->keeper.control_fd, &report, sizeof(report), MSG_DONTWAIT) == sizeof(report))
		s->ready = report.event == SHIM_READY;
	return s->ready;
}

/* ---- the second plan ---- */

struct rights {
	struct cmsghdr head;
	int fds[4 + SHIM_EXTRA_FDS_MAX];
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

static bool send_second(const struct spare *s, const struct spawn_request *request)
{
	static struct shim_plan plan; /* big, and used by one call at a time */
	struct rights rights = {
		.head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS },
		.fds = { request->stdin_fd, request->stdout_fd, request->stderr_fd,
			 request->cwd_fd },
	};
	size_t len = write_second(&plan, request);
	struct iovec part = { &plan, len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights };

	if (!len)
		return false;
	if (request->fd_count)
		memcpy(rights.fds + 4, request->fds, (size_t)request->fd_count * sizeof(int));
	rights.head.cmsg_len = CMSG_LEN((4 + (size_t)request->fd_count) * sizeof(int));
	message.msg_controllen = CMSG_SPACE((4 + (size_t)request->fd_count) * sizeof(int));
	return sendmsg(s->keeper.control_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       (ssize_t)len;
}

int spare_take(struct spare *s, const struct spawn_request *request, struct spawn_result *result)
{
	if (!s->keeper.keeper_pid || request->plan->group_fd >= 0 || !is_ready(s) ||
	    !is_same(s, request))
		return -1;
	if (mounts_changed(s) || hidden_changed(s)) {
		discard(s);
		return -1;
	}
	if (!send_second(s, request))
		return -1;
	*result = s->keeper;
	reaper_unwatch(s->reaper, s->keeper.keeper_pid);
	loop_timer_stop(s->loop, &s->age);
	s->keeper = (struct spawn_result){ .control_fd = -1 };
	forget_hidden(s);
	return 0;
}

void spare_want(struct spare *s, const struct spawn_request *request)
{
	const struct shim_plan *plan = request->plan;

	if (plan->flags & NEVER || plan->group_fd >= 0 ||
	    (s->keeper.keeper_pid && is_same(s, request)))
		return;
	if (!s->plan)
		s->plan = mem_zalloc(sizeof(*s->plan));
	if (s->mounts_fd < 0)
		s->mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	discard(s);
	memset(s->plan, 0, SHIM_PLAN_HEAD);
	s->plan->flags = (plan->flags & ~(uint32_t)OWN_FLAGS) | SHIM_SPARE;
	s->plan->uid = plan->uid;
	s->plan->gid = plan->gid;
	s->plan->landlock_fd = s->plan->group_fd = -1;
	s->plan->filter_len = plan->filter_len;
	s->plan->mounts_size = plan->mounts_size;
	s->made_of = tail_of(plan);
	memcpy(s->plan->tail, plan->tail, s->made_of);
	s->clone_flags = request->clone_flags;
	ev_idle_start(s->loop, &s->idle);
}
