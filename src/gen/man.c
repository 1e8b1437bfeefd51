/*
 * The man pages: procpen(1), one page for each command, procpen.json(5), procpen-options(7). In
 * the man(7) language, which every reader of pages knows. A minus that people may copy is \-, which
 * stays an ASCII minus in print; a hyphen between words is one.
 */
#include "gen/gen.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "base/version.h"

#define TEXT_MAX 65536
#define LINE_WIDTH 72

/* ---- characters ---- */

/* One character of ASCII, but for the hyphen; groff_char(7) has the names. */
static void gen_man_ascii(struct buf *out, char c)
{
	static const struct {
		char c;
		const char *escape;
	} special[] = {
		{ '\\', "\\e" },  { '"', "\\(dq" }, { '\'', "\\(aq" }, { '`', "\\(ga" },
		{ '^', "\\(ha" }, { '~', "\\(ti" },
	};

	for (size_t i = 0; i < COUNT_OF(special); i++) {
		if (special[i].c == c) {
			buf_adds(out, special[i].escape);
			return;
		}
	}
	buf_addc(out, c);
}

/* @len bytes of @text. @minus: what - is. A dot that may begin a line is no request. */
static void gen_man_chars(struct buf *out, const char *text, size_t len, const char *minus)
{
	size_t used;

	if (len && *text == '.')
		buf_adds(out, "\\&");
	for (; len; text += used, len -= used) {
		bool whole = utf8_next(text, len, &used) == UTF8_VALID;

		BUG_IF(!whole); /* jansson takes nothing else */
		if (used > 1)
			buf_addf(out, "\\[u%04X]", utf8_code_point(text, used));
		else if (*text == '-')
			buf_adds(out, minus);
		else
			gen_man_ascii(out, *text);
	}
}

/* Something to type or to copy, as it is. */
static void gen_man_literal(struct buf *out, const char *text)
{
	gen_man_chars(out, text, strlen(text), "\\-");
}

static void gen_man_font(struct buf *out, char font, const char *text)
{
	buf_addf(out, "\\f%c", font);
	gen_man_literal(out, text);
	buf_adds(out, "\\fR");
}

/* ---- prose ---- */

/* Is the word @text one of a command line, not of a sentence? */
static bool gen_man_is_code(const char *text, size_t len)
{
	return text[strspn(text, "(\"'")] == '-' || memchr(text, '/', len) ||
	       memchr(text, '=', len) || memchr(text, '_', len);
}

/* A word of a sentence. `code` is bold. *@code: the words before and after it are inside of one. */
static void gen_man_word(struct buf *out, const char *word, size_t len, bool *code)
{
	while (len) {
		const char *tick = memchr(word, '`', len);
		size_t part = tick ? (size_t)(tick - word) : len;
		bool literal = *code || gen_man_is_code(word, part);

		gen_man_chars(out, word, part, literal ? "\\-" : "-");
		if (tick) {
			*code = !*code;
			buf_adds(out, *code ? "\\fB" : "\\fR");
			part++;
		}
		word += part;
		len -= part;
	}
}

static size_t gen_man_column(const struct buf *out)
{
	size_t start = out->len;

	while (start && out->data[start - 1] != '\n')
		start--;
	return out->len - start;
}

/* A paragraph, in lines; ends the last one. */
static void gen_man_prose(struct buf *out, const char *text)
{
	bool code = false;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t len = strcspn(text, " ");

		gen_man_word(out, text, len, &code);
		text += len;
		if (text[strspn(text, " ")])
			buf_addc(out, gen_man_column(out) + strcspn(text + 1, " ") > LINE_WIDTH
					      ? '\n' : ' ');
	}
	buf_adds(out, code ? "\\fR\n" : "\n");
}

/* ---- parts of pages ---- */

