/*
 * action - what a command would do, read from its words.
 *
 * The readers in blocklist/effects turn a command into actions: run another command, a
 * text or a file, or touch a path. They neither judge nor run; blocklist/evaluate takes
 * each action and asks the rules.
 */
#ifndef PROCPEN_BLOCKLIST_COMMAND_ACTION_H
#define PROCPEN_BLOCKLIST_COMMAND_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocklist/command/args.h"
#include "blocklist/command/table.h"
#include "shell/arena.h"
#include "shell/script.h"

struct dataflow;
struct written_files;

/* Where a command stands. All of it may be empty. */
struct place {
	const struct shell_script *script;
	const struct dataflow *flows;
	uint32_t index;                     /* of the command in it, or SHELL_NONE */
	const struct written_files *files;  /* what the text wrote before */
	const struct shell_word *input;     /* known text on its standard input */
	unsigned input_flow;                /* enum blocklist_flow of what that is */
	const struct shell_assign *assigns; /* variables that it gets besides the script's */
	size_t assign_count;
	const struct shell_word *args;      /* of a text of another language */
	size_t arg_count;
	bool each;       /* it gets all files below a place, one by one */
	bool same_shell; /* a text it runs sees all variables */
	bool lenient;    /* a text it holds may be no shell text after all */
};

/* The command at @p in its script; NULL if it stands in none. */
static inline const struct shell_command *place_command(const struct place *p)
{
	return p->script && p->index != SHELL_NONE ? &p->script->commands[p->index] : NULL;
}

/* A program with its words, behind every wrapper. */
struct command {
	const struct shell_word *words; /* words[0] is its name */
	size_t count;
	const struct blocklist_name *name; /* what the table says of it, or NULL */
	struct shell_text program;         /* its name without the folder */
	const struct place *at;
};

enum action_kind {
	ACTION_WORDS, /* runs @words */
	ACTION_NAMED, /* runs @words, whose program is @name whatever words[0] says */
	ACTION_TEXT,  /* runs the shell text @word; @words are its $0, $1, ... */
	ACTION_CODE,  /* runs the text @word of another language with @words */
	ACTION_FILE,  /* runs the file @word; @words are its $0, $1, ... */
	ACTION_TOUCH, /* does @effect to @word */
	ACTION_FOUND, /* does @effect, whatever to; the part is @words */
	ACTION_FLOW,  /* runs text from @flow; the part is @words */
	ACTION_CHDIR, /* cd to @word; NULL: to an unknown directory */
	ACTION_PRINT, /* writes the name @word: nothing to judge */
};

enum action_flag {
	ACTION_LENIENT = 1,     /* the text may be none for a shell */
	ACTION_NO_INPUT = 2,    /* standard input is something else */
	ACTION_EACH = 4,        /* done for all files below a place, one by one */
	ACTION_SAME_SHELL = 8,  /* the text sees all variables */
	ACTION_BASH = 16,       /* the text is for bash */
	ACTION_AWK = 32,        /* the code is awk, where ">" writes */
	ACTION_FOREIGN = 64,    /* the file is of another language */
};

struct action {
	enum action_kind kind;
	unsigned flags;
	const char *effect; /* static, as rules name it */
	unsigned flow;      /* enum blocklist_flow */
	const struct blocklist_name *name;
	const struct shell_word *word;
	const struct shell_word *words;
	size_t count;
	const struct shell_assign *assigns; /* variables that it gets, besides its place's */
	size_t assign_count;
	uint32_t start, end; /* the part of the outermost text to name; both 0: as found */
};

/* Actions in their order. All that they point to lives as long as @arena. */
struct action_list {
	struct shell_arena *arena;
	struct shell_budget *budget;
	struct args *args; /* scratch of a reader */
	struct action *list;
	size_t count, room;
	bool keeps_directory; /* a change of directory outlives the list */
};

/* Charge @steps to the budget. False: it is spent, and the reader must stop. */
bool action_charge(struct action_list *out, uint64_t steps);

/* One more action; good until the next one is added. */
struct action *action_add(struct action_list *out, enum action_kind kind, unsigned flags);

void action_words(struct action_list *out, const struct shell_word *words, size_t count,
		  unsigned flags);
void action_named(struct action_list *out, const struct blocklist_name *name,
		  const struct shell_word *words, size_t count);

void action_code(struct action_list *out, const struct shell_word *word,
		 const struct shell_word *words, size_t count, unsigned flags);

/* @word is copied. */
void action_text(struct action_list *out, const struct shell_word *word, unsigned flags);
void action_touch(struct action_list *out, const char *effect, const struct shell_word *word);

/* Bytes [from, to) of @word as shell text. */
void action_text_part(struct action_list *out, const struct shell_word *word, size_t from,
		      size_t to, unsigned flags);

void action_file(struct action_list *out, const struct shell_word *file,
		 const struct shell_word *words, size_t count, unsigned flags);
void action_found(struct action_list *out, const char *effect, const struct shell_word *words,
		  size_t count);
void action_flow(struct action_list *out, unsigned flow, const struct shell_word *words,
		 size_t count);
void action_chdir(struct action_list *out, const struct shell_word *word);

#endif
