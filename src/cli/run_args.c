#include "cli/run_args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int run_args_complain(const char *what, const char *value)
{
	fprintf(stderr, "procpen run: %s%s%s\nMore: procpen --help\n", what, value ? ": " : "",
		value ? value : "");
	return CLI_STATUS_USAGE;
}

static int run_args_take_number(const char *text, double max, double *number)
{
	char *end;

	*number = strtod(text, &end);
	return *end || end == text || !isfinite(*number) || *number <= 0 || *number > max
		       ? run_args_complain("not a number, or out of bounds", text)
		       : 0;
}

static int run_args_set_number(struct run_args *a, const char *name, const char *value, double max)
{
	double number;

	if (run_args_take_number(value, max, &number))
		return CLI_STATUS_USAGE;
	return json_object_set_new(a->params, name, json_real(number));
}

static int run_args_set_timeout(struct run_args *a, const char *value)
{
	return run_args_set_number(a, "timeout", value, 1e7);
}

static int run_args_set_cpu(struct run_args *a, const char *value)
{
	return run_args_set_number(a, "cpu_limit", value, 4096);
}

static int run_args_set_memory(struct run_args *a, const char *value)
{
	char *end;
	double number = strtod(value, &end);
	const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;

	for (const char *at = units; unit && at <= unit; at++)
		number *= 1024;
	if ((*end && (!unit || end[1])) || !(number >= 1 << 20) || number > 1e15)
		return run_args_complain("--memory takes bytes, at least 1M, with K, M or G",
					 value);
	return json_object_set_new(a->params, "memory_limit", json_integer((json_int_t)number));
}

static int run_args_set_cwd(struct run_args *a, const char *value)
{
	return json_object_set_new(a->params, "working_directory", json_string_nocheck(value));
}

static int run_args_set_env(struct run_args *a, const char *value)
{
	const char *equals = strchr(value, '=');
	AUTO_FREE char *name = equals ? mem_strndup(value, (size_t)(equals - value)) : NULL;
	json_t *environment = json_object_get(a->params, "environment");

	if (!name)
		return run_args_complain("--env takes NAME=VALUE", value);
	if (!environment) {
		environment = json_object();
		json_object_set_new(a->params, "environment", environment);
	}
	return json_object_set_new(environment, name, json_string(equals + 1))
		       ? run_args_complain("not text in UTF-8", value)
		       : 0;
}

/* The user of the command line is the operator, so this sets the operator's option. */
static int run_args_set_user(struct run_args *a, const char *value)
{
	AUTO_FREE char *option = NULL;
	struct err e = ERR_INIT;

	if (asprintf(&option, "sandbox.user=%s", value) < 0)
		abort();
	if (!config_set(&a->cli.options.config, option, &e))
		return 0;
	err_release(&e);
	return run_args_complain("--user takes one name", value);
}

static int run_args_set_strict(struct run_args *a, const char *value)
{
	(void)value;
	return json_object_set_new(a->params, "profile", json_string("strict"));
}

static int run_args_set_no_network(struct run_args *a, const char *value)
{
	(void)value;
	return json_object_set_new(a->params, "network", json_false());
}

static int run_args_set_shell(struct run_args *a, const char *value)
{
	(void)value;
	a->shell = true;
	return 0;
}

static const struct {
	const char *name;
	bool has_value;
	int (*set)(struct run_args *a, const char *value);
} options[] = {
	{ "--timeout", true, run_args_set_timeout },
	{ "--cpu", true, run_args_set_cpu },
	{ "--memory", true, run_args_set_memory },
	{ "--cwd", true, run_args_set_cwd },
	{ "--env", true, run_args_set_env },
	{ "--strict", false, run_args_set_strict },
	{ "--user", true, run_args_set_user },
	{ "--no-network", false, run_args_set_no_network },
	{ "--shell", false, run_args_set_shell },
};

/* An option of run, or one shared with serve. 0, or the exit status. */
static int run_args_take_option(struct run_args *a, char **argv, int *at)
{
	const char *word = argv[*at], *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	int status;

	for (size_t i = 0; i < COUNT_OF(options); i++) {
		const char *value = equals ? equals + 1 : argv[*at + 1];

		if (strlen(options[i].name) != len || strncmp(options[i].name, word, len))
			continue;
		if (!options[i].has_value)
			return equals ? run_args_complain("takes no value", word)
				      : options[i].set(a, NULL);
		if (!value || !*value)
			return run_args_complain("needs a value", word);
		*at += !equals;
		return options[i].set(a, value);
	}
	status = cli_take_option(&a->cli, argv, at);
	return status == CLI_GO_ON ? 0 : status;
}

/* The program and its arguments, or one line for the shell. */
static int run_args_take_command(struct run_args *a, char **words)
{
	json_t *args;

	if (!*words)
		return run_args_complain("no command is given", NULL);
	if (a->shell && words[1])
		return run_args_complain("--shell takes one command line", NULL);
	if (!a->shell && !**words)
		return run_args_complain("the program's name is empty", NULL);
	json_object_set_new(a->params, "command", json_string_nocheck(*words++));
	if (a->shell)
		return CLI_GO_ON;
	args = json_array();
	json_object_set_new(a->params, "args", args);
	for (; *words; words++)
		json_array_append_new(args, json_string_nocheck(*words));
	return CLI_GO_ON;
}

int run_args_read(struct run_args *a, int argc, char **argv)
{
	static const char *own[COUNT_OF(options) + 1];
	int at = 1, status = 0;

	for (size_t i = 0; i < COUNT_OF(options); i++)
		own[i] = options[i].name;
	a->cli.own = own;
	a->params = json_object();
	config_init(&a->cli.options.config);
	for (; at < argc && argv[at][0] == '-' && strcmp(argv[at], "--"); at++) {
		status = run_args_take_option(a, argv, &at);
		if (status)
			return status;
	}
	at += at < argc && !strcmp(argv[at], "--");
	return run_args_take_command(a, argv + at);
}

void run_args_release(struct run_args *a)
{
	json_decref(a->params);
	cli_release(&a->cli);
}
