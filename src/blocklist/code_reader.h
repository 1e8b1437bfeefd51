/*
 * blocklist_code_reader - the parts of blocklist/code to each other.
 *
 * code: which token means something. args: the constant strings behind it. run: what
 * runs a command. files: what removes, writes and changes. whole: what lies in the
 * text as a whole.
 */
#ifndef PROCPEN_BLOCKLIST_CODE_READER_H
#define PROCPEN_BLOCKLIST_CODE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/code_text.h"
#include "shell/script.h"

#define CODE_ARGS_MAX 64
#define CODE_VARIABLES_MAX 32
#define CODE_ALIASES_MAX 64
/* A step for so many bytes that are put together. */
#define CODE_STEP_BYTES 16

struct blocklist_code_call;

struct code_reader {
	struct code_text t;
	bool awk;
	bool trees;   /* what is removed is removed with all below it */
	bool write_flags; /* a flag to open for writing is named */
	bool getline; /* of awk: something is read by it */
	bool codes; /* characters are made of numbers */
	bool listed[2]; /* the places that a loop lists were read: to change modes, to remove */
	struct { size_t start, len; struct shell_word value; } variables[CODE_VARIABLES_MAX];
	size_t variable_count;
	size_t aliases[CODE_ALIASES_MAX]; /* tokens: names that were given a call */
	size_t alias_count;
	struct blocklist_code_call *calls;
	size_t call_count, call_room;
	size_t steps;
};

/* What a call is given. */
struct code_args {
	struct shell_word words[CODE_ARGS_MAX]; /* constant strings, and names of homes as ~ */
	bool joined[CODE_ARGS_MAX]; /* something unknown stands beside it in the same argument */
	size_t count;
	bool array;   /* in brackets of its own: words of a command */
	bool unknown; /* an argument that is no string */
	bool format;  /* behind the operator % */
	size_t end;   /* token behind them */
};

/* ---- code ---- */

void code_add_call(struct code_reader *r, struct blocklist_code_call call);
void code_add_effect(struct code_reader *r, const char *effect, const struct shell_word *word);
/* @effect is there, whatever it is done to. */
void code_found(struct code_reader *r, const char *effect);
/* False: too much was looked at. */
bool code_step(struct code_reader *r, size_t steps);

/* ---- args ---- */

/* The strings from token @i on, to the end of the bracket or of the statement. */
void code_read_args(struct code_reader *r, size_t i, struct code_args *a);
/* "rm -rf $x", where x was given a constant before. */
struct shell_word code_with_variables(struct code_reader *r, const struct shell_word *word);
/* NAME = "constant" at token @i. */
void code_note_variable(struct code_reader *r, size_t i);

/* ---- run ---- */

/* Names of calls that run a command. */
extern const char code_runs[];

/* A name that is given such a call, by = or as and :. */
void code_note_alias(struct code_reader *r, size_t i);
void code_note_renames(struct code_reader *r);
bool code_renamed(const struct code_reader *r, size_t i);

/* The call at token @i, if it is one of these. */
void code_read_run(struct code_reader *r, size_t i);
void code_read_eval(struct code_reader *r, size_t i);
void code_read_awk(struct code_reader *r, size_t i);
void code_read_other_runs(struct code_reader *r, size_t i);
bool code_is_quoted_call(const struct code_reader *r, size_t i);

/* ---- files ---- */

/* The effect of what removes one file; a whole tree where the text says so. */
extern const char code_removed[];

void code_read_write(struct code_reader *r, size_t i);
void code_read_remove(struct code_reader *r, size_t i, const char *effect);
/* Path("x").unlink(): the string stands before the call. */
void code_read_method(struct code_reader *r, size_t i, const char *effect);

/* ---- whole ---- */

void code_read_whole(struct code_reader *r);

#endif
