/*
 * say - what commands tell people about their own command line, and about a stdout that fails.
 *
 * Results go to stdout, all else to stderr. Nothing is coloured.
 */
#ifndef PROCPEN_CLI_SAY_H
#define PROCPEN_CLI_SAY_H

#include <jansson.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/commands.h"

#define SAY_STATUS_USAGE 2

/* "procpen run: TEXT", and where to read more. @command: NULL before there is one. Returns
 * SAY_STATUS_USAGE. */
int say_mistake(const struct cli_command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * A mistake: there is no @what ("option") called @name; names of @known (NULL-terminated) that may
 * be meant: those that contain it, else the nearest, else all where they are few. Leading dashes do
 * not count. Returns SAY_STATUS_USAGE.
 */
int say_unknown(const struct cli_command *command, const char *what, const char *name,
		const char *const *known);

/* Write @text, up to 8 KiB, with hidden characters shown by code: it may quote names that others
 * gave to files, or a command that a model wrote. */
void say_text(FILE *to, const char *text);

/* Print a document of our own to stdout. */
void say_json(const json_t *document);

/* A string for such a document: a path, or text with one in it, may have any bytes, and those that
 * are not UTF-8 become U+FFFD. */
json_t *say_json_string(const char *text);

/* "procpen run: MESSAGE. HINT". A hint for programs, the default of its type, is left out. */
void say_error(const struct cli_command *command, const struct err *e);

/* First of all: look whether procpen was started with SIGPIPE ignored. */
void say_start(void);

/* Write now what was printed, while there is more to do: 0, or -1, which say_flush() reports. */
int say_push(void);

/*
 * Flush stdout: 0, or -1 and the reason on stderr. Call it when nothing is left to be cleaned up:
 * without a reader this ends procpen by SIGPIPE, as it ends other filters, unless the one who
 * started procpen ignores that. Commands that have a server, or work as one, ignore it too.
 */
int say_flush(const struct cli_command *command);

#endif
