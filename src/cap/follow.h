/*
 * follow - sends what a run does as notifications `process.event`, while it does it.
 *
 * A follow is a place in each stream of a run, not a queue: events are read from the store
 * (proc/output.h) when they can be sent. All follows together have one event at a time in the queue
 * to the client, of at most 1/FOLLOW_MAX of its high mark. So a client that does not read costs no
 * memory, and an answer waits behind one event at most. The follows take turns, and so do the
 * streams of one. What the store has lost by the time it is read, the client learns from a `gap`.
 *
 * The events of a follow: `started` first, `exited` last, `seq` counts them from 0. A run's streams
 * end for its follows when its state becomes final: a process that it left behind may write more,
 * which only process.logs shows. A follow holds the number of its run, not the record: when that is
 * removed, it still knows how the run ended.
 */
#ifndef PROCPEN_CAP_FOLLOW_H
#define PROCPEN_CAP_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/ids.h"
#include "os/loop.h"
#include "proc/proc.h"

#define FOLLOW_MAX 64

struct cap; /* opaque here: cap/cap.h */
struct follow;

/* All follows of one server; zeroed: none. */
struct follows {
	struct cap *c;
	struct follow *first; /* in the order of their turns */
	int count;
	uint64_t last_number;
	uint64_t sent_to;  /* outq.written when the last event has left the queue */
	bool hurried;
	struct buf line;   /* the event being written */
	ev_prepare turn;   /* active while there are follows */
	ev_idle more;      /* active while a turn had no time for all: the loop must not sleep */
};

/* What to follow of a run, for streams 0 (stdout) and 1 (stderr). */
struct follow_spec {
	bool wanted[2];
	uint64_t from[2];       /* at most the size of the stream */
	bool base64;
	const char *request_id; /* raw token of the request, for `started`; copied */
};

/* Can one more begin? Returns 0, or -1 with LimitReached. */
int follow_check(const struct follows *all, struct err *e);

/* Follow @p, after follow_check(). @c: its follows; it must not move. Sets @id. */
void follow_add(struct cap *c, const struct proc *p, const struct follow_spec *spec,
		char id[IDS_TEXT_SIZE]);

/* End follow @id; nothing of it comes any more. False: there is none. */
bool follow_remove(struct follows *all, const char *id);

/* The run table's hook: @p has settled or failed. */
void follow_on_event(struct follows *all, const struct proc *p, unsigned events);

/* Send what there is of follow @id, "" for none, and do not wait for the loop's turn: an answer
 * comes next. */
void follow_catch_up(struct follows *all, const char *id);

/* The server cannot wait for a slow reader: from now on a gap stands for output not yet sent. */
void follow_hurry(struct follows *all);

/* End all; nothing more is sent. */
void follow_release(struct follows *all);

/* Send the event `exited` of @p, which has settled or failed, to a client that need not follow
 * it. */
void follow_report_exit(struct cap *c, const struct proc *p);

#endif
