/*
 * What a command writes, as far as its words and its input tell: echo, printf
 * (shell_expand_echo.c), cat, and filters that people hide commands with. It never
 * reads a file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shell/expand.h"

struct call {
	const struct shell_word *words;
	size_t count;
};

static enum status do_echo(struct expander *e, const struct call *c)
{
	return expand_echo(e, c->words, c->count);
}

static enum status do_printf(struct expander *e, const struct call *c)
{
	size_t first = c->count > 1 && strcmp(c->words[1].text.s, "--") == 0 ? 2 : 1;

	if (c->count > first)
		expand_printf(e, c->words + first, c->count - first, e->capture);
	return STATUS_OK;
}

/* ---- what passes its input on ---- */

static void unknown(struct expander *e, const struct call *c)
{
	const char *name = c->count > 0 ? expand_constant(&c->words[0]) : NULL;
	const char *slash = name ? strrchr(name, '/') : NULL;
	char text[36] = "$(";
	struct cell cell;
	size_t len;

	if (name) {
		name = slash ? slash + 1 : name;
		len = strnlen(name, 32);
		memcpy(text + 2, name, len);
		memcpy(text + 2 + len, ")", 2);
	}
	cell = cell_unknown(e, name ? text : NULL, CELL_UNKNOWN,
			    c->count > 0 ? c->words[0].start : 0);
	cells_copy(e, e->capture, &cell, 1);
}

/* Has the command a word that names a file? */
static bool has_operand(const struct call *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].text.s[0] != '-' || c->words[i].text.len == 0)
			return true;
	return false;
}

static enum status do_cat(struct expander *e, const struct call *c)
{
	const struct value *in = e->input;

	/* cat <(echo x) */
	if (c->count == 2 && c->words[1].content)
		in = word_value(e, c->words[1].content);
	else if (has_operand(c) && strcmp(c->words[0].text.s, "tee") != 0)
		in = NULL;
	if (in)
		cells_copy(e, e->capture, in->v, in->len);
	else
		unknown(e, c);
	return STATUS_UNKNOWN;
}

/* One line at a time, from its end to its start. */
static enum status do_rev(struct expander *e, const struct call *c)
{
	const struct value *in = has_operand(c) ? NULL : e->input;
	uint32_t from = 0;

	if (!in) {
		unknown(e, c);
		return STATUS_UNKNOWN;
	}
	for (uint32_t i = 0; i <= in->len; i++) {
		if (i < in->len && in->v[i].c != '\n')
			continue;
		for (uint32_t k = i; k-- > from;)
			cells_copy(e, e->capture, &in->v[k], 1);
		if (i < in->len)
			cells_copy(e, e->capture, &in->v[i], 1);
		from = i + 1;
	}
	return STATUS_UNKNOWN;
}

/* ---- where a program is ---- */

/* which rm, command -v rm, type -p rm: a path that ends in the name. */
static enum status do_which(struct expander *e, const struct call *c)
{
	const struct shell_word *w = &c->words[c->count - 1];
	const char *name = c->count > 1 ? expand_constant(w) : NULL;

	if (!name || name[0] == '-') {
		unknown(e, c);
		return STATUS_UNKNOWN;
	}
	if (!strchr(name, '/'))
		cells_text(e, e->capture, "/usr/bin/", CELL_QUOTED, w->start);
	cells_text(e, e->capture, name, CELL_QUOTED, w->start);
	cells_add(e, e->capture, '\n', CELL_QUOTED, w->start, 0);
	return STATUS_UNKNOWN;
}

static enum status do_command(struct expander *e, const struct call *c)
{
	if (c->count == 3 && strcmp(c->words[1].text.s, "-v") == 0)
		return do_which(e, c);
	unknown(e, c);
	return STATUS_UNKNOWN;
}

/* basename /x/rm, dirname /x/y */
static enum status do_basename(struct expander *e, const struct call *given)
{
	bool dashes = given->count > 1 && strcmp(given->words[1].text.s, "--") == 0;
	const struct call *c = &(struct call){ given->words + dashes, given->count - dashes };
	const char *path = c->count == 2 ? expand_constant(&c->words[1]) : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	bool base = strcmp(given->words[0].text.s, "basename") == 0;

