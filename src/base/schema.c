/*
 * One pass over the given names (so that a misspelt name is reported as such, not as a
 * missing one), then one over the fields that are given or required.
 */
#include "base/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/strtab.h"
#include "base/utf8.h"

#define NAME_MAX_LEN 64
#define SHOWN_MAX 60
#define HINT_MAX 480
#define FIELDS_MAX 64

/* --- what a field takes, in words ------------------------------------------ */

/* Whole numbers as such, however large. */
static void schema_add_number(struct buf *out, double v)
{
	buf_addf(out, fabs(v) < 1e18 && !(floor(v) < v) ? "%.0f" : "%.15g", v);
}

static void schema_add_number_bounds(struct buf *out, const struct schema_field *f)
{
	bool range = f->has_min && f->has_max && !f->min_exclusive;
	const char *least = range ? " from " : f->min_exclusive ? " greater than "
							     : " of at least ";

	if (f->has_min) {
		buf_adds(out, least);
		schema_add_number(out, f->min);
	}
	if (f->has_max) {
		buf_adds(out, range ? " to " : f->has_min ? " and at most " : " of at most ");
		schema_add_number(out, f->max);
	}
	if (*f->unit)
		buf_addf(out, " %s%s", f->has_min || f->has_max ? "" : "of ", f->unit);
}

/* One character is one byte at least. */
static void schema_add_string_bounds(struct buf *out, const struct schema_field *f)
{
	size_t min = f->min_bytes ? f->min_bytes : f->min_chars == 1;

	if (min && f->max_bytes)
		buf_addf(out, " of %zu to %zu bytes", min, f->max_bytes);
	else if (f->max_bytes)
		buf_addf(out, " of at most %zu bytes", f->max_bytes);
	else if (min)
		buf_addf(out, " of at least %zu byte%s", min, min == 1 ? "" : "s");
	if (f->min_chars > 1)
		buf_addf(out, " of at least %zu characters", f->min_chars);
	if (f->max_chars)
		buf_addf(out, " of at most %zu characters", f->max_chars);
}

static void schema_add_types(struct buf *out, const struct schema_field *f)
{
	static const char *const names[] = { "a string",  "an integer", "a number",
					     "a boolean", "an array",	"an object" };
	const char *glue = "";

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		unsigned type = 1u << i;

		if (!(f->type & type))
			continue;
		buf_addf(out, "%s%s", glue, names[i]);
		glue = " or ";
		if (type & SCHEMA_STRING)
			schema_add_string_bounds(out, f);
		if (type & (SCHEMA_INTEGER | SCHEMA_NUMBER))
			schema_add_number_bounds(out, f);
	}
	if (f->max_items)
		buf_addf(out, " of at most %zu %s", f->max_items,
			 f->type & SCHEMA_ARRAY ? "elements" : "members");
	if (f->items) {
		buf_adds(out, f->max_items ? ", each " : ", each element ");
		schema_add_types(out, f + f->items);
	}
}

static void schema_add_expected(struct buf *out, const struct schema_field *f)
{
	if (!*f->enums) {
		schema_add_types(out, f);
		return;
	}
	buf_adds(out, "one of ");
	for (const char *one = f->enums; one; one = strtab_next(one))
		buf_addf(out, "%s\"%s\"", one == f->enums ? "" : ", ", one);
}

/* A value as a message quotes it: short, and cut at a character. */
static void schema_add_value(struct buf *out, const json_t *value)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);
	size_t shown = text ? utf8_cut(text, len, SHOWN_MAX) : 0;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		buf_addf(out, "an object of %zu member%s", json_object_size(value),
			 json_object_size(value) == 1 ? "" : "s");
		break;
	case JSON_ARRAY:
		buf_addf(out, "an array of %zu element%s", json_array_size(value),
			 json_array_size(value) == 1 ? "" : "s");
		break;
	case JSON_STRING:
		buf_addf(out, "\"%.*s\"%s", (int)shown, text, shown < len ? "..." : "");
		break;
	case JSON_INTEGER:
		buf_addf(out, "%lld", (long long)json_integer_value(value));
		break;
	case JSON_REAL:
		schema_add_number(out, json_real_value(value));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		buf_adds(out, json_is_true(value) ? "true" : "false");
		break;
	case JSON_NULL:
		buf_adds(out, "null");
		break;
	}
}

/* --- one value --------------------------------------------------------------- */

