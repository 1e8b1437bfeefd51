#include "blocklist/typed.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CTRL(letter) ((letter) & 0x1f)
#define DEL 0x7f
#define ESC 0x1b
#define PASTE_BEGINS "\x1b[200~"
#define PASTE_ENDS "\x1b[201~"

void typed_init(struct typed *t, enum typed_reading reading)
{
	*t = (struct typed){ .reading = reading };
	buf_init(&t->line, SIZE_MAX);
}

void typed_release(struct typed *t)
{
	buf_release(&t->line);
}

void typed_copy(struct typed *to, const struct typed *t)
{
	*to = *t;
	buf_copy(&to->line, &t->line);
}

void typed_move(struct typed *to, struct typed *t)
{
	typed_release(to);
	*to = *t;
	typed_init(t, t->reading);
}

static void typed_cut(struct typed_text *out, size_t len)
{
	buf_truncate(&out->rest.line, len);
	if (!out->end_count && out->kept > len)
		out->kept = len;
}

/* One character, which may have several bytes. */
static void typed_erase(struct typed_text *out)
{
	const struct buf *line = &out->rest.line;
	size_t len = line->len;

	while (len && (line->data[len - 1] & 0xc0) == 0x80)
		len--;
	typed_cut(out, len ? len - 1 : 0);
}

static void typed_edit(struct typed_text *out)
{
	typed_cut(out, 0);
	out->rest.edited = out->edited = true;
}

/* Add what the open line has behind the bytes that were there before. */
static void typed_flush(struct typed_text *out)
{
	size_t from = out->end_count ? 0 : out->kept;

	if (out->rest.line.len > from)
		buf_add(&out->text, out->rest.line.data + from, out->rest.line.len - from);
}

static struct typed_end *typed_add_end(struct typed_text *out, size_t keys, int by)
{
	out->ends = mem_realloc(out->ends, (out->end_count + 1) * sizeof(*out->ends));
	out->ends[out->end_count] = (struct typed_end){
		.text = out->text.len, .keys = keys, .paste = out->rest.paste,
		.edited = out->rest.edited, .by = by };
	return &out->ends[out->end_count++];
}

static void typed_end_line(struct typed_text *out, size_t keys)
{
	bool unknown = out->rest.edited;

	typed_flush(out);
	if (!unknown)
		buf_add(&out->text, "\n", 1);
	buf_truncate(&out->rest.line, 0);
	out->rest.edited = false;
	typed_add_end(out, keys, TYPED_LINE)->unknown = unknown;
}

/* In a paste ^Z and ^\ are text or editing keys, and nobody knows what ^C drops. */
static void typed_add_signal(struct typed_text *out, size_t keys, char key)
{
	if (!out->rest.paste)
		typed_add_end(out, keys, key == CTRL('C') ? TYPED_INTERRUPT : TYPED_STOP);
	else if (key == CTRL('C'))
		typed_add_end(out, keys, TYPED_LINE)->unknown = true;
}

/* What @reading makes of a mark in a paste or outside. */
static const char *typed_mark_text(enum typed_reading reading, bool begins, bool in_paste)
{
	bool stray = begins == in_paste;

	if (reading == TYPED_WITHOUT_MARKS || (reading == TYPED_WITH_STRAY_MARKS && !stray))
		return "";
	if (begins)
		return PASTE_BEGINS;
	/* bash and zsh make this of it, and the mark as text is part of a word too */
	return stray ? "~" : PASTE_ENDS;
}

/* Take the mark of a paste at the start of @keys, or its start if they end there. Returns its
 * length, 0: there is none. */
static size_t typed_take_mark(struct typed_text *out, const char *keys, size_t len)
{
	size_t n = len < TYPED_MARK_LEN ? len : TYPED_MARK_LEN;
	bool begins = !memcmp(keys, PASTE_BEGINS, n);

	if (!begins && memcmp(keys, PASTE_ENDS, n) != 0)
		return 0;
	if (n < TYPED_MARK_LEN) {
		memcpy(out->rest.mark, keys, n);
		out->rest.mark_len = n;
		return n;
	}
	if (!out->rest.edited)
		buf_adds(&out->rest.line,
			 typed_mark_text(out->rest.reading, begins, out->rest.paste));
	out->rest.paste = begins;
	return n;
}

/* Returns how many of @keys belong to the mark whose start came last. If it is none, those were
 * other editing keys. */
