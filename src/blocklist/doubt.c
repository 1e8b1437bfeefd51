#include "blocklist/doubt.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shell/parse.h"

/* Judging more at once takes too long. */
#define TEXT_MAX (12u << 10)

/* ---- which lines ---- */

/* Each line that is complete by itself. */
static void doubt_add_lines(struct doubt *d, const char *text, size_t len)
{
	const char *end = text + len, *next;
	bool open;

	for (const char *at = text; at < end; at = next) {
		next = memchr(at, '\n', (size_t)(end - at));
		next = next ? next + 1 : end;
		buf_add(&d->text, at, shell_complete_end(at, (size_t)(next - at), &open));
	}
}

/* As one text, of which the shell runs what is complete, and line by line: an apostrophe in data
 * makes no data of what follows it. */
static void doubt_add(struct doubt *d, const char *text, size_t len)
{
	struct shell_lines lines;
	size_t from = 0, to;

	shell_lines_read(text, len, &lines);
	for (size_t i = 0; i < lines.count; i++, from = to) {
		to = lines.ends[i];
		buf_add(&d->text, text + from, to - from);
		if (memchr(text + from, '\n', to - from - 1))
			doubt_add_lines(d, text + from, to - from);
	}
	doubt_add_lines(d, text + from, len - from);
	shell_lines_free(&lines);
}

/* Where the first of the lines from *@i on ends that is not known; SIZE_MAX: there is none. */
static size_t doubt_next_unknown(const struct pending *p, size_t *i)
{
	while (*i < p->typed.end_count) {
		const struct typed_end *end = &p->typed.ends[(*i)++];

		if (end->unknown)
			return p->from + end->text;
	}
	return SIZE_MAX;
}

/* Add what follows each unknown line, up to the next or the end of the command around it. The text
 * of @p is judged up to @judged, and read as @lines. */
static void doubt_add_all(const struct pending *p, bool doubted, const struct shell_lines *lines,
			  size_t judged, struct doubt *d)
{
	size_t i = 0, line, start, next, to;
	size_t at = doubted ? transcript_line_start(&p->text, p->from) : doubt_next_unknown(p, &i);
	bool paste;

	for (; at != SIZE_MAX; at = next) {
		next = doubt_next_unknown(p, &i);
		line = shell_lines_find(lines, at);
		start = line ? lines->ends[line - 1] : 0;
		to = line < lines->count ? lines->ends[line] : judged;
		to = to < next ? to : next;
		if (start == at || to <= at) /* it is in no command, or waits */
			continue;
		if (!d->text.len)
			d->keys = pending_keys_to(p, start, &paste);
		doubt_add(d, p->text.data + at, to - at);
	}
}

void doubt_find(const struct transcript *t, struct pending *p, bool doubted, bool end,
		struct doubt *d)
{
	struct shell_lines lines;
	size_t len = p->text.len, judged;

	*d = (struct doubt){ .unknown = t->reader == BLOCKLIST_READS_SHELL &&
					(p->typed.edited || doubted) };
	buf_init(&d->text, SIZE_MAX);
	if (!d->unknown)
		return;
	shell_lines_read(p->text.data, len, &lines);
	judged = transcript_judged_end(&lines, p->from, len, end);
	buf_add(&p->text, "\n", 1); /* ends the line that is open */
	doubt_add_all(p, doubted, &lines, judged + (judged == len), d);
	buf_truncate(&p->text, len);
	shell_lines_free(&lines);
}

void doubt_insert(const struct doubt *d, struct buf *text, size_t *from)
{
	struct buf rest;
	size_t at;
	bool open;

	if (!d->text.len)
		return;
	at = shell_complete_end(text->data, text->len, &open);
	buf_init(&rest, SIZE_MAX);
	buf_add(&rest, text->data + at, text->len - at);
	buf_truncate(text, at);
	buf_add(text, d->text.data, d->text.len);
	buf_take(text, &rest);
	buf_release(&rest);
	*from = *from < at ? *from : at;
}

/* ---- the verdict ---- */

static const struct blocklist_verdict doubt_too_long = {
	.blocked = true,
	.rule = "text.too_complex",
	.reason = "The stdin has a long text inside a command, behind a line with editing keys, "
		  "too long to judge (rule text.too_complex).",
};

/* It is judged behind the commands that it belongs to, whose variables are those of a loop. */
static void doubt_judge(const struct transcript *t, const struct doubt *d,
			struct stream_part *part)
{
	struct transcript copy;
	size_t end;
	bool open;

	transcript_copy(&copy, t);
	end = shell_complete_end(copy.text.data, copy.text.len, &open);
	if (open)
		copy.written = end;
	buf_truncate(&copy.text, copy.written);
	buf_add(&copy.text, "\n", 1);
	copy.written++;
	transcript_judge(&copy, d->text.data, d->text.len, true, part);
	transcript_release(&copy);
}

bool doubt_is_blocked(const struct transcript *t, const struct doubt *d, struct stream_part *part)
{
	if (d->text.len > TEXT_MAX)
		*part = (struct stream_part){ .verdict = doubt_too_long };
	else
		doubt_judge(t, d, part);
	if (!part->verdict.blocked || part->verdict.unparsable)
		return false;
	snprintf(part->verdict.suggestion, sizeof(part->verdict.suggestion),
		 "Send this without editing keys: behind a line with one, inside a command, each "
		 "line may be a command of its own.");
	return true;
}
