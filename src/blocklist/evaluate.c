#include "blocklist/evaluate.h"

#include <string.h>

#include "base/mem.h"
#include "blocklist/budget.h"
#include "blocklist/command/action.h"
#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/effects.h"
#include "blocklist/effects/fork_bomb.h"
#include "blocklist/effects/input.h"
#include "blocklist/effects/script.h"
#include "blocklist/effects/surroundings.h"
#include "blocklist/effects/wrapper.h"

/* Deeper nesting is text.too_complex. */
#define DEPTH_MAX 40
/* Steps of the budget for a command, for a word, and for names that a pattern is compared with. */
#define WORK_COMMAND 20u
#define WORK_WORD 4u
#define WORK_PATTERN 1200u
/* And where the length, the first and the last character are not known. */
#define WORK_PATTERN_OPEN 6000u
/* Names with unknown parts that are compared with all names of the table. */
#define PATTERNS_MAX 100
/* In a text with more functions than this, a function hides no program. */
#define FUNCTIONS_MAX 64
/* Nested subshells that keep their own working directory. */
#define SUBSHELLS_MAX 8

/* Each returns true if it blocks; the finding is then in @e. */
static bool evaluate_words(struct evaluation *e, const struct shell_word *words, size_t count,
			   const struct place *at);
static bool evaluate_nested(struct evaluation *e, const struct action *a, const struct place *at);
static bool evaluate_list(struct evaluation *e, const struct action_list *list,
			  const struct place *at);

static bool blocked_by(struct evaluation *e, const char *effect, uint32_t start, uint32_t end)
{
	return rules_find_effect(effect, start, end, &e->finding);
}

static bool blocked_too_complex(struct evaluation *e, uint32_t at)
{
	return blocked_by(e, "text.too_complex", at, at);
}

/* Text from @flow is run. */
static bool blocked_by_flow(struct evaluation *e, unsigned flow, uint32_t start, uint32_t end)
{
	if (flow & FLOW_REMOTE)
		return blocked_by(e, "pipe.remote", start, end);
	return blocked_by(e, flow & FLOW_DECODED ? "pipe.decoded" : "pipe.filtered", start, end);
}

/*
 * Charge @steps and the rules' work since the last call to the budget. True: the budget or the
 * memory is spent.
 */
static bool spend_steps(struct evaluation *e, uint64_t steps)
{
	uint64_t all = steps + e->rules.work;

	e->rules.work = 0;
	return !shell_budget_take(&e->budget, all) || shell_arena_spent(&e->arena);
}

static struct action_list action_list_of(struct evaluation *e)
{
	return (struct action_list){ .arena = &e->arena, .budget = &e->budget, .args = &e->args };
}

/* ---- a program ---- */

/* The rules of the table, and what a wrapper runs. @guess: it is only one that may be meant. */
static bool evaluate_named(struct evaluation *e, const struct blocklist_name *name,
			   const struct shell_word *words, size_t count, bool guess,
			   const struct place *at)
{
	struct action_list list = action_list_of(e);
	struct command cmd = { .words = words, .count = count, .name = name, .at = at };
	bool foreign;

	if (spend_steps(e, budget_of_words(words, count)))
		return blocked_too_complex(e, words[0].start);
	e->rules.limit = e->budget.work;
	e->rules.each = at->each;
	if (rules_judge_program(&e->rules, name, words, count, guess, &e->finding))
		return true;
	if (spend_steps(e, 0))
		return blocked_too_complex(e, words[0].start);
	if (guess || !name->wrapper)
		return false;
	cmd.program = name_base(&words[0], &foreign);
	wrapper_read(name->wrapper, &cmd, &list);
	return evaluate_list(e, &list, at);
}

/* The program is unknown: try the words as those of rm -rf, chmod and dd. */
static bool evaluate_unknown(struct evaluation *e, const struct shell_word *words, size_t count,
			     const struct place *at)
{
	struct args *args = &e->rules.args;
	const struct blocklist_name *guesses[] = { name_lookup("rm", 2),
						   name_lookup("chmod", 5),
						   name_lookup("dd", 2) };
	bool itself = place_command(at) && words == place_command(at)->words;
	/* After a wrapper an unknown word may be an option's value, unless it is the only one. */
	unsigned flow = dataflow_of_word(at, &words[0]) &
			(itself || count == 1 ? FLOW_TEXTS : FLOW_REMOTE);

	if (at->each)
		flow |= at->input_flow & FLOW_FILTERED;
	if (flow)
		return blocked_by_flow(e, flow, words[0].start, words[0].end);
	if (count < 2)
		return false;
	args_read(args, words, count, NULL, false);
	e->rules.each = false;
	for (size_t i = 0; i < COUNT_OF(guesses); i++) {
		if (i == 0 && !(args_has(args, " -f --force ") &&
				args_has(args, " -r -R --recursive ")))
			continue;
		if (rules_judge_program(&e->rules, guesses[i], words, count, true, &e->finding))
			return true;
	}
	/* It may be empty, or a wrapper like sudo. */
	return words[1].text.len && words[1].text.s[0] != '-' && !word_unknown_at(&words[1], 0) &&
	       evaluate_words(e, words + 1, count - 1, at);
}