/* The location of a value, for messages: a parameter, and the path below it. */
struct place {
	const struct schema_field *top; /* whose hint goes out */
	bool required;                  /* it must be given */
	const char *given;              /* the name that the caller used */
	char label[2 * NAME_MAX_LEN];   /* "args[3]", "timeout (given as timeout_ms)" */
};

static int schema_bad_param(struct err *e, enum err_type type, const char *name,
			    const char *message, const char *hint)
{
	err_set(e, type, "%s", message);
	err_hint(e, "%s", hint);
	return err_parameter(e, name);
}

/* Does @value pass as one of the alias, which has another unit? */
static bool schema_fits_alias(const struct schema_field *f, double value)
{
	double scaled;

	if (f->alias_scale <= 0)
		return false;
	scaled = value / f->alias_scale;
	return !(f->has_max && scaled > f->max) &&
	       !(f->has_min && (f->min_exclusive ? scaled <= f->min : scaled < f->min));
}

/* What the message has not said: how to write the value that was meant. */
static void schema_add_remedy(struct buf *out, const struct place *p,
			      const struct schema_field *f, const json_t *value)
{
	const struct schema_field *top = p->top;

	if (f == top && json_is_number(value) && strcmp(p->given, top->name) == 0 &&
	    schema_fits_alias(top, json_number_value(value))) {
		buf_addf(out, "If these are not %s, write %s: ", top->unit, top->alias);
		schema_add_number(out, json_number_value(value));
		buf_addf(out, ".%s%s", *top->hint ? " " : "", top->hint);
	} else if (*top->hint) {
		buf_adds(out, top->hint);
	} else if (f != top || *f->enums) {
		buf_addf(out, "Give %s as ", p->given);
		schema_add_expected(out, top);
		buf_addc(out, '.');
	} else {
		buf_addf(out, "Correct %s and call again.", p->given);
	}
}

/* "limit must be <what f takes>, not <value>"; "stream cannot be <value>". */
static int schema_bad_value(const struct place *p, const struct schema_field *f,
			    const json_t *value, struct err *e)
{
	struct buf message, hint;

	buf_init(&message, sizeof(e->message) - 1);
	buf_init(&hint, HINT_MAX);
	if (*f->enums) { /* which there are says the hint */
		buf_addf(&message, "%s cannot be ", p->label);
	} else {
		buf_addf(&message, "%s must be ", p->label);
		schema_add_expected(&message, f);
		buf_adds(&message, ", not ");
	}
	schema_add_value(&message, value);
	schema_add_remedy(&hint, p, f, value);
	schema_bad_param(e, p->top->error ? p->top->error : ERR_INVALID_PARAMS, p->given,
			 message.data, hint.data);
	buf_release(&message);
	buf_release(&hint);
	return -1;
}

/* Hosts that fill in what their model leaves out send empty strings. */
static int schema_bad_string(const struct place *p, const struct schema_field *f,
			     const json_t *value, const char *problem, bool too_long,
			     struct err *e)
{
	bool nothing = !(f == p->top && p->required) && !json_string_length(value);
	char message[256], hint[160];

	snprintf(message, sizeof(message), "%s %s", p->label, problem);
	snprintf(hint, sizeof(hint), nothing ? "Leave %.100s out, or give it a value."
					     : "Correct %.100s and call again.", p->given);
	if (too_long && *f->hint)
		snprintf(hint, sizeof(hint), "%s", f->hint);
	return schema_bad_param(e, p->top->error ? p->top->error : ERR_INVALID_PARAMS, p->given,
				message, hint);
}

static bool schema_is_whole(const json_t *value)
{
	double v = json_real_value(value);

	return json_is_real(value) && fabs(v) <= 9007199254740992.0 && !(floor(v) < v);
}

static unsigned schema_type_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return SCHEMA_STRING;
	case JSON_INTEGER:
		return SCHEMA_INTEGER | SCHEMA_NUMBER;
	case JSON_REAL:
		return SCHEMA_NUMBER | (schema_is_whole(value) ? SCHEMA_INTEGER : 0);
	case JSON_TRUE:
	case JSON_FALSE:
		return SCHEMA_BOOLEAN;
	case JSON_ARRAY:
		return SCHEMA_ARRAY;
	case JSON_OBJECT:
		return SCHEMA_OBJECT;
	case JSON_NULL:
		break;
	}
	return 0;
}

