/*
 * buf - growable bytes with a hard maximum.
 *
 * For: everything whose size comes from outside (lines, replies, texts).
 * Refuses to: grow past `max`. A buffer that would have, is marked `full`,
 * keeps what it holds and ignores every later addition, so that a writer may
 * add many pieces and look once at the end.
 *
 * Invariants: len <= cap <= max + 1; data[len] is NUL whenever data is not NULL
 * (so text in a buffer is also a C string). Memory for the buffer itself that
 * cannot be had aborts the program: sizes are bounded, see docs/limits.md.
 *
 * Ownership: the struct lives in the caller's memory; buf_release() frees data.
 */
#ifndef PROCPEN_BASE_BUF_H
#define PROCPEN_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max;
	bool full; /* an addition was refused */
};

/* Start an empty buffer that may hold up to @max bytes. Allocates nothing. */
void buf_init(struct buf *b, size_t max);

/* Free the bytes; the buffer is empty and usable afterwards. Accepts an all-zero buffer. */
void buf_release(struct buf *b);

/* Forget the content and the full mark, keep the memory. */
void buf_clear(struct buf *b);

/* Append @len bytes. Returns 0, or -1 when the maximum would be passed (nothing is added). */
int buf_add(struct buf *b, const void *bytes, size_t len);

/* Append a C string, one byte, or printf-formatted text. Result as buf_add(). */
int buf_adds(struct buf *b, const char *text);
int buf_addc(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Make room for @len more bytes and return where they go, or NULL at the
 * maximum. The caller writes there and then calls buf_commit() with what it used.
 */
char *buf_reserve(struct buf *b, size_t len);
void buf_commit(struct buf *b, size_t used);

/* Drop the first @len bytes (len <= b->len); the rest moves to the front. */
void buf_consume(struct buf *b, size_t len);

/* Drop everything after the first @len bytes, and the full mark (len <= b->len). */
void buf_truncate(struct buf *b, size_t len);

/* Hand the bytes over: returns b->data (caller frees; NULL if empty), the buffer is empty. */
char *buf_steal(struct buf *b);

#endif