/* A name with globs or unknown parts: each name of the table that fits it. */
static bool evaluate_pattern(struct evaluation *e, const struct shell_text *base,
			     const struct shell_word *words, size_t count, const struct place *at)
{
	const uint8_t *kind = words[0].kind + (base->s - words[0].text.s);
	struct name_pattern pattern;

	if (name_pattern_fits_any(&words[0], base, kind))
		return false;
	if (strpbrk(base->s, " \t\n")) /* no program has such a name */
		return false;
	if (e->rules.patterns++ >= PATTERNS_MAX)
		return blocked_too_complex(e, words[0].start);
	pattern = name_pattern_make(base, kind, &e->arena);
	shell_budget_take(&e->budget, pattern.open && !pattern.first && !pattern.last
			  ? WORK_PATTERN_OPEN : WORK_PATTERN);
	for (unsigned i = 0; i < blocklist_name_count; i++)
		if (name_pattern_fits(&pattern, i) &&
		    evaluate_named(e, &blocklist_names[i], words, count, false, at))
			return true;
	return false;
}

/* A function hides the program of its name after its definition and in its own body. */
static bool place_hides_program(const struct place *at, const struct shell_word *word)
{
	const struct shell_command *c = place_command(at);
	const struct shell_script *s = at->script;

	if (!c || !s->function_count || s->function_count > FUNCTIONS_MAX || word != &c->words[0])
		return false;
	for (size_t i = 0; i < s->function_count; i++)
		if (s->functions[i].name[0] == word->text.s[0] &&
		    word_is(word, s->functions[i].name) &&
		    (s->functions[i].end <= c->start ||
		     (s->functions[i].start <= c->start && c->start < s->functions[i].end)))
			return true;
	return false;
}

/* Run ./x.sh that the text wrote, or ./x that it copied from a program. */
static bool evaluate_own_file(struct evaluation *e, const struct shell_word *words, size_t count,
			      const struct place *at)
{
	const struct written_file *f = files_find(&e->files, &words[0]);
	struct action_list list = action_list_of(e);
	struct shell_word *copy;

	/* A name without a slash is looked for in PATH. */
	if (!f || (!f->program && !strchr(words[0].text.s, '/')))
		return false;
	if (f->program) {
		copy = shell_alloc(&e->arena, count * sizeof(*copy));
		memcpy(copy, words, count * sizeof(*copy));
		copy[0] = f->content;
		copy[0].start = words[0].start;
		copy[0].end = words[0].end;
		return evaluate_words(e, copy, count, at);
	}
	action_file(&list, &words[0], words, count, ACTION_LENIENT);
	return evaluate_list(e, &list, at);
}

/* A known program: first the rules of the table, then its readers. */
static bool evaluate_known(struct evaluation *e, const struct shell_text *base, bool foreign,
			   const struct shell_word *words, size_t count, const struct place *at)
{
	struct command cmd = { .words = words, .count = count, .program = *base, .at = at,
			       .name = name_lookup(base->s, base->len) };
	unsigned step = 0;

	if (cmd.name && evaluate_named(e, cmd.name, words, count, foreign && !cmd.name->wrapper,
				       at))
		return true;
	for (;;) {
		struct action_list list = action_list_of(e);

		if (!effects_read(&cmd, &step, &list))
			return false;
		if (spend_steps(e, 0))
			return blocked_too_complex(e, words[0].start);
		if (list.count && evaluate_list(e, &list, at))
			return true;
	}
}

