/*
 * dataflow - what kind of text reaches a command's standard input and words.
 *
 * Follows the pipes and substitutions of one script: does the text come from the network,
 * is it decoded or filtered, is it a list of all processes, packages or disks, or of the
 * files below a directory. evaluate and the rules decide what may be done with it.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_DATAFLOW_H
#define PROCPEN_BLOCKLIST_EFFECTS_DATAFLOW_H

#include <stddef.h>
#include <stdint.h>

#include "blocklist/command/action.h"
#include "shell/arena.h"
#include "shell/script.h"

struct dataflow {
	const struct shell_script *script;
	/* An entry for each command; NULL if no command feeds another. */
	uint32_t *kinds;    /* enum blocklist_flow_kind of its program */
	uint16_t *out;      /* enum blocklist_flow of its output */
	uint16_t *children; /* enum blocklist_flow of its substitutions' output */
	uint8_t *sinks;     /* true if a word or redirection of it is >(...) */
	uint32_t sockets; /* bit fd % 32: the descriptor is a network connection */
	const char *text_names[8]; /* variables with a text of FLOW_TEXTS; NULL ends */
	uint16_t text_flows[8];
	unsigned flows; /* all in @out */
	const char *list_names[8]; /* variables and "$(program)" that hold such output; NULL ends */
	uint16_t list_flows[8];
};

/* Compute the flows of @script, which @f borrows. @f lives as long as @arena. */
void dataflow_read(struct dataflow *f, const struct shell_script *script,
		   struct shell_arena *arena);

/* Flows on the standard input of command @index, from its pipe and redirections. */
unsigned dataflow_input(const struct dataflow *f, uint32_t index);

/* Flows on the output of command @index. */
unsigned dataflow_output(const struct dataflow *f, uint32_t index);

/*
 * Flows in a program whose name, the first of @words at @at, is not known: $X -s <(curl ...) may be
 * a shell that reads it, but $X tar xf <(curl ...) hands it to tar.
 */
unsigned dataflow_of_program(const struct place *at, const struct shell_word *words,
			     size_t count);
/*
 * The same for shell text that a command runs: 0 unless it begins with an unknown part, since
 * otherwise the caller wrote its first command.
 */
unsigned dataflow_origin(const struct place *at, const struct shell_word *text);

/* FLOW_LISTS in @words of command @index, its substitutions and @input, flows of its input. */
unsigned dataflow_lists(const struct dataflow *f, uint32_t index,
			const struct shell_word *words, size_t count, unsigned input);

/* File names followed into one command. */
#define DATAFLOW_NAMES_MAX 32

/*
 * Fill @names with words for the file names that command @index prints (find, ls), also
 * through filters that keep lines. Returns how many; 0: none known.
 */
size_t dataflow_names(const struct dataflow *f, uint32_t index, struct shell_budget *budget,
		      struct shell_arena *arena, struct shell_word names[DATAFLOW_NAMES_MAX]);

#endif
