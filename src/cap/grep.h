/*
 * grep - the search that process.logs makes for a pattern, in slices.
 *
 * Searches wait in a queue; each turn of the loop gives the first of them two milliseconds, so
 * that only one at a time holds what it has found. A search leaves the queue when it is over or
 * freed, that is, when its request ends for whatever reason.
 */
#ifndef PROCPEN_CAP_GREP_H
#define PROCPEN_CAP_GREP_H

#include "os/loop.h"
#include "proc/proc.h"
#include "rpc/req.h"

struct cap;
struct grep;

/* All searches of one server; empty when all zero. */
struct grep_queue {
	struct grep *first, *last;
	ev_idle work; /* active while there are any */
};

/* What is wanted of streams 0 (stdout) and 1 (stderr), each from an offset on. */
struct grep_range {
	bool wanted[2];
	uint64_t offset[2];
};

/* Read the parameters of @r. NULL with InvalidParams. */
struct grep *grep_new(const struct req *r, const struct grep_range *range, struct err *e);
void grep_free(struct grep *g); /* accepts NULL */

/* Search the output of @p; answers @r in a later turn. */
void grep_start(struct grep *g, struct cap *c, struct req *r, const struct proc *p);

#endif
