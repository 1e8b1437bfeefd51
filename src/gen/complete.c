/*
 * The tables of the completions for bash, zsh and fish. Below them the build puts the code that
 * uses them: src/gen/complete.bash, .zsh and .fish. Names are words that no shell expands; what
 * options mean is quoted.
 */
#include "gen/gen.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define TEXT_MAX 65536
#define HEADER "Generated from schema/ by src/gen.\n\n"

/* ---- texts ---- */

/* The first sentence of @text in single quotes. @escaped gets a backslash, and ' becomes @quote. */
static void gen_complete_brief(struct buf *out, const char *text, const char *escaped,
			       const char *quote)
{
	const char *end = strstr(text, ". ");
	size_t len = end ? (size_t)(end - text) : strlen(text);

	if (!end && len && text[len - 1] == '.')
		len--;
	for (size_t i = 0; i < len; i++) {
		if (strchr(escaped, text[i]))
			buf_addc(out, '\\');
		if (text[i] == '\'')
			buf_adds(out, quote);
		else if (text[i] != '`')
			buf_addc(out, text[i]);
	}
}

/* ---- names ---- */

static bool gen_complete_is_tool(const json_t *cap)
{
	json_t *flag;
	size_t i;

	json_array_foreach(json_object_get(cap, "flags"), i, flag)
		if (!strcmp(json_string_value(flag), "plain"))
			return false;
	return true;
}

/* The names of the capabilities, and of the tools that they are. */
static void gen_complete_methods(const struct gen *g, struct buf *out)
{
	char tool[GEN_PATH_MAX];

	for (int i = 0; i < g->cap_count; i++) {
		const char *name = gen_member(g->caps[i], "name");

		buf_addf(out, " %s", name);
		gen_c_name(name, tool);
		if (strcmp(tool, name) && gen_complete_is_tool(g->caps[i]))
			buf_addf(out, " %s", tool);
	}
}

/* The names of @rows, such as commands and keys, each behind @before. */
static void gen_complete_names(const json_t *rows, const char *before, struct buf *out)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		buf_addf(out, "%s%s", before, gen_member(row, "name"));
}

/* The packs, with each decision. */
static void gen_complete_packs(const struct gen *g, const char *before, struct buf *out)
{
	json_t *pack;
	size_t i;

	json_array_foreach(g->packs, i, pack) {
		const char *name = gen_member(pack, "name");

		buf_addf(out, "%s%s:notify%s%s:confirm%s%s:deny", before, name, before, name,
			 before, name);
	}
}

/* The values of a key: those of an enum, true and false, also where ports may stand. */
static void gen_complete_values(const struct gen *g, const json_t *row, const char *before,
				struct buf *out)
{
	json_t *choice;
	size_t i;

	if (!strcmp(gen_member(row, "name"), "packs"))
		gen_complete_packs(g, before, out);
	if (json_is_boolean(json_object_get(row, "default")))
		buf_addf(out, "%strue%sfalse", before, before);
	json_array_foreach(json_object_get(row, "choices"), i, choice)
		buf_addf(out, "%s%s", before, json_string_value(choice));
}

/* "show validate schema": what may stand for @row, or "ssh: podman:": what may begin it. Nothing
 * unless it is a choice or an engine. @colon: as the shell wants it. */
static void gen_complete_choices(const json_t *row, const char *colon, struct buf *out)
{
	bool engine = !strcmp(gen_member(row, "kind"), "engine");
	json_t *choice;
	size_t i;

	json_array_foreach(json_object_get(row, "choices"), i, choice)
		buf_addf(out, "%s%s%s", i ? " " : "", json_string_value(choice),
			 engine ? colon : "");
}

struct gen_complete_list {
	struct buf *out;
	const char *kind; /* of the options to list; NULL: all */
	const char *before;
	json_t *seen; /* lists no option twice; NULL: there is one command only */
};

static void gen_complete_add_option(const struct gen *g, json_t *option, void *ctx)
{
	struct gen_complete_list *list = ctx;
	const char *name = gen_member(option, "name");

	(void)g;
	if (list->kind && strcmp(gen_member(option, "kind"), list->kind))
		return;
	if (list->seen && json_object_get(list->seen, name))
		return;
	json_object_set_new(list->seen, name, json_true());
	buf_addf(list->out, "%s%s", list->before, name);
	if (list->kind && gen_member(option, "short"))
		buf_addf(list->out, "%s%s", list->before, gen_member(option, "short"));
}

