/* wire_end.h - for tests: an output queue whose other end the test reads. */
#ifndef PROCPEN_TESTS_WIRE_END_H
#define PROCPEN_TESTS_WIRE_END_H

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/loop.h"
#include "rpc/outq.h"

struct wire_end {
	struct ev_loop *loop;
	struct stdio_end near;
	int far;
	struct outq out;
	int changes; /* calls of on_change */
	size_t held; /* bytes of a line that is not whole yet */
	char line[1 << 16];
};

static void wire_end_changed(void *ctx)
{
	((struct wire_end *)ctx)->changes++;
}

/* A queue with mark @high into a socket whose buffers are small. */
static inline void wire_end_open(struct wire_end *w, size_t high)
{
	int pair[2], size = 4096;

	memset(w, 0, sizeof(*w));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	w->loop = loop_new();
	w->near = (struct stdio_end){ .fd = pair[0], .is_socket = true, .restore_flags = -1 };
	w->far = pair[1];
	outq_init(&w->out, w->loop, &w->near, high, wire_end_changed, w);
	ev_unref(w->loop); /* its watch for a reader that goes keeps no loop running */
}

static inline void wire_end_close(struct wire_end *w)
{
	ev_ref(w->loop);
	outq_release(&w->out);
	close(w->near.fd);
	if (w->far >= 0)
		close(w->far);
	loop_free(w->loop);
}

/* The next line that was sent, or NULL when there is none now. Looks first, and takes no byte behind
 * the line: how much the queue still holds is part of what is tested. */
static inline const char *wire_end_line(struct wire_end *w)
{
	size_t room;

	while ((room = sizeof(w->line) - 1 - w->held) > 0) {
		char *at = w->line + w->held, *end;
		ssize_t n = recv(w->far, at, room < 4096 ? room : 4096, MSG_DONTWAIT | MSG_PEEK);

		if (n <= 0)
			break;
		end = memchr(at, '\n', (size_t)n);
		if (end)
			n = end + 1 - at;
		if (recv(w->far, at, (size_t)n, MSG_DONTWAIT) != n)
			break;
		w->held += (size_t)n;
		if (end) {
			*end = '\0';
			w->held = 0;
			return w->line;
		}
	}
	return NULL;
}

#endif
