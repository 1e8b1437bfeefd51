/*
 * answer - prints the answer to a request, or why a command fails: for programs as one JSON
 * document, the result or an object with error; for people as lines "name: value".
 *
 * For people null and what is empty are left out, and a hidden character in a text, which a command
 * may have written, is shown as \u202e; a tab stays.
 */
#ifndef PROCPEN_CLI_ANSWER_H
#define PROCPEN_CLI_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/result.h"
#include "cli/commands.h"

/* @json: the value of "result" or "error" in an answer, as it was written. */
void answer_print_json(const char *json, size_t len);
void answer_print_json_error(const char *json, size_t len);

/* The same of @e, with the @partial result that it carries, or NULL. */
void answer_print_err(const struct err *e, const struct result *partial);

/* @command fails: @e goes to stderr, and with @json to stdout, too. */
void answer_fail(const struct cli_command *command, bool json, const struct err *e);

/* @result: an object; to stdout. */
void answer_print(json_t *result);

/* The text that a model reads of @result, a tool's; to stdout. */
void answer_print_tool(const json_t *result);

/* "Type: message. hint" to stderr, after "procpen call: "; to stdout the partial result that some
 * errors carry. @error: as in docs/protocol.md. */
void answer_print_error(json_t *error);

#endif
