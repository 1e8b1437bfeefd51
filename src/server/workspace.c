#include "server/workspace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "os/sandbox/tmpdir.h"
#include "policy/audit.h"
#include "policy/dir.h"

static const char *workspace_env_path(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* @here: the working directory; NULL: there is none, for the reason in errno. */
static void workspace_refuse_here(const char *here, struct err *e)
{
	if (here)
		err_set(e, ERR_INVALID_PARAMS,
			"no workspace is set, and the working directory %.400s is %s", here,
			strcmp(here, "/") ? "the home: too wide to be one"
					  : "the whole file system");
	else if (errno == ENOENT)
		err_set(e, ERR_INVALID_PARAMS, "the working directory was removed");
	else
		err_sys(e, ERR_INVALID_PARAMS, errno, "cannot tell the working directory");
	err_hint(e, "Start procpen in the directory that commands may work in, or name it: "
		    "--workspace %s/PROJECT, or PROCPEN_WORKSPACE=DIR.",
		 here && strcmp(here, "/") ? here : "/path/to");
}

bool workspace_is_too_wide(const char *path)
{
	const char *home = workspace_env_path("HOME");

	return dir_is_same(path, "/") || (home && dir_is_same(path, home));
}

char *workspace_find(const char *option, struct err *e)
{
	const char *chosen = option;
	char *here;

	if (!chosen)
		chosen = workspace_env_path("PROCPEN_WORKSPACE");
	if (!chosen)
		chosen = workspace_env_path("CLAUDE_PROJECT_DIR");
	if (chosen)
		return mem_strdup(chosen);
	here = getcwd(NULL, 0);
	if (here && !workspace_is_too_wide(here))
		return here;
	workspace_refuse_here(here, e);
	free(here);
	return NULL;
}

bool workspace_covers_state_dir(const struct scope *scope, const char *state_dir)
{
	static const char *const places[] = { "audit", TMPDIR_PLACE, NULL };

	return scope_covers_any(scope, state_dir, places);
}

/* A state directory outside of @scope to propose, or NULL. Only root has one that no other user
 * could create first. Static. */
static const char *workspace_propose_state_dir(const struct scope *scope)
{
	static const char place[] = "/var/lib/procpen";

	return geteuid() || workspace_covers_state_dir(scope, place) ? NULL : place;
}

static bool workspace_covers_alone(const char *directory, const char *state_dir)
{
	ERR_LOCAL(ignored);
	struct scope *alone = scope_new(directory, NULL, &ignored);
	bool covers = alone && workspace_covers_state_dir(alone, state_dir);

	scope_free(alone);
	err_release(&ignored);
	return covers;
}

/* The first directory of @scope that covers @state_dir, or the last one. */
static const char *workspace_find_cover(const struct scope *scope, const char *state_dir)
{
	const char *const *name = scope_directories(scope);

	while (name[1] && !workspace_covers_alone(*name, state_dir))
		name++;
	return *name;
}

/* Commands could rewrite the audit log in @dir. */
static int workspace_refuse_state_dir(const struct scope *scope, const char *dir, struct err *e)
{
	const char *proposed = workspace_propose_state_dir(scope);
	const char *cover = workspace_find_cover(scope, dir);

	err_set(e, ERR_INVALID_PARAMS,
		"the state directory %.300s, or audit or tmp in it, is where commands may write "
		"(%s: %.300s): a command could rewrite its own audit log", dir,
		cover == scope_workspace(scope) ? "workspace" : "--allow-dir", cover);
	if (!strcmp(scope_workspace(scope), "/"))
		return err_hint(e, "Name a narrower workspace: --workspace DIR; no --state-dir "
				   "lies outside of /.");
	if (!proposed)
		proposed = "DIR, outside the workspace and yours alone";
	if (scope_directories(scope)[1])
		return err_hint(e, "Name another one: --state-dir %s; or narrower directories with "
				   "--workspace and --allow-dir.", proposed);
	return err_hint(e, "Name another one: --state-dir %s; or a narrower workspace: "
			   "--workspace %.200s/PROJECT.", proposed, scope_workspace(scope));
}

static int workspace_check_state_dir(const struct scope *scope, const char *dir, struct err *e)
{
	/* All in it is ours. One that is not there yet holds nothing. */
	const char *inside = scope_find_below(scope, dir);

	if (!inside && workspace_covers_state_dir(scope, dir))
		return workspace_refuse_state_dir(scope, dir, e);
	if (!inside)
		return 0;
	err_set(e, ERR_INVALID_PARAMS,
		"%.300s, where commands may write, is or lies in the state directory %.300s, which "
		"is procpen's alone", inside, dir);
	return err_hint(e, "Name another state directory: --state-dir DIR; or another workspace: "
			   "--workspace DIR.");
}

/* Would @dir, the default, be below a home that does not exist? Debian gives accounts without one
 * /nonexistent, which root could create. */
static bool workspace_lacks_home(const char *dir)
{
	const char *home = workspace_env_path("HOME");
	struct stat st;

	return home && !strncmp(dir, home, strlen(home)) && stat(home, &st) &&
	       (errno == ENOENT || errno == ENOTDIR);
}

/* The default state directory on the heap, or NULL. */
static char *workspace_default_state_dir(const struct scope *scope, struct err *e)
{
	char *dir = audit_default_dir();
	const char *proposed;

	if (dir && !workspace_lacks_home(dir))
		return dir;
	proposed = workspace_propose_state_dir(scope);
	if (dir)
		err_set(e, ERR_INVALID_PARAMS,
			"no state directory for the audit log: the home %.300s does not exist",
			getenv("HOME"));
	else
		err_set(e, ERR_INVALID_PARAMS,
			"no state directory for the audit log: neither XDG_STATE_HOME nor HOME is "
			"set");
	err_hint(e, "Name one: --state-dir %s.", proposed ? proposed : "DIR");
	free(dir);
	return NULL;
}

char *workspace_find_state_dir(const char *option, const struct scope *scope, struct err *e)
{
	AUTO_FREE char *named = option && *option ? mem_strdup(option)
						  : workspace_default_state_dir(scope, e);
	char *dir = named ? dir_absolute(named) : NULL;

	if (!named)
		return NULL;
	if (!dir) {
		err_sys(e, ERR_INVALID_PARAMS, errno, "cannot tell the working directory");
		err_hint(e, "Name the state directory by a full path: --state-dir /DIR.");
		return NULL;
	}
	if (!workspace_check_state_dir(scope, dir, e))
		return dir;
	free(dir);
	return NULL;
}

int workspace_check(const struct scope *scope, struct err *e)
{
	for (const char *const *dir = scope_directories(scope); *dir; dir++) {
		if (!access(*dir, X_OK) || (errno != EACCES && errno != EPERM))
			continue;
		err_sys(e, ERR_INVALID_PARAMS, errno, "%.300s cannot be entered", *dir);
		return err_hint(e, "Give user %u the right (`chmod u+rwx`), or name another "
				   "directory with --workspace or --allow-dir.", geteuid());
	}
	return 0;
}

/* Why no file can be made at @file, whose directories need not exist: 0 or errno. @place becomes
 * the directory that refuses; heap. */
static int workspace_refusal_to_make(const char *file, char **place)
{
	struct stat st;

	for (*place = mem_strdup(file);;) {
		char *slash = strrchr(*place, '/');

		slash[slash == *place] = '\0';
		if (!access(*place, W_OK | X_OK))
			return 0;
		if (errno == EACCES && !stat(*place, &st) && !S_ISDIR(st.st_mode))
			errno = ENOTDIR;
		if (errno != ENOENT || !(*place)[1])
			return errno;
	}
}

void workspace_warn(const struct scope *scope, const char *audit_path)
{
	AUTO_FREE char *place = NULL;
	int error = audit_path ? workspace_refusal_to_make(audit_path, &place) : 0;

	if (error)
		log_warn("no command will start while the audit log cannot be written: %.400s: %s "
			 "(%s); repair it, or name another place with --state-dir DIR",
			 place, strerror(error), err_sys_name(error));
	for (const char *const *dir = scope_directories(scope); *dir; dir++)
		if (access(*dir, W_OK))
			log_warn("commands cannot write in %.400s: %s (%s); if they shall, change "
				 "its owner, its mode or its mount", *dir, strerror(errno),
				 err_sys_name(errno));
}
