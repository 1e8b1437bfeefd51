#include "blocklist/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blocklist/doubt.h"
#include "blocklist/pending.h"

/* ---- one reading ---- */

/* Bring the open line behind the first @passed bytes of @text. Returns how many of the keys that
 * wait made them. */
static size_t terminal_pass(struct terminal *t, struct typed_text *text, size_t passed,
			    bool blocked)
{
	struct typed *line = &t->lines[t->reading], fresh;
	size_t keys = 0, back = line->line.len - text->kept;

	if (!blocked && passed == text->text.len) {
		typed_move(line, &text->rest);
		return t->keys.len;
	}
	typed_init(&fresh, t->reading);
	for (size_t i = 0; i < text->end_count && text->ends[i].text <= passed; i++) {
		keys = text->ends[i].keys;
		fresh.paste = text->ends[i].paste;
		fresh.edited = text->ends[i].edited;
	}
	if (keys) {
		typed_move(line, &fresh);
	} else { /* the keys that erase were not taken either */
		buf_add(&t->transcript.text, line->line.data + text->kept, back);
		t->transcript.written += back;
	}
	return keys;
}

/* Take the last @bytes of the open line out of the text. */
static void terminal_erase(struct terminal *t, size_t bytes)
{
	t->transcript.written -= bytes < t->transcript.written ? bytes : t->transcript.written;
	buf_truncate(&t->transcript.text, t->transcript.written);
}

/* Judge the text that the keys that wait come to. They are read again each time, because they can
 * still be erased. @escape: an ESC that they end in is a key, and begins no mark. */
static void terminal_judge_text(struct terminal *t, bool escape, bool end, struct stream_part *part)
{
	struct typed_text text;
	size_t taken;

	typed_read(terminal_open_line(t), t->keys.data, t->keys.len, &text);
	if (escape)
		typed_give_up_mark(&text);
	terminal_erase(t, terminal_open_line(t)->line.len - text.kept);
	transcript_judge(&t->transcript, text.text.data, text.text.len, end, part);
	buf_truncate(&t->transcript.text, t->transcript.written);
	taken = terminal_pass(t, &text, part->len, part->verdict.blocked);
	free(part->bytes);
	part->bytes = mem_strndup(t->keys.len ? t->keys.data : "", taken);
	part->len = taken;
	part->edited = text.edited && t->transcript.reader != BLOCKLIST_READS_DATA;
	buf_consume(&t->keys, part->verdict.blocked ? t->keys.len : taken);
	part->waiting = t->keys.len;
	typed_text_release(&text);
}

/* @t is as @before again, which it takes, and no key has passed. */
static void terminal_undo(struct terminal *t, const struct terminal *before,
			  struct stream_part *part)
{
	terminal_release(t);
	*t = *before;
	stream_part_release(part);
}

/* An ESC at the end may begin a mark. More often it is a key, such as the one that ends an
 * insertion in vi: so it is where what stands before it on the line is no shell text. */
static void terminal_judge_keys(struct terminal *t, bool end, struct stream_part *part)
{
	bool escape = t->keys.len && t->keys.data[t->keys.len - 1] == '\x1b';
	struct terminal before = { .doubted = false };

	if (escape)
		terminal_copy(&before, t);
	terminal_judge_text(t, false, end, part);
	if (escape && (part->verdict.unparsable || part->waiting)) {
		terminal_undo(t, &before, part);
		terminal_judge_text(t, true, end, part);
	} else {
		terminal_release(&before);
	}
}

/* Block what follows the keys that @part has passed, for what @by is blocked. */
static void terminal_block(struct terminal *t, const struct stream_part *by,
			   struct stream_part *part)
{
	buf_truncate(&t->keys, 0);
	part->waiting = 0;
	part->verdict = by->verdict;
	free(part->shown);
	part->shown = by->shown ? mem_strdup(by->shown) : NULL;
}

/* @part has passed of the keys behind @before, and some of them are in doubt: @d. If those are
 * blocked, only the keys before them pass. */
