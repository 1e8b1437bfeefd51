/* send_fd - a message with a descriptor, from one process to another. */
#ifndef PROCPEN_TESTS_UNIT_SEND_FD_H
#define PROCPEN_TESTS_UNIT_SEND_FD_H

#include <string.h>
#include <sys/socket.h>

/* Send @len bytes at @data, and @fd, to the socket @to; what sendmsg(2) returns. */
static inline ssize_t send_fd(int to, void *data, size_t len, int fd)
{
	char bytes[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { data, len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = bytes,
				  .msg_controllen = sizeof(bytes) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(to, &message, 0);
}

#endif
