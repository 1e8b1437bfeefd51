/*
 * denied_calls - the system calls that a run's filter refused, in its result.
 *
 * "denied_calls" is there when the run has a listener (explain_denials), and when
 * its command died of SIGSYS; in that case a call that nobody can name is listed
 * with the name null. The same in words is for "warnings".
 */
#ifndef PROCPEN_CAP_DENIED_CALLS_H
#define PROCPEN_CAP_DENIED_CALLS_H

#include <stdbool.h>

#include "base/jsonw.h"
#include "proc/proc.h"

/* "denied_calls": an array of {name, count, error}, or nothing. */
void denied_calls_write(struct jsonw *w, const struct proc *p);

/* Sentences into the open array of warnings. @asked: the request has explain_denials. */
void denied_calls_warn(struct jsonw *w, const struct proc *p, bool asked);

#endif
