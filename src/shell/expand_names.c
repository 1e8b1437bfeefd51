/*
 * File names that programs write: find DIR, ls -d PATTERN, du -a DIR, tree -f DIR,
 * locate. All that is below a place is "PLACE" and "PLACE/" with a star that acts as
 * one would in an unquoted word. Nothing is looked up: only what the words say.
 */
#include <string.h>

#include "shell/expand.h"

static bool is(const struct shell_word *w, const char *text)
{
	return strcmp(w->text.s, text) == 0;
}

/* A path from the root or a home, all of it known, globs included. */
static bool is_place(const struct shell_word *w)
{
	if (!w->text.len || (w->text.s[0] != '/' && w->kind[0] != SHELL_TILDE))
		return false;
	for (size_t i = 0; i < w->text.len; i++)
		if (w->kind[i] == SHELL_UNKNOWN || w->kind[i] == SHELL_UNKNOWN_FIELDS)
			return false;
	return true;
}

static void write_place(struct expander *e, const struct shell_word *place, const char *before)
{
	const struct value *v = word_value(e, place);

	cells_text(e, e->capture, before, CELL_QUOTED, place->start);
	for (uint32_t i = 0; i < v->len; i++) {
		struct cell c = v->v[i];

		if (i < place->text.len && place->kind[i] == SHELL_GLOB)
			c.kind = CELL_GLOB;
		cells_copy(e, e->capture, &c, 1);
	}
}

/* PLACE and what is below it, a line each. */
static void write_below(struct expander *e, const struct shell_word *place, const char *before)
{
	size_t len = place->text.len;

	write_place(e, place, before);
	cells_add(e, e->capture, '\n', CELL_QUOTED, place->end, 0);
	write_place(e, place, before);
	if (place->text.s[len - 1] != '/')
		cells_add(e, e->capture, '/', CELL_QUOTED, place->end, 0);
	cells_add(e, e->capture, '*', CELL_GLOB, place->end, 0);
	cells_add(e, e->capture, '\n', CELL_QUOTED, place->end, 0);
}

/* find DIR ... without a test that would leave out most of it. */
static bool find_names(struct expander *e, const struct shell_word *words, size_t count)
{
	size_t first = 1, i;

	while (first < count && (is(&words[first], "-L") || is(&words[first], "-H") ||
				 is(&words[first], "-P")))
		first++;
	for (i = first; i < count && words[i].text.s[0] != '-'; i++)
		if (!is_place(&words[i]))
			return false;
	if (i == first)
		return false;
	for (size_t k = i; k < count; k++) {
		if (is(&words[k], "-type") || is(&words[k], "-maxdepth") ||
		    is(&words[k], "-mindepth"))
			k++;
		else if (!is(&words[k], "-print") &&
			 !is(&words[k], "-xdev") && !is(&words[k], "-mount") &&
			 !is(&words[k], "-depth"))
			return false;
	}
	for (size_t k = first; k < i; k++)
		write_below(e, &words[k], "");
	return true;
}

/* The words that are no options: each is a place. */
static bool each_place(struct expander *e, const struct shell_word *words, size_t count,
		       const char *before, bool below)
{
	size_t n = 0;

	for (size_t i = 1; i < count; i++)
		if (words[i].text.s[0] != '-' && !is_place(&words[i]))
			return false;
	for (size_t i = 1; i < count; i++) {
		if (words[i].text.s[0] == '-')
			continue;
		n++;
		if (below) {
			write_below(e, &words[i], before);
		} else {
			write_place(e, &words[i], before);
			cells_add(e, e->capture, '\n', CELL_QUOTED, words[i].end, 0);
		}
	}
	return n > 0;
}

static bool has_letter(const struct shell_word *words, size_t count, char letter)
{
	for (size_t i = 1; i < count; i++)
		if (words[i].text.s[0] == '-' && words[i].text.s[1] != '-' &&
		    strchr(words[i].text.s, letter))
			return true;
	return false;
}

/* ls PATTERN prints what fits, as ls -d does, where it is files. */
static bool all_globs(const struct shell_word *words, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (words[i].text.s[0] != '-' &&
		    !memchr(words[i].kind, SHELL_GLOB, words[i].text.len))
			return false;
	return true;
}

/* locate '*', locate /: all there is. */
static bool locate_names(struct expander *e, const struct shell_word *words, size_t count)
{
	static const uint8_t kind[] = { SHELL_LITERAL };
	static const struct shell_word root = { .text = { .s = "/", .len = 1 }, .kind = kind };

	if (count < 2 || !(is(&words[count - 1], "*") || is(&words[count - 1], "/")))
		return false;
	write_below(e, &root, "");
	return true;
}

bool expand_names(struct expander *e, const struct shell_word *words, size_t count)
{
	const char *slash = strrchr(words[0].text.s, '/');
	const char *name = slash ? slash + 1 : words[0].text.s;

	if (strcmp(name, "find") == 0)
		return find_names(e, words, count);
	if (strcmp(name, "ls") == 0)
		return (has_letter(words, count, 'd') || all_globs(words, count)) &&
		       each_place(e, words, count, "", false);
	if (strcmp(name, "du") == 0)
		return has_letter(words, count, 'a') &&
		       each_place(e, words, count, "4\t", true);
	if (strcmp(name, "tree") == 0)
		return has_letter(words, count, 'f') && each_place(e, words, count, "", true);
	return locate_names(e, words, count);
}
