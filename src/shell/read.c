/* The builtins read and mapfile. */
#include <stdlib.h>
#include <string.h>

#include "shell/expand.h"

/* Does the literal @c separate fields? @ifs: value of IFS. */
static bool read_is_separator(const char *ifs, const struct shell_char *c)
{
	return c->kind == CHAR_QUOTED && c->c && strchr(ifs, c->c);
}

static const char *read_ifs(struct expander *e)
{
	const struct value *v = vars_value(e, "IFS");
	const char *ifs = v ? chars_string(e, v->v, v->len) : NULL;

	return ifs ? ifs : " \t\n";
}

/* Where the item that begins at @at ends: before a literal @delimiter, or with the text. */
static size_t read_item_end(const struct value *in, size_t at, char delimiter)
{
	while (at < in->len &&
	       !(in->v[at].kind == CHAR_QUOTED && in->v[at].c == delimiter))
		at++;
	return at;
}

/* The next field from *@at; the last field is the rest. */
static struct value *read_field(struct expander *e, const char *ifs, const struct shell_char *line,
				size_t len, size_t *at, bool last)
{
	while (*at < len && read_is_separator(ifs, &line[*at]))
		++*at;
	size_t from = *at;

	while (*at < len && (last || !read_is_separator(ifs, &line[*at])))
		++*at;
	size_t to = *at;

	while (to > from && read_is_separator(ifs, &line[to - 1]))
		to--;
	return value_make(e, line + from, to - from);
}

/* read -a: the fields of a line become an array. */
static void read_array(struct expander *e, const struct call *c, size_t first,
		       const struct shell_char *line, size_t len)
{
	struct value **items = shell_alloc(e->arena, (len / 2 + 2) * sizeof(struct value *));
	const char *ifs = read_ifs(e);
	uint32_t count = 0;
	size_t at = 0;

	while (at < len) {
		struct value *v = read_field(e, ifs, line, len, &at, false);

		if (v->len > 0)
			items[count++] = v;
	}
	if (first < c->count && assign_name_length(&c->words[first]) > 0)
		array_fill(e, vars_nameref(e, c->words[first].text.s), items, count, false, 0);
}

/* Assign the fields of a line to the names. */
static void read_fields(struct expander *e, const struct call *c, size_t first, const char *ifs,
			const struct shell_char *line, size_t len)
{
	size_t at = 0;

	for (size_t i = first; i < c->count; i++) {
		struct value *v = read_field(e, ifs, line, len, &at, i + 1 == c->count);

		if (assign_name_length(&c->words[i]) > 0)
			assign_word(e, &c->words[i], v, false);
	}
	if (first == c->count)
		vars_set(e, "REPLY", value_make(e, line, len));
}

/* What the options of read and mapfile say. */
struct read_options {
	size_t first;   /* the word behind them */
	bool array;     /* -a */
	bool raw;       /* -r */
	char delimiter; /* -d: its first byte, NUL if it is empty */
	long fd;        /* -u */
	long count;     /* -n and -N: characters of read, lines of mapfile; -1: all */
	bool exact;     /* -N: neither lines nor fields count */
	long skip;      /* -s of mapfile */
	long origin;    /* -O; 0 without it */
	bool keeps;     /* -O: what the array has before that stays */
	bool trims;     /* -t: the delimiters are no part of the lines */
};

static void read_option_value(struct read_options *o, char option, const char *value, bool literal)
{
	if (option == 'd' && literal)
		o->delimiter = value[0];
	else if (option == 'u')
		o->fd = strtol(value, NULL, 10);
	else if (option == 'n' || option == 'N')
		o->count = strtol(value, NULL, 10);
	else if (option == 's')
		o->skip = strtol(value, NULL, 10);
	else if (option == 'O')
		o->origin = strtol(value, NULL, 10);
	o->keeps |= option == 'O';
	o->exact |= option == 'N';
}

static void read_option_flag(struct read_options *o, char option)
{
	o->array |= option == 'a';
	o->raw |= option == 'r';
	o->trims |= option == 't';
}

/* @values: the options that have a value, in the same word or the next. */
static struct read_options read_options(const struct shell_word *words, size_t count,
					const char *values)
{
	struct read_options o = { .first = 1, .delimiter = '\n', .count = -1 };

	while (o.first < count && words[o.first].text.s[0] == '-') {
		const struct shell_word *w = &words[o.first++];
		size_t k = 1;

		for (; w->text.s[k] && !strchr(values, w->text.s[k]); k++)
			read_option_flag(&o, w->text.s[k]);
		if (!w->text.s[k])
			continue;
		char option = w->text.s[k++];

		if (k == w->text.len) {
			if (o.first == count)
				break;
			w = &words[o.first++];
			k = 0;
		}
		read_option_value(&o, option, w->text.s + k, w->kind[k] == SHELL_LITERAL);
	}
	return o;
}

