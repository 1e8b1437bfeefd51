#include "blocklist/effects/input.h"

#include <stdlib.h>
#include <string.h>

#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/files.h"

/* ---- descriptors ---- */

/* Commands searched backwards for the exec that opened a descriptor. */
#define BEFORE_MAX 32

static const struct shell_word *input_opened_by(const struct shell_command *c, long fd)
{
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];

		if (r->fd != fd)
			continue;
		if (r->op == SHELL_HERE || r->op == SHELL_STRING)
			return &r->target;
		if (r->op == SHELL_FROM && r->target.content)
			return r->target.content;
	}
	return NULL;
}

static const struct shell_word *input_opened_before(const struct shell_script *s, uint32_t index,
						    long fd)
{
	for (uint32_t i = index; fd > 2 && i-- > 0 && index - i <= BEFORE_MAX;) {
		const struct shell_command *before = &s->commands[i];
		const struct shell_word *text = NULL;

		if (before->word_count == 1 && word_is(before->words, "exec"))
			text = input_opened_by(before, fd);
		if (text)
			return text;
	}
	return NULL;
}

/* ---- standard input ---- */

/* Does a redirection replace its standard input? */
static bool input_redirected(const struct shell_command *c)
{
	for (size_t i = 0; i < c->redirect_count; i++)
		if (c->redirects[i].fd <= 0 &&
		    (c->redirects[i].op == SHELL_FROM || c->redirects[i].op == SHELL_HERE ||
		     c->redirects[i].op == SHELL_STRING))
			return true;
	return false;
}

/* sh < /dev/stdin */
static bool input_is_outer(const struct shell_command *c)
{
	static const char names[] = " /dev/stdin /dev/fd/0 /proc/self/fd/0 ";

	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_word *file = &c->redirects[i].target;

		if (c->redirects[i].op == SHELL_FROM &&
		    word_in(file, names))
			return true;
	}
	return false;
}

/* echo x > >(sh), tee >(sh): the text fed to each >(...) of command @index. */
static const struct shell_word *input_of_process(const struct dataflow *flows, uint32_t index)
{
	const struct shell_command *parent = &flows->script->commands[index];

	if (parent->word_count && name_in(&parent->words[0], " tee "))
		return parent->input;
	return parent->output;
}

/* Does @c in >(...) read what its parent writes? The parser gives it the parent's input. */
static bool input_is_sink(const struct dataflow *flows, const struct shell_command *c)
{
	return (c->context & SHELL_IN_PROCESS) && c->parent < flows->script->command_count &&
	       flows->sinks && flows->sinks[c->parent] &&
	       c->input == flows->script->commands[c->parent].input;
}

/* So many commands before one are looked at for the group that it stands in. */
#define GROUP_LOOK_BACK 16

/* sh < FILE, { sh; } < FILE, cat FILE | sh: the file, if the text wrote it, or NULL. */
static const struct written_file *input_file(const struct place *at, struct shell_budget *budget)
{
	const struct shell_command *c = place_command(at);
	const struct written_file *file = NULL;

	if (!at->files->count)
		return NULL;
	file = files_redirected(at->files, c, budget);
	if (!file && c->piped_from != SHELL_NONE)
		file = files_printed(at->files, &at->script->commands[c->piped_from],
				     budget);
	for (uint32_t back = 1; !file && back <= at->index && back <= GROUP_LOOK_BACK; back++) {
		const struct shell_command *group = c - back;

		if (!group->word_count && group->start <= c->start && c->end <= group->end)
			file = files_redirected(at->files, group, budget);
	}
	return file;
}

void input_find(struct place *at, const struct dataflow *flows, const struct shell_word *outer,
		unsigned outer_flow, struct shell_budget *budget, struct shell_arena *arena)
{
	const struct written_file *file = input_file(at, budget);
	const struct shell_command *c = place_command(at);

	if (input_is_sink(flows, c))
		at->input = input_of_process(flows, c->parent);
	if (!at->input)
		at->input = c->input;
	if (!at->input)
		at->input = files_content(file, budget, arena);
	if (!at->input && outer &&
	    (input_is_outer(c) || (outer->text.len > INPUT_PARSED_MAX && !input_redirected(c))))
		at->input = outer;
	if (!at->input && (c->context & SHELL_IN_PROCESS) && c->parent < at->script->command_count)
		at->input = input_of_process(flows, c->parent);
	at->input_flow = dataflow_input(flows, at->index);
	if (at->input) /* the filter's output is known */
		at->input_flow &= ~(unsigned)FLOW_FILTERED;
	if (!at->input_flow && c->piped_from == SHELL_NONE && !input_redirected(c) &&
	    !(c->context & SHELL_IN_SUBSTITUTION))
		at->input_flow = outer_flow;
	if (file) /* one that sed made can be read first */
		at->input_flow |= file->flow & ~(unsigned)FLOW_FILTERED;
}

void input_rest(struct place *at, const struct shell_word *text, struct shell_arena *arena)
{
	const struct shell_command *c = place_command(at);
	uint32_t start = text->text.at[0];
	size_t from = c->end > start ? c->end - start : 0;
	const char *newline;
	struct shell_word *rest;

	if (at->input || from >= text->text.len || c->piped_from != SHELL_NONE ||
	    input_redirected(c) || (c->context & SHELL_IN_SUBSTITUTION))
		return;
	newline = memchr(text->text.s + from, '\n', text->text.len - from);
	from = newline ? (size_t)(newline + 1 - text->text.s) : text->text.len;
	if (from == text->text.len)
		return;
	rest = shell_alloc(arena, sizeof(*rest));
	*rest = *text;
	rest->text.s += from;
	rest->text.at += from;
	rest->text.len -= from;
	rest->kind += from;
	rest->start = start + (uint32_t)from;
	at->input = rest;
	at->input_is_rest = true;
}

const struct shell_word *input_descriptor(const struct place *at, const struct shell_word *file)
{
	const struct shell_command *c = place_command(at);
	const struct shell_word *text;
	long fd;

	if (!c || (!word_begins(file, "/dev/fd/") && !word_begins(file, "/proc/self/fd/")))
		return NULL;
	fd = strtol(strrchr(file->text.s, '/') + 1, NULL, 10);
	text = input_opened_by(c, fd);
	return text ? text : input_opened_before(at->script, at->index, fd);
}

/*
 * The whole input is judged as script. Its own commands read the rest of it, from the next line on
 * (effects/input.h); a shell among them, which reads the same lines, adds nothing.
 */
void input_run(const struct command *cmd, const struct shell_word *words, size_t count,
	       unsigned flags, struct action_list *out)
{
	const struct shell_word *input = cmd->at->input;

	action_flow(out, cmd->at->input_flow & ~(flags & ACTION_FOREIGN ? FLOW_FILTERED : 0u),
		    cmd->words, cmd->count);
	if (!input)
		return;
	action_flow(out, dataflow_origin(cmd->at, input), input, 1);
	if (cmd->at->input_is_rest && !(flags & ACTION_FOREIGN))
		return;
	action_script(out, input, words, count, flags | ACTION_NO_INPUT);
}
