#include "cli/cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/version.h"
#include "cap/cap.h"
#include "cli/audit.h"
#include "cli/call.h"
#include "cli/check.h"
#include "cli/config.h"
#include "cli/doctor.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/policy.h"
#include "cli/run.h"
#include "cli/say.h"
#include "cli/setup.h"
#include "policy/env.h"
#include "server/server.h"

#define COMMANDS_MAX 32

static int cli_serve(const struct cli_command *command, char **argv);
static int cli_help(const struct cli_command *command, char **argv);
static int cli_version(const struct cli_command *command, char **argv);

/* @run returns the exit status, CMDLINE_HELP or CMDLINE_VERSION; @more adds to the page of help. */
static const struct {
	const char *name;
	int (*run)(const struct cli_command *command, char **argv);
	void (*more)(void);
} programs[] = {
	{ "serve", cli_serve, NULL },   { "run", cli_run, NULL },
	{ "call", cli_call, NULL },     { "check", cli_check, NULL },
	{ "doctor", cli_doctor, NULL }, { "config", cli_config, NULL },
	{ "policy", cli_policy, NULL },
	{ "audit", cli_audit, NULL },   { "setup", cli_setup, cli_setup_list_hosts },
	{ "version", cli_version, NULL }, { "help", cli_help, NULL },
};

/* The row of @name in the table, or the one that ends it. */
static const struct cli_command *cli_find(const char *name)
{
	const struct cli_command *c = cli_commands;

	while (*c->name && strcmp(c->name, name))
		c++;
	return c;
}

/* ---- serve ---- */

static int cli_say_hint(void)
{
	fputs("procpen is started by an agent host and speaks JSON-RPC on stdin and stdout.\n"
	      "To talk to it by hand: procpen call METHOD JSON, or procpen serve --workspace DIR.\n"
	      "More: procpen help\n",
	      stderr);
	return SAY_STATUS_USAGE;
}

/* A word that serve does not take: often a command behind its options. */
static int cli_say_extra_word(const struct cli_command *command, const char *word)
{
	const char *name = cli_find(word)->name;

	if (*name)
		return say_mistake(NULL, "the command comes before its options: procpen %s", name);
	return say_mistake(command, "takes no word, only options: %s", word);
}

static int cli_serve(const struct cli_command *command, char **argv)
{
	struct options o;
	struct cmdline a;
	int status;

	options_init(&o);
	status = cmdline_read(&a, command, argv, options_take, &o);
	if (status == CMDLINE_GO_ON && a.words[0])
		status = cli_say_extra_word(command, a.words[0]);
	if (status == CMDLINE_GO_ON) {
		if (isatty(STDIN_FILENO))
			fputs("procpen serve: reading JSON-RPC from this terminal, one message a "
			      "line, until ^D. For one request: procpen call.\n", stderr);
		status = server_main(&o.context);
	}
	options_release(&o);
	return status;
}

/* ---- version, help ---- */

static int cli_take_json(void *json, const struct cli_option *option,
			 const struct cmdline_value *value)
{
	(void)option;
	(void)value;
	*(bool *)json = true;
	return CMDLINE_GO_ON;
}

