/*
 * Words: their parts become chars, and braces, tildes and splitting make words of the chars.
 */
#include "shell/expand.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* ---- parts to chars ---- */

static void expand_text_part(struct expander *e, const struct ast_part *p, struct chars *out)
{
	const struct ast_text *t = &p->text;
	enum char_kind kind = p->quoted ? CHAR_QUOTED : CHAR_PLAIN;

	if (t->len == 0 && p->quoted)
		chars_add(e, out, '\0', CHAR_EMPTY, t->pos, 0);
	if (!chars_room(e, out, t->len))
		return;
	for (uint32_t i = 0; i < t->len; i++) {
		uint32_t at = t->at ? t->at[i] : t->pos + i;

		if (e->marked && t->s[i] == '\001')
			i = mark_expand(e, t, i, p->quoted, out);
		else
			out->v[out->len++] = (struct shell_char){ at, 0, (uint8_t)kind, t->s[i] };
	}
}

static uint32_t expand_part_start(const struct ast_part *p)
{
	return p->text.at ? p->text.at[0] : p->text.pos;
}

static void expand_arith_part(struct expander *e, const struct ast_part *p, struct chars *out)
{
	struct chars text = { 0 };
	char number[32];
	int64_t result;

	if (p->word)
		expand_parts(e, p->word->parts, &text, EXPAND_ONE);
	if (p->word && expand_arith(e, &text, &result)) {
		snprintf(number, sizeof(number), "%lld", (long long)result);
		chars_text(e, out, number, p->quoted ? CHAR_QUOTED : CHAR_FIELD,
			   expand_part_start(p));
	} else {
		/* An unknown number: not empty, and without blanks, so it is never split. */
		chars_add(e, out, '?', CHAR_UNKNOWN, expand_part_start(p),
			  expand_name(e, NAME_NUMBER));
	}
	chars_release(&text);
}

static void expand_command_part(struct expander *e, const struct ast_part *p, struct chars *out)
{
	struct chars output = { 0 };

	eval_substitution(e, p->list, &output);
	if (p->quoted)
		chars_add(e, out, '\0', CHAR_EMPTY, expand_part_start(p), 0);
	else
		chars_unquote(&output, 0);
	chars_copy(e, out, output.v, output.len);
	chars_release(&output);
}

/* In $x{y,z} the names are xy and xz. */
static bool expand_is_before_brace(const struct expander *e, const struct ast_part *p,
				   enum expand_mode mode)
{
	const struct ast_part *next = p->next;

	return mode == EXPAND_FIELDS && !e->posix && !p->quoted && next &&
	       next->type == PART_TEXT && !next->quoted && next->text.len > 0 &&
	       next->text.s[0] == '{' && p->param->op == PARAM_PLAIN && p->param->name &&
	       p->text.len == strlen(p->param->name) + 1 && p->param->name[0] != '@' &&
	       p->param->name[0] >= 'A';
}

static void expand_param_part(struct expander *e, const struct ast_part *p, struct chars *out,
			      enum expand_mode mode)
{
	if (expand_is_before_brace(e, p, mode)) {
		chars_add(e, out, '$', CHAR_DOLLAR, expand_part_start(p), 0);
		chars_text(e, out, p->param->name, CHAR_PLAIN, expand_part_start(p));
	} else {
		expand_param(e, p->param, p->quoted, expand_part_start(p), out);
	}
}

static bool expand_is_name_char(const struct shell_char *c)
{
	return c->kind <= CHAR_PLAIN && str_is_name_char(c->c);
}

/* Expand the parameters whose names brace expansion has completed. */
static void expand_dollars(struct expander *e, struct chars *c)
{
	struct chars out = { 0 };

	for (size_t i = 0; i < c->len && !expand_failed(e); i++) {
		size_t n = 0;

		if (c->v[i].kind != CHAR_DOLLAR) {
			chars_copy(e, &out, &c->v[i], 1);
			continue;
		}
		while (i + 1 + n < c->len && expand_is_name_char(&c->v[i + 1 + n]))
			n++;
		const char *name = chars_string(e, &c->v[i + 1], n);

		expand_param(e, &(struct ast_param){ .name = name }, false, c->v[i].at, &out);
		i += n;
	}
	chars_release(c);
	*c = out;
}

