#include "cli/wish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int wish_complain(const char *what, const char *value)
{
	fprintf(stderr, "procpen run: %s%s%s\nMore: procpen --help\n", what, value ? ": " : "",
		value ? value : "");
	return CLI_STATUS_USAGE;
}

static int take_number(const char *text, double max, double *number)
{
	char *end;

	*number = strtod(text, &end);
	return *end || end == text || !isfinite(*number) || *number <= 0 || *number > max
		       ? wish_complain("not a number in bounds", text)
		       : 0;
}

static int set_number(struct wish *w, const char *name, const char *value, double max)
{
	double number;

	if (take_number(value, max, &number))
		return CLI_STATUS_USAGE;
	return json_object_set_new(w->params, name, json_real(number));
}

static int set_timeout(struct wish *w, const char *value)
{
	return set_number(w, "timeout", value, 1e7);
}

static int set_cpu(struct wish *w, const char *value)
{
	return set_number(w, "cpu_limit", value, 4096);
}

static int set_memory(struct wish *w, const char *value)
{
	char *end;
	double number = strtod(value, &end);
	const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;

	for (const char *at = units; unit && at <= unit; at++)
		number *= 1024;
	if ((*end && (!unit || end[1])) || !(number >= 1 << 20) || number > 1e15)
		return wish_complain("--memory takes bytes, at least 1M, with K, M or G", value);
	return json_object_set_new(w->params, "memory_limit", json_integer((json_int_t)number));
}

static int set_cwd(struct wish *w, const char *value)
{
	return json_object_set_new(w->params, "working_directory", json_string_nocheck(value));
}

static int set_env(struct wish *w, const char *value)
{
	const char *equals = strchr(value, '=');
	AUTO_FREE char *name = equals ? mem_strndup(value, (size_t)(equals - value)) : NULL;
	json_t *environment = json_object_get(w->params, "environment");

	if (!name)
		return wish_complain("--env takes NAME=VALUE", value);
	if (!environment) {
		environment = json_object();
		json_object_set_new(w->params, "environment", environment);
	}
	return json_object_set_new(environment, name, json_string(equals + 1))
		       ? wish_complain("not text in UTF-8", value)
		       : 0;
}

/* Whoever types the command line is the operator. */
static int set_user(struct wish *w, const char *value)
{
	AUTO_FREE char *option = NULL;
	struct err e = ERR_INIT;

	if (asprintf(&option, "sandbox.user=%s", value) < 0)
		abort();
	if (!config_set(&w->cli.options.config, option, &e))
		return 0;
	err_release(&e);
	return wish_complain("--user takes one name", value);
}

static int set_strict(struct wish *w, const char *value)
{
	(void)value;
	return json_object_set_new(w->params, "profile", json_string("strict"));
}

static int set_no_network(struct wish *w, const char *value)
{
	(void)value;
	return json_object_set_new(w->params, "network", json_false());
}

static int set_shell(struct wish *w, const char *value)
{
	(void)value;
	w->shell = true;
	return 0;
}

static const struct {
	const char *name;
	bool has_value;
	int (*set)(struct wish *w, const char *value);
} options[] = {
	{ "--timeout", true, set_timeout }, { "--cpu", true, set_cpu },
	{ "--memory", true, set_memory },   { "--cwd", true, set_cwd },
	{ "--env", true, set_env },	    { "--strict", false, set_strict },
	{ "--user", true, set_user },
	{ "--no-network", false, set_no_network }, { "--shell", false, set_shell },
};

/* An option of run itself, or one that serve has too. 0, or the exit status. */
static int take_option(struct wish *w, char **argv, int *at)
{
	const char *word = argv[*at], *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	int status;

	for (size_t i = 0; i < COUNT_OF(options); i++) {
		const char *value = equals ? equals + 1 : argv[*at + 1];

		if (strlen(options[i].name) != len || strncmp(options[i].name, word, len))
			continue;
		if (!options[i].has_value)
			return equals ? wish_complain("takes no value", word)
				      : options[i].set(w, NULL);
		if (!value || !*value)
			return wish_complain("needs a value", word);
		*at += !equals;
		return options[i].set(w, value);
	}
	status = cli_take_option(&w->cli, argv, at);
	return status == CLI_GO_ON ? 0 : status;
}

/* The program and its arguments, or one line for the shell. */
static int take_command(struct wish *w, char **words)
{
	json_t *args;

	if (!*words)
		return wish_complain("no command is given", NULL);
	if (w->shell && words[1])
		return wish_complain("--shell takes one command line", NULL);
	if (!w->shell && !**words)
		return wish_complain("the program's name is empty", NULL);
	json_object_set_new(w->params, "command", json_string_nocheck(*words++));
	if (w->shell)
		return CLI_GO_ON;
	args = json_array();
	json_object_set_new(w->params, "args", args);
	for (; *words; words++)
		json_array_append_new(args, json_string_nocheck(*words));
	return CLI_GO_ON;
}

int wish_read(struct wish *w, int argc, char **argv)
{
	static const char *own[COUNT_OF(options) + 1];
	int at = 1, status = 0;

	for (size_t i = 0; i < COUNT_OF(options); i++)
		own[i] = options[i].name;
	w->cli.own = own;
	w->params = json_object();
	config_init(&w->cli.options.config);
	for (; at < argc && argv[at][0] == '-' && strcmp(argv[at], "--"); at++) {
		status = take_option(w, argv, &at);
		if (status)
			return status;
	}
	at += at < argc && !strcmp(argv[at], "--");
	return take_command(w, argv + at);
}

void wish_release(struct wish *w)
{
	json_decref(w->params);
	cli_release(&w->cli);
}
