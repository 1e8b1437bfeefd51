/*
 * audit_options - options and words of known programs that hold secrets.
 *
 * What a short option holds depends on the program, so the names of programs are remembered up to
 * the end of their simple command.
 */
#ifndef PROCPEN_POLICY_AUDIT_OPTIONS_H
#define PROCPEN_POLICY_AUDIT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/audit_mask.h"

#define AUDIT_OPTIONS_SETS 4 /* of 64 rows of the table */

/* The simple command that is being read; all zero at its start. A word may be a program or only its
 * name, as git in "mysql -u git -pX" is: so a row that one word has begun stays. */
struct audit_command {
	/* Of these rows a word has been the program, and another the subcommand. */
	uint64_t programs[AUDIT_OPTIONS_SETS], subcommands[AUDIT_OPTIONS_SETS];
	bool begun;
	bool crossed;   /* a separator was in it, in quotes or without a blank behind it */
	unsigned words; /* behind the first program that are not options */
};

/* Does @c take secrets as words, each behind its name? */
bool audit_options_take_names(const struct audit_command *c);

/*
 * Is the word at m->at of @c an option that holds a secret, or a secret itself? Then mask that, go
 * behind it and return true; so too behind an option that only looks like one. @late: look for
 * those alone that may be of another shape, else for the others.
 */
bool audit_options_mask(struct audit_command *c, struct audit_mask *m, bool late);

/* Is the word of @len bytes at @p, in the @size bytes of @text, a program with such an option or
 * word? Not if what else that needs, a subcommand, is nowhere in the text. */
bool audit_options_are_possible(const char *text, size_t size, const char *p,
				size_t len);

/* Note the word at @p, which is not a secret: it may be a program or a subcommand. */
void audit_options_note(struct audit_command *c, const char *p);

#endif
