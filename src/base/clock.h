/* clock - monotonic time for durations, processor time for limits, wall clock for records. */
#ifndef PROCPEN_BASE_CLOCK_H
#define PROCPEN_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

int64_t clock_mono_ms(void); /* CLOCK_MONOTONIC */
int64_t clock_mono_us(void);
int64_t clock_wall_ms(void); /* CLOCK_REALTIME, since 1970 */

/*
 * The processor time that this thread has spent on something, without its first millisecond by the
 * clock: to ask for processor time is a system call, to read the clock is none.
 */
struct clock_work {
	int64_t begin_us;      /* clock_mono_us() */
	int64_t begin_used_us; /* 0: not yet asked for */
};

struct clock_work clock_work_begin(void);
int64_t clock_work_used_us(struct clock_work *w); /* 0 in that millisecond */

/* Write "2026-11-21T08:00:00.123Z" to @out. */
#define CLOCK_TEXT_SIZE 40
void clock_wall_text(int64_t wall_ms, char out[CLOCK_TEXT_SIZE]);

/* Is @text the start of such a time, the whole date at least, and is there that day? */
bool clock_is_time(const char *text);

#endif