static size_t schema_count_chars(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

static int schema_check_string(const struct place *p, const struct schema_field *f,
			       const json_t *value, struct err *e)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value), chars;
	char problem[128];

	if (strlen(text) != len) {
		snprintf(problem, sizeof(problem), "holds a NUL at byte %zu", strlen(text));
		return schema_bad_string(p, f, value, problem, false, e);
	}
	if (!len && (f->min_bytes || f->min_chars))
		return schema_bad_string(p, f, value, "is empty", false, e);
	if (len < f->min_bytes || (f->max_bytes && len > f->max_bytes)) {
		snprintf(problem, sizeof(problem), "is %zu bytes long; it must be %s %zu", len,
			 len < f->min_bytes ? "at least" : "at most",
			 len < f->min_bytes ? f->min_bytes : f->max_bytes);
		return schema_bad_string(p, f, value, problem, len > f->min_bytes, e);
	}
	if (!f->min_chars && !f->max_chars)
		return 0;
	chars = schema_count_chars(text, len);
	if (chars >= f->min_chars && (!f->max_chars || chars <= f->max_chars))
		return 0;
	snprintf(problem, sizeof(problem), "is %zu characters long; it must be %s %zu", chars,
		 chars < f->min_chars ? "at least" : "at most",
		 chars < f->min_chars ? f->min_chars : f->max_chars);
	return schema_bad_string(p, f, value, problem, chars > f->min_chars, e);
}

static bool schema_in_bounds(const struct schema_field *f, double v)
{
	if (f->has_min && (v < f->min || (f->min_exclusive && !(v > f->min))))
		return false;
	return !(f->has_max && v > f->max);
}

static bool schema_is_one_of(const char *text, const char *list)
{
	while (list && strcmp(list, text))
		list = strtab_next(list);
	return list;
}

/*
 * Check a value that is not a container. *@normal: a new reference to its replacement,
 * or NULL to keep it.
 */
static int schema_check_scalar(const struct place *p, const struct schema_field *f,
			       const json_t *value, json_t **normal, struct err *e)
{
	*normal = NULL;
	if (!(schema_type_of(value) & f->type))
		return schema_bad_value(p, f, value, e);
	if (json_is_string(value)) {
		if (schema_check_string(p, f, value, e))
			return -1;
		if (*f->enums && !schema_is_one_of(json_string_value(value), f->enums))
			return schema_bad_value(p, f, value, e);
	}
	if (json_is_number(value)) {
		if (!schema_in_bounds(f, json_number_value(value)))
			return schema_bad_value(p, f, value, e);
		if (json_is_real(value) && !(f->type & SCHEMA_NUMBER))
			*normal = json_integer((json_int_t)json_real_value(value));
	}
	return 0;
}

static int schema_check_elements(const struct place *p, const struct schema_field *f, json_t *array,
				 struct err *e)
{
	struct place below = *p;
	json_t *value, *normal;
	size_t i;

	json_array_foreach(array, i, value) {
		snprintf(below.label, sizeof(below.label), "%.64s[%zu]", p->given, i);
		if (schema_check_scalar(&below, f + f->items, value, &normal, e))
			return -1;
		if (normal)
			json_array_set_new(array, i, normal);
	}
	return 0;
}

static int schema_check_members(const struct place *p, const struct schema_field *f, json_t *object,
				struct err *e)
{
	struct place below = *p;
	json_t *value, *normal;
	const char *name;
	void *next;

	json_object_foreach_safe(object, next, name, value) {
		size_t shown = utf8_cut(name, strlen(name), SHOWN_MAX);

		snprintf(below.label, sizeof(below.label), "%.50s.%.*s", p->given, (int)shown,
			 name);
		if (schema_check_scalar(&below, f + f->items, value, &normal, e))
			return -1;
		if (normal)
			json_object_set_new(object, name, normal);
	}
	return 0;
}

static int schema_check_value(const struct place *p, json_t *params, json_t *value, struct err *e)
{
	const struct schema_field *f = p->top;
	json_t *normal;

	if (schema_check_scalar(p, f, value, &normal, e))
		return -1;
	if (normal) {
		json_object_set_new(params, f->name, normal);
		return 0;
	}
	if (!json_is_array(value) && !json_is_object(value))
		return 0;
	if (f->max_items && json_array_size(value) + json_object_size(value) > f->max_items)
		return schema_bad_value(p, f, value, e);
	if (!f->items)
		return 0;
	return json_is_array(value) ? schema_check_elements(p, f, value, e)
				    : schema_check_members(p, f, value, e);
}

/* --- names --------------------------------------------------------------------- */

