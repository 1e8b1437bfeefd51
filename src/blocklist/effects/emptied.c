/* cp, install, ln, dd and tee with nothing to write: the file is emptied, as by > FILE. */
#include "blocklist/effects/readers.h"

#include <string.h>

#include "blocklist/command/names.h"
#include "blocklist/command/word.h"

/* cp /dev/null FILE, ln -sf /dev/null FILE: the last word, which is no option, of more than one. */
static bool emptied_by_copy(const struct command *cmd)
{
	size_t last = cmd->count - 1;
	bool nothing = false;

	for (size_t i = 1; i < last; i++)
		nothing |= word_is(&cmd->words[i], "/dev/null");
	return nothing && cmd->words[last].text.s[0] != '-';
}

void read_copied_nothing(const struct command *cmd, struct action_list *out)
{
	if (cmd->count > 2 && emptied_by_copy(cmd))
		action_touch(out, "wipe", &cmd->words[cmd->count - 1]);
}

/* Without -f, ln leaves a file that is there. */
void read_linked_nothing(const struct command *cmd, struct action_list *out)
{
	if (words_have_letter(cmd->words, cmd->count, "f") ||
	    words_have(cmd->words, cmd->count, " --force "))
		read_copied_nothing(cmd, out);
}

/* dd if=/dev/null of=FILE */
void read_dd_nothing(const struct command *cmd, struct action_list *out)
{
	if (!words_have(cmd->words, cmd->count, " if=/dev/null "))
		return;
	for (size_t i = 1; i < cmd->count; i++)
		if (word_begins(&cmd->words[i], "of=")) {
			struct shell_word to = word_slice(&cmd->words[i], 3,
							  cmd->words[i].text.len, out->arena);

			action_touch(out, "wipe", &to);
		}
}

/* tee FILE < /dev/null, cat /dev/null | tee FILE */
static bool emptied_reads_nothing(const struct place *at)
{
	const struct shell_command *c = place_command(at), *from;

	if (!c)
		return false;
	for (size_t i = 0; i < c->redirect_count; i++)
		if (c->redirects[i].op == SHELL_FROM &&
		    word_is(&c->redirects[i].target, "/dev/null"))
			return true;
	if (c->piped_from >= at->script->command_count)
		return false;
	from = &at->script->commands[c->piped_from];
	return (from->word_count == 1 && word_in(from->words, " : true ")) ||
	       (from->word_count == 2 && word_is(from->words, "cat") &&
		word_is(from->words + 1, "/dev/null"));
}

void read_tee_nothing(const struct command *cmd, struct action_list *out)
{
	if (words_have_letter(cmd->words, cmd->count, "a") ||
	    words_have(cmd->words, cmd->count, " --append ") || !emptied_reads_nothing(cmd->at))
		return;
	for (size_t i = 1; i < cmd->count; i++)
		if (cmd->words[i].text.s[0] != '-')
			action_touch(out, "wipe", &cmd->words[i]);
}
