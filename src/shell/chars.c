/*
 * Bounds of the walk; chars, values, and the names of unknown characters.
 *
 * A text to parse may be the result of an expansion and have unknown characters
 * (sh -c "rm $x"). It has a mark for each: \001 NAME \001, or \001 \021 NAME \001 if it is not
 * empty; characters of NAME that are special to a shell are replaced. To the lexer a mark is
 * an ordinary character, in quotes too; mark_expand() makes it an unknown one again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

/* Chars of one word or value. */
#define CHARS_MAX (5u << 18)

/* ---- bounds ---- */

void expand_trouble(struct expander *e, enum shell_trouble trouble, const char *what, uint32_t at)
{
	if (e->script->trouble != SHELL_FINE)
		return;
	e->script->trouble = trouble;
	e->script->trouble_text = what;
	e->script->trouble_at = at;
}

bool expand_failed(struct expander *e)
{
	if (e->fuel == 0 || shell_arena_spent(e->arena) || shell_arena_spent(&e->memory->tree))
		expand_trouble(e, SHELL_TOO_LONG, "an expansion too long to judge", 0);
	return e->script->trouble != SHELL_FINE;
}

bool expand_enter(struct expander *e, uint32_t at)
{
	if (e->depth == 0) {
		expand_trouble(e, SHELL_TOO_DEEP, "too many levels of nesting", at);
		return false;
	}
	e->depth--;
	return true;
}

void expand_leave(struct expander *e)
{
	e->depth++;
}

/* ---- chars ---- */

/* Memory of the last chars released: most words are short, and made one at a time. */
static struct chars spare_chars;
#define SPARE_MAX 1024u

void chars_release(struct chars *c)
{
	if (!spare_chars.v && c->cap <= SPARE_MAX)
		spare_chars = *c;
	else
		free(c->v);
	*c = (struct chars){ 0 };
}

static void chars_grow(struct chars *c, size_t need)
{
	size_t cap = c->cap ? c->cap * 2 : 16;

	if (!c->cap && need <= spare_chars.cap) {
		c->v = spare_chars.v;
		c->cap = spare_chars.cap;
		spare_chars = (struct chars){ 0 };
		return;
	}
	c->cap = cap > need ? cap : need;
	c->v = mem_realloc(c->v, c->cap * sizeof(*c->v));
}

bool chars_room(struct expander *e, struct chars *c, size_t more)
{
	if (more > CHARS_MAX - c->len || more > e->fuel) {
		e->fuel = 0;
		return false;
	}
	e->fuel -= more;
	if (c->len + more > c->cap)
		chars_grow(c, c->len + more);
	return true;
}

void chars_add(struct expander *e, struct chars *c, char ch, enum char_kind kind, uint32_t at,
	       uint16_t name)
{
	if (chars_room(e, c, 1))
		c->v[c->len++] = (struct shell_char){ at, name, (uint8_t)kind, ch };
}

void chars_copy(struct expander *e, struct chars *c, const struct shell_char *from, size_t len)
{
	if (len == 0 || !chars_room(e, c, len))
		return;
	memcpy(c->v + c->len, from, len * sizeof(*from));
	c->len += len;
}

void chars_text(struct expander *e, struct chars *c, const char *text, enum char_kind kind,
		uint32_t at)
{
	for (; *text; text++)
		chars_add(e, c, *text, kind, at, 0);
}

void chars_unquote(struct chars *c, size_t from)
{
	for (size_t i = from; i < c->len; i++)
		if (c->v[i].kind == CHAR_QUOTED)
			c->v[i].kind = CHAR_FIELD;
		else if (c->v[i].kind == CHAR_UNKNOWN)
			c->v[i].kind = CHAR_UNKNOWN_FIELDS;
}

void chars_may_be_missing(struct expander *e, struct chars *c, size_t from)
{
	uint16_t missing = c->len > from ? expand_name(e, NAME_MISSING) : 0;

	expand_charge(e, c->len > from ? c->len - from : 0);
	for (size_t i = from; i < c->len && e->fuel > 0; i++) {
		if (char_is_known(&c->v[i]))
			c->v[i].name = missing;
		else if (char_is_unknown(&c->v[i]))
			c->v[i].c = UNKNOWN_ANY;
	}
}

