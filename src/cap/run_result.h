/*
 * run_result - the result of process.run: what a run looks like to whoever called
 * it, at any time of its life.
 */
#ifndef PROCPEN_CAP_RUN_RESULT_H
#define PROCPEN_CAP_RUN_RESULT_H

#include "base/err.h"
#include "cap/cap.h"
#include "proc/output_text.h"
#include "proc/proc.h"

/* How the caller wants to see it. The task of a process.run request begins with one. */
struct run_result_options {
	struct output_tail out, err;
	bool by_default;    /* nothing was said about how much output is to be shown */
	bool explain;	    /* refused system calls are to be named */
	bool stdin_ignored; /* it was given one, and is in the background */
};

/* Read it from checked parameters. */
void run_result_options_read(struct run_result_options *v, const struct req *r);

/* Write the members of the result. */
void run_result_write(struct jsonw *w, const struct cap *c, struct proc *p,
		      struct run_result_options *v);

/* Was it ended by a limit? Then the call fails with @e, and shows the result all the same. */
bool run_result_is_failure(const struct proc *p, struct err *e);

#endif
