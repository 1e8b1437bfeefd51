/*
 * libev does not expose the descriptor of its epoll set, and never removes a
 * registration itself (it relies on the kernel to do so at close). loop_new() finds
 * the number: it is the lowest free descriptor just before ev_loop_new(). We use it
 * only after epoll_ctl(2) has confirmed that it is an epoll set, and takes a watch.
 */
#include "os/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

/* The epoll descriptor of the loop, or -1. One server has one loop. */
static int loop_epoll_fd = -1;

/* ---- waits ---- */

#define RETRY_MS 10

/* libev finds out that the kernel refuses a watch right before it waits, and would report it only
 * after the wait, however long that is: end the first one at once, and the next ones after a while,
 * as long as a watch is tried again. */
static ev_async loop_refusal;
static ev_timer loop_retry;

static void loop_on_refusal(struct ev_loop *loop, ev_async *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
}

static void loop_on_retry(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
}

/* Set anew, because to libev the start alone, in the turn of the refusal, would change nothing. The
 * timer that is due in this turn begins anew too: a turn of its own would do all of this twice. */
bool loop_refused(struct ev_loop *loop, ev_io *io, int revents)
{
	if (!(revents & EV_ERROR))
		return false;
	ev_io_stop(loop, io);
	ev_io_set(io, io->fd, io->events & (EV_READ | EV_WRITE));
	ev_io_start(loop, io);
	if (!loop_retry.active)
		loop_timer_start(loop, &loop_retry, RETRY_MS);
	return true;
}

/* A signal, and SIGSTOP with SIGCONT, end the wait for events without a word of those that have
 * come. Timers would then fire before them, so the loop looks once more first. */
static enum { LOOP_LOOKED, LOOP_INTERRUPTED, LOOP_LOOKS_AGAIN } loop_wait;

static void loop_before_wait(struct ev_loop *loop)
{
	if (ev_pending_count(loop) && !loop_timer_is_set(&loop_retry))
		ev_async_send(loop, &loop_refusal);
	errno = 0;
}

/* Called right after the system call. */
static void loop_after_wait(struct ev_loop *loop)
{
	bool interrupted = errno == EINTR && loop_wait != LOOP_LOOKS_AGAIN;

	(void)loop;
	loop_wait = interrupted ? LOOP_INTERRUPTED : LOOP_LOOKED;
}

/* Also called before the wait, for watchers that run then. */
static void loop_invoke_pending(struct ev_loop *loop)
{
	bool interrupted = loop_wait == LOOP_INTERRUPTED;

	if (loop_wait == LOOP_LOOKS_AGAIN)
		return;
	loop_wait = LOOP_LOOKED;
	if (!interrupted || !ev_pending_count(loop)) {
		ev_invoke_pending(loop);
		return;
	}
	loop_wait = LOOP_LOOKS_AGAIN;
	ev_run(loop, EVRUN_NOWAIT);
}

/* ---- ends of watches ---- */

