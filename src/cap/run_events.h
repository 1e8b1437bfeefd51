/*
 * run_events - what the server does when something happens to a run: it wakes the requests that
 * wait for the run, counts it, reports it to those that follow it, writes its end to the audit
 * log, and tells the dialect.
 */
#ifndef PROCPEN_CAP_RUN_EVENTS_H
#define PROCPEN_CAP_RUN_EVENTS_H

#include "cap/cap.h"

/* The hook of the table of runs; @cap is its struct cap. */
void run_events_handle(void *cap, struct proc *p, unsigned events);

#endif