/* The options of all commands that take a @kind, each behind @before. */
static void gen_complete_options(const struct gen *g, const char *kind, const char *before,
				 struct buf *out)
{
	struct gen_complete_list list = {
		.out = out, .kind = kind, .before = before, .seen = json_object(),
	};
	json_t *command;
	size_t i;

	json_array_foreach(gen_cli_commands(g), i, command)
		gen_cli_each_option(g, command, gen_complete_add_option, &list);
	json_decref(list.seen);
}

/* The commands whose options end at the first word. */
static void gen_complete_starters(const struct gen *g, struct buf *out)
{
	json_t *command;
	size_t i;

	json_array_foreach(gen_cli_commands(g), i, command)
		if (json_is_true(json_object_get(command, "options_end")))
			buf_addf(out, " %s", gen_member(command, "name"));
}

/* ---- bash ---- */

/* What an option or an operand takes. A choice comes with its words. */
static void gen_complete_bash_kind(const char *name, const json_t *row, struct buf *out)
{
	buf_addf(out, "\t%s) echo %s", name, gen_member(row, "kind"));
	if (json_object_get(row, "choices")) {
		buf_addc(out, ' ');
		gen_complete_choices(row, ":", out);
	}
	buf_adds(out, " ;;\n");
}

static void gen_complete_bash_operands(const json_t *command, struct buf *out)
{
	char name[64];
	json_t *operand;
	size_t i;

	json_array_foreach(json_object_get(command, "operands"), i, operand) {
		snprintf(name, sizeof(name), "%s:%zu", gen_member(command, "name"), i);
		gen_complete_bash_kind(name, operand, out);
	}
}

static void gen_complete_bash_options(const struct gen *g, struct buf *out)
{
	struct gen_complete_list list = { .out = out, .before = " " };
	json_t *command;
	size_t i;

	buf_adds(out, "\n_procpen_options()\n{\n\tcase $1 in\n");
	json_array_foreach(gen_cli_commands(g), i, command) {
		buf_addf(out, "\t%s) echo", gen_member(command, "name"));
		gen_cli_each_option(g, command, gen_complete_add_option, &list);
		buf_adds(out, " ;;\n");
	}
	buf_adds(out, "\tesac\n}\n\n# What a word of a command is: COMMAND:0 is the first.\n"
		      "_procpen_operand()\n{\n\tcase $1 in\n");
	json_array_foreach(gen_cli_commands(g), i, command)
		gen_complete_bash_operands(command, out);
	buf_adds(out, "\tesac\n}\n");
}

static void gen_complete_bash_choice(const struct gen *g, json_t *option, void *out)
{
	(void)g;
	if (json_object_get(option, "choices"))
		gen_complete_bash_kind(gen_member(option, "name"), option, out);
}

static void gen_complete_bash_kinds(const struct gen *g, struct buf *out)
{
	json_t *command;
	size_t i;

	buf_adds(out, "\n# What follows an option; nothing: it is a flag.\n"
		      "_procpen_kind()\n{\n\tcase $1 in\n");
	for (const char *const *kind = gen_cli_kinds; *kind; kind++) {
		struct buf names;

		buf_init(&names, TEXT_MAX);
		gen_complete_options(g, *kind, " | ", &names);
		if (names.len && strcmp(*kind, "flag") && strcmp(*kind, "choice") &&
		    strcmp(*kind, "engine"))
			buf_addf(out, "\t%s) echo %s ;;\n", names.data + strlen(" | "), *kind);
		buf_release(&names);
	}
	json_array_foreach(gen_cli_commands(g), i, command)
		gen_cli_each_option(g, command, gen_complete_bash_choice, out);
	buf_adds(out, "\tesac\n}\n");
}

