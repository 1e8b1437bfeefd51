/*
 * shell_arena - memory of one shell script: given piece by piece, freed at once.
 *
 * For: what guard/shell_parse builds while it reads a text that somebody else
 * chose. Allocation never fails; what was given is counted, and a reader looks at
 * shell_arena_spent() in every loop, so that a text cannot take more than @limit
 * and one piece. A piece is never larger than a constant times the text.
 */
#ifndef PROCPEN_GUARD_SHELL_ARENA_H
#define PROCPEN_GUARD_SHELL_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct shell_arena {
	struct shell_chunk *chunks;
	char *next, *end; /* the free part of the newest chunk */
	size_t used;      /* bytes of all chunks */
	size_t limit;
};

void shell_arena_init(struct shell_arena *a, size_t limit);
void shell_arena_release(struct shell_arena *a);

/* @size zeroed bytes, aligned for any of our structs; never NULL. */
void *shell_alloc(struct shell_arena *a, size_t size);

/* A copy of @len bytes, ended by NUL. */
char *shell_copy(struct shell_arena *a, const char *bytes, size_t len);

/* Where the arena stands, and back to there: everything given since is gone. */
struct shell_arena_mark {
	struct shell_chunk *chunks;
	char *next, *end;
	size_t used;
};
struct shell_arena_mark shell_arena_mark(const struct shell_arena *a);
void shell_arena_rewind(struct shell_arena *a, const struct shell_arena_mark *mark);

/* More was given than the limit allows: stop. */
bool shell_arena_spent(const struct shell_arena *a);

#endif
