/*
 * $((...)) over constants: + - * and =, as bash computes them. Any other operator makes the
 * result unknown, and the variables that the expression assigns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "shell/expand.h"

#define LEVELS_MAX 64
/* Steps of an expression, and of each of its characters. */
#define WORK_ARITH 100u
#define WORK_ARITH_CHAR 20u

struct arith {
	struct expander *e;
	const char *p;
	unsigned level;
	bool failed;
};

static int64_t arith_sum(struct arith *a);

static void arith_skip(struct arith *a)
{
	while (*a->p == ' ' || *a->p == '\t' || *a->p == '\n')
		a->p++;
}

static bool arith_take(struct arith *a, char op)
{
	arith_skip(a);
	if (*a->p != op)
		return false;
	a->p++;
	return true;
}

static int64_t arith_fail(struct arith *a)
{
	a->failed = true;
	return 0;
}

static bool arith_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The length of the name at @p; 0: there is none. */
static size_t arith_name_len(const char *p)
{
	size_t n = 0;

	while (str_is_name_char(p[n]) && (n > 0 || !arith_is_digit(p[n])))
		n++;
	return n;
}

static int64_t arith_variable(struct arith *a)
{
	size_t len = arith_name_len(a->p);
	const struct value *v;
	char *end, *text;
	int64_t n;
	bool unset;

	v = vars_value_or_unset(a->e, shell_copy(a->e->arena, a->p, len), &unset);
	a->p += len;
	text = v ? chars_string(a->e, v->v, v->len) : NULL;
	if (!text)
		return unset ? 0 : arith_fail(a);
	n = strtoll(text, &end, 0);
	return *end ? arith_fail(a) : n;
}

static int64_t arith_number(struct arith *a)
{
	char *end;
	int64_t n = strtoll(a->p, &end, 0);

	a->p = end;
	return str_is_name_char(*end) ? arith_fail(a) : n;
}

static int64_t arith_primary(struct arith *a)
{
	uint64_t n;
	bool minus = false;

	for (arith_skip(a); *a->p == '-' || *a->p == '+'; arith_skip(a)) {
		if (a->p[1] == a->p[0]) /* ++ or -- */
			return arith_fail(a);
		minus ^= *a->p++ == '-';
	}
	if (arith_is_digit(*a->p)) {
		n = (uint64_t)arith_number(a);
	} else if (str_is_name_char(*a->p)) {
		n = (uint64_t)arith_variable(a);
	} else {
		if (!arith_take(a, '(') || a->level >= LEVELS_MAX)
			return arith_fail(a);
		a->level++;
		n = (uint64_t)arith_sum(a);
		a->level--;
		if (!arith_take(a, ')'))
			return arith_fail(a);
	}
	return (int64_t)(minus ? 0 - n : n);
}

static int64_t arith_product(struct arith *a)
{
	uint64_t n = (uint64_t)arith_primary(a);

	while (!a->failed && arith_take(a, '*'))
		n *= (uint64_t)arith_primary(a);
	return (int64_t)n;
}

static int64_t arith_sum(struct arith *a)
{
	uint64_t n = (uint64_t)arith_product(a);

	while (!a->failed) {
		if (arith_take(a, '+'))
			n += (uint64_t)arith_product(a);
		else if (arith_take(a, '-'))
			n -= (uint64_t)arith_product(a);
		else
			break;
	}
	return (int64_t)n;
}

/* x = 1, or a sum. */
static int64_t arith_assign(struct arith *a)
{
	const char *start;
	char text[32];
	size_t len;
	int64_t n;

	arith_skip(a);
	start = a->p;
	len = arith_name_len(start);
	a->p += len;
	if (!len || !arith_take(a, '=') || *a->p == '=') {
		a->p = start;
		return arith_sum(a);
	}
	n = arith_sum(a);
	snprintf(text, sizeof(text), "%lld", (long long)n);
	if (!a->failed)
		vars_set(a->e, shell_copy(a->e->arena, start, len), value_text(a->e, text, 0));
	return n;
}

/* x += 1, x++, ++x at the name [from, from + len) of @text. */
static bool arith_changes(const char *text, size_t from, size_t len)
{
	const char *next = text + from + len;
	size_t op;

	while (from > 0 && strchr(" \t\n", text[from - 1]))
		from--;
	if (from > 1 && (text[from - 1] == '+' || text[from - 1] == '-') &&
	    text[from - 2] == text[from - 1])
		return true;
	next += strspn(next, " \t\n");
	if ((next[0] == '+' || next[0] == '-') && next[1] == next[0])
		return true;
	op = strspn(next, "*/%+-&^|<>");
	if (op == 1 && (next[0] == '<' || next[0] == '>'))
		return false;
	return next[op] == '=' && next[op + 1] != '=';
}

/* The variables that an expression which is not computed assigns hold unknown numbers. */
static void arith_forget(struct arith *a, const char *text)
{
	const char *p = text;

	while (*p) {
		size_t len = arith_name_len(p);

		if (len > 0 && arith_changes(text, (size_t)(p - text), len))
			vars_set(a->e, shell_copy(a->e->arena, p, len),
				 value_unknown_set(a->e, NAME_NUMBER, 0));
		p += len > 0 ? len : 1;
	}
}

bool expand_arith(struct expander *e, const struct chars *text, int64_t *result)
{
	const char *s = chars_string(e, text->v, text->len);
	struct arith a = { .e = e, .p = s };

	expand_charge(e, WORK_ARITH + WORK_ARITH_CHAR * text->len);
	if (!s || e->fuel == 0)
		return false;
	arith_skip(&a);
	*result = *a.p ? arith_assign(&a) : 0;
	arith_skip(&a);
	if (!a.failed && *a.p == '\0')
		return true;
	arith_forget(&a, s);
	return false;
}