/* For bash and zsh. */
static void gen_complete_value_table(const struct gen *g, const char *head, struct buf *out)
{
	json_t *row;
	size_t i;

	buf_addf(out, "\n# The values of a key, where they are few.\n%s\tcase $1 in\n", head);
	json_array_foreach(g->config, i, row) {
		struct buf values;

		buf_init(&values, TEXT_MAX);
		gen_complete_values(g, row, " ", &values);
		if (values.len)
			buf_addf(out, "\t%s) echo%s ;;\n", gen_member(row, "name"), values.data);
		buf_release(&values);
	}
	buf_adds(out, "\tesac\n}\n\n");
}

void gen_complete_bash(const struct gen *g, struct buf *out)
{
	buf_adds(out, "# shellcheck shell=bash\n# Completion of procpen for bash. " HEADER
		      "_procpen_commands='");
	gen_complete_names(gen_cli_commands(g), " ", out);
	buf_adds(out, "'\n_procpen_starters='");
	gen_complete_starters(g, out);
	buf_adds(out, " '\n_procpen_methods='");
	gen_complete_methods(g, out);
	buf_adds(out, "'\n_procpen_keys='");
	gen_complete_names(g->config, "\n", out);
	buf_adds(out, "'\n");
	gen_complete_bash_options(g, out);
	gen_complete_bash_kinds(g, out);
	gen_complete_value_table(g, "_procpen_values()\n{\n", out);
}

/* ---- zsh ---- */

#define ZSH_QUOTE "'\\''"

/* What completes a kind in _arguments. A blank before a call: it gets no arguments but these; a
 * blank alone: nothing is completed, but the message is shown. */
static const char *gen_complete_zsh_action(const char *kind)
{
	static const char *const actions[][2] = {
		{ "dir", "_files -/" },
		{ "file", "_files" },
		{ "user", "_users" },
		{ "setting", "_procpen_settings" },
		{ "variable", "_procpen_variables" },
		{ "host", "_procpen_hosts" },
		{ "command", "_procpen_topics" },
		{ "program", " _command_names -e" },
		{ "method", "_procpen_methods" },
		/* A message alone would keep an option from being inserted. */
		{ "word", "_guard \"^-*\" word" },
	};

	for (size_t i = 0; i < COUNT_OF(actions); i++)
		if (!strcmp(actions[i][0], kind))
			return actions[i][1];
	return " ";
}

/* What may stand for an option or an operand. */
static void gen_complete_zsh_value(struct buf *out, const json_t *row)
{
	const char *kind = gen_member(row, "kind");

	if (!strcmp(kind, "choice")) {
		buf_adds(out, ":(");
		gen_complete_choices(row, ":", out);
		buf_addc(out, ')');
	} else if (!strcmp(kind, "engine")) {
		buf_adds(out, ": compadd -S \"\" -- ");
		gen_complete_choices(row, "\\:", out); /* a mere colon ends the action */
	} else {
		buf_addf(out, ":%s", gen_complete_zsh_action(kind));
	}
}

static void gen_complete_zsh_name(struct buf *out, const char *name, const json_t *option)
{
	const char *value = gen_member(option, "value"), *id = gen_member(option, "name");
	bool ends = !strcmp(id, "--help") || !strcmp(id, "--version");
	const char *joined = name[1] == '-' ? "=" : "+";

	buf_addf(out, " \\\n\t\t\t'%s%s%s[", ends ? "(- *)" : value ? "*" : "", name,
		 value ? joined : "");
	gen_complete_brief(out, gen_member(option, "text"), "\\[]:", ZSH_QUOTE);
	buf_addc(out, ']');
	if (value) {
		buf_addc(out, ':');
		gen_complete_brief(out, value, "\\:", ZSH_QUOTE);
		gen_complete_zsh_value(out, option);
	}
	buf_addc(out, '\'');
}

static void gen_complete_zsh_option(const struct gen *g, json_t *option, void *ctx)
{
	(void)g;
	if (gen_member(option, "short"))
		gen_complete_zsh_name(ctx, gen_member(option, "short"), option);
	gen_complete_zsh_name(ctx, gen_member(option, "name"), option);
}

