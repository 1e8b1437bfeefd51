/*
 * Every form becomes the parameters of a process.run and goes through command_read(),
 * command_judge() and judge_command(), with the gate of a server that starts here, so there is no
 * second way to a verdict. Only the schema is left out: its limit on a command is that of the
 * protocol.
 */
#include "cli/check.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "blocklist/blocklist.h"
#include "cap/command.h"
#include "cap/judge.h"
#include "cli/answer.h"
#include "cli/options.h"
#include "cli/say.h"
#include "policy/tier.h"
#include "server/context.h"

enum { STATUS_ALLOWED = 0, STATUS_BLOCKED = 1, STATUS_NONE = 2 };

/* One byte more than the judge takes: what is longer is read to its end and blocked. */
#define TEXT_MAX ((1u << 20) + 1)
#define OUTPUT_MAX (8u * 1024 * 1024) /* one verdict; the text grows sixfold at most */

struct check {
	const struct cli_command *command;
	bool lines;
	json_t *params; /* of a process.run: command, args, stdin, environment */
	struct options options;
	struct context context;
	struct cap cap; /* its gate; nothing is started */
};

/* What is said of one command. */
struct check_verdict {
	struct blocklist_verdict blocklist;
	struct ruling ruling;
	struct err environment; /* why --env is refused, whatever the command does */
};

/* ---- one verdict ---- */

static void cli_check_print_json(const struct command *command, size_t line,
				 const struct check_verdict *v)
{
	struct jsonw w;
	struct buf out;

	buf_init(&out, OUTPUT_MAX);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	if (line)
		jsonw_int(&w, "line", (int64_t)line);
	jsonw_str(&w, "command", command->shown);
	judge_write(&w, &v->blocklist, &v->ruling, &v->environment);
	jsonw_end_object(&w);
	buf_addc(&out, '\n');
	fwrite(out.data, 1, out.len, stdout);
	buf_release(&out);
}

/* "denied by rule site.prod (config.json:4): why", or by the tier as the audit log names it. */
static void cli_check_print_ruling(size_t line, const struct ruling *ruling)
{
	static const char *const words[] = { "allowed", "allowed, with a notice",
					     "allowed after a confirmation", "denied" };
	const struct rule *r = ruling->rule;

	if (!r && ruling->tier < TIER_CONFIRM) {
		puts("allowed");
		return;
	}
	if (!r) {
		printf("%s by tier.%s\n", words[ruling->tier], tier_name(ruling->tier));
		return;
	}
	AUTO_FREE char *reason = judge_reason(r), *suggestion = judge_suggestion(r);

	printf("%s by rule %s (%s): ", words[ruling->tier], r->id, r->origin);
	say_text(stdout, ruling->shown);
	say_text(stdout, reason);
	putchar('\n');
	if (!line && ruling->tier >= TIER_CONFIRM && *suggestion)
		printf("  Instead: %s\n", suggestion);
}

/* @reason quotes the command, or names. */
static void cli_check_print_reason(size_t line, const char *reason, const char *suggestion)
{
	fputs(line ? ": " : "\n  ", stdout);
	say_text(stdout, reason);
	putchar('\n');
	if (!line)
		printf("  Instead: %s\n", suggestion);
}

static bool cli_check_is_denied(const struct check_verdict *v)
{
	return v->blocklist.blocked || v->ruling.tier == TIER_DENY;
}

/* What is wrong with --env, in the words of the option. */
static const char *cli_check_env_text(const struct err *e)
{
	return e->message + strlen("environment");
}

static void cli_check_print_environment(size_t line, const struct err *e)
{
	char reason[sizeof(e->message)];

	snprintf(reason, sizeof(reason), "--env%s.", cli_check_env_text(e));
	fputs("blocked by " JUDGE_ENVIRONMENT, stdout);
	cli_check_print_reason(line, reason, "Leave it out of --env; a command may set it for "
					     "itself.");
}

static void cli_check_print_text(size_t line, const struct check_verdict *all)
{
	const struct blocklist_verdict *v = &all->blocklist;

	if (line)
		printf("%zu: ", line);
	if (v->blocked) {
		printf("blocked by %s", v->rule);
		if (!line && v->has_span)
			printf(", bytes %zu to %zu", v->start, v->end);
		cli_check_print_reason(line, v->reason, v->suggestion);
	} else if (all->environment.type && !cli_check_is_denied(all)) {
		cli_check_print_environment(line, &all->environment);
	} else {
		cli_check_print_ruling(line, &all->ruling);
	}
}

/* Judge @command. 0, or -1 with @e when --env has a name that process.run would not take. */
static int cli_check_find_verdict(struct check *c, struct command *command, struct check_verdict *v,
				  struct err *e)
{
	const struct cap_row *run = cap_find(&c->cap, "process.run");
	struct blocklist_input in;

	*v = (struct check_verdict){ .environment.type = ERR_NONE };
	if (command_read(command, c->params, c->cap.scope, e))
		return -1;
	if (judge_environment(&c->cap, command, c->params, &v->environment) &&
	    v->environment.type != ERR_PROTECTED_VARIABLE) {
		*e = v->environment;
		err_init(&v->environment);
		return -1;
	}
	command_judge(command, c->cap.config, c->cap.shell, &in);
	judge_command(&c->cap, cap_tier(&c->cap, run), c->params, &in, NULL, &v->blocklist,
		      &v->ruling);
	return 0;
}

