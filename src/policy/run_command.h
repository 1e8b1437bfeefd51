/*
 * run_command - what a command runs, as far as its words tell.
 *
 * A table says of programs what they run besides the executable files among their words, and if
 * they write files. Looks at no file: run_files does, for which this is.
 */
#ifndef PROCPEN_POLICY_RUN_COMMAND_H
#define PROCPEN_POLICY_RUN_COMMAND_H

#include "blocklist/blocklist.h"
#include "blocklist/command/table.h"
#include "policy/run_script.h"

/* What a program runs besides the executable files among its words, and whether it writes files.
 * Of interpreters run_script knows the rest. */
struct run_program {
	const char *names;       /* NULL: all others */
	const char *scripts;     /* options that name a file of commands: sed -f FILE */
	const char *instead;     /* without one of these options it takes its standard input for
				  * commands; NULL: it does not */
	const char *values;      /* letters of options that take a value, for @instead */
	bool files;              /* a file among its words is a program, without an option ... */
	const char *builds;      /* ... but for these subcommands */
	bool texts;              /* a text among its words may start programs */
	char load;               /* an option that names a file which it may find by less than the
				  * whole name; 0: none */
	const char *load_names;  /* its long forms */
	const char *load_values; /* letters that take the rest of a cluster, for @load */
	bool has_modules;        /* which @load may name by what begins with neither . nor / */
	const char *elsewhere;   /* options by which it finds files in another directory */
	bool reads;              /* it writes into no file by any of its words */
	bool alone;              /* it starts no program among its words */
	const char *starts;      /* without one of these options it only starts another command,
				  * which is looked at too; NULL: it may write a log or an output
				  * file, or fetch what it starts */
};

/* A command that is looked at. */
struct run_command {
	const struct blocklist_run *run;
	const struct run_program *program;
	const struct blocklist_wrapper *as; /* how it runs other programs or texts; NULL: it does
					     * not */
	bool interprets;          /* it is a shell, or an interpreter of another language */
	bool has_script;          /* one of program->scripts is there */
	struct run_script script; /* where it has its program from */
};

/* Does a word of @run have an option of @list, such as -c? It may stand in a cluster, up to the
 * first letter of @values, behind which stands its value; that may be the next word. */
bool run_command_has_option(const struct blocklist_run *run, const char *list, const char *values);
bool run_command_has_operand(const struct blocklist_run *run);
/* Is word @i of the interpreter @run an operand, and surely no value of an option? The first of
 * these is the script; its arguments follow. */
bool run_command_is_operand(const struct blocklist_run *run, size_t i);
struct run_command run_command_read(const struct blocklist_run *run);
/* May @c run what stands in its standard input? */
bool run_command_runs_input(const struct run_command *c);
/* May @c pass its standard input on to a program among its words that runs that? */
bool run_command_passes_input(const struct run_command *c);
/* Does @c take a file among its words for a program, without an option? */
bool run_command_runs_words(const struct run_command *c);
/* The value of the option @load of @c in word @i, or NULL. */
const char *run_command_loaded(const struct run_command *c, size_t i);
/* Is word @i of sed, which names files by a pattern, surely behind the script, and no option?
 * Without -l only scripts are values of options in words of their own. */
bool run_command_is_later_file(const struct blocklist_run *run, size_t i);
/* Can @c, of which no own file was taken, write none? */
bool run_command_is_harmless(const struct run_command *c);

#endif
