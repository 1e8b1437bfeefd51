/* Bounds of the walk; cells, values, and the names of unknown characters. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shell/expand.h"

/* Cells of one word or value. */
#define CELLS_MAX (5u << 18)

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

/* ---- cells ---- */

/* The memory of the last cells that were released: most words are short, and one at a time. */
static struct cells spare;
#define SPARE_MAX 1024u

void cells_release(struct cells *c)
{
	if (!spare.v && c->cap <= SPARE_MAX)
		spare = *c;
	else
		free(c->v);
	*c = (struct cells){ 0 };
}

static void cells_grow(struct cells *c, size_t need)
{
	size_t cap = c->cap ? c->cap * 2 : 16;

	if (!c->cap && need <= spare.cap) {
		c->v = spare.v;
		c->cap = spare.cap;
		spare = (struct cells){ 0 };
		return;
	}
	c->cap = cap > need ? cap : need;
	c->v = mem_realloc(c->v, c->cap * sizeof(*c->v));
}

bool cells_room(struct expander *e, struct cells *c, size_t more)
{
	if (more > CELLS_MAX - c->len || more > e->fuel) {
		e->fuel = 0;
		return false;
	}
	e->fuel -= more;
	if (c->len + more > c->cap)
		cells_grow(c, c->len + more);
	return true;
}

void cells_add(struct expander *e, struct cells *c, char ch, enum cell_kind kind, uint32_t at,
	       uint16_t name)
{
	if (cells_room(e, c, 1))
		c->v[c->len++] = (struct cell){ at, name, (uint8_t)kind, ch };
}

void cells_copy(struct expander *e, struct cells *c, const struct cell *from, size_t len)
{
	if (len == 0 || !cells_room(e, c, len))
		return;
	memcpy(c->v + c->len, from, len * sizeof(*from));
	c->len += len;
}

void cells_text(struct expander *e, struct cells *c, const char *text, enum cell_kind kind,
		uint32_t at)
{
	for (; *text; text++)
		cells_add(e, c, *text, kind, at, 0);
}

bool cells_known(const struct cell *v, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (v[i].kind > CELL_FIELD && v[i].kind != CELL_EMPTY)
			return false;
	return true;
}

char *cells_string(struct expander *e, const struct cell *v, size_t len)
{
	size_t n = 0;
	char *s;

	if (!cells_known(v, len))
		return NULL;
	s = shell_alloc(e->arena, len + 1);
	for (size_t i = 0; i < len; i++)
		if (v[i].kind != CELL_EMPTY)
			s[n++] = v[i].c;
	return s;
}

/* ---- values and names ---- */

static struct cell as_value(struct cell c)
{
	if (c.kind == CELL_PLAIN || c.kind == CELL_FIELD)
		c.kind = CELL_QUOTED;
	else if (c.kind == CELL_UNKNOWN_FIELDS)
		c.kind = CELL_UNKNOWN;
	else if (c.kind == CELL_BREAK)
		c = (struct cell){ c.at, 0, CELL_QUOTED, ' ' };
	return c;
}

struct value *value_make(struct expander *e, const struct cell *v, size_t len)
{
	struct value *value = shell_alloc(e->arena, sizeof(*value));

	expand_charge(e, 8 + 2 * len);
	value->v = shell_alloc_raw(e->arena, len * sizeof(*v));
	for (size_t i = 0; i < len; i++)
		if (v[i].kind == CELL_QUOTED)
			value->v[value->len++] = v[i];
		else if (v[i].kind != CELL_EMPTY)
			value->v[value->len++] = as_value(v[i]);
	return value;
}

struct value *value_text(struct expander *e, const char *text, uint32_t at)
{
	struct cells c = { 0 };
	struct value *v;

	cells_text(e, &c, text, CELL_QUOTED, at);
	v = value_make(e, c.v, c.len);
	cells_release(&c);
	return v;
}

static bool is_one_of(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (names[i][0] == name[0] && strcmp(names[i], name) == 0)
			return true;
	return false;
}

/*
 * Variables that the shell sets itself, dash(1) and bash(1), and programs that always print
 * something. OLDPWD is set by the first cd; USER and LOGNAME are whoever started the server's.
 */
static bool is_always_set(const struct expander *e, const char *name)
{
	static const char *const by_all[] = {
		"PWD", "PPID", "$", "#", "?", "$(mktemp)", "$(pwd)", "$(whoami)", "$(id)",
		"$(date)", "$(hostname)", "$(uname)", "$(basename)", "$(dirname)", "$(nproc)",
		"$(uuidgen)", "$(logname)",
	};
	static const char *const by_bash[] = {
		"RANDOM", "SECONDS", "UID", "EUID", "HOSTNAME", "BASHPID", "LINENO", "SHLVL",
	};

	return name && (is_one_of(by_all, COUNT_OF(by_all), name) ||
			(e->memory->bash && is_one_of(by_bash, COUNT_OF(by_bash), name)));
}

struct cell cell_unknown(struct expander *e, const char *name, enum cell_kind kind, uint32_t at)
{
	return (struct cell){ at, expand_name(e, name), (uint8_t)kind,
			      is_always_set(e, name) ? UNKNOWN_SET : UNKNOWN_ANY };
}

struct value *value_unknown(struct expander *e, const char *name, uint32_t at)
{
	struct cell c = cell_unknown(e, name, CELL_UNKNOWN, at);

	return value_make(e, &c, 1);
}

const char *expand_name_text(const struct expander *e, uint16_t name)
{
	return name > 0 ? e->memory->names[name] : NULL;
}

/* Names that are told apart; the table of them grows up to twice as many slots. */
#define NAMES_MAX 2048u

/* Where @name is in the table, or would be. */
static uint16_t *name_slot(const struct shell_memory *m, const char *name)
{
	uint32_t h = 5381;

	for (const char *p = name; *p; p++)
		h = h * 33 ^ (unsigned char)*p;
	for (;; h++) {
		uint16_t *slot = &m->name_slots[h & (m->name_slot_count - 1)];

		if (!*slot || strcmp(m->names[*slot], name) == 0)
			return slot;
	}
}

/* Room for one more name. */
static void grow_names(struct expander *e)
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
		*name_slot(m, m->names[i]) = (uint16_t)i;
}

/* The number of a name; 0 when there are too many to tell apart. */
uint16_t expand_name(struct expander *e, const char *name)
{
	struct shell_memory *m = e->memory;
	uint16_t *slot;

	if (!name)
		return 0;
	if (m->name_count + 1 >= m->name_cap && m->name_count < NAMES_MAX)
		grow_names(e);
	slot = name_slot(m, name);
	if (*slot || m->name_count >= NAMES_MAX)
		return *slot;
	m->names[++m->name_count] = shell_copy(e->arena, name, strlen(name));
	*slot = (uint16_t)m->name_count;
	return *slot;
}
