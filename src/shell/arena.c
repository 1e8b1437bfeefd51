#include "shell/arena.h"

#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include "base/mem.h"

#define CHUNK_FIRST 4096u
#define CHUNK_MAX (2u << 20)
#define HUGE_PAGE (2u << 20)
/* Chunks kept for the next script: the kernel clears a returned page again at its next use. */
#define SPARE_MAX 16u
#define SPARE_BYTES (1u << 20)

struct shell_chunk {
	struct shell_chunk *older;
	size_t size;
};

void shell_arena_init(struct shell_arena *a, size_t limit)
{
	memset(a, 0, sizeof(*a));
	a->limit = limit;
}

/* ---- chunks ---- */

/* Chunks without an owner. Not kept under a sanitizer, which tracks each free(). */
static struct {
	struct shell_chunk *list;
	size_t count, bytes;
} spare;

static void arena_drop_chunk(struct shell_chunk *c)
{
#ifndef __SANITIZE_ADDRESS__
	if (spare.count < SPARE_MAX && spare.bytes + c->size <= SPARE_BYTES) {
		c->older = spare.list;
		spare.list = c;
		spare.count++;
		spare.bytes += c->size;
		return;
	}
#endif
	free(c);
}

/* A spare chunk of @size bytes to four times as many, or NULL. */
static struct shell_chunk *arena_take_spare(size_t size)
{
	for (struct shell_chunk **at = &spare.list; *at; at = &(*at)->older) {
		struct shell_chunk *c = *at;

		if (c->size < size || c->size / 4 > size)
			continue;
		*at = c->older;
		spare.count--;
		spare.bytes -= c->size;
		return c;
	}
	return NULL;
}

void shell_arena_release(struct shell_arena *a)
{
	while (a->chunks) {
		struct shell_chunk *c = a->chunks;

		a->chunks = c->older;
		arena_drop_chunk(c);
	}
	shell_arena_init(a, a->limit);
}

/*
 * Large chunks ask for huge pages: for a text of a megabyte, the kernel spends more time on
 * small pages than the parser on the text.
 */
static struct shell_chunk *arena_new_chunk(size_t *size)
{
	struct shell_chunk *c = arena_take_spare(*size);

	if (c) {
		*size = c->size;
		return c;
	}
	if (*size < HUGE_PAGE)
		return mem_realloc(NULL, *size);
	*size = (*size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *chunk = aligned_alloc(HUGE_PAGE, *size);

	BUG_IF(!chunk);
	madvise(chunk, *size, MADV_HUGEPAGE);
	return chunk;
}

/* Chunk sizes double, so that a short text costs one small allocation. */
static void arena_add_chunk(struct shell_arena *a, size_t need)
{
	size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_FIRST;

	if (size > CHUNK_MAX)
		size = CHUNK_MAX;
	if (size < need + sizeof(struct shell_chunk))
		size = need + sizeof(struct shell_chunk);
	struct shell_chunk *c = arena_new_chunk(&size);

	c->older = a->chunks;
	c->size = size;
	a->chunks = c;
	a->next = (char *)(c + 1);
	a->end = (char *)c + size;
	a->used += size;
}

void *shell_alloc_chunk(struct shell_arena *a, size_t rounded)
{
	arena_add_chunk(a, rounded);
	void *p = a->next;

	a->next += rounded;
	return p;
}

void *shell_grow(struct shell_arena *a, const void *old, size_t *room, size_t first, size_t size)
{
	size_t used = *room * size;
	void *list;

	*room = *room ? 2 * *room : first;
	list = shell_alloc_raw(a, *room * size);
	return used ? memcpy(list, old, used) : list;
}

char *shell_copy(struct shell_arena *a, const char *bytes, size_t len)
{
	char *copy = shell_alloc_raw(a, len + 1);

	if (len > 0)
		memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

struct shell_arena_mark shell_arena_mark(const struct shell_arena *a)
{
	return (struct shell_arena_mark){ a->chunks, a->next, a->end, a->used };
}

void shell_arena_rewind(struct shell_arena *a, const struct shell_arena_mark *mark)
{
	while (a->chunks != mark->chunks) {
		struct shell_chunk *c = a->chunks;

		a->chunks = c->older;
		arena_drop_chunk(c);
	}
	a->next = mark->next;
	a->end = mark->end;
	a->used = mark->used;
}
