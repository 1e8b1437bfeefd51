/*
 * names - find a program in the table by its name.
 *
 * A name may be a whole path, have a version (python3.11), or be known only in part:
 * /bin/r? and $X-get are patterns that some names of the table match.
 */
#ifndef PROCPEN_BLOCKLIST_COMMAND_NAMES_H
#define PROCPEN_BLOCKLIST_COMMAND_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocklist/command/table.h"
#include "shell/arena.h"
#include "shell/script.h"

/*
 * What the table knows of the program called @len bytes of @text; NULL: nothing. python3.11
 * is python, mkfs.anything is mkfs.*.
 */
const struct blocklist_name *name_lookup(const char *text, size_t len);

/* The name of a program without its folder. @foreign: from a folder that is not the system's. */
struct shell_text name_base(const struct shell_word *word, bool *foreign);

/* A pattern for names, and what tells most names apart from it at a glance. */
struct name_pattern {
	char *text;
	size_t len;
	char first;   /* 0: any */
	char last;    /* the same */
	size_t least; /* characters that it stands for */
	bool open;    /* or more */
};

/* Is a part of @base, whose characters are of @kind, a glob or not known? */
bool name_is_pattern(const struct shell_text *base, const uint8_t *kind);

/*
 * A pattern that fits nearly any name says nothing: one with less than a letter, or two
 * letters beside an unknown part; but /sbin/???? says its length.
 */
bool name_pattern_fits_any(const struct shell_word *word, const struct shell_text *base,
			   const uint8_t *kind);

struct name_pattern name_pattern_make(const struct shell_text *base,
				      const uint8_t *kind, struct shell_arena *arena);

/* Does it fit the name of row @i of blocklist_names? */
bool name_pattern_fits(const struct name_pattern *p, unsigned i);

#endif
