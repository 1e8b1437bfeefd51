/*
 * until - what a call of process.monitor waits for: the end of the run, output, a line that matches
 * a pattern, a TCP port, or silence.
 *
 * A search for a pattern works in turns (cap/slices.h) and holds no line between two of them. It
 * begins at `from`, and takes each line once, when it is complete. A line without newline, as a
 * prompt is, is taken as it stands when it is OPEN_LINE_MS old, and again when more of it has come.
 * Ports are polled while calls wait for some: one look serves all such calls, and takes at most a
 * tenth of a processor.
 *
 * Ownership: part of the request's task; until_free() ends its job and its timer.
 */
#ifndef PROCPEN_CAP_UNTIL_H
#define PROCPEN_CAP_UNTIL_H

#include "base/jsonw.h"
#include "cap/cap.h"

struct until;

/* Read the checked parameters of @r. NULL with InvalidParams: one that `until` needs is missing, or
 * one is given that does not go with it. */
struct until *until_new(const struct req *r, struct err *e);
void until_free(struct until *u); /* accepts NULL */

enum until_found {
	UNTIL_OPEN,    /* not yet: look again after until_events(), or when on_change is called */
	UNTIL_MET,
	UNTIL_UNMET,   /* and it will not be */
	UNTIL_STOPPED, /* the pattern reached a bound: until_error() */
};

/* How to look. */
enum until_look {
	UNTIL_GO_ON,
	UNTIL_ALL, /* for the last time: search all that is written by now */
	UNTIL_NOW, /* the time is over: search for one more turn */
};

/* Begin to wait for @p in the call @r. @on_change is called between turns of the loop: look again.
 * It may answer @r, which frees @u. */
void until_begin(struct until *u, struct cap *c, struct req *r, const struct proc *p,
		 void (*on_change)(struct cap *c, struct req *r));

/* The events of a run after which to look again. */
unsigned until_events(const struct until *u);

enum until_found until_look(struct until *u, const struct proc *p, enum until_look how);

/* Write `match`, and how much of the output no search has seen. */
void until_write(const struct until *u, const struct proc *p, struct jsonw *w);

/* Set @e to the bound that was reached. */
void until_error(const struct until *u, struct err *e);

#endif
