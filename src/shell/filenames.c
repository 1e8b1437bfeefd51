/*
 * The names of files that find, ls and the like print. All files below a place are "PLACE" and
 * "PLACE/" with a star, CHAR_GLOB; all in the current directory a star.
 */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

/* Is it a known path from the root or a home, with or without globs? */
static bool filenames_is_place(const struct shell_word *w)
{
	if (!w->text.len || (w->text.s[0] != '/' && w->kind[0] != SHELL_TILDE))
		return false;
	for (size_t i = 0; i < w->text.len; i++)
		if (w->kind[i] == SHELL_UNKNOWN || w->kind[i] == SHELL_UNKNOWN_FIELDS)
			return false;
	return true;
}

/* Does it name all that is in the current directory, or the directory itself? */
static bool filenames_is_here(const struct shell_word *w)
{
	static const char *const here[] = { ".", "./", "*", "./*", ".*" };

	for (size_t i = 0; i < COUNT_OF(here); i++)
		if (word_is_text(w, here[i]))
			return true;
	return false;
}

/* What a star for names here is called, see shell_word_settle(); 0: @place is elsewhere. */
static uint16_t filenames_name(struct expander *e, const struct shell_word *place)
{
	return filenames_is_here(place) ? expand_name(e, "$(find)") : 0;
}

static void filenames_write_place(struct expander *e, const struct shell_word *place,
				  const char *before)
{
	const struct value *v = word_value(e, place);
	uint16_t name = filenames_name(e, place);

	chars_text(e, e->io.capture, before, CHAR_QUOTED, place->start);
	for (uint32_t i = 0; i < v->len; i++) {
		struct shell_char c = v->v[i];

		if (i < place->text.len && place->kind[i] == SHELL_GLOB) {
			c.kind = CHAR_GLOB;
			c.name = name;
		}
		chars_copy(e, e->io.capture, &c, 1);
	}
}

/* PLACE and PLACE with a star, with @end behind each. */
static void filenames_write_below(struct expander *e, const struct shell_word *place,
				  const char *before, char end)
{
	size_t len = place->text.len;

	filenames_write_place(e, place, before);
	chars_add(e, e->io.capture, end, CHAR_QUOTED, word_last(place), 0);
	filenames_write_place(e, place, before);
	if (place->text.s[len - 1] != '/')
		chars_add(e, e->io.capture, '/', CHAR_QUOTED, word_last(place), 0);
	chars_add(e, e->io.capture, '*', CHAR_GLOB, word_last(place), filenames_name(e, place));
	chars_add(e, e->io.capture, end, CHAR_QUOTED, word_last(place), 0);
}

/* What find without a directory and locate '*' begin with. */
static void filenames_write_below_text(struct expander *e, const char *text, char end)
{
	static const uint8_t kind[] = { SHELL_LITERAL };
	const struct shell_word place = { .text = { .s = text, .len = 1 }, .kind = kind };

	filenames_write_below(e, &place, "", end);
}

/* -path /proc -prune -o: leaves out little. */
static bool filenames_is_prune(const struct shell_word *words, size_t count)
{
	return count > 3 &&
	       (word_is_text(&words[0], "-path") || word_is_text(&words[0], "-name")) &&
	       word_is_text(&words[2], "-prune") &&
	       (word_is_text(&words[3], "-o") || word_is_text(&words[3], "-or"));
}

