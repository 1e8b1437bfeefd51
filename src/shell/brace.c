/*
 * Brace expansion of {a,b}, {1..9} and {a..e}. Pairs are found once for the whole
 * word, so a word full of braces costs no more than its length and its results.
 * Extended globs become braces before: @(a|b) is {a,b}, and !(a) a star.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shell/expand.h"

#define RESULTS_MAX 4096
#define LEVELS_MAX 32

struct brace_word {
	struct expander *e;
	const struct chars *c;
	uint32_t *close; /* of an opening brace with a comma or two dots: its partner, else 0 */
	bool *has_comma; /* are there alternatives between the two? */
	unsigned level;
};

static bool brace_is_plain(const struct chars *c, size_t i, char ch)
{
	return c->v[i].kind == CHAR_PLAIN && c->v[i].c == ch;
}

bool expand_has_brace(const struct chars *c)
{
	bool open = false;

	for (size_t i = 0; i < c->len; i++) {
		open |= brace_is_plain(c, i, '{');
		if (open && brace_is_plain(c, i, '}'))
			return true;
	}
	return false;
}

/* ---- extended globs ---- */

/* Nested extended globs that are read. */
#define GLOBS_MAX 16

/* What an open parenthesis is. */
enum glob_group { GROUP_PLAIN, GROUP_ONE, GROUP_SEVERAL };

static bool brace_is_group(const struct chars *c, size_t i)
{
	return c->v[i].kind == CHAR_PLAIN && c->v[i].c && strchr("?*+@!", c->v[i].c) &&
	       i + 1 < c->len && brace_is_plain(c, i + 1, '(');
}

bool expand_has_group(const struct chars *c)
{
	for (size_t i = 0; i < c->len; i++)
		if (brace_is_group(c, i))
			return true;
	return false;
}

/* The end of the group whose parenthesis is at @i; *@several: it has alternatives. */
static size_t brace_group_end(struct expander *e, const struct chars *c, size_t i, bool *several)
{
	size_t from = i, level = 0;

	*several = false;
	for (; i < c->len; i++) {
		level += brace_is_plain(c, i, '(');
		*several |= level == 1 && brace_is_plain(c, i, '|');
		if (brace_is_plain(c, i, ')') && --level == 0)
			break;
	}
	expand_charge(e, i - from);
	return i;
}

static void brace_put(struct chars *c, size_t *len, struct shell_char from, char ch)
{
	from.c = ch;
	c->v[(*len)++] = from;
}

/* The group at *@i begins. Returns what its parenthesis is. */
static enum glob_group brace_open_group(struct expander *e, struct chars *c, size_t *i, size_t *len)
{
	struct shell_char first = c->v[*i];
	bool several, optional = first.c == '?' || first.c == '*';
	size_t end = brace_group_end(e, c, *i + 1, &several);

	*i += first.c == '!' ? end - *i : 1;
	if (first.c == '!') {
		brace_put(c, len, first, '*');
		return GROUP_PLAIN;
	}
	if (several || optional)
		brace_put(c, len, first, '{');
	if (optional)
		brace_put(c, len, first, ',');
	return several || optional ? GROUP_SEVERAL : GROUP_ONE;
}

void expand_groups(struct expander *e, struct chars *c)
{
	enum glob_group stack[GLOBS_MAX];
	size_t top = 0, len = 0;

	for (size_t i = 0; i < c->len; i++) {
		struct shell_char one = c->v[i];
		bool full = top == GLOBS_MAX;

		if (brace_is_group(c, i) && !full) {
			bool excludes = one.c == '!';

			stack[top] = brace_open_group(e, c, &i, &len);
			top += !excludes;
		} else if (brace_is_plain(c, i, '(') && top && !full) {
			stack[top++] = GROUP_PLAIN;
			c->v[len++] = one;
		} else if (brace_is_plain(c, i, ')') && top) {
			if (stack[--top] != GROUP_ONE)
				brace_put(c, &len, one, stack[top] == GROUP_PLAIN ? ')' : '}');
		} else if (brace_is_plain(c, i, '|') && top && stack[top - 1] == GROUP_SEVERAL) {
			brace_put(c, &len, one, ',');
		} else {
			c->v[len++] = one;
		}
	}
	c->len = len;
}

/* ---- words ---- */

/* Steps for a word, besides those for its characters. */
#define WORK_BRACE 12u

