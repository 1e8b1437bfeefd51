/*
 * run_script - where an interpreter has its program from.
 *
 * Reads the words before the script as the interpreter itself does: letters in clusters, their
 * values in the same word or in the next one. A word is a text or a script only if no option before
 * it can have taken it as its value; behind an option that the table does not know nothing is
 * certain.
 *
 * The blocklist's table of wrappers knows these programs, too, but rather takes a word for a text
 * than misses one. So it gives many of them the same options, some of which they lack, and cannot
 * tell for certain what is not text.
 */
#ifndef PROCPEN_POLICY_RUN_SCRIPT_H
#define PROCPEN_POLICY_RUN_SCRIPT_H

#include "blocklist/blocklist.h"
#include "blocklist/command/table.h"

enum run_script_from {
	RUN_SCRIPT_INPUT,   /* standard input: no word is the program or names it */
	RUN_SCRIPT_TEXT,    /* a text among its words: -c TEXT, of awk an operand; --version */
	RUN_SCRIPT_FILE,    /* the first operand */
	RUN_SCRIPT_MODULE,  /* python -m */
	RUN_SCRIPT_UNKNOWN, /* an option that is not known */
};

struct run_script {
	enum run_script_from from;
	size_t at;          /* of a file: which word; else the last that was read */
	const char *module; /* NULL: none */
	bool has_modules;   /* such an option may stand behind one that is not known */
	bool reads_input;   /* standard input may be program text, whatever the words say */
};

/* Find where @run, of an interpreter as @as says, has its program from. */
void run_script_find(const struct blocklist_run *run, const struct blocklist_wrapper *as,
		     struct run_script *out);

#endif
