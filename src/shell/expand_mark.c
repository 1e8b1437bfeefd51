/*
 * A text that is itself the result of expansion may have unknown characters in it
 * (sh -c "rm $x"). In the text that is read they are marks: \001 name \001, or
 * \001 \021 name \001 of what is not empty, with the characters of the name that a
 * shell would take for its own replaced. A mark
 * is an ordinary character to the lexer, in quotes too, and an unknown one again
 * in the words.
 */
#include <string.h>

#include "shell/expand.h"

static const char special[] = "$()<{}. ";
static const char replaced[] = "\002\003\004\005\006\016\017\020";
static const char set_mark = '\021';

bool expand_is_partial(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++)
		if (w->kind[i] >= SHELL_UNKNOWN)
			return true;
	return false;
}

static char *put_name(char *s, const char *name)
{
	for (; *name; name++) {
		const char *at = strchr(special, *name);

		*s++ = at ? replaced[at - special] : *name;
	}
	return s;
}

static size_t marked_length(const struct shell_word *w)
{
	size_t len = w->text.len + 1;

	for (uint32_t i = 0; i < w->unknown_count; i++)
		len += strlen(w->unknowns[i].name) + 3;
	return len + 2 * w->text.len;
}

struct shell_text expand_marked_text(struct shell_arena *arena, const struct shell_word *w)
{
	size_t room = marked_length(w), len = 0;
	char *s = shell_alloc_raw(arena, room);
	uint32_t *at = shell_alloc_raw(arena, room * sizeof(*at));

	for (size_t i = 0; i < w->text.len; i++) {
		uint8_t kind = w->kind[i];
		size_t from = len;

		if (kind == SHELL_UNKNOWN || kind == SHELL_UNKNOWN_FIELDS || kind == SHELL_TILDE) {
			const struct shell_unknown *u = expand_unknown_at(w, i);

			s[len++] = '\001';
			if (u && u->is_set)
				s[len++] = set_mark;
			if (kind == SHELL_TILDE)
				s[len++] = '~';
			else if (u)
				len = (size_t)(put_name(s + len, u->name) - s);
			s[len++] = '\001';
		} else {
			s[len++] = w->text.s[i] == '\001' ? '\002' : w->text.s[i];
		}
		for (; from < len; from++)
			at[from] = w->text.at ? w->text.at[i] : (uint32_t)i;
	}
	s[len] = '\0';
	return (struct shell_text){ s, at, len };
}

const struct shell_unknown *expand_unknown_at(const struct shell_word *w, size_t index)
{
	uint32_t low = 0, high = w->unknown_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->unknowns[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->unknown_count && w->unknowns[low].index == index ? &w->unknowns[low] : NULL;
}

/* The mark at @i of @t becomes a cell; the index of its last byte. */
uint32_t expand_mark(struct expander *e, const struct ast_text *t, uint32_t i, bool quoted,
		     struct cells *out)
{
	const char *end = memchr(t->s + i + 1, '\001', t->len - i - 1);
	uint32_t at = t->at ? t->at[i] : t->pos + i;
	uint32_t last = end ? (uint32_t)(end - t->s) : t->len - 1;
	bool is_set = i < last && t->s[i + 1] == set_mark;
	struct cell c;
	char name[64];
	size_t len = 0;

	for (uint32_t k = i + 1 + is_set; k < last && len + 1 < sizeof(name); k++) {
		const char *r = strchr(replaced, t->s[k]);

		name[len++] = r && *r ? special[r - replaced] : t->s[k];
	}
	name[len] = '\0';
	c = (struct cell){ at, len > 0 ? expand_name(e, name) : 0,
			   quoted ? CELL_UNKNOWN : CELL_UNKNOWN_FIELDS,
			   is_set ? UNKNOWN_SET : UNKNOWN_ANY };
	if (strcmp(name, "~") == 0)
		c = (struct cell){ at, expand_name(e, "HOME"), CELL_TILDE, '~' };
	cells_copy(e, out, &c, 1);
	return last;
}
