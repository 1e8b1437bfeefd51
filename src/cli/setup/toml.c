/*
 * A table of our own goes to the end of the file, where it can neither end another table nor
 * take members from one, or into the place of the one that an earlier setup wrote. So only two
 * things must be known of the file: where strings, lists and inline tables end, and which names
 * lie below the parent of all servers. What values mean is the host's to judge.
 */
#include "cli/setup/toml.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define NAME_BYTES 64

enum table { ROOT, PARENT, OURS, OTHER };

struct scan {
	const struct setup_entry *job;
	const char *at, *end;
	char entry_name[NAME_BYTES]; /* "mcp_servers.procpen" */
	enum table table;            /* the table that the scan is in */
	int ours;                    /* lines of our entry: its header and members */
	const char *entry, *entry_end; /* from its header to its last member */
	const char *wrong;           /* why the entry cannot be added, or NULL */
};

static bool setup_toml_fail(struct scan *s, const char *at, const char *wrong)
{
	s->at = at;
	s->wrong = wrong;
	return false;
}

static char setup_toml_peek(const struct scan *s)
{
	return s->at < s->end ? *s->at : '\n';
}

static void setup_toml_skip_space(struct scan *s)
{
	while (setup_toml_peek(s) == ' ' || setup_toml_peek(s) == '\t' ||
	       setup_toml_peek(s) == '\r')
		s->at++;
}

static void setup_toml_skip_line(struct scan *s)
{
	while (setup_toml_peek(s) != '\n')
		s->at++;
}

static bool setup_toml_is_at(const struct scan *s, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(s->end - s->at) >= len && !memcmp(s->at, text, len);
}

/* Skip the string that starts here, of any of the four kinds. */
static bool setup_toml_skip_string(struct scan *s)
{
	const char *start = s->at;
	char quote = *start, long_quote[4] = { quote, quote, quote, '\0' };
	bool is_long = setup_toml_is_at(s, long_quote);

	for (s->at += is_long ? 3 : 1; s->at < s->end; s->at++) {
		if (*s->at == '\\' && quote == '"') {
			s->at++;
		} else if (is_long ? setup_toml_is_at(s, long_quote) : *s->at == quote) {
			s->at += is_long ? 3 : 1;
			while (is_long && setup_toml_peek(s) == quote)
				s->at++; /* one or two quotes may precede the end */
			return true;
		} else if (*s->at == '\n' && !is_long) {
			break;
		}
	}
	return setup_toml_fail(s, start, "unterminated string");
}

/* Read the dotted name before @stop into @name, without blanks and quotes; cuts a long one. */
static bool setup_toml_read_name(struct scan *s, char stop, char name[NAME_BYTES],
				 const char *missing)
{
	const char *start = s->at;
	size_t len = 0;

	while (setup_toml_peek(s) != stop) {
		const char *from = s->at;
		bool quoted = setup_toml_peek(s) == '"' || setup_toml_peek(s) == '\'';

		if (setup_toml_peek(s) == '\n')
			return setup_toml_fail(s, start, missing);
		if (quoted && !setup_toml_skip_string(s))
			return false;
		s->at += !quoted;
		for (const char *c = from + quoted; c < s->at - quoted; c++) {
			if (*c == '\\')
				return setup_toml_fail(s, start, "escape in a key");
			if (len < NAME_BYTES - 1 && !strchr(" \t", *c))
				name[len++] = *c;
		}
	}
	s->at++;
	name[len] = '\0';
	return len || setup_toml_fail(s, start, "missing key");
}

/* Is @name @parent, or below it? */
static bool setup_toml_is_below(const char *name, const char *parent)
{
	size_t len = strlen(parent);

	return !strncmp(name, parent, len) && (!name[len] || name[len] == '.');
}

static bool setup_toml_read_header(struct scan *s)
{
	const char *start = s->at;
	bool many = setup_toml_is_at(s, "[[");
	char name[NAME_BYTES];

	s->at += many ? 2 : 1;
	if (!setup_toml_read_name(s, ']', name, "unterminated table header"))
		return false;
	if (many && setup_toml_peek(s) != ']')
		return setup_toml_fail(s, start, "unterminated table header");
	s->at += many;
	if (many && setup_toml_is_below(name, s->job->host->parent))
		return setup_toml_fail(s, start, "the servers are an array of tables");
	s->table = setup_toml_is_below(name, s->entry_name) ? OURS
		   : strcmp(name, s->job->host->parent)     ? OTHER
							    : PARENT;
	if (s->table == OURS) {
		s->ours++;
		s->entry = start;
	}
	return true;
}

/* Skip the value: to the end of the line, but past brackets and quotes that go on behind it. */
static bool setup_toml_skip_value(struct scan *s)
{
	const char *start = s->at, *last = s->at; /* after the last byte that is not blank */
	int depth = 0;

	for (; s->at < s->end && (depth || !strchr("\n#", *s->at));) {
		if (*s->at == '"' || *s->at == '\'') {
			if (!setup_toml_skip_string(s))
				return false;
		} else if (*s->at == '#') {
			setup_toml_skip_line(s);
			continue;
		} else {
			depth += *s->at == '[' || *s->at == '{';
			depth -= *s->at == ']' || *s->at == '}';
			if (depth < 0)
				return setup_toml_fail(s, s->at, "unmatched bracket");
			if (strchr(" \t\r\n", *s->at++))
				continue;
		}
		last = s->at;
	}
	if (depth)
		return setup_toml_fail(s, start, "unterminated list or inline table");
	if (last == start)
		return setup_toml_fail(s, start, "key without a value");
	if (s->table == OURS) {
		s->ours++;
		s->entry_end = last;
	}
	return true;
}

