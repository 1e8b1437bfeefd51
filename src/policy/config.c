/*
 * The table is data (schema/config.json); this file only turns text into typed
 * values and refuses what the table does not allow. A value is parsed completely
 * before the old one is replaced, so a refused assignment changes nothing.
 */
#include "policy/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/schema.h"

static const char *const true_words[] = { "true", "yes", "on", "1", NULL };
static const char *const false_words[] = { "false", "no", "off", "0", NULL };

static int config_word_index(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	return -1;
}

/* Shift of a size suffix, or -1. */
static int config_suffix_shift(const char *suffix)
{
	if (suffix[0] == '\0')
		return 0;
	if (suffix[1] != '\0')
		return -1;
	switch (suffix[0]) {
	case 'k': case 'K':
		return 10;
	case 'm': case 'M':
		return 20;
	case 'g': case 'G':
		return 30;
	default:
		return -1;
	}
}

/* Digits of @base and a suffix. -1: not a number, or beyond 64 bits. */
static int config_number_parse(const char *text, int base, int64_t *value)
{
	bool negative = text[0] == '-';
	const char *p = text + negative;
	int64_t n = 0;

	if (*p < '0' || *p >= '0' + base)
		return -1;
	for (; *p >= '0' && *p < '0' + base; p++)
		if (__builtin_mul_overflow(n, base, &n) || __builtin_add_overflow(n, *p - '0', &n))
			return -1;
	int shift = config_suffix_shift(p);
	if (shift < 0 || __builtin_mul_overflow(n, (int64_t)1 << shift, &n))
		return -1;
	*value = negative ? -n : n;
	return 0;
}

static int config_set_integer(const struct config_row *row, const char *text,
			      struct config_value *v, struct err *e)
{
	const char *unit = row->unit ? row->unit : "";
	int base = 10;
	int64_t n;

	/* umask is the one option in octal, as in umask(1). */
	if (row == &config_rows[CONFIG_PROCESS_UMASK] && text[0] == '0')
		base = 8;
	if (config_number_parse(text, base, &n) != 0 || n < row->min || n > row->max) {
		err_set(e, ERR_INVALID_PARAMS,
			"option %s: \"%.64s\" is not an integer from %lld to %lld%s%s", row->name,
			text, (long long)row->min, (long long)row->max, *unit ? " " : "", unit);
		return err_hint(e, "Give digits, with K, M or G after them for units of 1024.");
	}
	v->number = n;
	return 0;
}

static int config_set_boolean(const struct config_row *row, const char *text,
			      struct config_value *v, struct err *e)
{
	if (config_word_index(true_words, text) >= 0)
		v->number = 1;
	else if (config_word_index(false_words, text) >= 0)
		v->number = 0;
	else
		return err_set(e, ERR_INVALID_PARAMS,
			       "option %s: \"%.64s\" is neither true nor false", row->name, text);
	return 0;
}

static int config_set_enum(const struct config_row *row, const char *text, struct config_value *v,
			   struct err *e)
{
	int index = config_word_index(row->choices, text);
	char list[256] = "";
	size_t len = 0;

	if (index >= 0) {
		v->number = index;
		return 0;
	}
	for (const char *const *p = row->choices; *p; p++) {
		if (len + strlen(*p) + 3 > sizeof(list))
			break;
		len = (size_t)(stpcpy(stpcpy(list + len, len ? ", " : ""), *p) - list);
	}
	return err_set(e, ERR_INVALID_PARAMS, "option %s: \"%.64s\" is none of: %s", row->name,
		       text, list);
}

/* A variable's name; '*' may stand at the end only. */
static bool config_name_ok(const char *name, size_t len)
{
	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c <= ' ' || c == '=' || c == 0x7f || (c == '*' && i + 1 < len))
			return false;
	}
	return true;
}

static int config_set_names(const struct config_row *row, const char *text, struct config_value *v,
			    struct err *e)
{
	size_t count = 0, max = 1;

	for (const char *p = text; *p; p++)
		max += *p == ',';
	char **names = mem_zalloc((max + 1) * sizeof(*names));

