#include "blocklist/walk.h"

#include <string.h>

#include "blocklist/bomb.h"
#include "blocklist/flow.h"
#include "blocklist/stage.h"

/* What wrappers and code may put together. */
#define MEMORY_MAX (16u << 20)
/* More than the longest request over the protocol has room for. */
#define COMMANDS_MAX 70000u
/*
 * The steps of a verdict, of 3 ns or less each: a text of up to WORK_SHORT bytes may take
 * one millisecond, whatever its loops and functions make of it. A longer one is a program,
 * and gets more for each byte, up to the most that any verdict may take.
 */
#define WORK_BASE 330000u
#define WORK_SHORT 10000u
#define WORK_BYTE 240u
#define WORK_MAX 4800000u
/* Subshells in each other whose working directories are told apart. */
#define SUBSHELLS_MAX 8

bool walk_found(struct blocklist_walk *w, const char *id, uint32_t start, uint32_t end)
{
	return blocklist_found(id, start, end, &w->finding);
}

bool walk_too_complex(struct blocklist_walk *w, uint32_t at)
{
	return walk_found(w, "text.too_complex", at, at);
}

/* ---- one script ---- */

/* The subshells a command stands in, and the working directory outside of each. */
struct subshells {
	struct {
		unsigned scope;
		struct blocklist_dir outside;
	} list[SUBSHELLS_MAX];
	size_t count;
};

/* cd in a subshell ends with it. Deeper than the list is long it stays. */
static void enter(struct blocklist_walk *w, const struct shell_command *c, struct subshells *s)
{
	unsigned scope = c->context & ~SHELL_CONTEXT_MASK, depth = shell_subshell_depth(scope);

	while (s->count && s->list[s->count - 1].scope != scope &&
	       shell_subshell_depth(s->list[s->count - 1].scope) >= depth)
		blocklist_dir_copy(&w->rules.dir, &s->list[--s->count].outside);
	if (!depth || s->count == SUBSHELLS_MAX ||
	    (s->count && s->list[s->count - 1].scope == scope))
		return;
	s->list[s->count].scope = scope;
	blocklist_dir_copy(&s->list[s->count++].outside, &w->rules.dir);
}

static bool bomb(struct blocklist_walk *w, const struct shell_script *s)
{
	uint32_t start, end;
	size_t others = s->function_count < WALK_FUNCTIONS_MAX ? s->function_count
							       : WALK_FUNCTIONS_MAX;

	for (size_t i = 0; i < s->function_count; i++)
		if (walk_spent(w, others * (s->functions[i].last - s->functions[i].first + 1)))
			return walk_too_complex(w, s->functions[i].start);
	return blocklist_bomb_find(s, &start, &end) &&
	       walk_found(w, "process.fork_bomb", start, end);
}

static bool walk_script(struct blocklist_walk *w, const struct shell_script *s)
{
	struct blocklist_dir start, before;
	struct subshells subshells;
	struct blocklist_flows flows;
	bool blocked = bomb(w, s);

	subshells.count = 0;
	blocklist_dir_copy(&start, &w->rules.dir);
	blocklist_dir_copy(&before, &start);
	blocklist_flow_read(&flows, s, &w->arena);
	shell_budget_take(&w->budget, WALK_WORD * s->command_count);
	for (uint32_t i = 0; !blocked && i < s->command_count; i++) {
		const struct shell_command *c = &s->commands[i];
		bool defined = (c->context & SHELL_IN_FUNCTION) && !(c->context & SHELL_IN_CALL);
		struct shell_arena_mark mark = shell_arena_mark(&w->arena);
		size_t files = w->files.count;
		uint32_t fed_by = flows.fed_by;

		if (defined)
			blocklist_dir_copy(&before, &w->rules.dir);
		enter(w, c, &subshells);
		blocked = walk_command(w, s, &flows, i);
		if (!blocked && w->files.count == files && flows.fed_by == fed_by &&
		    !shell_arena_spent(&w->arena))
			shell_arena_rewind(&w->arena, &mark);
		if (defined)
			blocklist_dir_copy(&w->rules.dir, &before);
	}
	blocklist_dir_copy(&w->rules.dir, &start);
	return blocked;
}

