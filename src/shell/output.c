/*
 * The output of a command, from its words and known input: echo, yes, cat, programs that pass their
 * input on, paths. Never reads a file. The output of a filter with other options is unknown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

/* ---- echo ---- */

static bool output_echo_is_option(const char *s)
{
	return s && s[0] == '-' && s[1] && strspn(s + 1, "neE") == strlen(s + 1);
}

/* Escapes act as in dash, also for bash unless -E is given: they may hide a command. */
static enum status output_echo(struct expander *e, const struct call *c)
{
	bool newline = true, escapes = true;
	size_t i = 1;

	for (; i < c->count && output_echo_is_option(shell_word_constant(&c->words[i])); i++) {
		newline &= !strchr(c->words[i].text.s, 'n');
		escapes = !strchr(c->words[i].text.s, 'E');
	}
	for (size_t first = i; i < c->count; i++) {
		const struct value *v = word_value(e, &c->words[i]);

		if (i > first)
			chars_add(e, e->io.capture, ' ', CHAR_QUOTED, c->words[i].start, 0);
		if (!escapes)
			chars_copy(e, e->io.capture, v->v, v->len);
		else if (!printf_escaped(e, v, e->io.capture))
			return STATUS_OK;
	}
	if (newline)
		chars_add(e, e->io.capture, '\n', CHAR_QUOTED, word_last(&c->words[0]), 0);
	return STATUS_OK;
}

/* ---- the commands ---- */

static enum status output_run_printf(struct expander *e, const struct call *c)
{
	size_t first = c->count > 1 && strcmp(c->words[1].text.s, "--") == 0 ? 2 : 1;

	if (c->count > first)
		printf_format(e, &(struct call){ c->words + first, c->count - first },
			      e->io.capture);
	return STATUS_OK;
}

/* ---- programs that pass their input on ---- */

const char *shell_output_name(const char *program, char name[SHELL_OUTPUT_NAME_SIZE])
{
	const char *base = str_base_name(program);
	size_t len = strnlen(base, SHELL_OUTPUT_NAME_SIZE - sizeof("$()"));

	memcpy(name, "$(", 2);
	memcpy(name + 2, base, len);
	memcpy(name + 2 + len, ")", 2);
	return name;
}

static enum status output_unknown(struct expander *e, const struct call *c)
{
	const char *name = c->count > 0 ? shell_word_constant(&c->words[0]) : NULL;
	char text[SHELL_OUTPUT_NAME_SIZE];
	struct shell_char ch;

	ch = char_unknown(e, name ? shell_output_name(name, text) : NULL, CHAR_UNKNOWN,
			  c->count > 0 ? c->words[0].start : 0);
	chars_copy(e, e->io.capture, &ch, 1);
	return STATUS_UNKNOWN;
}

/* Has the command an operand, which names a file? */
static bool output_has_operand(const struct call *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (c->words[i].text.s[0] != '-' || c->words[i].text.len == 0)
			return true;
	return false;
}

static enum status output_cat(struct expander *e, const struct call *c)
{
	const struct value *in = e->io.input;

	/* cat <(echo x) */
	if (c->count == 2 && c->words[1].content)
		in = word_value(e, c->words[1].content);
	else if (output_has_operand(c) && strcmp(c->words[0].text.s, "tee") != 0)
		in = NULL;
	if (in)
		chars_copy(e, e->io.capture, in->v, in->len);
	else
		output_unknown(e, c);
	return STATUS_UNKNOWN;
}

/* rev reverses each line. */
static enum status output_rev(struct expander *e, const struct call *c)
{
	const struct value *in = output_has_operand(c) ? NULL : e->io.input;
	uint32_t from = 0;

	if (!in)
		return output_unknown(e, c);
	for (uint32_t i = 0; i <= in->len; i++) {
		if (i < in->len && in->v[i].c != '\n')
			continue;
		for (uint32_t k = i; k-- > from;)
			chars_copy(e, e->io.capture, &in->v[k], 1);
		if (i < in->len)
			chars_copy(e, e->io.capture, &in->v[i], 1);
		from = i + 1;
	}
	return STATUS_UNKNOWN;
}

/* ---- paths ---- */

/* which rm, command -v rm, type -p rm: an unknown path that ends in the name. */
static enum status output_which(struct expander *e, const struct call *c)
{
	const struct shell_word *w = &c->words[c->count - 1];
	const char *name = c->count > 1 ? shell_word_constant(w) : NULL;