	for (const char *p = text; *text; p += strcspn(p, ",") + 1) {
		size_t len = strcspn(p, ",");

		if (!config_name_ok(p, len)) {
			mem_list_free(names);
			return err_set(e, ERR_INVALID_PARAMS,
				       "option %s: \"%.*s\" is not a name (no blanks, no '=', "
				       "'*' at the end only)",
				       row->name, (int)(len < 64 ? len : 64), p);
		}
		names[count++] = mem_strndup(p, len);
		if (p[len] == '\0')
			break;
	}
	if (row->max && count > (size_t)row->max) {
		mem_list_free(names);
		return err_set(e, ERR_INVALID_PARAMS, "option %s takes at most %lld names, not %zu",
			       row->name, (long long)row->max, count);
	}
	mem_list_free(v->names);
	v->names = names;
	return 0;
}

static int config_set_value(struct config *c, int key, const char *text, struct err *e)
{
	const struct config_row *row = &config_rows[key];
	struct config_value *v = &c->values[key];

	switch (row->type) {
	case CONFIG_INTEGER:
		return config_set_integer(row, text, v, e);
	case CONFIG_BOOLEAN:
		return config_set_boolean(row, text, v, e);
	case CONFIG_ENUM:
		return config_set_enum(row, text, v, e);
	case CONFIG_NAMES:
		return config_set_names(row, text, v, e);
	}
	mem_bug(__FILE__, __LINE__, "unknown option type");
}

void config_init(struct config *c)
{
	struct err e = ERR_INIT;

	memset(c, 0, sizeof(*c));
	for (int key = 0; key < CONFIG_COUNT; key++)
		BUG_IF(config_set_value(c, key, config_rows[key].default_text, &e) != 0);
}

void config_release(struct config *c)
{
	for (int key = 0; key < CONFIG_COUNT; key++)
		mem_list_free(c->values[key].names);
	memset(c, 0, sizeof(*c));
}

int config_find(const char *name)
{
	for (int key = 0; key < CONFIG_COUNT; key++)
		if (strcmp(config_rows[key].name, name) == 0)
			return key;
	return -1;
}

static int config_unknown_option(const char *name, struct err *e)
{
	const char *names[CONFIG_COUNT + 1] = { NULL };

	for (int key = 0; key < CONFIG_COUNT; key++)
		names[key] = config_rows[key].name;
	const char *near = schema_nearest(name, names);

	if (near)
		err_set(e, ERR_INVALID_PARAMS, "unknown option \"%.64s\"; the nearest is \"%s\"",
			name, near);
	else
		err_set(e, ERR_INVALID_PARAMS, "unknown option \"%.64s\"", name);
	return err_hint(e, "docs/reference.md lists all options.");
}

int config_set(struct config *c, const char *assignment, struct err *e)
{
	const char *equals = strchr(assignment, '=');

	if (!equals) {
		err_set(e, ERR_INVALID_PARAMS, "\"%.64s\" has no '='", assignment);
		return err_hint(e, "Write --set key=value.");
	}
	AUTO_FREE char *name = mem_strndup(assignment, (size_t)(equals - assignment));
	int key = config_find(name);

	if (key < 0)
		return config_unknown_option(name, e);
	return config_set_value(c, key, equals + 1, e);
}

int64_t config_int(const struct config *c, enum config_key key)
{
	BUG_IF(config_rows[key].type != CONFIG_INTEGER);
	return c->values[key].number;
}

bool config_bool(const struct config *c, enum config_key key)
{
	BUG_IF(config_rows[key].type != CONFIG_BOOLEAN);
	return c->values[key].number != 0;
}

const char *config_choice(const struct config *c, enum config_key key)
{
	BUG_IF(config_rows[key].type != CONFIG_ENUM);
	return config_rows[key].choices[c->values[key].number];
}

char *const *config_names(const struct config *c, enum config_key key)
{
	BUG_IF(config_rows[key].type != CONFIG_NAMES);
	return c->values[key].names;
}
