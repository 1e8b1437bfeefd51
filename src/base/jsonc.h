/*
 * jsonc - JSON as people write it in files: with comments, and commas behind the last value.
 *
 * Comments are those of JavaScript. What is no JSON becomes spaces in a copy, so offsets stay, and
 * a fault has the line and column where an editor shows it.
 */
#ifndef PROCPEN_BASE_JSONC_H
#define PROCPEN_BASE_JSONC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define JSONC_WHY_SIZE 160
#define JSONC_DUPLICATE "duplicate name" /* begins that reason */

/* From 1; columns count characters. */
struct jsonc_place {
	int line, column;
};

/* A copy of @text with spaces in place of comments, with @commas also of commas before } or ].
 * Heap. */
char *jsonc_blank(const char *text, size_t len, bool commas);

/* The offset after the comment that begins at @at, or @at: there begins none, or it has no end. */
size_t jsonc_skip_comment(const char *text, size_t len, size_t at);

/* Where the byte at offset @at of @text is. A byte order mark takes no column. */
struct jsonc_place jsonc_place(const char *text, size_t at);

/*
 * Parse @text, which may begin with a byte order mark. Refuses duplicate member names and NUL.
 * Returns a new reference, or NULL with *@at and @why. *@plain: the text as JSON, for offsets; heap
 * in either case.
 */
json_t *jsonc_parse(const char *text, size_t len, char **plain, struct jsonc_place *at,
		    char why[JSONC_WHY_SIZE]);

#endif
