/*
 * json_long - parse a text without showing its long strings to jansson, and pass over strings.
 *
 * jansson takes 20 to 40 ns for each byte of a string. So long strings are cut out first, decoded
 * here, and put into the parsed value. Where anything is wrong with the text, jansson gets the
 * whole of it and says what and where.
 */
#ifndef PROCPEN_BASE_JSON_LONG_H
#define PROCPEN_BASE_JSON_LONG_H

#include <jansson.h>
#include <stddef.h>

/* The offset after the string whose opening quote is at @at; @len if it does not end. */
size_t json_long_skip(const char *text, size_t len, size_t at);

/*
 * json_loadb() of @len bytes of @text with JSON_REJECT_DUPLICATES, JSON_ALLOW_NUL and
 * JSON_DECODE_ANY: the same value, or NULL and the same *@error. The caller has bounded the
 * nesting.
 */
json_t *json_long_parse(const char *text, size_t len, json_error_t *error);

#endif