static bool expand_has_dollar(const struct chars *c)
{
	for (size_t i = 0; i < c->len; i++)
		if (c->v[i].kind == CHAR_DOLLAR)
			return true;
	return false;
}

/* More than $x: it may assign, or compute something that does. */
static bool expand_has_operator(const struct ast_param *p)
{
	return p->op != PARAM_PLAIN || p->index || p->indirect;
}

void expand_parts(struct expander *e, const struct ast_part *parts, struct chars *out,
		  enum expand_mode mode)
{
	for (const struct ast_part *p = parts; p && !expand_failed(e); p = p->next) {
		switch (p->type) {
		case PART_TEXT:
			expand_text_part(e, p, out);
			break;
		case PART_PARAM:
			e->script->sets_variables |= expand_has_operator(p->param);
			expand_param_part(e, p, out, mode);
			break;
		case PART_COMMAND:
			expand_command_part(e, p, out);
			break;
		case PART_ARITH:
			e->script->sets_variables = true;
			expand_arith_part(e, p, out);
			break;
		default:
			eval_process(e, p, out);
		}
	}
}

/* ---- tilde ---- */

static bool expand_ends_tilde(const struct chars *c, size_t i, bool colon)
{
	return i >= c->len || (c->v[i].kind == CHAR_PLAIN &&
			       (c->v[i].c == '/' || (colon && c->v[i].c == ':')));
}

static bool expand_is_user_name(const struct shell_char *c)
{
	return c->kind == CHAR_PLAIN && c->c > ' ' && !strchr("*?[]{}$'\"\\`", c->c);
}

/* An unquoted ~ at @at of a word; with @colon, of an assignment. */
static void expand_tilde_at(struct expander *e, struct chars *c, size_t at, bool colon)
{
	size_t end = at + 1;

	if (c->v[at].kind != CHAR_PLAIN || c->v[at].c != '~')
		return;
	while (!expand_ends_tilde(c, end, colon)) {
		if (!expand_is_user_name(&c->v[end]))
			return;
		end++;
	}
	c->v[at].kind = CHAR_TILDE;
	c->v[at].name = expand_name(e, end == at + 1 ? "HOME" : NULL);
	if (end != at + 1)
		return;
	const struct value *home = vars_value(e, "HOME");

	if (!home)
		return;
	struct chars joined = { 0 };

	chars_copy(e, &joined, c->v, at);
	chars_copy(e, &joined, home->v, home->len);
	chars_copy(e, &joined, c->v + at + 1, c->len - at - 1);
	chars_release(c);
	*c = joined;
}

static void expand_tilde_colons(struct expander *e, struct chars *c)
{
	for (size_t i = 1; i < c->len; i++)
		if (c->v[i].c == '~' && c->v[i].kind == CHAR_PLAIN && c->v[i - 1].c == ':' &&
		    c->v[i - 1].kind == CHAR_PLAIN)
			expand_tilde_at(e, c, i, true);
}

static void expand_tilde(struct expander *e, struct chars *c, enum expand_mode mode)
{
	if (c->len > 0)
		expand_tilde_at(e, c, 0, mode == EXPAND_ONE);
	if (mode == EXPAND_ONE)
		expand_tilde_colons(e, c);
}

/* ---- words ---- */

static void expand_word_with_braces(struct expander *e, const struct ast_word *w, struct chars *c,
				    struct words *out)
{
	struct char_words list = { 0 };

	expand_braces(e, c, &list);
	for (size_t i = 0; i < list.len && !expand_failed(e); i++) {
		if (expand_has_dollar(&list.v[i]))
			expand_dollars(e, &list.v[i]);
		expand_tilde(e, &list.v[i], EXPAND_FIELDS);
		words_split(e, w, &list.v[i], out);
	}
	char_words_release(&list);
}

