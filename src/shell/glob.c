/*
 * The patterns of ${x#p} and ${x/p/w}. Each step of the matcher costs fuel, so a pattern with many
 * stars is bounded too.
 */
#include <string.h>

#include "shell/expand.h"

/* The position after the bracket expression at @i; 0: there is none. */
static size_t glob_bracket_end(const struct shell_char *p, size_t len, size_t i)
{
	size_t k = i + 1;

	if (k < len && (p[k].c == '!' || p[k].c == '^'))
		k++;
	if (k < len && p[k].c == ']')
		k++;
	while (k < len && p[k].c != ']')
		k += p[k].c == '[' && k + 1 < len && p[k + 1].c == ':' ? 2 : 1;
	return k < len ? k + 1 : 0;
}

static bool glob_in_class(const char *name, size_t len, char c)
{
	bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
	bool digit = c >= '0' && c <= '9', space = c == ' ' || (c >= '\t' && c <= '\r');

#define IS(text) (len == sizeof(text) - 1 && memcmp(name, text, len) == 0)
	return (IS("alpha") && (lower || upper)) || (IS("lower") && lower) ||
	       (IS("upper") && upper) || (IS("digit") && digit) || (IS("space") && space) ||
	       (IS("blank") && (c == ' ' || c == '\t')) ||
	       (IS("alnum") && (lower || upper || digit)) ||
	       (IS("punct") && c > ' ' && c < 127 && !lower && !upper && !digit);
#undef IS
}

/* Does the bracket expression [from, to), brackets included, match @c? */
static bool glob_in_bracket(const struct shell_char *p, size_t from, size_t to, char c)
{
	size_t i = from + 1, end = to - 1;
	bool negated = p[i].c == '!' || p[i].c == '^', found = false;

	i += negated;
	for (bool first = true; i < end || first; first = false) {
		if (p[i].c == '[' && i + 1 < end && p[i + 1].c == ':') {
			char name[16];
			size_t n = 0, k = i + 2;

			while (k < end && p[k].c != ':' && n < sizeof(name))
				name[n++] = p[k++].c;
			found |= glob_in_class(name, n, c);
			i = k + 2;
		} else if (i + 2 < end && p[i + 1].c == '-') {
			found |= c >= p[i].c && c <= p[i + 2].c;
			i += 3;
		} else {
			found |= p[i].c == c;
			i++;
		}
	}
	return found != negated;
}

/* Does the pattern at @i match the character @c? *next: the position after that part of it. */
static bool glob_match_one(const struct shell_char *p, size_t len, size_t i, char c, size_t *next)
{
	*next = i + 1;
	if (char_is_globbing(&p[i]) && p[i].c == '?')
		return true;
	if (char_is_globbing(&p[i]) && p[i].c == '[') {
		size_t end = glob_bracket_end(p, len, i);

		if (end > 0) {
			*next = end;
			return glob_in_bracket(p, i, end, c);
		}
	}
	return p[i].c == c;
}

static bool glob_spend(struct expander *e)
{
	e->fuel -= e->fuel > 0;
	return e->fuel > 0;
}

/* Backtracks to the last star only. */
static bool glob_matches(struct expander *e, const struct shell_char *v, size_t len,
			 const struct shell_char *p, size_t plen)
{
	size_t i = 0, k = 0, star = SIZE_MAX, mark = 0, next;

	while (i < len && glob_spend(e)) {
		if (k < plen && char_is_globbing(&p[k]) && p[k].c == '*') {
			star = ++k;
			mark = i;
		} else if (k < plen && glob_match_one(p, plen, k, v[i].c, &next)) {
			k = next;
			i++;
		} else if (star != SIZE_MAX) {
			k = star;
			i = ++mark;
		} else {
			return false;
		}
	}
	while (k < plen && char_is_globbing(&p[k]) && p[k].c == '*')
		k++;
	return i == len && k == plen;
}

/* Is the pattern plain text, without active characters? */
static bool glob_is_fixed(const struct chars *pattern)
{
	for (size_t i = 0; i < pattern->len; i++)
		if (char_is_globbing(&pattern->v[i]) && strchr("*?[", pattern->v[i].c))
			return false;
	return true;
}

/* Length of the match at @from; SIZE_MAX: none. */
static size_t glob_match_at(struct expander *e, const struct value *v, size_t from,
			    const struct chars *p, bool fixed)
{
	size_t rest = v->len - from;

	if (fixed)
		return p->len <= rest && glob_matches(e, v->v + from, p->len, p->v, p->len)
			       ? p->len
			       : SIZE_MAX;
	for (size_t n = rest + 1; n-- > 0 && e->fuel > 0;)
		if (glob_matches(e, v->v + from, n, p->v, p->len))
			return n;
	return SIZE_MAX;
}

struct value *glob_trim(struct expander *e, const struct value *v, const struct ast_param *p,
			const struct chars *pattern)
{
	bool prefix = p->op == PARAM_PREFIX;

	for (size_t i = 0; i <= v->len && e->fuel > 0; i++) {
		size_t n = p->longest ? v->len - i : i;
		const struct shell_char *at = prefix ? v->v : v->v + (v->len - n);

		if (glob_matches(e, at, n, pattern->v, pattern->len))
			return value_make(e, prefix ? v->v + n : v->v, v->len - n);
	}
	return value_make(e, v->v, v->len);
}

static struct value *glob_replaced(struct expander *e, const struct value *v, size_t from,
				   size_t len, const struct chars *by)
{
	struct chars out = { 0 };

	chars_copy(e, &out, v->v, from);
	chars_copy(e, &out, by->v, by->len);
	chars_copy(e, &out, v->v + from + len, v->len - from - len);
	return value_take(e, &out);
}

static struct value *glob_replace_all(struct expander *e, const struct value *v,
				      const struct ast_param *p, const struct chars *pattern,
				      const struct chars *by)
{
	struct chars out = { 0 };
	bool fixed = glob_is_fixed(pattern), done = false;
	size_t i = 0;

	while (i < v->len && e->fuel > 0) {
		size_t n = done ? SIZE_MAX : glob_match_at(e, v, i, pattern, fixed);

		if (n == SIZE_MAX || n == 0) {
			chars_copy(e, &out, &v->v[i++], 1);
			continue;
		}
		chars_copy(e, &out, by->v, by->len);
		i += n;
		done = !p->longest;
	}
	return value_take(e, &out);
}

struct value *glob_replace(struct expander *e, const struct value *v, const struct ast_param *p,
			   const struct chars *pattern, const struct chars *by)
{
	if (p->op == PARAM_REPLACE)
		return glob_replace_all(e, v, p, pattern, by);
	for (size_t n = v->len + 1; n-- > 0 && e->fuel > 0;) {
		size_t from = p->op == PARAM_REPLACE_START ? 0 : v->len - n;

		if (glob_matches(e, v->v + from, n, pattern->v, pattern->len))
			return glob_replaced(e, v, from, n, by);
	}
	return value_make(e, v->v, v->len);
}
