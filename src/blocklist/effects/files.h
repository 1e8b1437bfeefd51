/*
 * files - files that a text writes and later runs.
 *
 * Remembers the last FILES_MAX files by name: their text as far as the shell knows it, downloads,
 * and copies of programs. Opens no file.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_FILES_H
#define PROCPEN_BLOCKLIST_EFFECTS_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/command/action.h"
#include "blocklist/command/word.h"

#define FILES_MAX 16

struct written_file {
	const char *name; /* without a leading ./; a copy */
	size_t len;
	const char *path; /* the whole path, or NULL where the directory is not known */
	const struct shell_word *program; /* that it is a copy of, or NULL */
	struct word_builder text;
	bool is_known;    /* a part of @text is */
	bool is_copy;     /* by cp or the like */
	unsigned flow;    /* enum blocklist_flow, of the unknown parts */
};

struct written_files {
	struct written_file list[FILES_MAX];
	size_t count, next; /* next: to replace when all are used */
	unsigned version;   /* changes with each of them */
	/* Write the path of @name, if the directory is known; else false. */
	bool (*find_path)(const void *ctx, const struct shell_word *name, char *out, size_t size);
	const void *find_path_ctx;
};

/* Remember the files that the command at @at writes. */
void files_note(struct written_files *files, const struct place *at, struct shell_budget *budget,
		struct shell_arena *arena);

/* The file remembered by the path of @name, or else by its text; or NULL. @files may be NULL. */
const struct written_file *files_find(const struct written_files *files,
				      const struct shell_word *name);

/* The file that < gives to @c, or NULL. */
const struct written_file *files_redirected(const struct written_files *files,
					    const struct shell_command *c,
					    struct shell_budget *budget);

/* The file that @c, a cat FILE, prints, or the first of them that is remembered; or NULL. */
const struct written_file *files_printed(const struct written_files *files,
					 const struct shell_command *c,
					 struct shell_budget *budget);

/* The text of @file, with "?" for the parts that are not known; NULL: none is, or @file is NULL. */
const struct shell_word *files_content(const struct written_file *file,
				       struct shell_budget *budget, struct shell_arena *arena);

/* The known text of the file that the word @name stands for, a <(...) or a written one, or NULL. */
const struct shell_word *files_text(const struct written_files *files,
				    const struct shell_word *name, struct action_list *out);

#endif