static bool evaluate_words_of(struct evaluation *e, const struct shell_word *words, size_t count,
			      const struct place *at)
{
	bool foreign;
	struct shell_text base = name_base(&words[0], &foreign);
	const uint8_t *kind = words[0].kind + (base.s - words[0].text.s);

	if (!base.len)
		return count > 1 && !words[0].text.len &&
		       evaluate_words(e, words + 1, count - 1, at);
	if (base.len == 1 && word_unknown_at(&words[0], words[0].text.len - 1))
		return evaluate_unknown(e, words, count, at);
	if (name_is_pattern(&base, kind))
		return evaluate_pattern(e, &base, words, count, at);
	if (place_hides_program(at, &words[0]))
		return false;
	return (e->files.count && evaluate_own_file(e, words, count, at)) ||
	       evaluate_known(e, &base, foreign, words, count, at);
}

static bool evaluate_words(struct evaluation *e, const struct shell_word *words, size_t count,
			   const struct place *at)
{
	bool blocked;

	if (!count)
		return false;
	if (e->depth >= DEPTH_MAX || spend_steps(e, WORK_COMMAND + WORK_WORD * count))
		return blocked_too_complex(e, words[0].start);
	e->depth++;
	blocked = evaluate_words_of(e, words, count, at);
	e->depth--;
	return blocked;
}

/* ---- actions ---- */

/* Text of another language. */
static bool evaluate_code(struct evaluation *e, const struct action *a, const struct place *at)
{
	struct action_list list = action_list_of(e);
	struct place inner = *at;
	bool blocked;

	if (e->depth >= DEPTH_MAX)
		return false;
	inner.args = a->words;
	inner.arg_count = a->count;
	inner.lenient = true;
	script_read(a->word, a->flags & ACTION_AWK, &inner, &list);
	if (spend_steps(e, 0))
		return blocked_too_complex(e, a->word->start);
	e->depth++;
	blocked = evaluate_list(e, &list, &inner);
	e->depth--;
	return blocked;
}

/* sh FILE: the text is known for <(...) and for a file that the text wrote. */
static bool evaluate_file(struct evaluation *e, const struct action *a, const struct place *at)
{
	const struct shell_word *file = a->word, *content = file->content;
	const struct written_file *written = content ? NULL : files_find(&e->files, file);
	struct action inside = *a;
	/* A file that sed made can be read first, so it is not "filtered". */
	unsigned flow = dataflow_origin(at, file) |
			(written ? written->flow & ~(unsigned)FLOW_FILTERED : 0);

	if (flow & FLOW_TEXTS)
		return blocked_by_flow(e, flow, file->start, file->end);
	if (written && written->known)
		content = &written->content;
	if (!content)
		content = input_descriptor(at, file);
	if (!content)
		return false;
	inside.word = content;
	return a->flags & ACTION_FOREIGN ? evaluate_code(e, &inside, at)
					 : evaluate_nested(e, &inside, at);
}

/* The place of what action @a, of a command at @at, runs. */
static struct place place_of_action(const struct action *a, const struct place *at)
{
	struct place p = *at;

	if (a->flags & ACTION_NO_INPUT)
		p.input = NULL;
	p.each |= (a->flags & ACTION_EACH) != 0;
	p.same_shell |= (a->flags & ACTION_SAME_SHELL) != 0;
	p.lenient |= (a->flags & ACTION_LENIENT) != 0;
	if (a->assign_count) {
		p.assigns = a->assigns;
		p.assign_count = a->assign_count;
	}
	return p;
}

static bool evaluate_action(struct evaluation *e, const struct action *a, const struct place *at)
{
	struct place inner = place_of_action(a, at);
	uint32_t start = a->count ? a->words[0].start : 0;
	uint32_t end = a->count ? a->words[a->count - 1].end : 0;

	switch (a->kind) {
	case ACTION_WORDS:
		return evaluate_words(e, a->words, a->count, &inner);
	case ACTION_NAMED:
		return evaluate_named(e, a->name, a->words, a->count, false, &inner);
	case ACTION_TEXT:
		return evaluate_nested(e, a, &inner);
	case ACTION_CODE:
		return evaluate_code(e, a, &inner);
	case ACTION_FILE:
		return evaluate_file(e, a, &inner);
	case ACTION_TOUCH:
		return rules_judge_effect(&e->rules, a->effect, a->word, 0, false, &e->finding);
	case ACTION_FOUND:
		return blocked_by(e, a->effect, start, end);
	case ACTION_FLOW:
		return blocked_by_flow(e, a->flow, start, end);
	case ACTION_CHDIR:
		if (a->word)
			path_chdir(&e->rules.dir, a->word);
		else
			e->rules.dir.known = false;
		return false;
	case ACTION_PRINT:
		return false;
	}
	return false;
}

