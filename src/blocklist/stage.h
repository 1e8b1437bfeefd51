/*
 * blocklist_stage - the parts of blocklist/walk to each other.
 *
 * walk: one script, and a text inside of it. command: one command of a script, with its
 * redirections. program: its words, by the program's name. open: what wrappers, pipes and
 * other languages run. special: programs whose words are read in a way of their own.
 * lines: those that take lines of a language of their own. Each function that returns
 * bool tells whether there is a finding, which is then in the walk.
 */
#ifndef PROCPEN_BLOCKLIST_STAGE_H
#define PROCPEN_BLOCKLIST_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "blocklist/flow.h"
#include "blocklist/table.h"
#include "blocklist/wrap.h"
#include "shell/script.h"

/* Deeper than this is too complex. */
#define WALK_DEPTH_MAX 40
/* Steps of the budget for a word. */
#define WALK_WORD 4u
/* A longer input does not go through the parser: every command may be the one that reads it. */
#define WALK_INPUT_MAX (32u << 10)
/* With more functions than this, none hides a program. */
#define WALK_FUNCTIONS_MAX 64
/* Names of files and texts in options that one command gets from elsewhere. */
#define WALK_NAMES_MAX 32

struct blocklist_walk;

/* Where a command stands. All of it may be empty. */
struct blocklist_stage {
	const struct shell_script *script;
	const struct blocklist_flows *flows;
	uint32_t index;
	const struct shell_word *input; /* known text on its standard input */
	const struct shell_assign *assigns;
	size_t assign_count;
	const struct shell_word *args; /* of a text of another language */
	size_t arg_count;
	unsigned input_flow; /* enum blocklist_flow of what its standard input is */
	bool each; /* it gets all files below a place, one by one */
	bool same_shell; /* a text it runs sees all variables */
	bool bash; /* a text it runs is for bash */
	bool lenient; /* a text it holds may be no shell text after all */
};

/* ---- walk ---- */

bool walk_nested(struct blocklist_walk *w, const struct shell_word *text,
		 const struct shell_word *args, size_t arg_count, const struct blocklist_stage *at);

/*
 * Takes @steps from the budget, and those of the rules since the last time; true: there is
 * nothing left of it, or of the memory.
 */
bool walk_spent(struct blocklist_walk *w, size_t steps);
/* The same for what it costs to read @words as options and operands. */
bool walk_charge_words(struct blocklist_walk *w, const struct shell_word *words, size_t count);

/* The finding of the rule with the effect @id. */
bool walk_found(struct blocklist_walk *w, const char *id, uint32_t start, uint32_t end);
bool walk_too_complex(struct blocklist_walk *w, uint32_t at);

/* ---- command ---- */

/* The command @index of @s. */
bool walk_command(struct blocklist_walk *w, const struct shell_script *s,
		  struct blocklist_flows *flows, uint32_t index);

/* ---- program ---- */

bool walk_words(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		const struct blocklist_stage *at);

/* By everything that the table says of @name. */
bool walk_named(struct blocklist_walk *w, const struct blocklist_name *name,
		const struct shell_word *words, size_t count, bool guess,
		const struct blocklist_stage *at);

/* ---- open ---- */

bool walk_wrapper(struct blocklist_walk *w, const struct blocklist_wrapper *wrapper,
		  const struct shell_word *words, size_t count, const struct blocklist_stage *at);

/* Text of another language. @awk: of awk, where ">" writes. */
bool walk_code(struct blocklist_walk *w, const struct shell_word *code, bool awk,
	       const struct blocklist_stage *at);

/* A shell or an interpreter that reads its program from standard input, or from a file. */
bool walk_stdin(struct blocklist_walk *w, const struct shell_wrap *wrap,
		const struct shell_word *words, size_t count, const struct blocklist_stage *at);
bool walk_file(struct blocklist_walk *w, const struct shell_wrap *wrap, bool code,
	       const struct blocklist_stage *at);

/* Text that is run and comes from @flow; text that begins unknown and comes from afar. */
bool walk_flow(struct blocklist_walk *w, unsigned flow, const struct shell_word *words,
	       size_t count);
bool walk_remote(struct blocklist_walk *w, const struct shell_word *text,
		 const struct blocklist_stage *at);
unsigned walk_word_flow(const struct blocklist_stage *at, const struct shell_word *word);

/*
 * The items of known text: words, or lines if @lines. All of them, unless the budget ends.
 * There is room for one more before *@items and behind the last.
 */
size_t walk_items(struct blocklist_walk *w, const struct shell_word *text, bool lines,
		  struct shell_word **items);

/* ---- special ---- */

bool walk_special(struct blocklist_walk *w, const char *s, size_t len,
		  const struct shell_word *words, size_t count, const struct blocklist_stage *at);

/* Texts in options of programs that are no wrappers: tar, git, vim, ... */
bool walk_hidden(struct blocklist_walk *w, const struct blocklist_name *name,
		 const struct shell_word *words, size_t count, const struct blocklist_stage *at);

/* ---- lines ---- */

bool walk_lines(struct blocklist_walk *w, const char *s, size_t len,
		const struct shell_word *words, size_t count, const struct blocklist_stage *at);

/* ---- more ---- */

/* @name: what the table says of it, or NULL; @s is the program's name. */
bool walk_more(struct blocklist_walk *w, const struct blocklist_name *name, const char *s,
	       size_t len, const struct shell_word *words, size_t count,
	       const struct blocklist_stage *at);

/* The part of @word from @from up to @to as shell text. */
bool walk_rest(struct blocklist_walk *w, const struct shell_word *word, size_t from, size_t to,
	       const struct blocklist_stage *at);

/* ---- start ---- */

/* What is known of the descriptor @fd that the redirections of @c open, or NULL. */
const struct shell_word *walk_opened(const struct shell_command *c, long fd);
/* exec 3<<<TEXT; sh <&3: what is known of the descriptor that command @index reads, or NULL. */
const struct shell_word *walk_descriptor(const struct shell_script *s, uint32_t index);

/* A file whose text is run without anybody asking: a shell's, cron's, systemd's, git's. */
bool walk_runs_itself(const struct shell_word *file);
bool walk_own_start(struct blocklist_walk *w, const struct shell_word *file,
		    const struct shell_word *text, const struct blocklist_stage *at);
/* Where the command begins in a line of a crontab, with a column for the user or not. */
size_t walk_cron_skip(const char *s, bool user);

/* ---- words ---- */

static inline bool word_is(const struct shell_word *w, const char *text)
{
	return strcmp(w->text.s, text) == 0;
}

static inline bool word_unknown_at(const struct shell_word *w, size_t i)
{
	return i < w->text.len &&
	       (w->kind[i] == SHELL_UNKNOWN || w->kind[i] == SHELL_UNKNOWN_FIELDS);
}

#endif
