/*
 * One line is one write(2) of at most PIPE_BUF bytes, so that lines of several
 * writers do not mix. Control characters are replaced: a line may quote what a
 * client sent, and must neither forge a second line nor move a cursor.
 */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/utf8.h"

#define LINE_MAX_BYTES 2048

static enum log_level level_shown = LOG_LEVEL_NOTICE;

void log_set_level(enum log_level level)
{
	level_shown = level;
}

/* A pipe that nobody reads must not stop the server. */
static void write_if_ready(const char *line, size_t len)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	int saved = errno;
	ssize_t done;

	if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT)) {
		done = write(STDERR_FILENO, line, len);
		(void)done;
	}
	errno = saved;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const names[] = { "error: ", "warning: ", "", "debug: " };
	char line[LINE_MAX_BYTES];
	int start, len;
	size_t end;
	va_list ap;

	if (level > level_shown)
		return;
	start = snprintf(line, sizeof(line), "procpen: %s", names[level]);
	va_start(ap, fmt);
	len = vsnprintf(line + start, sizeof(line) - (size_t)start - 1, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	end = (size_t)(start + len);
	if (end > sizeof(line) - 2) {
		end = sizeof(line) - 2;
		end -= utf8_partial_tail(line, end);
	}
	for (size_t i = 0; i < end; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[end++] = '\n';
	write_if_ready(line, end);
}
