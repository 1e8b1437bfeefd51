/*
 * run_files - which files a text would run, and what is in them now.
 *
 * Watches a text being judged (on_run), and takes of each simple command the file of its program;
 * of an interpreter, `source` and `.` every file among the words, since any of them may be the
 * script, and of shells what PATH finds; of other programs the executable files among them, which a
 * wrapper may start; of a file that begins with #! all that its first line names, env's program as
 * PATH finds it. A file is told by the SHA-256 of its content; one that begins as a compiled
 * program does, or is long, by device, inode, size and times, which no write leaves as they were.
 *
 * Refuses, with a reason, a text whose files cannot be told: a program or a script whose name is
 * not known before it runs, a script that may come from a pipe or a redirection anywhere in the
 * text, a PATH that the text sets, directories that change on the way, what follows a sourced file,
 * a value that arithmetic may run, a directory that an interpreter runs, a file that it finds by a
 * part of the name, the start-up files of another HOME, a #! line of which env would make something
 * else than its words, a file that cannot be read; and one that runs a file which a redirection of
 * its own writes, or which another command of it may have written by then: where commands can
 * write, any but a shell's own and some that only read counts as one that writes. Not seen is what
 * programs read by themselves: a Makefile, an imported module.
 */
#ifndef PROCPEN_POLICY_RUN_FILES_H
#define PROCPEN_POLICY_RUN_FILES_H

#include <jansson.h>

#include "blocklist/blocklist.h"
#include "policy/installed.h"

/* All zero but the first four; released by run_files_release(). */
struct run_files {
	const char *path;  /* PATH of the command */
	const struct installed *installed; /* tells where commands may write; NULL: anywhere */
	bool has_tty;      /* standard output may be a terminal, which nohup replaces by a file */
	bool sets_home;    /* the environment of the command, or its text, sets HOME */
	json_t *list;      /* of ["path", "what tells its content"], each path once; NULL: none */
	json_t *scripts;   /* the paths of those that are no compiled programs; NULL: none */
	json_t *searched;  /* programs that were looked for in PATH; NULL: none */
	char *here, *there; /* where the text begins, and where its cd leads; NULL: not yet known */
	bool moves;        /* it begins with a cd */
	bool sourced;      /* a file was sourced, after which nothing is known */
	const char *lacks; /* why the files cannot be told, static; NULL: they can */
	size_t looks, bytes; /* names looked up, and bytes read */
	uint64_t own;      /* files that commands may write, or make, and that the command that is
			    * looked at runs; by their places in the list */
	uint64_t ran_own;  /* ... and those before it */
	bool is_apart;     /* a command may run beside others, or more than once */
	bool is_exposed;   /* ... and then one that runs an own file came */
	bool has_chmod;    /* a command came that may make files executable */
	bool reads_file;   /* a redirection came that reads one */
	bool is_fed;       /* what is not known is the standard input of the command that is
			    * looked at */
	bool feeds;        /* ... and of those that come */
	bool runs_input;   /* a command came that may run what its standard input holds */
	bool is_changed;   /* a command came that may write files */
};

/* Add what @run, the next command of the text, would run. */
void run_files_look(struct run_files *f, const struct blocklist_run *run);
void run_files_release(struct run_files *f);

#endif