	if (!name || name[0] == '-')
		return output_unknown(e, c);
	if (!strchr(name, '/'))
		chars_text(e, e->io.capture, "/usr/bin/", CHAR_QUOTED, w->start);
	chars_text(e, e->io.capture, name, CHAR_QUOTED, w->start);
	chars_add(e, e->io.capture, '\n', CHAR_QUOTED, w->start, 0);
	return STATUS_UNKNOWN;
}

static enum status output_command(struct expander *e, const struct call *c)
{
	if (c->count == 3 && strcmp(c->words[1].text.s, "-v") == 0)
		return output_which(e, c);
	return output_unknown(e, c);
}

/* The dirname of a known path below a home, or of the home itself, which lies in /home. */
static bool output_dirname_of_home(struct expander *e, const struct shell_word *w,
				   const struct value *v)
{
	size_t len = w->text.len;

	if (!len || w->kind[0] != SHELL_TILDE || memchr(w->kind, SHELL_GLOB, len) ||
	    word_is_partial(w))
		return false;
	while (len > 1 && w->text.s[len - 1] == '/')
		len--;
	while (len > 0 && w->text.s[len - 1] != '/')
		len--;
	while (len > 1 && w->text.s[len - 1] == '/')
		len--;
	if (len)
		chars_copy(e, e->io.capture, v->v, len);
	else
		chars_text(e, e->io.capture, "/home", CHAR_QUOTED, w->start);
	return true;
}

/* basename /x/rm, dirname /x/y */
static enum status output_basename(struct expander *e, const struct call *given)
{
	bool dashes = given->count > 1 && strcmp(given->words[1].text.s, "--") == 0;
	const struct call *c = &(struct call){ given->words + dashes, given->count - dashes };
	const char *path = c->count == 2 ? shell_word_constant(&c->words[1]) : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	bool base = strcmp(given->words[0].text.s, "basename") == 0;

	if (!path && c->count == 2) {
		const struct shell_word *w = &c->words[1];
		const struct value *v = word_value(e, w);
		uint32_t from = 0;

		/* The base name of /proc/[0-9]* is a glob; the dirname of ~ is /home. */
		for (uint32_t i = 0; base && i < v->len; i++)
			from = v->v[i].c == '/' ? i + 1 : from;
		if (base && from && from < v->len && w->text.len == v->len) {
			for (uint32_t i = from; i < v->len; i++) {
				struct shell_char one = v->v[i];

				one.kind = w->kind[i] == SHELL_GLOB ? CHAR_GLOB : one.kind;
				chars_copy(e, e->io.capture, &one, 1);
			}
			return STATUS_OK;
		}
		if (!base && output_dirname_of_home(e, w, v))
			return STATUS_OK;
	}
	if (!path || (slash && !slash[1]))
		return output_unknown(e, given);
	const char *part = base ? str_base_name(path)
				: !slash ? "." : slash == path ? "/"
				: shell_copy(e->arena, path, (size_t)(slash - path));

	chars_text(e, e->io.capture, part, CHAR_QUOTED, c->words[1].start);
	chars_add(e, e->io.capture, '\n', CHAR_QUOTED, c->words[1].start, 0);
	return STATUS_OK;
}

/* pwd: the value that cd gave to PWD. */
static enum status output_pwd(struct expander *e, const struct call *c)
{
	const struct value *v = vars_value(e, "PWD");

	if (v)
		chars_copy(e, e->io.capture, v->v, v->len);
	else
		output_unknown(e, c);
	return STATUS_OK;
}

/* realpath and readlink -f: the path itself, as if there were no links; of .. and ../.., that of
 * the shell before it. */
static enum status output_realpath(struct expander *e, const struct call *c)
{
	const struct shell_word *w = &c->words[c->count - 1];
	bool link = strcmp(c->words[0].text.s, "readlink") == 0;
	const struct value *v, *pwd = vars_value(e, "PWD");

	if (c->count < (link ? 3u : 2u) || w->text.len == 0 || w->text.s[0] == '-')
		return output_unknown(e, c);
	if (pwd && pwd->len && char_is_known(&pwd->v[0]) && strncmp(w->text.s, "..", 2) == 0 &&
	    w->text.s[strspn(w->text.s, "./")] == '\0') {
		chars_copy(e, e->io.capture, pwd->v, pwd->len);
		chars_text(e, e->io.capture, "/", CHAR_QUOTED, w->start);
	} else if (w->kind[0] != SHELL_TILDE && w->text.s[0] != '/') {
		return output_unknown(e, c);
	}
	v = word_value(e, w);
	chars_copy(e, e->io.capture, v->v, v->len);
	return STATUS_UNKNOWN;
}