bool chars_known(const struct shell_char *v, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (v[i].kind > CHAR_FIELD && v[i].kind != CHAR_EMPTY)
			return false;
	return true;
}

bool chars_any_known(const struct chars *c)
{
	for (size_t i = 0; i < c->len; i++)
		if (c->v[i].kind < CHAR_UNKNOWN || c->v[i].kind == CHAR_TILDE)
			return true;
	return false;
}

char *chars_string(struct expander *e, const struct shell_char *v, size_t len)
{
	size_t n = 0;
	char *s;

	if (!chars_known(v, len))
		return NULL;
	s = shell_alloc(e->arena, len + 1);
	for (size_t i = 0; i < len; i++)
		if (v[i].kind != CHAR_EMPTY)
			s[n++] = v[i].c;
	return s;
}

/* ---- values and names ---- */

static struct shell_char chars_value_of(struct shell_char c)
{
	if (c.kind == CHAR_PLAIN || c.kind == CHAR_FIELD)
		c.kind = CHAR_QUOTED;
	else if (c.kind == CHAR_UNKNOWN_FIELDS)
		c.kind = CHAR_UNKNOWN;
	else if (c.kind == CHAR_BREAK)
		c = (struct shell_char){ c.at, 0, CHAR_QUOTED, ' ' };
	return c;
}

struct value *value_make(struct expander *e, const struct shell_char *v, size_t len)
{
	struct value *value = shell_alloc(e->arena, sizeof(*value));

	expand_charge(e, 8 + 2 * len);
	value->v = shell_alloc_raw(e->arena, len * sizeof(*v));
	for (size_t i = 0; i < len; i++)
		if (v[i].kind == CHAR_QUOTED)
			value->v[value->len++] = v[i];
		else if (v[i].kind != CHAR_EMPTY)
			value->v[value->len++] = chars_value_of(v[i]);
	return value;
}

struct value *value_take(struct expander *e, struct chars *c)
{
	struct value *value = value_make(e, c->v, c->len);

	chars_release(c);
	return value;
}

struct value_room {
	uint32_t used, size; /* characters */
};

/* A copy of @before with room for @more characters; with as many again if it had grown before. */
static struct value *chars_grow_value(struct expander *e, const struct value *before, uint32_t more)
{
	struct value *value = value_make(e, before->v, 0);
	uint32_t size = (before->len + more) * (before->room ? 2 : 1);

	expand_charge(e, 2 * (uint64_t)before->len);
	value->room = shell_alloc(e->arena, sizeof(*value->room));
	value->v = shell_alloc_raw(e->arena, size * sizeof(*value->v));
	memcpy(value->v, before->v, before->len * sizeof(*value->v));
	value->len = before->len;
	*value->room = (struct value_room){ before->len, size };
	return value;
}

struct value *value_append(struct expander *e, const struct value *before,
			   const struct value *more)
{
	const struct value_room *room = before->room;
	struct value *value;

	if (more->len > CHARS_MAX - before->len) {
		e->fuel = 0;
		return value_make(e, NULL, 0);
	}
	if (room && room->used == before->len && room->size - room->used >= more->len) {
		value = value_make(e, NULL, 0);
		*value = *before;
		value->other = NULL;
	} else {
		value = chars_grow_value(e, before, more->len);
	}
	expand_charge(e, more->len);
	memcpy(value->v + value->len, more->v, more->len * sizeof(*value->v));
	value->len += more->len;
	value->room->used = value->len;
	return value;
}

struct value *value_text(struct expander *e, const char *text, uint32_t at)
{
	struct chars c = { 0 };

	chars_text(e, &c, text, CHAR_QUOTED, at);
	return value_take(e, &c);
}

/*
 * Variables that the shell itself sets, see dash(1) and bash(1), TMPDIR, which procpen gives, but
 * sudo, ssh and cron do not pass on, and programs that always print something. Not OLDPWD, which
 * the first cd sets, nor USER and LOGNAME, which login sets.
 */
