#include "proc/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/procfs_kept.h"

#define TREE_FDS 2 /* the most that come with a report */
#define SEAL_MS 50 /* how long SHIM_KILLING may take */
#define KILL_TIMEOUT_MS 1000 /* more time for a working shim ... */
#define KILL_TIMEOUT_MAX 10  /* ... so many times */
#define REAP_ORPHANS_MS 2000 /* orphans that live longer than this are survivors */

int tree_room_take(struct tree_room *room, int count)
{
	while (room->count < count) {
		int fd = open("/dev/null", O_PATH | O_CLOEXEC);

		if (fd < 0)
			return -1;
		room->fds[room->count++] = fd;
	}
	return 0;
}

static void tree_room_shrink(struct tree_room *room, int count)
{
	while (room->count > count)
		close(room->fds[--room->count]);
}

void tree_room_release(struct tree_room *room)
{
	tree_room_shrink(room, 0);
}

/* It is dead, or serves the next run: nothing of this one is below it any more. */
static void tree_leave_shim(struct tree *t)
{
	procfs_kept_drop_tree(t->shim_pid);
	t->shim_pid = 0;
}

static void tree_close_fds(int fds[TREE_FDS])
{
	for (int i = 0; i < TREE_FDS; i++)
		mem_cleanup_close(&fds[i]);
}

static void tree_set_empty(struct tree *t, uint32_t survivors)
{
	if (!t->alive)
		return;
	t->alive = false;
	t->survivors = survivors;
	loop_timer_stop(t->loop, &t->escalate);
	t->on_empty(t->ctx);
}

/* What the next report is of; 0: none has come. */
static uint32_t tree_next_event(struct tree *t)
{
	struct shim_report next = { .event = 0 };

	if (recv(t->control.fd, &next, sizeof(next), MSG_DONTWAIT | MSG_PEEK) < 0)
		t->unread |= errno == ECONNRESET; /* recv() takes this error: see tree_receive() */
	return next.event;
}

static void tree_on_reaped(void *ctx, int left)
{
	struct tree *t = ctx;

	t->reaping_orphans = false;
	if (t->control.fd >= 0) /* see tree_on_shim_dead() */
		(void)tree_next_event(t);
	loop_close(t->loop, &t->control);
	tree_set_empty(t, (uint32_t)left);
}

static void tree_kill_group(struct tree *t)
{
	if (t->kill_group)
		t->kill_group(t->ctx);
}

/* The shim is dead and its tree may not be. Also runs after on_empty if the shim did not die in
 * time: its orphans are our children then. */
static void tree_reap_orphans(struct tree *t)
{
	if (t->reaping_orphans || (!t->alive && !t->given_up))
		return;
	t->lost = true;
	loop_timer_stop(t->loop, &t->escalate);
	if (t->is_init) { /* pid_namespaces(7): an init is collected when all the others are dead */
		tree_set_empty(t, 0);
		return;
	}
	t->reaping_orphans = true;
	reaper_sweep(t->reaper, REAP_ORPHANS_MS, tree_on_reaped, t);
	tree_kill_group(t);
}

/* Give up the numbers that the next report needs. */
static void tree_make_room(struct tree *t)
{
	uint32_t next;

	if (!t->room.count)
		return;
	next = tree_next_event(t);
	if (next == SHIM_LISTENING)
		tree_room_shrink(&t->room, t->room.count - 1);
	else if (next == SHIM_TYPING)
		tree_room_release(&t->room);
}

