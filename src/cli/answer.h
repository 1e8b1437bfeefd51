/*
 * answer - prints the answer to a request as one JSON document: the result, or an object
 * with error.
 */
#ifndef PROCPEN_CLI_ANSWER_H
#define PROCPEN_CLI_ANSWER_H

#include <stddef.h>

/* @json: the value of "result" or "error" in an answer, as it was written. */
void answer_print_json(const char *json, size_t len);
void answer_print_json_error(const char *json, size_t len);

#endif
