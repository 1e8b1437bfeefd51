/* logs_members - what every result of process.logs says, whether it holds a page or matches. */
#ifndef PROCPEN_CAP_LOGS_MEMBERS_H
#define PROCPEN_CAP_LOGS_MEMBERS_H

#include "base/jsonw.h"
#include "proc/proc.h"

void logs_members_begin(struct jsonw *w, const struct proc *p); /* which run, and its state */

/* Sizes, where to go on (@out_next, @err_next), and what is no longer kept. */
void logs_members_end(struct jsonw *w, const struct proc *p, uint64_t out_next, uint64_t err_next);

#endif
