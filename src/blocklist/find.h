/*
 * blocklist_find - what find and fd do with what they find.
 *
 * Reads the places, the tests and the actions of their words. What an action gets
 * is a word that stands for it: "PLACE/" and a glob for all that is below a place.
 * Tests that pick files by name, owner and the like make it a word of nothing in
 * particular: a few files are not a whole directory. Only tests that hold for certain
 * count: each arm of an -o has to pick some, and one behind a ! or before a comma picks none.
 */
#ifndef PROCPEN_BLOCKLIST_FIND_H
#define PROCPEN_BLOCKLIST_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "shell/arena.h"
#include "shell/script.h"

enum blocklist_find_kind {
	FIND_PRINT,  /* the names go to standard output */
	FIND_DELETE, /* they are removed */
	FIND_RUN,    /* a command gets them: @words, where {} is replaced already */
	FIND_WRITE,  /* the file @subject is written */
};

struct blocklist_found_action {
	enum blocklist_find_kind kind;
	struct shell_word subject;
	struct shell_word *words;
	size_t count;
	bool narrow; /* tests pick some of the files */
};

struct blocklist_found_actions {
	struct blocklist_found_action *list;
	size_t count;
};

/* @words is a command of find, or of fd if @is_fd. The result lives in @arena. */
struct blocklist_found_actions blocklist_find_read(const struct shell_word *words, size_t count,
						   bool is_fd, struct shell_arena *arena);

/* A word that stands for all that is below @place; wholly unknown if @place is NULL. */
struct shell_word blocklist_contents(const struct shell_word *place, struct shell_arena *arena);

#endif
