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

static int set_timeout(struct wish *w, const char *value)
{
	return take_number(value, 1e7, &w->timeout_s);
}

static int set_cpu(struct wish *w, const char *value)
{
	double cores;

	if (take_number(value, 4096, &cores))
		return CLI_STATUS_USAGE;
	return json_object_set_new(w->limits, "cpu_limit", json_real(cores));
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
	return json_object_set_new(w->limits, "memory_limit", json_integer((json_int_t)number));
}

static int set_cwd(struct wish *w, const char *value)
{
	w->cwd = value;
	return 0;
}

static int set_env(struct wish *w, const char *value)
{
	const char *equals = strchr(value, '=');
	AUTO_FREE char *name = equals ? mem_strndup(value, (size_t)(equals - value)) : NULL;

	if (!name)
		return wish_complain("--env takes NAME=VALUE", value);
	if (!w->environment)
		w->environment = json_object();
	w->pairs = mem_realloc(w->pairs, (w->pair_count + 2) * sizeof(*w->pairs));
	w->pairs[w->pair_count++] = value;
	w->pairs[w->pair_count] = NULL;
	return json_object_set_new(w->environment, name, json_string(equals + 1))
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
	w->confine.strict = true;
	return 0;
}

static int set_no_network(struct wish *w, const char *value)
{
	(void)value;
	w->confine.network_off = true;
	return 0;
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

int wish_read(struct wish *w, int argc, char **argv)
{
	static const char *own[COUNT_OF(options) + 1];
	int at = 1, status = 0;

	for (size_t i = 0; i < COUNT_OF(options); i++)
		own[i] = options[i].name;
	w->cli.own = own;
	w->limits = json_object();
	config_init(&w->cli.options.config);
	for (; at < argc && argv[at][0] == '-' && strcmp(argv[at], "--"); at++) {
		status = take_option(w, argv, &at);
		if (status)
			return status;
	}
	at += at < argc && !strcmp(argv[at], "--");
	if (at >= argc)
		return wish_complain("no command is given", NULL);
	if (w->shell && at + 1 != argc)
		return wish_complain("--shell takes one command line", NULL);
	w->command = argv + at;
	return CLI_GO_ON;
}

void wish_release(struct wish *w)
{
	json_decref(w->limits);
	json_decref(w->environment);
	free(w->pairs);
	cli_release(&w->cli);
}
