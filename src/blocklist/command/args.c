#include "blocklist/command/args.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blocklist/command/word.h"

/* Backtracks to the last star only, so the time is bounded by the product of the lengths. */
bool args_glob_fits(const char *p, size_t plen, const char *s, size_t slen)
{
	size_t i = 0, k = 0, star = SIZE_MAX, mark = 0;

	while (k < slen) {
		bool plain = i + 1 < plen && p[i] == '\\';

		if (i < plen && p[i] == '*' && !plain) {
			star = i++;
			mark = k;
		} else if (i < plen && (p[i + plain] == s[k] || (p[i] == '?' && !plain))) {
			i += 1 + plain;
			k++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			k = ++mark;
		} else {
			return false;
		}
	}
	while (i < plen && p[i] == '*')
		i++;
	return i == plen;
}

/* May a word of a list that begins with @entry match @text? Rules most of them out. */
static bool args_may_begin(char entry, const char *text)
{
	return entry == *text || entry == '*' || entry == '?' || entry == '\\';
}

/* The bytes of @word that are known before the first that is not. Files' names, as in
 * ls | xargs systemctl stop, are as unknown here as any other text. */
static size_t args_known(const struct shell_word *word)
{
	size_t len = 0;

	while (len < word->text.len && !word_unknown_at(word, len))
		len++;
	for (uint32_t u = 0; u < word->unknown_count; u++)
		if (word->kind[word->unknowns[u].index] == SHELL_GLOB &&
		    word->unknowns[u].index < len)
			len = word->unknowns[u].index;
	return len;
}

/* linux-image-$(uname -r) fits linux-image*, whatever the unknown part is. */
bool args_word_fits(const struct shell_word *word, const char *list)
{
	const char *text = word->text.s;
	size_t known = args_known(word);
	bool whole = known == word->text.len;

	while ((whole || known) && *list) {
		size_t len;

		list += *list == ' ';
		len = (size_t)(strchrnul(list, ' ') - list);
		if (len && args_may_begin(*list, text) && args_glob_fits(list, len, text, known) &&
		    (whole || (len > 1 && list[len - 1] == '*' && list[len - 2] != '\\')))
			return true;
		list += len;
	}
	return false;
}

bool args_word_listed(const struct shell_word *word, const char *list)
{
	if (list_notes(list)->globs)
		return args_word_fits(word, list);
	return list_has(list, word->text.s, word->text.len) && !word_has_unknown(word);
}

/* ---- reading ---- */

static void args_add_option(struct args *a, struct args_option option)
{
	if (a->option_count == a->option_room)
		a->options = mem_grow(a->options, &a->option_room, 16, sizeof(*a->options));
	a->options[a->option_count++] = option;
}

static void args_add_operand(struct args *a, const struct shell_word *word)
{
	if (a->operand_count == a->operand_room)
		a->operands = mem_grow(a->operands, &a->operand_room, 16, sizeof(*a->operands));
	a->operands[a->operand_count++] = word;
}

/*
 * Is the long option @name ("--rec") in @values, or short for one there? --force is an option
 * of its own, not short for --force-drivers.
 */
static bool args_long_takes_value(const char *values, const char *name, size_t len)
{
	for (const char *v = values; v && (v = strstr(v, " --")) != NULL; v++)
		if (strncmp(v + 1, name, len) == 0 && v[1 + len] != '-')
			return true;
	return false;
}

static size_t args_read_long(struct args *a, const struct shell_word *word,
			     const struct shell_word *next, const char *values)
{
	const char *s = word->text.s, *equals = memchr(s, '=', word->text.len);
	size_t len = equals ? (size_t)(equals - s) : word->text.len;
	struct args_option option = { s + 2, len - 2, true, NULL, 0 };

	if (equals) {
		option.value = word;
		option.skip = len + 1;
	} else if (next && args_long_takes_value(values, s, len)) {
		option.value = next;
	}
	args_add_option(a, option);
	return option.value == next && next;
}

/* Does the option @letter take a value, which may be the next word? Of zypper, -R does so before
 * the subcommand and not behind it. */
static bool args_letter_takes_value(const struct args *a, const char *values, char letter)
{
	const char text[] = { '-', letter, '<' };

	return list_has(values, text, 2) || (!a->operand_count && list_has(values, text, 3));
}

