/* What echo, print and printf write: their options, escapes and conversions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell/expand.h"

/* ---- escapes ---- */

static int octal(const struct value *v, uint32_t *i, int max)
{
	int n = 0;

	for (; max > 0 && *i < v->len && v->v[*i].c >= '0' && v->v[*i].c <= '7'; max--)
		n = n * 8 + (v->v[(*i)++].c - '0');
	return n;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int hex(const struct value *v, uint32_t *i, int max)
{
	int n = 0;

	for (; max > 0 && *i < v->len && hex_digit(v->v[*i].c) >= 0; max--)
		n = n * 16 + hex_digit(v->v[(*i)++].c);
	return n;
}

/* The sequence at the backslash at *@i. False: \c, the output ends. */
static bool escape(struct expander *e, const struct value *v, uint32_t *i, bool zero,
		   struct cells *out)
{
	static const char letters[] = "abefnrtv", values[] = "\a\b\033\f\n\r\t\v";
	uint32_t at = v->v[*i].at;
	char c = *i + 1 < v->len ? v->v[*i + 1].c : '\\';
	const char *known = c ? strchr(letters, c) : NULL;
	uint32_t k = *i + 2;

	if (known) {
		cells_add(e, out, values[known - letters], CELL_QUOTED, at, 0);
	} else if (c == 'c') {
		return false;
	} else if (c >= '0' && c <= '7') {
		k = *i + (zero && c == '0' ? 2 : 1);
		cells_add(e, out, (char)octal(v, &k, 3), CELL_QUOTED, at, 0);
	} else if (c == 'x' && k < v->len && hex_digit(v->v[k].c) >= 0) {
		cells_add(e, out, (char)hex(v, &k, 2), CELL_QUOTED, at, 0);
	} else {
		cells_add(e, out, '\\', CELL_QUOTED, at, 0);
		if (c != '\\')
			k = *i + 1;
	}
	*i = k;
	return true;
}

/* @v with its escapes done; false: \c ended the output. */
static bool escaped(struct expander *e, const struct value *v, struct cells *out)
{
	for (uint32_t i = 0; i < v->len;) {
		if (v->v[i].kind != CELL_QUOTED || v->v[i].c != '\\')
			cells_copy(e, out, &v->v[i++], 1);
		else if (!escape(e, v, &i, true, out))
			return false;
	}
	return true;
}

/* ---- echo ---- */

static bool is_echo_option(const char *s)
{
	return s && s[0] == '-' && s[1] && strspn(s + 1, "neE") == strlen(s + 1);
}

/* Escapes act as in dash, unless -E says otherwise: what they hide matters more. */
enum status expand_echo(struct expander *e, const struct shell_word *words, size_t count)
{
	bool newline = true, escapes = true;
	size_t i = 1;

	for (; i < count && is_echo_option(expand_constant(&words[i])); i++) {
		newline &= !strchr(words[i].text.s, 'n');
		escapes = !strchr(words[i].text.s, 'E');
	}
	for (size_t first = i; i < count; i++) {
		const struct value *v = word_value(e, &words[i]);

		if (i > first)
			cells_add(e, e->capture, ' ', CELL_QUOTED, words[i].start, 0);
		if (!escapes)
			cells_copy(e, e->capture, v->v, v->len);
		else if (!escaped(e, v, e->capture))
			return STATUS_OK;
	}
	if (newline)
		cells_add(e, e->capture, '\n', CELL_QUOTED, words[0].end, 0);
	return STATUS_OK;
}

/* ---- printf ---- */

struct format {
	struct expander *e;
	const struct shell_word *args;
	size_t count, next;
	struct cells *out;
	bool used; /* a conversion took an argument */
	bool ended;
};

static const struct shell_word *next_arg(struct format *f)
{
	f->used = true;
	return f->next < f->count ? &f->args[f->next++] : NULL;
}

/* %d %x %o %c of a constant number. */
static void number(struct format *f, char type, uint32_t at)
{
	const struct shell_word *w = next_arg(f);
	const char *s = w ? expand_constant(w) : "0";
	char text[32];

	if (!s) {
		cells_add(f->e, f->out, '?', CELL_UNKNOWN, at, 0);
		return;
	}
	long long n = s[0] == '\'' || s[0] == '"' ? (unsigned char)s[1] : strtoll(s, NULL, 0);

	snprintf(text, sizeof(text), type == 'x' ? "%llx" : type == 'X' ? "%llX" :
		 type == 'o' ? "%llo" : "%lld", n);
	cells_text(f->e, f->out, text, CELL_QUOTED, at);
}

static void text_arg(struct format *f, char type)
{
	const struct shell_word *w = next_arg(f);

	if (!w)
		return;
	const struct value *v = word_value(f->e, w);

	if (type == 'b')
		f->ended |= !escaped(f->e, v, f->out);
	else
		cells_copy(f->e, f->out, v->v, type == 'c' && v->len > 0 ? 1 : v->len);
}

/* The conversion at the '%' at @i; behind it. Widths are not padded: blanks change nothing. */
static uint32_t conversion(struct format *f, const struct value *v, uint32_t i)
{
	uint32_t at = v->v[i].at;

	for (i++; i < v->len && strchr("-+ #0123456789.*lhjzt", v->v[i].c); i++)
		if (v->v[i].c == '*')
			next_arg(f);
	char type = i < v->len ? v->v[i].c : '%';

	if (type == '%')
		cells_add(f->e, f->out, '%', CELL_QUOTED, at, 0);
	else if (strchr("sbcq", type))
		text_arg(f, type);
	else if (strchr("diouxX", type))
		number(f, type, at);
	else
		cells_add(f->e, f->out, '?', CELL_UNKNOWN, at, 0);
	return i + 1;
}

bool expand_printf(struct expander *e, const struct shell_word *words, size_t count,
		   struct cells *out)
{
	const struct value *v = word_value(e, &words[0]);
	struct format f = { .e = e, .args = words + 1, .count = count - 1, .out = out };

	do {
		f.used = false;
		for (uint32_t i = 0; i < v->len && !f.ended;) {
			if (v->v[i].kind == CELL_QUOTED && v->v[i].c == '%')
				i = conversion(&f, v, i);
			else if (v->v[i].kind == CELL_QUOTED && v->v[i].c == '\\')
				f.ended |= !escape(e, v, &i, false, out);
			else
				cells_copy(e, out, &v->v[i++], 1);
		}
	} while (f.used && f.next < f.count && !f.ended && !expand_failed(e));
	return true;
}
