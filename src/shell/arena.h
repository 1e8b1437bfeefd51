/*
 * shell_arena - memory of one shell script: allocated in pieces, freed at once.
 *
 * For what shell/parse builds from a text that a client chose. Allocation never fails.
 * Each loop over such a text checks shell_arena_spent(), so that the text takes at most
 * @limit and one piece. A piece is never larger than a constant times the text.
 */
#ifndef PROCPEN_SHELL_ARENA_H
#define PROCPEN_SHELL_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SHELL_ARENA_ALIGN 8u

struct shell_arena {
	struct shell_chunk *chunks;
	char *next, *end; /* the free part of the newest chunk */
	size_t used;      /* bytes of all chunks */
	size_t given;     /* bytes allocated, those rewound included */
	size_t limit;
};

void shell_arena_init(struct shell_arena *a, size_t limit);
void shell_arena_release(struct shell_arena *a);

/* @size zeroed bytes, aligned to SHELL_ARENA_ALIGN; never NULL. */
static inline void *shell_alloc(struct shell_arena *a, size_t size);

/* The same, not zeroed. */
static inline void *shell_alloc_raw(struct shell_arena *a, size_t size);

/* A copy of @len bytes, with a NUL after them. */
char *shell_copy(struct shell_arena *a, const char *bytes, size_t len);

/* A point to return to: shell_arena_rewind() frees all that was allocated since. */
struct shell_arena_mark {
	struct shell_chunk *chunks;
	char *next, *end;
	size_t used;
};
struct shell_arena_mark shell_arena_mark(const struct shell_arena *a);
void shell_arena_rewind(struct shell_arena *a, const struct shell_arena_mark *mark);

/* Is the limit exceeded? The caller must stop. */
static inline bool shell_arena_spent(const struct shell_arena *a)
{
	return a->used > a->limit;
}

/* Make shell_arena_spent() true, instead of an allocation that would be too large. */
static inline void shell_arena_exhaust(struct shell_arena *a)
{
	a->used = a->limit + 1;
}

/* Private: shell_alloc_raw() when the newest chunk is full. */
void *shell_alloc_chunk(struct shell_arena *a, size_t rounded);

static inline void *shell_alloc_raw(struct shell_arena *a, size_t size)
{
	size_t rounded = (size + SHELL_ARENA_ALIGN - 1) / SHELL_ARENA_ALIGN * SHELL_ARENA_ALIGN;
	void *p = a->next;

	a->given += rounded;
	if ((size_t)(a->end - a->next) < rounded)
		return shell_alloc_chunk(a, rounded);
	a->next += rounded;
	return p;
}

static inline void *shell_alloc(struct shell_arena *a, size_t size)
{
	size_t rounded = (size + SHELL_ARENA_ALIGN - 1) / SHELL_ARENA_ALIGN * SHELL_ARENA_ALIGN;

	return memset(shell_alloc_raw(a, rounded), 0, rounded);
}

/* As mem_grow(), for an array of the arena that holds *@room elements. */
void *shell_grow(struct shell_arena *a, const void *old, size_t *room, size_t first, size_t size);

#endif