static void gen_complete_zsh_operands(const json_t *command, struct buf *out)
{
	bool ends = json_is_true(json_object_get(command, "options_end"));
	json_t *operand;
	size_t i;

	json_array_foreach(json_object_get(command, "operands"), i, operand) {
		bool text = !strcmp(gen_member(operand, "kind"), "text");

		buf_addf(out, " \\\n\t\t\t'%s%zu:", ends ? "(-)" : "", i + 1);
		gen_complete_brief(out, gen_member(operand, "name"), "\\:", ZSH_QUOTE);
		if (text)
			buf_addf(out, ":%s", gen_complete_zsh_action("word"));
		else
			gen_complete_zsh_value(out, operand);
		buf_addc(out, '\'');
	}
	if (ends)
		buf_adds(out, " \\\n\t\t\t'*::ARGUMENT:_normal'");
}

/* A function that prints "name:meaning" for _describe. */
static void gen_complete_zsh_list(const char *function, const json_t *rows, const char *text,
				  struct buf *out)
{
	json_t *row;
	size_t i;

	buf_addf(out, "(( $+functions[%s] )) ||\n%s() {\n\tprint -rl --", function, function);
	json_array_foreach(rows, i, row) {
		buf_addf(out, " \\\n\t\t'%s:", gen_member(row, "name"));
		gen_complete_brief(out, gen_member(row, text), "\\:", ZSH_QUOTE);
		buf_addc(out, '\'');
	}
	buf_adds(out, "\n}\n\n");
}

void gen_complete_zsh(const struct gen *g, struct buf *out)
{
	json_t *command;
	size_t i;

	buf_adds(out, "#compdef procpen\n# Completion of procpen for zsh. " HEADER);
	gen_complete_zsh_list("_procpen_commands", gen_cli_commands(g), "summary", out);
	gen_complete_zsh_list("_procpen_keys", g->config, "text", out);
	buf_adds(out, "(( $+functions[_procpen_methods] )) ||\n"
		      "_procpen_methods() {\n\tcompadd \"$@\" --");
	gen_complete_methods(g, out);
	buf_adds(out, "\n}\n\n(( $+functions[_procpen_arguments] )) ||\n"
		      "_procpen_arguments() {\n\tcase $1 in\n");
	json_array_foreach(gen_cli_commands(g), i, command) {
		buf_addf(out, "\t%s)\n\t\t_arguments -S", gen_member(command, "name"));
		gen_cli_each_option(g, command, gen_complete_zsh_option, out);
		gen_complete_zsh_operands(command, out);
		buf_adds(out, "\n\t\t;;\n");
	}
	buf_adds(out, "\tesac\n}\n");
	gen_complete_value_table(g, "(( $+functions[_procpen_values] )) ||\n_procpen_values() {\n",
				 out);
}

/* ---- fish ---- */

#define FISH_QUOTE "\\'"

/* What completes a kind: the arguments of complete(1). */
static const char *gen_complete_fish_action(const char *kind)
{
	static const char *const actions[][2] = {
		{ "dir", "-xa '(__fish_complete_directories (commandline -ct))'" },
		{ "file", "-rF" },
		{ "user", "-xa '(__fish_complete_users)'" },
		{ "setting", "-xa '(__procpen_settings)'" },
		{ "variable", "-xa '(__procpen_variables)'" },
		{ "host", "-xa '(__procpen_hosts)'" },
		{ "command", "-xa '(__procpen_commands; echo options)'" },
		{ "method", "-xa '(__procpen_methods)'" },
		{ "flag", "-f" },
	};

	for (size_t i = 0; i < COUNT_OF(actions); i++)
		if (!strcmp(actions[i][0], kind))
			return actions[i][1];
	return "-x";
}

/* What may stand for an option or an operand, a blank before it. */
static void gen_complete_fish_value(struct buf *out, const json_t *row)
{
	const char *kind = gen_member(row, "kind");

	if (json_object_get(row, "choices")) {
		buf_adds(out, " -xa '");
		gen_complete_choices(row, ":", out);
		buf_addc(out, '\'');
	} else {
		buf_addf(out, " %s", gen_complete_fish_action(kind));
	}
}

struct gen_complete_fish {
	struct buf *out;
	const char *command;
};

