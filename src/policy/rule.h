/*
 * rule - one rule of the operator, a pack or a project: which commands, and what is decided.
 *
 * Read from JSON (docs/rules.md); refuses unknown and missing members, wrong types, texts that are
 * too long or not printable, and an allow that would cover what it does not name. A rule is matched
 * on a simple command with resolved words (blocklist_run), never on text. What is not known before
 * a command runs may match, but never for certain.
 */
#ifndef PROCPEN_POLICY_RULE_H
#define PROCPEN_POLICY_RULE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "blocklist/blocklist.h"
#include "policy/tier.h"

#define RULE_ID_MAX 64
#define RULE_TEXT_MAX 512  /* reason, suggestion, why, an example, a directory */
#define RULE_WORD_MAX 1024 /* a program, or a word or text with its alternatives */
#define RULE_ONE_MAX 256   /* each of them */
#define RULE_LIST_MAX 64   /* elements of a list */
#define RULE_PROJECT "project:" /* begins the id of a project's rule */

enum rule_capability { RULE_RUN = 1, RULE_INPUT = 2 }; /* process.run, process.input; bits */

/* The strings and lists belong to @source. A list is NULL-terminated, and NULL if it is absent. */
struct rule {
	json_t *source;
	const char *id;
	const char **programs;    /* NULL: any */
	const char **names;       /* of these, without their folders; parts of them */
	const char **subcommand;  /* the first operands; words occur behind them */
	const char **words;       /* each must occur; alternatives with | between them */
	const char **without;     /* none may occur */
	const char **ignore;      /* of these no word counts for words; "-i *": behind -i */
	const char **pattern_unless; /* nor the first operand, unless one of these occurs */
	const char **text;        /* each must occur in a word or the known standard input */
	const char **without_text; /* none may occur there */
	bool guesses;             /* what is not known before a command runs may be what it names */
	const char *directory;    /* absolute, or NULL: anywhere */
	char *real_directory;     /* without links, as it was at the start, or NULL; owned */
	unsigned capabilities;    /* enum rule_capability */
	enum tier decision;       /* TIER_AUTONOMOUS: allow */
	const char *reason, *suggestion; /* or NULL */
	const char *until;        /* "2027-01-31", the last day, or NULL */
	const char **environment; /* of an allow: variables that a request may set */
	bool input;               /* of an allow: a request may give standard input */
	const char **users;       /* of an allow: users that a request may name */
	const char **examples, **counterexamples;
	char *origin;             /* "config.json:4"; owned */
};

enum rule_source { RULE_OF_OPERATOR, RULE_OF_PACK, RULE_OF_PROJECT };

/*
 * Read the rule @source, to which it takes a reference, from where @origin says. A project's gets
 * another id in it. @decision: of a pack, whose rules have none of their own. 0, or -1 with
 * InvalidParams. @r is zeroed first; rule_release() in either case.
 */
int rule_read(struct rule *r, json_t *source, const char *origin, enum rule_source from,
	      enum tier decision, struct err *e);
void rule_release(struct rule *r);

/* Did it come from the project's file, which commands can write? */
bool rule_is_of_project(const struct rule *r);

/* Is its last day over? In words: its id and that day. */
bool rule_is_over(const struct rule *r);
#define RULE_IS_OVER "rule \"%s\" does not count any more: its last day was %s"

/* "allow", "notify", "confirm", "deny". */
const char *rule_decision_name(enum tier decision);

/* The members of a rule: to read them, and for a JSON Schema of it. */
struct rule_member {
	const char *name; /* NULL ends the table */
	enum { RULE_STRING, RULE_STRINGS, RULE_BOOLEAN } type;
	size_t at;        /* where struct rule has it as it is; 0: nowhere */
	bool own;         /* only of the operator's rules and a project's, not of packs */
	const char *text;
};
extern const struct rule_member rule_members[];

/* ---- matching ---- */

enum rule_fit {
	RULE_OTHER_PROGRAM,
	RULE_OTHER_WORDS,
	RULE_OTHER_DIRECTORY,
	RULE_MAY_FIT, /* what decides is not known before it runs, or a link that can change */
	RULE_FITS_MORE, /* and the command has words that are not known or not named by the rule */
	RULE_FITS,
};

/* What of a rule a command does not fulfil. */
struct rule_miss {
	const char *member;  /* "words"; or NULL: the fit says it all */
	const char *element; /* of it */
	const struct shell_word *word; /* RULE_FITS_MORE: of the command */
};

/* What comparing one command with rules has taken, and what it has found; all zero at first. */
struct rule_work {
	uint64_t steps; /* of the blocklist's budget */
	/* What system calls say of the paths of programs, which many rules have in common. */
	struct {
		const char *program; /* of a rule; NULL: none */
		enum rule_fit fit;
	} paths[8];
};

/* Adds to @work. Sets @miss, zeroed or NULL, unless it fits. */
enum rule_fit rule_fits(const struct rule *r, const struct blocklist_run *run,
			struct rule_miss *miss, struct rule_work *work);

/* Does @text fit @pattern, in which * stands for any text? */
bool rule_text_fits(const char *pattern, const char *text);

#endif
