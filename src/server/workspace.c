#include "server/workspace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/sandbox/tmpdir.h"
#include "policy/audit.h"

static const char *workspace_env_path(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool workspace_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return !stat(a, &sa) && !stat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

char *workspace_find(const char *option, struct err *e)
{
	const char *home = workspace_env_path("HOME");
	const char *chosen = option;
	char *here;

	if (!chosen)
		chosen = workspace_env_path("PROCPEN_WORKSPACE");
	if (!chosen)
		chosen = workspace_env_path("CLAUDE_PROJECT_DIR");
	if (chosen)
		return mem_strdup(chosen);
	here = getcwd(NULL, 0);
	if (!here) {
		err_sys(e, ERR_INVALID_PARAMS, errno, "cannot tell the working directory");
	} else if (workspace_same_file(here, "/") || (home && workspace_same_file(here, home))) {
		err_set(e, ERR_INVALID_PARAMS,
			"no workspace is set, and the working directory %s is too wide to be one",
			here);
		free(here);
		here = NULL;
	}
	if (!here)
		err_hint(e, "Set the directory that commands may work in: "
			    "procpen serve --workspace DIR, or PROCPEN_WORKSPACE=DIR.");
	return here;
}

static char *workspace_make_absolute(char *path)
{
	AUTO_FREE char *relative = path;
	AUTO_FREE char *here = NULL;
	char *absolute;

	if (*path == '/') {
		relative = NULL;
		return path;
	}
	here = getcwd(NULL, 0);
	if (!here || asprintf(&absolute, "%s/%s", here, path) < 0)
		return NULL;
	return absolute;
}

bool workspace_covers_state_dir(const struct scope *scope, const char *state_dir)
{
	static const char *const names[] = { "", "/audit", ("/" TMPDIR_PLACE) };
	bool covers = false;

	for (size_t i = 0; i < COUNT_OF(names) && !covers; i++) {
		AUTO_FREE char *path = NULL;

		covers = asprintf(&path, "%s%s", state_dir, names[i]) < 0 ||
			 scope_covers(scope, path);
	}
	return covers;
}

char *workspace_find_state_dir(const char *option, const struct scope *scope, struct err *e)
{
	char *dir = option && *option ? mem_strdup(option) : audit_default_dir();

	if (!dir) {
		err_set(e, ERR_INVALID_PARAMS,
			"no state directory for the audit log: neither XDG_STATE_HOME nor HOME is "
			"set");
		err_hint(e, "Set one with --state-dir DIR.");
		return NULL;
	}
	dir = workspace_make_absolute(dir);
	if (!dir) {
		err_sys(e, ERR_INVALID_PARAMS, errno, "cannot tell the working directory");
		return NULL;
	}
	if (!workspace_covers_state_dir(scope, dir))
		return dir;
	err_set(e, ERR_INVALID_PARAMS,
		"the state directory %.400s, or audit or tmp in it, is where commands may write: "
		"a command could rewrite its own audit log",
		dir);
	err_hint(e, "Set another one with --state-dir DIR, outside the workspace.");
	free(dir);
	return NULL;
}
