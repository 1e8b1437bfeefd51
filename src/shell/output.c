/*
 * The output of a command, from its words and known input: echo, printf, cat, filters that can
 * hide a command, and the file names that find, ls and the like print. All files below a place
 * are "PLACE" and "PLACE/" with a star, CHAR_GLOB; all in the current directory a star. Never
 * reads a file. The output of a filter with other options is unknown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

/* ---- escapes ---- */

static int output_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The character that up to @max digits from *@i on name. */
static char output_echo_number(const struct value *v, uint32_t *i, int base, int max)
{
	int n = 0, digit;

	for (; max > 0 && *i < v->len; max--, ++*i) {
		digit = output_hex_digit(v->v[*i].c);
		if (digit < 0 || digit >= base)
			break;
		n = n * base + digit;
	}
	return (char)n;
}

/* Append the character of the escape at *@i. False: \c, which ends the output. */
static bool output_echo_escape(struct expander *e, const struct value *v, uint32_t *i, bool zero,
			       struct chars *out)
{
	static const char letters[] = "abefnrtv", values[] = "\a\b\033\f\n\r\t\v";
	uint32_t at = v->v[*i].at;
	char c = *i + 1 < v->len ? v->v[*i + 1].c : '\\';
	const char *known = c ? strchr(letters, c) : NULL;
	uint32_t k = *i + 2;

	if (known) {
		chars_add(e, out, values[known - letters], CHAR_QUOTED, at, 0);
	} else if (c == 'c') {
		return false;
	} else if (c >= '0' && c <= '7') {
		k = *i + (zero && c == '0' ? 2 : 1);
		chars_add(e, out, output_echo_number(v, &k, 8, 3), CHAR_QUOTED, at, 0);
	} else if (c == 'x' && k < v->len && output_hex_digit(v->v[k].c) >= 0) {
		chars_add(e, out, output_echo_number(v, &k, 16, 2), CHAR_QUOTED, at, 0);
	} else {
		chars_add(e, out, '\\', CHAR_QUOTED, at, 0);
		if (c != '\\')
			k = *i + 1;
	}
	*i = k;
	return true;
}

bool output_escaped(struct expander *e, const struct value *v, struct chars *out)
{
	for (uint32_t i = 0; i < v->len;) {
		if (v->v[i].kind != CHAR_QUOTED || v->v[i].c != '\\')
			chars_copy(e, out, &v->v[i++], 1);
		else if (!output_echo_escape(e, v, &i, true, out))
			return false;
	}
	return true;
}

/* ---- echo ---- */

static bool output_echo_is_option(const char *s)
{
	return s && s[0] == '-' && s[1] && strspn(s + 1, "neE") == strlen(s + 1);
}

/* Escapes act as in dash, also for bash unless -E is given: they may hide a command. */
static enum status output_echo(struct expander *e, const struct call *c)
{
	bool newline = true, escapes = true;
	size_t i = 1;

	for (; i < c->count && output_echo_is_option(shell_word_constant(&c->words[i])); i++) {
		newline &= !strchr(c->words[i].text.s, 'n');
		escapes = !strchr(c->words[i].text.s, 'E');
	}
	for (size_t first = i; i < c->count; i++) {
		const struct value *v = word_value(e, &c->words[i]);

		if (i > first)
			chars_add(e, e->io.capture, ' ', CHAR_QUOTED, c->words[i].start, 0);
		if (!escapes)
			chars_copy(e, e->io.capture, v->v, v->len);
		else if (!output_escaped(e, v, e->io.capture))
			return STATUS_OK;
	}
	if (newline)
		chars_add(e, e->io.capture, '\n', CHAR_QUOTED, word_last(&c->words[0]), 0);
	return STATUS_OK;
}

/* ---- printf ---- */

struct format {
	struct expander *e;
	const struct shell_word *args;
	size_t count, next;
	struct chars *out;
	bool used; /* a conversion took an argument */
	bool ended;
};

static const struct shell_word *output_next_arg(struct format *f)
{
	f->used = true;
	return f->next < f->count ? &f->args[f->next++] : NULL;
}

