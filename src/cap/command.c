#include "cap/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/audit.h"
#include "policy/dir.h"
#include "policy/env.h"
#include "shell/words.h"

static void command_read_args(struct command *c, const json_t *args)
{
	size_t count = json_array_size(args), i;
	json_t *arg;

	c->args = mem_zalloc((count + 1) * sizeof(*c->args));
	json_array_foreach(args, i, arg)
		c->args[i] = json_string_value(arg);
}

static void command_join(struct command *c)
{
	size_t len = strlen(c->text);
	char *end;

	for (size_t i = 0; c->args && c->args[i]; i++)
		len += strlen(c->args[i]) + 1;
	c->shown = mem_zalloc(len + 1);
	end = stpcpy(c->shown, c->text);
	for (size_t i = 0; c->args && c->args[i]; i++)
		end = stpcpy(stpcpy(end, " "), c->args[i]);
	c->masked = audit_redact(c->text, c->args);
}

/* Build argv: @count leading words, then the request's args. */
static void command_set_argv(struct command *c, const char *const *words, size_t count)
{
	size_t args = 0;

	while (c->args && c->args[args])
		args++;
	c->argv = mem_zalloc((count + args + 1) * sizeof(*c->argv));
	for (size_t i = 0; i < count; i++)
		c->argv[i] = mem_strdup(words[i]);
	for (size_t i = 0; i < args; i++)
		c->argv[count + i] = mem_strdup(c->args[i]);
}

int command_decode(const json_t *params, const char *name, const char *encoding, char **bytes,
		   size_t *len, struct err *e)
{
	const json_t *value = json_object_get(params, name);
	const char *text = json_string_value(value);

	*len = json_string_length(value);
	if (!text)
		return 0;
	if (strcmp(json_get_str(params, encoding, "utf8"), "base64")) {
		*bytes = mem_strndup(text, *len);
		return 0;
	}
	*bytes = base64_decode(text, *len, len);
	if (*bytes)
		return 0;
	err_invalid(e, name, "%s is not base64, but %s is \"base64\"", name, encoding);
	return err_hint(e, "Send RFC 4648 base64 with padding and without line breaks, or "
			   "%s \"utf8\".", encoding);
}

static void command_read_environment(struct command *c, json_t *environment)
{
	const char *name;
	json_t *value;
	size_t n = 0;

	c->environment = mem_zalloc((json_object_size(environment) + 1) * sizeof(*c->environment));
	json_object_foreach(environment, name, value) {
		size_t name_len = strlen(name), len = json_string_length(value);
		char *pair = mem_zalloc(name_len + len + 2);

		memcpy(pair, name, name_len);
		pair[name_len] = '=';
		memcpy(pair + name_len + 1, json_string_value(value), len);
		c->environment[n++] = pair;
	}
}

/*
 * The directory @name of a request. Links are followed only inside of @scope: a verdict must not
 * tell where one outside leads.
 */
static char *command_new_directory(const struct scope *scope, const char *name)
{
	const char *workspace = scope_workspace(scope);
	bool absolute = *name == '/';
	AUTO_FREE char *path = NULL;
	char *real;

	if (!*name)
		return workspace ? mem_strdup(workspace) : NULL;
	if (!absolute && !workspace)
		return NULL;
	path = mem_printf("%s%s%s", absolute ? "" : workspace, absolute ? "" : "/", name);
	real = scope_covers(scope, path) ? dir_real(path) : NULL;
	return real ? real : mem_strdup(path);
}

int command_read(struct command *c, const json_t *params, const struct scope *scope,
		 struct err *e)
{
	const json_t *args = json_object_get(params, "args");
	json_t *environment = json_object_get(params, "environment");

	memset(c, 0, sizeof(*c));
	c->text = json_get_str(params, "command", "");
	c->shell = json_get_bool(params, "shell", args == NULL);
	c->working_directory = json_get_str(params, "working_directory", "");
	c->directory = command_new_directory(scope, c->working_directory);
	if (args)
		command_read_args(c, args);
	if (json_object_size(environment))
		command_read_environment(c, environment);
	command_join(c);
	if (env_check_names(environment, e))
		return -1;
	return command_decode(params, "stdin", "stdin_encoding", &c->stdin_bytes, &c->stdin_len, e);
}