static void gen_man_title(struct buf *out, const char *name, int section)
{
	AUTO_FREE char *upper = mem_strdup(name);

	for (char *c = upper; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	buf_adds(out, ".\\\" Generated from schema/ by src/gen.\n.TH ");
	gen_man_literal(out, upper);
	buf_addf(out, " %d %s \"procpen %s\" \"procpen manual\"\n.nh\n.ad l\n.SH NAME\n", section,
		 PROCPEN_DATE, PROCPEN_VERSION);
	gen_man_literal(out, name);
	buf_adds(out, " \\- ");
}

/* What stands in whatis(1): a phrase, no sentence. */
static void gen_man_phrase(struct buf *out, const char *summary)
{
	AUTO_FREE char *phrase = mem_strdup(summary);

	if (islower((unsigned char)phrase[1]))
		phrase[0] = (char)tolower((unsigned char)phrase[0]);
	gen_man_prose(out, phrase);
}

/* A line of usage: bold is to be typed, italic to be replaced. */
static void gen_man_usage(struct buf *out, const char *usage)
{
	while (*usage) {
		size_t len = 0, small = 0;

		for (; isalnum((unsigned char)usage[len]) || usage[len] == '-'; len++)
			small += islower((unsigned char)usage[len]) || usage[len] == '-';
		if (len) {
			AUTO_FREE char *word = mem_strndup(usage, len);

			gen_man_font(out, small ? 'B' : 'I', word);
		} else {
			gen_man_chars(out, usage, len = 1, "\\-");
		}
		usage += len;
	}
	buf_addc(out, '\n');
}

/* A name, and indented what it means. */
static void gen_man_row(struct buf *out, const char *name, const char *text)
{
	buf_adds(out, ".TP\n");
	gen_man_font(out, 'B', name);
	buf_addc(out, '\n');
	gen_man_prose(out, text);
}

static void gen_man_rows(struct buf *out, const char *title, const json_t *list, const char *first)
{
	json_t *row;
	size_t i;

	buf_addf(out, ".SH %s\n", title);
	json_array_foreach(list, i, row)
		gen_man_row(out, gen_member(row, first), gen_member(row, "text"));
}

static void gen_man_option(const struct gen *g, json_t *option, void *ctx)
{
	AUTO_FREE char *text = gen_cli_option_text(g, option);
	const char *value = gen_member(option, "value");
	struct buf *out = ctx;

	buf_adds(out, ".TP\n");
	if (gen_member(option, "short")) {
		gen_man_font(out, 'B', gen_member(option, "short"));
		buf_adds(out, ", ");
	}
	gen_man_font(out, 'B', gen_member(option, "name"));
	if (value) {
		buf_addc(out, ' ');
		gen_man_font(out, 'I', value);
	}
	buf_addc(out, '\n');
	gen_man_prose(out, text);
}

static void gen_man_examples(struct buf *out, const json_t *examples)
{
	json_t *row;
	size_t i;

	buf_adds(out, ".SH EXAMPLES\n");
	json_array_foreach(examples, i, row) {
		if (i)
			buf_adds(out, ".PP\n");
		gen_man_prose(out, gen_member(row, "text"));
		buf_adds(out, ".PP\n.RS 4\n.EX\n");
		gen_man_literal(out, gen_member(row, "command"));
		buf_adds(out, "\n.EE\n.RE\n");
	}
}

static void gen_man_link(struct buf *out, const char *page, int section)
{
	gen_man_font(out, 'B', page);
	buf_addf(out, "(%d)", section);
}

/* The overview, the other commands, the keys; @own is not among them. */
static void gen_man_see_also(const struct gen *g, const char *own, struct buf *out)
{
	json_t *command;
	size_t i;

	buf_adds(out, ".SH SEE ALSO\n");
	if (own) {
		gen_man_link(out, "procpen", 1);
		buf_adds(out, ",\n");
	}
	json_array_foreach(gen_cli_commands(g), i, command) {
		char page[GEN_PATH_MAX];

		snprintf(page, sizeof(page), "procpen-%s", gen_member(command, "name"));
		if (own && !strcmp(own, page))
			continue;
		gen_man_link(out, page, 1);
		buf_adds(out, ",\n");
	}
	if (!own || strcmp(own, "procpen.json")) {
		gen_man_link(out, "procpen.json", 5);
		buf_adds(out, ",\n");
	}
	gen_man_link(out, "procpen-options", 7);
	buf_addc(out, '\n');
}

/* ---- pages ---- */

void gen_man_command(const struct gen *g, const json_t *command, struct buf *out)
{
	char page[GEN_PATH_MAX];
	json_t *text;
	size_t i;

	snprintf(page, sizeof(page), "procpen-%s", gen_member(command, "name"));
	gen_man_title(out, page, 1);
	gen_man_phrase(out, gen_member(command, "summary"));
	buf_adds(out, ".SH SYNOPSIS\n.nf\n");
	json_array_foreach(json_object_get(command, "usage"), i, text)
		gen_man_usage(out, json_string_value(text));
	buf_adds(out, ".fi\n.SH DESCRIPTION\n");
	json_array_foreach(json_object_get(command, "text"), i, text) {
		if (i)
			buf_adds(out, ".PP\n");
		gen_man_prose(out, json_string_value(text));
	}
	buf_adds(out, ".SH OPTIONS\n");
	gen_cli_each_option(g, command, gen_man_option, out);
	gen_man_rows(out, "EXIT STATUS", json_object_get(command, "statuses"), "status");
	gen_man_examples(out, json_object_get(command, "examples"));
	gen_man_see_also(g, page, out);
}

void gen_man_overview(const struct gen *g, struct buf *out)
{
	json_t *command;
	size_t i;

	gen_man_title(out, "procpen", 1);
	gen_man_phrase(out, gen_member(g->cli, "summary"));
	buf_adds(out, ".SH SYNOPSIS\n.nf\n");
	gen_man_usage(out, "procpen COMMAND [OPTION]...");
	buf_adds(out, ".fi\n.SH DESCRIPTION\n");
	gen_man_prose(out, gen_member(g->cli, "about"));
	buf_adds(out, ".SH COMMANDS\n");
	json_array_foreach(gen_cli_commands(g), i, command) {
		char page[GEN_PATH_MAX];

		snprintf(page, sizeof(page), "procpen-%s", gen_member(command, "name"));
		buf_adds(out, ".TP\n");
		gen_man_link(out, page, 1);
		buf_addc(out, '\n');
		gen_man_prose(out, gen_member(command, "summary"));
	}
	buf_adds(out, ".SH EXIT STATUS\n");
	gen_man_prose(out, "Each command has its own; its page lists them.");
	gen_man_rows(out, "ENVIRONMENT", json_object_get(g->cli, "environment"), "name");
	gen_man_rows(out, "FILES", json_object_get(g->cli, "files"), "path");
	gen_man_examples(out, json_object_get(g->cli, "examples"));
	gen_man_see_also(g, NULL, out);
}

/* "boolean, true" or "1 to 64, 8": the values of a key and its default. */
static void gen_man_values(struct buf *out, const json_t *row)
{
	struct buf text;

	buf_init(&text, TEXT_MAX);
	gen_docs_option_bounds(&text, row);
	if (!text.len)
		buf_adds(&text, gen_member(row, "type"));
	buf_adds(&text, "; default: ");
	gen_docs_option_default(&text, row);
	gen_man_literal(out, text.data);
	buf_release(&text);
}

static void gen_man_keys(const struct gen *g, struct buf *out)
{
	json_t *row;
	size_t i;

	buf_adds(out, ".SH KEYS\n");
	json_array_foreach(g->config, i, row) {
		buf_adds(out, ".TP\n");
		gen_man_font(out, 'B', gen_member(row, "name"));
		buf_adds(out, " (");
		gen_man_values(out, row);
		buf_adds(out, ")\n");
		gen_man_prose(out, gen_member(row, "text"));
	}
}

void gen_man_options(const struct gen *g, struct buf *out)
{
	gen_man_title(out, "procpen-options", 7);
	gen_man_phrase(out, "Keys of --set");
	buf_adds(out, ".SH DESCRIPTION\n");
	gen_man_prose(out, gen_member(g->cli, "settings"));
	gen_man_keys(g, out);
	gen_man_see_also(g, "procpen-options", out);
}

void gen_man_configuration(const struct gen *g, struct buf *out)
{
	json_t *text;
	size_t i;

	gen_man_title(out, "procpen.json", 5);
	gen_man_phrase(out, "Configuration files of procpen");
	buf_adds(out, ".SH DESCRIPTION\n");
	json_array_foreach(json_object_get(g->cli, "configuration"), i, text) {
		if (i)
			buf_adds(out, ".PP\n");
		gen_man_prose(out, json_string_value(text));
	}
	gen_man_keys(g, out);
	gen_man_see_also(g, "procpen.json", out);
}
