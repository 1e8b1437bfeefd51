/*
 * audit_verify - is the audit log in a directory whole? Reads it and changes nothing.
 *
 * Follows each chain from line to line and from file to file, and says what is missing, torn or
 * changed, and which servers ended without a stop record. Files that procpen removed, which is on
 * record, are not missed. Does not use the clock.
 *
 * It cannot see what nothing refers to: the last lines of a file of `procpen run` that has no
 * successor, an edit of the very last line, a chain that was computed anew.
 */
#ifndef PROCPEN_POLICY_AUDIT_VERIFY_H
#define PROCPEN_POLICY_AUDIT_VERIFY_H

#include <stdint.h>

#include "base/err.h"

/* Something that is not as it was written. */
struct audit_problem {
	const char *kind; /* missing, torn, changed, order, foreign, no_stop, unreadable */
	const char *file; /* its base name */
	uint64_t line;    /* from 1; 0: the file as a whole */
	const char *text; /* what is wrong */
};

struct audit_verdict {
	uint64_t files, lines, problems;
	uint64_t running; /* servers that write one of the files now */
};

typedef void (*audit_verify_fn)(void *ctx, const struct audit_problem *problem);

/*
 * Read the logs in @path, and call @report for each problem. 0, or -1 as audit_dir_open(): there is
 * none, or the directory cannot be read.
 */
int audit_verify(const char *path, audit_verify_fn report, void *ctx,
		 struct audit_verdict *verdict, struct err *e);

#endif