/* The field called @name, by its name or alias; NULL: there is none. */
static const struct schema_field *schema_find(const struct schema *s, const char *name)
{
	for (const struct schema_field *f = s->fields; *f->name; f++)
		if (!strcmp(f->name, name) || (*f->alias && !strcmp(f->alias, name)))
			return f;
	return NULL;
}

/* All there are, for a name that is near to none. */
static void schema_hint_all(const struct schema *s, struct err *e)
{
	struct buf list;

	buf_init(&list, HINT_MAX);
	for (const struct schema_field *f = s->fields; *f->name; f++)
		if (schema_may_name(s, f))
			buf_addf(&list, "%s%s", list.len ? ", " : "Parameters: ", f->name);
	err_hint(e, "%s.", list.len ? list.data : "There are no parameters");
	buf_release(&list);
}

/* "Give text: a string of 1 to 10 bytes." @name is the field's own or its alias, which may be of
 * another unit than what it takes is told in. */
static void schema_hint_give(const struct schema_field *f, const char *name, struct err *e)
{
	bool scaled = f->alias_scale > 0 && strcmp(name, f->name) != 0;
	struct buf hint;

	buf_init(&hint, HINT_MAX);
	buf_addf(&hint, "Give %s%s%s: ", name, scaled ? ", or " : "", scaled ? f->name : "");
	schema_add_expected(&hint, f);
	buf_addc(&hint, '.');
	err_hint(e, "%s", hint.data);
	buf_release(&hint);
}

/* What the suggested name takes: the value for the unknown one may have been in another unit, or
 * something else, as true for `force`. */
static void schema_hint_nearest(const struct schema *s, const char *nearest, struct err *e)
{
	const struct schema_field *f = schema_find(s, nearest);

	if (*f->hint)
		err_hint(e, "%s", f->hint);
	else
		schema_hint_give(f, nearest, e);
}