static struct chars *brace_new_word(struct brace_word *b, struct char_words *w)
{
	if (w->len == w->cap)
		w->v = mem_grow(w->v, &w->cap, 8, sizeof(*w->v));
	expand_charge(b->e, WORK_BRACE);
	w->v[w->len] = (struct chars){ 0 };
	return &w->v[w->len++];
}

void char_words_release(struct char_words *w)
{
	for (size_t i = 0; i < w->len; i++)
		chars_release(&w->v[i]);
	free(w->v);
	*w = (struct char_words){ 0 };
}

/* ---- pairs ---- */

/* Are there two dots at @i that bash looks at? */
static bool brace_has_dots(const struct chars *c, size_t i)
{
	return i + 2 < c->len && brace_is_plain(c, i, '.') && brace_is_plain(c, i + 1, '.') &&
	       !brace_is_plain(c, i + 2, '}');
}

/*
 * A } that ends neither a list nor a sequence is plain text to the outermost {, which stays open:
 * {a}b,c} is a}b and c. A comma need not be a plain one, nor outside of other braces: {/..{a,b}} is
 * /..a and /..b.
 */
static void brace_find_pairs(struct brace_word *b)
{
	const struct chars *c = b->c;
	uint32_t *stack = mem_zalloc((c->len + 1) * sizeof(*stack));
	bool *several = mem_zalloc(c->len + 1);
	size_t top = 0, comma = 0;

	for (size_t i = 0; i < c->len; i++) {
		comma = c->v[i].c == ',' ? i : comma;
		if (brace_is_plain(c, i, '{')) {
			stack[top++] = (uint32_t)i;
		} else if (top && (brace_is_plain(c, i, ',') || brace_has_dots(c, i))) {
			several[stack[top - 1]] = true;
		} else if (top && brace_is_plain(c, i, '}')) {
			uint32_t open = stack[top - 1];

			b->close[open] = several[open] ? (uint32_t)i : 0;
			b->has_comma[open] = comma > open;
			top -= several[open] || top > 1;
		}
	}
	free(stack);
	free(several);
}

/* ---- {1..9} ---- */

struct sequence {
	int64_t first, last, step;
	int width;
	bool letters;
};

static bool brace_read_end(const char *s, int64_t *value, bool *letter, int *width)
{
	char *end;

	*letter = s[0] && !s[1] && ((s[0] | 32) >= 'a' && (s[0] | 32) <= 'z');
	if (*letter) {
		*value = s[0];
		return true;
	}
	*value = strtoll(s, &end, 10);
	if (end == s || *end || *value > 1000000000 || *value < -1000000000)
		return false;
	const char *digits = s[0] == '-' || s[0] == '+' ? s + 1 : s;

	if (digits[0] == '0' && digits[1] && (int)strlen(s) > *width)
		*width = (int)strlen(s);
	return true;
}

/* The text between the braces as a sequence. */
static bool brace_read_sequence(const struct brace_word *b, size_t from, size_t to,
				struct sequence *q)
{
	char text[64], *dots, *second, *third = NULL;
	bool letter = false, letter2 = false;

	if (to - from >= sizeof(text))
		return false;
	for (size_t i = from; i < to; i++) {
		if (b->c->v[i].kind > CHAR_FIELD)
			return false;
		text[i - from] = b->c->v[i].c;
	}
	text[to - from] = '\0';
	dots = strstr(text, "..");
	if (!dots)
		return false;
	*dots = '\0';
	second = dots + 2;
	third = strstr(second, "..");
	if (third) {
		*third = '\0';
		third += 2;
	}
	q->width = 0;
	if (!brace_read_end(text, &q->first, &letter, &q->width) ||
	    !brace_read_end(second, &q->last, &letter2, &q->width) || letter != letter2)
		return false;
	q->letters = letter;
	q->step = third ? llabs(strtoll(third, NULL, 10)) : 1;
	q->step = q->step > 0 && q->step < 1000000000 ? q->step : 1;
	return true;
}

static void brace_add_number(struct brace_word *b, const struct sequence *q, int64_t value,
			     struct char_words *out, uint32_t at)
{
	char text[32];

	if (q->letters)
		snprintf(text, sizeof(text), "%c", (int)value);
	else
		snprintf(text, sizeof(text), "%0*lld", q->width < 20 ? q->width : 20,
			 (long long)value);
	chars_text(b->e, brace_new_word(b, out), text, CHAR_QUOTED, at);
}

