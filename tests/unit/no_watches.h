/* For programs linked with --wrap=epoll_ctl: a user who has no watches left. */
#ifndef PROCPEN_TESTS_NO_WATCHES_H
#define PROCPEN_TESTS_NO_WATCHES_H

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>

static bool no_watches;

int __real_epoll_ctl(int set, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int set, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
	if (!no_watches || op != EPOLL_CTL_ADD)
		return __real_epoll_ctl(set, op, fd, event);
	if (!__real_epoll_ctl(set, EPOLL_CTL_MOD, fd, event))
		errno = EEXIST;
	else if (errno == ENOENT)
		errno = ENOSPC;
	return -1;
}

#endif
