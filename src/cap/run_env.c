#include "cap/run_env.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/env.h"

/* How many variables are added here at most, and the bytes of each beside its value. */
#define OWN_MAX 11
#define OWN_BYTES 32

static void run_env_follow_user(const struct run_env *run, struct env *env)
{
	const struct { const char *name, *value; } own[] = {
		{ "HOME", run->user->home }, { "USER", run->user->name },
		{ "LOGNAME", run->user->name },
	};

	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (!env_get(run->environment, own[i].name))
			env_set(env, own[i].name, own[i].value);
}

/* glibc asks name servers over UDP unless told otherwise (resolv.conf(5), use-vc). */
static void run_env_resolve_by_tcp(const struct run_env *run, struct env *env)
{
	const char *const *ports =
		(const char *const *)config_names(run->config, CONFIG_SANDBOX_NETWORK);

	if (str_is_listed("53", ports) && !env_get(run->environment, "RES_OPTIONS"))
		env_set(env, "RES_OPTIONS", "use-vc");
}

/* @home: a path as realpath(3) writes them. */
static bool run_env_can_write(const struct run_env *run, const char *home, const char *below)
{
	char path[PATH_MAX + 16];

	stpcpy(stpcpy(path, home), below);
	return confine_can_write_resolved(run->confine, path);
}

/* What tools keep in the home leads into @temporary where it cannot be written there. Each run
 * asks, so only the home is resolved, and a link in it counts as what cannot be written. */
static void run_env_move_caches(const struct run_env *run, struct env *env, const char *temporary)
{
	const char *home = run->user->name ? run->user->home : getenv("HOME");
	char resolved[PATH_MAX], *real = home && *home ? realpath(home, resolved) : NULL;

	if (home && *home &&
	    (confine_profile(run->confine, run->request) == CONFINE_NONE ||
	     confine_can_write_resolved(run->confine, real)))
		return;
	if (!real || !run_env_can_write(run, real, "/.cache"))
		env_default(env, "XDG_CACHE_HOME", temporary, "/cache");
	if (!real || !run_env_can_write(run, real, "/.npm"))
		env_default(env, "npm_config_cache", temporary, "/cache/npm");
	/* Chrome does not start without a writable one. */
	env_default(env, "CHROME_CONFIG_HOME", temporary, "/config");
}

static void run_env_enter(const struct run_env *run, struct env *env, const char *temporary)
{
	env_default(env, "TMPDIR", temporary, "");
	/* These two ignore TMPDIR, and screen -dm says nothing when it cannot make its socket. */
	env_default(env, "TMUX_TMPDIR", temporary, "");
	env_default(env, "SCREENDIR", temporary, "/screen");
	run_env_move_caches(run, env, temporary);
}

/* The private temporary directory, or NULL. */
static char *run_env_new_temporary(const struct run_env *run)
{
	ERR_LOCAL(ignored); /* the start reports it */

	if (!confine_prepare(run->confine, &ignored))
		return confine_temporary(run->confine, run->request);
	err_release(&ignored);
	return NULL;
}

char **run_env_build(const struct run_env *run)
{
	AUTO_FREE char *temporary = run_env_new_temporary(run);
	size_t text = OWN_MAX * (OWN_BYTES + (temporary ? strlen(temporary) : 0));
	struct env env;

	if (run->user->name)
		text += strlen(run->user->home) + 2 * strlen(run->user->name);
	env_begin(&env, run->config, run->base, run->environment, OWN_MAX, text);
	if (run->user->name)
		run_env_follow_user(run, &env);
	run_env_resolve_by_tcp(run, &env);
	if (run->terminal && !env_get(run->environment, "TERM"))
		env_set(&env, "TERM", "xterm-256color");
	if (temporary)
		run_env_enter(run, &env, temporary);
	return env.vars;
}
