/*
 * command - the command of a request, read once for process.run and is_blocked.
 *
 * Reads command, args, shell, stdin, environment and directory from checked parameters and
 * resolves the three forms: a string for the shell, a program with arguments,
 * and a string that is split into words. So both capabilities judge exactly the
 * command that process.run runs.
 */
#ifndef PROCPEN_CAP_COMMAND_H
#define PROCPEN_CAP_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "blocklist/blocklist.h"
#include "policy/config.h"
#include "policy/run_shell.h"
#include "policy/scope.h"

struct command {
	const char *text;    /* the parameter; borrowed from the request */
	const char **args;   /* borrowed strings, NULL-terminated; NULL: the request has no args */
	bool shell;
	char *shown;         /* text and args joined by single spaces */
	char *masked;        /* the same without secrets, for logs */
	char **argv;         /* to execute, NULL-terminated; set by command_resolve() */
	char *stdin_bytes;   /* decoded, or NULL */
	size_t stdin_len;
	char **environment;  /* "NAME=VALUE" of the request, NULL-terminated; NULL: none */
	const char *working_directory; /* the parameter, likewise; "": none */
	char *directory; /* absolute: where it runs, as far as names tell; NULL: not known */
};

/*
 * Read the parameters of a request whose directories @scope says. 0, or -1 with InvalidParams (bad
 * base64, or an environment that none can be). @c is zeroed first.
 */
int command_read(struct command *c, const json_t *params, const struct scope *scope,
		 struct err *e);

/* Has a shell string arguments, and names none of them? */
bool command_ignores_args(const struct command *c);

/* Is it a shell string without a command? process.run refuses that. */
bool command_runs_nothing(const struct command *c);

/*
 * Copy the bytes of the parameter @name, given as @encoding says, to the heap. Leaves *@bytes as it
 * is where there is no such parameter. 0, or -1 with InvalidParams (bad base64).
 */
int command_decode(const json_t *params, const char *name, const char *encoding, char **bytes,
		   size_t *len, struct err *e);

/* The stdin_mode of a run whose request has none: a terminal stays open, a foreground run gets the
 * bytes of stdin. */
const char *command_usual_stdin(const json_t *params);

/* Fill argv; a string is for @shell. 0, or -1 with InvalidParams (a string that cannot be split
 * into words) or InvalidCommand (no command in it). */
int command_resolve(struct command *c, const struct run_shell *shell, struct err *e);

void command_release(struct command *c);

/* Fill the blocklist's input, which borrows from @c and @shell. @config:
 * blocklist.literal_match. */
void command_judge(const struct command *c, const struct config *config,
		   const struct run_shell *shell, struct blocklist_input *in);

/* The error of a command that @v blocks: CommandBlocked or InvalidCommand. */
enum err_type command_blocked_type(const struct blocklist_verdict *v);

/* Fill @e for a command that @v blocks. */
void command_fail_blocked(const struct blocklist_verdict *v, struct err *e);

#endif
