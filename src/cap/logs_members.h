/* logs_members - writes the members common to all results of process.logs. */
#ifndef PROCPEN_CAP_LOGS_MEMBERS_H
#define PROCPEN_CAP_LOGS_MEMBERS_H

#include "base/jsonw.h"
#include "proc/proc.h"

void logs_members_begin(struct jsonw *w, const struct proc *p); /* the run and its state */

/* The sizes, the next offsets (@out_next, @err_next), and the evicted ranges. */
void logs_members_end(struct jsonw *w, const struct proc *p, uint64_t out_next, uint64_t err_next);

#endif
