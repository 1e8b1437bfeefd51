/* Texts and files that shell builtins and options run: source, trap, mapfile, bind, eval,
 * sh --rcfile. */
#include "blocklist/effects/readers.h"

#include <string.h>

#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/input.h"

/* source FILE, where FILE is standard input, <(...) or a file that the text wrote. */
void read_source(const struct command *cmd, struct action_list *out)
{
	const struct shell_command *c = place_command(cmd->at);

	if (cmd->count < 2)
		return;
	out->keeps_directory = true;
	if (c && c->sourced)
		return;
	if (word_is_input(&cmd->words[1]))
		input_run(cmd, cmd->words, cmd->count, ACTION_SAME_SHELL, out);
	else
		action_file(out, &cmd->words[1], cmd->words + 1, cmd->count - 1,
			    ACTION_SAME_SHELL);
}

/* trap TEXT SIGNAL: it may run at once, and later with what the variables are then. */
void read_trap(const struct command *cmd, struct action_list *out)
{
	size_t i = 1 + (cmd->count > 1 && word_is(&cmd->words[1], "--"));

	if (cmd->count < i + 2 || cmd->words[i].text.s[0] == '-' || !cmd->words[i].text.len)
		return;
	action_flow(out, dataflow_origin(cmd->at, &cmd->words[i]), &cmd->words[i], 1);
	action_text(out, &cmd->words[i], ACTION_SAME_SHELL);
	action_text(out, &cmd->words[i], ACTION_SAME_SHELL | ACTION_AT_END);
}

/*
 * The argument of option @letter: the rest of its cluster, or the next word. False: it is not
 * there. @with: letters of the options that have one.
 */
static bool builtins_option(const struct command *cmd, char letter, const char *with,
			    struct shell_arena *arena, struct shell_word *value)
{
	for (size_t i = 1; i < cmd->count; i++) {
		const struct shell_word *w = &cmd->words[i];
		size_t at = 1;

		if (w->text.s[0] != '-' || word_is(w, "--"))
			return false;
		while (at < w->text.len && (!w->text.s[at] || !strchr(with, w->text.s[at])))
			at++;
		if (at >= w->text.len)
			continue;
		if (at + 1 == w->text.len && ++i == cmd->count)
			return false;
		*value = at + 1 == w->text.len ? cmd->words[i]
					       : word_slice(w, at + 1, w->text.len, arena);
		if (w->text.s[at] == letter)
			return true;
	}
	return false;
}

/* mapfile -C CALLBACK: run with two more words for every so many lines */
void read_mapfile(const struct command *cmd, struct action_list *out)
{
	struct shell_word callback;

	if (builtins_option(cmd, 'C', "dnOsuCc", out->arena, &callback))
		action_text(out, &callback, ACTION_SAME_SHELL);
}

/* bind -x KEYS:COMMAND, either of them in quotes or not (bash(1)) */
void read_bind(const struct command *cmd, struct action_list *out)
{
	struct shell_word binding;
	size_t from = 0, to;

	if (!builtins_option(cmd, 'x', "xmfqur", out->arena, &binding))
		return;
	to = binding.text.len;
	if (to && binding.text.s[0] == '"')
		for (from = 1; from < to && binding.text.s[from] != '"'; from++)
			from += binding.text.s[from] == '\\';
	while (from < to && binding.text.s[from] != ':')
		from++;
	for (from++; from < to && (binding.text.s[from] == ' ' || binding.text.s[from] == '\t');)
		from++;
	if (from >= to)
		return;
	if (from + 1 < to && binding.text.s[from] == binding.text.s[to - 1] &&
	    (binding.text.s[from] == '"' || binding.text.s[from] == '\'')) {
		from++;
		to--;
	}
	binding = word_slice(&binding, from, to, out->arena);
	action_text(out, &binding, ACTION_SAME_SHELL);
}

/* eval: the parser has read known text; here, the flow of unknown text. */
void read_eval(const struct command *cmd, struct action_list *out)
{
	if (cmd->count > 1)
		action_flow(out, dataflow_origin(cmd->at, &cmd->words[1]), &cmd->words[1], 1);
}

/* bash --rcfile FILE, --init-file FILE */
void read_startup_file(const struct command *cmd, struct action_list *out)
{
	for (size_t i = 1; i + 1 < cmd->count; i++)
		if (word_in(&cmd->words[i], " --rcfile --init-file "))
			action_file(out, &cmd->words[i + 1], &cmd->words[i + 1], 1, 0);
}