/* find DIR ... without a test that leaves out most files. */
static bool filenames_of_find(struct expander *e, const struct call *c)
{
	size_t first = 1, i;
	char end = '\n';

	while (first < c->count && (word_is_text(&c->words[first], "-L") ||
				    word_is_text(&c->words[first], "-H") ||
				    word_is_text(&c->words[first], "-P")))
		first++;
	for (i = first; i < c->count && c->words[i].text.s[0] != '-'; i++)
		if (!filenames_is_place(&c->words[i]) && !filenames_is_here(&c->words[i]))
			return false;
	for (size_t k = i; k < c->count; k++) {
		if (word_is_text(&c->words[k], "-type") ||
		    word_is_text(&c->words[k], "-maxdepth") ||
		    word_is_text(&c->words[k], "-mindepth"))
			k++;
		else if (filenames_is_prune(c->words + k, c->count - k))
			k += 3;
		else if (k + 1 < c->count && word_is_text(&c->words[k], "-name") &&
			 word_is_text(&c->words[k + 1], "*"))
			k++;
		else if (word_is_text(&c->words[k], "-print0"))
			end = '\0';
		else if (!word_is_text(&c->words[k], "-print") &&
			 !word_is_text(&c->words[k], "-xdev") &&
			 !word_is_text(&c->words[k], "-mount") &&
			 !word_is_text(&c->words[k], "-depth"))
			return false;
	}
	if (i == first)
		filenames_write_below_text(e, ".", end);
	for (size_t k = first; k < i; k++)
		filenames_write_below(e, &c->words[k], "", end);
	return true;
}

/* Each word that is not an option is a place. */
static bool filenames_each_place(struct expander *e, const struct call *c, const char *before,
				 bool below)
{
	size_t n = 0;

	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].text.s[0] != '-' && !filenames_is_place(&c->words[i]))
			return false;
	for (size_t i = 1; i < c->count; i++) {
		if (c->words[i].text.s[0] == '-')
			continue;
		n++;
		if (below) {
			filenames_write_below(e, &c->words[i], before, '\n');
		} else {
			filenames_write_place(e, &c->words[i], before);
			chars_add(e, e->io.capture, '\n', CHAR_QUOTED, word_last(&c->words[i]), 0);
		}
	}
	return n > 0;
}

bool filenames_has_letter(const struct call *c, char letter)
{
	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].text.s[0] == '-' && c->words[i].text.s[1] != '-' &&
		    strchr(c->words[i].text.s, letter))
			return true;
	return false;
}

/* Are all operands patterns? ls prints the files that match, as ls -d does. */
static bool filenames_all_globs(const struct call *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].text.s[0] != '-' &&
		    !memchr(c->words[i].kind, SHELL_GLOB, c->words[i].text.len))
			return false;
	return true;
}

/* ls, ls -A, ls ., ls -d *: the names of all files here, as a star. */
static bool filenames_lists_here(const struct call *c)
{
	bool itself = filenames_has_letter(c, 'd'), globs = false;

	for (size_t i = 1; i < c->count; i++) {
		if (c->words[i].text.s[0] == '-')
			continue;
		if (!filenames_is_here(&c->words[i]))
			return false;
		globs |= strchr(c->words[i].text.s, '*') != NULL;
	}
	return !filenames_has_letter(c, 'l') && (!itself || globs);
}

static bool filenames_of_ls(struct expander *e, const struct call *c)
{
	if (filenames_lists_here(c)) {
		uint32_t at = word_last(&c->words[0]);

		chars_add(e, e->io.capture, '*', CHAR_GLOB, at, expand_name(e, "$(ls)"));
		chars_add(e, e->io.capture, '\n', CHAR_QUOTED, at, 0);
		return true;
	}
	return (filenames_has_letter(c, 'd') || filenames_all_globs(c)) &&
	       filenames_each_place(e, c, "", false);
}

/* locate '*', locate /: all files. */
static bool filenames_of_locate(struct expander *e, const struct call *c)
{
	if (c->count < 2 || !(word_is_text(&c->words[c->count - 1], "*") ||
			      word_is_text(&c->words[c->count - 1], "/")))
		return false;
	filenames_write_below_text(e, "/", '\n');
	return true;
}

bool filenames_write(struct expander *e, const struct call *c)
{
	const char *name = str_base_name(c->words[0].text.s);

	if (strcmp(name, "find") == 0)
		return filenames_of_find(e, c);
	if (strcmp(name, "ls") == 0)
		return filenames_of_ls(e, c);
	if (strcmp(name, "du") == 0)
		return filenames_has_letter(c, 'a') &&
		       filenames_each_place(e, c, "4\t", true);
	if (strcmp(name, "tree") == 0)
		return filenames_has_letter(c, 'f') && filenames_each_place(e, c, "", true);
	return filenames_of_locate(e, c);
}