static int cli_say_version(const struct cli_command *command, bool json)
{
	puts(json ? "{\"name\":\"procpen\",\"version\":\"" PROCPEN_VERSION "\"}"
		  : "procpen " PROCPEN_VERSION);
	return say_flush(command) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int cli_version(const struct cli_command *command, char **argv)
{
	bool json = false;
	struct cmdline a;
	int status = cmdline_read(&a, command, argv, cli_take_json, &json);

	if (status != CMDLINE_GO_ON)
		return status;
	if (a.words[0])
		return say_mistake(command, "takes no word: %s", a.words[0]);
	return cli_say_version(command, json);
}

static int cli_show_help(const struct cli_command *command)
{
	help_command(command);
	for (size_t i = 0; i < COUNT_OF(programs); i++)
		if (!strcmp(programs[i].name, command->name) && programs[i].more) {
			putchar('\n');
			programs[i].more();
		}
	return say_flush(NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int cli_show_overview(void)
{
	help_overview();
	return say_flush(NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- unknown commands ---- */

static bool cli_is_program(const char *name)
{
	AUTO_FREE char *path = NULL;
	ERR_LOCAL(ignored);
	int missing = env_find_program(getenv("PATH"), AT_FDCWD, name, &path, &ignored);

	err_release(&ignored);
	return !missing;
}

static const char *cli_find_method(const char *name)
{
	const struct cap_row *row = cap_rows;

	while (row->name && strcmp(row->name, name) && strcmp(row->tool_name, name))
		row++;
	return row->name;
}

/* @topic: what help knows besides the commands, or NULL. */
static int cli_say_unknown(const char *name, const char *topic)
{
	const char *names[COMMANDS_MAX + 2] = { NULL }, *method = cli_find_method(name);
	size_t count = 0;

	if (method)
		return say_mistake(NULL, "unknown command %s; to call it: procpen call %s", name,
				   method);
	if (cli_is_program(name))
		return say_mistake(NULL, "unknown command %s; to run the program: procpen run %s",
				   name, name);
	for (; *cli_commands[count].name; count++) {
		BUG_IF(count == COMMANDS_MAX);
		names[count] = cli_commands[count].name;
	}
	names[count] = topic;
	return say_unknown(NULL, "command", name, names);
}

/* @command: NULL for all. */
static int cli_print_help(const struct cli_command *command)
{
	help_print_json(command);
	return say_flush(NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int cli_help_settings(bool json)
{
	if (json)
		cli_config_print_schema();
	else
		help_settings();
	return say_flush(NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int cli_help(const struct cli_command *command, char **argv)
{
	bool json = false;
	struct cmdline a;
	int status = cmdline_read(&a, command, argv, cli_take_json, &json);
	const char *topic;

	if (status != CMDLINE_GO_ON)
		return status;
	topic = a.words[0];
	if (!topic)
		return json ? cli_print_help(NULL) : cli_show_overview();
	if (a.words[1])
		return say_mistake(command, "one command at a time, not %s and %s", topic,
				   a.words[1]);
	if (!strcmp(topic, "options"))
		return cli_help_settings(json);
	command = cli_find(topic);
	if (!*command->name)
		return cli_say_unknown(topic, "options");
	return json ? cli_print_help(command) : cli_show_help(command);
}

/* ---- the command ---- */

static int cli_run_command(const struct cli_command *command, char **argv)
{
	size_t i = 0;
	int status;

	while (strcmp(programs[i].name, command->name))
		i++;
	status = programs[i].run(command, argv);
	if (status == CMDLINE_HELP)
		return cli_show_help(command);
	return status == CMDLINE_VERSION ? cli_say_version(NULL, false) : status;
}

/* Is @word an option of serve, which needs no name of a command before it? */
static bool cli_serve_takes(const char *word)
{
	const struct cli_option *o = &cli_options[cli_find("serve")->options];
	size_t len = strcspn(word, "=");

	while (*o->name && (strlen(o->name) != len || strncmp(o->name, word, len)))
		o++;
	return *o->name || !strcmp(word, "-V");
}

static bool cli_is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

int cli_main(int argc, char **argv)
{
	const struct cli_command *command;

	say_start();
	if (argc < 2 && isatty(STDIN_FILENO))
		return cli_say_hint();
	if (argc < 2 || argv[1][0] == '-') {
		if (argc > 1 && cli_is_help(argv[1]))
			return cli_show_overview();
		if (argc > 2 && *cli_find(argv[2])->name && !cli_serve_takes(argv[1]))
			return cli_say_extra_word(NULL, argv[2]);
		return cli_run_command(cli_find("serve"), argv);
	}
	command = cli_find(argv[1]);
	return *command->name ? cli_run_command(command, argv + 1) : cli_say_unknown(argv[1], NULL);
}
