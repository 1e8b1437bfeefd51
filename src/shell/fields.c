/*
 * Chars to words and back: the kind of each character in a finished word, and the split of
 * an unquoted expansion into fields.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shell/expand.h"
#include "shell/lex.h"

/* Steps of a word; words of one list. */
#define WORK_WORD 6u
#define WORDS_MAX 100000u

/* Memory of the last list released. */
static struct shell_word *spare_words;
#define SPARE_WORDS 16u

void words_release(struct words *w)
{
	if (w->cap == SPARE_WORDS && !spare_words)
		spare_words = w->v;
	else
		free(w->v);
	*w = (struct words){ 0 };
}

void word_add(struct expander *e, struct words *out, const struct shell_word *word)
{
	expand_charge(e, out->len < WORDS_MAX ? WORK_WORD : e->fuel);
	if (!out->cap && spare_words) {
		out->v = spare_words;
		out->cap = SPARE_WORDS;
		spare_words = NULL;
	} else if (out->len == out->cap) {
		out->v = mem_grow(out->v, &out->cap, SPARE_WORDS, sizeof(*out->v));
	}
	out->v[out->len++] = *word;
}

/* Index of the last ']' that may close a bracket expression. */
static size_t fields_last_bracket(const struct shell_char *v, size_t len)
{
	while (len > 0 && !(v[len - 1].c == ']' && char_is_globbing(&v[len - 1])))
		len--;
	return len > 0 ? len - 1 : 0;
}

static uint8_t fields_final_kind(const struct shell_char *v, size_t i, size_t bracket, bool open)
{
	const struct shell_char *c = &v[i];

	switch (c->kind) {
	case CHAR_TILDE:
		return SHELL_TILDE;
	case CHAR_UNKNOWN:
		return SHELL_UNKNOWN;
	case CHAR_UNKNOWN_FIELDS:
		return SHELL_UNKNOWN_FIELDS;
	case CHAR_GLOB:
		return SHELL_GLOB;
	case CHAR_PLAIN:
	case CHAR_FIELD:
		if (c->c == '*' || c->c == '?' || (c->c == '[' && bracket > i + 1) ||
		    (c->c == ']' && open))
			return SHELL_GLOB;
		return SHELL_LITERAL;
	default:
		return SHELL_LITERAL;
	}
}

/* Set gone_from and gone_to to the first run of characters that may be missing. */
static void fields_find_missing(const struct shell_char *v, size_t len, struct shell_word *out)
{
	uint32_t n = 0;

	for (size_t i = 0; i < len; i++) {
		bool missing = char_is_known(&v[i]) && v[i].name > 0;
		bool empty = char_is_unknown(&v[i]) && v[i].c != UNKNOWN_SET;

		if (v[i].kind == CHAR_EMPTY)
			continue;
		if (missing && !out->gone_to)
			out->gone_from = out->gone_to = n;
		if ((missing || (empty && out->gone_to)) && out->gone_to == n)
			out->gone_to++;
		n++;
	}
}

static void fields_add_unknowns(struct expander *e, const struct shell_char *v, size_t len,
				size_t count, struct shell_word *out)
{
	struct shell_unknown *u = shell_alloc(e->arena, count * sizeof(*u));
	uint32_t index = 0;

	out->unknowns = u;
	for (size_t i = 0; i < len; i++) {
		if (v[i].kind == CHAR_EMPTY)
			continue;
		if (v[i].name > 0 && !char_is_known(&v[i]))
			u[out->unknown_count++] = (struct shell_unknown){
				index, v[i].c == UNKNOWN_SET, v[i].c == UNKNOWN_GIVEN,
				expand_name_text(e, v[i].name)
			};
		index++;
	}
}

/* Does @c end a word, also one in a text for a shell? */
static bool fields_is_end(char c)
{
	return c == '\0' || strchr(" \t\n'\"`;&|()<>", c);
}

/* Is the star at @i a whole path, but for "./" before it, or .//./? */
static bool fields_is_whole(const char *text, size_t len, size_t i)
{
	size_t from = i;

	if (i + 1 < len && text[i + 1] != '/' && !fields_is_end(text[i + 1]))
		return false;
	while (from > 0 && (text[from - 1] == '/' ||
			    (text[from - 1] == '.' && text[from] == '/')))
		from--;
	return (from == 0 || fields_is_end(text[from - 1])) && (from == i || text[from] == '.');
}

void shell_word_settle(char *text, uint8_t *kind, size_t len, const struct shell_unknown *unknowns,
		       size_t count)
{
	for (size_t k = 0; k < count; k++) {
		uint32_t i = unknowns[k].index;

		if (kind[i] != SHELL_GLOB || fields_is_whole(text, len, i))
			continue;
		kind[i] = SHELL_UNKNOWN;
		text[i] = '?';
	}
}

