/*
 * grep - searches the output of a run for a pattern, in slices, for process.logs.
 *
 * Searches wait in a queue, of which only the first one is a job (cap/slices.h): only one at a time
 * holds its matches. A search leaves the queue when it is done or its request ends.
 */
#ifndef PROCPEN_CAP_GREP_H
#define PROCPEN_CAP_GREP_H

#include "base/pattern.h"
#include "cap/slices.h"
#include "proc/lines.h"
#include "proc/proc.h"
#include "rpc/req.h"

#define GREP_SHOWN_MAX 1000 /* bytes of a line that are shown */

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

/* Where the part of @line begins that is shown, around its byte @at; *@len: its bytes. */
size_t grep_shown(const struct line *line, size_t at, size_t *len);

/* Are @shown bytes of @line, or all that was read of it, less than the line? */
bool grep_is_cut(const struct line *line, size_t shown);

/* pattern_find() in @line. */
enum pattern_found grep_find(struct pattern *p, const struct line *line, size_t *at);

/* LimitReached, for the line at @offset of @stream. @by: the parameter that goes on behind it. */
void grep_limit_reached(struct err *e, const char *stream, uint64_t offset, const char *by);

/* Search the output of @p; answers @r in a later turn. */
void grep_start(struct grep *g, struct cap *c, struct req *r, const struct proc *p);

#endif
