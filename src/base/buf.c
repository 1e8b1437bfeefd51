/*
 * Doubles the capacity, so that adding n bytes one at a time costs O(n); the last step goes to
 * exactly max + 1, so that no buffer exceeds its maximum.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BUF_CAP_MIN 512 /* most messages fit */

void buf_init(struct buf *b, size_t max)
{
	/* Keeps max + 1 and every doubled capacity in range. */
	*b = (struct buf){ .max = max < SIZE_MAX / 4 ? max : SIZE_MAX / 4 };
}

void buf_copy(struct buf *b, const struct buf *from)
{
	buf_init(b, from->max);
	if (from->len)
		buf_add(b, from->data, from->len);
}

void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ .max = b->max };
}

void buf_clear(struct buf *b)
{
	buf_truncate(b, 0);
}

/* Are these bytes, and a NUL, in the memory that is there? Most additions are a few bytes. */
static bool buf_has_room(const struct buf *b, size_t len)
{
	return len < b->cap - b->len && !b->full;
}

/* buf_reserve() where they are not. */
__attribute__((noinline)) static char *buf_grow(struct buf *b, size_t len)
{
	size_t need, cap;

	if (b->full || len > b->max - b->len) {
		b->full = true;
		return NULL;
	}
	need = b->len + len + 1;
	if (need > b->cap) {
		cap = b->cap < BUF_CAP_MIN ? BUF_CAP_MIN : b->cap;
		while (cap < need && cap <= b->max / 2)
			cap *= 2;
		if (cap < need || cap > b->max + 1)
			cap = b->max + 1;
		b->data = mem_realloc(b->data, cap);
		b->cap = cap;
		b->data[b->len] = '\0';
	}
	return b->data + b->len;
}

char *buf_reserve(struct buf *b, size_t len)
{
	return buf_has_room(b, len) ? b->data + b->len : buf_grow(b, len);
}

void buf_commit(struct buf *b, size_t used)
{
	BUG_IF(used >= b->cap - b->len);
	b->len += used;
	b->data[b->len] = '\0';
}

int buf_add(struct buf *b, const void *bytes, size_t len)
{
	char *to = buf_reserve(b, len);

	if (!to)
		return -1;
	buf_commit_to(b, len ? mempcpy(to, bytes, len) : to);
	return 0;
}

/* Put @front before the content of @b, whatever its maximum. */
static void buf_insert(struct buf *b, const struct buf *front)
{
	size_t need = b->len + front->len + 1;

	if (need > b->cap) {
		b->data = mem_realloc(b->data, need);
		b->cap = need;
	}
	memmove(b->data + front->len, b->data, b->len + 1);
	memcpy(b->data, front->data, front->len);
	b->len += front->len;
}

int buf_take(struct buf *b, struct buf *from)
{
	struct buf whole = *from;

	if (from->len <= b->len || from->cap > b->max + 1 || b->full ||
	    from->len > b->max - b->len) {
		if (buf_add(b, from->data, from->len))
			return -1;
		buf_clear(from);
		return 0;
	}
	if (b->len)
		buf_insert(&whole, b);
	*from = (struct buf){ .data = b->data, .cap = b->cap, .max = from->max };
	buf_clear(from);
	*b = (struct buf){ .data = whole.data, .len = whole.len, .cap = whole.cap, .max = b->max };
	return 0;
}

int buf_adds(struct buf *b, const char *text)
{
	return buf_add(b, text, strlen(text));
}

int buf_addc(struct buf *b, char c)
{
	char *to = buf_reserve(b, 1);

	if (!to)
		return -1;
	*to = c;
	buf_commit_to(b, to + 1);
	return 0;
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char *to;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	BUG_IF(len < 0);
	to = buf_reserve(b, (size_t)len);
	if (!to)
		return -1;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)len + 1, fmt, ap);
	va_end(ap);
	buf_commit(b, (size_t)len);
	return 0;
}

void buf_consume(struct buf *b, size_t len)
{
	BUG_IF(len > b->len);
	if (!len)
		return;
	b->len -= len;
	memmove(b->data, b->data + len, b->len + 1);
}

void buf_truncate(struct buf *b, size_t len)
{
	BUG_IF(len > b->len);
	b->len = len;
	b->full = false;
	if (b->data)
		b->data[len] = '\0';
}

char *buf_steal(struct buf *b)
{
	char *data = b->data ? mem_realloc(b->data, b->len + 1) : NULL;

	b->data = NULL;
	buf_release(b);
	return data;
}
