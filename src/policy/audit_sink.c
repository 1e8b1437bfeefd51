#include "policy/audit_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define FIRST_FREE 16 /* those below are for standard streams and children */
#define REST_MAX (1 << 20)
#define PIPE_BYTES (1 << 20) /* room for about 1,500 lines */

struct audit_sink {
	int fd;
	bool socket;
	struct buf rest; /* of a line that was taken in part */
	uint64_t lost;
};

/* A copy of @fd whose writes do not wait; -1 with errno. A pipe is opened again, because O_NONBLOCK
 * on the inherited description would hold for all that share it. */
static int audit_sink_take(int fd, mode_t kind)
{
	char path[40];
	int own = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (kind == S_IFIFO)
		own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (own >= 0) {
		close(fd);
		fd = own;
	}
	own = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
	if (own < 0)
		return -1;
	close(fd);
	if (kind == S_IFIFO)
		fcntl(own, F_SETPIPE_SZ, PIPE_BYTES);
	if (kind == S_IFIFO || kind == S_IFCHR)
		fcntl(own, F_SETFL, fcntl(own, F_GETFL) | O_NONBLOCK);
	return own;
}

static int audit_sink_read_number(const char *text)
{
	char *end;
	long number;

	if (strncmp(text, "fd:", 3) || text[3] < '0' || text[3] > '9')
		return -1;
	number = strtol(text + 3, &end, 10);
	return *end || number < 3 || number > INT32_MAX ? -1 : (int)number;
}

static int audit_sink_fail(const char *text, const char *why, struct err *e)
{
	err_set(e, ERR_INVALID_PARAMS, "audit.sink=%.64s is %s", text, why);
	return err_hint(e, "Open it where procpen is started: "
			   "`procpen serve --set audit.sink=fd:9 9>>FILE`.");
}

int audit_sink_check(const char *text, struct err *e)
{
	return audit_sink_read_number(text) < 0
		       ? audit_sink_fail(text, "not fd:N with a number from 3 on", e) : 0;
}

struct audit_sink *audit_sink_new(const char *text, struct err *e)
{
	int fd = audit_sink_read_number(text), flags = fcntl(fd, F_GETFL);
	struct audit_sink *s;
	struct stat st;

	if (audit_sink_check(text, e))
		return NULL;
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(fd, &st)) {
		audit_sink_fail(text, flags < 0 ? "not open" : "not writable", e);
		return NULL;
	}
	s = mem_zalloc(sizeof(*s));
	s->socket = S_ISSOCK(st.st_mode);
	s->fd = audit_sink_take(fd, st.st_mode & S_IFMT);
	buf_init(&s->rest, REST_MAX);
	if (s->fd >= 0)
		return s;
	err_sys(e, ERR_INTERNAL_ERROR, errno, "cannot take audit.sink=%.64s", text);
	audit_sink_free(s);
	return NULL;
}

/* As write(2), but -1 when it would wait. */
static ssize_t audit_sink_put(const struct audit_sink *s, const char *bytes, size_t len)
{
	ssize_t n;

	do {
		n = s->socket ? send(s->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL)
			      : write(s->fd, bytes, len);
	} while (n < 0 && errno == EINTR);
	return n;
}

/* Write what is left of a line. Is nothing left? */
static bool audit_sink_complete(struct audit_sink *s)
{
	ssize_t n = s->rest.len ? audit_sink_put(s, s->rest.data, s->rest.len) : 0;

	if (n > 0)
		buf_consume(&s->rest, (size_t)n);
	return !s->rest.len;
}

void audit_sink_write(struct audit_sink *s, const struct buf *line)
{
	ssize_t n = audit_sink_complete(s) ? audit_sink_put(s, line->data, line->len) : -1;

	if (n < 0)
		s->lost++;
	else
		buf_add(&s->rest, line->data + n, line->len - (size_t)n);
}

uint64_t audit_sink_lost(const struct audit_sink *s)
{
	return s->lost;
}

void audit_sink_free(struct audit_sink *s)
{
	if (!s)
		return;
	if (s->fd >= 0) {
		audit_sink_complete(s);
		close(s->fd);
	}
	buf_release(&s->rest);
	free(s);
}
