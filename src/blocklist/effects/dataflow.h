/*
 * dataflow - what kind of text reaches a command's standard input and words.
 *
 * Follows the pipes and substitutions of one script: does the text come from the network,
 * is it decoded or filtered, is it a list of all processes, packages or disks, or of the
 * files below a directory. What the command does with it is decided elsewhere.
 */
#ifndef PROCPEN_BLOCKLIST_EFFECTS_DATAFLOW_H
#define PROCPEN_BLOCKLIST_EFFECTS_DATAFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocklist/command/action.h"
#include "blocklist/command/table.h"
#include "shell/arena.h"
#include "shell/script.h"

struct dataflow {
	const struct shell_script *script;
	/* NULL where no command is connected with another one. */
	uint32_t *kinds;   /* of each command: enum blocklist_flow_kind of its program */
	uint16_t *out;      /* of each command: what it writes */
	uint16_t *children; /* of each command: what its substitutions write */
	uint8_t *sinks;    /* of each command: is there a >(...) among its words? */
	const struct shell_word *fed; /* kept by effects/input: what goes into the >(...) */
	uint32_t fed_by;              /* of this command, or SHELL_NONE */
	uint32_t sockets; /* file descriptors, modulo 32, that are connections */
	char text_names[8][32]; /* variables that hold such a text, "" ends */
	uint16_t text_flows[8];
	bool lists; /* some command lists all there is of a kind */
	char list_names[8][32]; /* variables and "$(program)" that hold such lists, "" ends */
	uint16_t list_flows[8];
};

/* Look at all of @script. Lives as long as @arena. */
void dataflow_read(struct dataflow *f, const struct shell_script *script,
		   struct shell_arena *arena);

/* Flows into the standard input of command @index: through its pipe and its redirections. */
unsigned dataflow_input(const struct dataflow *f, uint32_t index);

/* Flows out of command @index. */
unsigned dataflow_output(const struct dataflow *f, uint32_t index);

/* Flows into an unknown part of @word, of the command at @at, by a variable or by $(...). */
unsigned dataflow_of_word(const struct place *at, const struct shell_word *word);
/* The same for text that begins with what is not known; other text is known to begin here. */
unsigned dataflow_origin(const struct place *at, const struct shell_word *text);

/* Lists of everything that the words of command @index hold, or that come in with @input. */
unsigned dataflow_lists(const struct dataflow *f, uint32_t index,
			const struct shell_word *words, size_t count, unsigned input);

/* Names of files that one command gets from elsewhere. */
#define DATAFLOW_NAMES_MAX 32

/*
 * Words that stand for the file names command @index writes (find, ls), through
 * filters that keep them. Returns how many; 0 if nothing can be said.
 */
size_t dataflow_names(const struct dataflow *f, uint32_t index, struct shell_budget *budget,
		      struct shell_arena *arena, struct shell_word *names, size_t room);

#endif
