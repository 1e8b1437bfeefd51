/*
 * files - files that a text writes and later runs.
 *
 * Remembers the last FILES_MAX files by name: text that the shell knows, piece by piece where it
 * is appended, downloads, and copies of programs. Opens no file.
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
	bool program;     /* a copy of the program that the only piece names */
	bool may_be_skipped; /* the command that wrote it */
	struct shell_word *pieces; /* the known parts of its text, in order */
	size_t piece_count, piece_cap;
	unsigned flow;    /* enum blocklist_flow, of its unknown parts */
};

struct written_files {
	struct written_file list[FILES_MAX];
	size_t count, next; /* next: to replace when all are used */
	unsigned version;   /* changes with each of them */
};

/* Remember the files that command @index writes. */
void files_note(struct written_files *files, const struct dataflow *flows, uint32_t index,
		struct shell_budget *budget, struct shell_arena *arena);

/* The file remembered as @name, or NULL. */
const struct written_file *files_find(const struct written_files *files,
				      const struct shell_word *name);

/* The file that @c, a cat FILE, prints, or the first of them that is remembered; or NULL. */
const struct written_file *files_printed(const struct written_files *files,
					 const struct shell_command *c);

/* What is known of the text of @file; NULL: nothing, or @file is NULL. Takes a step of @budget for
 * each byte that it copies. */
const struct shell_word *files_content(const struct written_file *file,
				       struct shell_budget *budget, struct shell_arena *arena);

#endif
