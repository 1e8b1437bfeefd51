/*
 * A table of our own goes to the end of the file, where it can neither end another table nor
 * take members from one. The walk before it is there to be sure of that: it knows TOML's keys,
 * strings, lists and comments well enough to find every name, and stops at all else.
 */
#include "app/setup_toml.h"

#include <stdio.h>
#include <string.h>

#define PARTS_MAX 8
#define PART_BYTES 64

/* A dotted name; of long parts only the start is kept, which is enough to compare with ours. */
struct name {
	int count;
	char parts[PARTS_MAX][PART_BYTES];
};

struct walk {
	const struct setup_entry *job;
	const char *at, *end;
	struct name table; /* the header we are below */
	bool there;        /* our entry is in the file */
	const char *wrong; /* what cannot be merged, or NULL */
};

static bool fail(struct walk *w, const char *wrong)
{
	w->wrong = wrong;
	return false;
}

static char peek(const struct walk *w)
{
	return w->at < w->end ? *w->at : '\n';
}

static void skip_space(struct walk *w)
{
	while (w->at < w->end && (*w->at == ' ' || *w->at == '\t'))
		w->at++;
}

static void skip_line(struct walk *w)
{
	while (w->at < w->end && *w->at != '\n')
		w->at++;
}

/* Spaces, line ends and comments, inside a list. */
static void skip_blank(struct walk *w)
{
	for (skip_space(w); w->at < w->end && strchr("\r\n#", *w->at); skip_space(w)) {
		if (*w->at == '#')
			skip_line(w);
		else
			w->at++;
	}
}

static bool is_at(const struct walk *w, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(w->end - w->at) >= len && !memcmp(w->at, text, len);
}

/* The string that starts here, of any of the four kinds. */
static bool skip_string(struct walk *w)
{
	char quote = *w->at, long_quote[4] = { quote, quote, quote, '\0' };
	bool is_long = is_at(w, long_quote);

	for (w->at += is_long ? 3 : 1; w->at < w->end; w->at++) {
		if (*w->at == '\\' && quote == '"') {
			w->at++;
		} else if (is_long ? is_at(w, long_quote) : *w->at == quote) {
			w->at += is_long ? 3 : 1;
			while (is_long && w->at < w->end && *w->at == quote)
				w->at++; /* one or two quotes may stand before the end */
			return true;
		} else if (*w->at == '\n' && !is_long) {
			break;
		}
	}
	return fail(w, "a string without end");
}

static bool is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static bool read_part(struct walk *w, struct name *name)
{
	const char *start = w->at;
	bool quoted = peek(w) == '"' || peek(w) == '\'';
	char *part = name->parts[name->count];

	if (name->count == PARTS_MAX)
		return fail(w, "a name of many parts");
	if (quoted && !skip_string(w))
		return false;
	while (!quoted && w->at < w->end && is_bare(*w->at))
		w->at++;
	if (w->at == start)
		return fail(w, "a line that is neither a table nor a value");
	if (quoted && memchr(start, '\\', (size_t)(w->at - start)))
		return fail(w, "a name with escapes");
	snprintf(part, PART_BYTES, "%.*s", (int)(w->at - start) - 2 * quoted, start + quoted);
	name->count++;
	return true;
}

/* Adds the dotted name that starts here. */
static bool read_name(struct walk *w, struct name *name)
{
	for (;;) {
		skip_space(w);
		if (!read_part(w, name))
			return false;
		skip_space(w);
		if (peek(w) != '.')
			return true;
		w->at++;
	}
}

/* A value: strings, lists and inline tables nest; of the rest only the end matters. */
static bool skip_value(struct walk *w)
{
	const char *start;
	int depth = 0;

	skip_space(w);
	for (start = w->at; depth || !strchr("\r\n#", peek(w)); skip_space(w)) {
		if (depth)
			skip_blank(w);
		if (w->at >= w->end)
			return fail(w, "a list without end");
		if (*w->at == '"' || *w->at == '\'') {
			if (!skip_string(w))
				return false;
			continue;
		}
		if (*w->at == '[' || *w->at == '{')
			depth++;
		if ((*w->at == ']' || *w->at == '}') && --depth < 0)
			return fail(w, "a list that was not begun");
		w->at++;
	}
	return w->at > start || fail(w, "a name without value");
}

/* Does @name lie below the parent of all servers, and what does that mean for us? */
static bool judge(struct walk *w, const struct name *name, bool header)
{
	if (strcmp(name->parts[0], w->job->host->parent))
		return true;
	if (name->count > 1 && !strcmp(name->parts[1], SETUP_ENTRY_NAME))
		w->there = true;
	if (!header && !w->table.count)
		return fail(w, "servers that are not written as tables");
	return true;
}

static bool read_header(struct walk *w)
{
	bool many = is_at(w, "[[");

	w->at += many ? 2 : 1;
	w->table.count = 0;
	if (!read_name(w, &w->table))
		return false;
	if (!is_at(w, many ? "]]" : "]"))
		return fail(w, "a table's name without end");
	w->at += many ? 2 : 1;
	if (many && !strcmp(w->table.parts[0], w->job->host->parent))
		return fail(w, "servers that are a list of tables");
	return judge(w, &w->table, true);
}

static bool read_member(struct walk *w)
{
	struct name name = w->table;

	if (!read_name(w, &name))
		return false;
	if (peek(w) != '=')
		return fail(w, "a name without value");
	w->at++;
	return judge(w, &name, false) && skip_value(w);
}

static bool read_line(struct walk *w)
{
	skip_space(w);
	if (!strchr("\r\n#", peek(w)) && !(peek(w) == '[' ? read_header(w) : read_member(w)))
		return false;
	skip_space(w);
	if (!strchr("\r\n#", peek(w)))
		return fail(w, "something behind a value");
	skip_line(w);
	w->at += w->at < w->end;
	return true;
}

static enum setup_merged refuse(const struct walk *w, struct err *e)
{
	int line = 1;

	for (const char *c = w->job->text; c < w->at && c < w->end; c++)
		line += *c == '\n';
	err_set(e, ERR_INVALID_PARAMS, "line %d of the file has %s", line, w->wrong);
	err_hint(e, "Nothing was changed. Put the file right, or paste the snippet yourself.");
	return SETUP_REFUSED;
}

enum setup_merged setup_toml_merge(const struct setup_entry *job, struct buf *out, struct err *e)
{
	struct walk w = { .job = job, .at = job->text, .end = job->text + job->len };
	struct buf entry;
	bool same;

	if (memchr(job->text, '\0', job->len)) {
		fail(&w, "NUL bytes in it or below it");
		return refuse(&w, e);
	}
	if (is_at(&w, "\xef\xbb\xbf"))
		w.at += 3;
	while (w.at < w.end)
		if (!read_line(&w))
			return refuse(&w, e);
	buf_init(&entry, SETUP_TEXT_MAX);
	if (setup_host_entry(job->host, job->program, job->workspace, 0, "", &entry, e)) {
		buf_release(&entry);
		return SETUP_REFUSED;
	}
	same = w.there && memmem(job->text, job->len, entry.data, entry.len);
	buf_add(out, job->text, job->len);
	if (job->text[job->len - 1] != '\n')
		buf_addc(out, '\n');
	buf_addc(out, '\n');
	buf_add(out, entry.data, entry.len);
	buf_release(&entry);
	if (w.there)
		return same ? SETUP_THERE : setup_entry_other(e);
	return SETUP_MERGED;
}
