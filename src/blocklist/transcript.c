/*
 * The text is one buffer: what was written and may still matter, then what waits. Each verdict is
 * on a prefix of it. During a verdict the evaluation reports what changes its state
 * (blocklist_input.on_change), so lines without such a report can be dropped: a later verdict
 * would be the same with them. Only $_ sees the last line, which is therefore kept. Comments and
 * empty lines are dropped behind any.
 */
#include "blocklist/transcript.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define KEPT_MAX (64u << 10)
/* Of what the command takes for data, for a `read` in it or the like. */
#define KEPT_DATA_MAX (1u << 10)
/* Text that is not complete waits up to this size: each part has it read again. */
#define WAITING_MAX (128u << 10)
/* Steps that judging what is kept may take, of the 247,500 that parsing a short text may: less than
 * a millisecond (docs/blocklist.md). */
#define KEPT_WORK 200000u

/* Where the lines of the text end, and which of them change the state. */
struct transcript_lines {
	struct shell_lines at;
	bool *changes;
};

static void transcript_copy_input(struct transcript *t, const struct blocklist_input *in)
{
	t->command = mem_strdup(in->command);
	t->directory = mem_strdup(in->directory);
	t->args = mem_list_copy(in->args);
	t->environment = mem_list_copy(in->environment);
	t->in = *in;
	t->in.command = t->command;
	t->in.directory = t->directory;
	t->in.args = (const char *const *)t->args;
	t->in.environment = (const char *const *)t->environment;
}

/* ---- one verdict ---- */

static void transcript_on_change(void *ctx, size_t at)
{
	struct transcript_lines *lines = ctx;
	size_t line = shell_lines_find(&lines->at, at);

	if (line < lines->at.count)
		lines->changes[line] = true;
}

static void transcript_judge_prefix(const struct transcript *t, size_t len,
				    struct transcript_lines *lines, struct blocklist_verdict *v)
{
	struct blocklist_input in = t->in;

	in.stdin_bytes = t->text.data;
	in.stdin_len = len;
	in.stdin_is_part = true;
	in.on_change = transcript_on_change;
	in.on_change_ctx = lines;
	blocklist_judge(&in, v);
}

