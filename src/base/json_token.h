/*
 * json_token - what the parser of JSON text and those who walk the text itself both look at.
 */
#ifndef PROCPEN_BASE_JSON_TOKEN_H
#define PROCPEN_BASE_JSON_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#define JSON_ESCAPE_LEN 6 /* of \\uhhhh */

/* The offset after the string whose opening quote is at @at; @len if it does not end. Its content
 * may be anything. */
size_t json_token_skip_string(const char *text, size_t len, size_t at);

/* The code unit of the escape \\uhhhh at the start of @s, or -1. */
int32_t json_token_unit(const char *s, size_t len);

#endif
