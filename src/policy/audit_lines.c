#include "policy/audit_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define CHUNK (256 << 10)

void audit_lines_init(struct audit_lines *l, int fd)
{
	*l = (struct audit_lines){ .fd = fd };
	l->bytes = mem_realloc(NULL, AUDIT_LINES_MAX + CHUNK);
}

void audit_lines_release(struct audit_lines *l)
{
	free(l->bytes);
	l->bytes = NULL;
}

/* Read a chunk behind what is there. 0 or -1. */
static int audit_lines_fill(struct audit_lines *l)
{
	ssize_t n;

	memmove(l->bytes, l->bytes + l->from, l->to - l->from);
	l->to -= l->from;
	l->from = 0;
	do {
		n = read(l->fd, l->bytes + l->to, CHUNK);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	l->ended = !n;
	l->to += (size_t)n;
	return 0;
}

/* Drop the rest of a line that is too long. 0 or -1. */
static int audit_lines_skip(struct audit_lines *l)
{
	char *newline = NULL;

	do {
		l->from = l->to = AUDIT_LINES_MAX; /* the start of the line stays where it is */
		ssize_t n = read(l->fd, l->bytes + l->to, CHUNK);

		if (n < 0)
			return -1;
		l->ended = !n;
		l->to += (size_t)n;
		newline = memchr(l->bytes + l->from, '\n', l->to - l->from);
	} while (!newline && !l->ended);
	l->from = newline ? (size_t)(newline + 1 - l->bytes) : l->to;
	return 0;
}

int audit_lines_next(struct audit_lines *l, struct audit_text *line)
{
	const char *newline = NULL;
	size_t seen = 0;

	for (;;) {
		size_t len = l->to - l->from;

		if (len > seen)
			newline = memchr(l->bytes + l->from + seen, '\n', len - seen);
		seen = len;
		if (newline || l->ended || len >= AUDIT_LINES_MAX)
			break;
		if (audit_lines_fill(l))
			return -1;
	}
	if (l->from == l->to)
		return 0;
	*line = (struct audit_text){
		.bytes = l->bytes + l->from,
		.len = newline ? (size_t)(newline - l->bytes) - l->from : l->to - l->from,
		.torn = !newline && l->ended,
		.cut = !newline && !l->ended,
	};
	if (!line->cut) {
		l->from += line->len + !line->torn;
		return 1;
	}
	memmove(l->bytes, line->bytes, AUDIT_LINES_MAX);
	line->bytes = l->bytes;
	line->len = AUDIT_LINES_MAX;
	return audit_lines_skip(l) ? -1 : 1;
}
