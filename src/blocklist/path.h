/*
 * path - the classes of paths (blocklist_targets) that a word may name.
 *
 * Resolves a word as text: removes ".", ".." and double slashes, puts the working
 * directory before a relative path, and takes /proc/N/root for the root. Never asks
 * the file system, so it sees neither symbolic links nor mounts. A glob counts as
 * every name that it may match. An unknown part counts as empty where that leaves a
 * whole directory ("$X"/ may be /), and as any name after a known directory
 * ("/dev/$X"). A word that is unknown from its first character has no class.
 */
#ifndef PROCPEN_BLOCKLIST_PATH_H
#define PROCPEN_BLOCKLIST_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shell/script.h"

/* Longest path that is classified; the kernel's limit is 4095 bytes. */
#define PATH_TOKENS_MAX 4200

/* A working directory. All zero: somewhere unknown, as in a workspace. */
struct path_dir {
	bool known;
	uint8_t climbed; /* of an unknown one: so many levels above the start ... */
	uint8_t below;   /* ... and then so many down again */
	size_t len;
	uint16_t path[256]; /* absolute and resolved, in tokens of this module */
};

/* The same as *@to = *@from, but only what is in use is copied. */
static inline void path_dir_copy(struct path_dir *to, const struct path_dir *from)
{
	to->known = from->known;
	to->climbed = from->climbed;
	to->below = from->below;
	to->len = from->len;
	memcpy(to->path, from->path, from->len * sizeof(from->path[0]));
}

static inline void path_dir_forget(struct path_dir *dir)
{
	dir->known = false;
	dir->climbed = dir->below = 0;
}

/* What an operand stands for. */
enum path_reach {
	REACH_FILE,  /* this file; a directory only by what a glob in it matches */
	REACH_TREE,  /* this file, or the directory with all that is in it */
	REACH_TREE_OR_EMPTY, /* the same, and unknown parts may be empty */
	REACH_NAMED_OR_EMPTY, /* the same, but then only "$X/etc", not "$X"/ and all in it */
};

/* The classes of blocklist_targets[] that @word from byte @skip on may name, as bits. */
uint64_t path_classify(const struct shell_word *word, size_t skip,
		       const struct path_dir *dir, enum path_reach reach);

/*
 * Steps of the budget that the last call took, besides those for its characters: a glob is
 * compared with many patterns.
 */
uint64_t path_steps_taken(void);

/* Why an operand is in a class, for block_reason. */
struct path_match_text {
	uint64_t classes;  /* those of the request that @path itself is in; 0: no path to show */
	char path[128];    /* resolved; "..." for an unknown part; cut if longer */
	bool everything;   /* not the directory, but all that is in it: /etc/ * */
	bool pattern;      /* @path holds a glob or an unknown part */
	bool if_empty;     /* only if an unknown part is empty */
	char name[48];     /* of that part: a variable, or "$(cat)"; empty if it has none */
};

/*
 * Fill *@out for a @word that path_classify() put into some of @classes with the same
 * other arguments.
 */
void path_describe(const struct shell_word *word, size_t skip,
		   const struct path_dir *dir, enum path_reach reach,
		   uint64_t classes, struct path_match_text *out);

/* The path of @dir, if it is known and free of globs and unknown parts; else false. */
bool path_dir_text(const struct path_dir *dir, char *out, size_t size);

/* Change *@dir as cd @word does. */
void path_chdir(struct path_dir *dir, const struct shell_word *word);

#endif