static int schema_bad_name(const struct schema *s, const char *name, struct err *e)
{
	size_t shown = utf8_cut(name, strlen(name), SHOWN_MAX);
	const struct schema_field *other;
	const char *nearest = schema_suggest(s, name, &other);

	err_set(e, ERR_INVALID_PARAMS, "unknown parameter \"%.*s\"%s%s%s", (int)shown, name,
		nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
	if (nearest)
		schema_hint_nearest(s, nearest, e);
	else if (other)
		err_hint(e, "There is %s, which is in %s.", other->name, other->unit);
	else
		schema_hint_all(s, e);
	err_detail(e, "parameter", json_stringn(name, shown));
	err_detail(e, "nearest", nearest ? json_string(nearest) : NULL);
	return -1;
}

/* --- one field ------------------------------------------------------------------ */

/* Move the value from the field's alias, which was given, to its name. */
static int schema_rename_alias(const struct schema_field *f, struct place *p, json_t *params,
			       struct err *e)
{
	json_t *value = json_object_get(params, f->alias);
	char message[2 * NAME_MAX_LEN];

	if (json_object_get(params, f->name)) {
		snprintf(message, sizeof(message), "%s and %s are the same parameter", f->name,
			 f->alias);
		return schema_bad_param(e, ERR_INVALID_PARAMS, f->alias, message,
					"Give only one of the two.");
	}
	p->given = f->alias;
	snprintf(p->label, sizeof(p->label), "%s (given as %s)", f->name, f->alias);
	if (f->alias_scale > 0 && json_is_number(value))
		json_object_set_new(params, f->name,
				    json_real(json_number_value(value) / f->alias_scale));
	else
		json_object_set(params, f->name, value);
	json_object_del(params, f->alias);
	return 0;
}

static bool schema_is_required(const struct schema *s, const struct schema_field *f)
{
	return s->required >> (f - s->fields) & 1;
}

/* Without any parameter they may stand where none is looked for: beside `params`. */
static int schema_missing(const struct schema_field *f, const json_t *params, struct err *e)
{
	err_set(e, ERR_INVALID_PARAMS, "%s is required%s", f->name,
		json_object_size(params) ? "" : "; no parameter was given");
	schema_hint_give(f, f->name, e);
	return err_parameter(e, f->name);
}

/* The default of @f. Every call has some: no parser for them. */
static json_t *schema_new_default(const struct schema_field *f)
{
	const char *text = f->default_json;

	switch (*text) {
	case '"':
		return json_stringn_nocheck(text + 1, strlen(text) - 2);
	case 'f':
	case 't':
		return json_boolean(*text == 't');
	default:
		return json_integer(strtoll(text, NULL, 10));
	}
}

/* @value: NULL, if the alias was given. */
static int schema_check_given(const struct schema *s, const struct schema_field *f,
			      json_t *params, json_t *value, struct err *e)
{
	struct place p; /* is not cleared: its label is long */

	p.top = f;
	p.required = schema_is_required(s, f);
	p.given = f->name;
	strcpy(p.label, f->name);
	if (!value) {
		if (schema_rename_alias(f, &p, params, e))
			return -1;
		value = json_object_get(params, f->name);
	}
	return schema_check_value(&p, params, value, e);
}

/* Take null out of @object and of what is in it, and what is empty without it. */
static void schema_drop_values(json_t *object)
{
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(object, next, name, value) {
		size_t size = json_object_size(value);

		if (size)
			schema_drop_values(value);
		if (json_is_null(value) || (size && !json_object_size(value)))
			json_object_del(object, name);
	}
}

/* Some hosts fill in every parameter of a tool: with null those that are not given. Among strings
 * that have names, such as an environment, null could mean to take one away, so it stays a
 * mistake. Returns whether parameter @name is taken out. */
static bool schema_drop_null(const struct schema *s, const struct schema_field *f, json_t *params,
			     const char *name, json_t *value)
{
	if (json_is_null(value) && !schema_is_required(s, f)) {
		json_object_del(params, name);
		return true;
	}
	if (f->items && f[f->items].type != SCHEMA_STRING && json_is_object(value))
		schema_drop_values(value);
	return false;
}

int schema_check(const struct schema *s, json_t *params, struct err *e)
{
	json_t *values[FIELDS_MAX]; /* as given by name */
	uint64_t given = 0, by_alias = 0, left;
	const struct schema_field *f;
	const char *name;
	json_t *value;
	void *next;
	int bad = 0, i;

	if (!json_is_object(params)) {
		err_set(e, ERR_INVALID_PARAMS, "the parameters must be an object");
		return err_hint(e, "Send params as {\"name\": value}, not by position.");
	}
	json_object_foreach_safe(params, next, name, value) {
		f = schema_find(s, name);
		if (!f)
			return schema_bad_name(s, name, e);
		if (schema_drop_null(s, f, params, name, value))
			continue;
		i = (int)(f - s->fields);
		BUG_IF(i >= FIELDS_MAX);
		values[i] = value;
		given |= 1ULL << i;
		if (strcmp(f->name, name) != 0)
			by_alias |= 1ULL << i;
	}
	for (left = given | s->required; left && !bad; left &= left - 1) {
		i = __builtin_ctzll(left);
		f = &s->fields[i];
		if (given >> i & 1)
			bad = schema_check_given(s, f, params,
						 by_alias >> i & 1 ? NULL : values[i], e);
		else
			bad = schema_missing(f, params, e);
	}
	return bad;
}

void schema_fill_defaults(const struct schema *s, json_t *params)
{
	for (const struct schema_field *f = s->fields; *f->name; f++)
		if (*f->default_json && !json_object_get(params, f->name))
			json_object_set_new_nocheck(params, f->name, schema_new_default(f));
}

void schema_drop_defaults(const struct schema *s, json_t *params)
{
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(params, next, name, value)
		if (schema_is_default(s, name, value))
			json_object_del(params, name);
}

/* The field @name, if it has a default; else NULL. */
static const struct schema_field *schema_find_default(const struct schema *s, const char *name)
{
	const struct schema_field *f = s->fields;

	while (*f->name && strcmp(f->name, name))
		f++;
	return *f->name && *f->default_json ? f : NULL;
}

json_t *schema_default(const struct schema *s, const char *name)
{
	const struct schema_field *f = schema_find_default(s, name);

	return f ? schema_new_default(f) : NULL;
}

/* As schema_new_default() reads it. */
static bool schema_equals_default(const struct schema_field *f, const json_t *value)
{
	const char *text = f->default_json;
	size_t len = strlen(text);

	switch (*text) {
	case '"':
		return json_is_string(value) && json_string_length(value) == len - 2 &&
		       !memcmp(json_string_value(value), text + 1, len - 2);
	case 'f':
	case 't':
		return json_is_boolean(value) && json_is_true(value) == (*text == 't');
	default:
		return json_is_integer(value) &&
		       json_integer_value(value) == strtoll(text, NULL, 10);
	}
}

bool schema_is_default(const struct schema *s, const char *name, const json_t *value)
{
	const struct schema_field *f = schema_find_default(s, name);

	return f && schema_equals_default(f, value);
}