/* A cluster, or a long name with a single dash. Returns the words that it takes besides @word. */
static size_t args_read_short(struct args *a, const struct shell_word *word,
			      const struct shell_word *next, const char *values)
{
	const char *s = word->text.s;
	size_t len = word->text.len;
	struct args_option whole = { s + 1, len - 1, false, NULL, 0 };

	if (len > 2 && list_has(values, s, len)) {
		whole.value = next;
		args_add_option(a, whole);
		return next != NULL;
	}
	if (len > 2)
		args_add_option(a, whole);
	for (size_t i = 1; i < len; i++) {
		const char attached[] = { '-', s[i], '=' };

		if (s[i] == '/') /* a path: the value of the letter before it */
			break;
		struct args_option one = { s + i, 1, false, NULL, 0 };
		bool takes = args_letter_takes_value(a, values, s[i]);
		bool rest = list_has(values, attached, 3);

		if ((takes || rest) && i + 1 < len) {
			one.value = word;
			one.skip = i + 1 + (s[i + 1] == '=');
		} else if (takes) {
			one.value = next;
		}
		args_add_option(a, one);
		if (takes || rest)
			return one.value == next && next;
	}
	return 0;
}

void args_read(struct args *a, const struct shell_word *words, size_t count,
	       const char *values, bool in_order)
{
	bool over = false;

	a->option_count = a->operand_count = 0;
	a->any_option = false;
	a->first_operand = count;
	for (size_t i = 1; i < count; i++) {
		const struct shell_word *w = &words[i], *next = i + 1 < count ? w + 1 : NULL;
		const char *s = w->text.s;

		if (!over && w->text.len == 1 && w->kind[0] == SHELL_UNKNOWN_FIELDS)
			a->any_option = true;
		if (!over && w->text.len > 1 && (s[0] == '-' || (s[0] == '+' && in_order)) &&
		    w->kind[0] == SHELL_LITERAL) {
			if (w->text.len == 2 && s[0] == '-' && s[1] == '-') {
				over = true;
				if (in_order && a->first_operand == count)
					a->first_operand = i + 1;
				continue;
			}
			a->any_option |= word_has_unknown(w) && s[1] != '-';
			if (s[0] == '-' && s[1] == '-')
				i += args_read_long(a, w, next, values);
			else
				i += args_read_short(a, w, next, values);
			continue;
		}
		if (a->first_operand > i)
			a->first_operand = i;
		over |= in_order;
		args_add_operand(a, w);
	}
}

void args_release(struct args *a)
{
	free(a->options);
	free(a->operands);
	memset(a, 0, sizeof(*a));
}

/* ---- queries ---- */

static bool args_value_is(const struct args_option *o, const char *text, size_t len)
{
	return o->value && args_glob_fits(text, len, o->value->text.s + o->skip,
					  o->value->text.len - o->skip);
}

/* One entry of a list ("-r", "--recursive", "-m=off") against one option. */
static bool args_option_is(const struct args_option *o, const char *entry, size_t len)
{
	const char *equals = memchr(entry, '=', len);
	size_t name = equals ? (size_t)(equals - entry) : len, dashes = list_dashes(entry);

	if (name <= dashes || o->is_long != (dashes == 2))
		return false;
	if (o->is_long ? o->len > name - 2 || o->len == 0 : o->len != name - 1)
		return false;
	if (memcmp(o->name, entry + dashes, o->len) != 0)
		return false;
	return !equals || args_value_is(o, equals + 1, len - name - 1);
}

const struct args_option *args_next(const struct args *a,
				    const char *list, size_t *from)
{
	const struct list_notes *notes = list_notes(list);

	for (; *from < a->option_count; ++*from) {
		const struct args_option *o = &a->options[*from];

		if (!o->len || !list_begins(notes, o->name[0]))
			continue;
		for (const char *entry = list, *end; *entry; entry = end) {
			entry += *entry == ' ';
			end = strchrnul(entry, ' ');
			if (o->name[0] == entry[list_dashes(entry)] &&
			    args_option_is(o, entry, (size_t)(end - entry)))
				return &a->options[(*from)++];
		}
	}
	return NULL;
}

bool args_has(const struct args *a, const char *list)
{
	size_t from = 0;

	return list && a->option_count && args_next(a, list, &from);
}
