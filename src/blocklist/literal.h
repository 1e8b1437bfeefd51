/*
 * literal - the twelve literal patterns.
 *
 * For operators who want them searched in the whole text, also where it is only data,
 * as other filters do. Knows nothing of the shell. White space may vary. Linear.
 */
#ifndef PROCPEN_BLOCKLIST_LITERAL_H
#define PROCPEN_BLOCKLIST_LITERAL_H

#include <stdbool.h>
#include <stddef.h>

/* A pattern that was found; all texts are static. */
struct literal {
	const char *id;    /* "literal.rm_root" */
	const char *shape; /* the pattern as people write it */
	const char *suggestion;
	size_t start, end; /* in the text */
};

/* The first pattern of the table that is anywhere in the text. */
bool literal_find(const char *s, size_t len, struct literal *out);

/*
 * May the text run what it reads? It names a shell (or something that stands for
 * one, like $0 and $SHELL), evaluates text, or names its own input.
 */
bool literal_names_shell(const char *s, size_t len);

#endif
