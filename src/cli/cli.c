#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/version.h"
#include "cli/check.h"
#include "cli/doctor.h"
#include "cli/run.h"
#include "cli/setup.h"

static const char help_text[] =
	"\n"
	"Runs commands for an agent in one workspace. Speaks JSON-RPC 2.0, plain or as MCP,\n"
	"one message a line, on stdin and stdout. Without arguments it serves, unless stdin is a\n"
	"terminal.\n"
	"\n"
	"  --workspace DIR    where commands work; default: PROCPEN_WORKSPACE,\n"
	"                     CLAUDE_PROJECT_DIR, or the working directory unless that is / or\n"
	"                     the home\n"
	"  --allow-dir DIR    a further directory that commands may work in; repeatable\n"
	"  --state-dir DIR    where the audit log is kept, outside those directories;\n"
	"                     default: procpen in XDG_STATE_HOME, or in ~/.local/state\n"
	"  --set KEY=VALUE    set one of the options below; repeatable\n"
	"  --help             show this\n"
	"  --version          show the version\n"
	"\n"
	"Options for --set, with their defaults:\n";

static int cli_say_hint(void)
{
	fputs("procpen is started by an agent host and speaks JSON-RPC on stdin and stdout.\n"
	      "To talk to it by hand: procpen serve --workspace DIR. More: procpen --help\n",
	      stderr);
	return CLI_STATUS_USAGE;
}

static int cli_help(int argc, char **argv);
static int cli_version(int argc, char **argv);

/*
 * The first word of the command line. run: does it all with the words from the command's
 * name on, and returns the exit status, CLI_SAY_HELP or CLI_SAY_VERSION; NULL for serve,
 * which the rest of this file reads.
 */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *usage;
} commands[] = {
	{ "serve", NULL, "serve [OPTION]..." },
	{ "run", cli_run, "run [OPTION]... [--] PROGRAM [ARGUMENT]..." },
	{ "doctor", cli_doctor, "doctor [--json] [OPTION]..." },
	{ "check", cli_check, "check [--json] ['COMMAND' | -- PROGRAM [ARGUMENT]... | --lines]" },
	{ "setup", cli_setup, "setup HOST [--write]   configuration for an agent host" },
	{ "help", cli_help, "help [COMMAND]" },
	{ "version", cli_version, "version" },
};

static int cli_say_help(void)
{
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		printf("%s procpen %s\n", i ? "      " : "Usage:", commands[i].usage);
	fputs(help_text, stdout);
	for (int i = 0; i < CONFIG_COUNT; i++)
		printf("  %s=%s\n      %s\n", config_rows[i].name, config_rows[i].default_text,
		       config_rows[i].text);
	return ferror(stdout) ? 1 : 0;
}

static int cli_say_version(void)
{
	puts("procpen " PROCPEN_VERSION);
	return 0;
}

/* The row of the command called @name, or -1 (reported on stderr). */
static int cli_find_command(const char *name)
{
	const char *names[COUNT_OF(commands) + 1] = { NULL };

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		if (!strcmp(name, commands[i].name))
			return (int)i;
		names[i] = commands[i].name;
	}
	cli_say_unknown("command", name, names);
	return -1;
}

/* help COMMAND is COMMAND --help. */
static int cli_help(int argc, char **argv)
{
	static char option[] = "--help";
	char *words[] = { argv[1], option, NULL };
	int row;

	if (argc < 2 || argv[1][0] == '-')
		return CLI_SAY_HELP;
	row = cli_find_command(argv[1]);
	if (row < 0)
		return CLI_STATUS_USAGE;
	return commands[row].run ? commands[row].run(2, words) : CLI_SAY_HELP;
}

static int cli_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return CLI_SAY_VERSION;
}

/* @status is what an option or a command came to. */
static int cli_say_if_asked(int status)
{
	if (status == CLI_SAY_HELP)
		return cli_say_help();
	return status == CLI_SAY_VERSION ? cli_say_version() : status;
}

int cli_parse(struct cli *cli, int argc, char **argv)
{
	int at = 1, row = 0, status = CLI_SERVE; /* row 0: serve */

	memset(cli, 0, sizeof(*cli));
	config_init(&cli->options.config);
	if (argc < 2)
		return isatty(STDIN_FILENO) ? cli_say_hint() : CLI_SERVE;
	if (argv[1][0] != '-') {
		row = cli_find_command(argv[1]);
		if (row < 0)
			return CLI_STATUS_USAGE;
		at = 2;
	}
	if (commands[row].run)
		return cli_say_if_asked(commands[row].run(argc - 1, argv + 1));
	for (; at < argc && status == CLI_SERVE; at++)
		status = cli_take_option(cli, argv, &at);
	return cli_say_if_asked(status);
}