/* %d %x %o %c of a constant number. */
static void output_printf_number(struct format *f, char type, uint32_t at)
{
	const struct shell_word *w = output_next_arg(f);
	const char *s = w ? shell_word_constant(w) : "0";
	char text[32];

	if (!s) {
		chars_add(f->e, f->out, '?', CHAR_UNKNOWN, at, 0);
		return;
	}
	long long n = s[0] == '\'' || s[0] == '"' ? (unsigned char)s[1] : strtoll(s, NULL, 0);

	snprintf(text, sizeof(text), type == 'x' ? "%llx" : type == 'X' ? "%llX" :
		 type == 'o' ? "%llo" : "%lld", n);
	chars_text(f->e, f->out, text, CHAR_QUOTED, at);
}

static void output_printf_text_arg(struct format *f, char type)
{
	const struct shell_word *w = output_next_arg(f);

	if (!w)
		return;
	const struct value *v = word_value(f->e, w);

	if (type == 'b')
		f->ended |= !output_escaped(f->e, v, f->out);
	else
		chars_copy(f->e, f->out, v->v, type == 'c' && v->len > 0 ? 1 : v->len);
}

/* A width or a precision at *@i: digits, or the argument for a star; -1: that is not known. */
static long output_printf_size(struct format *f, const struct value *v, uint32_t *i)
{
	long n = 0;

	if (*i < v->len && v->v[*i].c == '*') {
		const struct shell_word *w = output_next_arg(f);
		const char *s = w ? shell_word_constant(w) : "0";

		++*i;
		return s ? strtol(s, NULL, 10) : -1;
	}
	for (; *i < v->len && v->v[*i].c >= '0' && v->v[*i].c <= '9'; ++*i)
		n = n < UINT16_MAX ? n * 10 + (v->v[*i].c - '0') : n;
	return n;
}

/* Wider fields are padded no further: more blanks change no command. */
#define PAD_MAX 32

struct padding {
	long width, precision; /* precision -1: none */
	bool left, zeros;
};

/* Read flags, width, precision and length from @i on; returns the position of the type. */
static uint32_t output_printf_padding(struct format *f, const struct value *v, uint32_t i,
				      struct padding *p)
{
	*p = (struct padding){ .precision = -1 };
	for (; i < v->len && v->v[i].c && strchr("-+ #0", v->v[i].c); i++) {
		p->left |= v->v[i].c == '-';
		p->zeros |= v->v[i].c == '0';
	}
	p->width = output_printf_size(f, v, &i);
	if (p->width < 0) {
		p->left = true;
		p->width = p->width < -PAD_MAX ? PAD_MAX : -p->width;
	}
	if (i < v->len && v->v[i].c == '.') {
		i++;
		p->precision = output_printf_size(f, v, &i);
	}
	while (i < v->len && v->v[i].c && strchr("lhjzt", v->v[i].c))
		i++;
	return i;
}

/* Append @field, a number or a text, as wide as @p says. */
static void output_printf_field(struct format *f, const struct chars *field, bool number,
				const struct padding *p, uint32_t at)
{
	bool zeros = number && (p->precision >= 0 || (p->zeros && !p->left));
	long width = number && p->precision > p->width ? p->precision : p->width;
	size_t len = field->len, sign = zeros && len > 0 && field->v[0].c == '-';
	size_t want = width < PAD_MAX ? (size_t)width : PAD_MAX, pad;

	if (!number && p->precision >= 0 && (size_t)p->precision < len &&
	    chars_known(field->v, (size_t)p->precision))
		len = (size_t)p->precision;
	pad = want > len ? want - len : 0;
	chars_copy(f->e, f->out, field->v, sign);
	for (size_t i = 0; i < pad && !p->left; i++)
		chars_add(f->e, f->out, zeros ? '0' : ' ', CHAR_QUOTED, at, 0);
	if (len > sign)
		chars_copy(f->e, f->out, field->v + sign, len - sign);
	for (size_t i = 0; i < pad && p->left; i++)
		chars_add(f->e, f->out, ' ', CHAR_QUOTED, at, 0);
}

/* The conversion at the '%' at @i; returns the position after it. */
static uint32_t output_printf_conversion(struct format *f, const struct value *v, uint32_t i)
{
	struct chars field = { 0 }, *out = f->out;
	uint32_t at = v->v[i].at;
	struct padding p;

	i = output_printf_padding(f, v, i + 1, &p);
	char type = i < v->len ? v->v[i].c : '%';
	bool number = type && strchr("diouxX", type);

	f->out = &field;
	if (type == '%')
		chars_add(f->e, f->out, '%', CHAR_QUOTED, at, 0);
	else if (type && strchr("sbcq", type))
		output_printf_text_arg(f, type);
	else if (number)
		output_printf_number(f, type, at);
	else
		chars_add(f->e, f->out, '?', CHAR_UNKNOWN, at, 0);
	f->out = out;
	output_printf_field(f, &field, number, &p, at);
	chars_release(&field);
	return i + 1;
}

