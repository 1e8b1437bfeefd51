#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/schema.h"

#define KNOWN_MAX 32

int cli_say_unknown(const char *what, const char *name, const char *const *known)
{
	const char *nearest = schema_nearest(name, known);

	fprintf(stderr, "procpen: unknown %s %s", what, name);
	if (nearest)
		fprintf(stderr, "; did you mean %s?", nearest);
	fputs("\nMore: procpen --help\n", stderr);
	return CLI_STATUS_USAGE;
}

static int cli_add_directory(struct cli *cli, const char *value)
{
	size_t size = (cli->directory_count + 2) * sizeof(*cli->directories);

	cli->directories = mem_realloc(cli->directories, size);
	cli->directories[cli->directory_count++] = mem_strdup(value);
	cli->directories[cli->directory_count] = NULL;
	cli->options.directories = cli->directories;
	return CLI_GO_ON;
}

static int cli_set_workspace(struct cli *cli, const char *value)
{
	cli->options.workspace = value;
	return CLI_GO_ON;
}

static int cli_set_state_dir(struct cli *cli, const char *value)
{
	cli->options.state_dir = value;
	return CLI_GO_ON;
}

static int cli_set_config(struct cli *cli, const char *value)
{
	struct err e = ERR_INIT;

	if (!config_set(&cli->options.config, value, &e))
		return CLI_GO_ON;
	fprintf(stderr, "procpen: --set %s: %s. %s\n", value, e.message, err_hint_text(&e));
	err_release(&e);
	return CLI_STATUS_USAGE;
}

static const struct {
	const char *name;
	int (*set)(struct cli *cli, const char *value);
} options[] = {
	{ "--workspace", cli_set_workspace },
	{ "--allow-dir", cli_add_directory },
	{ "--state-dir", cli_set_state_dir },
	{ "--set", cli_set_config },
};

static int cli_say_unknown_option(const struct cli *cli, const char *name)
{
	const char *known[KNOWN_MAX + 1] = { "--help", "--version" };
	size_t count = 2;

	for (size_t i = 0; i < COUNT_OF(options); i++)
		known[count++] = options[i].name;
	for (size_t i = 0; cli->own && cli->own[i] && count < KNOWN_MAX; i++)
		known[count++] = cli->own[i];
	return cli_say_unknown("option", name, known);
}

int cli_take_option(struct cli *cli, char **argv, int *at)
{
	const char *equals = strchr(argv[*at], '=');
	AUTO_FREE char *name = equals ? mem_strndup(argv[*at], (size_t)(equals - argv[*at]))
				      : mem_strdup(argv[*at]);

	if (!strcmp(argv[*at], "--help") || !strcmp(argv[*at], "-h"))
		return CLI_SAY_HELP;
	if (!strcmp(argv[*at], "--version"))
		return CLI_SAY_VERSION;
	for (size_t i = 0; i < COUNT_OF(options); i++) {
		const char *value = equals ? equals + 1 : argv[*at + 1];

		if (strcmp(name, options[i].name))
			continue;
		if (!value || !*value) {
			fprintf(stderr, "procpen: %s needs a value\n", name);
			return CLI_STATUS_USAGE;
		}
		*at += !equals;
		return options[i].set(cli, value);
	}
	return cli_say_unknown_option(cli, name);
}

void cli_release(struct cli *cli)
{
	for (size_t i = 0; i < cli->directory_count; i++)
		free(cli->directories[i]);
	free(cli->directories);
	config_release(&cli->options.config);
}
