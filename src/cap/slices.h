/*
 * slices - long work for requests, in turns of two milliseconds.
 *
 * Jobs wait in a queue. Each turn of the loop, before it looks for new events, gives the first one
 * two milliseconds; what it leaves of them, the next ones get. One that has more to do goes behind
 * the others. So no job delays requests, children or another job.
 *
 * Ownership: a job is part of the caller's state, which drops it before it is freed.
 */
#ifndef PROCPEN_CAP_SLICES_H
#define PROCPEN_CAP_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "os/loop.h"

struct slices_job {
	/* Work until @until_us (clock_mono_us()), and at least a step. True: there is more to do.
	 * False: the job is out of the queue, and may be gone. */
	bool (*work)(void *data, int64_t until_us);
	void *data;
	struct slices *queue; /* the queue that holds it, or NULL */
	struct slices_job *next, *prev;
};

/* All jobs of one server; zeroed: none. */
struct slices {
	struct ev_loop *loop;
	struct slices_job *first, *last;
	ev_prepare turn; /* active while the queue is not empty ... */
	ev_idle more;    /* ... as is this: the loop must not sleep */
};

/* Put @job at the end of the queue, unless it is in it. */
void slices_add(struct slices *s, struct ev_loop *loop, struct slices_job *job);
void slices_drop(struct slices_job *job); /* no effect on one that is in no queue */

#endif
