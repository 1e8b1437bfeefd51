/* send_fd - a message with descriptors, from one process to another. */
#ifndef PROCPEN_TESTS_UNIT_SEND_FD_H
#define PROCPEN_TESTS_UNIT_SEND_FD_H

#include <string.h>
#include <sys/socket.h>

#define SEND_FDS_MAX 2

/* Send @len bytes at @data, and @count descriptors, to the socket @to; what sendmsg(2) returns. */
static inline ssize_t send_fds(int to, void *data, size_t len, const int *fds, size_t count)
{
	char bytes[CMSG_SPACE(SEND_FDS_MAX * sizeof(int))] = { 0 };
	struct iovec part = { data, len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = bytes,
				  .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(header), fds, count * sizeof(int));
	return sendmsg(to, &message, 0);
}

static inline ssize_t send_fd(int to, void *data, size_t len, int fd)
{
	return send_fds(to, data, len, &fd, 1);
}

#endif
