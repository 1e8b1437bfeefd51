/*
 * grep - searches the output of a run for a pattern, in slices, for process.logs.
 *
 * Searches wait in a queue, of which only the first one is a job (cap/slices.h): only one at a time
 * holds its matches. A search leaves the queue when it is done or its request ends.
 */
#ifndef PROCPEN_CAP_GREP_H
#define PROCPEN_CAP_GREP_H

#include "cap/slices.h"
#include "proc/proc.h"
#include "rpc/req.h"

struct cap;
struct grep;

/* All searches of one server; zeroed: none. */
struct grep_queue {
	struct grep *first, *last;
	struct slices_job job; /* of the first one */
};

/* What to search of streams 0 (stdout) and 1 (stderr), and from which offset. */
struct grep_range {
	bool wanted[2];
	uint64_t offset[2];
};

/* Read the parameters of @r. Returns NULL with InvalidParams. */
struct grep *grep_new(const struct req *r, const struct grep_range *range, struct err *e);
void grep_free(struct grep *g); /* accepts NULL */

/* Search the output of @p; answers @r in a later turn. */
void grep_start(struct grep *g, struct cap *c, struct req *r, const struct proc *p);

#endif