/* Either the outermost @text, or @word out of another text. */
static bool parse_and_walk(struct blocklist_walk *w, const struct shell_text *text,
			   const struct shell_word *word, const struct shell_setup *setup,
			   bool lenient)
{
	struct shell_script script;
	size_t bytes = w->budget.bytes;
	bool blocked;

	if (word)
		shell_parse_word(word, setup, &w->budget, &script);
	else
		shell_parse_with(text, setup, &w->budget, &script);
	blocked = walk_script(w, &script);
	if (!blocked && script.trouble == SHELL_SYNTAX && !lenient)
		blocked = walk_found(w, "text.unparsable", script.trouble_at, script.trouble_at);
	else if (!blocked && script.trouble != SHELL_FINE && script.trouble != SHELL_SYNTAX)
		blocked = walk_found(w, "text.too_complex", script.trouble_at, script.trouble_at);
	if (blocked && script.trouble != SHELL_FINE && !w->finding.detail &&
	    strncmp(w->finding.rule->id, "text.", 5) == 0)
		w->finding.detail = script.trouble_text;
	shell_script_free(&script);
	w->budget.bytes = bytes;
	return blocked;
}

/* What is unknown in a text may bring the quote that is missing. */
static bool has_unknown(const struct shell_word *text)
{
	for (size_t i = 0; i < text->text.len; i++)
		if (word_unknown_at(text, i))
			return true;
	return false;
}

bool walk_nested(struct blocklist_walk *w, const struct shell_word *text,
		 const struct shell_word *args, size_t arg_count, const struct blocklist_stage *at)
{
	struct shell_setup setup = { .args = args, .arg_count = arg_count, .input = at->input,
				     .bash = at->bash };
	struct shell_assign *all;
	size_t n = at->assign_count + (at->script ? 0 : w->variable_count);
	unsigned outer = w->input_flow;
	bool blocked;

	if (w->depth >= WALK_DEPTH_MAX || walk_spent(w, text->text.len))
		return walk_too_complex(w, text->start);
	w->input_flow = at->input_flow;
	if (at->script && at->index != SHELL_NONE) {
		setup.outer = at->script;
		setup.outer_command = at->index;
		setup.exported_only = !at->same_shell;
	}
	all = shell_alloc(&w->arena, (n + 1) * sizeof(*all));
	if (!at->script && w->variable_count)
		memcpy(all, w->variables, w->variable_count * sizeof(*all));
	if (at->assign_count)
		memcpy(all + (n - at->assign_count), at->assigns, at->assign_count * sizeof(*all));
	setup.variables = all;
	setup.variable_count = n;
	w->depth++;
	blocked = parse_and_walk(w, NULL, text, &setup, at->lenient || has_unknown(text));
	w->depth--;
	w->input_flow = outer;
	return blocked;
}

/* ---- entry ---- */

static uint64_t work_for(size_t bytes)
{
	size_t more = bytes > WORK_SHORT ? bytes - WORK_SHORT : 0;
	uint64_t work = WORK_BASE + WORK_BYTE * (uint64_t)more;

	return work < WORK_MAX ? work : WORK_MAX;
}

void blocklist_walk_init(struct blocklist_walk *w, size_t bytes)
{
	memset(w, 0, sizeof(*w));
	shell_arena_init(&w->arena, MEMORY_MAX);
	w->budget = (struct shell_budget)SHELL_BUDGET_INIT;
	w->budget.commands = COMMANDS_MAX;
	w->budget.work = work_for(bytes);
}

void blocklist_walk_release(struct blocklist_walk *w)
{
	shell_arena_release(&w->arena);
	blocklist_args_release(&w->rules.args);
}

/* Something was given up because there was too much of it: what was not judged is not run. */
static bool left_over(struct blocklist_walk *w)
{
	if (!walk_spent(w, 0))
		return false;
	walk_too_complex(w, 0);
	w->finding.detail = "more work than a text of its length may take";
	return true;
}

bool blocklist_walk_text(struct blocklist_walk *w, const struct shell_text *text,
			 const struct shell_word *args, size_t arg_count,
			 const struct shell_word *input)
{
	struct shell_setup setup = { .variables = w->variables,
				     .variable_count = w->variable_count, .args = args,
				     .arg_count = arg_count, .input = input };

	w->input = input;
	if (input && input->text.len > WALK_INPUT_MAX)
		setup.input = NULL;
	return parse_and_walk(w, text, NULL, &setup, w->no_shell) || left_over(w);
}

bool blocklist_walk_words(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			  const struct shell_word *input)
{
	struct blocklist_stage at = { .index = SHELL_NONE, .input = input };

	return walk_words(w, words, count, &at) || left_over(w);
}
