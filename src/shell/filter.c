/* The output of filters that can hide a command, from a known input. */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

static bool filter_has_option(const struct filter *f, const char *text)
{
	for (size_t i = 1; i < f->c->count; i++)
		if (strcmp(f->c->words[i].text.s, text) == 0)
			return true;
	return false;
}

/* ---- tr ---- */

/* A set of tr with its ranges and classes written out; at most 255 characters. */
static size_t filter_read_set(const char *s, char set[256])
{
	size_t n = 0;

	while (*s && n < 255) {
		if (strncmp(s, "[:lower:]", 9) == 0 || strncmp(s, "[:upper:]", 9) == 0) {
			for (char c = s[2] == 'l' ? 'a' : 'A'; n < 255 && (c | 32) <= 'z'; c++)
				set[n++] = c;
			s += 9;
			continue;
		}
		if (*s == '\\' && s[1]) {
			const char *known = strchr("n\nt\t", s[1]);

			set[n++] = s[1] == '0' ? '\0' : known ? known[1] : s[1];
			s += 2;
			continue;
		}
		if (s[1] == '-' && s[2] && (unsigned char)s[0] <= (unsigned char)s[2]) {
			for (int c = (unsigned char)s[0]; c <= (unsigned char)s[2] && n < 255; c++)
				set[n++] = (char)c;
			s += 3;
			continue;
		}
		set[n++] = *s++;
	}
	return n;
}

bool filter_tr(const struct filter *f)
{
	size_t first = 1;
	bool delete = f->c->count > 1 && strcmp(f->c->words[1].text.s, "-d") == 0;
	const char *from, *to;
	char set[256], by[256];

	first += delete;
	if (f->c->count != first + (delete ? 1 : 2))
		return false;
	from = shell_word_constant(&f->c->words[first]);
	to = delete ? "" : shell_word_constant(&f->c->words[first + 1]);
	if (!from || !to || from[0] == '-')
		return false;
	size_t n = filter_read_set(from, set), m = filter_read_set(to, by);

	if (!delete && m == 0)
		return false;
	for (uint32_t i = 0; i < f->in->len; i++) {
		struct shell_char c = f->in->v[i];
		const char *hit = c.kind == CHAR_QUOTED ? memchr(set, c.c, n) : NULL;

		if (hit && delete)
			continue;
		if (hit)
			c.c = by[(size_t)(hit - set) < m ? (size_t)(hit - set) : m - 1];
		chars_copy(f->e, f->out, &c, 1);
	}
	return true;
}

/* ---- decoders ---- */

bool filter_base64(const struct filter *f)
{
	char *text;
	size_t len = 0;
	uint32_t at = f->in->len > 0 ? f->in->v[0].at : 0;

	if (!filter_has_option(f, "-d") && !filter_has_option(f, "--decode") &&
	    !filter_has_option(f, "-D") && !filter_has_option(f, "-di"))
		return false;
	text = chars_string(f->e, f->in->v, f->in->len);
	if (!text)
		return false;
	for (char *p = text; *p; p++)
		if (!strchr(" \n\r\t", *p))
			text[len++] = *p;
	/* base64 -d accepts missing padding. */
	char *padded = shell_alloc(f->e->arena, len + 4);

	memcpy(padded, text, len);
	while (len % 4)
		padded[len++] = '=';
	AUTO_FREE char *decoded = base64_decode(padded, len, &len);

	for (size_t i = 0; decoded && i < len; i++)
		chars_add(f->e, f->out, decoded[i], CHAR_QUOTED, at, 0);
	return decoded != NULL;
}

/* xxd -r -p: digits in pairs. */
bool filter_xxd(const struct filter *f)
{
	int high = -1;

	if ((!filter_has_option(f, "-r") ||
	     (!filter_has_option(f, "-p") && !filter_has_option(f, "-ps"))) &&
	    !filter_has_option(f, "-rp") && !filter_has_option(f, "-pr"))
		return false;
	for (uint32_t i = 0; i < f->in->len; i++) {
		int digit = f->in->v[i].kind == CHAR_QUOTED ? str_hex_digit(f->in->v[i].c) : -1;

		if (digit < 0)
			continue;
		if (high < 0) {
			high = digit;
			continue;
		}
		chars_add(f->e, f->out, (char)(high * 16 + digit), CHAR_QUOTED, f->in->v[i].at, 0);
		high = -1;
	}
	return true;
}

/* ---- lines ---- */

/* cut -d X -f N, cut -c N-M */
struct cut {
	char type, delimiter;
	size_t from, to;
};

static bool filter_read_cut(const struct filter *f, struct cut *c)
{
	*c = (struct cut){ .delimiter = '\t' };
	for (size_t i = 1; i < f->c->count; i++) {
		const char *s = shell_word_constant(&f->c->words[i]);

		if (!s || s[0] != '-' || !s[1])
			return false;
		const char *arg = s + 2;

		if (!*arg)
			arg = ++i < f->c->count ? shell_word_constant(&f->c->words[i]) : NULL;
		if (!arg || !strchr("dfcb", s[1]))
			return false;
		if (s[1] == 'd') {
			c->delimiter = arg[0];
			continue;
		}
		char *end = (char *)(uintptr_t)arg;

		c->type = s[1];
		c->from = *arg == '-' ? 1 : strtoul(arg, &end, 10); /* -2: from the first */
		c->to = *end == '-' ? (end[1] ? strtoul(end + 1, &end, 10) : SIZE_MAX) : c->from;
		if (*end && *end != '-')
			return false;
	}
	return c->type != '\0';
}

bool filter_cut(const struct filter *f)
{
	struct cut c;
	size_t field = 1, column = 0;

	if (!filter_read_cut(f, &c))
		return false;
	for (uint32_t i = 0; i < f->in->len; i++) {
		const struct shell_char *ch = &f->in->v[i];
		bool delimiter = c.type == 'f' && ch->c == c.delimiter;
		size_t at;

		if (ch->c == '\n') {
			field = 1;
			column = 0;
			chars_copy(f->e, f->out, ch, 1);
			continue;
		}
		at = c.type == 'f' ? (field += delimiter) : ++column;
		/* cut keeps the delimiter between selected fields. */
		if ((delimiter ? at > c.from : at >= c.from) && at <= c.to)
			chars_copy(f->e, f->out, ch, 1);
	}
	return true;
}

bool filter_names_here(const struct value *in)
{
	if (!in->len || in->v[0].c == '/' || in->v[0].kind == CHAR_TILDE)
		return false;
	for (uint32_t i = 0; i < in->len; i++)
		if (in->v[i].kind == CHAR_GLOB)
			return true;
	return false;
}

/* head, tail, sort, uniq and tac leave a text of one line as it is. */
bool filter_one_line(const struct filter *f)
{
	const char *name = f->c->words[0].text.s;

	if ((strstr(name, "head") || strstr(name, "tail")) && filter_names_here(f->in))
		return false;
	for (uint32_t i = 0; i + 1 < f->in->len; i++)
		if (f->in->v[i].c == '\n')
			return false;
	for (size_t i = 1; i < f->c->count; i++) {
		const char *s = shell_word_constant(&f->c->words[i]);

		if (!s || (s[0] == '-' && s[1] == 'c'))
			return false;
		if (s[0] != '-' && strspn(s, "0123456789") != strlen(s))
			return false;
	}
	chars_copy(f->e, f->out, f->in->v, f->in->len);
	return true;
}
