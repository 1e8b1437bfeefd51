/*
 * files - files that a text writes and later runs.
 *
 * Remembers up to FILES_MAX files by name: known text from echo, printf, tee and cat with a
 * here-document, downloads, and copies of programs. Opens no file.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_FILES_H
#define PROCPEN_BLOCKLIST_EFFECTS_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/effects/dataflow.h"

#define FILES_MAX 16

struct written_file {
	const char *name; /* without a leading ./; a copy */
	size_t len;
	bool known;
	bool program;     /* a copy of the program that @content names */
	struct shell_word content;
	unsigned flow;    /* enum blocklist_flow, unless @known */
};

struct written_files {
	struct written_file list[FILES_MAX];
	size_t count;
};

/* Remember the files that command @index writes. */
void files_note(struct written_files *files, const struct dataflow *flows,
		uint32_t index, struct shell_budget *budget, struct shell_arena *arena);

/* The last file remembered as @name, or NULL. */
const struct written_file *files_find(const struct written_files *files,
				      const struct shell_word *name);

/* The text that echo, printf or cat writes to standard output. False: unknown. */
bool files_output(const struct shell_command *c, struct shell_budget *budget,
		  struct shell_arena *arena, struct shell_word *out);

#endif
