/* Commands that change or clean a directory: cd, pushd, popd, git -C DIR clean. */
#include "blocklist/effects/readers.h"

#include <string.h>

#include "blocklist/command/word.h"
#include "shell/parse.h"

void read_cd(const struct command *cmd, struct action_list *out)
{
	struct shell_word home = word_fixed("~", SHELL_TILDE, NULL, out->arena);
	size_t i = 1;

	while (i < cmd->count && cmd->words[i].text.s[0] == '-' && cmd->words[i].text.len > 1)
		i++;
	out->keeps_directory = true;
	if (i == cmd->count)
		action_chdir(out, &home, 0);
	else if (word_is(&cmd->words[i], "-"))
		action_chdir(out, NULL, ACTION_BACK);
	else
		action_chdir(out, &cmd->words[i], 0);
}

/* +1, -0: a place in the list of pushd. */
static bool directory_is_place(const struct shell_word *w)
{
	return w->text.len > 1 && strchr("+-", w->text.s[0]) &&
	       strspn(w->text.s + 1, "0123456789") == w->text.len - 1;
}

/* The word behind -n, which leaves the directory as it is, and --. */
static size_t directory_operand(const struct command *cmd, bool *stays)
{
	size_t i = 1;

	*stays = i < cmd->count && word_is(&cmd->words[i], "-n");
	i += *stays;
	return i + (i < cmd->count && word_is(&cmd->words[i], "--"));
}

/* pushd and popd */
void read_pushd(const struct command *cmd, struct action_list *out)
{
	struct shell_word second = word_fixed("+1", SHELL_LITERAL, NULL, out->arena);
	bool pops = command_in(cmd, " popd "), stays;
	size_t i = directory_operand(cmd, &stays);
	const struct shell_word *w = i < cmd->count ? &cmd->words[i] : NULL;
	bool place = w && directory_is_place(w);

	out->keeps_directory = true;
	if (pops && (place || (stays && !w)))
		action_chdir(out, w ? w : &second, ACTION_TURN | ACTION_POP);
	else if (pops && !w)
		action_chdir(out, NULL, ACTION_POP);
	else if (pops || (stays && (!w || place)))
		return;
	else if (!w) /* pushd alone swaps the last two */
		action_chdir(out, NULL, ACTION_PUSH | ACTION_POP);
	else if (place)
		action_chdir(out, w, ACTION_TURN);
	else if (word_is(w, "-"))
		action_chdir(out, NULL, ACTION_PUSH | ACTION_BACK);
	else
		action_chdir(out, w, ACTION_PUSH | (stays ? ACTION_STAY : 0));
}

/* Is @value empty, or a variable that no text sets? */
static bool directory_is_unset(const struct shell_word *value)
{
	const struct shell_unknown *u = shell_word_unknown(value, 0);

	return !value->text.len ||
	       (value->text.len == 1 && u && strcmp(u->name, "GIT_WORK_TREE") == 0);
}

static const struct shell_word *directory_copy(const struct shell_word *word,
					       struct shell_arena *arena)
{
	struct shell_word *copy = shell_alloc(arena, sizeof(*copy));
	struct shell_unknown *unknowns;

	*copy = word_slice(word, 0, word->text.len, arena);
	unknowns = shell_alloc(arena, (copy->unknown_count + 1) * sizeof(*unknowns));
	for (uint32_t i = 0; i < copy->unknown_count; i++) {
		unknowns[i] = copy->unknowns[i];
		unknowns[i].name = shell_copy(arena, unknowns[i].name, strlen(unknowns[i].name));
	}
	copy->unknowns = unknowns;
	return copy;
}

/*
 * What $GIT_WORK_TREE is for @at's command, by the variables that its text exports; NULL: it
 * does not say.
 */
static const struct shell_word *directory_exported(const struct place *at, struct action_list *out)
{
	static const char s[] = ": \"$GIT_WORK_TREE\"";
	const struct shell_text text = { .s = s, .len = sizeof(s) - 1 };
	const struct shell_setup setup = { .outer = at->script, .outer_command = at->index,
					   .exported_only = true };
	const struct shell_word *value = NULL;
	struct shell_script script;

	shell_parse_with(&text, &setup, out->budget, &script);
	if (script.trouble != SHELL_FINE) /* the budget did not last */
		action_charge(out, out->budget->work);
	for (size_t i = 0; !value && i < script.command_count; i++)
		if (script.commands[i].word_count == 2 &&
		    !directory_is_unset(&script.commands[i].words[1]))
			value = directory_copy(&script.commands[i].words[1], out->arena);
	shell_script_free(&script);
	return value;
}

/* Does env, before @cmd, take the variable out of its environment? */
static bool directory_env_drops(const struct command *cmd, const struct shell_command *c)
{
	static const char all[] = " -i - --ignore-environment ";
	static const char one[] = " -uGIT_WORK_TREE --unset=GIT_WORK_TREE ";
	bool env = false;

	for (size_t i = 0; i + cmd->count < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];

		if (env && (word_in(w, all) || word_in(w, one)))
			return true;
		if (env && word_in(w, " -u --unset ") && word_is(w + 1, "GIT_WORK_TREE"))
			return true;
		env |= word_in(w, " env /usr/bin/env ");
	}
	return false;
}

/* What the command's environment says of the work tree, or NULL. */
static const struct shell_word *directory_git_variable(const struct command *cmd,
						       struct action_list *out)
{
	const struct place *at = cmd->at;
	const struct shell_command *c = place_command(at);

	for (size_t i = at->assign_count; i-- > 0;)
		if (strcmp(at->assigns[i].name, "GIT_WORK_TREE") == 0)
			return &at->assigns[i].value;
	return c && !directory_env_drops(cmd, c) ? directory_exported(at, out) : NULL;
}

/* The work tree that git's option at *@i, before its subcommand, names; NULL: none. */
static const struct shell_word *directory_git_option(const struct command *cmd, size_t *i,
						     struct action_list *out)
{
	static const char tree[] = "--work-tree=", key[] = "core.worktree=";
	const struct shell_word *w = &cmd->words[*i];
	bool joined = word_begins(w, tree), config = word_is(w, "-c");
	size_t skip = joined ? strlen(tree) : config ? strlen(key) : 0;
	struct shell_word *value;

	if (!joined) {
		if (*i + 1 == cmd->count || !(config || word_is(w, "--work-tree")))
			return NULL;
		w = &cmd->words[++*i];
	}
	if (config && !word_begins(w, key))
		return NULL;
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
			tree = tree ? tree : directory_git_variable(cmd, out);
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