void word_make(struct expander *e, const struct shell_char *v, size_t len, struct shell_word *out)
{
	expand_charge(e, 10 + len / 2);
	char *s = shell_alloc_raw(e->arena, len + 1);
	uint8_t *kind = shell_alloc_raw(e->arena, len + 1);
	uint32_t *at = shell_alloc_raw(e->arena, (len + 1) * sizeof(*at));
	size_t bracket = SIZE_MAX, n = 0, named = 0;
	bool open = false, quoted = out->quoted, missing = false;

	for (size_t i = 0; i < len; i++) {
		missing |= v[i].name > 0 && char_is_known(&v[i]);
		if (v[i].kind == CHAR_QUOTED) {
			kind[n] = SHELL_LITERAL;
			quoted = true;
		} else if (char_is_globbing(&v[i]) && !lex_is(v[i].c, LEX_PATTERN)) {
			kind[n] = SHELL_LITERAL;
		} else if (v[i].kind == CHAR_EMPTY) {
			quoted = true;
			continue;
		} else {
			if (v[i].c == '[' && bracket == SIZE_MAX)
				bracket = fields_last_bracket(v, len);
			kind[n] = fields_final_kind(v, i, bracket, open);
			if (kind[n] == SHELL_GLOB && (v[i].c == '[' || v[i].c == ']'))
				open = v[i].c == '[';
			named += v[i].name > 0 && !char_is_known(&v[i]);
		}
		s[n] = kind[n] == SHELL_UNKNOWN || kind[n] == SHELL_UNKNOWN_FIELDS ? '?' : v[i].c;
		at[n++] = v[i].at;
	}
	s[n] = '\0';
	kind[n] = SHELL_LITERAL;
	at[n] = 0;
	out->quoted = quoted;
	out->text = (struct shell_text){ s, at, n };
	out->kind = kind;
	if (named > 0) {
		fields_add_unknowns(e, v, len, named, out);
		shell_word_settle(s, kind, n, out->unknowns, out->unknown_count);
	}
	if (missing)
		fields_find_missing(v, len, out);
	if (e->process && named > 0 && out->unknowns[0].name[0] == '<') {
		out->content = e->process;
		e->process = NULL;
	}
}

struct value *word_value(struct expander *e, const struct shell_word *word)
{
	static const uint8_t kinds[] = { CHAR_QUOTED, CHAR_GLOB, CHAR_TILDE, CHAR_UNKNOWN,
					 CHAR_UNKNOWN };
	struct value *v = shell_alloc(e->arena, sizeof(*v));
	const struct shell_text *t = &word->text;
	uint16_t missing = word->gone_to ? expand_name(e, NAME_MISSING) : 0;
	uint32_t named = 0;

	/* As long as the word even if the fuel ends: callers index it by the word's length. */
	expand_charge(e, t->len);
	v->v = shell_alloc_raw(e->arena, t->len * sizeof(*v->v));
	v->len = (uint32_t)t->len;
	for (uint32_t i = 0; i < v->len; i++)
		v->v[i] = (struct shell_char){ t->at ? t->at[i] : i, 0, kinds[word->kind[i]],
					       t->s[i] };
	for (uint32_t i = word->gone_from; i < word->gone_to && i < v->len; i++)
		v->v[i].name = char_is_known(&v->v[i]) ? missing : 0;
	for (; named < word->unknown_count; named++) {
		struct shell_char *c = &v->v[word->unknowns[named].index];

		c->name = expand_name(e, word->unknowns[named].name);
		c->c = word->unknowns[named].is_set     ? UNKNOWN_SET
		       : word->unknowns[named].is_given ? UNKNOWN_GIVEN
							: c->c;
	}
	return v;
}

/* ---- splitting ---- */

struct splitter {
	struct expander *e;
	const struct ast_word *word;
	struct words *out;
	char ifs[32];
	struct chars now;
	bool started;
};

static void fields_split_end(struct splitter *s)
{
	struct shell_word w = { .start = s->word->start, .end = s->word->end };

	if (s->started) {
		word_make(s->e, s->now.v, s->now.len, &w);
		word_add(s->e, s->out, &w);
	}
	s->now.len = 0;
	s->started = false;
}

static void fields_split_char(struct splitter *s, const struct shell_char *c)
{
	if (c->kind == CHAR_BREAK) {
		fields_split_end(s);
		return;
	}
	if (c->kind == CHAR_FIELD && c->c && strchr(s->ifs, c->c)) {
		s->started |= c->c != ' ' && c->c != '\t' && c->c != '\n';
		fields_split_end(s);
		return;
	}
	s->started = true;
	chars_copy(s->e, &s->now, c, 1);
}

static void fields_set_ifs(struct splitter *s)
{
	const struct value *v = vars_value(s->e, "IFS");
	size_t len = 0;

	if (!v) {
		strcpy(s->ifs, " \t\n");
		return;
	}
	for (uint32_t i = 0; i < v->len && len + 1 < sizeof(s->ifs); i++)
		if (v->v[i].kind == CHAR_QUOTED)
			s->ifs[len++] = v->v[i].c;
	s->ifs[len] = '\0';
}

/* Has @c anything to split? */
static bool fields_need_split(const struct chars *c)
{
	for (size_t i = 0; i < c->len; i++)
		if (c->v[i].kind == CHAR_FIELD || c->v[i].kind == CHAR_BREAK)
			return true;
	return false;
}

void words_split(struct expander *e, const struct ast_word *w, const struct chars *c,
		 struct words *out)
{
	struct splitter s = { .e = e, .word = w, .out = out };

	if (fields_need_split(c)) {
		fields_set_ifs(&s);
		for (size_t i = 0; i < c->len && !expand_failed(e); i++)
			fields_split_char(&s, &c->v[i]);
		fields_split_end(&s);
		chars_release(&s.now);
	} else if (c->len > 0) {
		struct shell_word word = { .start = w->start, .end = w->end };

		word_make(e, c->v, c->len, &word);
		word_add(e, out, &word);
	}
}

/* ---- known words ---- */

const char *shell_word_constant(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++)
		if (w->kind[i] != SHELL_LITERAL)
			return NULL;
	return w->text.s;
}
