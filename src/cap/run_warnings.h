/*
 * run_warnings - what the caller of process.run should know of a run beside its result.
 *
 * Facts that the caller can act on, one sentence each: an input that was ignored or left, processes
 * that live on, a failure that repeats itself, what the sandbox refused. A run that went as asked
 * has none. What a command said stands in quotes, as its claim.
 */
#ifndef PROCPEN_CAP_RUN_WARNINGS_H
#define PROCPEN_CAP_RUN_WARNINGS_H

#include "base/jsonw.h"
#include "cap/cap.h"
#include "cap/run_result.h"

/* Write "warnings", an array of sentences, empty if there is nothing to tell. */
void run_warnings_write(struct jsonw *w, const struct cap *c, struct proc *p,
			const struct run_result_options *v);

/* Likewise of a run that is over, for who asks later: without what hangs on the request that
 * started it, and without the leftovers of its end, whose present number is `alive`. Empty while
 * it runs. */
void run_warnings_write_end(struct jsonw *w, const struct cap *c, struct proc *p);

/* Write into an open array of sentences, if @waiting is not 0, that so many bytes of input wait in
 * the server: text for a shell that is not complete by now. */
void run_warnings_add_waiting(struct jsonw *w, const struct proc *p, size_t waiting);

#endif
