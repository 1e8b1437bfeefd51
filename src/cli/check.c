/*
 * Every form becomes the parameters of a process.run and goes through
 * command_read() and command_judge(), so there is no second way to a verdict.
 * Only the schema is left out: its limit on a command is that of the protocol.
 */
#include "cli/check.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/schema.h"
#include "blocklist/blocklist.h"
#include "cap/command.h"
#include "policy/config.h"

enum { STATUS_ALLOWED = 0, STATUS_BLOCKED = 1, STATUS_NONE = 2 };

/* One byte more than the judge takes: what is longer is read to its end and blocked. */
#define TEXT_MAX ((1u << 20) + 1)
#define OUTPUT_MAX (8u * 1024 * 1024) /* one verdict; the text grows sixfold at most */

struct check {
	bool json, lines;
	json_t *params; /* of a process.run: command, args, stdin, environment */
	struct config config;
	struct run_shell shell;
	int at; /* the first word of argv that is no option */
	bool program; /* a -- stood before it */
};

static const char help_text[] =
	"Usage: procpen check [OPTION]... 'COMMAND'\n"
	"       procpen check [OPTION]... -- PROGRAM [ARGUMENT]...\n"
	"       procpen check [OPTION]... -\n"
	"       procpen check [OPTION]... --lines\n"
	"\n"
	"Shows whether the blocklist would block it. COMMAND is a string for the shell that\n"
	"process.run would take; PROGRAM gets exactly these arguments; with - the string is\n"
	"read from stdin. Runs nothing.\n"
	"\n"
	"  --lines            each line of stdin is a COMMAND of its own\n"
	"  --json             print JSON, one object a line\n"
	"  --stdin TEXT       the stdin of the command\n"
	"  --env NAME=VALUE   a variable that the request sets; repeatable\n"
	"  --set KEY=VALUE    an option of serve, for example blocklist.literal_match\n"
	"\n"
	"Exit status: 0 allowed, 1 blocked (with --lines: at least one), 2 no verdict.\n";

static int cli_check_complain(const char *what, const char *name)
{
	fprintf(stderr, "procpen check: %s%s%s\nMore: procpen check --help\n", what,
		name ? ": " : "", name ? name : "");
	return STATUS_NONE;
}

/* ---- one verdict ---- */

static void cli_check_print_json(const struct command *command, size_t line,
				 const struct blocklist_verdict *v)
{
	struct jsonw w;
	struct buf out;

	buf_init(&out, OUTPUT_MAX);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	if (line)
		jsonw_int(&w, "line", (int64_t)line);
	jsonw_str(&w, "command", command->shown);
	command_write_verdict(&w, v);
	jsonw_end_object(&w);
	buf_addc(&out, '\n');
	fwrite(out.data, 1, out.len, stdout);
	buf_release(&out);
}

static void cli_check_print_text(size_t line, const struct blocklist_verdict *v)
{
	if (line && !v->blocked) {
		printf("%zu: allowed\n", line);
	} else if (line) {
		printf("%zu: blocked by %s: %s\n", line, v->rule, v->reason);
	} else if (!v->blocked) {
		puts("allowed");
	} else {
		printf("blocked by %s", v->rule);
		if (v->has_span)
			printf(", bytes %zu to %zu", v->start, v->end);
		printf("\n  %s\n", v->reason);
		printf("  Instead: %s\n", v->suggestion);
	}
}

/* Judge c->params. @line: its number in stdin, or 0. */
static int cli_check_judge(struct check *c, size_t line)
{
	struct blocklist_verdict v;
	struct blocklist_input in;
	struct command command;
	struct err e = ERR_INIT;

	if (command_read(&command, c->params, &e)) {
		int status = cli_check_complain(e.message, NULL);

		err_release(&e);
		command_release(&command);
		return status;
	}
	command_judge(&command, &c->config, &c->shell, &in);
	blocklist_judge(&in, &v);
	if (c->json)
		cli_check_print_json(&command, line, &v);
	else
		cli_check_print_text(line, &v);
	command_release(&command);
	return v.blocked ? STATUS_BLOCKED : STATUS_ALLOWED;
}

/* Any bytes may stand on a command line and in a file, so no string is checked for UTF-8. */
static void cli_check_set_text(json_t *params, const char *name, const char *text)
{
	json_object_set_new_nocheck(params, name, json_string_nocheck(text));
}

/* ---- text from stdin ---- */

/* One line, or with !@line all there is. False at the end. What is beyond TEXT_MAX is dropped. */
static bool cli_check_read_text(struct buf *text, bool line)
{
	int c;

	buf_clear(text);
	while ((c = getc(stdin)) != EOF && !(line && c == '\n'))
		buf_addc(text, (char)c);
	if (!text->data)
		buf_adds(text, "");
	return c != EOF || text->len > 0;
}

static int cli_check_judge_text(struct check *c, const struct buf *text, size_t line)
{
	if (!line && !text->len)
		return cli_check_complain("stdin has no command", NULL);
	if (memchr(text->data, '\0', text->len))
		return cli_check_complain("stdin contains a NUL byte, no command can", NULL);
	cli_check_set_text(c->params, "command", text->data);
	return cli_check_judge(c, line);
}

