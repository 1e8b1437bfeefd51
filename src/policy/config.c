/*
 * The table is data (schema/config.json); this file only turns text into typed
 * values and refuses what the table does not allow. A value is parsed completely
 * before the old one is replaced, so a refused assignment changes nothing.
 */
#include "policy/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "base/schema.h"
#include "base/str.h"

#define MEANT_MAX 3 /* options that are named for one that does not exist */
#define MEANT_TEXT_MAX 4096

static const char *const true_words[] = { "true", "yes", "on", "1", NULL };
static const char *const false_words[] = { "false", "no", "off", "0", NULL };

static enum quantity config_unit(const struct config_row *row)
{
	static const struct {
		const char *name;
		enum quantity unit;
	} units[] = {
		{ "bytes", QUANTITY_BYTES },
		{ "seconds", QUANTITY_SECONDS },
		{ "milliseconds", QUANTITY_MILLISECONDS },
	};

	const char *unit = strtab_get(row->unit);

	for (size_t i = 0; unit && i < COUNT_OF(units); i++)
		if (!strcmp(units[i].name, unit))
			return units[i].unit;
	return QUANTITY_COUNT;
}

/* More than one digit begins with 0: whoever writes 77 may mean either. */
static int config_octal_parse(const char *text, int64_t *value)
{
	if (!*text || text[strspn(text, "01234567")] || (*text != '0' && text[1]))
		return -1;
	*value = strtol(text, NULL, 8);
	return 0;
}

/* In the unit of the option, of which it must be a whole number. */
static int config_number_parse(const struct config_row *row, const char *text, int64_t *value)
{
	enum quantity unit = config_unit(row);
	int64_t scale = quantity_scale(unit);

	if (row->octal)
		return config_octal_parse(text, value);
	if (quantity_parse(text, unit, value) || *value % scale)
		return -1;
	*value /= scale;
	return 0;
}

static int config_fail_octal(const struct config_row *row, const char *text, struct err *e)
{
	err_set(e, ERR_INVALID_PARAMS, "option %s: \"%.64s\" is not an octal number from %#llo to "
		"%#llo that begins with 0", row->name, text, (long long)row->min,
		(long long)row->max);
	return err_hint(e, "Write 022 or 077.");
}

static int config_set_integer(const struct config_row *row, const char *text,
			      struct config_value *v, struct err *e)
{
	const char *unit = strtab_get(row->unit);
	int64_t n;

	if (config_number_parse(row, text, &n) != 0 || n < row->min || n > row->max) {
		if (row->octal)
			return config_fail_octal(row, text, e);
		err_set(e, ERR_INVALID_PARAMS,
			"option %s: \"%.64s\" is not an integer from %lld to %lld%s%s", row->name,
			text, (long long)row->min, (long long)row->max, unit ? " " : "",
			unit ? unit : "");
		if (config_unit(row) == QUANTITY_SECONDS) /* whole ones only */
			return err_hint(e, "Write 90s, 5m or 1h; a number alone is in seconds.");
		return err_hint(e, "%s", quantity_forms(config_unit(row)));
	}
	v->number = n;
	return 0;
}

static int config_set_boolean(const struct config_row *row, const char *text,
			      struct config_value *v, struct err *e)
{
	if (str_is_listed(text, true_words))
		v->number = 1;
	else if (str_is_listed(text, false_words))
		v->number = 0;
	else {
		err_set(e, ERR_INVALID_PARAMS, "option %s: \"%.64s\" is neither true nor false",
			row->name, text);
		return err_hint(e, "Write true or false.");
	}
	return 0;
}

void config_list_choices(const struct config_row *row, char list[CONFIG_CHOICES_SIZE])
{
	size_t len = 0;

	*list = '\0';
	for (const char *one = strtab_first(row->choices); one; one = strtab_next(one)) {
		if (len + strlen(one) + 3 > CONFIG_CHOICES_SIZE)
			break;
		len = (size_t)(stpcpy(stpcpy(list + len, len ? ", " : ""), one) - list);
	}
}

static int config_set_enum(const struct config_row *row, const char *text, struct config_value *v,
			   struct err *e)
{
	const char *one = strtab_first(row->choices);
	char list[CONFIG_CHOICES_SIZE];

