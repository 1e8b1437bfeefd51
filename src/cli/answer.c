#include "cli/answer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/say.h"
#include "rpc/rpc.h"

#define INDENT 2

void answer_print_json(const char *json, size_t len)
{
	fwrite(json, 1, len, stdout);
	putchar('\n');
}

void answer_print_json_error(const char *json, size_t len)
{
	printf("{\"error\":%.*s}\n", (int)len, json);
}

void answer_print_err(const struct err *e, const struct result *partial)
{
	const char *error;
	struct buf line;
	size_t len;

	buf_init(&line, REQ_LINE_MAX);
	rpc_write_error(&line, NULL, 0, e, partial, NULL);
	error = json_raw_member(line.data, line.len, "error", &len);
	answer_print_json_error(error, len);
	buf_release(&line);
}

void answer_fail(const struct cli_command *command, bool json, const struct err *e)
{
	if (json)
		answer_print_err(e, NULL);
	say_error(command, e);
}

/* ---- for people ---- */

/* @len bytes of one line. A tab stays: output is full of them. */
static void answer_print_text(const char *text, size_t len)
{
	AUTO_FREE char *shown = mem_realloc(NULL, 6 * len + 1);
	const char *tab;

	for (; (tab = memchr(text, '\t', len)); len -= (size_t)(tab + 1 - text), text = tab + 1) {
		fwrite(shown, 1, utf8_show(shown, 6 * len, text, (size_t)(tab - text)), stdout);
		putchar('\t');
	}
	fwrite(shown, 1, utf8_show(shown, 6 * len, text, len), stdout);
}

static bool answer_is_empty(json_t *value)
{
	return json_is_null(value) || (json_is_string(value) && !json_string_length(value)) ||
	       (json_is_array(value) && !json_array_size(value)) ||
	       (json_is_object(value) && !json_object_size(value));
}

static bool answer_is_flat(json_t *value)
{
	json_t *below;
	const char *name;
	size_t i;

	json_object_foreach(value, name, below)
		if (json_is_object(below) || json_is_array(below) ||
		    (json_is_string(below) && strpbrk(json_string_value(below), " \n")))
			return false;
	json_array_foreach(value, i, below)
		if (json_is_object(below) || json_is_array(below) ||
		    (json_is_string(below) && strpbrk(json_string_value(below), " \n")))
			return false;
	return true;
}

static void answer_print_scalar(json_t *value)
{
	char *text;

	if (json_is_string(value)) {
		answer_print_text(json_string_value(value), json_string_length(value));
		return;
	}
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	fputs(text ? text : "", stdout);
	free(text);
}

/* One line: a scalar, or what a flat value holds: "cpu_ms 2, memory_peak_bytes 2162688". */
static void answer_print_flat(json_t *value)
{
	const char *name, *comma = "";
	json_t *below;
	size_t i;

	json_object_foreach(value, name, below) {
		if (answer_is_empty(below))
			continue;
		printf("%s%s ", comma, name);
		answer_print_scalar(below);
		comma = ", ";
	}
	json_array_foreach(value, i, below) {
		fputs(i ? ", " : "", stdout);
		answer_print_scalar(below);
	}
	if (json_is_array(value) && !json_array_size(value))
		fputs("(none)", stdout);
	if (!json_is_object(value) && !json_is_array(value))
		answer_print_scalar(value);
	putchar('\n');
}

/* Output may have NULs in it. */
static void answer_print_lines(const json_t *value, int indent)
{
	const char *text = json_string_value(value);
	const char *end = text ? text + json_string_length(value) : NULL;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;

		printf("%*s", indent, "");
		answer_print_text(text, (size_t)(stop - text));
		putchar('\n');
		text = newline ? newline + 1 : end;
	}
}

static void answer_print_members(json_t *object, int indent);

/* Behind its name or dash, which stands at @indent. */
static void answer_print_value(json_t *value, int indent)
{
	const char *text = json_string_value(value);
	bool lines = text && memchr(text, '\n', json_string_length(value));
	bool flat = !lines && answer_is_flat(value);
	json_t *below;
	size_t i;

	putchar(flat ? ' ' : '\n');
	if (flat)
		answer_print_flat(value);
	else if (lines)
		answer_print_lines(value, indent + 2 * INDENT);
	else
		answer_print_members(value, indent + INDENT);
	if (flat)
		return;
	json_array_foreach(value, i, below) {
		printf("%*s-", indent + INDENT, "");
		answer_print_value(below, indent + INDENT);
	}
}

/* An empty list says something in a member of the result, as the value of an option does. */
static void answer_print_members(json_t *object, int indent)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value) {
		if (answer_is_empty(value) && !(json_is_array(value) && indent == INDENT))
			continue;
		printf("%*s%s:", indent, "", name);
		answer_print_value(value, indent);
	}
}

void answer_print(json_t *result)
{
	answer_print_members(result, 0);
}

void answer_print_tool(const json_t *result)
{
	const json_t *part = json_array_get(json_object_get(result, "content"), 0);

	answer_print_lines(json_object_get(part, "text"), 0);
}

static void answer_say(json_t *object, const char *name, const char *after)
{
	json_t *text = json_object_get(object, name);

	if (!json_string_length(text))
		return;
	say_text(stderr, json_string_value(text));
	fputs(after, stderr);
}

void answer_print_error(json_t *error)
{
	json_t *data = json_object_get(error, "data");
	const char *message = json_string_value(json_object_get(error, "message"));
	const char *last = message && *message ? message + strlen(message) - 1 : "";

	answer_print(json_object_get(json_object_get(data, "details"), "result"));
	fputs("procpen call: ", stderr);
	answer_say(data, "type", ": ");
	answer_say(error, "message", strchr(".?", *last) ? " " : ". ");
	answer_say(data, "hint", "");
	putc('\n', stderr);
}
