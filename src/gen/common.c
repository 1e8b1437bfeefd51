#include "gen/gen.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define LITERAL_WIDTH 76

_Noreturn void gen_fail(const struct gen_at *at, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "procpen-gen: %s: %s%s", at->file, at->path, at->path[0] ? ": " : "");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

struct gen_at gen_below(const struct gen_at *at, const char *name)
{
	struct gen_at below = { .file = at->file };
	int len = snprintf(below.path, sizeof(below.path), "%s%s%s", at->path,
			   at->path[0] ? "." : "", name);

	if (len < 0 || (size_t)len >= sizeof(below.path))
		gen_fail(at, "nested too deep");
	return below;
}

const char *gen_str_or(const struct gen_at *at, const json_t *object, const char *name,
		       const char *fallback)
{
	const json_t *value = json_object_get(object, name);

	if (!value)
		return fallback;
	if (!json_is_string(value) || !json_string_length(value))
		gen_fail(at, "\"%s\" must be a string that is not empty", name);
	return json_string_value(value);
}

const char *gen_str(const struct gen_at *at, const json_t *object, const char *name)
{
	const char *text = gen_str_or(at, object, name, NULL);

	if (!text)
		gen_fail(at, "\"%s\" is missing", name);
	return text;
}

json_int_t gen_int(const struct gen_at *at, const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (!json_is_integer(value))
		gen_fail(at, "\"%s\" must be an integer", name);
	return json_integer_value(value);
}

const char *gen_member(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

void gen_only(const struct gen_at *at, json_t *object, const char *const *known)
{
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		gen_fail(at, "must be an object");
	json_object_foreach(object, name, value)
		if (!str_is_listed(name, known))
			gen_fail(at, "\"%s\" is not supported here", name);
}

void gen_check_printable(const struct gen_at *at, const json_t *value)
{
	const char *name, *text = json_string_value(value);
	json_t *member;
	size_t i;

	for (; text && *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			gen_fail(at, "a text has the control character %#x", *text);
	json_array_foreach(value, i, member) {
		if (json_is_string(member) && !json_string_length(member))
			gen_fail(at, "element %zu is an empty text", i);
		gen_check_printable(at, member);
	}
	json_object_foreach((json_t *)(uintptr_t)value, name, member) {
		struct gen_at below = gen_below(at, name);

		gen_check_printable(&below, member);
	}
}

void gen_check_word(const struct gen_at *at, const char *name)
{
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			gen_fail(at, "the name %s needs quotes in a shell", name);
}

void gen_c_name(const char *name, char out[GEN_PATH_MAX])
{
	snprintf(out, GEN_PATH_MAX, "%s", name);
	for (char *c = out; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
}

void gen_upper(const char *name, char out[GEN_PATH_MAX])
{
	gen_c_name(name, out);
	for (char *c = out; *c; c++)
		*c = (char)toupper((unsigned char)*c);
}

void gen_snake_upper(const char *camel, char out[GEN_PATH_MAX])
{
	size_t len = 0;

	for (const char *c = camel; *c && len + 2 < GEN_PATH_MAX; c++) {
		if (isupper((unsigned char)*c) && c > camel)
			out[len++] = '_';
		out[len++] = (char)toupper((unsigned char)*c);
	}
	out[len] = '\0';
}

void gen_literal(struct buf *out, const char *text, int tabs)
{
	int width = 0;

	buf_addc(out, '"');
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (width >= LITERAL_WIDTH) {
			buf_adds(out, "\"\n");
			for (int i = 0; i < tabs; i++)
				buf_addc(out, '\t');
			buf_addc(out, '"');
			width = 0;
		}
		if (*c == '"' || *c == '\\')
			width += 2, buf_addf(out, "\\%c", *c);
		else if (*c < 0x20 || *c >= 0x7f)
			width += 4, buf_addf(out, "\\%03o", *c);
		else
			width++, buf_addc(out, (char)*c);
	}
	buf_addc(out, '"');
}

void gen_name_methods(const struct gen *g, const char *text, struct buf *out)
{
	char tool[GEN_PATH_MAX];

	while (*text) {
		const char *name = NULL;

		for (int i = 0; i < g->cap_count && !name; i++) {
			name = gen_member(g->caps[i], "name");
			gen_c_name(name, tool);
			if (strncmp(text, tool, strlen(tool)))
				name = NULL;
		}
		if (name)
			buf_adds(out, name);
		else
			buf_addc(out, *text);
		text += name ? strlen(name) : 1;
	}
}

void gen_needs_room(struct buf *out, const char *type, const char *member, size_t len)
{
	buf_addf(out, "_Static_assert(sizeof(((%s *)0)->%s) > %zu, \"%s of %s\");\n", type, member,
		 len, member, type);
}

bool gen_is_error(const struct gen *g, const char *name)
{
	size_t i;
	json_t *row;

	json_array_foreach(g->errors, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "name")), name))
			return true;
	return false;
}

bool gen_is_required(const json_t *schema, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(schema, "required"), i, one)
		if (!strcmp(json_string_value(one), name))
			return true;
	return false;
}