void output_printf(struct expander *e, const struct call *c, struct chars *out)
{
	const struct value *v = word_value(e, &c->words[0]);
	struct format f = { .e = e, .args = c->words + 1, .count = c->count - 1, .out = out };

	do {
		f.used = false;
		for (uint32_t i = 0; i < v->len && !f.ended;) {
			if (v->v[i].kind == CHAR_QUOTED && v->v[i].c == '%')
				i = output_printf_conversion(&f, v, i);
			else if (v->v[i].kind == CHAR_QUOTED && v->v[i].c == '\\')
				f.ended |= !output_echo_escape(e, v, &i, false, out);
			else
				chars_copy(e, out, &v->v[i++], 1);
		}
	} while (f.used && f.next < f.count && !f.ended && !expand_failed(e));
}

/* ---- filters of known text ---- */

struct filter {
	struct expander *e;
	const struct call *c;
	const struct value *in;
	struct chars *out;
};

/* Append the output of the filter. False: it is unknown. */
typedef bool filter_fn(const struct filter *f);

static bool output_filter_has_option(const struct filter *f, const char *text)
{
	for (size_t i = 1; i < f->c->count; i++)
		if (strcmp(f->c->words[i].text.s, text) == 0)
			return true;
	return false;
}

/* ---- tr ---- */

/* A set of tr with its ranges and classes written out; at most 255 characters. */
static size_t output_filter_read_set(const char *s, char set[256])
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

static bool output_filter_tr(const struct filter *f)
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
	size_t n = output_filter_read_set(from, set), m = output_filter_read_set(to, by);

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

