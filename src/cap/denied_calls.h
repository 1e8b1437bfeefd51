/*
 * denied_calls - reports the system calls of a run that the seccomp filter refused.
 *
 * A result has "denied_calls" if the run has a listener (explain_denials). "warnings" has the same
 * as sentences, and what SIGSYS may mean if the command died of it.
 */
#ifndef PROCPEN_CAP_DENIED_CALLS_H
#define PROCPEN_CAP_DENIED_CALLS_H

#include <stdbool.h>

#include "base/jsonw.h"
#include "proc/proc.h"

/* Write "denied_calls", an array of {name, count, error}, or nothing. */
void denied_calls_write(struct jsonw *w, const struct proc *p);

/* Write sentences into the open array of warnings. @asked: it is for the request that started the
 * run, which has explain_denials. */
void denied_calls_warn(struct jsonw *w, const struct proc *p, bool asked);

#endif