/* Restores the working directory at the end, unless @list->keeps_directory. */
static bool evaluate_list(struct evaluation *e, const struct action_list *list,
			  const struct place *at)
{
	struct path_dir before;
	bool blocked = false;

	if (!list->count)
		return false;
	if (!list->keeps_directory)
		path_dir_copy(&before, &e->rules.dir);
	for (size_t i = 0; !blocked && i < list->count; i++) {
		const struct action *a = &list->list[i];

		blocked = evaluate_action(e, a, at);
		if (blocked && a->end) {
			e->finding.start = a->start;
			e->finding.end = a->end;
		}
	}
	if (!list->keeps_directory)
		path_dir_copy(&e->rules.dir, &before);
	return blocked;
}

/* ---- one script ---- */

static bool evaluate_command(struct evaluation *e, const struct shell_script *s,
			     struct dataflow *flows, uint32_t index)
{
	const struct shell_command *c = &s->commands[index];
	struct place at = { .script = s, .flows = flows, .index = index, .files = &e->files };
	struct action_list list = action_list_of(e);

	input_find(&at, flows, e->input, e->input_flow, &e->arena);
	surroundings_read(&at, &list);
	if (evaluate_list(e, &list, &at))
		return true;
	if (c->word_count && !(c->context & SHELL_TEST) &&
	    evaluate_words(e, c->words, c->word_count, &at))
		return true;
	if (c->redirect_count || c->word_count > 1)
		files_note(&e->files, flows, index, &e->arena);
	return false;
}

/* The subshells around a command, with the working directory to restore after each. */
struct subshells {
	struct {
		unsigned scope;
		struct path_dir outside;
	} list[SUBSHELLS_MAX];
	size_t count;
};

/* A cd ends with its subshell; in subshells deeper than SUBSHELLS_MAX it stays. */
static void enter_subshell(struct evaluation *e, const struct shell_command *c,
			   struct subshells *s)
{
	unsigned scope = c->context & ~SHELL_CONTEXT_MASK, depth = shell_subshell_depth(scope);

	while (s->count && s->list[s->count - 1].scope != scope &&
	       shell_subshell_depth(s->list[s->count - 1].scope) >= depth)
		path_dir_copy(&e->rules.dir, &s->list[--s->count].outside);
	if (!depth || s->count == SUBSHELLS_MAX ||
	    (s->count && s->list[s->count - 1].scope == scope))
		return;
	s->list[s->count].scope = scope;
	path_dir_copy(&s->list[s->count++].outside, &e->rules.dir);
}

static bool evaluate_fork_bomb(struct evaluation *e, const struct shell_script *s)
{
	uint32_t start, end;
	size_t others = s->function_count < FUNCTIONS_MAX ? s->function_count : FUNCTIONS_MAX;

	for (size_t i = 0; i < s->function_count; i++)
		if (spend_steps(e, others * (s->functions[i].last - s->functions[i].first + 1)))
			return blocked_too_complex(e, s->functions[i].start);
	return fork_bomb_find(s, &start, &end) && blocked_by(e, "process.fork_bomb", start, end);
}

static bool evaluate_script(struct evaluation *e, const struct shell_script *s)
{
	struct path_dir start, before;
	struct subshells subshells;
	struct dataflow flows;
	bool blocked = evaluate_fork_bomb(e, s);

	subshells.count = 0;
	path_dir_copy(&start, &e->rules.dir);
	path_dir_copy(&before, &start);
	dataflow_read(&flows, s, &e->arena);
	shell_budget_take(&e->budget, WORK_WORD * s->command_count);
	for (uint32_t i = 0; !blocked && i < s->command_count; i++) {
		const struct shell_command *c = &s->commands[i];
		bool defined = (c->context & SHELL_IN_FUNCTION) && !(c->context & SHELL_IN_CALL);
		struct shell_arena_mark mark = shell_arena_mark(&e->arena);
		size_t files = e->files.count;
		uint32_t fed_by = flows.fed_by;

		if (defined)
			path_dir_copy(&before, &e->rules.dir);
		enter_subshell(e, c, &subshells);
		blocked = evaluate_command(e, s, &flows, i);
		if (!blocked && e->files.count == files && flows.fed_by == fed_by &&
		    !shell_arena_spent(&e->arena))
			shell_arena_rewind(&e->arena, &mark);
		if (defined)
			path_dir_copy(&e->rules.dir, &before);
	}
	path_dir_copy(&e->rules.dir, &start);
	return blocked;
}