static bool output_filter_base64(const struct filter *f)
{
	char *text;
	size_t len = 0;
	uint32_t at = f->in->len > 0 ? f->in->v[0].at : 0;

	if (!output_filter_has_option(f, "-d") && !output_filter_has_option(f, "--decode") &&
	    !output_filter_has_option(f, "-D") && !output_filter_has_option(f, "-di"))
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
static bool output_filter_xxd(const struct filter *f)
{
	int high = -1;

	if ((!output_filter_has_option(f, "-r") ||
	     (!output_filter_has_option(f, "-p") && !output_filter_has_option(f, "-ps"))) &&
	    !output_filter_has_option(f, "-rp") && !output_filter_has_option(f, "-pr"))
		return false;
	for (uint32_t i = 0; i < f->in->len; i++) {
		int digit = f->in->v[i].kind == CHAR_QUOTED ? output_hex_digit(f->in->v[i].c) : -1;

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

static bool output_filter_read_cut(const struct filter *f, struct cut *c)
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

static bool output_filter_cut(const struct filter *f)
{
	struct cut c;
	size_t field = 1, column = 0;

	if (!output_filter_read_cut(f, &c))
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

/*
 * Are they names of files in the current directory, with a star? What picks some of them picks
 * names that are not known.
 */
static bool output_names_relative(const struct value *in)
{
	if (!in->len || in->v[0].c == '/' || in->v[0].kind == CHAR_TILDE)
		return false;
	for (uint32_t i = 0; i < in->len; i++)
		if (in->v[i].kind == CHAR_GLOB)
			return true;
	return false;
}

/* head, tail, sort, uniq and tac leave a text of one line as it is. */
static bool output_filter_one_line(const struct filter *f)
{
	const char *name = f->c->words[0].text.s;

	if ((strstr(name, "head") || strstr(name, "tail")) && output_names_relative(f->in))
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

/* ---- file names ---- */

static bool output_word_is(const struct shell_word *w, const char *text)
{
	return strcmp(w->text.s, text) == 0;
}

/* Is it a known path from the root or a home, with or without globs? */
static bool output_names_is_place(const struct shell_word *w)
{
	if (!w->text.len || (w->text.s[0] != '/' && w->kind[0] != SHELL_TILDE))
		return false;
	for (size_t i = 0; i < w->text.len; i++)
		if (w->kind[i] == SHELL_UNKNOWN || w->kind[i] == SHELL_UNKNOWN_FIELDS)
			return false;
	return true;
}

/* Does it name all that is in the current directory, or the directory itself? */
static bool output_names_is_here(const struct shell_word *w)
{
	static const char *const here[] = { ".", "./", "*", "./*", ".*" };

	for (size_t i = 0; i < COUNT_OF(here); i++)
		if (output_word_is(w, here[i]))
			return true;
	return false;
}

/* What a star for names here is called, see shell_word_settle(); 0: @place is elsewhere. */
static uint16_t output_names_name(struct expander *e, const struct shell_word *place)
{
	return output_names_is_here(place) ? expand_name(e, "$(find)") : 0;
}

static void output_names_write_place(struct expander *e, const struct shell_word *place,
				     const char *before)
{
	const struct value *v = word_value(e, place);
	uint16_t name = output_names_name(e, place);

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
static void output_names_write_below(struct expander *e, const struct shell_word *place,
				     const char *before, char end)
{
	size_t len = place->text.len;

	output_names_write_place(e, place, before);
	chars_add(e, e->io.capture, end, CHAR_QUOTED, word_last(place), 0);
	output_names_write_place(e, place, before);
	if (place->text.s[len - 1] != '/')
		chars_add(e, e->io.capture, '/', CHAR_QUOTED, word_last(place), 0);
	chars_add(e, e->io.capture, '*', CHAR_GLOB, word_last(place), output_names_name(e, place));
	chars_add(e, e->io.capture, end, CHAR_QUOTED, word_last(place), 0);
}

/* What find without a directory and locate '*' begin with. */
static void output_names_write_below_text(struct expander *e, const char *text, char end)
{
	static const uint8_t kind[] = { SHELL_LITERAL };
	const struct shell_word place = { .text = { .s = text, .len = 1 }, .kind = kind };

	output_names_write_below(e, &place, "", end);
}

/* -path /proc -prune -o: leaves out little. */
static bool output_names_is_prune(const struct shell_word *words, size_t count)
{
	return count > 3 &&
	       (output_word_is(&words[0], "-path") || output_word_is(&words[0], "-name")) &&
	       output_word_is(&words[2], "-prune") &&
	       (output_word_is(&words[3], "-o") || output_word_is(&words[3], "-or"));
}

/* find DIR ... without a test that leaves out most files. */
static bool output_names_of_find(struct expander *e, const struct call *c)
{
	size_t first = 1, i;
	char end = '\n';

	while (first < c->count && (output_word_is(&c->words[first], "-L") ||
				    output_word_is(&c->words[first], "-H") ||
				    output_word_is(&c->words[first], "-P")))
		first++;
	for (i = first; i < c->count && c->words[i].text.s[0] != '-'; i++)
		if (!output_names_is_place(&c->words[i]) && !output_names_is_here(&c->words[i]))
			return false;
	for (size_t k = i; k < c->count; k++) {
		if (output_word_is(&c->words[k], "-type") ||
		    output_word_is(&c->words[k], "-maxdepth") ||
		    output_word_is(&c->words[k], "-mindepth"))
			k++;
		else if (output_names_is_prune(c->words + k, c->count - k))
			k += 3;
		else if (output_word_is(&c->words[k], "-print0"))
			end = '\0';
		else if (!output_word_is(&c->words[k], "-print") &&
			 !output_word_is(&c->words[k], "-xdev") &&
			 !output_word_is(&c->words[k], "-mount") &&
			 !output_word_is(&c->words[k], "-depth"))
			return false;
	}
	if (i == first)
		output_names_write_below_text(e, ".", end);
	for (size_t k = first; k < i; k++)
		output_names_write_below(e, &c->words[k], "", end);
	return true;
}

/* Each word that is no option is a place. */
static bool output_names_each_place(struct expander *e, const struct call *c, const char *before,
				    bool below)
{
	size_t n = 0;

	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].text.s[0] != '-' && !output_names_is_place(&c->words[i]))
			return false;
	for (size_t i = 1; i < c->count; i++) {
		if (c->words[i].text.s[0] == '-')
			continue;
		n++;
		if (below) {
			output_names_write_below(e, &c->words[i], before, '\n');
		} else {
			output_names_write_place(e, &c->words[i], before);
			chars_add(e, e->io.capture, '\n', CHAR_QUOTED, word_last(&c->words[i]), 0);
		}
	}
	return n > 0;
}

static bool output_names_has_letter(const struct call *c, char letter)
{
	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].text.s[0] == '-' && c->words[i].text.s[1] != '-' &&
		    strchr(c->words[i].text.s, letter))
			return true;
	return false;
}

/* Are all operands patterns? ls prints the files that match, as ls -d does. */
static bool output_names_all_globs(const struct call *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].text.s[0] != '-' &&
		    !memchr(c->words[i].kind, SHELL_GLOB, c->words[i].text.len))
			return false;
	return true;
}

