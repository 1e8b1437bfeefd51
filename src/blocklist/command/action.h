/*
 * action - what a command would do, read from its words.
 *
 * The readers in blocklist/effects turn a command into actions: run another command, a
 * text or a file, or touch a path. They neither judge nor run; blocklist/evaluate asks the
 * rules about each action.
 */
#ifndef PROCPEN_BLOCKLIST_COMMAND_ACTION_H
#define PROCPEN_BLOCKLIST_COMMAND_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocklist/command/args.h"
#include "blocklist/command/list.h"
#include "blocklist/command/table.h"
#include "shell/arena.h"
#include "shell/script.h"

struct dataflow;
struct written_files;

/* Text that is known to stand on a standard input; place_input() reads it. */
struct place_input {
	const struct shell_word *text; /* NULL: none is */
	bool *was_read;                /* set once it is read; NULL: nobody wants to know */
};

/* Where a command stands. Every member may be 0 or NULL. */
struct place {
	const struct shell_script *script;
	const struct dataflow *flows;
	uint32_t index;                     /* of the command in it, or SHELL_NONE */
	const struct written_files *files;  /* that the text has written so far */
	struct place_input input;
	bool input_is_rest;                 /* of the text in which it stands: judged there as shell
					     * text */
	unsigned input_flow;                /* enum blocklist_flow of its standard input */
	const struct shell_assign *assigns; /* variables besides the script's */
	size_t assign_count;
	const struct shell_word *args;      /* of a program text in another language */
	size_t arg_count;
	bool each;       /* runs on all files below a directory, one by one */
	bool same_shell; /* text that it runs sees unexported variables */
	bool lenient;    /* text that it runs may be invalid shell text */
	bool elsewhere;  /* in a container: process 1 is another one */
	bool netns;      /* in a network of its own: ip netns exec */
	bool altered;    /* what is around it may change what it does (blocklist/altered.h) */
	bool beside;     /* in a recipe: in the background or a pipe, so the rest may go on */
	unsigned recipes; /* makefiles and crontabs around it */
};

/* The command at @p in its script; NULL if it stands in none. */
static inline const struct shell_command *place_command(const struct place *p)
{
	return p->script && p->index != SHELL_NONE ? &p->script->commands[p->index] : NULL;
}

/* The known text on the standard input of the command at @p; NULL: none is. A verdict that never
 * asks is the same for every such text. */
static inline const struct shell_word *place_input(const struct place *p)
{
	if (p->input.was_read)
		*p->input.was_read = true;
	return p->input.text;
}

/* So many makefiles and crontabs that run each other are read; most are one and the same. One that
 * goes on beside its copy may be a fork bomb. */
static inline bool place_is_repeated(const struct place *p)
{
	return p->recipes >= 2 && !p->beside;
}

/* A program with its words, behind every wrapper. */
struct command {
	const struct shell_word *words; /* words[0] is its name */
	size_t count;
	const struct blocklist_name *name; /* its row of the table, or NULL */
	struct shell_text program;         /* its name without the folder */
	const struct place *at;
};

/* Is its program, wherever it lies, one of @list? */
static inline bool command_in(const struct command *cmd, const char *list)
{
	return list_has(list, cmd->program.s, cmd->program.len);
}

enum action_kind {
	ACTION_WORDS, /* runs @words */
	ACTION_NAMED, /* runs @words as the program @name, whatever words[0] is */
	ACTION_TEXT,  /* runs the text @word; @words are its $0, $1, ... */
	ACTION_FILE,  /* runs the file @word; @words are its $0, $1, ... */
	ACTION_TOUCH, /* does @effect to @word */
	ACTION_FOUND, /* does @effect; @words are the part to report */
	ACTION_FLOW,  /* runs text from @flow; @words are the part to report */
	ACTION_CHDIR, /* cd to @word; NULL: to an unknown directory */
	ACTION_PRINT, /* prints the file name @word; not judged */
};

enum action_flag {
	ACTION_LENIENT = 1,     /* the text may be invalid shell text */
	ACTION_NO_INPUT = 2,    /* it does not get the command's standard input */
	ACTION_EACH = 4,        /* runs on all files below a directory, one by one */
	ACTION_SAME_SHELL = 8,  /* the text sees unexported variables */
	ACTION_BASH = 16,       /* the text is for bash */
	ACTION_AWK = 32,        /* the code is awk, where ">" writes */
	ACTION_FOREIGN = 64,    /* the text or file is in another language than the shell's */
	ACTION_BACK = 128,      /* of ACTION_CHDIR: to the directory before, cd - */
	ACTION_PUSH = 256,      /* the same: remember where it was, pushd */
	ACTION_POP = 512,       /* the same: to the directory remembered last, popd */
	ACTION_AT_END = 1024,   /* the text runs when its script ends */
	ACTION_ELSEWHERE = 2048,/* runs in a container */
	ACTION_HOST = 4096,     /* leaves the container or network again: nsenter, ssh */
	ACTION_STAY = 8192,     /* with ACTION_PUSH: only remember @word, pushd -n */
	ACTION_TURN = 16384,    /* of ACTION_CHDIR: @word is the +N or -N of pushd, or popd */
	ACTION_RECIPE = 32768,  /* is a line of a makefile or a crontab */
	ACTION_NETNS = 65536,   /* runs in a network of its own: ip netns exec */
};

struct action {
	enum action_kind kind;
	unsigned flags;
	const char *effect; /* a rule's name for it; static */
	unsigned flow;      /* enum blocklist_flow */
	const struct blocklist_name *name;
	const struct shell_word *word;
	const struct shell_word *words;
	size_t count;
	const struct shell_assign *assigns; /* variables besides those of its place */
	size_t assign_count;
	const struct shell_word *input; /* its standard input; NULL: that of its place */
	uint32_t start, end; /* the part of the outermost text to report; both 0: @words or @word */
};

/* Actions in order. What they point to lives as long as @arena. */
struct action_list {
	struct shell_arena *arena;
	struct shell_budget *budget;
	struct args *args; /* scratch of a reader */
	struct action *list;
	size_t count, room;
	bool keeps_directory; /* ACTION_CHDIR holds for the commands after this one */
};

/* Charge @steps to the budget. False: budget or arena is spent; the reader must stop. */
bool action_charge(struct action_list *out, uint64_t steps);

/* Add an action. The pointer is valid until the next is added. */
struct action *action_add(struct action_list *out, enum action_kind kind, unsigned flags);

void action_words(struct action_list *out, const struct shell_word *words, size_t count,
		  unsigned flags);
void action_named(struct action_list *out, const struct blocklist_name *name,
		  const struct shell_word *words, size_t count);

/* A text with parameters. */
void action_script(struct action_list *out, const struct shell_word *word,
		   const struct shell_word *words, size_t count, unsigned flags);

/* These two copy @word. */
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
void action_chdir(struct action_list *out, const struct shell_word *word, unsigned flags);

#endif