/* seq 3, seq 1 3: the numbers, if they are few. */
static enum status output_seq(struct expander *e, const struct call *c)
{
	const char *s[2] = { "1", "1" };
	char text[32];

	if (c->count < 2 || c->count > 3)
		return output_unknown(e, c);
	for (size_t i = 1; i < c->count; i++)
		s[i == c->count - 1] = shell_word_constant(&c->words[i]);
	long long from = s[0] ? strtoll(s[0], NULL, 10) : 0;
	long long to = s[1] ? strtoll(s[1], NULL, 10) : -1;

	if (!s[0] || !s[1] || to < from || to - from > 63)
		return output_unknown(e, c);
	for (; from <= to; from++) {
		snprintf(text, sizeof(text), "%lld\n", from);
		chars_text(e, e->io.capture, text, CHAR_QUOTED, c->words[0].start);
	}
	return STATUS_OK;
}

/* yes TEXT: the first of its lines, which are all the same. */
static enum status output_yes(struct expander *e, const struct call *c)
{
	if (c->count < 2)
		return output_unknown(e, c);
	output_echo(e, c);
	return STATUS_UNKNOWN;
}

/* expr 1 + 1: the words are an arithmetic expression. */
static enum status output_expr(struct expander *e, const struct call *c)
{
	struct chars sum = { 0 };
	int64_t result;
	char text[32];

	for (size_t i = 1; i < c->count; i++) {
		const struct value *v = word_value(e, &c->words[i]);

		chars_copy(e, &sum, v->v, v->len);
		chars_add(e, &sum, ' ', CHAR_QUOTED, 0, 0);
	}
	if (c->count == 4 && expand_arith(e, &sum, &result)) {
		snprintf(text, sizeof(text), "%lld\n", (long long)result);
		chars_text(e, e->io.capture, text, CHAR_QUOTED, c->words[0].start);
	} else {
		output_unknown(e, c);
	}
	chars_release(&sum);
	return STATUS_UNKNOWN;
}

static enum status output_filtered(struct expander *e, const struct call *c, filter_fn *filter)
{
	struct chars out = { 0 };

	if (e->io.input && filter(&(struct filter){ e, c, e->io.input, &out }))
		chars_copy(e, e->io.capture, out.v, out.len);
	else
		output_unknown(e, c);
	chars_release(&out);
	return STATUS_UNKNOWN;
}

/* grep, fold, pv: the output is the input, or a part of it; unknown for a file. */
static enum status output_pass(struct expander *e, const struct call *c)
{
	bool grep = strstr(c->words[0].text.s, "grep") != NULL;
	bool picks = (grep && !filenames_has_letter(c, 'v')) ||
		     strstr(c->words[0].text.s, "shuf");
	size_t files = 0;

	for (size_t i = 1; i < c->count; i++) {
		const char *s = c->words[i].text.s;

		files += s[0] != '-' || !s[1] ? strcmp(s, "-") != 0 && !strchr(s, '=') : 0;
		if (s[0] == '-' && strchr("wsbde", s[1]) && s[1] && !s[2])
			i++; /* the value, as of fold -w 80, grep -e x */
	}
	if (files > grep || !e->io.input || (picks && filter_names_here(e->io.input)))
		output_unknown(e, c);
	else
		chars_copy(e, e->io.capture, e->io.input->v, e->io.input->len);
	return STATUS_UNKNOWN;
}

static enum status output_names(struct expander *e, const struct call *c)
{
	if (!filenames_write(e, c))
		output_unknown(e, c);
	return STATUS_UNKNOWN;
}

static enum status output_nothing(struct expander *e, const struct call *c)
{
	(void)e;
	(void)c;
	return STATUS_UNKNOWN;
}

