#include "cli/cmdline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/quantity.h"
#include "base/str.h"
#include "cli/say.h"

#define CHOICES_MAX 8
#define OPTIONS_MAX 32

static const struct {
	const char *what, *forms;
	bool has_unit;
	enum quantity unit;
} number_kinds[] = {
	[OPTION_IS_NUMBER] = { .what = "number", .forms = "Write 0.5 or 2." },
	[OPTION_IS_DURATION] = { .what = "time", .has_unit = true, .unit = QUANTITY_SECONDS },
	[OPTION_IS_SIZE] = { .what = "size", .has_unit = true, .unit = QUANTITY_BYTES },
	[OPTION_IS_COUNT] = { .what = "count", .has_unit = true, .unit = QUANTITY_COUNT },
};

static bool cmdline_is_number(const struct cli_option *option)
{
	return option->kind < COUNT_OF(number_kinds) && number_kinds[option->kind].what;
}

/* ---- numbers ---- */

static bool cmdline_in_bounds(const struct cli_option *option, double number)
{
	if (number < option->min || (option->above_min && number <= option->min))
		return false;
	return !(option->max > 0 && number > option->max);
}

/* @text as a number in seconds, bytes or as it is. 0 or -1. */
static int cmdline_parse_number(const struct cli_option *option, const char *text, double *number)
{
	enum quantity unit = number_kinds[option->kind].unit;
	int64_t value;
	char *end;

	if (number_kinds[option->kind].has_unit) {
		if (quantity_parse(text, unit, &value))
			return -1;
		*number = (double)value / (double)quantity_scale(unit);
		return 0;
	}
	*number = strtod(text, &end);
	return *end || end == text || !isfinite(*number) ? -1 : 0;
}

static int cmdline_read_number(const struct cmdline *a, const struct cli_option *option,
			       struct cmdline_value *value)
{
	const char *forms = number_kinds[option->kind].has_unit
				    ? quantity_forms(number_kinds[option->kind].unit)
				    : number_kinds[option->kind].forms;

	if (cmdline_parse_number(option, value->text, &value->number))
		return say_mistake(a->command, "%s %s is not a %s. %s", option->name, value->text,
				   number_kinds[option->kind].what, forms);
	if (cmdline_in_bounds(option, value->number))
		return CMDLINE_GO_ON;
	return say_mistake(a->command, "%s %s must be %s. %s", option->name, value->text,
			   strtab_get(option->bounds), forms);
}

/* ---- options ---- */

/* Is @word the option @short_name, with its value behind it if it takes one? */
static bool cmdline_is_short(const char *short_name, const char *word, const char *value)
{
	size_t len = strlen(short_name);

	return !strncmp(short_name, word, len) && (value || !word[len]);
}

static const struct cli_option *cmdline_find(const struct cli_command *command, const char *word,
					     size_t len)
{
	for (const struct cli_option *o = &cli_options[command->options]; *o->name; o++) {
		const char *short_name = strtab_get(o->short_name);

		if ((strlen(o->name) == len && !strncmp(o->name, word, len)) ||
		    (short_name && cmdline_is_short(short_name, word, strtab_get(o->value))))
			return o;
	}
	return NULL;
}

static int cmdline_say_unknown(const struct cmdline *a, const char *word, size_t len)
{
	const char *known[OPTIONS_MAX + 1] = { NULL };
	AUTO_FREE char *name = mem_strndup(word, len);
	size_t count = 0;

	for (const struct cli_option *o = &cli_options[a->command->options]; *o->name; o++) {
		BUG_IF(count == OPTIONS_MAX);
		known[count++] = o->name;
	}
	return say_unknown(a->command, "option", name, known);
}

static int cmdline_check_choice(const struct cmdline *a, const struct cli_option *option,
				const char *text)
{
	const char *known[CHOICES_MAX + 1] = { NULL };
	const char *one = strtab_first(option->choices);

	for (size_t i = 0; one; one = strtab_next(one)) {
		BUG_IF(i == CHOICES_MAX);
		known[i++] = one;
	}
	return str_is_listed(text, known) ? CMDLINE_GO_ON
					  : say_unknown(a->command, option->name, text, known);
}

/* The value in the option @word: that of --last=5, and of -n5. NULL: there is none. */
static const char *cmdline_joined(const char *word)
{
	const char *equals = strchr(word, '=');

	if (word[1] != '-')
		return word[2] ? word + 2 : NULL;
	return equals ? equals + 1 : NULL;
}

/* The value of @option, whose word is argv[*at]; moves *at to its last word. */
static int cmdline_find_value(const struct cmdline *a, const struct cli_option *option, char **argv,
			      int *at, struct cmdline_value *value)
{
	const char *joined = cmdline_joined(argv[*at]), *what = strtab_get(option->value);

	*value = (struct cmdline_value){ .text = joined ? joined : argv[*at + 1] };
	if (!what) {
		value->text = NULL;
		return joined ? say_mistake(a->command, "%s takes no value", option->name)
			      : CMDLINE_GO_ON;
	}
	if (!value->text || (!*value->text && option->kind != OPTION_IS_TEXT))
		return say_mistake(a->command, "%s needs a value: %s %s", option->name,
				   option->name, what);
	*at += !joined;
	if (option->kind == OPTION_IS_CHOICE)
		return cmdline_check_choice(a, option, value->text);
	return cmdline_is_number(option) ? cmdline_read_number(a, option, value) : CMDLINE_GO_ON;
}

static int cmdline_take(const struct cmdline *a, char **argv, int *at, cmdline_take_fn take,
			void *ctx)
{
	size_t len = strcspn(argv[*at], "=");
	const struct cli_option *option = cmdline_find(a->command, argv[*at], len);
	struct cmdline_value value;
	int status;

	if (!option)
		return cmdline_say_unknown(a, argv[*at], len);
	status = cmdline_find_value(a, option, argv, at, &value);
	if (status != CMDLINE_GO_ON)
		return status;
	if (option->id == OPTION_HELP)
		return CMDLINE_HELP;
	return option->id == OPTION_VERSION ? CMDLINE_VERSION : take(ctx, option, &value);
}

int cmdline_read(struct cmdline *a, const struct cli_command *command, char **argv,
		 cmdline_take_fn take, void *ctx)
{
	int at, count = 0, status = CMDLINE_GO_ON;

	*a = (struct cmdline){ .command = command, .words = argv + 1 };
	for (at = 1; argv[at] && status == CMDLINE_GO_ON; at++) {
		bool word = argv[at][0] != '-' || !argv[at][1];

		if (!strcmp(argv[at], "--")) {
			a->separated = !count;
			at++;
			break;
		}
		if (word && command->options_end)
			break;
		if (word)
			a->words[count++] = argv[at];
		else
			status = cmdline_take(a, argv, &at, take, ctx);
	}
	if (status != CMDLINE_GO_ON)
		return status;
	if (!count) {
		a->words = argv + at;
		return status;
	}
	while (argv[at])
		a->words[count++] = argv[at++];
	a->words[count] = NULL;
	return status;
}