static void gen_complete_fish_option(const struct gen *g, json_t *option, void *ctx)
{
	const struct gen_complete_fish *fish = ctx;
	const char *short_name = gen_member(option, "short");

	(void)g;
	buf_addf(fish->out, "complete -c procpen -n '__procpen_option_of %s' -l %s", fish->command,
		 gen_member(option, "name") + strlen("--"));
	if (short_name)
		buf_addf(fish->out, " -s %s", short_name + strlen("-"));
	gen_complete_fish_value(fish->out, option);
	buf_adds(fish->out, " -d '");
	gen_complete_brief(fish->out, gen_member(option, "text"), "\\", FISH_QUOTE);
	buf_adds(fish->out, "'\n");
}

/* A function that prints a line for each row: the name, a tab, and its meaning. */
static void gen_complete_fish_list(const char *function, const json_t *rows, const char *text,
				   struct buf *out)
{
	json_t *row;
	size_t i;

	buf_addf(out, "function %s\n    printf '%%s\\t%%s\\n'", function);
	json_array_foreach(rows, i, row) {
		buf_addf(out, " \\\n        %s '", gen_member(row, "name"));
		gen_complete_brief(out, gen_member(row, text), "\\", FISH_QUOTE);
		buf_addc(out, '\'');
	}
	buf_adds(out, "\nend\n\n");
}

/* key=value where the values are few, else key= */
static void gen_complete_fish_settings(const struct gen *g, struct buf *out)
{
	json_t *row;
	size_t i;

	buf_adds(out, "function __procpen_settings\n    printf '%s\\t%s\\n'");
	json_array_foreach(g->config, i, row) {
		const char *name = gen_member(row, "name");
		struct buf before, values;

		buf_init(&before, TEXT_MAX);
		buf_init(&values, TEXT_MAX);
		buf_addf(&before, " %s=", name);
		gen_complete_values(g, row, before.data, &values);
		if (!values.len)
			buf_adds(&values, before.data);
		for (char *word = strtok(values.data, " "); word; word = strtok(NULL, " ")) {
			buf_addf(out, " \\\n        %s '", word);
			gen_complete_brief(out, gen_member(row, "text"), "\\", FISH_QUOTE);
			buf_addc(out, '\'');
		}
		buf_release(&before);
		buf_release(&values);
	}
	buf_adds(out, "\nend\n\n");
}

static void gen_complete_fish_command(const struct gen *g, const json_t *command, struct buf *out)
{
	const char *name = gen_member(command, "name");
	struct gen_complete_fish fish = { .out = out, .command = name };
	json_t *operand;
	size_t i;

	gen_cli_each_option(g, command, gen_complete_fish_option, &fish);
	json_array_foreach(json_object_get(command, "operands"), i, operand) {
		if (!strcmp(gen_member(operand, "kind"), "program")) {
			buf_addf(out, "complete -c procpen -n '__procpen_starts %s' "
				      "-xa '(__procpen_program)'\n", name);
			continue;
		}
		buf_addf(out, "complete -c procpen -n '__procpen_words_are %zu %s'", i + 1, name);
		gen_complete_fish_value(out, operand);
		buf_addc(out, '\n');
	}
}

void gen_complete_fish(const struct gen *g, struct buf *out)
{
	json_t *command;
	size_t i;

	buf_adds(out, "# Completion of procpen for fish. " HEADER "set -g __procpen_starters");
	gen_complete_starters(g, out);
	buf_adds(out, "\nset -g __procpen_valued");
	for (const char *const *kind = gen_cli_kinds; *kind; kind++)
		if (strcmp(*kind, "flag"))
			gen_complete_options(g, *kind, " ", out);
	buf_adds(out, "\n\n");
	gen_complete_fish_list("__procpen_commands", gen_cli_commands(g), "summary", out);
	gen_complete_fish_settings(g, out);
	buf_adds(out, "function __procpen_methods\n    printf '%s\\n'");
	gen_complete_methods(g, out);
	buf_adds(out, "\nend\n\ncomplete -c procpen -f\n"
		      "complete -c procpen -n '__procpen_words_are 0' "
		      "-xa '(__procpen_commands)'\n");
	json_array_foreach(gen_cli_commands(g), i, command)
		gen_complete_fish_command(g, command, out);
	buf_addc(out, '\n');
}
