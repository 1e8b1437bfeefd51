#include "blocklist/altered.h"

#include <string.h>

#include "base/str.h"
#include "blocklist/command/word.h"
#include "shell/words.h"

/* ---- redirections ---- */

bool altered_writes(const struct shell_redirect *r)
{
	const char *file;

	if (r->op != SHELL_TO && r->op != SHELL_APPEND && r->op != SHELL_BOTH)
		return false;
	file = shell_word_constant(&r->target);
	return !file || strcmp(file, "/dev/null");
}

bool altered_feeds(const struct shell_redirect *r)
{
	return r->op != SHELL_TO && r->op != SHELL_APPEND && r->fd <= 0 &&
	       (r->op != SHELL_DUP || r->fd == 0);
}

static bool altered_by_redirects(const struct shell_command *c)
{
	for (size_t i = 0; i < c->redirect_count; i++)
		if (altered_writes(&c->redirects[i]) || altered_feeds(&c->redirects[i]))
			return true;
	return false;
}

/* ---- a script ---- */

/* Part of a word that may not be there is not known. */
static const char *altered_known(const struct shell_word *word)
{
	return word->gone_from < word->gone_to ? NULL : shell_word_constant(word);
}

/* May @c change what other commands do? One whose name is not known may be any builtin, or nothing
 * behind its assignments. */
static bool altered_by_command(const struct shell_command *c)
{
	const char *name;

	if (!c->word_count) /* of a group, or no more than assignments and redirections */
		return c->assign_count || altered_by_redirects(c);
	name = altered_known(&c->words[0]);
	if (!name || c->context & SHELL_TEST) /* [[ A=1 -eq 1 ]] sets A */
		return true;
	return shell_words_is_builtin(name) &&
	       (!shell_words_is_plain_builtin(name) || c->assign_count);
}

bool altered_by_script(const struct shell_script *script)
{
	bool altered = script->sets_variables || script->sets_path || script->function_count;

	for (size_t i = 0; i < script->command_count && !altered; i++)
		altered = altered_by_command(&script->commands[i]);
	return altered;
}

/* ---- wrappers ---- */

/* Are all words of the wrapper @cmd known, up to the command @a? With @assigns, are they NAME=VALUE
 * alone? These take the place of what another env around it sets (struct place). */
static bool altered_knows_words(const struct command *cmd, const struct action *a, bool assigns)
{
	size_t count = cmd->count > a->count ? cmd->count - a->count : 0;

	if (a->kind != ACTION_WORDS || !count || a->words != cmd->words + count ||
	    (assigns && cmd->at->assign_count))
		return false;
	for (size_t i = 1; i < count; i++) {
		const char *word = altered_known(&cmd->words[i]);

		if (!word || (assigns && (word[0] == '-' || !strchr(word, '='))))
			return false;
	}
	return true;
}

/* Is @a the TEXT of sh -c TEXT? */
static bool altered_is_text(const struct command *cmd, const struct action *a)
{
	return a->kind == ACTION_TEXT && cmd->count > 2 && word_is(&cmd->words[1], "-c") &&
	       a->word == &cmd->words[2] && altered_known(a->word);
}

bool altered_by_wrapper(const struct command *cmd, const struct action *a)
{
	static const char *const plain[] = { "ionice", "nice", "timeout", NULL };
	static const char *const shells[] = { "bash", "dash", "sh", NULL };
	const char *name = altered_known(&cmd->words[0]);

	if (!name)
		return true;
	if (str_is_listed(name, shells))
		return !altered_is_text(cmd, a);
	return !(str_is_listed(name, plain) && altered_knows_words(cmd, a, false)) &&
	       !(!strcmp(name, "env") && altered_knows_words(cmd, a, true));
}

bool altered_by_place(const struct place *at)
{
	const struct shell_command *c = place_command(at);

	return at->assign_count || (c && (c->assign_count || c->piped_from != SHELL_NONE ||
					  altered_by_redirects(c)));
}
