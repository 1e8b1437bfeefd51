/* $((...)) over constants, as bash computes it; what is not known makes it unknown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell/expand.h"

#define LEVELS_MAX 64
/* Steps of an expression, and of a character that each level of operators looks at. */
#define WORK_ARITH 100u
#define WORK_ARITH_CHAR 20u

struct arith {
	struct expander *e;
	const char *p;
	unsigned level;
	bool failed;
};

static int64_t parse_comma(struct arith *a);
static int64_t parse_assign(struct arith *a);

static void skip(struct arith *a)
{
	while (*a->p == ' ' || *a->p == '\t' || *a->p == '\n')
		a->p++;
}

static bool take(struct arith *a, const char *op)
{
	size_t len;

	skip(a);
	if (*a->p != op[0])
		return false;
	len = strlen(op);
	if (strncmp(a->p, op, len) != 0)
		return false;
	a->p += len;
	return true;
}

static int64_t fail(struct arith *a)
{
	a->failed = true;
	return 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A name of at most 63 characters; its length. */
static size_t read_name(const struct arith *a, char name[64])
{
	size_t n = 0;

	while (n < 63 && (is_letter(a->p[n]) || (n > 0 && is_digit(a->p[n])))) {
		name[n] = a->p[n];
		n++;
	}
	name[n] = '\0';
	return n;
}

static int64_t variable(struct arith *a, const char *name)
{
	bool unset;
	const struct value *v = vars_value(a->e, name, &unset);
	char *end, *text = v ? cells_string(a->e, v->v, v->len) : NULL;
	int64_t n;

	if (!text)
		return unset ? 0 : fail(a);
	n = strtoll(text, &end, 0);
	return *end ? fail(a) : n;
}

static void assign(struct arith *a, const char *name, int64_t n)
{
	char text[32];

	if (a->failed)
		return;
	snprintf(text, sizeof(text), "%lld", (long long)n);
	vars_set(a->e, name, value_text(a->e, text, 0));
}

static int64_t parse_number(struct arith *a)
{
	char *end;
	long base = strtol(a->p, &end, 10);
	int64_t n;

	if (*end == '#' && base >= 2 && base <= 36)
		a->p = end + 1;
	else
		base = 0;
	n = strtoll(a->p, &end, (int)base);
	if (end == a->p || is_letter(*end) || is_digit(*end))
		return fail(a);
	a->p = end;
	return n;
}

static int64_t parse_name(struct arith *a)
{
	char name[64];
	int64_t n;

	a->p += read_name(a, name);
	if (is_letter(*a->p) || is_digit(*a->p) || *a->p == '[')
		return fail(a);
	n = variable(a, name);
	if (take(a, "++"))
		assign(a, name, n + 1);
	else if (take(a, "--"))
		assign(a, name, n - 1);
	return n;
}

static int64_t parse_primary(struct arith *a)
{
	int64_t n;

	skip(a);
	if (is_digit(*a->p))
		return parse_number(a);
	if (is_letter(*a->p))
		return parse_name(a);
	if (!take(a, "(") || a->level >= LEVELS_MAX)
		return fail(a);
	a->level++;
	n = parse_comma(a);
	a->level--;
	return take(a, ")") ? n : fail(a);
}

static int64_t parse_unary(struct arith *a)
{
	int64_t sign = 1;
	uint64_t n;
	unsigned nots = 0, flips = 0;

	if (a->level >= LEVELS_MAX)
		return fail(a);
	if (take(a, "++") || take(a, "--")) {
		char name[64];
		int64_t step = a->p[-1] == '+' ? 1 : -1;

		skip(a);
		size_t len = read_name(a, name);

		if (len == 0)
			return fail(a);
		a->p += len;
		n = (uint64_t)variable(a, name) + (uint64_t)step;
		assign(a, name, (int64_t)n);
		return (int64_t)n;
	}
	for (;;) {
		if (take(a, "-"))
			sign = -sign;
		else if (take(a, "!"))
			nots++;
		else if (take(a, "~"))
			flips++;
		else if (!take(a, "+"))
			break;
	}
	n = (uint64_t)parse_primary(a);
	if (flips % 2)
		n = ~n;
	if (nots > 0)
		n = nots % 2 ? n == 0 : n != 0;
	return (int64_t)(sign < 0 ? 0 - n : n);
}

/* Binary operators by rank; longer texts first. The ones that assign are not among them. */
static const struct {
	const char *text;
	int rank;
} binaries[] = {
	{ "**", 10 }, { "*", 9 }, { "/", 9 }, { "%", 9 }, { "+", 8 }, { "-", 8 }, { "<<", 7 },
	{ ">>", 7 }, { "<=", 6 }, { ">=", 6 }, { "<", 6 }, { ">", 6 }, { "==", 5 }, { "!=", 5 },
	{ "&&", 1 }, { "||", 0 }, { "&", 4 }, { "^", 3 }, { "|", 2 },
};

static int64_t power(uint64_t base, int64_t exponent)
{
	uint64_t n = 1;

	for (; exponent > 0; exponent >>= 1, base *= base)
		if (exponent & 1)
			n *= base;
	return (int64_t)n;
}

static int64_t apply(struct arith *a, const char *op, int64_t x, int64_t y)
{
	uint64_t ux = (uint64_t)x, uy = (uint64_t)y;

	switch (op[0]) {
	case '*':
		return op[1] ? (y < 0 ? fail(a) : power(ux, y)) : (int64_t)(ux * uy);
	case '/':
	case '%':
		if (y == 0 || y == -1)
			return y == 0 ? fail(a) : op[0] == '/' ? (int64_t)(0 - ux) : 0;
		return op[0] == '/' ? x / y : x % y;
	case '+':
		return (int64_t)(ux + uy);
	case '-':
		return (int64_t)(ux - uy);
	case '<':
		return op[1] == '<' ? (int64_t)(ux << (uy & 63)) : op[1] ? x <= y : x < y;
	case '>':
		return op[1] == '>' ? x >> (uy & 63) : op[1] ? x >= y : x > y;
	case '=':
		return x == y;
	case '!':
		return x != y;
	case '&':
		return op[1] ? x && y : x & y;
	case '|':
		return op[1] ? x || y : x | y;
	default:
		return x ^ y;
	}
}

static const char *peek_binary(struct arith *a, int rank, int *found)
{
	skip(a);
	for (size_t i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++) {
		size_t len = strlen(binaries[i].text);

		if (strncmp(a->p, binaries[i].text, len) != 0)
			continue;
		if (binaries[i].rank < rank || (a->p[len] == '=' && binaries[i].rank > 1 &&
						binaries[i].rank != 6 && binaries[i].rank != 5))
			return NULL;
		*found = binaries[i].rank;
		return binaries[i].text;
	}
	return NULL;
}

static int64_t parse_binary(struct arith *a, int rank)
{
	int64_t n = parse_unary(a);
	const char *op;
	int found;

	while (!a->failed && (op = peek_binary(a, rank, &found))) {
		a->p += strlen(op);
		n = apply(a, op, n, parse_binary(a, found == 10 ? found : found + 1));
	}
	return n;
}

static int64_t parse_ternary(struct arith *a)
{
	int64_t n = parse_binary(a, 0), yes, no;

	if (a->failed || !take(a, "?"))
		return n;
	if (++a->level > LEVELS_MAX)
		return fail(a);
	yes = parse_assign(a);
	if (!take(a, ":"))
		return fail(a);
	no = parse_assign(a);
	a->level--;
	return n ? yes : no;
}

/* x = 1, x += 1; else the value. */
static int64_t parse_assign(struct arith *a)
{
	static const struct {
		const char *text, *op;
	} ops[] = {
		{ "<<=", "<<" }, { ">>=", ">>" }, { "*=", "*" }, { "/=", "/" }, { "%=", "%" },
		{ "+=", "+" },   { "-=", "-" },   { "&=", "&" }, { "^=", "^" }, { "|=", "|" },
	};
	char name[64];
	const char *start;
	int64_t n;

	skip(a);
	start = a->p;
	size_t len = read_name(a, name);

	a->p += len;
	skip(a);
	if (len > 0 && a->p[0] == '=' && a->p[1] != '=') {
		a->p++;
		if (++a->level > LEVELS_MAX)
			return fail(a);
		n = parse_assign(a);
		a->level--;
		assign(a, name, n);
		return n;
	}
	for (size_t i = 0; len > 0 && i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!take(a, ops[i].text))
			continue;
		if (++a->level > LEVELS_MAX)
			return fail(a);
		n = parse_assign(a);
		n = apply(a, ops[i].op, variable(a, name), n);
		a->level--;
		assign(a, name, n);
		return n;
	}
	a->p = start;
	return parse_ternary(a);
}

static int64_t parse_comma(struct arith *a)
{
	int64_t n = parse_assign(a);

	while (!a->failed && take(a, ","))
		n = parse_assign(a);
	return n;
}

bool expand_arith(struct expander *e, const struct cells *text, int64_t *result)
{
	struct arith a = { .e = e, .p = cells_string(e, text->v, text->len) };

	expand_charge(e, WORK_ARITH + WORK_ARITH_CHAR * text->len);
	if (!a.p || e->fuel == 0)
		return false;
	skip(&a);
	*result = *a.p ? parse_comma(&a) : 0;
	skip(&a);
	return !a.failed && *a.p == '\0';
}
