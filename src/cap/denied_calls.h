/*
 * denied_calls - the system calls that the seccomp filter refused to a run.
 *
 * A result has "denied_calls" when the run has a listener (explain_denials), or when
 * its command died of SIGSYS; then a call whose name is unknown has the name null.
 * "warnings" has the same as sentences.
 */
#ifndef PROCPEN_CAP_DENIED_CALLS_H
#define PROCPEN_CAP_DENIED_CALLS_H

#include <stdbool.h>

#include "base/jsonw.h"
#include "proc/proc.h"

/* Write "denied_calls", an array of {name, count, error}, or nothing. */
void denied_calls_write(struct jsonw *w, const struct proc *p);

/* Write sentences into the open array of warnings. @asked: the request has explain_denials. */
void denied_calls_warn(struct jsonw *w, const struct proc *p, bool asked);

#endif