static int cli_check_judge_stdin(struct check *c)
{
	int status = STATUS_ALLOWED;
	struct buf text;

	buf_init(&text, TEXT_MAX);
	if (!c->lines) {
		cli_check_read_text(&text, false);
		status = cli_check_judge_text(c, &text, 0);
	}
	for (size_t line = 1; c->lines && status != STATUS_NONE && cli_check_read_text(&text, true);
	     line++) {
		int one = cli_check_judge_text(c, &text, line);

		status = one > status ? one : status;
	}
	buf_release(&text);
	return ferror(stdin) ? cli_check_complain("cannot read stdin", NULL) : status;
}

/* ---- the command line ---- */

static int cli_check_take_stdin(struct check *c, const char *value)
{
	cli_check_set_text(c->params, "stdin", value);
	return 0;
}

static int cli_check_take_variable(struct check *c, const char *value)
{
	const char *equals = strchr(value, '=');
	json_t *environment = json_object_get(c->params, "environment");

	if (!equals || equals == value)
		return cli_check_complain("--env needs NAME=VALUE", value);
	if (!environment) {
		environment = json_object();
		json_object_set_new(c->params, "environment", environment);
	}
	AUTO_FREE char *name = mem_strndup(value, (size_t)(equals - value));

	cli_check_set_text(environment, name, equals + 1);
	return 0;
}

static int cli_check_take_setting(struct check *c, const char *value)
{
	struct err e = ERR_INIT;

	if (!config_set(&c->config, value, &e))
		return 0;
	fprintf(stderr, "procpen check: --set %s: %s. %s\n", value, e.message, err_hint_text(&e));
	err_release(&e);
	return STATUS_NONE;
}

static int cli_check_choose_shell(struct check *c)
{
	struct err e = ERR_INIT;

	if (!run_shell_choose(&c->shell, &c->config, NULL, &e))
		return 0;
	fprintf(stderr, "procpen check: %s. %s\n", e.message, err_hint_text(&e));
	err_release(&e);
	return STATUS_NONE;
}

static const struct {
	const char *name;
	int (*take)(struct check *c, const char *value);
} options[] = {
	{ "--stdin", cli_check_take_stdin },
	{ "--env", cli_check_take_variable },
	{ "--set", cli_check_take_setting },
};

/* One of the options with a value at argv[*at], as --name value or --name=value. */
static int cli_check_take_option(struct check *c, char **argv, int *at)
{
	static const char *const known[] = { "--json", "--lines", "--stdin", "--env",
					     "--set",  "--help",  NULL };
	const char *word = argv[*at], *nearest = schema_nearest(word, known);

	for (size_t i = 0; i < COUNT_OF(options); i++) {
		size_t len = strlen(options[i].name);

		if (strncmp(word, options[i].name, len) || (word[len] && word[len] != '='))
			continue;
		if (word[len] == '=')
			return options[i].take(c, word + len + 1);
		if (!argv[*at + 1])
			return cli_check_complain("no value after", word);
		return options[i].take(c, argv[++*at]);
	}
	fprintf(stderr, "procpen check: unknown option %s", word);
	if (nearest)
		fprintf(stderr, "; did you mean %s?", nearest);
	fputs("\nMore: procpen check --help\n", stderr);
	return STATUS_NONE;
}

/* Read all options; sets c->at and c->program. 0, STATUS_NONE, or -1: help was shown. */
static int cli_check_take_options(struct check *c, char **argv)
{
	int status = 0;

	for (c->at = 1; argv[c->at] && !status; c->at++) {
		const char *word = argv[c->at];

		if (!strcmp(word, "--")) {
			c->program = true;
			c->at++;
			break;
		}
		if (word[0] != '-' || !word[1])
			break;
		if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
			fputs(help_text, stdout);
			return -1;
		}
		if (!strcmp(word, "--json"))
			c->json = true;
		else if (!strcmp(word, "--lines"))
			c->lines = true;
		else
			status = cli_check_take_option(c, argv, &c->at);
	}
	return status;
}

static int cli_check_judge_program(struct check *c, char **words)
{
	json_t *args = json_array();

	cli_check_set_text(c->params, "command", words[0]);
	json_object_set_new(c->params, "args", args);
	for (int i = 1; words[i]; i++)
		json_array_append_new(args, json_string_nocheck(words[i]));
	return cli_check_judge(c, 0);
}

/* Judge the words after the options. */
static int cli_check_judge_words(struct check *c, char **words)
{
	if (c->lines)
		return words[0] ? cli_check_complain("--lines reads stdin and takes no command",
						     words[0])
				: cli_check_judge_stdin(c);
	if (!words[0] || !*words[0])
		return cli_check_complain("no command is given", NULL);
	if (c->program)
		return cli_check_judge_program(c, words);
	if (words[1])
		return cli_check_complain("more than one word: quote the command as one string, "
					  "or put -- before a program and its arguments",
					  words[1]);
	if (!strcmp(words[0], "-"))
		return cli_check_judge_stdin(c);
	cli_check_set_text(c->params, "command", words[0]);
	return cli_check_judge(c, 0);
}

int cli_check(int argc, char **argv)
{
	struct check c = { .params = json_object() };
	int status;

	(void)argc; /* argv ends with NULL */
	config_init(&c.config);
	status = cli_check_take_options(&c, argv);
	if (!status)
		status = cli_check_choose_shell(&c);
	if (!status)
		status = cli_check_judge_words(&c, argv + c.at);
	json_decref(c.params);
	run_shell_release(&c.shell);
	config_release(&c.config);
	if (fflush(stdout) || ferror(stdout))
		return cli_check_complain("cannot write stdout", NULL);
	return status < 0 ? STATUS_ALLOWED : status;
}
