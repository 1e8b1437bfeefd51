#include "blocklist/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blocklist/terminal.h"
#include "blocklist/transcript.h"

struct stream {
	bool is_terminal;
	struct terminal terminal; /* else only its transcript is used */
	uint64_t parts;
};

static const struct transcript *stream_transcript(const struct stream *s)
{
	return &s->terminal.transcript;
}

struct stream *stream_new(const struct blocklist_input *in, bool terminal)
{
	struct stream *s = mem_zalloc(sizeof(*s));

	s->is_terminal = terminal;
	terminal_init(&s->terminal, in);
	return s;
}

void stream_free(struct stream *s)
{
	if (s)
		terminal_release(&s->terminal);
	free(s);
}

void stream_begin_typed(struct stream *s, const char *keys, size_t len)
{
	terminal_begin(&s->terminal, keys, len);
}

size_t stream_held(const struct blocklist_input *in)
{
	struct blocklist_input empty = *in;
	struct transcript t;
	size_t held;

	empty.stdin_bytes = NULL;
	empty.stdin_len = 0;
	transcript_init(&t, &empty);
	held = transcript_hold(&t, in->stdin_bytes, in->stdin_len);
	transcript_release(&t);
	return held;
}

struct stream *stream_copy(const struct stream *s)
{
	struct stream *copy = mem_zalloc(sizeof(*copy));

	*copy = *s;
	terminal_copy(&copy->terminal, &s->terminal);
	return copy;
}

void stream_become(struct stream *s, struct stream *copy)
{
	struct stream was = *s;

	*s = *copy;
	*copy = was;
	stream_free(copy);
}

void stream_preview(const struct stream *s, const void *bytes, size_t len, struct buf *text,
		    struct blocklist_input *in, size_t *from)
{
	const struct transcript *t = stream_transcript(s);

	if (s->is_terminal) {
		terminal_preview(&s->terminal, bytes, len, text, from);
	} else {
		buf_add(text, t->text.data, t->text.len);
		buf_add(text, bytes, len);
		*from = t->written;
	}
	*from = transcript_line_start(text, *from);
	*in = t->in;
	in->stdin_bytes = text->len ? text->data : "";
	in->stdin_len = text->len;
}

size_t stream_begun(const struct stream *s, const char **text)
{
	const struct typed *line = terminal_open_line(&s->terminal);
	const struct transcript *t = stream_transcript(s);
	size_t from;

	if (t->reader == BLOCKLIST_READS_DATA || line->edited)
		return 0;
	if (s->is_terminal) {
		*text = line->line.data;
		return line->line.len;
	}
	from = transcript_line_start(&t->text, t->written);
	*text = t->text.data ? t->text.data + from : "";
	return t->written - from;
}

bool stream_in_paste(const struct stream *s)
{
	return stream_transcript(s)->reader != BLOCKLIST_READS_DATA &&
	       terminal_open_line(&s->terminal)->paste;
}

size_t stream_waiting(const struct stream *s)
{
	const struct transcript *t = stream_transcript(s);

	return s->is_terminal ? s->terminal.keys.len : t->text.len - t->written;
}

uint64_t stream_parts(const struct stream *s)
{
	return s->parts;
}

/* No verdict could be another than the one that the command was started with. */
static void stream_pass(const void *bytes, size_t len, struct stream_part *part)
{
	memset(part, 0, sizeof(*part));
	part->bytes = mem_strndup(bytes ? bytes : "", len);
	part->len = len;
}

void stream_judge(struct stream *s, const void *bytes, size_t len, bool end,
		  struct stream_part *part)
{
	size_t waited = stream_waiting(s);

	s->parts++;
	if (!stream_transcript(s)->matters && !s->is_terminal)
		stream_pass(bytes, len, part);
	else if (s->is_terminal)
		terminal_judge(&s->terminal, bytes, len, end, part);
	else
		transcript_judge(&s->terminal.transcript, bytes, len, end, part);
	if (part->verdict.blocked)
		part->dropped = waited - part->earlier;
}

/* ---- steps ---- */

static bool stream_ends_line(const struct stream *s, char c)
{
	return c == '\n' || (s->is_terminal && c == '\r');
}

static size_t stream_step_size(const struct stream *s)
{
	return s->is_terminal ? STREAM_STEP / 4 : STREAM_STEP;
}

/* Whole lines, because half a line could be judged as another command. None shorter than a step:
 * a verdict on a long text may take more work for each byte (blocklist/budget.h). */
static size_t stream_cut(const struct stream *s, const char *bytes, size_t len)
{
	size_t steps = len / stream_step_size(s), cut;

	if (steps < 2)
		return len;
	for (cut = len / steps; cut && !stream_ends_line(s, bytes[cut - 1]); cut--)
		;
	if (cut)
		return cut;
	for (cut = len / steps; cut < len && !stream_ends_line(s, bytes[cut - 1]); cut++)
		;
	return cut;
}

size_t stream_step(const struct stream *s, const char *bytes, size_t len,
		   const struct stream_steps *steps)
{
	return stream_cut(s, len ? bytes + steps->at : bytes, len - steps->at);
}

bool stream_judge_step(struct stream *s, const char *bytes, size_t len, bool end,
		       struct stream_steps *steps, struct stream_part *part)
{
	const char *from = len ? bytes + steps->at : bytes;
	size_t cut = stream_step(s, bytes, len, steps);
	struct stream_part next;

	if (!steps->at)
		steps->waited = stream_waiting(s);
	stream_judge(s, from, cut, end && steps->at + cut == len, &next);
	steps->at += cut;
	stream_part_join(part, &next, steps->waited);
	stream_part_release(&next);
	return steps->at < len && !part->verdict.blocked;
}

bool stream_needs_steps(const struct stream *s, size_t len)
{
	return len >= 2 * stream_step_size(s) &&
	       stream_transcript(s)->reader != BLOCKLIST_READS_DATA;
}
