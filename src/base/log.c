/*
 * One line is one write(2) of at most PIPE_BUF bytes, so that a pipe accepts it whole
 * or not at all and lines of several writers do not mix. Hidden characters are shown
 * by code: a line may quote what a client sent, and must neither forge a second line
 * nor move a cursor, nor look like another text.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

#define LINE_MAX_BYTES 2048
#define PREFIX_MAX_BYTES 80 /* both together less than PIPE_BUF */

static ssize_t log_write_to_stderr(const void *bytes, size_t len)
{
	ssize_t done;

	do
		done = write(STDERR_FILENO, bytes, len);
	while (done < 0 && errno == EINTR);
	return done;
}

static ssize_t (*write_some)(const void *bytes, size_t len) = log_write_to_stderr;

void log_write_with(ssize_t (*writer)(const void *bytes, size_t len))
{
	write_some = writer;
}

/* What is left of a line that a terminal or socket has accepted in part. */
static struct {
	char bytes[PREFIX_MAX_BYTES + LINE_MAX_BYTES];
	size_t len;
} rest;

static unsigned long lost; /* lines dropped since one was written */

/* Write what is left of the last line. 0, or -1: not all of it was accepted, so write nothing else
 * yet. */
static int log_write_rest(void)
{
	ssize_t done;

	while (rest.len) {
		done = write_some(rest.bytes, rest.len);
		if (done <= 0)
			return -1;
		rest.len -= (size_t)done;
		memmove(rest.bytes, rest.bytes + done, rest.len);
	}
	return 0;
}

/* 0: written, or begun and kept in `rest`; -1: the line was not begun. */
static int log_write_whole(const char *bytes, size_t len)
{
	ssize_t done;

	if (log_write_rest())
		return -1;
	done = write_some(bytes, len);
	if (done <= 0)
		return -1;
	rest.len = len - (size_t)done;
	memcpy(rest.bytes, bytes + done, rest.len);
	log_write_rest();
	return 0;
}

/* Write the count of lost lines and the new line at once: there may be room for one write only. */
static void log_write_or_count(const char *line, size_t len)
{
	char bytes[PREFIX_MAX_BYTES + LINE_MAX_BYTES];
	int saved = errno, prefix = 0;

	if (lost)
		prefix = snprintf(bytes, PREFIX_MAX_BYTES,
				  "procpen: warning: %lu line%s lost\n", lost,
				  lost == 1 ? " was" : "s were");
	memcpy(bytes + prefix, line, len);
	lost = log_write_whole(bytes, (size_t)prefix + len) ? lost + 1 : 0;
	errno = saved;
}

static enum log_level least = LOG_LEVEL_NOTICE;

void log_from(enum log_level level)
{
	least = level;
}

void log_text(enum log_level level, const char *text, size_t len)
{
	static const char *const heads[] = {
		"procpen: error: ", "procpen: warning: ", "procpen: ",
	};
	char line[LINE_MAX_BYTES];
	size_t end, room;

	if (level > least)
		return;
	end = (size_t)(stpcpy(line, heads[level]) - line);
	room = sizeof(line) - 1 - end;
	if (len > room)
		len = room - utf8_partial_tail(text, room);
	end += utf8_show(line + end, room, text, len);
	line[end++] = '\n';
	log_write_or_count(line, end);
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES];
	va_list ap;
	int len;

	if (level > least)
		return;
	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len >= 0)
		log_text(level, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}