/* Judge c->params. @line: its number in stdin, or 0. */
static int cli_check_judge(struct check *c, size_t line)
{
	struct check_verdict v;
	struct command command;
	ERR_LOCAL(e);
	int status = STATUS_NONE;

	if (cli_check_find_verdict(c, &command, &v, &e)) {
		say_mistake(c->command, "--env%s; use letters, digits and underscores, or put -- "
			    "before a program and its arguments", cli_check_env_text(&e));
	} else {
		status = cli_check_is_denied(&v) || v.environment.type ? STATUS_BLOCKED
								       : STATUS_ALLOWED;
		if (c->options.json)
			cli_check_print_json(&command, line, &v);
		else
			cli_check_print_text(line, &v);
	}
	err_release(&e);
	err_release(&v.environment);
	command_release(&command);
	return status;
}

/* Any bytes may stand on a command line and in a file, so no string is checked for UTF-8. */
static void cli_check_set_text(json_t *params, const char *name, const char *text)
{
	json_object_set_new_nocheck(params, name, json_string_nocheck(text));
}

/* ---- text from stdin ---- */

/* One line, which may end in CR LF, or with !@line all there is. False at the end. What is beyond
 * TEXT_MAX is dropped. */
static bool cli_check_read_text(struct buf *text, bool line)
{
	int c;

	buf_clear(text);
	while ((c = getc(stdin)) != EOF && !(line && c == '\n'))
		buf_addc(text, (char)c);
	if (c == '\n' && !text->full && text->len && text->data[text->len - 1] == '\r')
		buf_truncate(text, text->len - 1);
	if (!text->data)
		buf_adds(text, "");
	return c != EOF || text->len > 0;
}

static int cli_check_judge_text(struct check *c, const struct buf *text, size_t line)
{
	if (!line && !text->len)
		return say_mistake(c->command, "stdin has no command");
	if (memchr(text->data, '\0', text->len))
		return say_mistake(c->command, "stdin contains a NUL byte, no command can");
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
	return ferror(stdin) ? say_mistake(c->command, "cannot read stdin") : status;
}

/* ---- the command line ---- */

static int cli_check_set_variable(struct check *c, const char *value)
{
	const char *equals = strchr(value, '=');
	json_t *environment = json_object_get(c->params, "environment");

	if (!equals || equals == value)
		return say_mistake(c->command, "--env takes NAME=VALUE, not %s", value);
	if (!environment) {
		environment = json_object();
		json_object_set_new(c->params, "environment", environment);
	}
	AUTO_FREE char *name = mem_strndup(value, (size_t)(equals - value));

	cli_check_set_text(environment, name, equals + 1);
	return CMDLINE_GO_ON;
}

static int cli_check_take_option(void *check, const struct cli_option *option,
				 const struct cmdline_value *value)
{
	struct check *c = check;

	switch (option->id) {
	case OPTION_LINES:
		c->lines = true;
		return CMDLINE_GO_ON;
	case OPTION_STDIN:
		cli_check_set_text(c->params, "stdin", value->text);
		return CMDLINE_GO_ON;
	case OPTION_ENV:
		return cli_check_set_variable(c, value->text);
	default:
		return options_take(&c->options, option, value);
	}
}

/* Where there is no workspace, what depends on it is not known, and a rule allows nothing. */
static int cli_check_open(struct check *c)
{
	ERR_LOCAL(e);

	c->options.context.may_lack_workspace = c->options.context.only_judges = true;
	if (!context_open(&c->context, &c->options.context, &e)) {
		c->cap = context_cap(&c->context, NULL, NULL);
		return CMDLINE_GO_ON;
	}
	answer_fail(c->command, c->options.json, &e);
	err_release(&e);
	return STATUS_NONE;
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

static int cli_check_judge_words(struct check *c, const struct cmdline *args)
{
	char **words = args->words;

	if (c->lines)
		return words[0] ? say_mistake(c->command,
					      "--lines reads stdin and takes no command: %s",
					      words[0])
				: cli_check_judge_stdin(c);
	if (!words[0] || !*words[0])
		return say_mistake(c->command, "no command is given");
	if (args->separated)
		return cli_check_judge_program(c, words);
	if (words[1])
		return say_mistake(c->command,
				   "more than one word: options come first; quote the command as "
				   "one string, or put -- before a program and its arguments");
	if (!strcmp(words[0], "-"))
		return cli_check_judge_stdin(c);
	cli_check_set_text(c->params, "command", words[0]);
	return cli_check_judge(c, 0);
}

int cli_check(const struct cli_command *command, char **argv)
{
	struct check c = { .command = command, .params = json_object() };
	struct cmdline args;
	int status;

	options_init(&c.options);
	status = cmdline_read(&args, command, argv, cli_check_take_option, &c);
	if (status == CMDLINE_GO_ON)
		status = cli_check_open(&c);
	if (status == CMDLINE_GO_ON)
		status = cli_check_judge_words(&c, &args);
	json_decref(c.params);
	context_close(&c.context);
	options_release(&c.options);
	return say_flush(command) ? STATUS_NONE : status;
}