static bool setup_toml_read_member(struct scan *s)
{
	const char *start = s->at;
	char name[NAME_BYTES];

	if (!setup_toml_read_name(s, '=', name, "neither a table header nor a key with a value"))
		return false;
	if (s->table == ROOT && setup_toml_is_below(name, s->job->host->parent))
		return setup_toml_fail(s, start, "the servers are not written as tables");
	if (s->table == PARENT && setup_toml_is_below(name, SETUP_ENTRY_NAME))
		return setup_toml_fail(s, start,
				       "an entry named " SETUP_ENTRY_NAME ", but not as a table");
	return setup_toml_skip_value(s);
}

static bool setup_toml_read_line(struct scan *s)
{
	setup_toml_skip_space(s);
	if (!strchr("\n#", setup_toml_peek(s)) &&
	    !(setup_toml_peek(s) == '[' ? setup_toml_read_header(s) : setup_toml_read_member(s)))
		return false;
	setup_toml_skip_space(s);
	if (!strchr("\n#", setup_toml_peek(s)))
		return setup_toml_fail(s, s->at, "trailing data");
	setup_toml_skip_line(s);
	s->at += s->at < s->end;
	return true;
}

/* Refuse bytes that TOML forbids: control characters other than tab and line ends, and invalid
 * UTF-8. */
static bool setup_toml_check_bytes(struct scan *s)
{
	size_t used;

	for (const char *at = s->at; at < s->end; at += used) {
		unsigned char c = (unsigned char)*at;

		if (utf8_next(at, (size_t)(s->end - at), &used) != UTF8_VALID)
			return setup_toml_fail(s, at, "invalid UTF-8");
		if ((c < ' ' && !strchr("\t\r\n", c)) || !c || c == 0x7f ||
		    (c == '\r' && (at + 1 == s->end || at[1] != '\n')))
			return setup_toml_fail(s, at, "control character");
	}
	return true;
}

static bool setup_toml_read_file(struct scan *s)
{
	if (!setup_toml_check_bytes(s))
		return false;
	s->at += utf8_bom(s->at, (size_t)(s->end - s->at));
	while (s->at < s->end)
		if (!setup_toml_read_line(s))
			return false;
	return true;
}

static enum setup_merged setup_toml_refuse(const struct scan *s, struct err *e)
{
	int line = 1;

	for (const char *c = s->job->text; c < s->at; c++)
		line += *c == '\n';
	err_set(e, ERR_INVALID_PARAMS, "line %d: %s", line, s->wrong);
	err_hint(e, "Nothing was changed. Edit the file, or paste the snippet yourself: "
		    SETUP_PRINTS, s->job->host->name);
	return SETUP_REFUSED;
}

/* Does our entry have the three lines that setup writes, whatever the command? */
static bool setup_toml_is_written_by_us(const struct scan *s)
{
	char start[NAME_BYTES + 32];
	size_t len = (size_t)snprintf(start, sizeof(start), "[%s]\ncommand = \"", s->entry_name);
	size_t size = s->entry_end ? (size_t)(s->entry_end - s->entry) : 0;
	const char *second, *third;

	if (s->ours != 3 || size < len || memcmp(s->entry, start, len))
		return false;
	second = s->entry + len;
	third = memmem(second, size - len, "\"\nargs = [\"", 11);
	return third && memmem(third, (size_t)(s->entry_end - third), "\"serve\"", 7) &&
	       !memchr(second, '\n', (size_t)(third - second)) &&
	       !memchr(third + 2, '\n', (size_t)(s->entry_end - third) - 2) &&
	       s->entry_end[-1] == ']';
}

/* Replace the present entry by @entry, without the end of its last line. */
static enum setup_merged setup_toml_replace(const struct scan *s, const struct buf *entry,
					    struct buf *out)
{
	size_t size = (size_t)(s->entry_end - s->entry), len = entry->len - 1;

	if (size == len && !memcmp(s->entry, entry->data, len))
		return SETUP_THERE;
	buf_add(out, s->job->text, (size_t)(s->entry - s->job->text));
	buf_add(out, entry->data, len);
	buf_add(out, s->entry_end, (size_t)(s->end - s->entry_end));
	return SETUP_MERGED;
}

static enum setup_merged setup_toml_append(const struct scan *s, const struct buf *entry,
					   struct buf *out)
{
	buf_add(out, s->job->text, s->job->len);
	buf_adds(out, s->end[-1] == '\n' ? "\n" : "\n\n");
	buf_add(out, entry->data, entry->len);
	return SETUP_MERGED;
}

enum setup_merged setup_toml_merge(const struct setup_entry *job, struct buf *out, struct err *e)
{
	struct scan s = { .job = job, .at = job->text, .end = job->text + job->len };
	enum setup_merged result = SETUP_REFUSED;
	struct buf entry;

	snprintf(s.entry_name, sizeof(s.entry_name), "%s." SETUP_ENTRY_NAME, job->host->parent);
	if (!setup_toml_read_file(&s))
		return setup_toml_refuse(&s, e);
	if (s.ours && !setup_toml_is_written_by_us(&s))
		return setup_entry_other(job, NULL, e);
	buf_init(&entry, SETUP_TEXT_MAX);
	if (!setup_host_entry(job->host, job->command, 0, "", &entry, e))
		result = s.ours ? setup_toml_replace(&s, &entry, out)
				: setup_toml_append(&s, &entry, out);
	buf_release(&entry);
	return result;
}
