/*
 * A table of our own goes to the end of the file, where it can neither end another table nor
 * take members from one. The walk before it is there to be sure of that: it reads TOML 1.0,
 * finds every name, and stops at all else.
 */
#include "cli/setup/toml.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define PARTS_MAX 8
#define PART_BYTES 64
#define DEPTH_MAX 64
#define HASH_START UINT64_C(14695981039346656037)

/* A dotted name; of long parts only the start is kept, which is enough to compare with ours. */
struct name {
	int count;
	char parts[PARTS_MAX][PART_BYTES];
	uint64_t hash; /* of the whole */
};

/* Names that may be there only once. */
struct seen {
	uint64_t *hashes;
	size_t count, room;
};

struct walk {
	const struct setup_entry *job;
	const char *at, *end;
	struct name table; /* the header we are below */
	struct seen tables, members; /* headers since the last [[...]]; names below the header */
	int ours;          /* headers and members of our entry */
	int depth;         /* of the value that is read */
	const char *wrong; /* what cannot be merged, or NULL */
};

static bool fail(struct walk *w, const char *wrong)
{
	w->wrong = wrong;
	return false;
}

static void seen_add(struct seen *seen, uint64_t hash)
{
	if (seen->count == seen->room) {
		seen->room = 2 * seen->room + 16;
		seen->hashes = mem_realloc(seen->hashes, seen->room * sizeof(*seen->hashes));
	}
	seen->hashes[seen->count++] = hash;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Was a name added twice? Forgets them all. */
static bool seen_twice(struct seen *seen)
{
	size_t count = seen->count;

	seen->count = 0;
	if (count)
		qsort(seen->hashes, count, sizeof(*seen->hashes), compare);
	for (size_t i = 1; i < count; i++)
		if (seen->hashes[i] == seen->hashes[i - 1])
			return true;
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
			if (!strchr(is_long ? "btnfr\"\\uU \t\r\n" : "btnfr\"\\uU", peek(w)))
				return fail(w, "an escape that there is not");
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
	if (quoted && *start == '"' && memchr(start, '\\', (size_t)(w->at - start)))
		return fail(w, "a name with escapes");
	snprintf(part, PART_BYTES, "%.*s", (int)(w->at - start) - 2 * quoted, start + quoted);
	name->count++;
	for (const char *c = start + quoted; c < w->at - quoted; c++)
		name->hash = (name->hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
	name->hash = (name->hash ^ 0xff) * UINT64_C(1099511628211); /* in no UTF-8 */
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

static bool is_word(const char *word, size_t len, const char *text)
{
	return len == strlen(text) && !memcmp(word, text, len);
}

static bool has_only(const char *word, size_t len, const char *allowed)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(allowed, word[i]))
			return false;
	return len > 0;
}

/* A boolean, a number or a date, as far as one can be told from another word. */
static bool is_scalar(const char *word, size_t len)
{
	if (is_word(word, len, "true") || is_word(word, len, "false"))
		return true;
	if (len > 2 && !memcmp(word, "0x", 2))
		return has_only(word + 2, len - 2, "0123456789abcdefABCDEF_");
	if (len > 2 && !memcmp(word, "0o", 2))
		return has_only(word + 2, len - 2, "01234567_");
	if (len > 2 && !memcmp(word, "0b", 2))
		return has_only(word + 2, len - 2, "01_");
	if (len && (*word == '+' || *word == '-')) {
		word++;
		len--;
	}
	if (is_word(word, len, "inf") || is_word(word, len, "nan"))
		return true;
	return len && *word >= '0' && *word <= '9' &&
	       has_only(word, len, "0123456789_+-.:eETtZz ");
}

static void skip_word(struct walk *w)
{
	while (w->at < w->end && (is_bare(*w->at) || strchr("+.:", *w->at)))
		w->at++;
}

static bool skip_scalar(struct walk *w)
{
	const char *start = w->at;

	skip_word(w);
	if (w->at - start == 10 && start[4] == '-' && start[7] == '-' && w->end - w->at > 1 &&
	    *w->at == ' ' && w->at[1] >= '0' && w->at[1] <= '9') {
		w->at++; /* a date and its time */
		skip_word(w);
	}
	return is_scalar(start, (size_t)(w->at - start)) || fail(w, "a name without a value");
}

static bool skip_value(struct walk *w);

static bool skip_close(struct walk *w, char close, const char *problem)
{
	if (peek(w) != close)
		return fail(w, problem);
	w->at++;
	return true;
}

static bool skip_list(struct walk *w)
{
	static const char problem[] = "a list without end";

	do {
		w->at++;
		skip_blank(w);
		if (w->at >= w->end)
			return fail(w, problem);
		if (*w->at != ']' && !skip_value(w))
			return false;
		skip_blank(w);
	} while (peek(w) == ',');
	return skip_close(w, ']', problem);
}

/* A name and the "=" behind it. */
static bool read_key(struct walk *w, struct name *name)
{
	if (!read_name(w, name))
		return false;
	if (peek(w) != '=')
		return fail(w, "a name without value");
	w->at++;
	seen_add(&w->members, name->hash);
	return true;
}

/* A name, hashed on from that of its table, and its value. */
static bool skip_member(struct walk *w, uint64_t table)
{
	struct name name = { .hash = table };

	if (!read_key(w, &name) || !skip_value(w))
		return false;
	skip_space(w);
	return true;
}

/* Its names are looked at, but an entry of ours in it is not looked for: see judge(). */
static bool skip_inline(struct walk *w)
{
	uint64_t own = HASH_START ^ (uint64_t)(w->at - w->job->text) << 8;

	w->at++;
	skip_space(w);
	if (peek(w) != '}' && !skip_member(w, own))
		return false;
	while (peek(w) == ',') {
		w->at++;
		if (!skip_member(w, own))
			return false;
	}
	return skip_close(w, '}', "an inline table without end");
}

static bool skip_value(struct walk *w)
{
	bool good;

	skip_space(w);
	if (w->depth == DEPTH_MAX)
		return fail(w, "values nested too deep");
	w->depth++;
	if (peek(w) == '"' || peek(w) == '\'')
		good = skip_string(w);
	else if (peek(w) == '[')
		good = skip_list(w);
	else if (peek(w) == '{')
		good = skip_inline(w);
	else
		good = skip_scalar(w);
	w->depth--;
	return good;
}

/* Does @name lie below the parent of all servers, and what does that mean for us? */
static bool judge(struct walk *w, const struct name *name, bool header)
{
	if (strcmp(name->parts[0], w->job->host->parent))
		return true;
	if (name->count > 1 && !strcmp(name->parts[1], SETUP_ENTRY_NAME))
		w->ours++;
	if (!header && !w->table.count)
		return fail(w, "servers that are not written as tables");
	return true;
}

static bool read_header(struct walk *w)
{
	bool many = is_at(w, "[[");

	w->at += many ? 2 : 1;
	w->table = (struct name){ .hash = HASH_START };
	if (seen_twice(&w->members) || (many && seen_twice(&w->tables)))
		return fail(w, "a name twice above it");
	if (!read_name(w, &w->table))
		return false;
	if (!many)
		seen_add(&w->tables, w->table.hash);
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

	return read_key(w, &name) && judge(w, &name, false) && skip_value(w);
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

/* Bytes that no TOML has: control characters but tab and line ends, and what is not UTF-8. */
static bool find_alien(struct walk *w)
{
	for (size_t used; w->at < w->end; w->at += used) {
		unsigned char c = (unsigned char)*w->at;

		if (utf8_next(w->at, (size_t)(w->end - w->at), &used) != UTF8_VALID)
			return fail(w, "bytes that are not UTF-8");
		if (c == '\r' && (w->at + 1 == w->end || w->at[1] != '\n'))
			return fail(w, "a carriage return that ends no line");
		if ((c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f)
			return fail(w, "control characters");
	}
	w->at = w->job->text;
	return true;
}

static bool read_file(struct walk *w)
{
	if (!find_alien(w))
		return false;
	if (is_at(w, "\xef\xbb\xbf"))
		w->at += 3;
	while (w->at < w->end)
		if (!read_line(w))
			return false;
	return (!seen_twice(&w->members) && !seen_twice(&w->tables)) ||
	       fail(w, "a name twice above it");
}

/* Is our entry in the file just as we would write it, and nothing beside it? */
static bool is_same(const struct walk *w, const struct buf *entry)
{
	int lines = 0;

	for (size_t i = 0; i < entry->len; i++)
		lines += entry->data[i] == '\n';
	return w->ours == lines && memmem(w->job->text, w->job->len, entry->data, entry->len);
}

enum setup_merged setup_toml_merge(const struct setup_entry *job, struct buf *out, struct err *e)
{
	struct walk w = { .job = job, .at = job->text, .end = job->text + job->len,
			  .table = { .hash = HASH_START } };
	bool good = read_file(&w);
	struct buf entry;

	free(w.tables.hashes);
	free(w.members.hashes);
	if (!good)
		return refuse(&w, e);
	buf_init(&entry, SETUP_TEXT_MAX);
	if (setup_host_entry(job->host, job->program, job->workspace, 0, "", &entry, e)) {
		buf_release(&entry);
		return SETUP_REFUSED;
	}
	good = is_same(&w, &entry);
	buf_add(out, job->text, job->len);
	if (job->text[job->len - 1] != '\n')
		buf_addc(out, '\n');
	buf_addc(out, '\n');
	buf_add(out, entry.data, entry.len);
	buf_release(&entry);
	if (w.ours)
		return good ? SETUP_THERE : setup_entry_other(e);
	return SETUP_MERGED;
}
