/*
 * libev does not tell the descriptor of its epoll set, and never removes a
 * registration by itself (it waits for the kernel to do so at close). We learn
 * the number by taking the lowest free descriptor just before the loop is made,
 * and use it only after epoll_ctl(2) has confirmed that it is an epoll set.
 */
#include "os/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"

/* The epoll descriptor of the loop, or -1. One server has one loop. */
static int loop_epoll_fd = -1;

static void learn_epoll_fd(int candidate)
{
	loop_epoll_fd = -1;
	if (candidate < 0)
		return;
	/* An epoll set says that it does not hold (or could never hold) the descriptor;
	 * anything else says EINVAL or EBADF. */
	if (epoll_ctl(candidate, EPOLL_CTL_DEL, STDERR_FILENO, NULL) < 0 &&
	    (errno == ENOENT || errno == EPERM))
		loop_epoll_fd = candidate;
}

struct ev_loop *loop_new(void)
{
	int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	struct ev_loop *loop;

	if (lowest >= 0)
		close(lowest);
	loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOTIMERFD);
	if (loop) {
		learn_epoll_fd(lowest);
		return loop;
	}
	loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
	if (!loop) {
		log_error("no event loop can be had: neither epoll nor poll work here");
		abort();
	}
	return loop;
}

void loop_free(struct ev_loop *loop)
{
	loop_epoll_fd = -1;
	ev_loop_destroy(loop);
}

int loop_let_go(struct ev_loop *loop, ev_io *io)
{
	int fd = io->fd;

	if (fd < 0)
		return -1;
	ev_io_stop(loop, io);
	if (loop_epoll_fd >= 0)
		epoll_ctl(loop_epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	io->fd = -1;
	return fd;
}

void loop_close(struct ev_loop *loop, ev_io *io)
{
	int fd = loop_let_go(loop, io);

	if (fd >= 0)
		close(fd);
}

void loop_timer_start(struct ev_loop *loop, ev_timer *timer, double ms)
{
	ev_timer_stop(loop, timer);
	ev_now_update(loop);
	ev_timer_set(timer, ms > 0 ? ms / 1000.0 : 0.0, 0.0);
	ev_timer_start(loop, timer);
}

void loop_timer_stop(struct ev_loop *loop, ev_timer *timer)
{
	ev_timer_stop(loop, timer);
}
