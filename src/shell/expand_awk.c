/*
 * awk as a filter of known text, and as a maker of it: {print ...} for each line, and
 * BEGIN {print ...; printf ...}, of constants, fields and numbers. Any other program is
 * not done.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell/expand.h"

#define ITEMS_MAX 32
#define TEXT_MAX 256

struct awk {
	struct expander *e;
	const struct cell *line; /* NULL: BEGIN */
	size_t len;
	char separator; /* of fields; ' ': blanks */
	uint32_t at;
	struct cells *out;
};

static const char *skip(const char *s)
{
	return s + strspn(s, " \t\n");
}

/* A character by its number, of at most @max digits; *@s is its last digit then. */
static char by_number(const char **s, int base, int max)
{
	char digits[4] = "", *end;
	int n = 0;

	for (; n < max && isxdigit((unsigned char)(*s)[n]) && ((*s)[n] < '8' || base == 16); n++)
		digits[n] = (*s)[n];
	*s += n - 1;
	return (char)strtol(digits, &end, base);
}

/* A string with its escapes done. Behind it, or NULL. */
static const char *take_string(const char *s, char *out)
{
	static const char letters[] = "nt\"\\/", values[] = "\n\t\"\\/";
	size_t n = 0;

	for (s++; *s && *s != '"'; s++) {
		const char *known = *s == '\\' && s[1] ? strchr(letters, s[1]) : NULL;

		if (n + 1 >= TEXT_MAX)
			return NULL;
		if (*s == '\\' && s[1] >= '0' && s[1] <= '7') {
			s++;
			out[n++] = by_number(&s, 8, 3);
		} else if (*s == '\\' && s[1] == 'x' && isxdigit((unsigned char)s[2])) {
			s += 2;
			out[n++] = by_number(&s, 16, 2);
		} else if (known) {
			out[n++] = values[known - letters];
			s++;
		} else {
			out[n++] = *s;
		}
	}
	out[n] = '\0';
	return *s ? s + 1 : NULL;
}

/* Field @number of the line; 0 is all of it. */
static void add_field(struct awk *a, long number)
{
	size_t from = 0, field = 0;

	if (number == 0) {
		cells_copy(a->e, a->out, a->line, a->len);
		return;
	}
	while (from <= a->len) {
		size_t to;

		while (a->separator == ' ' && from < a->len && strchr(" \t", a->line[from].c))
			from++;
		for (to = from; to < a->len && a->line[to].c != a->separator &&
				!(a->separator == ' ' && a->line[to].c == '\t');)
			to++;
		if (++field == (size_t)number) {
			cells_copy(a->e, a->out, a->line + from, to - from);
			return;
		}
		if (to >= a->len)
			return;
		from = to + 1;
	}
}

/* "text", $2, 104: one item of print. Behind it, or NULL. */
static const char *take_item(struct awk *a, const char *s)
{
	char text[TEXT_MAX], *end;

	if (*s == '"') {
		s = take_string(s, text);
		if (s)
			cells_text(a->e, a->out, text, CELL_QUOTED, a->at);
		return s;
	}
	if (*s == '$' && isdigit((unsigned char)s[1]) && a->line) {
		add_field(a, strtol(s + 1, &end, 10));
		return end;
	}
	if (!isdigit((unsigned char)*s))
		return NULL;
	snprintf(text, sizeof(text), "%ld", strtol(s, &end, 10));
	cells_text(a->e, a->out, text, CELL_QUOTED, a->at);
	return end;
}

static bool ends(const char *s)
{
	return *s == '}' || *s == ';' || !*s;
}

static const char *run_print(struct awk *a, const char *s)
{
	s = skip(s);
	if (ends(s) && a->line)
		add_field(a, 0);
	while (s && !ends(s)) {
		s = take_item(a, s);
		s = s ? skip(s) : NULL;
		if (s && *s == ',') {
			cells_add(a->e, a->out, ' ', CELL_QUOTED, a->at, 0);
			s = skip(s + 1);
		}
	}
	cells_add(a->e, a->out, '\n', CELL_QUOTED, a->at, 0);
	return s;
}

/* printf "%c%s", 104, "x" */
static const char *run_printf(struct awk *a, const char *s)
{
	char format[TEXT_MAX];

	s = skip(s);
	s = skip(s + (*s == '('));
	s = *s == '"' ? take_string(s, format) : NULL;
	for (const char *f = format; s && *f; f++) {
		if (*f != '%') {
			cells_add(a->e, a->out, *f, CELL_QUOTED, a->at, 0);
			continue;
		}
		f++;
		s = skip(s);
		s = *s == ',' ? skip(s + 1) : NULL;
		if (s && *f == 'c' && isdigit((unsigned char)*s)) {
			char *end;

			cells_add(a->e, a->out, (char)strtol(s, &end, 10), CELL_QUOTED, a->at, 0);
			s = end;
		} else if (s && (*f == 's' || *f == 'c' || *f == 'd')) {
			s = take_item(a, s);
		} else {
			return NULL;
		}
	}
	s = s ? skip(s) : NULL;
	return s ? skip(s + (*s == ')')) : NULL;
}

static bool run_block(struct awk *a, const char *s)
{
	if (*s != '{')
		return false;
	for (s = skip(s + 1); s && *s && *s != '}';) {
		if (strncmp(s, "printf", 6) == 0)
			s = run_printf(a, s + 6);
		else if (strncmp(s, "print", 5) == 0)
			s = run_print(a, s + 5);
		else
			return false;
		s = s && ends(s) ? skip(s + (*s == ';')) : NULL;
	}
	return s && *s == '}' && !*skip(s + 1);
}

static bool run_lines(struct awk *a, const struct value *in, const char *program)
{
	size_t from = 0, work = 16 + strlen(program);

	for (size_t i = 0; i <= in->len && from < in->len; i++) {
		if (i < in->len && in->v[i].c != '\n')
			continue;
		a->line = in->v + from;
		a->len = i - from;
		expand_charge(a->e, work + 4 * a->len);
		if (expand_failed(a->e) || !run_block(a, program))
			return false;
		from = i + 1;
	}
	return true;
}

bool expand_awk(struct expander *e, const struct shell_word *words, size_t count,
		const struct value *in, struct cells *out)
{
	struct awk a = { .e = e, .separator = ' ', .at = words[0].start, .out = out };
	const char *program;
	size_t i = 1;

	for (; i < count && words[i].text.s[0] == '-'; i++) {
		const char *s = words[i].text.s;

		if (s[1] != 'F' || (!s[2] && i + 1 == count))
			return false;
		s = s[2] ? s + 2 : words[++i].text.s;
		if (!*s || s[1])
			return false;
		a.separator = *s;
	}
	program = i + 1 == count ? expand_constant(&words[i]) : NULL;
	if (!program)
		return false;
	program = skip(program);
	if (strncmp(program, "BEGIN", 5) == 0)
		return run_block(&a, skip(program + 5));
	return in && run_lines(&a, in, program);
}
