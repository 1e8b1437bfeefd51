#include "cap/run_env.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "guard/env.h"

#define DEFAULTS_MAX 5

static void add(char **list, const char *name, const char *directory, const char *below)
{
	size_t count = 0;

	while (list[count])
		count++;
	if (asprintf(&list[count], "%s=%s%s", name, directory, below) < 0)
		abort();
}

static char **defaults(const struct run_env *run)
{
	char **list = mem_zalloc((DEFAULTS_MAX + 1) * sizeof(*list));
	struct err ignored = ERR_INIT; /* the start tells it */
	const char *home = run->user->name ? run->user->home : getenv("HOME");
	AUTO_FREE char *temporary = NULL;

	if (confine_prepare(run->confine, &ignored)) {
		err_release(&ignored);
		return list;
	}
	temporary = confine_temporary(run->confine, run->request);
	if (!temporary)
		return list;
	add(list, "TMPDIR", temporary, "");
	add(list, "TMUX_TMPDIR", temporary, ""); /* tmux does not ask for the other */
	if (home && *home && confine_can_write(run->confine, home))
		return list;
	add(list, "XDG_CACHE_HOME", temporary, "/cache");
	add(list, "npm_config_cache", temporary, "/cache/npm");
	add(list, "CHROME_CONFIG_HOME", temporary, "/config"); /* it does not start without */
	return list;
}

static void follow_user(const struct run_env *run, char ***envp)
{
	const struct { const char *name, *value; } own[] = {
		{ "HOME", run->user->home }, { "USER", run->user->name },
		{ "LOGNAME", run->user->name },
	};

	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (!json_object_get(run->environment, own[i].name))
			env_set(envp, own[i].name, own[i].value);
}

int run_env_build(const struct run_env *run, char ***envp, struct err *e)
{
	char **list = defaults(run);
	int result = env_build(run->config, list, run->environment, envp, e);

	env_free(list);
	if (!result && run->user->name)
		follow_user(run, envp);
	return result;
}
