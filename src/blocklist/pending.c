#include "blocklist/pending.h"

#include <stdint.h>

#include "shell/parse.h"

void pending_read(struct pending *p, const struct transcript *t, const struct typed *line,
		  const struct buf *keys)
{
	size_t erased;

	*p = (struct pending){ .keys = keys->data, .len = keys->len, .paste = line->paste };
	typed_read(line, keys->data, keys->len, &p->typed);
	erased = line->line.len - p->typed.kept;
	p->from = t->written > erased ? t->written - erased : 0;
	buf_init(&p->text, SIZE_MAX);
	buf_add(&p->text, t->text.data, p->from);
	buf_add(&p->text, p->typed.text.data, p->typed.text.len);
}

void pending_release(struct pending *p)
{
	typed_text_release(&p->typed);
	buf_release(&p->text);
}

size_t pending_keys_to(const struct pending *p, size_t to, bool *paste)
{
	size_t keys = 0;

	*paste = p->paste;
	for (size_t i = 0; i < p->typed.end_count && p->from + p->typed.ends[i].text <= to; i++) {
		keys = p->typed.ends[i].keys;
		*paste = p->typed.ends[i].paste;
	}
	return keys;
}

/* The keys [@from, @to) are left. */
static void pending_keep(const struct pending *p, size_t had, size_t from, size_t to,
			 struct pending_left *left)
{
	buf_add(&left->keys, p->keys + from, to - from);
	if (from < had)
		left->earlier += (to < had ? to : had) - from;
}

/* Of the dropped keys [@from, @to) the mark stays that ends a paste which began before them: the
 * shell is in it. */
static void pending_keep_paste_end(const struct pending *p, size_t had, size_t from, size_t to,
				   struct pending_left *left)
{
	size_t mark = from + typed_find_paste_end(p->keys + from, to - from);

	if (mark < to)
		pending_keep(p, had, mark, mark + TYPED_MARK_LEN, left);
}

/* Is a command open where @end is? It begins at *@begin. No command is open at *@start, which goes
 * on to @end. */
static bool pending_is_open(const struct pending *p, const struct typed_end *end, size_t *start,
			    size_t *begin)
{
	size_t to = p->from + end->text;
	bool open;

	*begin = *start + shell_complete_end(p->text.data + *start, to - *start, &open);
	*start = to;
	return open;
}

void pending_drop(const struct pending *p, size_t had, struct pending_left *left)
{
	size_t start = 0, done = 0, command, from;
	bool paste;

	*left = (struct pending_left){ .refused = SIZE_MAX, .dropped = SIZE_MAX };
	buf_init(&left->keys, SIZE_MAX);
	for (size_t i = 0; i < p->typed.end_count && left->refused == SIZE_MAX; i++) {
		const struct typed_end *end = &p->typed.ends[i];
		size_t key = end->keys - 1;

		if (end->by == TYPED_LINE || !pending_is_open(p, end, &start, &command))
			continue;
		from = pending_keys_to(p, command, &paste);
		if (end->by == TYPED_FILE)
			from = key;
		pending_keep(p, had, done, from, left);
		done = key;
		if (end->by == TYPED_FILE)
			left->refused = left->keys.len;
		else if (paste)
			pending_keep_paste_end(p, had, from, key, left);
		if (end->by == TYPED_INTERRUPT && command < p->from)
			left->dropped = command;
	}
	pending_keep(p, had, done, p->len, left);
}