	for (v->number = 0; one && strcmp(one, text); one = strtab_next(one))
		v->number++;
	if (one)
		return 0;
	config_list_choices(row, list);
	err_set(e, ERR_INVALID_PARAMS, "option %s: \"%.64s\" is none of: %s", row->name, text,
		list);
	return err_hint(e, "Name one of them.");
}

/* The name of a variable; '*' only at its end. */
static bool config_is_variable(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c <= ' ' || c == '=' || c == 0x7f || (c == '*' && i + 1 < len))
			return false;
	}
	return len;
}

/* A path, or another name: a blank at its ends is one too many in a list, and nothing takes
 * patterns. */
static bool config_is_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f || name[i] == '*')
			return false;
	return len && name[0] != ' ' && name[len - 1] != ' ';
}

/* NULL if @name can be one of @row, else what it would have to be like. */
static const char *config_name_fault(const struct config_row *row, const char *name, size_t len)
{
	if (row == &config_rows[CONFIG_ENV_ALLOW] || row == &config_rows[CONFIG_ENV_PROTECT])
		return config_is_variable(name, len) ? NULL
						     : "no blanks, no '=', '*' at the end only";
	return config_is_name(name, len) ? NULL : "no blanks at its ends, no '*'";
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
		const char *fault = config_name_fault(row, p, len);

		if (fault) {
			mem_list_free(names);
			err_set(e, ERR_INVALID_PARAMS, "option %s: \"%.*s\" is not valid: %s",
				row->name, (int)(len < 64 ? len : 64), p, fault);
			return err_hint(e, "Write several with commas between them.");
		}
		names[count++] = mem_strndup(p, len);
		if (p[len] == '\0')
			break;
	}
	if (row->max && count > (size_t)row->max) {
		mem_list_free(names);
		err_set(e, ERR_INVALID_PARAMS, "option %s takes at most %lld name%s, not %zu",
			row->name, (long long)row->max, row->max == 1 ? "" : "s", count);
		return err_hint(e, "Name fewer.");
	}
	v->names = names;
	return 0;
}

/* A number that ends at a comma or at the end of the text. */
static bool config_is_port(const struct config_row *row, const char *text, size_t len)
{
	int64_t port = 0;

	for (size_t i = 0; i < len && port <= row->max; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (text[i] - '0');
	}
	return len && *text != '0' && port >= row->min && port <= row->max;
}

static int config_fail_ports(const struct config_row *row, const char *text, struct err *e)
{
	err_set(e, ERR_INVALID_PARAMS, "option %s: \"%.64s\" is neither true nor false nor a list "
		"of at most %d ports from %lld to %lld", row->name, text, CONFIG_PORTS_MAX,
		(long long)row->min, (long long)row->max);
	return err_hint(e, "Write true, false, or ports: 53,443; in a file [53, 443].");
}

/* A comma may stand behind the last port: "1," is a list, and 1 means true. */
static int config_set_ports(const struct config_row *row, const char *text, struct config_value *v,
			    struct err *e)
{
	size_t count = 0;

	v->names = mem_zalloc((CONFIG_PORTS_MAX + 1) * sizeof(*v->names));
	v->number = 1;
	if (str_is_listed(text, true_words))
		return 0;
	v->number = 0;
	if (str_is_listed(text, false_words))
		return 0;
	v->number = 1;
	for (const char *p = text; *p || !count; p += *p == ',') {
		size_t len = strcspn(p, ",");

		if (count == CONFIG_PORTS_MAX || !config_is_port(row, p, len)) {
			mem_list_free(v->names);
			return config_fail_ports(row, text, e);
		}
		v->names[count++] = mem_strndup(p, len);
		p += len;
	}
	return 0;
}

static int config_parse(const struct config_row *row, const char *text, struct config_value *v,
			struct err *e)
{
	switch (row->type) {
	case CONFIG_INTEGER:
		return config_set_integer(row, text, v, e);
	case CONFIG_BOOLEAN:
		return config_set_boolean(row, text, v, e);
	case CONFIG_ENUM:
		return config_set_enum(row, text, v, e);
	case CONFIG_NAMES:
		return config_set_names(row, text, v, e);
	case CONFIG_PORTS:
		return config_set_ports(row, text, v, e);
	}
	mem_bug(__FILE__, __LINE__, "unknown option type");
}

