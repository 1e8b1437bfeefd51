/*
 * run_view - the result of process.run: what a run looks like to whoever called
 * it, at any time of its life.
 */
#ifndef PROCPEN_CAP_RUN_VIEW_H
#define PROCPEN_CAP_RUN_VIEW_H

#include "base/err.h"
#include "cap/cap.h"
#include "proc/output_text.h"
#include "proc/proc.h"

/* How the caller wants to see it. The task of a process.run request begins with one. */
struct run_view {
	struct output_tail out, err;
	bool by_default;    /* nothing was said about how much output is to be shown */
	bool explain;       /* refused system calls are to be named */
	bool stdin_ignored; /* it was given one, and is in the background */
};

/* Read it from checked parameters. */
void run_view_read(struct run_view *v, const struct req *r);

/* Write the members of the result. */
void run_view_write(struct jsonw *w, const struct cap *c, struct proc *p, struct run_view *v);

/* Was it ended by a limit? Then the call fails with @e, and shows the result all the same. */
bool run_view_is_failure(const struct proc *p, struct err *e);

#endif