static void loop_unregister(int fd)
{
	if (loop_epoll_fd >= 0)
		epoll_ctl(loop_epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

int loop_detach(struct ev_loop *loop, ev_io *io)
{
	int fd = io->fd;

	if (fd < 0)
		return -1;
	ev_io_stop(loop, io);
	loop_unregister(fd);
	io->fd = -1;
	return fd;
}

void loop_close(struct ev_loop *loop, ev_io *io)
{
	int fd = loop_detach(loop, io);

	if (fd >= 0)
		close(fd);
}

#define LATE_MAX 8
#define LATE_MS 10
#define ROOM 64 /* descriptors */

static struct {
	int fd, other; /* as loop_close_late() got them; other may be -1 */
} loop_late[LATE_MAX];
static size_t loop_late_count;
static ev_timer loop_late_over; /* set while there are some */

/* Crowded for good, because a low number does not tell how many are free above it. */
static enum { LOOP_UNSEEN, LOOP_ROOMY, LOOP_CROWDED } loop_fds;

bool loop_is_crowded(int fd)
{
	struct rlimit limit;

	if (loop_fds != LOOP_CROWDED && !getrlimit(RLIMIT_NOFILE, &limit))
		loop_fds = (rlim_t)fd + ROOM < limit.rlim_cur ? LOOP_ROOMY : LOOP_CROWDED;
	return loop_fds == LOOP_CROWDED;
}

bool loop_close_all_late(struct ev_loop *loop)
{
	bool any = loop_late_count;

	while (loop_late_count) {
		loop_late_count--;
		loop_unregister(loop_late[loop_late_count].fd);
		close(loop_late[loop_late_count].fd);
		mem_cleanup_close(&loop_late[loop_late_count].other);
	}
	loop_timer_stop(loop, &loop_late_over);
	return any;
}

static void loop_on_late(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)w;
	(void)revents;
	loop_close_all_late(loop);
}

void loop_close_late(struct ev_loop *loop, ev_io *io, int other)
{
	if (loop_late_count == LATE_MAX)
		loop_close_all_late(loop);
	ev_io_stop(loop, io);
	loop_late[loop_late_count].fd = io->fd;
	loop_late[loop_late_count++].other = other;
	io->fd = -1;
	if (loop_fds != LOOP_ROOMY)
		loop_close_all_late(loop);
	else if (!loop_timer_is_set(&loop_late_over))
		loop_timer_start(loop, &loop_late_over, LATE_MS);
}

/* ---- the loop ---- */

static int loop_lowest_free_fd(void)
{
	int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

	if (lowest >= 0)
		close(lowest);
	return lowest;
}

/* libev opens a descriptor, which signals need too. Returns its number. */
static int loop_start_refusal(struct ev_loop *loop)
{
	int lowest = loop_lowest_free_fd();

	ev_async_init(&loop_refusal, loop_on_refusal);
	loop_refusal.sent = 0; /* to an earlier loop that has ended */
	loop_timer_init(&loop_retry, loop_on_retry, NULL);
	ev_async_start(loop, &loop_refusal);
	ev_unref(loop); /* this watcher alone must not keep the loop running */
	return lowest;
}

/* The kernel bounds what all programs of a user watch (epoll(7), max_user_watches): a command of an
 * earlier server may use it up. libev, which watches its own descriptor only in its first turn,
 * then finds it watched. */
static struct ev_loop *loop_new_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = loop_lowest_free_fd();
	struct ev_loop *loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOTIMERFD);

	loop_epoll_fd = -1;
	if (!loop)
		return NULL;
	if (!epoll_ctl(set, EPOLL_CTL_ADD, loop_start_refusal(loop), &event)) {
		loop_epoll_fd = set;
		return loop;
	}
	ev_loop_destroy(loop);
	return NULL;
}

static struct ev_loop *loop_new_poll(void)
{
	struct ev_loop *loop = ev_loop_new(EVBACKEND_POLL | EVFLAG_NOENV | EVFLAG_NOTIMERFD);

	if (loop)
		loop_start_refusal(loop);
	return loop;
}

struct ev_loop *loop_new(void)
{
	struct ev_loop *loop = loop_new_epoll();

	if (!loop)
		loop = loop_new_poll();
	if (!loop) {
		log_error("cannot create an event loop: neither epoll nor poll works");
		abort();
	}
	loop_fds = LOOP_UNSEEN;
	loop_timer_init(&loop_late_over, loop_on_late, NULL);
	ev_set_loop_release_cb(loop, loop_before_wait, loop_after_wait);
	ev_set_invoke_pending_cb(loop, loop_invoke_pending);
	return loop;
}

void loop_free(struct ev_loop *loop)
{
	loop_close_all_late(loop);
	loop_epoll_fd = -1;
	ev_loop_destroy(loop);
}

void loop_signal_start(struct ev_loop *loop, ev_signal *w)
{
	struct sigaction before;

	if (sigaction(w->signum, NULL, &before) || before.sa_handler != SIG_IGN)
		ev_signal_start(loop, w);
}

/* One call blocks them all; ignored ones would also have to be reset one by one for each shim.
 * Where a sanitizer handles some, they stay as they are. */
void loop_block_others(bool faults)
{
	static const int others[] = {
		SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXCPU, SIGPWR, SIGSTKFLT,
		/* faults: */ SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS,
	};
	const size_t fault_count = 7;
	struct sigaction now;
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < COUNT_OF(others) - (faults ? 0 : fault_count); i++)
		if (!sigaction(others[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaddset(&blocked, others[i]);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		sigaddset(&blocked, number);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
}

void loop_timer_init(ev_timer *timer, void (*fn)(struct ev_loop *loop, ev_timer *w, int revents),
		     void *data)
{
	ev_timer_init(timer, fn, 0., 0.);
	timer->data = data;
}

void loop_timer_start(struct ev_loop *loop, ev_timer *timer, double ms)
{
	if (ms <= 0 && timer->pending)
		return;
	ev_timer_stop(loop, timer);
	ev_set_priority(timer, EV_MINPRI);
	ev_now_update(loop);
	ev_timer_set(timer, ms > 0 ? ms / 1000.0 : 0.0, 0.0);
	ev_timer_start(loop, timer);
}

void loop_timer_stop(struct ev_loop *loop, ev_timer *timer)
{
	ev_timer_stop(loop, timer);
}

bool loop_timer_is_set(const ev_timer *timer)
{
	return timer->active || timer->pending;
}
