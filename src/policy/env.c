/*
 * The environment is built in three passes, later ones winning: the base, the
 * operator's allow-list, the request. The first two are the same for every run and made
 * once. Names within a request are unique (a JSON object), so only the inherited part is
 * searched for each of them.
 */
#include "policy/env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Bytes of names or of a PATH that a message shows. */
#define SHOWN_MAX 240

/* Processor time that a search of PATH may take: a request may name very many directories, and a
 * command may have made links of very many names to them. */
#define SEARCH_US 20000

/* Protected names that details list, and bytes of each. */
#define NAMES_MAX 100
#define NAME_SHOWN 128

struct base_row {
	const char *name;     /* a trailing '*' makes it a prefix */
	const char *fallback; /* when the server has none; NULL: left out */
};

/* Do not ask the user database: name services load libraries and may wait for the network. */
static const struct base_row base_rows[] = {
	{ "PATH", DEFAULT_PATH },
	{ "HOME", "/" },
	{ "USER", NULL },
	{ "LOGNAME", NULL },
	{ "LANG", "C.UTF-8" },
	{ "LC_*", NULL },
	{ "TZ", NULL },
	{ "TERM", "dumb" },
};

/* Names that change the code that a shell or the dynamic loader runs, and procpen's own. */
static const char *const protected_names[] = {
	"LD_*", "GCONV_PATH", "GLIBC_TUNABLES", "BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS",
	"BASHOPTS", "PS4", "IFS", "PROCPEN_*",
};

/* Does @name (of @len bytes) equal @pattern, or start with it when it ends in '*'? */
static bool env_name_matches(const char *pattern, const char *name, size_t len)
{
	size_t n = strlen(pattern);

	if (n > 0 && pattern[n - 1] == '*')
		return len >= n - 1 && memcmp(pattern, name, n - 1) == 0;
	return len == n && memcmp(pattern, name, n) == 0;
}

/* By the built-in list, or the operator's env.protect. */
static bool env_is_protected(const struct config *c, const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(protected_names); i++)
		if (env_name_matches(protected_names[i], name, len))
			return true;
	for (char *const *p = config_names(c, CONFIG_ENV_PROTECT); *p; p++)
		if (env_name_matches(*p, name, len))
			return true;
	return false;
}

/* The index of @name in the first @count of @vars; @count: it is not there. */
static size_t env_find(char *const *vars, size_t count, const char *name, size_t name_len)
{
	size_t i = 0;

	for (; i < count; i++)
		if (*vars[i] == *name && !strncmp(vars[i], name, name_len) &&
		    vars[i][name_len] == '=')
			break;
	return i;
}

/* Put @item, "NAME=value" with a name of @name_len bytes, in the place of one among the first
 * @search, or at the end. */
static void env_put(struct env *env, size_t search, char *item, size_t name_len)
{
	size_t at = env_find(env->vars, search, item, name_len);

	env->vars[at < search ? at : env->count++] = item;
}

/* Write the variable that stands, or will, at @at. */
static void env_write(struct env *env, size_t at, const char *name, const char *value,
		      const char *below)
{
	size_t name_len = strlen(name), value_len = strlen(value), below_len = strlen(below);
	char *end = env->text;

	BUG_IF(name_len + value_len + below_len + 2 > (size_t)(env->text_end - end));
	env->vars[at] = end;
	env->count += at == env->count;
	end = mempcpy(end, name, name_len);
	*end++ = '=';
	end = mempcpy(end, value, value_len);
	env->text = mempcpy(end, below, below_len + 1);
}

void env_set(struct env *env, const char *name, const char *value)
{
	env_write(env, env_find(env->vars, env->count, name, strlen(name)), name, value, "");
}

void env_default(struct env *env, const char *name, const char *value, const char *below)
{
	if (env_find(env->vars, env->count, name, strlen(name)) == env->count)
		env_write(env, env->count, name, value, below);
}

/* Make room for @count variables and @text bytes of those that are written. */
static void env_init(struct env *env, size_t count, size_t text)
{
	size_t bytes = (count + 1) * sizeof(*env->vars);

	env->vars = mem_zalloc(bytes + text);
	env->count = 0;
	env->text = (char *)env->vars + bytes;
	env->text_end = env->text + text;
}

static size_t env_count(char *const *vars)
{
	size_t count = 0;

	while (vars && vars[count])
		count++;
	return count;
}

/* Iterate from *@at over the server's own variables that match @pattern. */
static char *env_inherit_next(const char *pattern, char ***at, size_t *name_len)
{
	for (; *at && **at; (*at)++) {
		char *item = **at;

		if (*item != *pattern && *pattern != '*')
			continue; /* the common case: compare the first byte before the name */
		*name_len = strcspn(item, "=");
		if (*name_len > 0 && item[*name_len] == '=' &&
		    env_name_matches(pattern, item, *name_len)) {
			(*at)++;
			return item;
		}
	}
	return NULL;
}

