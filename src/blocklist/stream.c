/*
 * The text is one buffer: what was written and may still matter, then what waits. Each verdict is
 * on a prefix of it. During a verdict the evaluation reports what changes its state
 * (blocklist_input.on_change), so lines without such a report can be dropped: a later verdict
 * would be the same with them. Only $_ sees the last line, which is therefore kept. Comments and
 * empty lines are dropped behind any.
 */
#include "blocklist/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "blocklist/typed.h"
#include "shell/parse.h"

#define KEPT_MAX (64u << 10)
/* Of what the command takes for data, for a `read` in it or the like. */
#define KEPT_DATA_MAX (1u << 10)
/* Text that is not complete waits up to this size: each part has it read again. */
#define WAITING_MAX (128u << 10)
/* Steps that judging what is kept may take, of the 247,500 that parsing a short text may: less than
 * a millisecond (docs/blocklist.md). */
#define KEPT_WORK 200000u
/* Judging more at once takes too long. */
#define DOUBT_MAX (12u << 10)
#define TEXT_MAX (SIZE_MAX / 8) /* the caller bounds what waits */
#define SHOWN_MAX 4096

const struct blocklist_verdict stream_open_command = {
	.blocked = true,
	.unparsable = true,
	.rule = "text.unparsable",
	.reason = "The stdin has a key that interrupts or ends the input inside a command that is "
		  "not complete (rule text.unparsable).",
	.suggestion = "Complete that command before the key, or leave it out.",
};

struct stream {
	struct blocklist_input in; /* borrows from the four below */
	char *command, *directory;
	char **args, **environment;
	enum blocklist_reader reader;
	struct buf text;
	size_t written; /* bytes at its start */
	uint64_t parts;
	bool terminal;  /* the parts are keys; then what waits is in `keys`, not in `text` */
	struct typed lines[TYPED_READINGS]; /* the line that is open, in each reading */
	enum typed_reading reading; /* of the text, at whose end that line stands */
	bool doubted;   /* a line that is not known may stand in the command that was begun */
	struct buf keys;
};

/* The lines of the text, and which of them change the state. */
struct stream_lines {
	struct shell_lines at;
	bool *changes;
};

/* ---- copies ---- */

