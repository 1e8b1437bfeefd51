/* run_result - the result of process.run while it runs and after. */
#ifndef PROCPEN_CAP_RUN_RESULT_H
#define PROCPEN_CAP_RUN_RESULT_H

#include "base/err.h"
#include "cap/cap.h"
#include "proc/output_text.h"
#include "proc/proc.h"

/* The caller's choices. The task of a process.run request begins with one. */
struct run_result_options {
	struct output_tail out, err;
	bool cleans;        /* as in struct dialect */
	bool by_default;    /* the request sets none of the output bounds */
	bool explain;	    /* the request has explain_denials */
	bool args_ignored;  /* see command_ignores_args() */
	bool stdin_ignored; /* stdin was given, but not fed */
	bool stdin_edited;  /* it was typed with keys that hide a line from the blocklist */
	bool stdin_piped;   /* it was started so that process.input could write to it */
	bool input_open;    /* process.input can write to it, ... */
	bool input_awaited; /* ... and it waits for that, see proc/input_wait.h */
	bool timeout_ignored; /* or a timeout */
	int64_t timeout_most; /* seconds that a request may ask for; 0: no bound ... */
	bool timeout_is_most; /* ... which this run has */
	bool background_ends; /* a run in the background has a bound, too */
	bool max_runtime_ignored; /* a foreground run that was given one */
	const char *network_ignored; /* why network: true has no effect; NULL: nobody asked */
	unsigned idle_limits; /* see run_limits_find_idle() */
	bool profile_ignored; /* profile: default has none, because the operator has strict */
	bool keyed;         /* the request has an idempotency_key ... */
	bool replayed;      /* ... and is not the first one with it */
	unsigned same_failures; /* in a row, this one included; 0: it is not a failure */
	unsigned lost_records;  /* of the audit log, that no result has told yet */
};

/* Read them from checked parameters. */
void run_result_options_read(struct run_result_options *v, const struct req *r);

/* Write the members of the result. */
void run_result_write(struct jsonw *w, const struct cap *c, struct proc *p,
		      struct run_result_options *v);

/* Did a limit end the run? Then sets @e, the error of the call; the result goes with it. */
bool run_result_is_failure(const struct proc *p, struct err *e);

/* Why @p never began (PROC_EVENT_FAILED), for those that wait for it and did not start it. */
void run_result_error(const struct proc *p, struct err *e);

/* Fail @r with that. */
void run_result_fail(struct req *r, const struct proc *p);

#endif