static void terminal_check_doubt(struct terminal *t, struct terminal *before,
				 const struct doubt *d, struct stream_part *part)
{
	struct stream_part doubt;

	if (doubt_is_blocked(&t->transcript, d, &doubt) && part->len > d->keys) {
		terminal_undo(t, before, part);
		buf_truncate(&t->keys, d->keys);
		terminal_judge_keys(t, false, part);
		terminal_block(t, &doubt, part);
	} else {
		terminal_release(before);
	}
	stream_part_release(&doubt);
}

/* Judge the keys that wait in the reading of the text, lines in doubt too. */
static void terminal_judge_reading(struct terminal *t, bool end, struct stream_part *part)
{
	struct terminal before;
	struct pending p;
	struct doubt d;

	pending_read(&p, &t->transcript, terminal_open_line(t), &t->keys);
	doubt_find(&t->transcript, &p, t->doubted, end, &d);
	pending_release(&p);
	if (d.text.len)
		terminal_copy(&before, t);
	terminal_judge_keys(t, end, part);
	if (d.text.len)
		terminal_check_doubt(t, &before, &d, part);
	if (part->len)
		t->doubted = d.unknown && transcript_is_open(&t->transcript);
	buf_release(&d.text);
}

/* Judge only the first @keep of the keys, because what follows is blocked, as @by says. */
static void terminal_refuse(struct terminal *t, size_t keep, const struct stream_part *by,
			    struct stream_part *part)
{
	buf_truncate(&t->keys, keep);
	terminal_judge_reading(t, false, part);
	terminal_block(t, by, part);
}

/* ---- every reading ---- */

/* Only then are the keys that wait read in each. */
static bool terminal_readings_may_differ(const struct terminal *t)
{
	const struct typed *line = terminal_open_line(t);
	bool differ = typed_may_have_marks(t->keys.data, t->keys.len) || line->mark_len;

	for (size_t i = 0; i < TYPED_READINGS; i++)
		differ |= t->lines[i].line.len != line->line.len;
	return t->transcript.reader != BLOCKLIST_READS_DATA && differ;
}