/* Each newline ends a line. */
static void transcript_split(const char *text, size_t len, struct shell_lines *lines)
{
	const char *end = text + len, *newline;
	size_t n = 0;

	memset(lines, 0, sizeof(*lines));
	for (const char *at = text; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
		n++;
	lines->ends = mem_zalloc((n + 1) * sizeof(*lines->ends));
	for (const char *at = text; n--; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		lines->ends[lines->count++] = (uint32_t)(newline + 1 - text);
	}
}

static void transcript_read_lines(const struct transcript *t, struct transcript_lines *lines)
{
	if (t->reader == BLOCKLIST_READS_SHELL)
		shell_lines_read(t->text.data, t->text.len, &lines->at);
	else
		transcript_split(t->text.data, t->text.len, &lines->at);
	lines->changes = mem_zalloc(lines->at.count + 1);
}

static void transcript_lines_release(struct transcript_lines *lines)
{
	shell_lines_free(&lines->at);
	free(lines->changes);
}

/* ---- what is kept ---- */

static size_t transcript_kept_max(const struct transcript *t)
{
	return t->reader == BLOCKLIST_READS_DATA ? KEPT_DATA_MAX : KEPT_MAX;
}

/* Where a line begins, of the written text of a shell, that has at most @bytes behind it; else the
 * last one. */
static size_t transcript_find_line(const struct transcript *t, size_t bytes)
{
	struct transcript_lines lines;
	size_t from = 0;

	transcript_read_lines(t, &lines);
	for (size_t i = 0; i < lines.at.count && lines.at.ends[i] <= t->written; i++) {
		from = lines.at.ends[i];
		if (t->written - from <= bytes)
			break;
	}
	transcript_lines_release(&lines);
	return from;
}

/* The same where each newline ends a line. */
static size_t transcript_find_newline(const struct transcript *t, size_t bytes)
{
	const char *from = t->text.data + t->written - bytes - 1;
	const char *newline = memchr(from, '\n', bytes + 1);

	return newline ? (size_t)(newline + 1 - t->text.data)
		       : transcript_line_start(&t->text, t->written);
}

/* Of the written text keep about the last @bytes, from the start of a line on, and the line that is
 * not complete, if it is not longer than any text may be. */
static void transcript_forget(struct transcript *t, size_t bytes)
{
	size_t from;

	if (t->written <= bytes)
		return;
	from = t->reader == BLOCKLIST_READS_SHELL ? transcript_find_line(t, bytes)
						  : transcript_find_newline(t, bytes);
	if (t->written - from > transcript_kept_max(t))
		from = t->written;
	buf_consume(&t->text, from);
	t->written -= from;
}

/* Drop the written lines that change nothing, but not the last, and the comments and empty lines
 * behind each. */
static void transcript_drop_idle(struct transcript *t, const struct transcript_lines *lines)
{
	const struct shell_lines *at = &lines->at;
	size_t to = 0, from = 0;
	char *text = t->text.data;

	for (size_t i = 0; i < at->count && at->ends[i] <= t->written; i++) {
		bool last = i + 1 == at->count || at->ends[i + 1] > t->written;

		if (lines->changes[i] || last) {
			memmove(text + to, text + from, at->idle[i] - from);
			to += at->idle[i] - from;
		}
		from = at->ends[i];
	}
	memmove(text + to, text + from, t->text.len - from);
	t->written -= from - to;
	buf_truncate(&t->text, t->text.len - (from - to));
}

/* The verdict on the text, of which the rest waits, took @work steps. */
static void transcript_tidy(struct transcript *t, const struct transcript_lines *lines,
			    uint64_t work)
{
	size_t before = t->written;

	if (t->reader == BLOCKLIST_READS_SHELL) /* for others no change is reported */
		transcript_drop_idle(t, lines);
	if (work > KEPT_WORK && t->written == before)
		transcript_forget(t, (size_t)(before * (KEPT_WORK / 2) / work));
	transcript_forget(t, transcript_kept_max(t));
	if (!t->text.len)
		buf_release(&t->text);
}

/* ---- the search for the line that is blocked ---- */

/*
 * All up to *@end is blocked. Find the first line for which that is so; returns where it starts,
 * and sets *@end and its verdict. A line can be blocked for what an earlier one has set, so the
 * place that a verdict reports does not tell.
 */
static size_t transcript_find_blocked(const struct transcript *t, struct transcript_lines *lines,
				      size_t *end, struct blocklist_verdict *v)
{
	const uint32_t *ends = lines->at.ends;
	size_t first = shell_lines_find(&lines->at, t->written);
	size_t low = first, high = shell_lines_find(&lines->at, *end - 1);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct blocklist_verdict here;

		transcript_judge_prefix(t, ends[middle], lines, &here);
		if (here.blocked) {
			*v = here;
			*end = ends[middle];
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return low > first ? ends[low - 1] : t->written;
}

/* ---- the result ---- */

/* From the start of the line at @from, because what is secret is known by what stands before it. */
static void transcript_show(const struct transcript *t, size_t from, size_t to,
			    struct stream_part *part)
{
	from = transcript_line_start(&t->text, from);
	if (t->reader != BLOCKLIST_READS_DATA)
		stream_part_show(part, t->text.data + from, to - from);
}

/* A line that goes on is shown with its end. */
static void transcript_show_lines(const struct transcript *t, size_t to, bool end,
				  struct stream_part *part)
{
	size_t last = end ? to : transcript_line_start(&t->text, to);

	if (last > t->written)
		transcript_show(t, t->written, last, part);
}

/* The text up to @to may be written. */
static void transcript_pass(struct transcript *t, size_t to, size_t waited,
			    struct stream_part *part)
{
	part->len = to - t->written;
	part->bytes = mem_strndup(t->text.len ? t->text.data + t->written : "", part->len);
	part->earlier = part->len < waited ? part->len : waited;
	t->written = to;
}

/* Is the verdict on what is kept rather than on the part? A text that runs itself is too complex
 * as well, but takes little work. */
static bool transcript_is_overloaded(const struct blocklist_verdict *v)
{
	return v->blocked && v->work > KEPT_WORK / 2 && !strcmp(v->rule, "text.too_complex");
}

/* The part up to @to is blocked. In a text that takes long to judge no line is searched for, and
 * nothing of it passes. */
static void transcript_refuse(struct transcript *t, size_t to, size_t waited,
			      struct transcript_lines *lines, struct stream_part *part)
{
	size_t from = t->written;

	if (t->reader == BLOCKLIST_READS_DATA)
		transcript_read_lines(t, lines);
	if (part->verdict.work <= KEPT_WORK)
		from = transcript_find_blocked(t, lines, &to, &part->verdict);
	transcript_show(t, from, to, part);
	transcript_pass(t, from, waited, part);
	buf_truncate(&t->text, from);
}

static void transcript_accept(struct transcript *t, size_t to, bool end, size_t waited,
			      const struct transcript_lines *lines, struct stream_part *part)
{
	bool judged = to > t->written;

	transcript_show_lines(t, to, end, part);
	transcript_pass(t, to, waited, part);
	if (judged) /* else nobody has told which lines change something */
		transcript_tidy(t, lines, part->verdict.work);
}

size_t transcript_judged_end(const struct shell_lines *lines, size_t written, size_t len, bool end)
{
	size_t last = shell_lines_end(lines);

	if (!lines->open || end || len - written > WAITING_MAX)
		return len;
	return last > written ? last : written;
}

/* Judge all that does not have to wait. False: less must be kept for that, and @may_forget. */
static bool transcript_judge_text(struct transcript *t, bool end, size_t waited, bool may_forget,
				  struct stream_part *part)
{
	struct transcript_lines lines = { 0 };
	bool overloaded;
	size_t to;

	if (t->reader != BLOCKLIST_READS_DATA) /* there they matter only where one is blocked */
		transcript_read_lines(t, &lines);
	to = transcript_judged_end(&lines.at, t->written, t->text.len, end);
	if (to > t->written)
		transcript_judge_prefix(t, to, &lines, &part->verdict);
	overloaded = may_forget && transcript_is_overloaded(&part->verdict);
	if (!overloaded && part->verdict.blocked)
		transcript_refuse(t, to, waited, &lines, part);
	else if (!overloaded)
		transcript_accept(t, to, end, waited, &lines, part);
	transcript_lines_release(&lines);
	return !overloaded;
}

void transcript_judge(struct transcript *t, const void *bytes, size_t len, bool end,
		      struct stream_part *part)
{
	size_t waited = t->text.len - t->written, half = t->written / 2;

	memset(part, 0, sizeof(*part));
	buf_add(&t->text, bytes, len);
	for (int tries = 0; !transcript_judge_text(t, end, waited, tries < 2 && t->written, part);
	     tries++)
		transcript_forget(t, tries ? 0 : half);
	part->waiting = t->text.len - t->written;
}

/* ---- public ---- */

void transcript_init(struct transcript *t, const struct blocklist_input *in)
{
	struct blocklist_verdict v;

	*t = (struct transcript){ .written = 0 };
	transcript_copy_input(t, in);
	t->in.stdin_bytes = ":\n"; /* to see what becomes of it */
	t->in.stdin_len = 2;
	blocklist_judge(&t->in, &v);
	t->reader = v.reader;
	t->matters = v.blocked || v.reads_stdin;
	buf_init(&t->text, SIZE_MAX);
	buf_add(&t->text, in->stdin_bytes, in->stdin_bytes ? in->stdin_len : 0);
	t->written = t->text.len;
	transcript_forget(t, transcript_kept_max(t));
}

void transcript_copy(struct transcript *to, const struct transcript *t)
{
	*to = *t;
	transcript_copy_input(to, &t->in);
	buf_copy(&to->text, &t->text);
}

void transcript_release(struct transcript *t)
{
	free(t->command);
	free(t->directory);
	mem_list_free(t->args);
	mem_list_free(t->environment);
	buf_release(&t->text);
}

size_t transcript_hold(struct transcript *t, const void *bytes, size_t len)
{
	struct transcript_lines lines;
	size_t judged;

	buf_add(&t->text, bytes, len);
	transcript_read_lines(t, &lines);
	judged = transcript_judged_end(&lines.at, t->written, t->text.len, false);
	transcript_lines_release(&lines);
	return t->text.len - judged;
}

bool transcript_is_open(const struct transcript *t)
{
	bool open;

	return shell_complete_end(t->text.data, t->text.len, &open) < t->text.len;
}

size_t transcript_line_start(const struct buf *text, size_t to)
{
	while (to && text->data[to - 1] != '\n')
		to--;
	return to;
}
