/*
 * blocklist_files - what a text writes into files that it runs afterwards.
 *
 * A few files only, by the name they are given: known text from echo, cat with a
 * here-document and tee, and downloads. No file is opened.
 */
#ifndef PROCPEN_BLOCKLIST_FILES_H
#define PROCPEN_BLOCKLIST_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/flow.h"

#define BLOCKLIST_FILES_MAX 16

struct blocklist_file {
	const char *name; /* without a leading ./ */
	size_t len;
	bool known;
	bool program;     /* it is the program that the content names */
	struct shell_word content;
	unsigned flow;    /* enum blocklist_flow, when the content is not known */
};

struct blocklist_files {
	struct blocklist_file list[BLOCKLIST_FILES_MAX];
	size_t count;
};

/* Keep in mind what command @index writes. */
void blocklist_file_note(struct blocklist_files *files, const struct blocklist_flows *flows,
			 uint32_t index, struct shell_arena *arena);

/* What is known of the file @name, or NULL. */
const struct blocklist_file *blocklist_file_find(const struct blocklist_files *files,
						 const struct shell_word *name);

/* The text that echo, printf or cat writes to its standard output. False: not known. */
bool blocklist_output(const struct shell_command *c, struct shell_arena *arena,
		      struct shell_word *out);

#endif
