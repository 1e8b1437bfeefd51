/* The output of printf, and the escapes in texts for it and echo. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "shell/expand.h"

/* ---- escapes ---- */

/* The character that up to @max digits from *@i on name. */
static char printf_number_of(const struct value *v, uint32_t *i, int base, int max)
{
	int n = 0, digit;

	for (; max > 0 && *i < v->len; max--, ++*i) {
		digit = str_hex_digit(v->v[*i].c);
		if (digit < 0 || digit >= base)
			break;
		n = n * base + digit;
	}
	return (char)n;
}

/* Append the character of the escape at *@i. False: \c, which ends the output. */
static bool printf_escape(struct expander *e, const struct value *v, uint32_t *i, bool zero,
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
		chars_add(e, out, printf_number_of(v, &k, 8, 3), CHAR_QUOTED, at, 0);
	} else if (c == 'x' && k < v->len && str_hex_digit(v->v[k].c) >= 0) {
		chars_add(e, out, printf_number_of(v, &k, 16, 2), CHAR_QUOTED, at, 0);
	} else {
		chars_add(e, out, '\\', CHAR_QUOTED, at, 0);
		if (c != '\\')
			k = *i + 1;
	}
	*i = k;
	return true;
}

bool printf_escaped(struct expander *e, const struct value *v, struct chars *out)
{
	for (uint32_t i = 0; i < v->len;) {
		if (v->v[i].kind != CHAR_QUOTED || v->v[i].c != '\\')
			chars_copy(e, out, &v->v[i++], 1);
		else if (!printf_escape(e, v, &i, true, out))
			return false;
	}
	return true;
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

static const struct shell_word *printf_next_arg(struct format *f)
{
	f->used = true;
	return f->next < f->count ? &f->args[f->next++] : NULL;
}

/* %d %x %o %c of a constant number. */
static void printf_number(struct format *f, char type, uint32_t at)
{
	const struct shell_word *w = printf_next_arg(f);
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

static void printf_text_arg(struct format *f, char type)
{
	const struct shell_word *w = printf_next_arg(f);

	if (!w)
		return;
	const struct value *v = word_value(f->e, w);

	if (type == 'b')
		f->ended |= !printf_escaped(f->e, v, f->out);
	else
		chars_copy(f->e, f->out, v->v, type == 'c' && v->len > 0 ? 1 : v->len);
}

/* A width or a precision at *@i: digits, or the argument for a star; -1: that is not known. */
static long printf_size(struct format *f, const struct value *v, uint32_t *i)
{
	long n = 0;

	if (*i < v->len && v->v[*i].c == '*') {
		const struct shell_word *w = printf_next_arg(f);
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
static uint32_t printf_padding(struct format *f, const struct value *v, uint32_t i,
			       struct padding *p)
{
	*p = (struct padding){ .precision = -1 };
	for (; i < v->len && v->v[i].c && strchr("-+ #0", v->v[i].c); i++) {
		p->left |= v->v[i].c == '-';
		p->zeros |= v->v[i].c == '0';
	}
	p->width = printf_size(f, v, &i);
	if (p->width < 0) {
		p->left = true;
		p->width = p->width < -PAD_MAX ? PAD_MAX : -p->width;
	}
	if (i < v->len && v->v[i].c == '.') {
		i++;
		p->precision = printf_size(f, v, &i);
	}
	while (i < v->len && v->v[i].c && strchr("lhjzt", v->v[i].c))
		i++;
	return i;
}

/* Append @field, a number or a text, as wide as @p says. */
static void printf_field(struct format *f, const struct chars *field, bool number,
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
static uint32_t printf_conversion(struct format *f, const struct value *v, uint32_t i)
{
	struct chars field = { 0 }, *out = f->out;
	uint32_t at = v->v[i].at;
	struct padding p;

	i = printf_padding(f, v, i + 1, &p);
	char type = i < v->len ? v->v[i].c : '%';
	bool number = type && strchr("diouxX", type);

	f->out = &field;
	if (type == '%')
		chars_add(f->e, f->out, '%', CHAR_QUOTED, at, 0);
	else if (type && strchr("sbcq", type))
		printf_text_arg(f, type);
	else if (number)
		printf_number(f, type, at);
	else
		chars_add(f->e, f->out, '?', CHAR_UNKNOWN, at, 0);
	f->out = out;
	printf_field(f, &field, number, &p, at);
	chars_release(&field);
	return i + 1;
}

void printf_format(struct expander *e, const struct call *c, struct chars *out)
{
	const struct value *v = word_value(e, &c->words[0]);
	struct format f = { .e = e, .args = c->words + 1, .count = c->count - 1, .out = out };

	do {
		f.used = false;
		for (uint32_t i = 0; i < v->len && !f.ended;) {
			if (v->v[i].kind == CHAR_QUOTED && v->v[i].c == '%')
				i = printf_conversion(&f, v, i);
			else if (v->v[i].kind == CHAR_QUOTED && v->v[i].c == '\\')
				f.ended |= !printf_escape(e, v, &i, false, out);
			else
				chars_copy(e, out, &v->v[i++], 1);
		}
	} while (f.used && f.next < f.count && !f.ended && !expand_failed(e));
}
