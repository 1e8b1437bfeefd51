/*
 * terminal - judge the keys that are typed to a running command.
 *
 * The lines that they make are judged (blocklist/typed.h) like those of a pipe, and once more in
 * each other reading of the marks of pastes that makes something else of them.
 */
#ifndef PROCPEN_BLOCKLIST_TERMINAL_H
#define PROCPEN_BLOCKLIST_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "blocklist/stream_part.h"
#include "blocklist/transcript.h"
#include "blocklist/typed.h"

struct terminal {
	struct transcript transcript; /* nothing waits in it */
	enum typed_reading reading;   /* of its text */
	struct typed lines[TYPED_READINGS]; /* the line that is open, in each reading; the text ends
					     * with that of its own */
	bool doubted;    /* a line that is not known may stand in the command that was begun */
	struct buf keys; /* that wait */
};

/* Start with the standard input of @in, the text that keys made (terminal_begin()). */
void terminal_init(struct terminal *t, const struct blocklist_input *in);
void terminal_copy(struct terminal *to, const struct terminal *t);
void terminal_release(struct terminal *t); /* a zeroed one, too */

/* These are the keys that made the text. */
void terminal_begin(struct terminal *t, const char *keys, size_t len);

/* The line that is open at the end of the text. */
const struct typed *terminal_open_line(const struct terminal *t);

/* stream_judge() and stream_preview() of @len keys that follow. */
void terminal_judge(struct terminal *t, const void *keys, size_t len, bool end,
		    struct stream_part *part);
void terminal_preview(const struct terminal *t, const void *keys, size_t len, struct buf *text,
		      size_t *from);

#endif
