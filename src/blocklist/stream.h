/*
 * stream - judge what is written to a running command, part by part.
 *
 * The verdict on a part is the one that blocklist_judge() gives on the command with this standard
 * input: all that was written before, and the part. A shell takes its input line by line, so for
 * one a line that is not complete is judged as if it were, and text that the shell would not run
 * yet (an open quote, here-document or compound command) waits here until it is complete. Beyond
 * 128 KiB it is judged as it is, like a text that ends.
 *
 * What was written before is kept as far as it can matter: lines that leave nothing behind (no
 * variable, function, alias, directory, written file) are dropped once the next is there. Of the
 * others the newest 64 KiB are kept, and fewer if judging them takes more than about a
 * millisecond; what older lines have set counts as unknown. For a command that takes its input for
 * data, 1 KiB is kept; if no verdict looks at that, as for `cat`, what follows is neither kept nor
 * judged.
 *
 * Of what is typed on a terminal, the lines that the keys make are judged (blocklist/typed.h), in
 * each reading of the marks of pastes; a line with keys whose effect is not known passes unjudged.
 * Inside a command it may be the end, so each line behind it in there is judged as a command too.
 *
 * A stream owns copies of the input that it was made from, and the text that waits.
 */
#ifndef PROCPEN_BLOCKLIST_STREAM_H
#define PROCPEN_BLOCKLIST_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "blocklist/blocklist.h"
#include "blocklist/stream_part.h"

struct stream;

/* For the command of @in, with what it was started with as its standard input. @in->shell_path
 * must outlive the stream; all else is copied. @terminal: the parts are keys that are typed, and
 * that input is the text that keys made (typed_read()). */
struct stream *stream_new(const struct blocklist_input *in, bool terminal);
void stream_free(struct stream *s);

/* On a terminal: these are the keys that made that input. Is a paste open, or a command of which
 * a line is not known? */
void stream_begin_typed(struct stream *s, const char *keys, size_t len);

/* How many bytes at the end of @in's stdin would wait, if more can be written behind it. Judges
 * nothing. */
size_t stream_held(const struct blocklist_input *in);

/* One to try on what a part would come to. */
struct stream *stream_copy(const struct stream *s);

/* What the command already has of the line that is open, or typed: sets *@text and returns its
 * bytes. 0: nothing, or nobody knows; or it takes its input for data. */
size_t stream_begun(const struct stream *s, const char **text);

/* Has a paste on the terminal begun that has not ended? False for a command that takes its input
 * for data. */
bool stream_in_paste(const struct stream *s);

/* Bytes that wait. */
size_t stream_waiting(const struct stream *s);

/*
 * What would be judged of @len bytes that follow, as if they were the end, without a change of @s:
 * the command in *@in with its standard input in @text, empty before. *@from is where the line
 * begins in it that the first of them belongs to.
 */
void stream_preview(const struct stream *s, const void *bytes, size_t len, struct buf *text,
		    struct blocklist_input *in, size_t *from);

/*
 * Judge @len bytes that follow; @end: and end of file, so that nothing waits any more. The caller
 * writes part->bytes. A blocked line and all behind it is forgotten, what had waited included.
 */
void stream_judge(struct stream *s, const void *bytes, size_t len, bool end,
		  struct stream_part *part);

/*
 * The same in steps, because a long text takes longer than a turn of the loop may: in each the
 * lines of STREAM_STEP bytes or some more are judged, as if they were a part of their own; on a
 * terminal of a quarter of them, because those are read in several ways. Returns whether there is
 * more to judge, which is not so after a blocked line. @steps and @part are zeroed at first.
 */
#define STREAM_STEP (12u << 10)

struct stream_steps {
	size_t at;     /* bytes that were judged */
	size_t waited; /* before the first */
};

/* How many of the @len bytes the next step judges. */
size_t stream_step(const struct stream *s, const char *bytes, size_t len,
		   const struct stream_steps *steps);

bool stream_judge_step(struct stream *s, const char *bytes, size_t len, bool end,
		       struct stream_steps *steps, struct stream_part *part);

/* Is a step shorter than judging @len bytes at once? */
bool stream_needs_steps(const struct stream *s, size_t len);

/* How many parts were judged. */
uint64_t stream_parts(const struct stream *s);

/* @s is as @copy, which is freed: what was tried on the copy has come. */
void stream_become(struct stream *s, struct stream *copy);

#endif