/*
 * SHELL -c TEXT. With args the text gets them as $1, $2 ...; $0 is the shell's name. --norc: bash
 * reads ~/.bashrc if its stdin is a socket (bash(1)).
 */
static void command_set_shell_argv(struct command *c, const struct run_shell *shell)
{
	const char *words[5] = { shell->path };
	size_t n = 1;

	if (shell->family == SHELL_FAMILY_BASH)
		words[n++] = "--norc";
	words[n++] = "-c";
	words[n++] = c->text;
	if (c->args)
		words[n++] = str_base_name(shell->path); /* $0 */
	command_set_argv(c, words, n);
}

bool command_ignores_args(const struct command *c)
{
	const char *at = c->shell && c->args && *c->args ? c->text : NULL;

	if (!at)
		return false;
	while ((at = strchr(at, '$')))
		if (*++at && strchr("123456789@*#{", *at))
			return false;
	return true;
}

/* Is there no word in @text: only white space, comments, and backslashes before newlines? */
static bool command_is_blank(const char *text)
{
	for (;;) {
		text += strspn(text, " \t\n");
		if (*text == '#')
			text += strcspn(text, "\n");
		else if (text[0] == '\\' && text[1] == '\n')
			text += 2;
		else
			return !*text;
	}
}

bool command_runs_nothing(const struct command *c)
{
	return !c->args && command_is_blank(c->text);
}

static int command_check_blank(const struct command *c, struct err *e)
{
	if (!command_runs_nothing(c))
		return 0;
	err_set(e, ERR_INVALID_COMMAND,
		"command is only white space and comments: there is nothing to run");
	return err_hint(e, "Give a command line, or a program and its arguments.");
}

const char *command_usual_stdin(const json_t *params)
{
	bool fed = json_object_get(params, "stdin") && !json_get_bool(params, "background", false);

	return json_get_bool(params, "tty", false) ? "pipe" : fed ? "data" : "null";
}

int command_resolve(struct command *c, const struct run_shell *shell, struct err *e)
{
	if (command_check_blank(c, e))
		return -1;
	if (c->shell)
		command_set_shell_argv(c, shell);
	else if (c->args)
		command_set_argv(c, &c->text, 1);
	else if (shell_words_split(c->text, &c->argv, e)) {
		err_prefix(e, "command: ");
		return err_parameter(e, "command");
	}
	if (c->argv[0] && *c->argv[0])
		return 0;
	err_set(e, ERR_INVALID_COMMAND, "command names no program");
	return err_hint(e, "Give a program and args, or a string for the shell.");
}

void command_release(struct command *c)
{
	mem_list_free(c->argv);
	free(c->args);
	free(c->shown);
	free(c->directory);
	free(c->masked);
	free(c->stdin_bytes);
	mem_list_free(c->environment);
	memset(c, 0, sizeof(*c));
}

void command_judge(const struct command *c, const struct config *config,
		   const struct run_shell *shell, struct blocklist_input *in)
{
	const char *where = config_choice(config, CONFIG_BLOCKLIST_LITERAL_MATCH);
	bool by_project =
		config->values[CONFIG_BLOCKLIST_LITERAL_MATCH].rank == CONFIG_BY_PROJECT;

	*in = (struct blocklist_input){
		.command = c->text,
		.args = c->args,
		.stdin_bytes = c->stdin_bytes,
		.stdin_len = c->stdin_len,
		.environment = (const char *const *)c->environment,
		.directory = c->directory,
		.no_shell = !c->shell && !c->args,
		.shell = c->shell,
		.shell_path = shell->path,
		.shell_family = shell->family,
		.literal_anywhere = !strcmp(where, "anywhere"),
		.literal_by = by_project ? config_origin(config, CONFIG_BLOCKLIST_LITERAL_MATCH)
					 : NULL,
	};
}

enum err_type command_blocked_type(const struct blocklist_verdict *v)
{
	return v->unparsable ? ERR_INVALID_COMMAND : ERR_COMMAND_BLOCKED;
}

void command_fail_blocked(const struct blocklist_verdict *v, struct err *e)
{
	err_set(e, command_blocked_type(v), "%s", v->reason);
	err_hint(e, "%s", v->suggestion);
	err_detail(e, "rule", json_string(v->rule));
	if (v->has_span)
		err_detail(e, "span",
			   json_pack("[I,I]", (json_int_t)v->start, (json_int_t)v->end));
}