/* A very long sequence adds its ends, and one unknown word for the numbers between. */
static void brace_add_sequence(struct brace_word *b, const struct sequence *q,
			       struct char_words *out, uint32_t at)
{
	int64_t count = llabs(q->last - q->first) / q->step + 1;
	int64_t step = q->first <= q->last ? q->step : -q->step;

	if (count > RANGE_MAX) {
		brace_add_number(b, q, q->first, out, at);
		chars_add(b->e, brace_new_word(b, out), UNKNOWN_SET, CHAR_UNKNOWN, at,
			  expand_name(b->e, SHELL_RANGE));
		brace_add_number(b, q, q->last, out, at);
		return;
	}
	for (int64_t i = 0; i < count; i++)
		brace_add_number(b, q, q->first + i * step, out, at);
}

/* ---- {a,b} ---- */

static void brace_range(struct brace_word *b, size_t from, size_t to, struct char_words *out);

static void brace_alternatives(struct brace_word *b, size_t open, size_t close,
			       struct char_words *out)
{
	size_t start = open + 1;
	struct sequence q;

	if (brace_read_sequence(b, open + 1, close, &q)) {
		brace_add_sequence(b, &q, out, b->c->v[open].at);
		return;
	}
	/* One more than RESULTS_MAX, so that brace_multiply() reports too many. */
	for (size_t i = start; i <= close && out->len <= RESULTS_MAX; i++) {
		if (i < close && b->close[i]) {
			i = b->close[i];
			continue;
		}
		if (i < close && !brace_is_plain(b->c, i, ','))
			continue;
		brace_range(b, start, i, out);
		start = i + 1;
	}
}

/* *@left: every word of it followed by every word of @right. */
static void brace_multiply(struct brace_word *b, struct char_words *left, struct char_words *right)
{
	struct char_words product = { 0 };

	if (left->len * right->len > RESULTS_MAX)
		expand_trouble(b->e, SHELL_TOO_LONG, "a brace expansion into too many words",
			       b->c->v[0].at);
	for (size_t i = 0; i < left->len && !expand_failed(b->e); i++)
		for (size_t j = 0; j < right->len; j++) {
			struct chars *w = brace_new_word(b, &product);

			chars_copy(b->e, w, left->v[i].v, left->v[i].len);
			chars_copy(b->e, w, right->v[j].v, right->v[j].len);
		}
	char_words_release(left);
	char_words_release(right);
	*left = product;
}

/* A pair with a comma or a valid sequence is one; {x} and {} are not. */
static bool brace_is_expansion(const struct brace_word *b, size_t open)
{
	struct sequence q;

	return b->close[open] &&
	       (b->has_comma[open] || brace_read_sequence(b, open + 1, b->close[open], &q));
}

static void brace_range(struct brace_word *b, size_t from, size_t to, struct char_words *out)
{
	struct char_words words = { 0 };
	size_t run = from;

	if (b->level >= LEVELS_MAX) {
		expand_trouble(b->e, SHELL_TOO_DEEP, "too many levels of braces",
			       b->c->v[from < b->c->len ? from : 0].at);
		return;
	}
	b->level++;
	brace_new_word(b, &words);
	for (size_t i = from; i <= to && !expand_failed(b->e); i++) {
		bool brace = i < to && brace_is_expansion(b, i);

		if (i < to && !brace)
			continue;
		for (size_t w = 0; w < words.len; w++)
			chars_copy(b->e, &words.v[w], b->c->v + run, i - run);
		if (brace) {
			struct char_words inner = { 0 };

			brace_alternatives(b, i, b->close[i], &inner);
			brace_multiply(b, &words, &inner);
			i = b->close[i];
			run = i + 1;
		}
	}
	b->level--;
	for (size_t w = 0; w < words.len; w++) {
		*brace_new_word(b, out) = words.v[w];
	}
	free(words.v);
}

void expand_braces(struct expander *e, const struct chars *c, struct char_words *out)
{
	struct brace_word b = { .e = e, .c = c };

	b.close = mem_zalloc((c->len + 1) * sizeof(*b.close));
	b.has_comma = mem_zalloc(c->len + 1);
	brace_find_pairs(&b);
	brace_range(&b, 0, c->len, out);
	free(b.close);
	free(b.has_comma);
}
