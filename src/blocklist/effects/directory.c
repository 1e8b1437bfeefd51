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

/* Commands searched backwards for the export of a variable. */
#define BEFORE_MAX 64

/* The value of NAME=VALUE in @words, of @count; NULL: none. */
static const struct shell_word *directory_exported(const struct shell_word *words, size_t count,
						   const char *name, struct action_list *out)
{
	struct shell_word *value;

	if (!count || !word_in(&words[0], " export declare typeset "))
		return NULL;
	for (size_t i = 1; i < count; i++) {
		if (!word_begins(&words[i], name))
			continue;
		value = shell_alloc(out->arena, sizeof(*value));
		*value = word_slice(&words[i], strlen(name), words[i].text.len, out->arena);
		return value;
	}
	return NULL;
}

static const struct shell_word *directory_assigned(const struct shell_assign *list, size_t count)
{
	for (size_t i = count; i-- > 0;)
		if (strcmp(list[i].name, "GIT_WORK_TREE") == 0)
			return &list[i].value;
	return NULL;
}

/* What the command's environment says of the work tree, or NULL. */
static const struct shell_word *directory_git_variable(const struct place *at,
						       struct action_list *out)
{
	const struct shell_command *c = place_command(at);
	const struct shell_word *value = directory_assigned(at->assigns, at->assign_count);

	if (value || !c)
		return value;
	value = directory_assigned(c->assigns, c->assign_count);
	for (uint32_t i = at->index; !value && i-- > 0 && at->index - i <= BEFORE_MAX;) {
		const struct shell_command *before = &at->script->commands[i];

		value = directory_exported(before->words, before->word_count, "GIT_WORK_TREE=",
					   out);
	}
	return value;
}

/* The work tree that git's option at *@i, before its subcommand, names; NULL: none. */
static const struct shell_word *directory_git_option(const struct command *cmd, size_t *i,
						     struct action_list *out)
{
	static const char tree[] = "--work-tree=", key[] = "core.worktree=";
	const struct shell_word *w = &cmd->words[*i], *next = w + 1;
	struct shell_word *value;
	size_t skip = 0;

	if (word_begins(w, tree))
		skip = strlen(tree);
	else if (*i + 1 == cmd->count || !word_in(w, " --work-tree -c "))
		return NULL;
	else
		w = &cmd->words[++*i];
	if (w == next && word_is(next - 1, "-c")) {
		if (!word_begins(w, key))
			return NULL;
		skip = strlen(key);
	}
	value = shell_alloc(out->arena, sizeof(*value));
	*value = word_slice(w, skip, w->text.len, out->arena);
	return value;
}

/* Add git's -C DIR and its work tree. Returns the index of the word after "clean", or 0. */
static size_t directory_git_clean_at(const struct command *cmd, struct action_list *out)
{
	const struct shell_word *tree = NULL, *named;

	for (size_t i = 1; i < cmd->count; i++) {
		if (word_is(&cmd->words[i], "clean")) {
			tree = tree ? tree : directory_git_variable(cmd->at, out);
			if (tree)
				action_chdir(out, tree, 0);
			return i + 1;
		}
		if (word_is(&cmd->words[i], "-C") && i + 1 < cmd->count) {
			action_chdir(out, &cmd->words[++i], 0);
			continue;
		}
		named = directory_git_option(cmd, &i, out);
		tree = named ? named : tree;
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
