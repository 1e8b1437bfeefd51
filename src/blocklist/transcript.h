/*
 * transcript - the text that a running command was given, and the verdict on what follows it.
 *
 * It is kept as far as it may matter (blocklist/stream.h), and of a shell's text what is not
 * complete waits behind it.
 */
#ifndef PROCPEN_BLOCKLIST_TRANSCRIPT_H
#define PROCPEN_BLOCKLIST_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "blocklist/blocklist.h"
#include "blocklist/stream_part.h"
#include "shell/parse.h"

struct transcript {
	struct blocklist_input in; /* borrows from the four below */
	char *command, *directory;
	char **args, **environment;
	enum blocklist_reader reader;
	bool matters;    /* another text may get another verdict */
	struct buf text; /* the caller bounds what waits in it */
	size_t written;  /* bytes at its start; the rest waits */
};

/* Start with the standard input of @in, which was written. @in->shell_path is borrowed, all else
 * is copied. */
void transcript_init(struct transcript *t, const struct blocklist_input *in);
void transcript_copy(struct transcript *to, const struct transcript *t);
void transcript_release(struct transcript *t); /* a zeroed one, too */

/* Judge @len bytes that follow, up to where they must wait, or all of them at their @end. A blocked
 * line and all behind it is forgotten. */
void transcript_judge(struct transcript *t, const void *bytes, size_t len, bool end,
		      struct stream_part *part);

/* How much of @lines, a shell's text of @len bytes, is judged now if @written of them came before;
 * the rest waits. */
size_t transcript_judged_end(const struct shell_lines *lines, size_t written, size_t len, bool end);

/* How many of @len bytes that follow would wait. They are added and not judged. */
size_t transcript_hold(struct transcript *t, const void *bytes, size_t len);

/* Can what follows belong to a command that was begun? */
bool transcript_is_open(const struct transcript *t);

/* Where the line begins that @to lies in. */
size_t transcript_line_start(const struct buf *text, size_t to);

#endif