static bool chars_name_is_always_set(const struct expander *e, const char *name)
{
	static const char *const by_all[] = {
		"PWD", "PPID", "$", "#", "?", "$(mktemp)", "$(pwd)", "$(whoami)", "$(id)",
		"$(date)", "$(hostname)", "$(uname)", "$(basename)", "$(dirname)", "$(nproc)",
		"$(uuidgen)", "$(logname)", NULL,
	};
	static const char *const by_bash[] = {
		"RANDOM", "SECONDS", "UID", "EUID", "HOSTNAME", "LINENO", "SHLVL", "HOSTTYPE",
		"OSTYPE", "MACHTYPE", "BASHPID", "BASHOPTS", "SHELLOPTS", "BASH_VERSION",
		"BASH_SUBSHELL", "BASH_COMMAND", "BASH_EXECUTION_STRING", "OPTERR",
		"COMP_WORDBREAKS", NULL,
	};

	return name && (str_is_listed(name, by_all) ||
			(e->memory->is_outermost && str_is(name, "TMPDIR")) ||
			(e->memory->family == SHELL_FAMILY_BASH && str_is_listed(name, by_bash)));
}

struct shell_char char_unknown(struct expander *e, const char *name, enum char_kind kind,
			       uint32_t at)
{
	return (struct shell_char){ at, expand_name(e, name), (uint8_t)kind,
			      chars_name_is_always_set(e, name) ? UNKNOWN_SET : UNKNOWN_ANY };
}

struct value *value_unknown(struct expander *e, const char *name, uint32_t at)
{
	struct shell_char c = char_unknown(e, name, CHAR_UNKNOWN, at);

	return value_make(e, &c, 1);
}

struct value *value_unknown_given(struct expander *e, const char *name, uint32_t at)
{
	struct value *v = value_unknown(e, name, at);

	v->v[0].c = UNKNOWN_GIVEN; /* whatever the shell or procpen set before */
	return v;
}

struct value *value_unknown_set(struct expander *e, const char *name, uint32_t at)
{
	struct value *v = value_unknown(e, name, at);

	v->v[0].c = UNKNOWN_SET;
	return v;
}

bool value_is_any(const struct value *v)
{
	return v->len == 1 && v->v->kind == CHAR_UNKNOWN && v->v->c != UNKNOWN_SET;
}

const char *expand_name_text(const struct expander *e, uint16_t name)
{
	return name > 0 ? e->memory->names[name] : NULL;
}

/* Names kept; the table grows to about twice as many slots. */
#define NAMES_MAX 2048u

/* The slot of @name in the table, or the empty slot for it. */
static uint16_t *chars_name_slot(const struct shell_memory *m, const char *name)
{
	for (uint32_t at = str_hash(name, strlen(name));; at++) {
		uint16_t *slot = &m->name_slots[at & (m->name_slot_count - 1)];

		if (!*slot || strcmp(m->names[*slot], name) == 0)
			return slot;
	}
}

/* Room for one more name. */
static void chars_grow_names(struct expander *e)
{
	struct shell_memory *m = e->memory;
	size_t cap = m->name_cap ? m->name_cap * 4 : 16;
	const char **names = shell_alloc(e->arena, cap * sizeof(*names));

	if (m->name_cap > 0)
		memcpy(names, m->names, m->name_cap * sizeof(*names));
	m->names = names;
	m->name_cap = cap;
	m->name_slot_count = (unsigned)cap * 2;
	m->name_slots = shell_alloc(e->arena, m->name_slot_count * sizeof(*m->name_slots));
	for (size_t i = 1; i <= m->name_count; i++)
		*chars_name_slot(m, m->names[i]) = (uint16_t)i;
}

/* The number of a name; 0 for NULL, or if there are NAMES_MAX others. */
uint16_t expand_name(struct expander *e, const char *name)
{
	struct shell_memory *m = e->memory;
	uint16_t *slot;

	if (!name)
		return 0;
	if (m->name_count + 1 >= m->name_cap && m->name_count < NAMES_MAX)
		chars_grow_names(e);
	slot = chars_name_slot(m, name);
	if (*slot || m->name_count >= NAMES_MAX)
		return *slot;
	m->names[++m->name_count] = shell_copy(e->arena, name, strlen(name));
	*slot = (uint16_t)m->name_count;
	return *slot;
}

