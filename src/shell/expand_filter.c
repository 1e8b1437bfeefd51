/*
 * Filters over a text that is known: tr, base64 -d, xxd -r, cut, head,
 * tail. What a filter does with options that are not here is not known.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "shell/expand.h"

struct filter {
	struct expander *e;
	const struct shell_word *words;
	size_t count;
	const struct value *in;
	struct cells *out;
};

static bool has_option(const struct filter *f, const char *text)
{
	for (size_t i = 1; i < f->count; i++)
		if (strcmp(f->words[i].text.s, text) == 0)
			return true;
	return false;
}

/* ---- tr ---- */

/* A set of tr with its ranges and classes written out; at most 255 characters. */
static size_t read_set(const char *s, char set[256])
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

static bool filter_tr(const struct filter *f)
{
	size_t first = 1;
	bool delete = f->count > 1 && strcmp(f->words[1].text.s, "-d") == 0;
	const char *from, *to;
	char set[256], by[256];

	first += delete;
	if (f->count != first + (delete ? 1 : 2))
		return false;
	from = expand_constant(&f->words[first]);
	to = delete ? "" : expand_constant(&f->words[first + 1]);
	if (!from || !to || from[0] == '-')
		return false;
	size_t n = read_set(from, set), m = read_set(to, by);

	if (!delete && m == 0)
		return false;
	for (uint32_t i = 0; i < f->in->len; i++) {
		struct cell c = f->in->v[i];
		const char *hit = c.kind == CELL_QUOTED ? memchr(set, c.c, n) : NULL;

		if (hit && delete)
			continue;
		if (hit)
			c.c = by[(size_t)(hit - set) < m ? (size_t)(hit - set) : m - 1];
		cells_copy(f->e, f->out, &c, 1);
	}
	return true;
}

/* ---- decoders ---- */

static bool filter_base64(const struct filter *f)
{
	char *text;
	size_t len = 0;
	uint32_t at = f->in->len > 0 ? f->in->v[0].at : 0;

	if (!has_option(f, "-d") && !has_option(f, "--decode") && !has_option(f, "-D") &&
	    !has_option(f, "-di"))
		return false;
	text = cells_string(f->e, f->in->v, f->in->len);
	if (!text)
		return false;
	for (char *p = text; *p; p++)
		if (!strchr(" \n\r\t", *p))
			text[len++] = *p;
	/* Padding that is missing at the end is no trouble to base64 -d. */
	char *padded = shell_alloc(f->e->arena, len + 4);

	memcpy(padded, text, len);
	while (len % 4)
		padded[len++] = '=';
	AUTO_FREE char *decoded = base64_decode(padded, len, &len);

	for (size_t i = 0; decoded && i < len; i++)
		cells_add(f->e, f->out, decoded[i], CELL_QUOTED, at, 0);
	return decoded != NULL;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* xxd -r -p: digits in pairs. */
static bool filter_xxd(const struct filter *f)
{
	int high = -1;

	if ((!has_option(f, "-r") || (!has_option(f, "-p") && !has_option(f, "-ps"))) &&
	    !has_option(f, "-rp") && !has_option(f, "-pr"))
		return false;
	for (uint32_t i = 0; i < f->in->len; i++) {
		int digit = f->in->v[i].kind == CELL_QUOTED ? hex_digit(f->in->v[i].c) : -1;

		if (digit < 0)
			continue;
		if (high < 0) {
			high = digit;
			continue;
		}
		cells_add(f->e, f->out, (char)(high * 16 + digit), CELL_QUOTED, f->in->v[i].at, 0);
		high = -1;
	}
	return true;
}

/* ---- lines ---- */

/* Calls @line for each line without its newline, then adds the newline. */
typedef bool line_fn(const struct filter *f, const struct cell *v, size_t len, const char *arg);

static bool each_line(const struct filter *f, line_fn *line, const char *arg)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i <= f->in->len && from < f->in->len; i++) {
		if (i < f->in->len && f->in->v[i].c != '\n')
			continue;
		if (!line(f, f->in->v + from, i - from, arg))
			return false;
		if (i < f->in->len)
			cells_copy(f->e, f->out, &f->in->v[i], 1);
		from = i + 1;
	}
	return true;
}

/* cut -d X -f N, cut -c N-M */
struct cut {
	char type, delimiter;
	size_t from, to;
};

static bool read_cut(const struct filter *f, struct cut *c)
{
	*c = (struct cut){ .delimiter = '\t' };
	for (size_t i = 1; i < f->count; i++) {
		const char *s = expand_constant(&f->words[i]);

		if (!s || s[0] != '-' || !s[1])
			return false;
		const char *arg = s[2] ? s + 2 :
				  ++i < f->count ? expand_constant(&f->words[i]) : NULL;

		if (!arg || !strchr("dfcb", s[1]))
			return false;
		if (s[1] == 'd') {
			c->delimiter = arg[0];
			continue;
		}
		char *end;

		c->type = s[1];
		c->from = strtoul(arg, &end, 10);
		c->to = *end == '-' ? (end[1] ? strtoul(end + 1, &end, 10) : SIZE_MAX) : c->from;
		if (*end && *end != '-')
			return false;
	}
	return c->type != '\0';
}

static bool cut_line(const struct filter *f, const struct cell *v, size_t len, const char *arg)
{
	struct cut c;
	size_t field = 1;

	(void)arg;
	read_cut(f, &c);
	for (size_t i = 0; i < len; i++) {
		bool ends = c.type == 'f' && v[i].c == c.delimiter;

		if (ends) {
			field++;
			if (field > c.from && field <= c.to && field > 1 && c.from < field)
				cells_copy(f->e, f->out, &v[i], 1);
			continue;
		}
		size_t at = c.type == 'f' ? field : i + 1;

		if (at >= c.from && at <= c.to)
			cells_copy(f->e, f->out, &v[i], 1);
	}
	return true;
}

static bool filter_cut(const struct filter *f)
{
	struct cut c;

	return read_cut(f, &c) && each_line(f, cut_line, "");
}

/* A text of one line is the same behind head, tail, sort, uniq and tac. */
static bool filter_one_line(const struct filter *f)
{
	for (uint32_t i = 0; i + 1 < f->in->len; i++)
		if (f->in->v[i].c == '\n')
			return false;
	for (size_t i = 1; i < f->count; i++) {
		const char *s = expand_constant(&f->words[i]);

		if (!s || (s[0] == '-' && s[1] == 'c'))
			return false;
		if (s[0] != '-' && strspn(s, "0123456789") != strlen(s))
			return false;
	}
	cells_copy(f->e, f->out, f->in->v, f->in->len);
	return true;
}

bool expand_filter(struct expander *e, const struct shell_word *words, size_t count,
		   const struct value *in, struct cells *out)
{
	static const struct {
		const char *name;
		bool (*run)(const struct filter *f);
	} filters[] = {
		{ "tr", filter_tr },           { "base64", filter_base64 },
		{ "openssl", filter_base64 },  { "xxd", filter_xxd },
		{ "cut", filter_cut },         { "head", filter_one_line },
		{ "tail", filter_one_line },   { "tac", filter_one_line },
		{ "sort", filter_one_line },   { "uniq", filter_one_line },
	};
	struct filter f = { e, words, count, in, out };
	const char *name = words[0].text.s, *slash = strrchr(name, '/');

	for (size_t i = 0; i < COUNT_OF(filters); i++)
		if (strcmp(filters[i].name, slash ? slash + 1 : name) == 0)
			return filters[i].run(&f);
	return false;
}
