/* Texts and files that shell builtins and options run: source, trap, eval, sh --rcfile. */
#include "blocklist/effects/readers.h"

#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/input.h"

/* source FILE, where FILE is standard input, <(...) or a file that the text wrote. */
void read_source(const struct command *cmd, struct action_list *out)
{
	static const char stdin_names[] = " /dev/stdin /dev/fd/0 /proc/self/fd/0 ";

	if (cmd->count < 2)
		return;
	if (word_in(&cmd->words[1], stdin_names))
		input_run(cmd, cmd->words, cmd->count, ACTION_SAME_SHELL, out);
	else
		action_file(out, &cmd->words[1], cmd->words + 1, cmd->count - 1,
			    ACTION_SAME_SHELL);
}

/* trap TEXT SIGNAL */
void read_trap(const struct command *cmd, struct action_list *out)
{
	size_t i = 1 + (cmd->count > 1 && word_is(&cmd->words[1], "--"));

	if (cmd->count < i + 2 || cmd->words[i].text.s[0] == '-' || !cmd->words[i].text.len)
		return;
	action_flow(out, dataflow_origin(cmd->at, &cmd->words[i]), &cmd->words[i], 1);
	action_text(out, &cmd->words[i], ACTION_SAME_SHELL);
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
