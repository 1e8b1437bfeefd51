/*
 * names - find a program in the table by its name.
 *
 * A name may be a path, have a version (python3.11), or be known only in part: /bin/r? and
 * $X-get are patterns that match some names of the table.
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
 * The row of the program named by @len bytes of @text, or NULL. python3.11 finds python,
 * mkfs.anything finds mkfs.*.
 */
const struct blocklist_name *name_lookup(const char *text, size_t len);

/* Its rows of the other tables, or NULL; its list of rules, ended by BLOCKLIST_NONE. */
static inline const struct blocklist_program *name_program(const struct blocklist_name *name)
{
	return name->program == BLOCKLIST_NONE ? NULL : &blocklist_programs[name->program];
}

static inline const struct blocklist_wrapper *name_wrapper(const struct blocklist_name *name)
{
	return name->wrapper == BLOCKLIST_NONE ? NULL : &blocklist_wrappers[name->wrapper];
}

static inline const uint16_t *name_rules(const struct blocklist_name *name)
{
	return &blocklist_name_rules[name->rules];
}

/* The name of a program without its folder. *@foreign: it is a relative path, like ./rm. */
struct shell_text name_base(const struct shell_word *word, bool *foreign);

/* The row of the program that @word names, in whatever folder, or NULL. Is it one of @list? */
const struct blocklist_name *name_of(const struct shell_word *word);
bool name_in(const struct shell_word *word, const char *list);

/* A pattern for names, with what rules most names out quickly. */
struct name_pattern {
	char *text;
	size_t len;
	char first;   /* first character of a match; 0: any */
	char last;    /* last character of a match; 0: any */
	size_t least; /* length of a match */
	bool open;    /* a match may be longer */
};

/* Is any character of @base a glob or unknown? @kind: enum shell_kind of each. */
bool name_is_pattern(const struct shell_text *base, const uint8_t *kind);

/*
 * Does the name match nearly anything? So it does without a known letter, except that
 * /sbin/???? gives the length; with an unknown part, if it has fewer than two letters.
 */
bool name_pattern_fits_any(const struct shell_word *word, const struct shell_text *base,
			   const uint8_t *kind);

struct name_pattern name_pattern_make(const struct shell_text *base,
				      const uint8_t *kind, struct shell_arena *arena);

/* Does it match the name of row @i of blocklist_names? */
bool name_pattern_fits(const struct name_pattern *p, unsigned i);

#endif