/* ls, ls -A, ls ., ls -d *: the names of all files here, as a star. */
static bool output_names_lists_here(const struct call *c)
{
	bool itself = output_names_has_letter(c, 'd'), globs = false;

	for (size_t i = 1; i < c->count; i++) {
		if (c->words[i].text.s[0] == '-')
			continue;
		if (!output_names_is_here(&c->words[i]))
			return false;
		globs |= strchr(c->words[i].text.s, '*') != NULL;
	}
	return !output_names_has_letter(c, 'l') && (!itself || globs);
}

static bool output_names_of_ls(struct expander *e, const struct call *c)
{
	if (output_names_lists_here(c)) {
		uint32_t at = word_last(&c->words[0]);

		chars_add(e, e->io.capture, '*', CHAR_GLOB, at, expand_name(e, "$(ls)"));
		chars_add(e, e->io.capture, '\n', CHAR_QUOTED, at, 0);
		return true;
	}
	return (output_names_has_letter(c, 'd') || output_names_all_globs(c)) &&
	       output_names_each_place(e, c, "", false);
}

/* locate '*', locate /: all files. */
static bool output_names_of_locate(struct expander *e, const struct call *c)
{
	if (c->count < 2 || !(output_word_is(&c->words[c->count - 1], "*") ||
			      output_word_is(&c->words[c->count - 1], "/")))
		return false;
	output_names_write_below_text(e, "/", '\n');
	return true;
}

static bool output_names_known(struct expander *e, const struct call *c)
{
	const char *slash = strrchr(c->words[0].text.s, '/');
	const char *name = slash ? slash + 1 : c->words[0].text.s;

	if (strcmp(name, "find") == 0)
		return output_names_of_find(e, c);
	if (strcmp(name, "ls") == 0)
		return output_names_of_ls(e, c);
	if (strcmp(name, "du") == 0)
		return output_names_has_letter(c, 'a') &&
		       output_names_each_place(e, c, "4\t", true);
	if (strcmp(name, "tree") == 0)
		return output_names_has_letter(c, 'f') && output_names_each_place(e, c, "", true);
	return output_names_of_locate(e, c);
}

/* ---- the commands ---- */

static enum status output_run_printf(struct expander *e, const struct call *c)
{
	size_t first = c->count > 1 && strcmp(c->words[1].text.s, "--") == 0 ? 2 : 1;

	if (c->count > first)
		output_printf(e, &(struct call){ c->words + first, c->count - first },
			      e->io.capture);
	return STATUS_OK;
}

/* ---- programs that pass their input on ---- */

static enum status output_unknown(struct expander *e, const struct call *c)
{
	const char *name = c->count > 0 ? shell_word_constant(&c->words[0]) : NULL;
	const char *slash = name ? strrchr(name, '/') : NULL;
	char text[36] = "$(";
	struct shell_char ch;
	size_t len;

	if (name) {
		name = slash ? slash + 1 : name;
		len = strnlen(name, 32);
		memcpy(text + 2, name, len);
		memcpy(text + 2 + len, ")", 2);
	}
	ch = char_unknown(e, name ? text : NULL, CHAR_UNKNOWN,
			    c->count > 0 ? c->words[0].start : 0);
	chars_copy(e, e->io.capture, &ch, 1);
	return STATUS_UNKNOWN;
}

/* Has the command an operand, which names a file? */
static bool output_has_operand(const struct call *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].text.s[0] != '-' || c->words[i].text.len == 0)
			return true;
	return false;
}

static enum status output_cat(struct expander *e, const struct call *c)
{
	const struct value *in = e->io.input;

	/* cat <(echo x) */
	if (c->count == 2 && c->words[1].content)
		in = word_value(e, c->words[1].content);
	else if (output_has_operand(c) && strcmp(c->words[0].text.s, "tee") != 0)
		in = NULL;
	if (in)
		chars_copy(e, e->io.capture, in->v, in->len);
	else
		output_unknown(e, c);
	return STATUS_UNKNOWN;
}

/* rev reverses each line. */
static enum status output_rev(struct expander *e, const struct call *c)
{
	const struct value *in = output_has_operand(c) ? NULL : e->io.input;
	uint32_t from = 0;

