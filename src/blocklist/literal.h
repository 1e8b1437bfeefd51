/*
 * literal - the thirteen literal patterns.
 *
 * Searches the whole text, data included, as other filters do, for operators who set
 * blocklist.literal_match=anywhere. Does not parse shell. White space may vary. Linear.
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

/* The first pattern of the table that matches anywhere in the text. */
bool literal_find(const char *s, size_t len, struct literal *out);

/*
 * May the text run what it reads? It names a shell (or something that stands for
 * one, like $0 and $SHELL), evaluates text, or names its own input.
 */
bool literal_names_shell(const char *s, size_t len);

#endif
