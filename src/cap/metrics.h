/*
 * metrics - figures of the server and all its runs, as a snapshot or a stream of notifications.
 *
 * Processor time and storage bytes are what the kernel has counted for the server and its children,
 * and of children that still live what they and theirs have used so far. What cannot be known is
 * null, with the reason in `unknown`. A client has one stream; a client that does not read gets no
 * notification until it reads again.
 */
#ifndef PROCPEN_CAP_METRICS_H
#define PROCPEN_CAP_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/jsonw.h"
#include "os/loop.h"
#include "proc/proc.h"

struct cap;

/* What happened since the start of the server. */
struct metrics_counters {
	uint64_t succeeded, failed, timed_out, killed; /* runs, by their end */
	uint64_t blocked, denied;                      /* calls */
	uint64_t bytes_forgotten;                      /* output of runs without a record */
};

struct metrics_sample {
	int64_t mono_ms, cpu_us, read_bytes, write_bytes;
};

/* Of one server; zeroed at first, but for the start. */
struct metrics {
	int64_t start_ms; /* clock_mono_ms() */
	struct metrics_counters counters;
	struct metrics_sample last; /* of a call, or of the stream */
	ev_timer timer;   /* of the stream */
	double interval_ms;
};

/* A run has ended, or its record goes. */
void metrics_on_run(struct metrics *m, const struct proc *p, unsigned events);

/* Runs that were started, and the processor time of all of them and of the server. */
struct metrics_spent {
	uint64_t runs;
	int64_t cpu_us;
};

struct metrics_spent metrics_spent(struct cap *c);

/* Write the members of a snapshot. */
void metrics_write(struct cap *c, struct jsonw *w);

/* Send one every @interval_ms from now on, instead of the stream before. */
void metrics_stream(struct cap *c, double interval_ms);

/* End the stream. Returns false if there was none. */
bool metrics_stop(struct cap *c);

#endif