static void env_add_base(struct env *base, const struct base_row *row)
{
	char **at = environ, *item;
	size_t len;

	if (row->fallback)
		env_set(base, row->name, row->fallback);
	while ((item = env_inherit_next(row->name, &at, &len)))
		/* An empty PATH means the working directory. */
		if (!row->fallback || item[len + 1] != '\0')
			env_put(base, base->count, item, len);
}

/* Pass a protected name only if the operator wrote it without a pattern. */
static void env_add_allowed(struct env *base, const char *pattern, const struct config *c)
{
	bool prefix = strchr(pattern, '*') != NULL;
	char **at = environ, *item;
	size_t len;

	while ((item = env_inherit_next(pattern, &at, &len)))
		if (!prefix || !env_is_protected(c, item, len))
			env_put(base, base->count, item, len);
}

char **env_base_new(const struct config *c, const char *shell)
{
	size_t text = strlen("SHELL") + strlen(shell) + 2;
	struct env base;

	for (size_t i = 0; i < COUNT_OF(base_rows); i++)
		if (base_rows[i].fallback)
			text += strlen(base_rows[i].name) + strlen(base_rows[i].fallback) + 2;
	env_init(&base, env_count(environ) + COUNT_OF(base_rows) + 1, text);
	env_set(&base, "SHELL", shell);
	for (size_t i = 0; i < COUNT_OF(base_rows); i++)
		env_add_base(&base, &base_rows[i]);
	for (char *const *p = config_names(c, CONFIG_ENV_ALLOW); *p; p++)
		env_add_allowed(&base, *p, c);
	return base.vars;
}

static int env_check_name(const char *name, const json_t *value, struct err *e)
{
	const char *text = json_string_value(value);

	if (name[0] == '\0')
		return err_invalid(e, "environment", "environment: a name is empty");
	if (strchr(name, '='))
		return err_invalid(e, "environment",
				   "environment: the name \"%.64s\" has a '=' in it", name);
	if (!text || strlen(text) != json_string_length(value))
		return err_invalid(e, "environment",
				   "environment: \"%.64s\" is not a string without NUL", name);
	return 0;
}

int env_check_names(const json_t *request, struct err *e)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)request, name, value)
		if (env_check_name(name, value, e))
			return err_hint(e, "A name has at least one character and no =, a value "
					   "no NUL.");
	return 0;
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

/* POSIX.1-2017, 2.5.3 and 3.235: a shell need not keep other names, and dash does not. */
static int env_check_shell_names(const json_t *request, struct err *e)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)request, name, value) {
		if (strspn(name, LETTERS) && !name[strspn(name, LETTERS "0123456789")])
			continue;
		err_invalid(e, "environment",
			    "environment: a shell may drop the name \"%.64s\"", name);
		return err_hint(e, "Shells keep names of letters, digits and underscores that do "
				   "not begin with a digit. Use such a name, or give the program "
				   "as command and its arguments as args.");
	}
	return 0;
}

/* Append the first @text_len bytes of @text to @line, or "..." if they do not fit. */
static void env_line_add(char *line, size_t size, const char *text, size_t text_len)
{
	size_t len = strlen(line);

	if (len + text_len + 8 < size) {
		if (len)
			line = stpcpy(line + len, ", ");
		*(char *)mempcpy(line, text, text_len) = '\0';
	} else if (len < 3 || strcmp(line + len - 3, "...") != 0) {
		strcpy(line + len, len ? ", ..." : "...");
	}
}

static int env_check_protected(const struct config *c, const json_t *request, struct err *e)
{
	char line[SHOWN_MAX] = "";
	json_t *names = NULL, *value;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)request, name, value) {
		size_t len = utf8_cut(name, strlen(name), NAME_SHOWN);

		if (!env_is_protected(c, name, strlen(name)))
			continue;
		if (!names)
			names = json_array();
		if (json_array_size(names) < NAMES_MAX)
			json_array_append_new(names, json_stringn(name, len));
		env_line_add(line, sizeof(line), name, len);
	}
	if (!names)
		return 0;
	err_set(e, ERR_PROTECTED_VARIABLE, "environment: protected names may not be set: %s", line);
	err_detail(e, "names", names);
	return err_hint(e, "Remove %s from environment. A command may set %s for itself.", line,
			json_array_size(names) == 1 ? "it" : "them");
}

int env_check(const struct config *c, const json_t *request, bool shell, struct err *e)
{
	if (env_check_protected(c, request, e))
		return -1;
	return shell ? env_check_shell_names(request, e) : 0;
}

void env_begin(struct env *env, const struct config *c, char *const *base, char *const *request,
	       size_t more, size_t text)
{
	size_t inherited = env_count(base);

	env_init(env, inherited + env_count(request) + more, text);
	memcpy(env->vars, base, inherited * sizeof(*base));
	env->count = inherited;
	for (; request && *request; request++) {
		size_t name_len = strcspn(*request, "=");

		BUG_IF(env_is_protected(c, *request, name_len));
		env_put(env, inherited, *request, name_len);
	}
}

