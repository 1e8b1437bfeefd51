#include "cli/run_args.h"

#include <string.h>

#include "base/mem.h"
#include "cli/say.h"

static int run_args_set(struct run_args *a, const struct cli_option *option, json_t *value)
{
	json_object_set_new(a->params, strtab_get(option->parameter), value);
	return CMDLINE_GO_ON;
}

static int run_args_set_variable(struct run_args *a, const struct cli_option *option,
				 const char *text)
{
	const char *equals = strchr(text, '=');
	json_t *variables = json_object_get(a->params, strtab_get(option->parameter));

	if (!equals || equals == text)
		return say_mistake(a->command, "%s takes NAME=VALUE, not %s", option->name, text);
	AUTO_FREE char *name = mem_strndup(text, (size_t)(equals - text));

	if (!variables) {
		variables = json_object();
		run_args_set(a, option, variables);
	}
	return json_object_set_new(variables, name, json_string(equals + 1))
		       ? say_mistake(a->command, "%s %s is not text in UTF-8", option->name, text)
		       : CMDLINE_GO_ON;
}

/* The user of the command line is the operator, so this sets the operator's option @key. */
static int run_args_set_own(struct run_args *a, const struct cli_option *option,
			    enum config_key key, const char *text)
{
	ERR_LOCAL(e);

	if (!config_assign(&a->options.context.config, key, text, CONFIG_BY_COMMAND_LINE,
			   option->name, &e))
		return CMDLINE_GO_ON;
	say_mistake(a->command, "%s %s: %s. %s", option->name, text, e.message, e.hint);
	err_release(&e);
	return SAY_STATUS_USAGE;
}

static int run_args_take(void *args, const struct cli_option *option,
			 const struct cmdline_value *value)
{
	struct run_args *a = args;

	switch (option->id) {
	case OPTION_TIMEOUT:
	case OPTION_CPU:
		return run_args_set(a, option, json_real(value->number));
	case OPTION_MEMORY:
		return run_args_set(a, option, json_integer((json_int_t)value->number));
	case OPTION_CWD:
		return run_args_set(a, option, json_string_nocheck(value->text));
	case OPTION_ENV:
		return run_args_set_variable(a, option, value->text);
	case OPTION_USER:
		return run_args_set_own(a, option, CONFIG_SANDBOX_USER, value->text);
	case OPTION_NETWORK:
		return run_args_set_own(a, option, CONFIG_SANDBOX_NETWORK, value->text);
	case OPTION_STRICT:
		return run_args_set(a, option, json_string("strict"));
	case OPTION_NO_NETWORK:
		return run_args_set(a, option, json_false());
	case OPTION_TTY:
		a->tty = true;
		return run_args_set(a, option, json_true());
	case OPTION_SHELL:
		a->shell = true;
		return CMDLINE_GO_ON;
	default:
		return options_take(&a->options, option, value);
	}
}

/* The program and its arguments, or one line for the shell. */
static int run_args_take_command(struct run_args *a, char **words)
{
	json_t *args;

	if (!*words)
		return say_mistake(a->command, "no command is given");
	if (a->shell && words[1])
		return say_mistake(a->command, "--shell takes one command line: put it in quotes");
	if (!**words)
		return say_mistake(a->command, "the command is empty");
	json_object_set_new(a->params, "command", json_string_nocheck(*words++));
	if (a->shell)
		return CMDLINE_GO_ON;
	args = json_array();
	json_object_set_new(a->params, "args", args);
	for (; *words; words++)
		json_array_append_new(args, json_string_nocheck(*words));
	return CMDLINE_GO_ON;
}

int run_args_read(struct run_args *a, const struct cli_command *command, char **argv)
{
	struct cmdline args;
	int status;

	a->command = command;
	a->params = json_object();
	options_init(&a->options);
	status = cmdline_read(&args, command, argv, run_args_take, a);
	if (status == CMDLINE_GO_ON && a->tty && a->options.json)
		return say_mistake(command, "--tty and --json exclude each other: one hands the "
					    "output on, the other keeps it");
	return status == CMDLINE_GO_ON ? run_args_take_command(a, args.words) : status;
}

void run_args_release(struct run_args *a)
{
	json_decref(a->params);
	options_release(&a->options);
}