	if (!in)
		return output_unknown(e, c);
	for (uint32_t i = 0; i <= in->len; i++) {
		if (i < in->len && in->v[i].c != '\n')
			continue;
		for (uint32_t k = i; k-- > from;)
			chars_copy(e, e->io.capture, &in->v[k], 1);
		if (i < in->len)
			chars_copy(e, e->io.capture, &in->v[i], 1);
		from = i + 1;
	}
	return STATUS_UNKNOWN;
}

/* ---- paths ---- */

/* which rm, command -v rm, type -p rm: an unknown path that ends in the name. */
static enum status output_which(struct expander *e, const struct call *c)
{
	const struct shell_word *w = &c->words[c->count - 1];
	const char *name = c->count > 1 ? shell_word_constant(w) : NULL;

	if (!name || name[0] == '-')
		return output_unknown(e, c);
	if (!strchr(name, '/'))
		chars_text(e, e->io.capture, "/usr/bin/", CHAR_QUOTED, w->start);
	chars_text(e, e->io.capture, name, CHAR_QUOTED, w->start);
	chars_add(e, e->io.capture, '\n', CHAR_QUOTED, w->start, 0);
	return STATUS_UNKNOWN;
}

static enum status output_command(struct expander *e, const struct call *c)
{
	if (c->count == 3 && strcmp(c->words[1].text.s, "-v") == 0)
		return output_which(e, c);
	return output_unknown(e, c);
}

/* The dirname of a known path below a home, or of the home itself, which lies in /home. */
static bool output_dirname_of_home(struct expander *e, const struct shell_word *w,
				   const struct value *v)
{
	size_t len = w->text.len;

	if (!len || w->kind[0] != SHELL_TILDE || memchr(w->kind, SHELL_GLOB, len) ||
	    word_is_partial(w))
		return false;
	while (len > 1 && w->text.s[len - 1] == '/')
		len--;
	while (len > 0 && w->text.s[len - 1] != '/')
		len--;
	while (len > 1 && w->text.s[len - 1] == '/')
		len--;
	if (len)
		chars_copy(e, e->io.capture, v->v, len);
	else
		chars_text(e, e->io.capture, "/home", CHAR_QUOTED, w->start);
	return true;
}

/* basename /x/rm, dirname /x/y */
static enum status output_basename(struct expander *e, const struct call *given)
{
	bool dashes = given->count > 1 && strcmp(given->words[1].text.s, "--") == 0;
	const struct call *c = &(struct call){ given->words + dashes, given->count - dashes };
	const char *path = c->count == 2 ? shell_word_constant(&c->words[1]) : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	bool base = strcmp(given->words[0].text.s, "basename") == 0;

	if (!path && c->count == 2) {
		const struct shell_word *w = &c->words[1];
		const struct value *v = word_value(e, w);
		uint32_t from = 0;

		/* The base name of /proc/[0-9]* is a glob; the dirname of ~ is /home. */
		for (uint32_t i = 0; base && i < v->len; i++)
			from = v->v[i].c == '/' ? i + 1 : from;
		if (base && from && from < v->len && w->text.len == v->len) {
			for (uint32_t i = from; i < v->len; i++) {
				struct shell_char one = v->v[i];

				one.kind = w->kind[i] == SHELL_GLOB ? CHAR_GLOB : one.kind;
				chars_copy(e, e->io.capture, &one, 1);
			}
			return STATUS_OK;
		}
		if (!base && output_dirname_of_home(e, w, v))
			return STATUS_OK;
	}
	if (!path || (slash && !slash[1]))
		return output_unknown(e, given);
	const char *part = base ? (slash ? slash + 1 : path)
				: !slash ? "." : slash == path ? "/"
				: shell_copy(e->arena, path, (size_t)(slash - path));

	chars_text(e, e->io.capture, part, CHAR_QUOTED, c->words[1].start);
	chars_add(e, e->io.capture, '\n', CHAR_QUOTED, c->words[1].start, 0);
	return STATUS_OK;
}

/* pwd: the value that cd gave to PWD. */
static enum status output_pwd(struct expander *e, const struct call *c)
{
	const struct value *v = vars_value(e, "PWD");

	if (v)
		chars_copy(e, e->io.capture, v->v, v->len);
	else
		output_unknown(e, c);
	return STATUS_OK;
}

/* realpath and readlink -f: the path itself, as if there were no links. */
static enum status output_realpath(struct expander *e, const struct call *c)
{
	const struct shell_word *w = &c->words[c->count - 1];
	bool link = strcmp(c->words[0].text.s, "readlink") == 0;

