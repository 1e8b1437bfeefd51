/*
 * buf - growable bytes with a hard maximum.
 *
 * For: everything whose size comes from outside (lines, replies, texts).
 *
 * Refuses to: grow past `max`. A buffer that would is marked `full`, keeps its content and ignores
 * every later addition, so that a writer may add many pieces and check `full` once at the end.
 *
 * Invariants: len <= cap <= max + 1; data[len] is NUL unless data is NULL (so text in a buffer is
 * also a C string). Running out of memory aborts the program: sizes are bounded, see
 * docs/limits.md.
 *
 * Ownership: the struct lives in the caller's memory; buf_release() frees data.
 */
#ifndef PROCPEN_BASE_BUF_H
#define PROCPEN_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max;
	bool full; /* an addition did not fit */
};

/* Start an empty buffer that may hold up to @max bytes. Allocates nothing. */
void buf_init(struct buf *b, size_t max);

/* Start a buffer with the content of @from, and its maximum. */
void buf_copy(struct buf *b, const struct buf *from);

/* Free the bytes; the buffer is empty and usable afterwards. Accepts an all-zero buffer. */
void buf_release(struct buf *b);

/* Drop the content and the full mark; keep the memory. */
void buf_clear(struct buf *b);

/* Append @len bytes. Returns 0, or -1 and adds nothing if the result would exceed the maximum. */
int buf_add(struct buf *b, const void *bytes, size_t len);

/* Append a C string, one byte, or printf-formatted text. Result as buf_add(). */
int buf_adds(struct buf *b, const char *text);
int buf_addc(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Append the content of @from and leave that empty: keeps the memory of the longer one and copies
 * the bytes of the other. Returns 0, or -1 and moves nothing if the result would exceed the maximum
 * of @b.
 */
int buf_take(struct buf *b, struct buf *from);

/*
 * Make room for @len more bytes and return its address, or NULL if that exceeds the maximum. The
 * caller writes there, then calls buf_commit() with the bytes it used.
 */
char *buf_reserve(struct buf *b, size_t len);
void buf_commit(struct buf *b, size_t used);

/* The same, with the end of these bytes. */
static inline void buf_commit_to(struct buf *b, char *end)
{
	BUG_IF(end >= b->data + b->cap);
	b->len = (size_t)(end - b->data);
	*end = '\0';
}

/* Drop the first @len bytes (len <= b->len); the rest moves to the front. */
void buf_consume(struct buf *b, size_t len);

/* Drop everything after the first @len bytes, and the full mark (len <= b->len). */
void buf_truncate(struct buf *b, size_t len);

/* Return the bytes in memory of their size (the caller frees it; NULL: none was allocated) and
 * leave the buffer empty. */
char *buf_steal(struct buf *b);

#endif