static char **stream_copy_list(const char *const *list)
{
	char **copy;
	size_t n = 0;

	while (list && list[n])
		n++;
	if (!list)
		return NULL;
	copy = mem_zalloc((n + 1) * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(list[i]);
	return copy;
}

static void stream_free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

static void stream_copy_input(struct stream *s, const struct blocklist_input *in)
{
	s->command = mem_strdup(in->command);
	s->directory = in->directory ? mem_strdup(in->directory) : NULL;
	s->args = stream_copy_list(in->args);
	s->environment = stream_copy_list(in->environment);
	s->in = *in;
	s->in.command = s->command;
	s->in.directory = s->directory;
	s->in.args = (const char *const *)s->args;
	s->in.environment = (const char *const *)s->environment;
}

/* ---- one verdict ---- */

/* The first line that ends behind @at; the count of them: there is none. */
static size_t stream_line_at(const struct shell_lines *lines, size_t at)
{
	size_t low = 0, high = lines->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->ends[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void stream_on_change(void *ctx, size_t at)
{
	struct stream_lines *lines = ctx;
	size_t line = stream_line_at(&lines->at, at);

	if (line < lines->at.count)
		lines->changes[line] = true;
}

static void stream_judge_prefix(const struct stream *s, size_t len, struct stream_lines *lines,
				struct blocklist_verdict *v)
{
	struct blocklist_input in = s->in;

	in.stdin_bytes = s->text.data;
	in.stdin_len = len;
	in.stdin_is_part = true;
	in.on_change = stream_on_change;
	in.on_change_ctx = lines;
	blocklist_judge(&in, v);
}

/* Each newline ends a line. */
static void stream_split(const char *text, size_t len, struct shell_lines *lines)
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

static void stream_read_lines(const struct stream *s, struct stream_lines *lines)
{
	if (s->reader == BLOCKLIST_READS_SHELL)
		shell_lines_read(s->text.data, s->text.len, &lines->at);
	else
		stream_split(s->text.data, s->text.len, &lines->at);
	lines->changes = mem_zalloc(lines->at.count + 1);
}

static void stream_lines_release(struct stream_lines *lines)
{
	shell_lines_free(&lines->at);
	free(lines->changes);
}

/* ---- what is kept ---- */

static size_t stream_kept_max(const struct stream *s)
{
	return s->reader == BLOCKLIST_READS_DATA ? KEPT_DATA_MAX : KEPT_MAX;
}

/* Of the written text keep about the last @bytes, from the start of a line on, and the line that is
 * not complete, if it is not longer than any text may be. */
static void stream_forget(struct stream *s, size_t bytes)
{
	struct stream_lines lines;
	size_t from = 0;

	if (s->written <= bytes)
		return;
	stream_read_lines(s, &lines);
	for (size_t i = 0; i < lines.at.count && lines.at.ends[i] <= s->written; i++) {
		from = lines.at.ends[i];
		if (s->written - from <= bytes)
			break;
	}
	if (s->written - from > stream_kept_max(s))
		from = s->written;
	buf_consume(&s->text, from);
	s->written -= from;
	stream_lines_release(&lines);
}

/* Drop the written lines that change nothing, but not the last, and the comments and empty lines
 * behind each. */
static void stream_drop_idle(struct stream *s, const struct stream_lines *lines)
{
	const struct shell_lines *at = &lines->at;
	size_t to = 0, from = 0;
	char *text = s->text.data;

	for (size_t i = 0; i < at->count && at->ends[i] <= s->written; i++) {
		bool last = i + 1 == at->count || at->ends[i + 1] > s->written;

		if (lines->changes[i] || last) {
			memmove(text + to, text + from, at->idle[i] - from);
			to += at->idle[i] - from;
		}
		from = at->ends[i];
	}
	memmove(text + to, text + from, s->text.len - from);
	s->written -= from - to;
	buf_truncate(&s->text, s->text.len - (from - to));
}

/* The verdict on the text, of which the rest waits, took @work steps. */
static void stream_tidy(struct stream *s, const struct stream_lines *lines, uint64_t work)
{
	size_t before = s->written;

	if (s->reader == BLOCKLIST_READS_SHELL) /* for others no change is reported */
		stream_drop_idle(s, lines);
	if (work > KEPT_WORK && s->written == before)
		stream_forget(s, (size_t)(before * (KEPT_WORK / 2) / work));
	stream_forget(s, stream_kept_max(s));
	if (!s->text.len)
		buf_release(&s->text);
}

/* ---- the search for the line that is blocked ---- */

/*
 * All up to @to is blocked. Find the first line for which that is so; returns where it starts, and
 * sets *@end and its verdict. A line can be blocked for what an earlier one has set, so the place
 * that a verdict reports does not tell.
 */
static size_t stream_find_blocked(const struct stream *s, struct stream_lines *lines, size_t *end,
				  struct blocklist_verdict *v)
{
	const uint32_t *ends = lines->at.ends;
	size_t first = stream_line_at(&lines->at, s->written);
	size_t low = first, high = stream_line_at(&lines->at, *end - 1);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct blocklist_verdict here;

		stream_judge_prefix(s, ends[middle], lines, &here);
		if (here.blocked) {
			*v = here;
			*end = ends[middle];
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return low > first ? ends[low - 1] : s->written;
}

/* ---- the result ---- */

static void stream_show(const struct stream *s, size_t from, size_t to, struct stream_part *part)
{
	size_t len = to - from < SHOWN_MAX ? to - from : SHOWN_MAX;

	if (s->reader == BLOCKLIST_READS_DATA)
		return;
	part->shown = mem_strndup(s->text.data + from, len);
	for (size_t i = 0; i < len; i++)
		if (!part->shown[i])
			part->shown[i] = ' ';
}

/* The text up to @to may be written. */
static void stream_pass(struct stream *s, size_t to, size_t waited, struct stream_part *part)
{
	part->len = to - s->written;
	part->bytes = mem_strndup(s->text.len ? s->text.data + s->written : "", part->len);
	part->earlier = part->len < waited ? part->len : waited;
	s->written = to;
}

/* Is the verdict on what is kept rather than on the part? A text that runs itself is too complex
 * as well, but takes little work. */
static bool stream_is_overloaded(const struct blocklist_verdict *v)
{
	return v->blocked && v->work > KEPT_WORK / 2 && !strcmp(v->rule, "text.too_complex");
}

/* The part up to @to is blocked. In a text that takes long to judge no line is searched for, and
 * nothing of it passes. */
static void stream_refuse(struct stream *s, size_t to, size_t waited, struct stream_lines *lines,
			  struct stream_part *part)
{
	size_t from = s->written;

	if (part->verdict.work <= KEPT_WORK)
		from = stream_find_blocked(s, lines, &to, &part->verdict);
	stream_show(s, from, to, part);
	stream_pass(s, from, waited, part);
	buf_truncate(&s->text, from);
}

static void stream_accept(struct stream *s, size_t to, size_t waited,
			  const struct stream_lines *lines, struct stream_part *part)
{
	bool judged = to > s->written;

	if (judged)
		stream_show(s, s->written, to, part);
	stream_pass(s, to, waited, part);
	if (judged) /* else nobody has told which lines change something */
		stream_tidy(s, lines, part->verdict.work);
}

/* Where the last command that is complete ends. */
static size_t stream_lines_end(const struct shell_lines *lines)
{
	return lines->count ? lines->ends[lines->count - 1] : 0;
}

/* The same of @text; *@open: does what follows wait for more? */
static size_t stream_complete_end(const char *text, size_t len, bool *open)
{
	struct shell_lines lines;
	size_t end;

	shell_lines_read(text, len, &lines);
	end = stream_lines_end(&lines);
	*open = lines.open;
	shell_lines_free(&lines);
	return end;
}

/* How much of a text is to be judged now, of which @written bytes came before; the rest waits. */
static size_t stream_judged_end(const struct shell_lines *at, size_t written, size_t len, bool end)
{
	size_t last = stream_lines_end(at);

	if (!at->open || end || len - written > WAITING_MAX)
		return len;
	return last > written ? last : written;
}

/* Judge all that does not have to wait. With @may_forget, false: less must be kept for that. */
static bool stream_judge_text(struct stream *s, bool end, size_t waited, bool may_forget,
			      struct stream_part *part)
{
	struct stream_lines lines;
	bool overloaded;
	size_t to;

	stream_read_lines(s, &lines);
	to = stream_judged_end(&lines.at, s->written, s->text.len, end);
	if (to > s->written)
		stream_judge_prefix(s, to, &lines, &part->verdict);
	overloaded = may_forget && stream_is_overloaded(&part->verdict);
	if (!overloaded && part->verdict.blocked)
		stream_refuse(s, to, waited, &lines, part);
	else if (!overloaded)
		stream_accept(s, to, waited, &lines, part);
	stream_lines_release(&lines);
	return !overloaded;
}

static void stream_judge_part(struct stream *s, const void *bytes, size_t len, bool end,
			      struct stream_part *part)
{
	size_t waited = s->text.len - s->written, half = s->written / 2;

	memset(part, 0, sizeof(*part));
	buf_add(&s->text, bytes, len);
	for (int tries = 0; !stream_judge_text(s, end, waited, tries < 2 && s->written, part);
	     tries++)
		stream_forget(s, tries ? 0 : half);
	part->waiting = s->text.len - s->written;
}

static void stream_join_shown(struct stream_part *part, struct stream_part *next)
{
	size_t len = part->shown ? strlen(part->shown) : 0;
	size_t more = next->shown ? strlen(next->shown) : 0;

	if (!more || (len == SHOWN_MAX && !next->verdict.blocked))
		return;
	if (next->verdict.blocked)
		len = 0;
	if (len + more > SHOWN_MAX)
		more = SHOWN_MAX - len;
	part->shown = mem_realloc(part->shown, len + more + 1);
	memcpy(part->shown + len, next->shown, more);
	part->shown[len + more] = '\0';
}

static void stream_join(struct stream_part *part, struct stream_part *next, size_t waited)
{
	stream_join_shown(part, next);
	part->bytes = mem_realloc(part->bytes, part->len + next->len + 1);
	memcpy(part->bytes + part->len, next->bytes, next->len);
	part->len += next->len;
	part->earlier = part->len < waited ? part->len : waited;
	part->dropped = next->verdict.blocked ? waited - part->earlier
					      : part->dropped + next->dropped;
	part->skipped += next->skipped;
	part->waiting = next->waiting;
	part->edited |= next->edited;
	part->verdict = next->verdict;
}

/* ---- terminals ---- */

/* The line that is open, at the end of the text. */
static const struct typed *stream_open_line(const struct stream *s)
{
	return &s->lines[s->reading];
}

/* Where the line begins that @to lies in. */
static size_t stream_line_start(const struct buf *text, size_t to)
{
	while (to && text->data[to - 1] != '\n')
		to--;
	return to;
}

/* Of @text, @passed bytes were taken; returns of how many keys they are, and brings the open line
 * up to there. */
static size_t stream_pass_typed(struct stream *s, struct typed_text *text, size_t passed,
				bool blocked)
{
	struct typed *line = &s->lines[s->reading], fresh;
	size_t keys = 0, back = line->line.len - text->kept;

	if (!blocked && passed == text->text.len) {
		typed_move(line, &text->rest);
		return s->keys.len;
	}
	typed_init(&fresh, s->reading);
	for (size_t i = 0; i < text->end_count && text->ends[i].text <= passed; i++) {
		keys = text->ends[i].keys;
		fresh.paste = text->ends[i].paste;
		fresh.edited = text->ends[i].edited;
	}
	if (keys) {
		typed_move(line, &fresh);
	} else { /* the keys that erase were not taken either */
		buf_add(&s->text, line->line.data + text->kept, back);
		s->written += back;
	}
	return keys;
}

/* Take away the end of the open line, which was written before. */
static void stream_erase(struct stream *s, size_t bytes)
{
	s->written -= bytes < s->written ? bytes : s->written;
	buf_truncate(&s->text, s->written);
}

/* Judge the keys that wait. They are read again each time, because they can still be erased. With
 * @escape, an ESC that they end in is a key. */
static void stream_read_keys(struct stream *s, bool escape, bool end, struct stream_part *part)
{
	struct typed_text text;
	size_t taken;

	typed_read(stream_open_line(s), s->keys.data, s->keys.len, &text);
	if (escape)
		typed_give_up_mark(&text);
	stream_erase(s, stream_open_line(s)->line.len - text.kept);
	stream_judge_part(s, text.text.data, text.text.len, end, part);
	buf_truncate(&s->text, s->written);
	taken = stream_pass_typed(s, &text, part->len, part->verdict.blocked);
	free(part->bytes);
	part->bytes = mem_strndup(s->keys.len ? s->keys.data : "", taken);
	part->len = taken;
	part->edited = text.edited && s->reader != BLOCKLIST_READS_DATA;
	buf_consume(&s->keys, part->verdict.blocked ? s->keys.len : taken);
	part->waiting = s->keys.len;
	typed_text_release(&text);
}

/* ---- what keys come to ---- */

/* The keys that wait. stream_pending_release() frees it. */
struct stream_pending {
	struct typed_text typed; /* what they come to, ... */
	struct buf text;         /* ... behind what was judged, ... */
	size_t from;             /* ... which is so long */
};

static void stream_read_pending(const struct stream *s, struct stream_pending *p)
{
	size_t erased;

	typed_read(stream_open_line(s), s->keys.data, s->keys.len, &p->typed);
	erased = stream_open_line(s)->line.len - p->typed.kept;
	p->from = s->written > erased ? s->written - erased : 0;
	buf_init(&p->text, TEXT_MAX);
	buf_add(&p->text, s->text.data, p->from);
	buf_add(&p->text, p->typed.text.data, p->typed.text.len);
}

static void stream_pending_release(struct stream_pending *p)
{
	typed_text_release(&p->typed);
	buf_release(&p->text);
}

/* How many keys make the lines that end up to @to? *@paste: is a paste open behind them? It stays
 * as it is if there is none. */
static size_t stream_keys_to(const struct stream_pending *p, size_t to, bool *paste)
{
	size_t keys = 0;

	for (size_t i = 0; i < p->typed.end_count && p->from + p->typed.ends[i].text <= to; i++) {
		keys = p->typed.ends[i].keys;
		*paste = p->typed.ends[i].paste;
	}
	return keys;
}

/* ---- lines that are not known, inside a command ---- */

/* Such a line may end the command, so each that follows in it may be a command of its own. */
struct stream_doubt {
	struct buf text; /* those */
	size_t keys;     /* that precede the first of these commands */
	bool unknown;    /* there is a line that is not known */
};

/* Each line that is complete by itself. */
static void stream_add_doubtful_lines(struct stream_doubt *d, const char *text, size_t len)
{
	const char *end = text + len, *next;
	bool open;

	for (const char *at = text; at < end; at = next) {
		next = memchr(at, '\n', (size_t)(end - at));
		next = next ? next + 1 : end;
		buf_add(&d->text, at, stream_complete_end(at, (size_t)(next - at), &open));
	}
}

/* As one text, of which the shell runs what is complete, and line by line: an apostrophe in data
 * makes no data of what follows it. */
static void stream_add_doubt(struct stream_doubt *d, const char *text, size_t len)
{
	struct shell_lines lines;
	size_t from = 0, to;

	shell_lines_read(text, len, &lines);
	for (size_t i = 0; i < lines.count; i++, from = to) {
		to = lines.ends[i];
		buf_add(&d->text, text + from, to - from);
		if (memchr(text + from, '\n', to - from - 1))
			stream_add_doubtful_lines(d, text + from, to - from);
	}
	stream_add_doubtful_lines(d, text + from, len - from);
	shell_lines_free(&lines);
}

/* Where the first of the lines from *@i on ends that is not known; SIZE_MAX: there is none. */
static size_t stream_next_unknown(const struct stream_pending *p, size_t *i)
{
	while (*i < p->typed.end_count) {
		const struct typed_end *end = &p->typed.ends[(*i)++];

		if (end->unknown)
			return p->from + end->text;
	}
	return SIZE_MAX;
}

/* @p, behind which a newline is added, is judged up to @judged, and read as @lines. */
static void stream_add_doubts(const struct stream *s, const struct stream_pending *p, size_t judged,
			      const struct shell_lines *lines, struct stream_doubt *d)
{
	size_t i = 0, line, start, next, to;
	size_t at = s->doubted ? stream_line_start(&p->text, p->from) : stream_next_unknown(p, &i);
	bool paste;

	for (; at != SIZE_MAX; at = next) {
		next = stream_next_unknown(p, &i);
		line = stream_line_at(lines, at);
		start = line ? lines->ends[line - 1] : 0;
		to = line < lines->count ? lines->ends[line] : judged;
		to = to < next ? to : next;
		if (start == at || to <= at) /* it is in no command, or waits */
			continue;
		if (!d->text.len)
			d->keys = stream_keys_to(p, start, &paste);
		stream_add_doubt(d, p->text.data + at, to - at);
	}
}

/* What is in doubt of @p, which is to be judged now. The caller releases its text. */
static void stream_find_doubt(const struct stream *s, struct stream_pending *p, bool end,
			      struct stream_doubt *d)
{
	struct shell_lines lines;
	size_t len = p->text.len, judged;

	*d = (struct stream_doubt){ .unknown = s->reader == BLOCKLIST_READS_SHELL &&
					       (p->typed.edited || s->doubted) };
	buf_init(&d->text, TEXT_MAX);
	if (!d->unknown)
		return;
	shell_lines_read(p->text.data, len, &lines);
	judged = stream_judged_end(&lines, p->from, len, end);
	buf_add(&p->text, "\n", 1); /* ends the line that is open */
	stream_add_doubts(s, p, judged + (judged == len), &lines, d);
	buf_truncate(&p->text, len);
	shell_lines_free(&lines);
}

static const struct blocklist_verdict stream_long_doubt = {
	.blocked = true,
	.rule = "text.too_complex",
	.reason = "The stdin has a long text inside a command, behind a line with editing keys, "
		  "too long to judge (rule text.too_complex).",
};

/* It is judged behind the commands that it belongs to, whose variables are those of a loop. What is
 * no shell text so is data. */
static bool stream_blocks_doubt(const struct stream *s, const struct stream_doubt *d,
				struct stream_part *part)
{
	struct stream *copy;
	bool open;
	size_t end;

	if (d->text.len > DOUBT_MAX) {
		*part = (struct stream_part){ .verdict = stream_long_doubt };
		return true;
	}
	copy = stream_copy(s);
	end = stream_complete_end(copy->text.data, copy->text.len, &open);
	if (open)
		copy->written = end;
	buf_truncate(&copy->text, copy->written);
	buf_add(&copy->text, "\n", 1);
	copy->written++;
	stream_judge_part(copy, d->text.data, d->text.len, true, part);
	stream_free(copy);
	return part->verdict.blocked && !part->verdict.unparsable;
}

/* ---- what passes of the keys ---- */

/* @s is as @before again, which is freed, and nothing has passed. */
static void stream_undo(struct stream *s, struct stream *before, struct stream_part *part)
{
	stream_become(s, before);
	stream_part_release(part);
}

/* An ESC at the end may begin a mark, and is more often a key, such as the one that ends what is
 * inserted in vi: what stands before it on the line needs to be no shell text. */
static void stream_take_escape(struct stream *s, bool end, struct stream_part *part)
{
	bool escape = s->keys.len && s->keys.data[s->keys.len - 1] == '\x1b';
	struct stream *before = escape ? stream_copy(s) : NULL;

	stream_read_keys(s, false, end, part);
	if (escape && (part->verdict.unparsable || part->waiting)) {
		stream_undo(s, before, part);
		stream_read_keys(s, true, end, part);
	} else {
		stream_free(before);
	}
}

/* Nothing behind the keys that @part has passed is taken: @by is blocked there. */
static void stream_blame(struct stream *s, const struct stream_part *by, struct stream_part *part)
{
	buf_truncate(&s->keys, 0);
	part->waiting = 0;
	part->verdict = by->verdict;
	free(part->shown);
	part->shown = by->shown ? mem_strdup(by->shown) : NULL;
}

/* @part has passed of the keys, and of these @d is in doubt. */
static void stream_judge_doubt(struct stream *s, struct stream *before,
			       const struct stream_doubt *d, struct stream_part *part)
{
	struct stream_part doubt;

	if (stream_blocks_doubt(s, d, &doubt) && part->len > d->keys) {
		snprintf(doubt.verdict.suggestion, sizeof(doubt.verdict.suggestion),
			 "Send this without editing keys: behind a line with one, inside a "
			 "command, each line may be a command of its own.");
		stream_undo(s, before, part);
		buf_truncate(&s->keys, d->keys);
		stream_take_escape(s, false, part);
		stream_blame(s, &doubt, part);
	} else {
		stream_free(before);
	}
	stream_part_release(&doubt);
}

/* Can what follows belong to a command that was begun? */
static bool stream_is_open(const struct stream *s)
{
	bool open;

	return stream_complete_end(s->text.data, s->text.len, &open) < s->text.len;
}

static void stream_take_keys(struct stream *s, bool end, struct stream_part *part)
{
	struct stream_pending p;
	struct stream_doubt d;
	struct stream *before;

	stream_read_pending(s, &p);
	stream_find_doubt(s, &p, end, &d);
	stream_pending_release(&p);
	before = d.text.len ? stream_copy(s) : NULL;
	stream_take_escape(s, end, part);
	if (before)
		stream_judge_doubt(s, before, &d, part);
	if (part->len)
		s->doubted = d.unknown && stream_is_open(s);
	buf_release(&d.text);
}

/* Take only the first @keep of the keys, because what follows is blocked: @by. */
static void stream_refuse_keys(struct stream *s, size_t keep, const struct stream_part *by,
			       struct stream_part *part)
{
	buf_truncate(&s->keys, keep);
	stream_take_keys(s, false, part);
	stream_blame(s, by, part);
}

/* ---- the marks of pastes ---- */

static bool stream_may_have_marks(const struct stream *s)
{
	const struct typed *line = stream_open_line(s);
	bool differ = typed_may_have_marks(s->keys.data, s->keys.len) || line->mark_len;

	for (size_t i = 0; i < TYPED_READINGS; i++)
		differ |= s->lines[i].line.len != line->line.len;
	return s->reader != BLOCKLIST_READS_DATA && differ;
}

/* Does @reading make the same as that of the text of the keys that @part has passed? */
static bool stream_reads_alike(const struct stream *before, enum typed_reading reading,
			       const struct stream_part *part)
{
	const struct typed *line = stream_open_line(before), *other_line = &before->lines[reading];
	struct typed_text text, other;
	bool alike = other_line->line.len == line->line.len;

	typed_read(line, part->bytes, part->len, &text);
	typed_read(other_line, part->bytes, part->len, &other);
	alike = alike && text.text.len == other.text.len && text.kept == other.kept &&
		(!text.text.len || !memcmp(text.text.data, other.text.data, text.text.len));
	typed_text_release(&text);
	typed_text_release(&other);
	return alike;
}

/* Of the keys that @part has passed, is a line blocked in another @reading? It is judged behind
 * the kept commands, whose variables it needs where a mark hides an assignment. What is no shell
 * text so is left to the reading of those: a comment that is pasted may have an apostrophe. */
static bool stream_blocks_other(const struct stream *s, enum typed_reading reading,
				const struct stream_part *part, bool end, struct stream_part *other)
{
	struct stream *copy = stream_copy(s);
	const struct buf *line = &copy->lines[reading].line;

	stream_erase(copy, stream_open_line(copy)->line.len);
	if (line->len)
		buf_add(&copy->text, line->data, line->len);
	copy->written = copy->text.len;
	copy->reading = reading;
	buf_truncate(&copy->keys, 0);
	buf_add(&copy->keys, part->bytes, part->len);
	stream_take_keys(copy, end, other);
	stream_free(copy);
	return other->verdict.blocked && !other->verdict.unparsable;
}

static void stream_judge_marks(struct stream *s, bool end, struct stream_part *part)
{
	struct stream *before = stream_copy(s);
	struct stream_part other;

	stream_take_keys(s, end, part);
	for (enum typed_reading r = 0; r < TYPED_READINGS; r++) {
		if (r == s->reading || stream_reads_alike(before, r, part))
			continue;
		if (stream_blocks_other(s, r, part, end, &other)) {
			stream_undo(s, stream_copy(before), part);
			stream_refuse_keys(s, other.len, &other, part);
		}
		stream_part_release(&other);
	}
	stream_free(before);
}

/* ---- ends inside a command ---- */

/* The shell drops a command that it has read up to @at and further, and the line that is open. */
static void stream_drop_command(struct stream *s, size_t at)
{
	buf_truncate(&s->text, at);
	s->written = at;
	buf_truncate(&s->lines[s->reading].line, 0);
}

/* The keys that are not dropped. */
struct stream_left {
	struct buf keys;
	size_t had;    /* so many waited before this part, ... */
	size_t waited; /* ... of which these are left */
};

static void stream_keep(struct stream_left *left, const char *keys, size_t from, size_t to)
{
	size_t had = to < left->had ? to : left->had;

	buf_add(&left->keys, keys + from, to - from);
	left->waited += from < had ? had - from : 0;
}

/* Of the keys of a command that are dropped, the mark stays that ends a paste which began before:
 * the shell is in it. */
static void stream_keep_paste_end(struct stream_left *left, const char *keys, size_t from,
				  size_t to)
{
	size_t mark = from + typed_find_paste_end(keys + from, to - from);

	if (mark < to)
		stream_keep(left, keys, mark, mark + TYPED_MARK_LEN);
}

/*
 * The terminal drops what nobody has read when ^C, ^Z or ^\ is typed. What waits here is not even
 * written, so it goes the same way, and the key is written: it is for the program in front. At ^C
 * the shell drops what it has read of a command, too. At ^D bash and dash end a here-document and
 * run it, zsh goes on reading it, and only some drop an open quote: nobody knows what the shell
 * takes the next line for. Returns how many of the keys that are @left precede the first ^D inside
 * a command; SIZE_MAX: there is none.
 */
static size_t stream_drop_pending(struct stream *s, const struct stream_pending *p,
				  struct stream_left *left)
{
	bool open, paste = stream_open_line(s)->paste;
	size_t start = 0, done = 0, refused = SIZE_MAX;

	for (size_t i = 0; i < p->typed.end_count && refused == SIZE_MAX; i++) {
		const struct typed_end *end = &p->typed.ends[i];
		size_t to = p->from + end->text, last = end->keys - 1, at, begin;

		if (end->by == TYPED_LINE)
			continue;
		at = start + stream_complete_end(p->text.data + start, to - start, &open);
		start = to;
		if (!open)
			continue;
		begin = end->by == TYPED_FILE ? last : stream_keys_to(p, at, &paste);
		stream_keep(left, s->keys.data, done, begin);
		done = last;
		if (end->by == TYPED_FILE)
			refused = left->keys.len;
		else if (paste)
			stream_keep_paste_end(left, s->keys.data, begin, last);
		if (end->by == TYPED_INTERRUPT && at < p->from)
			stream_drop_command(s, at);
	}
	stream_keep(left, s->keys.data, done, s->keys.len);
	return refused;
}

/* The same of the keys that wait, of which *@waited waited before this part, and are left then. */
static size_t stream_drop_open(struct stream *s, size_t *waited)
{
	struct stream_left left = { .had = *waited };
	struct stream_pending p;
	size_t refused;

	if (s->reader != BLOCKLIST_READS_SHELL || !typed_may_end(s->keys.data, s->keys.len))
		return SIZE_MAX;
	buf_init(&left.keys, TEXT_MAX);
	stream_read_pending(s, &p);
	refused = stream_drop_pending(s, &p, &left);
	stream_pending_release(&p);
	buf_release(&s->keys);
	s->keys = left.keys;
	*waited = left.waited;
	return refused;
}

static void stream_judge_keys(struct stream *s, const void *bytes, size_t len, bool end,
			      struct stream_part *part)
{
	size_t before = s->keys.len, waited = before, dropped, keep;
	const struct stream_part open = { .verdict = stream_open_command };
	struct typed_text text;

	buf_add(&s->keys, bytes, len);
	keep = stream_drop_open(s, &waited);
	dropped = before + len - s->keys.len;
	if (keep != SIZE_MAX)
		stream_refuse_keys(s, keep, &open, part);
	else if (stream_may_have_marks(s))
		stream_judge_marks(s, end, part);
	else
		stream_take_keys(s, end, part);
	part->earlier = part->len < waited ? part->len : waited;
	part->dropped = dropped;
	part->skipped = dropped - (before - waited);
	for (enum typed_reading r = 0; r < TYPED_READINGS; r++) {
		if (r == s->reading)
			continue;
		typed_read(&s->lines[r], part->bytes, part->len, &text);
		typed_move(&s->lines[r], &text.rest);
		typed_text_release(&text);
	}
}

/* ---- public ---- */

struct stream *stream_new(const struct blocklist_input *in, bool terminal)
{
	struct stream *s = mem_zalloc(sizeof(*s));
	struct blocklist_verdict v;

	stream_copy_input(s, in);
	s->in.stdin_bytes = ":\n"; /* to see what becomes of it */
	s->in.stdin_len = 2;
	blocklist_judge(&s->in, &v);
	s->reader = v.reader;
	buf_init(&s->text, TEXT_MAX);
	buf_add(&s->text, in->stdin_bytes, in->stdin_bytes ? in->stdin_len : 0);
	s->written = s->text.len;
	stream_forget(s, stream_kept_max(s));
	s->terminal = terminal;
	buf_init(&s->keys, TEXT_MAX);
	for (enum typed_reading r = 0; r < TYPED_READINGS; r++)
		typed_init(&s->lines[r], r);
	return s;
}

/* An open line that is not known counts as empty: what follows on it is judged. */
void stream_begin_typed(struct stream *s, const char *keys, size_t len)
{
	struct typed_text text;

	for (enum typed_reading r = 0; r < TYPED_READINGS; r++) {
		const struct typed nothing = { .reading = r };

		typed_read(&nothing, keys, len, &text);
		text.rest.edited = false;
		typed_move(&s->lines[r], &text.rest);
		if (r == s->reading)
			s->doubted = text.edited && stream_is_open(s);
		typed_text_release(&text);
	}
}

size_t stream_held(const struct blocklist_input *in)
{
	struct blocklist_input empty = *in;
	struct stream_lines lines;
	struct stream *s;
	size_t held;

	empty.stdin_bytes = NULL;
	empty.stdin_len = 0;
	s = stream_new(&empty, false);
	buf_add(&s->text, in->stdin_bytes, in->stdin_len);
	stream_read_lines(s, &lines);
	held = in->stdin_len - stream_judged_end(&lines.at, s->written, s->text.len, false);
	stream_lines_release(&lines);
	stream_free(s);
	return held;
}

static void stream_copy_buf(struct buf *to, const struct buf *from)
{
	buf_init(to, TEXT_MAX);
	if (from->len)
		buf_add(to, from->data, from->len);
}

struct stream *stream_copy(const struct stream *s)
{
	struct stream *copy = mem_zalloc(sizeof(*copy));

	*copy = *s;
	stream_copy_input(copy, &s->in);
	stream_copy_buf(&copy->text, &s->text);
	stream_copy_buf(&copy->keys, &s->keys);
	for (size_t i = 0; i < TYPED_READINGS; i++)
		typed_copy(&copy->lines[i], &s->lines[i]);
	return copy;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	free(s->command);
	free(s->directory);
	stream_free_list(s->args);
	stream_free_list(s->environment);
	buf_release(&s->text);
	buf_release(&s->keys);
	for (size_t i = 0; i < TYPED_READINGS; i++)
		typed_release(&s->lines[i]);
	free(s);
}

/* Put what is in doubt behind the last command of @text that is complete. */
static void stream_insert_doubt(struct stream_doubt *d, struct buf *text, size_t *from)
{
	bool open;
	size_t at = stream_complete_end(text->data, text->len, &open);

	buf_add(&d->text, text->data + at, text->len - at);
	buf_truncate(text, at);
	buf_add(text, d->text.data, d->text.len);
	*from = *from < at ? *from : at;
}

static void stream_preview_typed(const struct stream *s, const void *bytes, size_t len,
				 struct buf *text, size_t *from)
{
	struct stream *copy = stream_copy(s);
	struct stream_pending p;
	struct stream_doubt d;
	size_t waited = 0;

	buf_add(&copy->keys, bytes, len);
	stream_drop_open(copy, &waited);
	stream_read_pending(copy, &p);
	stream_find_doubt(copy, &p, false, &d);
	buf_add(text, p.text.data, p.text.len);
	*from = p.from;
	if (d.text.len)
		stream_insert_doubt(&d, text, from);
	buf_release(&d.text);
	stream_pending_release(&p);
	stream_free(copy);
}

void stream_preview(const struct stream *s, const void *bytes, size_t len, struct buf *text,
		    struct blocklist_input *in, size_t *from)
{
	if (s->terminal) {
		stream_preview_typed(s, bytes, len, text, from);
	} else {
		buf_add(text, s->text.data, s->text.len);
		buf_add(text, bytes, len);
		*from = s->written;
	}
	*from = stream_line_start(text, *from);
	*in = s->in;
	in->stdin_bytes = text->len ? text->data : "";
	in->stdin_len = text->len;
}

size_t stream_begun(const struct stream *s, const char **text)
{
	const struct typed *line = stream_open_line(s);
	size_t from;

	if (s->reader == BLOCKLIST_READS_DATA || line->edited)
		return 0;
	if (s->terminal) {
		*text = line->line.data;
		return line->line.len;
	}
	from = stream_line_start(&s->text, s->written);
	*text = s->text.data ? s->text.data + from : "";
	return s->written - from;
}

bool stream_in_paste(const struct stream *s)
{
	return s->reader != BLOCKLIST_READS_DATA && stream_open_line(s)->paste;
}

size_t stream_waiting(const struct stream *s)
{
	return s->terminal ? s->keys.len : s->text.len - s->written;
}

void stream_judge(struct stream *s, const void *bytes, size_t len, bool end,
		  struct stream_part *part)
{
	size_t waited = stream_waiting(s);

	s->parts++;
	(s->terminal ? stream_judge_keys : stream_judge_part)(s, bytes, len, end, part);
	if (part->verdict.blocked)
		part->dropped = waited - part->earlier;
}

/* ---- steps ---- */

static bool stream_ends_line(const struct stream *s, char c)
{
	return c == '\n' || (s->terminal && c == '\r');
}

static size_t stream_step_size(const struct stream *s)
{
	return s->terminal ? STREAM_STEP / 4 : STREAM_STEP;
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
	stream_join(part, &next, steps->waited);
	stream_part_release(&next);
	return steps->at < len && !part->verdict.blocked;
}

bool stream_needs_steps(const struct stream *s, size_t len)
{
	return len >= 2 * stream_step_size(s) && s->reader != BLOCKLIST_READS_DATA;
}

uint64_t stream_parts(const struct stream *s)
{
	return s->parts;
}

void stream_become(struct stream *s, struct stream *copy)
{
	struct stream was = *s;

	*s = *copy;
	*copy = was;
	stream_free(copy);
}

void stream_part_release(struct stream_part *part)
{
	free(part->bytes);
	free(part->shown);
}
