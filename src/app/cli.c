#include "app/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/cli_check.h"
#include "app/version.h"
#include "base/mem.h"
#include "base/schema.h"

#define STATUS_USAGE 2

static const char help_text[] =
	"\n"
	"Runs commands for an agent in one workspace. Speaks JSON-RPC 2.0, plain or as MCP,\n"
	"one message a line, on stdin and stdout. Without arguments, and with stdin no terminal:\n"
	"serve.\n"
	"\n"
	"  --workspace DIR    where commands work; default: PROCPEN_WORKSPACE,\n"
	"                     CLAUDE_PROJECT_DIR, or the working directory unless that is / or\n"
	"                     the home\n"
	"  --allow-dir DIR    a further directory that commands may work in; repeatable\n"
	"  --state-dir DIR    where the audit record goes, outside those directories;\n"
	"                     default: procpen in XDG_STATE_HOME, or in ~/.local/state\n"
	"  --set KEY=VALUE    set an option of the list below; repeatable\n"
	"  --help             show this\n"
	"  --version          show the version\n"
	"\n"
	"Options for --set, with their defaults:\n";

static int say_hint(void)
{
	fputs("procpen is started by an agent host and speaks JSON-RPC on stdin and stdout.\n"
	      "To talk to it by hand: procpen serve --workspace DIR. More: procpen --help\n",
	      stderr);
	return STATUS_USAGE;
}

/*
 * The first word of the command line. run: does it all and returns the exit status,
 * with the words from the command's name on; NULL for serve, which the rest of this
 * file reads.
 */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *usage;
} commands[] = {
	{ "serve", NULL, "serve [OPTION]..." },
	{ "check", cli_check, "check [--json] ['COMMAND' | -- PROGRAM [ARGUMENT]... | --lines]" },
};

static int say_help(void)
{
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		printf("%s procpen %s\n", i ? "      " : "Usage:", commands[i].usage);
	fputs(help_text, stdout);
	for (int i = 0; i < CONFIG_COUNT; i++)
		printf("  %s=%s\n      %s\n", config_rows[i].name, config_rows[i].default_text,
		       config_rows[i].text);
	return ferror(stdout) ? 1 : 0;
}

static int say_version(void)
{
	puts("procpen " PROCPEN_VERSION);
	return 0;
}

static int say_unknown(const char *what, const char *name, const char *const *known)
{
	const char *nearest = schema_nearest(name, known);

	fprintf(stderr, "procpen: unknown %s %s", what, name);
	if (nearest)
		fprintf(stderr, "; did you mean %s?", nearest);
	fputs("\nMore: procpen --help\n", stderr);
	return STATUS_USAGE;
}

static int add_directory(struct cli *cli, const char *value)
{
	size_t size = (cli->directory_count + 2) * sizeof(*cli->directories);

	cli->directories = mem_realloc(cli->directories, size);
	cli->directories[cli->directory_count++] = mem_strdup(value);
	cli->directories[cli->directory_count] = NULL;
	cli->options.directories = cli->directories;
	return CLI_SERVE;
}

static int set_workspace(struct cli *cli, const char *value)
{
	cli->options.workspace = value;
	return CLI_SERVE;
}

static int set_state_dir(struct cli *cli, const char *value)
{
	cli->options.state_dir = value;
	return CLI_SERVE;
}

static int set_config(struct cli *cli, const char *value)
{
	struct err e = ERR_INIT;

	if (!config_set(&cli->options.config, value, &e))
		return CLI_SERVE;
	fprintf(stderr, "procpen: --set %s: %s. %s\n", value, e.message, err_hint_text(&e));
	err_release(&e);
	return STATUS_USAGE;
}

static const struct {
	const char *name;
	int (*set)(struct cli *cli, const char *value);
} options[] = {
	{ "--workspace", set_workspace },
	{ "--allow-dir", add_directory },
	{ "--state-dir", set_state_dir },
	{ "--set", set_config },
};

/* One option at argv[*at], as --name value or --name=value; moves *at to its last word. */
static int take_option(struct cli *cli, char **argv, int *at)
{
	static const char *const known[] = { "--workspace", "--allow-dir", "--state-dir", "--set",
					     "--help",	    "--version",   NULL };
	const char *equals = strchr(argv[*at], '=');
	AUTO_FREE char *name = equals ? mem_strndup(argv[*at], (size_t)(equals - argv[*at]))
				      : mem_strdup(argv[*at]);

	if (!strcmp(argv[*at], "--help") || !strcmp(argv[*at], "-h"))
		return say_help();
	if (!strcmp(argv[*at], "--version"))
		return say_version();
	for (size_t i = 0; i < COUNT_OF(options); i++) {
		const char *value = equals ? equals + 1 : argv[*at + 1];

		if (strcmp(name, options[i].name))
			continue;
		if (!value || !*value) {
			fprintf(stderr, "procpen: %s needs a value\n", name);
			return STATUS_USAGE;
		}
		*at += !equals;
		return options[i].set(cli, value);
	}
	return say_unknown("option", name, known);
}

/* The row of the command called @name, or -1 (told on stderr). */
static int find_command(const char *name)
{
	const char *names[COUNT_OF(commands) + 1] = { NULL };

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		if (!strcmp(name, commands[i].name))
			return (int)i;
		names[i] = commands[i].name;
	}
	say_unknown("command", name, names);
	return -1;
}

int cli_parse(struct cli *cli, int argc, char **argv)
{
	int at = 1;

	memset(cli, 0, sizeof(*cli));
	config_init(&cli->options.config);
	if (argc < 2)
		return isatty(STDIN_FILENO) ? say_hint() : CLI_SERVE;
	if (argv[1][0] != '-') {
		int row = find_command(argv[1]);

		if (row < 0)
			return STATUS_USAGE;
		if (commands[row].run)
			return commands[row].run(argc - 1, argv + 1);
		at = 2;
	}
	for (; at < argc; at++) {
		int status = take_option(cli, argv, &at);

		if (status != CLI_SERVE)
			return status;
	}
	return CLI_SERVE;
}

void cli_release(struct cli *cli)
{
	for (size_t i = 0; i < cli->directory_count; i++)
		free(cli->directories[i]);
	free(cli->directories);
	config_release(&cli->options.config);
}