/* Either the outermost @text, or @word out of another text. */
static bool parse_and_evaluate(struct evaluation *e, const struct shell_text *text,
			       const struct shell_word *word, const struct shell_setup *setup,
			       bool lenient)
{
	struct shell_script script;
	size_t bytes = e->budget.bytes;
	bool blocked;

	if (word)
		shell_parse_word(word, setup, &e->budget, &script);
	else
		shell_parse_with(text, setup, &e->budget, &script);
	blocked = evaluate_script(e, &script);
	if (!blocked && script.trouble == SHELL_SYNTAX && !lenient)
		blocked = blocked_by(e, "text.unparsable", script.trouble_at, script.trouble_at);
	else if (!blocked && script.trouble != SHELL_FINE && script.trouble != SHELL_SYNTAX)
		blocked = blocked_by(e, "text.too_complex", script.trouble_at, script.trouble_at);
	if (blocked && script.trouble != SHELL_FINE && !e->finding.detail &&
	    strncmp(e->finding.rule->id, "text.", 5) == 0)
		e->finding.detail = script.trouble_text;
	shell_script_free(&script);
	e->budget.bytes = bytes;
	return blocked;
}

/* The variables of a nested text: those of the request, where no script has them, and @at's. */
static struct shell_assign *nested_variables(struct evaluation *e, const struct place *at,
					     size_t *count)
{
	size_t own = at->script ? 0 : e->variable_count;
	struct shell_assign *all;

	*count = own + at->assign_count;
	all = shell_alloc(&e->arena, (*count + 1) * sizeof(*all));
	if (own)
		memcpy(all, e->variables, own * sizeof(*all));
	if (at->assign_count)
		memcpy(all + own, at->assigns, at->assign_count * sizeof(*all));
	return all;
}

static bool evaluate_nested(struct evaluation *e, const struct action *a, const struct place *at)
{
	const struct shell_word *text = a->word;
	struct shell_setup setup = { .args = a->words, .arg_count = a->count, .input = at->input,
				     .shell_path = e->shell_path,
				     .family = a->flags & ACTION_BASH ? SHELL_FAMILY_BASH
								      : SHELL_FAMILY_POSIX };
	unsigned outer = e->input_flow;
	bool blocked;

	if (e->depth >= DEPTH_MAX || spend_steps(e, text->text.len))
		return blocked_too_complex(e, text->start);
	e->input_flow = at->input_flow;
	if (place_command(at)) {
		setup.outer = at->script;
		setup.outer_command = at->index;
		setup.exported_only = !at->same_shell;
	}
	setup.variables = nested_variables(e, at, &setup.variable_count);
	e->depth++;
	/* An unknown part of the text may hold the missing quote. */
	blocked = parse_and_evaluate(e, NULL, text, &setup, at->lenient || word_has_unknown(text));
	e->depth--;
	e->input_flow = outer;
	return blocked;
}

/* ---- entry ---- */

void evaluation_init(struct evaluation *e, size_t bytes)
{
	memset(e, 0, sizeof(*e));
	budget_init(&e->budget, &e->arena, bytes);
}

void evaluation_release(struct evaluation *e)
{
	shell_arena_release(&e->arena);
	args_release(&e->rules.args);
	args_release(&e->args);
}

/* The budget ended before all was judged: block. */
static bool left_over(struct evaluation *e)
{
	if (!spend_steps(e, 0))
		return false;
	blocked_too_complex(e, 0);
	e->finding.detail = "more work than a text of its length may take";
	return true;
}

bool evaluate_text(struct evaluation *e, const struct shell_text *text,
		   const struct shell_word *args, size_t arg_count,
		   const struct shell_word *input)
{
	struct shell_setup setup = { .variables = e->variables,
				     .variable_count = e->variable_count, .args = args,
				     .arg_count = arg_count, .input = input,
				     .shell_path = e->shell_path, .family = e->shell_family };

	e->input = input;
	if (input && input->text.len > INPUT_PARSED_MAX)
		setup.input = NULL;
	return parse_and_evaluate(e, text, NULL, &setup, e->no_shell) || left_over(e);
}

bool evaluate_program(struct evaluation *e, const struct shell_word *words, size_t count,
		      const struct shell_word *input)
{
	struct place at = { .index = SHELL_NONE, .input = input, .files = &e->files };

	return evaluate_words(e, words, count, &at) || left_over(e);
}
