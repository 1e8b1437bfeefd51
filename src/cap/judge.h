/*
 * judge - the verdict of the blocklist and the ruling of the rules on a command of a request.
 *
 * process.run, is_blocked, process.input and `procpen check` ask this one function, so that they
 * say the same.
 */
#ifndef PROCPEN_CAP_JUDGE_H
#define PROCPEN_CAP_JUDGE_H

#include "blocklist/stream.h"
#include "cap/cap.h"
#include "cap/command.h"

/* What tells where runs can write; NULL where that is not known. */
struct installed *judge_installed(struct cap *c);

/* Judge @in, the command of a process.run of the tier @tier with the checked @params. @watch: or
 * NULL. */
void judge_command(struct cap *c, enum tier tier, const json_t *params,
		   const struct blocklist_input *in, const struct ruling_watch *watch,
		   struct blocklist_verdict *v, struct ruling *ruling);

/* What a process.input of the tier @tier writes to @p, behind what @stream has. */
struct judge_part {
	enum tier tier;
	const struct proc *p;
	const struct stream *stream; /* NULL: nothing is judged */
	const char *bytes;
	size_t len;
};

/*
 * Rule on @part: on the commands that it makes or completes, if the run takes its input for shell
 * text. No rule is an exception there, because what came before may have changed what a name runs.
 */
void judge_input(const struct cap *c, const struct judge_part *part, struct ruling *ruling);

/* ": " and why @r is there; what to do instead. "" where it does not say. To be freed. */
char *judge_reason(const struct rule *r);
char *judge_suggestion(const struct rule *r);

/* Fill @e, PermissionDenied, for a call of @capability that @ruling denies by a rule. */
void judge_fail(const struct ruling *ruling, const char *capability, struct err *e);

/* Name the rule of @ruling in the details of @e; put what it suggests before the hint. Nothing
 * where the tier decided. */
void judge_name_rule(const struct ruling *ruling, struct err *e);
void judge_suggest(const struct ruling *ruling, struct err *e);

/*
 * Write members of a notice (cap/notice.h): which rule decided, and what a run with @params can
 * reach. @user: that it changes to, or NULL. judge_write_rule() returns whether it left out rules.
 */
bool judge_write_rule(struct jsonw *w, const struct ruling *ruling);
void judge_write_reach(struct jsonw *w, struct cap *c, const json_t *params, const char *user);

/*
 * Would process.run refuse the environment of @params for @command, whatever it does? 0, or -1 with
 * ProtectedVariable, or InvalidParams for a name that shells drop.
 */
int judge_environment(const struct cap *c, const struct command *command, const json_t *params,
		      struct err *e);
#define JUDGE_ENVIRONMENT "environment.protected" /* the id of that rule in a verdict */

/* The members of is_blocked's result, into the open object. @environment: of judge_environment();
 * counts where nothing else refuses. NULL: none was asked about. */
void judge_write(struct jsonw *w, const struct blocklist_verdict *v, const struct ruling *ruling,
		 const struct err *environment);

#endif
