/*
 * budget - what all runs of a session may use together.
 *
 * Judged before each start and never during a run: what runs goes on. The processor time is that of
 * server.metrics, the server's own included.
 */
#ifndef PROCPEN_CAP_BUDGET_H
#define PROCPEN_CAP_BUDGET_H

#include "base/err.h"

struct cap;

/* May one more run start? 0, or -1 with LimitReached, which no retry changes. */
int budget_check(struct cap *c, struct err *e);

#endif
