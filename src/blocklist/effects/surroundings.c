#include "blocklist/effects/surroundings.h"

#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/autorun.h"

/* Steps of the budget for a redirection, and for a word of a shell before a pipe. */
#define WORK_REDIRECT 60u
#define WORK_WORD 4u

/* ---- redirections ---- */

/* Does @c write nothing, so that : > FILE empties FILE? */
static bool surroundings_writes_nothing(const struct shell_command *c)
{
	const struct shell_word *w = c->words;

	if (c->word_count == 0)
		return true;
	if (c->word_count == 1)
		return word_is(w, ":") || word_is(w, "true") || word_is(w, "echo");
	return c->word_count == 2 &&
	       (word_is(w, "cat") || word_is(w, "echo") || word_is(w, "printf")) &&
	       (word_is(w + 1, "/dev/null") || word_is(w + 1, "-n") || !w[1].text.len);
}

static void surroundings_redirects(const struct shell_command *c, struct action_list *out)
{
	action_charge(out, WORK_REDIRECT * c->redirect_count);
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		const char *effect = r->op == SHELL_APPEND ? "append"
				     : r->op == SHELL_TO || r->op == SHELL_BOTH ? "write" : NULL;
		struct action *a;

		if (!effect)
			continue;
		if (r->op == SHELL_TO && surroundings_writes_nothing(c)) {
			a = action_add(out, ACTION_TOUCH, 0);
			a->effect = "wipe";
			a->word = &r->target;
		}
		a = action_add(out, ACTION_TOUCH, 0);
		a->effect = effect;
		a->word = &r->target;
		a->start = c->start;
		a->end = c->end;
	}
}

/* ---- variables ---- */

/* Does a program or a shell run the text of the variable? Of a prompt a shell runs only the
 * substitutions; read as a command it has these too, and is rarely anything else. */
static bool surroundings_is_run(const char *name, size_t len)
{
	static const char run[] =
		" PROMPT_COMMAND PS0 PS1 PS2 PS4 PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR "
		"GIT_SSH_COMMAND GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF LESSOPEN LESSEDIT LESSCLOSE "
		"BROWSER RSYNC_RSH SUDO_EDITOR GIT_PROXY_COMMAND SHELLOPTS_COMMAND ";

	return list_has(run, name, len);
}

/* The value begins at @from of @word. */
static void surroundings_value(const struct shell_word *word, size_t from, struct action_list *out)
{
	from += strspn(word->text.s + from, "|-;& "); /* LESSOPEN's marks; what is appended */
	action_text_part(out, word, from, word->text.len, ACTION_LENIENT);
}

void surroundings_assigns(const struct shell_assign *assigns, size_t count,
			  struct action_list *out)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = assigns[i].name;
		const struct shell_word *value = &assigns[i].value;

		if (value->content && list_has(" BASH_ENV ENV ", name, strlen(name)))
			action_file(out, value, value, 1, ACTION_LENIENT);
		if (surroundings_is_run(name, strlen(name)))
			surroundings_value(value, 0, out);
	}
}

/* export PROMPT_COMMAND='rm -rf ~' */
static void surroundings_declares(const struct shell_command *c, struct action_list *out)
{
	if (!c->word_count || !word_in(&c->words[0], " export declare typeset readonly local "))
		return;
	for (size_t i = 1; i < c->word_count; i++) {
		const char *text = c->words[i].text.s;
		size_t len = strcspn(text, "+=");

		if (surroundings_is_run(text, len))
			surroundings_value(&c->words[i], len + strspn(text + len, "+="), out);
	}
}

/* ---- answers ---- */

/* nc, and openssl s_client */
static bool surroundings_is_sender(const struct shell_command *c)
{
	const struct blocklist_name *sender = name_of(&c->words[0]);

	return sender && ((sender->flow & FLOW_KIND_FETCH) ||
			  words_have(c->words, c->word_count, " s_client "));
}

/* sh -i | nc HOST PORT: a remote host controls the shell and reads its output. */
static void surroundings_answers(const struct place *at, const struct shell_command *c,
				 struct action_list *out)
{
	const struct shell_command *from;
	const struct blocklist_name *shell;
	const struct blocklist_wrapper *wrapper;
	struct action *a;

	if (!c->word_count || c->piped_from >= at->script->command_count)
		return;
	from = &at->script->commands[c->piped_from];
	if (!from->word_count || !surroundings_is_sender(c))
		return;
	shell = name_of(&from->words[0]);
	wrapper = shell ? name_wrapper(shell) : NULL;
	if (!wrapper || wrapper->kind != WRAPPER_SHELL)
		return;
	for (size_t i = 1; i < from->word_count; i++)
		if (!word_in(&from->words[i], " -i -s ") || !action_charge(out, WORK_WORD))
			return;
	a = action_add(out, ACTION_FLOW, 0);
	a->flow = FLOW_REMOTE;
	a->start = from->start;
	a->end = c->end;
}

void surroundings_read(const struct place *at, struct action_list *out)
{
	const struct shell_command *c = place_command(at);

	surroundings_answers(at, c, out);
	surroundings_redirects(c, out);
	autorun_read(at, out);
	surroundings_assigns(c->assigns, c->assign_count, out);
	surroundings_declares(c, out);
}
