/*
 * rulebook - the rules in force: the operator's, those of the packs that the option `packs` turns
 * on, and a project's, which only make decisions stricter.
 *
 * A pack is a built-in set of rules, one file of schema/packs, in the form of the operator's rules
 * but without decisions: the option gives all of them one.
 */
#ifndef PROCPEN_POLICY_RULEBOOK_H
#define PROCPEN_POLICY_RULEBOOK_H

#include "policy/config.h"
#include "policy/ruleset.h"

/* One file of schema/packs (generated: gen/packs.c). */
struct rulebook_file {
	const char *name;  /* NULL ends the table */
	const char *rules; /* a JSON array */
};
extern const struct rulebook_file rulebook_files[];

/* A pack in force. */
struct rulebook_pack {
	const struct rulebook_file *file;
	enum tier decision;
	struct ruleset rules;
};

/* All zero: no rules. */
struct rulebook {
	const struct ruleset *own;     /* of the configuration; borrowed, or NULL */
	const struct ruleset *project; /* likewise */
	struct rulebook_pack *packs;
	size_t pack_count;
};

/* Read the packs that @config turns on; its rules are borrowed. 0, or -1 with InvalidParams: no
 * such pack, or no such decision. @book: all zero; rulebook_release() in either case. */
int rulebook_open(struct rulebook *book, const struct config *config, struct err *e);
void rulebook_release(struct rulebook *book);

/* Only check what the option says, as rulebook_open() does; that takes milliseconds for rules. */
int rulebook_check(const struct config *config, struct err *e);

/* Read the rules of @file into @set, with @decision. 0, or -1 with InvalidParams. */
int rulebook_read_file(struct ruleset *set, const struct rulebook_file *file, enum tier decision,
		       struct err *e);

/* How many rules are in force. */
size_t rulebook_count(const struct rulebook *book);

/* Call @note for each of the operator's rules that does nothing, with the reason: its last day is
 * over, it allows what is always blocked, or it lets happen what a tier of @config denies. */
void rulebook_each_idle(const struct rulebook *book, const struct config *config,
			void (*note)(void *ctx, const char *text), void *ctx);

#endif
