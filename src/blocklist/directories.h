/*
 * directories - the working directory of a command, and what cd, pushd, popd and the end of a
 * subshell make of it for the commands after it.
 */
#ifndef PROCPEN_BLOCKLIST_DIRECTORIES_H
#define PROCPEN_BLOCKLIST_DIRECTORIES_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/command/action.h"
#include "blocklist/path.h"
#include "shell/arena.h"

/* Nested subshells that keep their own working directory. */
#define SUBSHELLS_MAX 8

/* A directory that pushd remembers. */
struct pushed {
	const struct pushed *older;
	struct path_dir dir;
};

/* The working directory, and what cd - and popd go back to. All zero: somewhere unknown. */
struct directories {
	bool moved;             /* a cd came before, or a wrapper changes the directory */
	bool searched;          /* a cd may have found another one by CDPATH */
	struct path_dir now;
	struct path_dir before; /* the last cd */
	const struct pushed *pushed; /* the newest; in the arena */
};

/* The subshells around a command, with the directory to go back to after each. */
struct subshells {
	struct {
		unsigned scope;
		struct directories outside;
	} list[SUBSHELLS_MAX];
	size_t count;
};

/* The same as *@to = *@from, but only what is in use is copied. */
void directories_copy(struct directories *to, const struct directories *from);

/* Write the path that @word names in the directory to @out; false: it is not known. */
bool directories_path(const struct directories *d, const struct shell_word *word, char *out,
		      size_t size);

/* Do what @a, an ACTION_CHDIR, says. One that fails in a shell too only sets @d->moved. */
void directories_change(struct directories *d, const struct action *a, struct shell_budget *budget,
			struct shell_arena *arena);

/*
 * The next command has @context (of struct shell_command; 0: it is outside of all subshells): a cd
 * ends with its subshell. In subshells deeper than SUBSHELLS_MAX it stays.
 */
void directories_enter(struct directories *d, unsigned context, struct subshells *s);

#endif
