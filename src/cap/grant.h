/*
 * grant - what an answer for the session (policy/grants.h) binds of a call.
 *
 * The capability and every parameter but intent, time limits and output caps; of a command also the
 * directory where it runs, all rules that ask for it, and the files that it runs
 * (policy/run_files.h). A call that differs in one of them is asked for again.
 *
 * Refuses calls whose effect depends on more than that: process.input, because what the same bytes
 * do depends on what was written before, and commands whose files cannot be told.
 */
#ifndef PROCPEN_CAP_GRANT_H
#define PROCPEN_CAP_GRANT_H

#include "cap/cap.h"

/*
 * Look for the grant that allows @call: call->grant and call->event.grant say which, or what a new
 * one would bind. Where approval.remember is off, nothing is read. Returns the files, an array of
 * paths for people, that it would bind (the caller releases it), or NULL.
 */
json_t *grant_read(struct cap_call *call);

/* After the answer to the question about @call: reads again what it offered to remember. Returns
 * false if that differs from what was shown. Without an offer nothing is read. */
bool grant_is_as_shown(struct cap_call *call);

/* The answer to @call wishes to be remembered: make a grant, or say on record and on stderr why
 * not. */
void grant_remember(struct cap_call *call, enum req_remember wish);

/* Write members of the question (cap/notice.h): that its answer can be remembered, with @files. */
void grant_write_offer(struct jsonw *w, const struct cap_call *call, const json_t *files);

#endif