	if (!path && c->count == 2) {
		const struct shell_word *w = &c->words[1];
		const struct value *v = word_value(e, w);
		uint32_t from = 0;

		/* /proc/[0-9]*: a pattern stays one; the home is below /home. */
		for (uint32_t i = 0; base && i < v->len; i++)
			from = v->v[i].c == '/' ? i + 1 : from;
		if (base && from && from < v->len && w->text.len == v->len) {
			for (uint32_t i = from; i < v->len; i++) {
				struct cell one = v->v[i];

				one.kind = w->kind[i] == SHELL_GLOB ? CELL_GLOB : one.kind;
				cells_copy(e, e->capture, &one, 1);
			}
			return STATUS_OK;
		}
		if (!base && w->text.len == 1 && w->kind[0] == SHELL_TILDE) {
			cells_text(e, e->capture, "/home", CELL_QUOTED, w->start);
			return STATUS_OK;
		}
	}
	if (!path || (slash && !slash[1])) {
		unknown(e, given);
		return STATUS_UNKNOWN;
	}
	const char *part = base ? (slash ? slash + 1 : path)
				: !slash ? "." : slash == path ? "/"
				: shell_copy(e->arena, path, (size_t)(slash - path));

	cells_text(e, e->capture, part, CELL_QUOTED, c->words[1].start);
	cells_add(e, e->capture, '\n', CELL_QUOTED, c->words[1].start, 0);
	return STATUS_OK;
}

/* pwd: what cd made of it. */
static enum status do_pwd(struct expander *e, const struct call *c)
{
	bool unset;
	const struct value *v = vars_value(e, "PWD", &unset);

	if (v)
		cells_copy(e, e->capture, v->v, v->len);
	else
		unknown(e, c);
	return STATUS_OK;
}

/* realpath and readlink -f of a path; a link would lead elsewhere, but nobody knows. */
static enum status do_realpath(struct expander *e, const struct call *c)
{
	const struct shell_word *w = &c->words[c->count - 1];
	bool link = strcmp(c->words[0].text.s, "readlink") == 0;

	if (c->count < (link ? 3u : 2u) || w->text.len == 0 || w->text.s[0] == '-' ||
	    (w->kind[0] != SHELL_TILDE && w->text.s[0] != '/')) {
		unknown(e, c);
		return STATUS_UNKNOWN;
	}
	const struct value *v = word_value(e, w);

	cells_copy(e, e->capture, v->v, v->len);
	return STATUS_UNKNOWN;
}

/* seq 3, seq 1 3: the numbers, if they are few. */
static enum status do_seq(struct expander *e, const struct call *c)
{
	const char *s[2] = { "1", "1" };
	char text[32];

	if (c->count < 2 || c->count > 3) {
		unknown(e, c);
		return STATUS_UNKNOWN;
	}
	for (size_t i = 1; i < c->count; i++)
		s[i == c->count - 1] = expand_constant(&c->words[i]);
	long long from = s[0] ? strtoll(s[0], NULL, 10) : 0;
	long long to = s[1] ? strtoll(s[1], NULL, 10) : -1;

	if (!s[0] || !s[1] || to < from || to - from > 63) {
		unknown(e, c);
		return STATUS_UNKNOWN;
	}
	for (; from <= to; from++) {
		snprintf(text, sizeof(text), "%lld\n", from);
		cells_text(e, e->capture, text, CELL_QUOTED, c->words[0].start);
	}
	return STATUS_OK;
}

/* expr 1 + 1: its words are the arithmetic. */
static enum status do_expr(struct expander *e, const struct call *c)
{
	struct cells sum = { 0 };
	int64_t result;
	char text[32];

	for (size_t i = 1; i < c->count; i++) {
		const struct value *v = word_value(e, &c->words[i]);

		cells_copy(e, &sum, v->v, v->len);
		cells_add(e, &sum, ' ', CELL_QUOTED, 0, 0);
	}
	if (c->count == 4 && expand_arith(e, &sum, &result)) {
		snprintf(text, sizeof(text), "%lld\n", (long long)result);
		cells_text(e, e->capture, text, CELL_QUOTED, c->words[0].start);
	} else {
		unknown(e, c);
	}
	cells_release(&sum);
	return STATUS_UNKNOWN;
}