	if (c->count < (link ? 3u : 2u) || w->text.len == 0 || w->text.s[0] == '-' ||
	    (w->kind[0] != SHELL_TILDE && w->text.s[0] != '/'))
		return output_unknown(e, c);
	const struct value *v = word_value(e, w);

	chars_copy(e, e->io.capture, v->v, v->len);
	return STATUS_UNKNOWN;
}

/* seq 3, seq 1 3: the numbers, if they are few. */
static enum status output_seq(struct expander *e, const struct call *c)
{
	const char *s[2] = { "1", "1" };
	char text[32];

	if (c->count < 2 || c->count > 3)
		return output_unknown(e, c);
	for (size_t i = 1; i < c->count; i++)
		s[i == c->count - 1] = shell_word_constant(&c->words[i]);
	long long from = s[0] ? strtoll(s[0], NULL, 10) : 0;
	long long to = s[1] ? strtoll(s[1], NULL, 10) : -1;

	if (!s[0] || !s[1] || to < from || to - from > 63)
		return output_unknown(e, c);
	for (; from <= to; from++) {
		snprintf(text, sizeof(text), "%lld\n", from);
		chars_text(e, e->io.capture, text, CHAR_QUOTED, c->words[0].start);
	}
	return STATUS_OK;
}

/* expr 1 + 1: the words are an arithmetic expression. */
static enum status output_expr(struct expander *e, const struct call *c)
{
	struct chars sum = { 0 };
	int64_t result;
	char text[32];

	for (size_t i = 1; i < c->count; i++) {
		const struct value *v = word_value(e, &c->words[i]);

		chars_copy(e, &sum, v->v, v->len);
		chars_add(e, &sum, ' ', CHAR_QUOTED, 0, 0);
	}
	if (c->count == 4 && expand_arith(e, &sum, &result)) {
		snprintf(text, sizeof(text), "%lld\n", (long long)result);
		chars_text(e, e->io.capture, text, CHAR_QUOTED, c->words[0].start);
	} else {
		output_unknown(e, c);
	}
	chars_release(&sum);
	return STATUS_UNKNOWN;
}

static enum status output_filtered(struct expander *e, const struct call *c, filter_fn *filter)
{
	struct chars out = { 0 };

	if (e->io.input && filter(&(struct filter){ e, c, e->io.input, &out }))
		chars_copy(e, e->io.capture, out.v, out.len);
	else
		output_unknown(e, c);
	chars_release(&out);
	return STATUS_UNKNOWN;
}

/* grep, fold, pv: the output is the input, or a part of it; unknown for a file. */
static enum status output_pass(struct expander *e, const struct call *c)
{
	bool grep = strstr(c->words[0].text.s, "grep") != NULL;
	bool picks = (grep && !output_names_has_letter(c, 'v')) ||
		     strstr(c->words[0].text.s, "shuf");
	size_t files = 0;

	for (size_t i = 1; i < c->count; i++) {
		const char *s = c->words[i].text.s;

		files += s[0] != '-' || !s[1] ? strcmp(s, "-") != 0 && !strchr(s, '=') : 0;
		if (s[0] == '-' && strchr("wsbde", s[1]) && s[1] && !s[2])
			i++; /* the value, as of fold -w 80, grep -e x */
	}
	if (files > grep || !e->io.input || (picks && output_names_relative(e->io.input)))
		output_unknown(e, c);
	else
		chars_copy(e, e->io.capture, e->io.input->v, e->io.input->len);
	return STATUS_UNKNOWN;
}

static enum status output_names(struct expander *e, const struct call *c)
{
	if (!output_names_known(e, c))
		output_unknown(e, c);
	return STATUS_UNKNOWN;
}

static enum status output_nothing(struct expander *e, const struct call *c)
{
	(void)e;
	(void)c;
	return STATUS_UNKNOWN;
}

