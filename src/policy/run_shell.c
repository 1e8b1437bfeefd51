#include "policy/run_shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define DEFAULT_SHELL "/bin/bash"
#define FALLBACK_SHELL "/bin/sh"

/* Shells whose text the blocklist reads. For "sh" the target of the link decides. */
static const struct {
	const char *name;
	enum shell_family family;
} run_shell_families[] = {
	{ "bash", SHELL_FAMILY_BASH },
	{ "dash", SHELL_FAMILY_DASH },
	{ "ash", SHELL_FAMILY_POSIX },
	{ "sh", SHELL_FAMILY_POSIX },
};

/* Index in the table, or -1. */
static int run_shell_find(const char *path)
{
	for (size_t i = 0; i < COUNT_OF(run_shell_families); i++)
		if (!strcmp(str_base_name(path), run_shell_families[i].name))
			return (int)i;
	return -1;
}

/* sh -> dash is dash. sh -> bash is not bash: under that name bash keeps to POSIX, with exceptions
 * of its own. */
static enum shell_family run_shell_family(const char *path)
{
	enum shell_family family = run_shell_families[run_shell_find(path)].family;
	AUTO_FREE char *target = family == SHELL_FAMILY_POSIX ? realpath(path, NULL) : NULL;

	return target && !strcmp(str_base_name(target), "dash") ? SHELL_FAMILY_DASH : family;
}

static bool run_shell_is_hidden(const struct config *config, const char *path)
{
	char *const *hidden = config_names(config, CONFIG_SANDBOX_HIDE);
	AUTO_FREE char *target = *hidden ? realpath(path, NULL) : NULL;

	for (; *hidden; hidden++)
		if (str_path_lies_in(path, *hidden) ||
		    (target && str_path_lies_in(target, *hidden)))
			return true;
	return false;
}

/* A command that runs as another user needs the right of all others. */
static bool run_shell_is_executable(const struct config *config, const struct stat *st,
				    const char *path)
{
	bool others = *config_names(config, CONFIG_SANDBOX_USER) ||
		      *config_names(config, CONFIG_SANDBOX_USERS);

	return S_ISREG(st->st_mode) && !faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) &&
	       (!others || st->st_mode & S_IXOTH);
}

/* NULL if commands can execute it, else the reason why not. */
static const char *run_shell_lacks(const struct config *config, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == ENOENT || errno == ENOTDIR ? "there is no such file"
							   : strerror(errno);
	if (!run_shell_is_executable(config, &st, path))
		return "it is not a file that commands may execute";
	return run_shell_is_hidden(config, path) ? "sandbox.hide hides it" : NULL;
}

/* Can commands write the directory of @path? */
static bool run_shell_is_in_scope(const struct scope *scope, const char *path)
{
	AUTO_FREE char *directory = mem_strndup(path, (size_t)(str_base_name(path) - path));

	return scope_covers(scope, directory);
}

/* A command could replace a shell that it can write; then the blocklist would not know what reads
 * the next string. */
static bool run_shell_is_writable(const struct config *config, const struct scope *scope,
				  const char *path)
{
	AUTO_FREE char *target = realpath(path, NULL);

	if (!scope || !target)
		return false;
	for (char *const *p = config_names(config, CONFIG_SANDBOX_WRITABLE); *p; p++)
		if (str_path_lies_in(path, *p) || str_path_lies_in(target, *p))
			return true;
	return run_shell_is_in_scope(scope, path) || run_shell_is_in_scope(scope, target);
}

int run_shell_check_name(const char *path, struct err *e)
{
	if (path[0] != '/') {
		err_set(e, ERR_INVALID_PARAMS, "process.shell: \"%.256s\" is not an absolute path",
			path);
		return err_hint(e, "Give the full path, such as /bin/bash or /bin/sh.");
	}
	if (run_shell_find(path) < 0) {
		err_set(e, ERR_INVALID_PARAMS,
			"process.shell: \"%.256s\" is none of bash, dash, ash and sh, and the "
			"blocklist reads only the text of POSIX shells and bash", path);
		return err_hint(e, "Name one of these. Any other interpreter can be run as a "
				   "program, with its text in args.");
	}
	return 0;
}

static int run_shell_check(const struct config *config, const struct scope *scope,
			   const char *path, struct err *e)
{
	const char *lack;

	if (run_shell_check_name(path, e))
		return -1;
	lack = run_shell_lacks(config, path);
	if (lack) {
		err_set(e, ERR_INVALID_PARAMS, "process.shell: \"%.256s\" cannot run commands: %s",
			path, lack);
		return err_hint(e, "Name another shell, or leave process.shell out: then it is "
				   "/bin/bash where that is, else /bin/sh.");
	}
	if (!run_shell_is_writable(config, scope, path))
		return 0;
	err_set(e, ERR_INVALID_PARAMS, "process.shell: \"%.256s\" is where commands may write: "
		"a command could replace it", path);
	return err_hint(e, "Name a shell outside the workspace, the accessible directories and "
			   "sandbox.writable.");
}

int run_shell_choose(struct run_shell *shell, const struct config *config,
		     const struct scope *scope, struct err *e)
{
	const char *path = config_names(config, CONFIG_PROCESS_SHELL)[0];

	memset(shell, 0, sizeof(*shell));
	if (path && run_shell_check(config, scope, path, e))
		return config_fault_in(config, CONFIG_PROCESS_SHELL, e);
	if (!path)
		path = run_shell_lacks(config, DEFAULT_SHELL) ? FALLBACK_SHELL : DEFAULT_SHELL;
	shell->path = mem_strdup(path);
	shell->family = run_shell_family(path);
	return 0;
}

char *run_shell_new_doubt(const struct run_shell *shell, const struct config *config,
			  const struct scope *scope)
{
	const char *lack = run_shell_lacks(config, shell->path);

	if (lack)
		return mem_printf("the shell %s cannot run command lines: %s", shell->path, lack);
	if (!run_shell_is_writable(config, scope, shell->path))
		return NULL;
	return mem_printf("commands may write where the shell %s is, and could replace it",
			  shell->path);
}

void run_shell_release(struct run_shell *shell)
{
	free(shell->path);
	memset(shell, 0, sizeof(*shell));
}
