#include "cap/run_user.h"

#include <string.h>
#include <unistd.h>

#include "base/str.h"

/* No option helps. */
static int run_user_fail_unprivileged(enum err_type type, const char *name, struct err *e)
{
	err_set(e, type, "user: procpen is not root, and cannot become \"%.64s\"", name);
	err_hint(e, "Leave user out: commands run as the server's own user.");
	return err_parameter(e, "user");
}

static int run_user_refuse(const struct config *c, const char *name, struct err *e)
{
	char remedy[CONFIG_REMEDY_SIZE];

	if (geteuid() != 0)
		return run_user_fail_unprivileged(ERR_PERMISSION_DENIED, name, e);
	config_remedy(c, CONFIG_SANDBOX_USERS, "NAME,...", remedy);
	err_set(e, ERR_PERMISSION_DENIED,
		"user: the operator does not allow requests to run as \"%.64s\"", name);
	return err_hint(e, "Leave user out; the operator can change this %s.", remedy);
}

static int run_user_find(const char *name, struct user *user, struct err *e)
{
	if (geteuid() == 0)
		return users_find(name, user, e) ? err_parameter(e, "user") : 0;
	return run_user_fail_unprivileged(ERR_INVALID_PARAMS, name, e);
}

int run_user_read(const struct config *config, const char *wanted, struct user *user,
		  struct confine_request *request, struct err *e)
{
	const char *usual = config_names(config, CONFIG_SANDBOX_USER)[0];

	*user = (struct user){ 0 };
	if (wanted && !(usual && !strcmp(usual, wanted)) &&
	    !str_is_listed(wanted, (const char *const *)config_names(config, CONFIG_SANDBOX_USERS)))
		return run_user_refuse(config, wanted, e);
	if (!wanted && !usual)
		return 0;
	if (run_user_find(wanted ? wanted : usual, user, e)) {
		if (wanted)
			return -1;
		e->type = ERR_SANDBOX_UNAVAILABLE; /* the operator's mistake, not the request's */
		return err_hint(e, "The operator must correct the option sandbox.user.");
	}
	request->as_user = true;
	request->uid = user->uid;
	request->gid = user->gid;
	return 0;
}
