/*
 * path_tree - the patterns of blocklist_targets as a tree of path components.
 *
 * A path is compared only with the patterns that share its beginning. It is an array
 * of tokens: a byte, or one of the marks below. Used by blocklist/path alone, which
 * makes the tokens and resolves them.
 */
#ifndef PROCPEN_BLOCKLIST_PATH_TREE_H
#define PROCPEN_BLOCKLIST_PATH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_COMPONENTS_MAX 1024

enum mark {
	MARK_ANY = 0x100, /* one character */
	MARK_STAR,        /* a glob: any characters but a slash */
	MARK_MAYBE,       /* unknown, may be empty */
	MARK_SET,         /* unknown, not empty */
	MARK_HOME,        /* ~ */
};

struct path_part {
	const uint16_t *s;
	size_t len;
};

/* A path as components. */
struct path {
	enum { PATH_NOWHERE, PATH_ABSOLUTE, PATH_FLOATING } kind; /* FLOATING: begins unknown */
	size_t count;
	size_t climbed; /* loose: levels above an unknown directory */
	bool loose; /* it begins in one */
	bool guess; /* it begins in the directory of another process */
	struct path_part parts[PATH_COMPONENTS_MAX];
};

/* Sets of classes as bits: those with a property, and two classes with names. */
struct path_classes {
	uint64_t tree, empty, guess; /* as the table's members of these names */
	uint64_t root, unknown;
};

/* The first call builds the tree, and must come before path_match(). */
const struct path_classes *path_classes(void);

/* The classes with a pattern that @p matches. */
uint64_t path_match(const struct path *p);

/* Is every character of @p unknown? */
bool path_wholly_unknown(struct path_part p);

/* Steps of the present classification. */
extern uint64_t path_steps;

#endif