static const struct program {
	const char *name;
	enum status (*run)(struct expander *e, const struct call *c);
	filter_fn *filter;
} programs[] = {
	{ "[", output_nothing, NULL },             { "base64", NULL, output_filter_base64 },
	{ "basename", output_basename, NULL },     { "break", output_nothing, NULL },
	{ "buffer", output_pass, NULL },
	{ "cat", output_cat, NULL },               { "column", output_pass, NULL },
	{ "command", output_command, NULL },       { "continue", output_nothing, NULL },
	{ "cut", NULL, output_filter_cut },
	{ "dd", output_pass, NULL },               { "dirname", output_basename, NULL },
	{ "dos2unix", output_pass, NULL },         { "du", output_names, NULL },
	{ "echo", output_echo, NULL },             { "egrep", output_pass, NULL },
	{ "exit", output_nothing, NULL },          { "expand", output_pass, NULL },
	{ "expr", output_expr, NULL },             { "fgrep", output_pass, NULL },
	{ "find", output_names, NULL },            { "fmt", output_pass, NULL },
	{ "fold", output_pass, NULL },             { "grep", output_pass, NULL },
	{ "head", NULL, output_filter_one_line },  { "locate", output_names, NULL },
	{ "ls", output_names, NULL },              { "mbuffer", output_pass, NULL },
	{ "mkdir", output_nothing, NULL },         { "nl", output_pass, NULL },
	{ "openssl", NULL, output_filter_base64 }, { "paste", output_pass, NULL },
	{ "print", output_echo, NULL },            { "printf", output_run_printf, NULL },
	{ "pv", output_pass, NULL },               { "pwd", output_pwd, NULL },
	{ "readlink", output_realpath, NULL },     { "realpath", output_realpath, NULL },
	{ "return", output_nothing, NULL },        { "rev", output_rev, NULL },
	{ "seq", output_seq, NULL },               { "shuf", output_pass, NULL },
	{ "sleep", output_nothing, NULL },         { "sort", NULL, output_filter_one_line },
	{ "tac", NULL, output_filter_one_line },   { "tail", NULL, output_filter_one_line },
	{ "tee", output_cat, NULL },               { "test", output_nothing, NULL },
	{ "touch", output_nothing, NULL },         { "tr", NULL, output_filter_tr },
	{ "trap", output_nothing, NULL },          { "tree", output_names, NULL },
	{ "type", output_which, NULL },            { "uniq", NULL, output_filter_one_line },
	{ "which", output_which, NULL },           { "xxd", NULL, output_filter_xxd },
};

static const char *output_base_name(const struct shell_word *w)
{
	const char *name = shell_word_constant(w), *slash = name ? strrchr(name, '/') : NULL;

	return slash ? slash + 1 : name;
}

static const struct program *output_program(const char *name)
{
	for (size_t i = 0; name && i < COUNT_OF(programs); i++)
		if (programs[i].name[0] == name[0] && strcmp(programs[i].name, name) == 0)
			return &programs[i];
	return NULL;
}

/* Can word @i of @c stand before the program: an option, A=b, 5s, a value in capitals (timeout -s
 * KILL, stdbuf -o L), the user of -u? If not, it is a program that is not known here. */
static bool output_is_before_program(const struct call *c, size_t i)
{
	const struct shell_text *t = &c->words[i].text;

	return t->s[0] == '-' || (t->s[0] >= '0' && t->s[0] <= '9') || memchr(t->s, '=', t->len) ||
	       !t->s[strspn(t->s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")] ||
	       (i > 1 && output_word_is(&c->words[i - 1], "-u"));
}

/* env A=b echo x, timeout 5 cat: the program, if it is known here. */
static const struct program *output_wrapped(struct expander *e, const char *name, struct call *c)
{
	static const char *const wrappers[] = {
		"busybox", "chronic", "chrt", "doas", "env", "ionice", "nice", "nohup",
		"setsid", "stdbuf", "sudo", "taskset", "timeout", "unbuffer", "xvfb-run", NULL,
	};

	if (!name || !str_is_listed(name, wrappers))
		return NULL;
	for (size_t i = 1; i < c->count; i++) {
		const struct program *p = output_program(output_base_name(&c->words[i]));

		expand_charge(e, COUNT_OF(programs) / 4);
		if (p) {
			c->words += i;
			c->count -= i;
			return p;
		}
		if (!output_is_before_program(c, i))
			break;
	}
	return NULL;
}

enum status output_run(struct expander *e, const struct call *given)
{
	struct call c = *given;
	const char *name = output_base_name(&c.words[0]);
	const struct program *p;

	if (!e->io.capture)
		return name && (name[0] == 'e' || name[0] == 'p') &&
				       (strcmp(name, "echo") == 0 || strcmp(name, "printf") == 0)
			       ? STATUS_OK : STATUS_UNKNOWN;
	p = output_program(name);
	if (!p)
		p = output_wrapped(e, name, &c);
	if (p)
		return p->run ? p->run(e, &c) : output_filtered(e, &c, p->filter);
	return output_unknown(e, &c);
}
