/* A result from JSON, as a capability would write it: value by value. */
#ifndef PROCPEN_TESTS_JSON_RESULT_H
#define PROCPEN_TESTS_JSON_RESULT_H

#include <jansson.h>

#include "base/result.h"

static void json_result_value(struct jsonw *w, const char *key, json_t *value);

static void json_result_members(struct jsonw *w, json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
		json_result_value(w, key, value);
}

static void json_result_array(struct jsonw *w, const char *key, json_t *array)
{
	json_t *value;
	size_t i;

	jsonw_array(w, key);
	json_array_foreach(array, i, value)
		json_result_value(w, NULL, value);
	jsonw_end_array(w);
}

static void json_result_value(struct jsonw *w, const char *key, json_t *value)
{
	if (json_is_object(value)) {
		jsonw_object(w, key);
		json_result_members(w, value);
		jsonw_end_object(w);
	} else if (json_is_array(value)) {
		json_result_array(w, key, value);
	} else if (json_is_string(value)) {
		jsonw_strn(w, key, json_string_value(value), json_string_length(value));
	} else if (json_is_integer(value)) {
		jsonw_int(w, key, json_integer_value(value));
	} else if (json_is_real(value)) {
		jsonw_double(w, key, json_real_value(value));
	} else if (json_is_boolean(value)) {
		jsonw_bool(w, key, json_is_true(value));
	} else {
		jsonw_null(w, key);
	}
}

/* @res, initialised, gets the object @json. The object is returned: the outline's keys are in it. */
static json_t *json_result(struct result *res, const char *json)
{
	json_t *object = json_loads(json, JSON_ALLOW_NUL, NULL);

	assert_non_null(object);
	json_result_members(result_begin(res, true), object);
	result_end(res);
	return object;
}

#endif