static void config_release_value(struct config_value *v)
{
	mem_list_free(v->names);
	free(v->origin);
}

int config_assign(struct config *c, int key, const char *text, enum config_rank rank,
		  const char *origin, struct err *e)
{
	struct config_value next = { .rank = rank }, *v = &c->values[key];

	if (config_parse(&config_rows[key], text, &next, e))
		return -1;
	if (rank < v->rank) {
		config_release_value(&next);
		return 0;
	}
	next.origin = mem_strdup(origin);
	config_release_value(v);
	*v = next;
	return 0;
}

void config_init(struct config *c)
{
	ERR_LOCAL(e);

	memset(c, 0, sizeof(*c));
	for (int key = 0; key < CONFIG_COUNT; key++)
		BUG_IF(config_assign(c, key, strtab_get(config_rows[key].default_text),
				     CONFIG_BY_DEFAULT, NULL, &e) != 0);
}

void config_release(struct config *c)
{
	for (int key = 0; key < CONFIG_COUNT; key++)
		config_release_value(&c->values[key]);
	ruleset_release(&c->rules);
	memset(c, 0, sizeof(*c));
}

int config_find(const char *name)
{
	for (int key = 0; key < CONFIG_COUNT; key++)
		if (strcmp(config_rows[key].name, name) == 0)
			return key;
	return -1;
}

/* Does @option have all words of @name in a row, as sandbox.network has network? */
static bool config_has_words(const char *option, const char *name)
{
	const char *at = strstr(option, name);

	return *name && at && (at == option || strchr("._", at[-1])) &&
	       strchr("._", at[strlen(name)]);
}

/* Add what may be meant by @name: the nearest option, else those of which it is a part, if few. */
static void config_add_meant(const char *name, struct buf *out)
{
	const char *names[CONFIG_COUNT + 1] = { NULL }, *nearest;
	size_t count = 0;

	for (int key = 0; key < CONFIG_COUNT; key++)
		names[key] = config_rows[key].name;
	nearest = schema_nearest(name, names);
	if (nearest)
		buf_addf(out, "; the nearest is \"%s\"", nearest);
	for (int key = 0; !nearest && names[key]; key++)
		if (config_has_words(names[key], name))
			buf_addf(out, "%s\"%s\"", count++ ? " or " : "; the nearest is ",
				 names[key]);
	if (count > MEANT_MAX)
		buf_clear(out);
}

static int config_unknown_option(const char *name, struct err *e)
{
	struct buf meant;

	buf_init(&meant, MEANT_TEXT_MAX);
	config_add_meant(name, &meant);
	err_set(e, ERR_INVALID_PARAMS, "unknown option \"%.64s\"%s", name,
		meant.len ? meant.data : "");
	buf_release(&meant);
	return err_hint(e, "`procpen help options` lists all options.");
}

int config_lookup(const char *name, struct err *e)
{
	int key = config_find(name);

	return key < 0 ? config_unknown_option(name, e) : key;
}

int config_set(struct config *c, const char *assignment, struct err *e)
{
	const char *equals = strchr(assignment, '=');

	if (!equals) {
		err_set(e, ERR_INVALID_PARAMS, "\"%.64s\" has no '='", assignment);
		return err_hint(e, "Write --set key=value.");
	}
	AUTO_FREE char *name = mem_strndup(assignment, (size_t)(equals - assignment));
	int key = config_lookup(name, e);

	return key < 0 ? -1 : config_assign(c, key, equals + 1, CONFIG_BY_COMMAND_LINE, "--set", e);
}

/* ---- mistakes ---- */

int config_fault(const struct config *c, struct err *e)
{
	struct config_faults *f = c->faults;

	if (!f)
		return -1;
	if (f->count++ < CONFIG_FAULTS_MAX)
		f->list[f->count - 1] = *e;
	else
		err_release(e);
	err_init(e);
	return 0;
}

