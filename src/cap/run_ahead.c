#include "cap/run_ahead.h"

#include <stdlib.h>

#include "cap/judge.h"
#include "cap/run_limits.h"
#include "cap/run_user.h"

/* The first verdict builds the blocklist's tables and has its code mapped, if not read; that of a
 * command with an argument more than that of one without. */
static void run_ahead_judge(struct cap *c, const json_t *none)
{
	static const char *const args[] = { "a line", NULL };
	const struct blocklist_input in = { .command = "echo", .args = args };
	struct blocklist_verdict verdict;
	struct ruling ruling;

	judge_command(c, TIER_NOTIFY, none, &in, NULL, &verdict, &ruling);
}

void run_ahead(struct cap *c)
{
	struct confine_request usual = { 0 };
	struct shim_rlimit *rlimits = NULL;
	struct user user = { .name = NULL };
	ERR_LOCAL(e);
	const struct cap_row *run = cap_find(c, "process.run");
	json_t *none = json_object();

	if (run && cap_tier(c, run) != TIER_DENY) {
		if (!run_limits_read(c->config, none, &rlimits, &usual, &e) &&
		    !run_user_read(c->config, NULL, &user, &usual, &e))
			proctab_make_ready(c->procs, &usual);
		run_ahead_judge(c, none);
	}
	free(rlimits);
	users_release(&user);
	json_decref(none);
	err_release(&e);
}