/* Receive one report, and the descriptors that came with it or -1. */
static ssize_t tree_receive(struct tree *t, struct shim_report *report, int fds[TREE_FDS])
{
	union {
		struct cmsghdr header; /* aligns it */
		char bytes[CMSG_SPACE(TREE_FDS * sizeof(int))];
	} rights;
	struct iovec part = { report, sizeof(*report) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &rights,
		.msg_controllen = sizeof(rights),
	};
	const struct cmsghdr *first;
	int control = t->control.fd;
	ssize_t n;

	tree_make_room(t);
	n = recvmsg(control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	/* The shim exited without reading our last request; its last report follows this error. */
	if (n < 0 && errno == ECONNRESET) {
		t->unread = true;
		n = recvmsg(control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	}
	fds[0] = fds[1] = -1;
	if (n < 0)
		return n;
	first = CMSG_FIRSTHDR(&message);
	if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(first), first->cmsg_len - CMSG_LEN(0));
	if (n != (ssize_t)sizeof(*report))
		tree_close_fds(fds);
	return n;
}

/* Only SHIM_LISTENING and SHIM_TYPING bring descriptors; close any other. */
static void tree_dispatch(struct tree *t, const struct shim_report *report, int fds[TREE_FDS])
{
	if (report->event == SHIM_LISTENING && fds[0] >= 0 && t->on_listener) {
		t->on_listener(t->ctx, fds[0]);
		fds[0] = -1;
	} else if (report->event == SHIM_TYPING && fds[1] >= 0 && t->on_terminal) {
		t->on_terminal(t->ctx, fds[0], fds[1]);
		fds[0] = fds[1] = -1;
	} else if (report->event != SHIM_LISTENING && report->event != SHIM_TYPING) {
		t->on_report(t->ctx, report);
	}
	tree_close_fds(fds);
}

/* After the last report: pass a reusable shim on, or close its socket. */
static void tree_hand_over_shim(struct tree *t, const struct shim_report *last)
{
	pid_t shim_pid = t->shim_pid;

	if (!last->reusable || !t->on_shim || !shim_pid || t->killing) {
		loop_close(t->loop, &t->control);
		return;
	}
	reaper_unwatch(t->reaper, shim_pid);
	tree_leave_shim(t);
	t->on_shim(t->ctx, shim_pid, loop_detach(t->loop, &t->control), last);
}

/* Handle all reports that have arrived. False: no more will come, and @t may be gone. */
static bool tree_read_reports(struct tree *t)
{
	ev_io *io = &t->control;
	struct shim_report report;
	int fds[TREE_FDS];
	ssize_t n;

	while ((n = tree_receive(t, &report, fds)) == (ssize_t)sizeof(report)) {
		t->reported = true;
		t->sealed |= report.event == SHIM_KILLING;
		if (report.event == SHIM_EMPTY || report.event == SHIM_FAILED || report.empty)
			t->reported_empty = true;
		tree_dispatch(t, &report, fds);
		if (io->fd < 0)
			return false; /* released meanwhile */
		if (t->reported_empty) {
			tree_hand_over_shim(t, &report);
			tree_set_empty(t, 0);
			return false;
		}
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	loop_close(t->loop, io);
	if (!t->shim_pid)
		tree_reap_orphans(t);
	return false;
}

/* Its last reports are in the socket. That does not end while the process that is to become the
 * command is stopped and has it too: it is an orphan like others. */
static void tree_on_shim_dead(void *ctx, pid_t pid, int wait_status)
{
	struct tree *t = ctx;

	(void)pid;
	(void)wait_status;
	tree_leave_shim(t);
	if (t->control.fd < 0 ? !t->reported_empty : tree_read_reports(t))
		tree_reap_orphans(t);
}

bool tree_look(struct tree *t)
{
	return t->control.fd < 0 || tree_read_reports(t);
}

static void tree_on_control(struct ev_loop *loop, ev_io *io, int revents)
{
	(void)loop_refused(loop, io, revents);
	tree_read_reports(io->data);
}

/*
 * A working shim kills its tree better than the server can. Kill it only if it is stopped or
 * traced, or stuck in the kernel for long. Kill a late init at once: its death kills its namespace.
 */
static bool tree_should_kill_shim(struct tree *t, bool late)
{
	struct procread_stat st = { .state = 'R' }; /* unless it can be read */

	(void)procread_stat(t->shim_pid, &st);
	if (reaper_child_is(t->shim_pid, WSTOPPED) || st.state == 't')
		return true;
	if (late)
		return t->is_init;
	return (st.state != 'R' && st.state != 'S') || t->kill_timeouts++ == KILL_TIMEOUT_MAX;
}

static void tree_on_escalate(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct tree *t = w->data;
	bool late;

	(void)revents;
	if (!tree_look(t))
		return;
	if (!t->shim_pid)
		return; /* the shim is dead: the end of its socket decides */
	if (t->given_up) { /* the shim did not die: a process of its namespace is unkillable */
		t->lost = true;
		tree_set_empty(t, 1);
		return;
	}
	late = !t->sealed;
	if (late)
		tree_kill_group(t);
	t->sealed = true;
	t->given_up = tree_should_kill_shim(t, late);
	if (t->given_up)
		kill(t->shim_pid, SIGKILL); /* our child and not yet collected */
	loop_timer_start(loop, w, t->given_up ? REAP_ORPHANS_MS : KILL_TIMEOUT_MS);
}

void tree_start(struct tree *t, struct ev_loop *loop, struct reaper *reaper, pid_t shim_pid,
		int control_fd)
{
	t->loop = loop;
	t->reaper = reaper;
	t->shim_pid = shim_pid;
	t->alive = true;
	ev_io_init(&t->control, tree_on_control, control_fd, EV_READ);
	t->control.data = t;
	loop_timer_init(&t->escalate, tree_on_escalate, t);
	ev_io_start(loop, &t->control);
	reaper_watch(reaper, shim_pid, tree_on_shim_dead, t);
}

static int tree_send_request(struct tree *t, enum shim_command command, int arg)
{
	struct shim_request request = { .command = (uint32_t)command, .arg = arg };

	if (!t->alive || t->control.fd < 0) {
		errno = ESRCH; /* the shim is gone: reaper_sweep() kills its orphans */
		return -1;
	}
	if (t->killing)
		return 0; /* SIGKILL is on its way to all of them */
	t->asked = true;
	return send(t->control.fd, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) ==
			       (ssize_t)sizeof(request)
		       ? 0
		       : -1;
}

void tree_kill(struct tree *t)
{
	if (!t->alive || t->reaping_orphans || t->killing)
		return;
	t->killing = true;
	shutdown(t->control.fd, SHUT_WR);
	loop_timer_start(t->loop, &t->escalate, SEAL_MS);
}

int tree_signal(struct tree *t, int signal)
{
	return tree_send_request(t, SHIM_SIGNAL, signal);
}

int tree_signal_all(struct tree *t, int signal)
{
	return tree_send_request(t, SHIM_SIGNAL_TREE, signal);
}

bool tree_never_began(const struct tree *t)
{
	return t->lost && t->unread && !t->asked && !t->killing && !t->reported;
}

void tree_release(struct tree *t)
{
	tree_room_release(&t->room);
	if (!t->loop)
		return;
	loop_timer_stop(t->loop, &t->escalate);
	if (t->reaping_orphans)
		reaper_sweep_cancel(t->reaper, t);
	if (t->shim_pid)
		reaper_unwatch(t->reaper, t->shim_pid);
	if (t->control.fd >= 0)
		loop_close(t->loop, &t->control);
	tree_leave_shim(t);
}
