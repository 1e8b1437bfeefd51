/*
 * arrivals - in which order the output of both streams came, and when.
 *
 * Each read from a pipe is a part: a stream, the offset of its first byte, a time. A part ends
 * where the next one of its stream begins. Parts of one stream that follow each other in the same
 * millisecond are one. The order is that of the reads: bytes that waited in both pipes at once
 * have none.
 *
 * Bounded: at ARRIVALS_MAX parts, the older half is thinned. Two neighbours of one stream become
 * one, which loses a time; where the streams alternate, two parts of each become one of each, so
 * the order is known between these pairs only. The places where readers go on are never inside
 * such a pair, so that they miss nothing. Known are the last ARRIVALS_READERS of them, and where
 * the last look at the end of the output ended, which takes none of their places.
 */
#ifndef PROCPEN_PROC_ARRIVALS_H
#define PROCPEN_PROC_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRIVALS_MAX 1024
#define ARRIVALS_READERS 4

struct arrival {
	uint64_t offset; /* in its stream */
	uint32_t ms;     /* since the start of the run */
	bool is_err;
	uint8_t cut;     /* so many bytes before it begin a character that goes on in it */
};

struct arrivals_index;

/* Of one run; zeroed: nothing has come. Most runs write once: their one part is here. */
struct arrivals {
	struct arrivals_index *index;
	uint32_t first_ms;
	bool any, first_is_err;
};

void arrivals_release(struct arrivals *a);

/* What @next says has come. */
void arrivals_note(struct arrivals *a, const struct arrival *next);

/* The number of parts, and part @i. */
size_t arrivals_count(const struct arrivals *a);
struct arrival arrivals_get(const struct arrivals *a, size_t i);

/* A reader that was at @from goes on at @to: so many bytes of both streams lie before it. */
void arrivals_served(struct arrivals *a, uint64_t from, uint64_t to);

/* A look at the end of the output has come to @to, where it may go on as a reader. */
void arrivals_looked(struct arrivals *a, uint64_t to);

#endif