/* A word without special characters needs no chars. */
static void expand_simple_word(struct expander *e, const struct ast_word *w, struct words *out)
{
	const struct ast_text *t = &w->parts->text;
	struct shell_word word = { .start = w->start, .end = w->end };

	word.text.s = shell_copy(e->arena, t->s, t->len);
	word.text.len = t->len;
	if (t->at) {
		uint32_t *at = shell_alloc(e->arena, t->len * sizeof(*at));

		memcpy(at, t->at, t->len * sizeof(*at));
		word.text.at = at;
	} else {
		word.text.at = e->identity + t->pos;
	}
	word.kind = t->len < e->identity_len ? e->zeros : shell_alloc(e->arena, t->len + 1);
	word_add(e, out, &word);
}

/* Is it "$@" or "${x[@]}", and of nothing? That is no word, in spite of its quotes. */
static bool expand_vanishes(const struct ast_word *w, const struct chars *c)
{
	size_t lists = 0;

	for (size_t i = 0; i < c->len; i++)
		if (c->v[i].kind != CHAR_EMPTY)
			return false;
	for (const struct ast_part *p = w->parts; p && c->len > 0; p = p->next)
		lists += p->type == PART_PARAM && p->quoted && param_is_list(p->param) &&
			 (p->param->op < PARAM_DEFAULT || p->param->op >= PARAM_ALTERNATE);
	return lists >= c->len; /* each has the mark of its quotes only */
}

void expand_word(struct expander *e, const struct ast_word *w, struct words *out)
{
	struct chars c = { 0 };

	if (w->simple && (w->parts->text.at ||
			  (e->identity && w->parts->text.pos < e->identity_len))) {
		expand_simple_word(e, w, out);
		return;
	}
	expand_parts(e, w->parts, &c, EXPAND_FIELDS);
	if (expand_vanishes(w, &c))
		c.len = 0;
	if (!e->posix && expand_has_group(&c))
		expand_groups(e, &c);
	if (!e->posix && expand_has_brace(&c)) {
		expand_word_with_braces(e, w, &c, out);
	} else {
		if (expand_has_dollar(&c))
			expand_dollars(e, &c);
		expand_tilde(e, &c, EXPAND_FIELDS);
		words_split(e, w, &c, out);
	}
	chars_release(&c);
}

struct value *expand_value(struct expander *e, const struct ast_word *w)
{
	struct chars c = { 0 };

	if (w) {
		expand_parts(e, w->parts, &c, EXPAND_ONE);
		expand_tilde(e, &c, EXPAND_ONE);
	}
	return value_take(e, &c);
}

void expand_one(struct expander *e, const struct ast_word *w, struct shell_word *out)
{
	struct chars c = { 0 };

	*out = (struct shell_word){ .start = w->start, .end = w->end };
	expand_parts(e, w->parts, &c, EXPAND_ONE);
	expand_tilde(e, &c, EXPAND_FIELDS);
	word_make(e, c.v, c.len, out);
	chars_release(&c);
}

/* The first character behind an = in plain text. */
static size_t expand_behind_equals(const struct chars *c)
{
	for (size_t i = 0; i < c->len; i++)
		if (c->v[i].kind == CHAR_PLAIN && c->v[i].c == '=')
			return i + 1;
	return c->len;
}

void expand_declared(struct expander *e, const struct ast_word *w, struct shell_word *out)
{
	struct chars c = { 0 };
	size_t at;

	*out = (struct shell_word){ .start = w->start, .end = w->end };
	expand_parts(e, w->parts, &c, EXPAND_ONE);
	at = expand_behind_equals(&c);
	if (at < c.len)
		expand_tilde_at(e, &c, at, true);
	expand_tilde_colons(e, &c);
	word_make(e, c.v, c.len, out);
	chars_release(&c);
}