static const struct value *read_from(const struct expander *e, long fd)
{
	const struct descriptor *d = fd ? redirect_descriptor(e, fd) : NULL;

	return !fd ? e->io.input : d ? d->input : NULL;
}

static const char read_values[] = "dinNptu";

size_t shell_read_names(const struct shell_word *words, size_t count)
{
	return read_options(words, count, read_values).first;
}

/* Without -r a backslash takes the meaning of the next character, and joins two lines. */
static const struct value *read_unescaped(struct expander *e, const struct value *in)
{
	struct chars out = { 0 };
	const struct value *r;

	for (uint32_t i = 0; i < in->len; i++) {
		bool escapes = in->v[i].kind == CHAR_QUOTED && in->v[i].c == '\\';

		i += escapes;
		if (i < in->len && !(escapes && in->v[i].c == '\n'))
			chars_copy(e, &out, &in->v[i], 1);
	}
	r = out.len < in->len ? value_make(e, out.v, out.len) : in;
	chars_release(&out);
	return r;
}

static void read_unknown(struct expander *e, const struct call *c, const struct read_options *o)
{
	if (o->first == c->count)
		vars_set(e, "REPLY", value_unknown_given(e, "REPLY", c->words[0].start));
	for (size_t i = o->first; i < c->count; i++) {
		const char *name = c->words[i].text.s;

		if (assign_name_length(&c->words[i]) == 0)
			continue;
		if (o->array)
			array_fill(e, vars_nameref(e, name), NULL, 0, false, ARRAY_UNKNOWN);
		else
			assign_word(e, &c->words[i],
				    value_unknown_given(e, name, c->words[i].start), false);
	}
}

/* In a loop, each line is a possible value of the names. */
enum status read_run(struct expander *e, const struct call *c)
{
	const struct read_options o = read_options(c->words, c->count, read_values);
	const struct value *in = read_from(e, o.fd);
	const char *ifs = o.exact ? "" : read_ifs(e);
	size_t at = 0;
	struct join j;

	if (!in) {
		read_unknown(e, c, &o);
		return STATUS_UNKNOWN;
	}
	in = o.raw ? in : read_unescaped(e, in);
	join_start(e, &j);
	for (size_t line = 0; line < 8; line++) {
		size_t end = o.exact ? in->len : read_item_end(in, at, o.delimiter);

		if (o.count >= 0 && end - at > (size_t)o.count)
			end = at + (size_t)o.count;
		if (o.array)
			read_array(e, c, o.first, in->v + at, end - at);
		else
			read_fields(e, c, o.first, ifs, in->v + at, end - at);
		at = end + 1;
		if (e->loops == 0 || at >= in->len)
			break;
		join_branch(e, &j, false);
	}
	join_branch(e, &j, false);
	join_end(e, &j, false);
	return STATUS_UNKNOWN;
}

/* mapfile -t a: an array of lines. */
enum status read_lines(struct expander *e, const struct call *c)
{
	const struct read_options o = read_options(c->words, c->count, "dnOsucC");
	const struct value *in = read_from(e, o.fd);
	const char *name = o.first < c->count ? c->words[o.first].text.s : "MAPFILE";
	struct value **items;
	uint32_t count = 0;
	size_t cap = 1;
	long line = 0;

	if (o.first < c->count && assign_name_length(&c->words[o.first]) == 0)
		return STATUS_UNKNOWN;
	for (size_t i = 0; in && i < in->len; i++)
		cap += in->v[i].kind == CHAR_QUOTED && in->v[i].c == o.delimiter;
	items = shell_alloc(e->arena, cap * sizeof(struct value *));
	for (size_t at = 0, end; in && at < in->len; at = end + 1) {
		end = read_item_end(in, at, o.delimiter);
		if (line++ >= o.skip && (o.count <= 0 || line - o.skip <= o.count))
			items[count++] = value_make(e, in->v + at,
						    end - at + (end < in->len && !o.trims));
	}
	array_fill(e, vars_nameref(e, name), items, count, o.keeps,
		   in && o.origin >= 0 ? (uint32_t)o.origin : ARRAY_UNKNOWN);
	return in ? STATUS_OK : STATUS_UNKNOWN;
}