/* Does @reading make the same as that of the text of the keys that @part has passed? */
static bool terminal_reads_alike(const struct terminal *before, enum typed_reading reading,
				 const struct stream_part *part)
{
	const struct typed *line = terminal_open_line(before);
	const struct typed *other_line = &before->lines[reading];
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
static bool terminal_blocks_other(const struct terminal *t, enum typed_reading reading,
				  const struct stream_part *part, bool end,
				  struct stream_part *other)
{
	struct terminal copy;
	const struct buf *line = &copy.lines[reading].line;

	terminal_copy(&copy, t);
	terminal_erase(&copy, terminal_open_line(&copy)->line.len);
	if (line->len)
		buf_add(&copy.transcript.text, line->data, line->len);
	copy.transcript.written = copy.transcript.text.len;
	copy.reading = reading;
	buf_truncate(&copy.keys, 0);
	buf_add(&copy.keys, part->bytes, part->len);
	terminal_judge_reading(&copy, end, other);
	terminal_release(&copy);
	return other->verdict.blocked && !other->verdict.unparsable;
}

/* What the first reading passes is judged in the others, and blocked where one of them is. */
static void terminal_judge_readings(struct terminal *t, bool end, struct stream_part *part)
{
	struct terminal before, again;
	struct stream_part other;

	terminal_copy(&before, t);
	terminal_judge_reading(t, end, part);
	for (enum typed_reading r = 0; r < TYPED_READINGS; r++) {
		if (r == t->reading || terminal_reads_alike(&before, r, part))
			continue;
		if (terminal_blocks_other(t, r, part, end, &other)) {
			terminal_copy(&again, &before);
			terminal_undo(t, &again, part);
			terminal_refuse(t, other.len, &other, part);
		}
		stream_part_release(&other);
	}
	terminal_release(&before);
}

/* ---- keys that drop others ---- */

/* Drop what ^C, ^Z and ^\ drop. *@earlier: of the keys, those that had waited before this part.
 * Returns how many keys precede the first ^D inside a command; SIZE_MAX: there is none. */
static size_t terminal_drop(struct terminal *t, size_t *earlier)
{
	struct pending_left left;
	struct pending p;

	if (t->transcript.reader != BLOCKLIST_READS_SHELL ||
	    !typed_may_end(t->keys.data, t->keys.len))
		return SIZE_MAX;
	pending_read(&p, &t->transcript, terminal_open_line(t), &t->keys);
	pending_drop(&p, *earlier, &left);
	pending_release(&p);
	buf_release(&t->keys);
	t->keys = left.keys;
	*earlier = left.earlier;
	if (left.dropped != SIZE_MAX) {
		buf_truncate(&t->transcript.text, left.dropped);
		t->transcript.written = left.dropped;
		buf_truncate(&t->lines[t->reading].line, 0);
	}
	return left.refused;
}

/* Bring the open lines of the other readings behind the keys that @part has passed. */
static void terminal_follow(struct terminal *t, const struct stream_part *part)
{
	struct typed_text text;

	for (enum typed_reading r = 0; r < TYPED_READINGS; r++) {
		if (r == t->reading)
			continue;
		typed_read(&t->lines[r], part->bytes, part->len, &text);
		typed_move(&t->lines[r], &text.rest);
		typed_text_release(&text);
	}
}

/* ---- public ---- */

void terminal_init(struct terminal *t, const struct blocklist_input *in)
{
	*t = (struct terminal){ .doubted = false };
	transcript_init(&t->transcript, in);
	buf_init(&t->keys, SIZE_MAX);
	for (enum typed_reading r = 0; r < TYPED_READINGS; r++)
		typed_init(&t->lines[r], r);
}

void terminal_copy(struct terminal *to, const struct terminal *t)
{
	*to = *t;
	transcript_copy(&to->transcript, &t->transcript);
	buf_copy(&to->keys, &t->keys);
	for (size_t i = 0; i < TYPED_READINGS; i++)
		typed_copy(&to->lines[i], &t->lines[i]);
}

void terminal_release(struct terminal *t)
{
	transcript_release(&t->transcript);
	buf_release(&t->keys);
	for (size_t i = 0; i < TYPED_READINGS; i++)
		typed_release(&t->lines[i]);
}

const struct typed *terminal_open_line(const struct terminal *t)
{
	return &t->lines[t->reading];
}

/* An open line that is not known counts as empty: what follows on it is judged. */
void terminal_begin(struct terminal *t, const char *keys, size_t len)
{
	struct typed_text text;
	struct typed nothing;

	for (enum typed_reading r = 0; r < TYPED_READINGS; r++) {
		typed_init(&nothing, r);
		typed_read(&nothing, keys, len, &text);
		text.rest.edited = false;
		typed_move(&t->lines[r], &text.rest);
		if (r == t->reading)
			t->doubted = text.edited && transcript_is_open(&t->transcript);
		typed_text_release(&text);
	}
}

void terminal_judge(struct terminal *t, const void *keys, size_t len, bool end,
		    struct stream_part *part)
{
	const struct stream_part open = { .verdict = stream_part_open_command };
	size_t had = t->keys.len, earlier = had, dropped, keep;

	buf_add(&t->keys, keys, len);
	keep = terminal_drop(t, &earlier);
	dropped = had + len - t->keys.len;
	if (keep != SIZE_MAX)
		terminal_refuse(t, keep, &open, part);
	else if (terminal_readings_may_differ(t))
		terminal_judge_readings(t, end, part);
	else
		terminal_judge_reading(t, end, part);
	terminal_follow(t, part);
	part->earlier = part->len < earlier ? part->len : earlier;
	part->dropped = dropped;
	part->skipped = dropped - (had - earlier);
}

void terminal_preview(const struct terminal *t, const void *keys, size_t len, struct buf *text,
		      size_t *from)
{
	struct terminal copy;
	struct pending p;
	struct doubt d;
	size_t earlier = 0;

	terminal_copy(&copy, t);
	buf_add(&copy.keys, keys, len);
	terminal_drop(&copy, &earlier);
	pending_read(&p, &copy.transcript, terminal_open_line(&copy), &copy.keys);
	doubt_find(&copy.transcript, &p, copy.doubted, false, &d);
	buf_add(text, p.text.data, p.text.len);
	*from = p.from;
	doubt_insert(&d, text, from);
	buf_release(&d.text);
	pending_release(&p);
	terminal_release(&copy);
}