/* As env_add_base() has it: an empty one counts as unset. */
const char *env_base_path(void)
{
	const char *own = getenv("PATH");

	return own && *own ? own : DEFAULT_PATH;
}

const char *env_get(char *const *vars, const char *name)
{
	size_t len = strlen(name), count = env_count(vars), at = env_find(vars, count, name, len);

	return at < count ? vars[at] + len + 1 : NULL;
}

/* 0 if @path can be executed, else an errno value; *@exists: there is such a file. */
static int env_exec_check(int cwd_fd, const char *path, bool *exists)
{
	struct stat st;

	*exists = fstatat(cwd_fd, path, &st, 0) == 0;
	if (!*exists)
		return errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
	return faccessat(cwd_fd, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* Errors after which execvp(3) tries the next directory. */
static bool env_is_absent(int sys)
{
	return sys == ENOENT || sys == ENOTDIR || sys == ENAMETOOLONG || sys == ELOOP;
}

static int env_fail_exec(const char *path, int sys, struct err *e)
{
	err_sys(e, ERR_SPAWN_FAILED, sys, "cannot execute \"%.256s\"", path);
	err_detail(e, "stage", json_string("exec"));
	err_detail(e, "errno", json_string(err_sys_name(sys)));
	if (sys == EISDIR)
		return err_hint(e, "It is a directory: name a program in it.");
	return err_hint(e,
			"Make it an executable file (chmod +x), or run it with its interpreter.");
}

static int env_fail_absent(const char *program, const char *path, struct err *e)
{
	if (!path) {
		err_set(e, ERR_COMMAND_NOT_FOUND, "there is no file \"%.256s\"", program);
		return err_hint(e, "A name with a slash is not looked up in PATH; it counts from "
				   "the working directory. Check the path, or give the bare name "
				   "(`which NAME` finds it).");
	}
	err_set(e, ERR_COMMAND_NOT_FOUND, "\"%.128s\" is in no directory of PATH", program);
	err_detail_text(e, "path", path);
	return err_hint(e, "PATH searched: %.*s%s %s", SHOWN_MAX, path,
			strlen(path) > SHOWN_MAX ? "..." : ".", err_rows[e->type].hint);
}

/* Not CommandNotFound, because it may be in a directory that is left. */
static int env_fail_search(const char *program, struct err *e)
{
	err_set(e, ERR_SPAWN_FAILED, "the search for \"%.128s\" in PATH takes too long", program);
	err_detail(e, "stage", json_string("exec"));
	err_detail(e, "errno", json_string(err_sys_name(ETIME)));
	return err_hint(e, "Name the program by its path, or the directories of PATH without "
			   "links.");
}

/* "dir/program"; an empty directory is the working directory. */
static char *env_join_program(const char *dir, size_t dir_len, const char *program)
{
	size_t len = strlen(program);
	char *path = mem_zalloc(dir_len + len + 3);
	char *end;

	if (dir_len == 0)
		end = stpcpy(path, ".");
	else
		end = (char *)mempcpy(path, dir, dir_len);
	*end++ = '/';
	memcpy(end, program, len);
	return path;
}

static int env_find_in_path(const char *search, int cwd_fd, const char *program, char **path,
			    struct err *e)
{
	struct clock_work work = clock_work_begin();
	AUTO_FREE char *denied = NULL;
	int denied_sys = 0;

	for (const char *dir = search;; dir++) {
		size_t len = strcspn(dir, ":");
		char *candidate = env_join_program(dir, len, program);
		bool exists;
		int sys = env_exec_check(cwd_fd, candidate, &exists);

		if (sys == 0) {
			*path = candidate;
			return 0;
		}
		/* Files in a directory that we may not search count as absent. */
		if (exists && !denied) {
			denied = candidate;
			denied_sys = sys;
		} else {
			free(candidate);
		}
		dir += len;
		if (*dir == '\0')
			break;
		if (clock_work_used_us(&work) > SEARCH_US)
			return env_fail_search(program, e);
	}
	if (denied)
		return env_fail_exec(denied, denied_sys, e);
	return env_fail_absent(program, search, e);
}

int env_find_program(const char *search, int cwd_fd, const char *program, char **path,
		     struct err *e)
{
	if (!search)
		search = DEFAULT_PATH;
	if (!strchr(program, '/')) {
		if (program[0] == '\0')
			return env_fail_absent(program, search, e);
		return env_find_in_path(search, cwd_fd, program, path, e);
	}
	bool exists;
	int sys = env_exec_check(cwd_fd, program, &exists);

	if (env_is_absent(sys))
		return env_fail_absent(program, NULL, e);
	if (sys != 0)
		return env_fail_exec(program, sys, e);
	*path = mem_strdup(program);
	return 0;
}