static const struct program {
	const char *name;
	enum status (*run)(struct expander *e, const struct call *c);
	filter_fn *filter;
} programs[] = {
	{ "[", output_nothing, NULL },             { "base64", NULL, filter_base64 },
	{ "basename", output_basename, NULL },     { "break", output_nothing, NULL },
	{ "buffer", output_pass, NULL },
	{ "cat", output_cat, NULL },               { "column", output_pass, NULL },
	{ "command", output_command, NULL },       { "continue", output_nothing, NULL },
	{ "cut", NULL, filter_cut },
	{ "dd", output_pass, NULL },               { "dirname", output_basename, NULL },
	{ "dos2unix", output_pass, NULL },         { "du", output_names, NULL },
	{ "echo", output_echo, NULL },             { "egrep", output_pass, NULL },
	{ "exit", output_nothing, NULL },          { "expand", output_pass, NULL },
	{ "expr", output_expr, NULL },             { "fgrep", output_pass, NULL },
	{ "find", output_names, NULL },            { "fmt", output_pass, NULL },
	{ "fold", output_pass, NULL },             { "grep", output_pass, NULL },
	{ "head", NULL, filter_one_line },  { "locate", output_names, NULL },
	{ "ls", output_names, NULL },              { "mbuffer", output_pass, NULL },
	{ "mkdir", output_nothing, NULL },         { "nl", output_pass, NULL },
	{ "openssl", NULL, filter_base64 }, { "paste", output_pass, NULL },
	{ "print", output_echo, NULL },            { "printf", output_run_printf, NULL },
	{ "pv", output_pass, NULL },               { "pwd", output_pwd, NULL },
	{ "readlink", output_realpath, NULL },     { "realpath", output_realpath, NULL },
	{ "return", output_nothing, NULL },        { "rev", output_rev, NULL },
	{ "seq", output_seq, NULL },               { "shuf", output_pass, NULL },
	{ "sleep", output_nothing, NULL },         { "sort", NULL, filter_one_line },
	{ "tac", NULL, filter_one_line },   { "tail", NULL, filter_one_line },
	{ "tee", output_cat, NULL },               { "test", output_nothing, NULL },
	{ "touch", output_nothing, NULL },         { "tr", NULL, filter_tr },
	{ "trap", output_nothing, NULL },          { "tree", output_names, NULL },
	{ "type", output_which, NULL },            { "uniq", NULL, filter_one_line },
	{ "which", output_which, NULL },           { "xxd", NULL, filter_xxd },
	{ "yes", output_yes, NULL },
};

static const char *output_base_name(const struct shell_word *w)
{
	const char *name = shell_word_constant(w);

	return name ? str_base_name(name) : NULL;
}

static const struct program *output_program(const char *name)
{
	for (size_t i = 0; name && i < COUNT_OF(programs); i++)
		if (str_is(name, programs[i].name))
			return &programs[i];
	return NULL;
}

/* Can word @i of @c stand before the program: an option, A=b, 5s, a value in capitals (timeout -s
 * KILL, stdbuf -o L), the user of -u? If not, it is a program that is not known here. */
static bool output_is_before_program(const struct call *c, size_t i)
{
	const struct shell_text *t = &c->words[i].text;

	return t->s[0] == '-' || (t->s[0] >= '0' && t->s[0] <= '9') || memchr(t->s, '=', t->len) ||
	       !t->s[strspn(t->s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")] ||
	       (i > 1 && word_is_text(&c->words[i - 1], "-u"));
}

/* env A=b echo x, timeout 5 cat: the program, if it is known here. */
static const struct program *output_wrapped(struct expander *e, const char *name, struct call *c)
{
	static const char *const wrappers[] = {
		"busybox", "chronic", "chrt", "doas", "env", "ionice", "nice", "nohup",
		"setsid", "stdbuf", "sudo", "taskset", "timeout", "unbuffer", "xvfb-run", NULL,
	};

	if (!name || !str_is_listed(name, wrappers))
		return NULL;
	for (size_t i = 1; i < c->count; i++) {
		const struct program *p = output_program(output_base_name(&c->words[i]));

		expand_charge(e, COUNT_OF(programs) / 4);
		if (p) {
			c->words += i;
			c->count -= i;
			return p;
		}
		if (!output_is_before_program(c, i))
			break;
	}
	return NULL;
}

enum status output_run(struct expander *e, const struct call *given)
{
	struct call c = *given;
	const char *name = output_base_name(&c.words[0]);
	const struct program *p;

	if (!e->io.capture)
		return name && (str_is(name, "echo") || str_is(name, "printf"))
			       ? STATUS_OK : STATUS_UNKNOWN;
	p = output_program(name);
	if (!p)
		p = output_wrapped(e, name, &c);
	if (p)
		return p->run ? p->run(e, &c) : output_filtered(e, &c, p->filter);
	return output_unknown(e, &c);
}
