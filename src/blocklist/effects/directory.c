/* Commands that change or clean a directory: cd, pushd, popd, git -C DIR clean. */
#include "blocklist/effects/readers.h"

#include "blocklist/command/word.h"

void read_cd(const struct command *cmd, struct action_list *out)
{
	struct shell_word home = word_fixed("~", SHELL_TILDE, NULL, out->arena);
	unsigned push = cmd->program.s[0] == 'p' ? ACTION_PUSH : 0;
	size_t i = 1;

	while (i < cmd->count && cmd->words[i].text.s[0] == '-' && cmd->words[i].text.len > 1)
		i++;
	out->keeps_directory = true;
	if (i == cmd->count && push) /* pushd alone swaps the last two */
		action_chdir(out, NULL, ACTION_PUSH | ACTION_POP);
	else if (i == cmd->count)
		action_chdir(out, &home, 0);
	else if (word_is(&cmd->words[i], "-"))
		action_chdir(out, NULL, push | ACTION_BACK);
	else if (push && cmd->words[i].text.s[0] == '+') /* pushd +1 turns the stack */
		action_chdir(out, NULL, 0);
	else
		action_chdir(out, &cmd->words[i], push);
}

/* popd +1 and popd -n leave the directory as it is. */
void read_popd(const struct command *cmd, struct action_list *out)
{
	out->keeps_directory = true;
	if (cmd->count == 1)
		action_chdir(out, NULL, ACTION_POP);
}

/* Add git's -C DIR and --work-tree=DIR. Returns the index of the word after "clean", or 0. */
static size_t directory_git_clean_at(const struct command *cmd, struct action_list *out)
{
	static const char tree[] = "--work-tree=";

	for (size_t i = 1; i < cmd->count; i++) {
		const struct shell_word *w = &cmd->words[i];

		if (word_is(w, "clean"))
			return i + 1;
		if (word_is(w, "-C") && i + 1 < cmd->count) {
			action_chdir(out, &cmd->words[++i], 0);
		} else if (word_begins(w, tree)) {
			struct shell_word dir = word_slice(w, strlen(tree), w->text.len,
							   out->arena);
			action_chdir(out, &dir, 0);
		}
	}
	return 0;
}

void read_git_clean(const struct command *cmd, struct action_list *out)
{
	size_t first = directory_git_clean_at(cmd, out);
	bool force = false, dry = false;
	struct shell_word here;

	for (size_t i = first; first && i < cmd->count; i++) {
		const char *s = cmd->words[i].text.s;

		force |= s[0] == '-' && strchr(s, 'f');
		dry |= s[0] == '-' && strchr(s, 'n');
	}
	if (!force || dry)
		return;
	for (size_t i = first; i < cmd->count; i++)
		if (cmd->words[i].text.s[0] != '-')
			action_touch(out, "clean", &cmd->words[i]);
	here = word_fixed(".", SHELL_LITERAL, &cmd->words[0], out->arena);
	here.end = cmd->words[cmd->count - 1].end;
	action_touch(out, "clean", &here);
}