static enum status do_filter(struct expander *e, const struct call *c)
{
	struct cells out = { 0 };
	bool known = e->input && expand_filter(e, c->words, c->count, e->input, &out);

	if (known)
		cells_copy(e, e->capture, out.v, out.len);
	else
		unknown(e, c);
	cells_release(&out);
	return STATUS_UNKNOWN;
}

/* grep, fold, pv: what comes in goes out, or less of it. A file is not read. */
static enum status do_pass(struct expander *e, const struct call *c)
{
	bool grep = strstr(c->words[0].text.s, "grep") != NULL;
	size_t files = 0;

	for (size_t i = 1; i < c->count; i++) {
		const char *s = c->words[i].text.s;

		files += s[0] != '-' || !s[1] ? strcmp(s, "-") != 0 && !strchr(s, '=') : 0;
		if (s[0] == '-' && strchr("wsbd", s[1]) && s[1] && !s[2])
			i++; /* fold -w 80 */
	}
	if (files > grep || !e->input)
		unknown(e, c);
	else
		cells_copy(e, e->capture, e->input->v, e->input->len);
	return STATUS_UNKNOWN;
}

static enum status do_names(struct expander *e, const struct call *c)
{
	if (!expand_names(e, c->words, c->count))
		unknown(e, c);
	return STATUS_UNKNOWN;
}

static enum status do_nothing(struct expander *e, const struct call *c)
{
	(void)e;
	(void)c;
	return STATUS_UNKNOWN;
}

static const struct program {
	const char *name;
	enum status (*run)(struct expander *e, const struct call *c);
} programs[] = {
	{ "basename", do_basename }, { "cat", do_cat },        { "expr", do_expr },
	{ "pwd", do_pwd },           { "readlink", do_realpath }, { "realpath", do_realpath },
	{ "seq", do_seq },           { "exit", do_nothing },    { "return", do_nothing },
	{ "command", do_command },   { "dirname", do_basename }, { "echo", do_echo },
	{ "print", do_echo },
	{ "mkdir", do_nothing },     { "printf", do_printf },  { "rev", do_rev },
	{ "sleep", do_nothing },     { "tee", do_cat },        { "test", do_nothing },
	{ "touch", do_nothing },     { "trap", do_nothing },   { "type", do_which },
	{ "which", do_which },       { "[", do_nothing },      { "base64", do_filter },
	{ "base32", do_filter },     { "basenc", do_filter },  { "cut", do_filter },
	{ "head", do_filter },       { "openssl", do_filter }, { "tail", do_filter },
	{ "tr", do_filter },         { "xxd", do_filter },     { "tac", do_filter },
	{ "sort", do_filter },       { "uniq", do_filter },
	{ "grep", do_pass },         { "egrep", do_pass },     { "fgrep", do_pass },
	{ "fold", do_pass },         { "fmt", do_pass },       { "paste", do_pass },
	{ "nl", do_pass },           { "dd", do_pass },        { "pv", do_pass },
	{ "shuf", do_pass },         { "expand", do_pass },    { "column", do_pass },
	{ "mbuffer", do_pass },      { "buffer", do_pass },    { "dos2unix", do_pass },
	{ "find", do_names },        { "ls", do_names },       { "du", do_names },
	{ "tree", do_names },        { "locate", do_names },
};

static const char *base_name(const struct shell_word *w)
{
	const char *name = expand_constant(w), *slash = name ? strrchr(name, '/') : NULL;

	return slash ? slash + 1 : name;
}

enum status expand_output(struct expander *e, const struct shell_word *words, size_t count)
{
	struct call c = { words, count };
	const char *name = base_name(&words[0]);

	if (!e->capture)
		return name && (name[0] == 'e' || name[0] == 'p') &&
				       (strcmp(name, "echo") == 0 || strcmp(name, "printf") == 0)
			       ? STATUS_OK : STATUS_UNKNOWN;
	for (size_t i = 0; name && i < COUNT_OF(programs); i++) {
		if (programs[i].name[0] == name[0] && strcmp(programs[i].name, name) == 0)
			return programs[i].run(e, &c);
	}
	unknown(e, &c);
	return STATUS_UNKNOWN;
}