/* ---- marks ---- */

static const char mark_special[] = "$()<{}. ";
static const char mark_replaced[] = "\002\003\004\005\006\016\017\020";
static const char mark_set = '\021', mark_given = '\022';

bool word_is_partial(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++)
		if (w->kind[i] >= SHELL_UNKNOWN)
			return true;
	return false;
}

static char *chars_put_mark_name(char *s, const char *name)
{
	for (; *name; name++) {
		const char *at = strchr(mark_special, *name);

		*s++ = at ? mark_replaced[at - mark_special] : *name;
	}
	return s;
}

static size_t chars_marked_length(const struct shell_word *w)
{
	size_t len = w->text.len + 1;

	for (uint32_t i = 0; i < w->unknown_count; i++)
		len += strlen(w->unknowns[i].name) + 3;
	return len + 2 * w->text.len;
}

struct shell_text mark_text(struct shell_arena *arena, const struct shell_word *w)
{
	size_t room = chars_marked_length(w), len = 0;
	char *s = shell_alloc_raw(arena, room);
	uint32_t *at = shell_alloc_raw(arena, room * sizeof(*at));

	for (size_t i = 0; i < w->text.len; i++) {
		uint8_t kind = w->kind[i];
		size_t from = len;

		if (kind == SHELL_UNKNOWN || kind == SHELL_UNKNOWN_FIELDS || kind == SHELL_TILDE) {
			const struct shell_unknown *u = shell_word_unknown(w, i);

			s[len++] = '\001';
			if (u && (u->is_set || u->is_given))
				s[len++] = u->is_set ? mark_set : mark_given;
			if (kind == SHELL_TILDE)
				s[len++] = '~';
			else if (u)
				len = (size_t)(chars_put_mark_name(s + len, u->name) - s);
			s[len++] = '\001';
		} else {
			s[len++] = w->text.s[i] == '\001' ? '\002' : w->text.s[i];
		}
		for (; from < len; from++)
			at[from] = w->text.at ? w->text.at[i] : (uint32_t)i;
	}
	s[len] = '\0';
	return (struct shell_text){ s, at, len };
}

uint32_t shell_word_unknowns_before(const struct shell_word *w, size_t index)
{
	uint32_t low = 0, high = w->unknown_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->unknowns[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct shell_unknown *shell_word_unknown(const struct shell_word *w, size_t index)
{
	uint32_t i = shell_word_unknowns_before(w, index);

	return i < w->unknown_count && w->unknowns[i].index == index ? &w->unknowns[i] : NULL;
}

/* Append the character for the mark at @i of @t. Returns the index of the mark's last byte. */
uint32_t mark_expand(struct expander *e, const struct ast_text *t, uint32_t i, bool quoted,
		     struct chars *out)
{
	const char *end = memchr(t->s + i + 1, '\001', t->len - i - 1);
	uint32_t at = t->at ? t->at[i] : t->pos + i;
	uint32_t last = end ? (uint32_t)(end - t->s) : t->len - 1;
	bool is_set = i < last && t->s[i + 1] == mark_set;
	bool is_given = i < last && t->s[i + 1] == mark_given;
	char *name = shell_alloc_raw(e->arena, last - i + 1);
	struct shell_char c;
	size_t len = 0;

	for (uint32_t k = i + 1 + (is_set || is_given); k < last; k++) {
		const char *r = strchr(mark_replaced, t->s[k]);

		name[len++] = r && *r ? mark_special[r - mark_replaced] : t->s[k];
	}
	name[len] = '\0';
	c = (struct shell_char){ at, len > 0 ? expand_name(e, name) : 0,
			   quoted ? CHAR_UNKNOWN : CHAR_UNKNOWN_FIELDS,
			   is_set ? UNKNOWN_SET : is_given ? UNKNOWN_GIVEN : UNKNOWN_ANY };
	if (strcmp(name, "~") == 0)
		c = (struct shell_char){ at, expand_name(e, "HOME"), CHAR_TILDE, '~' };
	chars_copy(e, out, &c, 1);
	return last;
}
