#include "cap/run_env.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/env.h"

static void run_env_follow_user(const struct run_env *run, char ***envp)
{
	const struct { const char *name, *value; } own[] = {
		{ "HOME", run->user->home }, { "USER", run->user->name },
		{ "LOGNAME", run->user->name },
	};

	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (!json_object_get(run->environment, own[i].name))
			env_set(envp, own[i].name, own[i].value);
}

/* glibc asks name servers over UDP unless told otherwise (resolv.conf(5), use-vc). */
static void run_env_resolve_by_tcp(const struct run_env *run, char ***envp)
{
	const char *const *ports =
		(const char *const *)config_names(run->config, CONFIG_SANDBOX_NETWORK);

	if (str_is_listed("53", ports) && !json_object_get(run->environment, "RES_OPTIONS"))
		env_set(envp, "RES_OPTIONS", "use-vc");
}

char **run_env_build(const struct run_env *run)
{
	char **envp = env_build(run->config, run->shell, run->environment);

	if (run->user->name)
		run_env_follow_user(run, &envp);
	run_env_resolve_by_tcp(run, &envp);
	if (run->terminal && !json_object_get(run->environment, "TERM"))
		env_set(&envp, "TERM", "xterm-256color");
	return envp;
}

/* Set @name to @directory plus @below, unless it is set. */
static void run_env_add_default(char ***envp, const char *name, const char *directory,
				const char *below)
{
	AUTO_FREE char *value = NULL;

	if (env_get(*envp, name))
		return;
	value = mem_printf("%s%s", directory, below);
	env_set(envp, name, value);
}

static bool run_env_can_write(const struct run_env *run, const char *home, const char *below)
{
	AUTO_FREE char *path = mem_printf("%s%s", home, below);

	return confine_can_write_resolved(run->confine, path);
}

/* What tools keep in the home leads into @temporary where it cannot be written there. Each run
 * asks, so only the home is resolved, and a link in it counts as what cannot be written. */
static void run_env_move_caches(const struct run_env *run, char ***envp, const char *temporary)
{
	const char *home = run->user->name ? run->user->home : getenv("HOME");
	AUTO_FREE char *real = home && *home ? realpath(home, NULL) : NULL;

	if (home && *home &&
	    (confine_profile(run->confine, run->request) == CONFINE_NONE ||
	     confine_can_write_resolved(run->confine, real)))
		return;
	if (!real || !run_env_can_write(run, real, "/.cache"))
		run_env_add_default(envp, "XDG_CACHE_HOME", temporary, "/cache");
	if (!real || !run_env_can_write(run, real, "/.npm"))
		run_env_add_default(envp, "npm_config_cache", temporary, "/cache/npm");
	/* Chrome does not start without a writable one. */
	run_env_add_default(envp, "CHROME_CONFIG_HOME", temporary, "/config");
}

void run_env_enter(const struct run_env *run, char ***envp)
{
	struct err ignored = ERR_INIT; /* the start reports it */
	AUTO_FREE char *temporary = NULL;

	if (confine_prepare(run->confine, &ignored)) {
		err_release(&ignored);
		return;
	}
	temporary = confine_temporary(run->confine, run->request);
	if (!temporary)
		return;
	run_env_add_default(envp, "TMPDIR", temporary, "");
	/* These two ignore TMPDIR, and screen -dm says nothing when it cannot make its socket. */
	run_env_add_default(envp, "TMUX_TMPDIR", temporary, "");
	run_env_add_default(envp, "SCREENDIR", temporary, "/screen");
	run_env_move_caches(run, envp, temporary);
}
