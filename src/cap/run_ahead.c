#include "cap/run_ahead.h"

#include <stdlib.h>

#include "cap/run_limits.h"
#include "cap/run_user.h"

void run_ahead(struct cap *c)
{
	struct confine_request usual = { 0 };
	struct shim_rlimit *rlimits = NULL;
	struct user user = { .name = NULL };
	struct err e = ERR_INIT;
	const struct cap_row *run = cap_find(c, "process.run");
	json_t *none = json_object();

	if (run && cap_tier(c, run) != TIER_DENY &&
	    !run_limits_read(c->config, none, &rlimits, &usual, &e) &&
	    !run_user_read(c->config, NULL, &user, &usual, &e))
		proctab_make_ready(c->procs, &usual);
	free(rlimits);
	users_release(&user);
	json_decref(none);
	err_release(&e);
}
