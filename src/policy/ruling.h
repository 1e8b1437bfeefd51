/*
 * ruling - what the rules decide on a command: allow, notify, confirm or deny.
 *
 * The blocklist reports each simple command that the text would run (blocklist.h, on_run). For each
 * of them counts, in this order: the strictest rule of the operator's own that matches; else the
 * strictest of a pack, or the tier if that is stricter; and a project's rule where it is stricter
 * still. The strictest over all of them is the ruling. A command of a denied tier and one that the
 * blocklist blocks stay what they are.
 *
 * A rule that decides less than the packs or the tier would is an exception, and an allow always
 * is one. It counts only where all of the command is known and named by the rule, the program is
 * installed (policy/installed.h), nothing but the rule's variables, input and users is given to it,
 * nothing in its text may change what runs (blocklist/altered.h), and the command writes no file by
 * a redirection or a log_file. Else the rule counts as if it were not there.
 */
#ifndef PROCPEN_POLICY_RULING_H
#define PROCPEN_POLICY_RULING_H

#include "policy/installed.h"
#include "policy/rulebook.h"

#define RULING_SHOWN_MAX 160
#define RULING_ALSO_MAX 8

/* Another rule that decides the same, of another simple command of the text. */
struct ruling_also {
	const struct rule *rule;
	const char *pack; /* NULL: none */
};

struct ruling {
	enum tier tier;          /* that decides; TIER_AUTONOMOUS: allow */
	const struct rule *rule; /* that decided; NULL: the tier */
	const char *pack;        /* of the rule; NULL: none */
	char shown[RULING_SHOWN_MAX]; /* the simple command that the rule matched */
	struct ruling_also also[RULING_ALSO_MAX]; /* each once, in the order of their commands */
	unsigned also_count;          /* RULING_ALSO_MAX + 1: there are more */
};

/* How a rule stands to a simple command, for explanations. First, without a rule, the command. */
struct ruling_look {
	const struct blocklist_run *run;
	const struct rule *rule; /* on its program; NULL: the command alone */
	const char *pack;
	enum rule_fit fit;
	const char *lacks; /* why it is not the exception that it would be; NULL: it counts */
};

struct ruling_watch {
	void (*on_look)(void *ctx, const struct ruling_look *look);
	void *ctx;
};

struct ruling_request {
	const struct rulebook *book;
	enum tier tier;              /* of the capability */
	enum rule_capability capability;
	const char *user;            /* that the request names, or NULL */
	bool has_input;              /* the request gives standard input, or keeps it open */
	bool has_log_file;           /* the request has the output written to a file, too */
	struct installed *installed; /* NULL: no exceptions */
	uint32_t from;               /* commands that begin before this place of the text count no
				      * more */
	const struct ruling_watch *watch; /* or NULL */
};

/* Judge @in, by the blocklist into @v, by the rules into @out. Never fails, starts nothing. */
void ruling_judge(const struct ruling_request *rq, const struct blocklist_input *in,
		  struct blocklist_verdict *v, struct ruling *out);

/* Make @out the ruling on two texts of one call: on its own and on the one that @next is for. */
void ruling_join(struct ruling *out, const struct ruling *next);

/* The words of @run as people read them, with ? for what is not known. Cut to @size. */
void ruling_show(const struct blocklist_run *run, char *out, size_t size);

#endif