void config_place(const char *path, struct jsonc_place at, struct err *e)
{
	err_prefix(e, "%.300s:%d:%d: ", path, at.line, at.column);
	err_detail(e, "line", json_integer(at.line));
	err_detail(e, "column", json_integer(at.column));
}

int config_fault_in(const struct config *c, enum config_key key, struct err *e)
{
	const struct config_value *v = &c->values[key];
	AUTO_FREE char *path = v->at.line ? mem_strdup(v->origin) : NULL;

	if (path) {
		*strrchr(path, ':') = '\0';
		config_place(path, v->at, e);
	} else if (v->rank == CONFIG_BY_ENVIRONMENT) {
		err_prefix(e, "environment variable %.128s: ", v->origin);
	}
	return config_fault(c, e);
}

void config_faults_release(struct config_faults *f)
{
	for (size_t i = 0; i < f->count && i < CONFIG_FAULTS_MAX; i++)
		err_release(&f->list[i]);
	*f = (struct config_faults){ 0 };
}

/* ---- values ---- */

int64_t config_int(const struct config *c, enum config_key key)
{
	BUG_IF(config_rows[key].type != CONFIG_INTEGER);
	return c->values[key].number;
}

bool config_bool(const struct config *c, enum config_key key)
{
	BUG_IF(config_rows[key].type != CONFIG_BOOLEAN && config_rows[key].type != CONFIG_PORTS);
	return c->values[key].number != 0;
}

const char *config_choice(const struct config *c, enum config_key key)
{
	const char *choice = strtab_first(config_rows[key].choices);

	BUG_IF(config_rows[key].type != CONFIG_ENUM);
	for (int64_t i = c->values[key].number; i > 0; i--)
		choice = strtab_next(choice);
	return choice;
}

char *const *config_names(const struct config *c, enum config_key key)
{
	BUG_IF(config_rows[key].type != CONFIG_NAMES && config_rows[key].type != CONFIG_PORTS);
	return c->values[key].names;
}

const char *config_origin(const struct config *c, enum config_key key)
{
	const char *origin = c->values[key].origin;

	return origin ? origin : "default";
}

void config_remedy(const struct config *c, enum config_key key, const char *value,
		   char text[CONFIG_REMEDY_SIZE])
{
	const char *name = config_rows[key].name;

	if (c->values[key].rank == CONFIG_BY_PROJECT)
		snprintf(text, CONFIG_REMEDY_SIZE,
			 "in %.200s (%s), or with --set config.project=off", config_origin(c, key),
			 name);
	else if (!c->values[key].origin)
		snprintf(text, CONFIG_REMEDY_SIZE, "with --set %s=%.48s (now at its default)", name,
			 value);
	else
		snprintf(text, CONFIG_REMEDY_SIZE, "with --set %s=%.48s (set by %.200s)", name,
			 value, config_origin(c, key));
}

/* Heap. */
static char *config_join(char *const *names)
{
	size_t size = 1;
	char *text, *to;

	for (char *const *name = names; *name; name++)
		size += strlen(*name) + 1;
	text = to = mem_zalloc(size);
	for (char *const *name = names; *name; name++)
		to = stpcpy(stpcpy(to, name == names ? "" : ","), *name);
	return text;
}

char *config_text(const struct config *c, enum config_key key)
{
	const struct config_value *v = &c->values[key];

	switch (config_rows[key].type) {
	case CONFIG_NAMES:
		return config_join(v->names);
	case CONFIG_PORTS:
		if (*v->names && !v->names[1] && !strcmp(*v->names, "1"))
			return mem_strdup("1,");
		if (*v->names)
			return config_join(v->names);
		return mem_strdup(v->number ? "true" : "false");
	case CONFIG_BOOLEAN:
		return mem_strdup(v->number ? "true" : "false");
	case CONFIG_ENUM:
		return mem_strdup(config_choice(c, key));
	case CONFIG_INTEGER:
		return mem_printf(config_rows[key].octal ? "%#llo" : "%lld", (long long)v->number);
	}
	mem_bug(__FILE__, __LINE__, "unknown option type");
}
