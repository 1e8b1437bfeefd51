/*
 * audit_lines - reads a file of the audit log line by line, in memory that does not grow with it.
 */
#ifndef PROCPEN_POLICY_AUDIT_LINES_H
#define PROCPEN_POLICY_AUDIT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define AUDIT_LINES_MAX (1 << 20) /* bytes of a line; no line of ours is as long */

struct audit_lines {
	int fd; /* the caller's */
	char *bytes;
	size_t from, to; /* what is read and not returned yet */
	bool ended;
};

struct audit_text {
	const char *bytes; /* without the newline; good until the next call */
	size_t len;
	bool torn; /* the file ends without a newline behind it */
	bool cut;  /* it is longer; the rest was skipped */
};

/* Read @fd from where it stands. Release it in any case. */
void audit_lines_init(struct audit_lines *l, int fd);
void audit_lines_release(struct audit_lines *l);

/* The next line: 1, 0 at the end, or -1 with errno. */
int audit_lines_next(struct audit_lines *l, struct audit_text *line);

#endif