static size_t typed_complete_mark(struct typed_text *out, const struct typed *t, const char *keys,
				  size_t len)
{
	char mark[TYPED_MARK_LEN];
	size_t more = TYPED_MARK_LEN - t->mark_len, taken;

	if (!t->mark_len)
		return 0;
	more = len < more ? len : more;
	memcpy(mark, t->mark, t->mark_len);
	if (more)
		memcpy(mark + t->mark_len, keys, more);
	taken = typed_take_mark(out, mark, t->mark_len + more);
	if (!taken)
		typed_edit(out);
	return taken ? more : 0;
}

/* At these the terminal sends a signal, and drops what nobody has read (termios(3)). */
static bool typed_is_signal(char key)
{
	return key == CTRL('C') || key == CTRL('Z') || key == CTRL('\\');
}

/* Does @key end the file, rather than edit a line? */
static bool typed_is_end(const struct typed *t, char key)
{
	return key == CTRL('D') && !t->paste && !t->line.len && !t->edited;
}

static bool typed_is_control(char key)
{
	return (unsigned char)key < ' ' || key == DEL;
}

/* A key that is not text. */
static void typed_key(struct typed_text *out, char key)
{
	if (out->rest.paste) {
		if (key != '\t')
			typed_edit(out);
		else if (!out->rest.edited)
			buf_add(&out->rest.line, &key, 1);
		if (key == CTRL('C')) /* it can be the signal, at which bash drops the paste */
			out->rest.edited = false;
		return;
	}
	switch ((unsigned char)key) {
	case DEL:
	case CTRL('H'):
		typed_erase(out);
		break;
	case CTRL('U'):
		typed_cut(out, 0);
		break;
	case CTRL('C'): /* a new line begins, whatever was in this one */
		typed_cut(out, 0);
		out->rest.edited = false;
		break;
	case CTRL('D'): /* deletes in a line */
	case CTRL('Z'): /* the terminal drops a line that it edits; programs keep theirs */
	case CTRL('\\'):
		if (out->rest.line.len || out->rest.edited)
			typed_edit(out);
		break;
	default:
		typed_edit(out);
	}
}

bool typed_may_end(const char *keys, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (typed_is_signal(keys[i]) || keys[i] == CTRL('D'))
			return true;
	return false;
}

bool typed_may_have_marks(const char *keys, size_t len)
{
	return len && memchr(keys, ESC, len);
}

size_t typed_find_paste_end(const char *keys, size_t len)
{
	for (size_t at = len; at-- > 0;)
		if (len - at >= TYPED_MARK_LEN && !memcmp(keys + at, PASTE_ENDS, TYPED_MARK_LEN))
			return at;
	return len;
}

/* Take the text at the start of @keys, up to the next key that is none. Returns its length. */
static size_t typed_take_text(struct typed_text *out, const char *keys, size_t len)
{
	size_t n = 0;

	while (n < len && !typed_is_control(keys[n]))
		n++;
	if (n && !out->rest.edited)
		buf_add(&out->rest.line, keys, n);
	return n;
}

/* Take one key. @end: behind how many keys it ends. */
static void typed_take_key(struct typed_text *out, size_t end, char key)
{
	if (key == '\r' || key == '\n')
		typed_end_line(out, end);
	else if (typed_is_end(&out->rest, key))
		typed_add_end(out, end, TYPED_FILE);
	else
		typed_key(out, key);
	if (typed_is_signal(key))
		typed_add_signal(out, end, key);
}

void typed_read(const struct typed *t, const char *keys, size_t len, struct typed_text *out)
{
	*out = (struct typed_text){ .kept = t->line.len, .edited = t->edited };
	buf_init(&out->text, SIZE_MAX);
	typed_copy(&out->rest, t);
	out->rest.mark_len = 0;
	for (size_t i = typed_complete_mark(out, t, keys, len), taken; i < len; i += taken) {
		taken = typed_take_text(out, keys + i, len - i);
		if (!taken)
			taken = typed_take_mark(out, keys + i, len - i);
		if (!taken) {
			taken = 1;
			typed_take_key(out, i + 1, keys[i]);
		}
	}
	typed_flush(out);
}

void typed_give_up_mark(struct typed_text *out)
{
	size_t from = out->end_count ? 0 : out->kept;

	if (out->rest.line.len > from)
		buf_truncate(&out->text, out->text.len - (out->rest.line.len - from));
	typed_edit(out);
}

void typed_text_release(struct typed_text *text)
{
	buf_release(&text->text);
	typed_release(&text->rest);
	free(text->ends);
}
