#include "blocklist/effects/input.h"

#include <stdlib.h>
#include <string.h>

#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/files.h"

/* ---- descriptors ---- */

/* Commands searched backwards for the exec that opened a descriptor. */
#define BEFORE_MAX 32

/* The number in /dev/fd/N or /proc/self/fd/N; *end: behind it. -1: @file is another path. */
static long input_number(const struct shell_word *file, size_t *end)
{
	const char *s = file->text.s, *p = NULL;
	char *behind;
	long fd;

	*end = 0;
	if (word_begins(file, "/dev/fd/"))
		p = s + strlen("/dev/fd");
	else if (word_begins(file, "/proc/") && (p = strchr(s + strlen("/proc/"), '/')))
		p = strncmp(p, "/fd/", 4) == 0 ? p + 3 : NULL;
	if (!p || p[1] < '0' || p[1] > '9' || file->kind[p + 1 - s] != SHELL_LITERAL)
		return -1;
	fd = strtol(p + 1, &behind, 10);
	if (*behind && *behind != '/')
		return -1;
	*end = (size_t)(behind - s);
	return fd;
}

/* The redirection of @c that opens *@fd; NULL: none does, but *@fd may be another one then, of
 * which it is a duplicate. */
static const struct shell_redirect *input_redirect(const struct shell_command *c, long *fd)
{
	for (size_t i = c->redirect_count; i-- > 0;) {
		const struct shell_redirect *r = &c->redirects[i];
		bool out = r->op == SHELL_TO || r->op == SHELL_APPEND;

		if (*fd != (r->fd < 0 ? out : r->fd))
			continue;
		if (r->op != SHELL_DUP || r->target.text.s[0] < '0' || r->target.text.s[0] > '9')
			return r;
		*fd = strtol(r->target.text.s, NULL, 10);
	}
	return NULL;
}

const struct shell_redirect *input_opened(const struct place *at, const struct shell_word *file,
					  size_t *end)
{
	const struct shell_command *c = place_command(at);
	long fd = c ? input_number(file, end) : (*end = 0, -1);
	const struct shell_redirect *r = fd < 0 ? NULL : input_redirect(c, &fd);

	for (uint32_t i = at->index; fd >= 0 && !r && i-- > 0 && at->index - i <= BEFORE_MAX;) {
		const struct shell_command *before = &at->script->commands[i];
		bool around = !before->word_count && before->start <= c->start &&
			      c->end <= before->end;

		if (around || (before->word_count == 1 && word_is(before->words, "exec")))
			r = input_redirect(before, &fd);
	}
	return r;
}

const struct shell_word *input_text(const struct shell_redirect *r)
{
	if (r->op == SHELL_HERE || r->op == SHELL_STRING)
		return &r->target;
	return r->op == SHELL_FROM ? r->target.content : NULL;
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

/* sh < /dev/stdin, sh 3<&0 < /dev/fd/3 */
static bool input_is_outer(const struct place *at)
{
	const struct shell_command *c = place_command(at);
	size_t end;

	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_word *file = &c->redirects[i].target;

		if (c->redirects[i].op != SHELL_FROM)
			continue;
		if (word_is_input(file) ||
		    (!input_opened(at, file, &end) && end && end == file->text.len))
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

void input_find(struct place *at, const struct shell_word *outer, struct shell_budget *budget,
		struct shell_arena *arena)
{
	const struct dataflow *flows = at->flows;
	const struct written_file *file = input_file(at, budget);
	const struct shell_command *c = place_command(at);
	const struct shell_word *known = at->input.text;
	unsigned outer_flow = at->input_flow;

	if (input_is_sink(flows, c))
		known = input_of_process(flows, c->parent);
	if (!known)
		known = c->input;
	if (!known)
		known = files_content(file, budget, arena);
	if (!known && outer &&
	    (input_is_outer(at) || (outer->text.len > INPUT_PARSED_MAX && !input_redirected(c))))
		known = outer;
	if (!known && (c->context & SHELL_IN_PROCESS) && c->parent < at->script->command_count)
		known = input_of_process(flows, c->parent);
	at->input.text = known;
	at->input_flow = dataflow_input(flows, at->index);
	if (known) /* the filter's output is known */
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

	if (at->input.text || from >= text->text.len || c->piped_from != SHELL_NONE ||
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
	at->input.text = rest;
	at->input_is_rest = true;
}

const struct shell_word *input_standard(const struct place *at, const struct shell_word *outer)
{
	const struct shell_command *c = place_command(at);

	if (at->input.text && !input_redirected(c))
		return place_input(at);
	return c->piped_from == SHELL_NONE ? outer : NULL;
}

/*
 * The whole input is judged as script. Its own commands read the rest of it, from the next line on
 * (effects/input.h); a shell among them, which reads the same lines, adds nothing.
 */
void input_run(const struct command *cmd, const struct shell_word *words, size_t count,
	       unsigned flags, struct action_list *out)
{
	const struct shell_word *input = place_input(cmd->at);

	action_flow(out, cmd->at->input_flow & ~(flags & ACTION_FOREIGN ? FLOW_FILTERED : 0u),
		    cmd->words, cmd->count);
	if (!input)
		return;
	action_flow(out, dataflow_origin(cmd->at, input), input, 1);
	if (cmd->at->input_is_rest && !(flags & ACTION_FOREIGN))
		return;
	action_script(out, input, words, count, flags | ACTION_NO_INPUT);
}
