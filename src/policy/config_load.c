#include "policy/config_load.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/config_text.h"

#define SYSTEM_PATH "/etc/procpen/config.json"
#define PREFIX "PROCPEN_SET_"
#define ROOM 4096 /* a read beyond the largest file */

extern char **environ;

/* ---- files ---- */

/* In $XDG_CONFIG_HOME or ~/.config; a relative one counts as unset (XDG Base Directory
 * Specification). Heap, or NULL. */
static char *config_load_user_path(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config && *config == '/')
		return mem_printf("%s/procpen/config.json", config);
	if (home && *home == '/')
		return mem_printf("%s/.config/procpen/config.json", home);
	return NULL;
}

/* Returns 1, 0 if there is no such file, or -1. */
static int config_load_one(struct config *c, const char *path, enum config_rank rank,
			   struct config_file *file, struct err *e)
{
	struct buf text;
	int status;

	buf_init(&text, CONFIG_FILE_MAX + ROOM);
	status = config_file_read(file, path, &text, e);
	if (status > 0 && config_text_read(c, &text, path, rank, e))
		status = -1;
	buf_release(&text);
	return status;
}

int config_load_file(struct config *c, const char *path, struct config_files *files,
		     struct err *e)
{
	int status = config_load_one(c, path, CONFIG_BY_USER_FILE, &files->files[0], e);

	if (status)
		return status < 0 ? -1 : 0;
	err_sys(e, ERR_INVALID_PARAMS, ENOENT, "cannot read %.400s", path);
	return err_hint(e, "Name a file that exists.");
}

static int config_load_files(struct config *c, struct config_files *files, struct err *e)
{
	files->user_path = config_load_user_path();
	if (config_load_one(c, SYSTEM_PATH, CONFIG_BY_SYSTEM_FILE, &files->files[0], e) < 0)
		return -1;
	if (!files->user_path)
		return 0;
	return config_load_one(c, files->user_path, CONFIG_BY_USER_FILE, &files->files[1], e) < 0
		       ? -1 : 0;
}

void config_files_release(struct config_files *files)
{
	for (size_t i = 0; i < CONFIG_FILES; i++)
		config_file_release(&files->files[i]);
	free(files->user_path);
	*files = (struct config_files){ 0 };
}

/* ---- environment ---- */

/* "SANDBOX__NETWORK", @len bytes, as a key: "sandbox.network". Heap. */
static char *config_load_key(const char *name, size_t len)
{
	char *key = mem_zalloc(len + 1), *to = key;

	for (size_t i = 0; i < len; i++) {
		bool dot = i + 1 < len && name[i] == '_' && name[i + 1] == '_';

		*to++ = dot ? '.' : (char)tolower((unsigned char)name[i]);
		i += dot;
	}
	return key;
}

/* @name and @equals: of an entry of the environment behind PREFIX. */
static int config_load_variable(struct config *c, const char *name, const char *equals,
				struct err *e)
{
	AUTO_FREE char *key = config_load_key(name, (size_t)(equals - name));
	AUTO_FREE char *origin = mem_printf("%s%.*s", PREFIX, (int)(equals - name), name);
	int found = config_lookup(key, e);

	if (found >= 0 && !config_assign(c, found, equals + 1, CONFIG_BY_ENVIRONMENT, origin, e))
		return 0;
	if (found < 0)
		err_hint(e, "A dot is two underscores: " PREFIX "SANDBOX__NETWORK for "
			    "sandbox.network. `procpen help options` lists all options.");
	return err_prefix(e, "environment variable %.128s: ", origin);
}

static int config_load_environment(struct config *c, struct err *e)
{
	int status = 0;

	for (char **entry = environ; !status && entry && *entry; entry++) {
		const char *equals = strchr(*entry, '=');

		if (equals && !strncmp(*entry, PREFIX, strlen(PREFIX)))
			status = config_load_variable(c, *entry + strlen(PREFIX), equals, e);
	}
	return status;
}

int config_load(struct config *c, const char *named, struct config_files *files, struct err *e)
{
	int status = named ? config_load_file(c, named, files, e) : config_load_files(c, files, e);

	return status ? -1 : config_load_environment(c, e);
}

/* ---- where they lie ---- */

/* Which of @dirs does @file lie in? */
static const char *config_load_covers(const struct config_file *file, const char *const *dirs)
{
	while (*dirs && !config_file_lies_in(file, *dirs))
		dirs++;
	return *dirs;
}

int config_files_check(const struct config_files *files, const struct config *c,
		       const struct scope *scope, struct err *e)
{
	static const char *const always[] = { "/dev/shm", NULL }; /* os/sandbox */
	const char *const *writable = (const char *const *)config_names(c, CONFIG_SANDBOX_WRITABLE);

	for (size_t i = 0; i < CONFIG_FILES; i++) {
		const struct config_file *file = &files->files[i];
		const char *dir = config_load_covers(file, scope_directories(scope));

		if (!dir)
			dir = config_load_covers(file, writable);
		if (!dir)
			dir = config_load_covers(file, always);
		if (!dir)
			continue;
		err_set(e, ERR_INVALID_PARAMS,
			"the configuration file %.300s, or something on the way to it, is where "
			"commands may write: %.300s", file->path, dir);
		return err_hint(e, "A command could change its own limits: keep the file "
				   "elsewhere, and name it with --config FILE, by a path that does "
				   "not pass there.");
	}
	return 0;
}

const char *config_files_missing_in(const struct config_files *files, const struct scope *scope)
{
	if (!files->user_path || files->files[1].path || !scope_covers(scope, files->user_path))
		return NULL;
	return files->user_path;
}
