#include "guard/shell_arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CHUNK_FIRST 4096u
#define CHUNK_MAX (1u << 20)
#define ALIGN 8u

struct shell_chunk {
	struct shell_chunk *older;
	size_t size;
};

void shell_arena_init(struct shell_arena *a, size_t limit)
{
	memset(a, 0, sizeof(*a));
	a->limit = limit;
}

void shell_arena_release(struct shell_arena *a)
{
	while (a->chunks) {
		struct shell_chunk *c = a->chunks;

		a->chunks = c->older;
		free(c);
	}
	shell_arena_init(a, a->limit);
}

/* Chunks double, so that a short text costs one small allocation. */
static void add_chunk(struct shell_arena *a, size_t need)
{
	size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_FIRST;

	if (size > CHUNK_MAX)
		size = CHUNK_MAX;
	if (size < need + sizeof(struct shell_chunk))
		size = need + sizeof(struct shell_chunk);
	struct shell_chunk *c = mem_realloc(NULL, size);

	c->older = a->chunks;
	c->size = size;
	a->chunks = c;
	a->next = (char *)(c + 1);
	a->end = (char *)c + size;
	a->used += size;
}

void *shell_alloc(struct shell_arena *a, size_t size)
{
	size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;

	if ((size_t)(a->end - a->next) < rounded)
		add_chunk(a, rounded);
	void *p = a->next;

	a->next += rounded;
	memset(p, 0, rounded);
	return p;
}

char *shell_copy(struct shell_arena *a, const char *bytes, size_t len)
{
	char *copy = shell_alloc(a, len + 1);

	if (len > 0)
		memcpy(copy, bytes, len);
	return copy;
}

bool shell_arena_spent(const struct shell_arena *a)
{
	return a->used > a->limit;
}
