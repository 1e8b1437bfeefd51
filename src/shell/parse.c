/*
 * Reads a text as bash does and walks it; if dash may run it and reads it otherwise, does both
 * again as dash does. Dash does not run a text that it refuses. So the text is invalid if the
 * first reading refuses it; if the shell is dash, if the second does.
 */
#include "shell/parse.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shell/expand.h"
#include "shell/lex.h"

/* Longest text. Offsets have 32 bits; stdin may be up to 1 MiB. */
#define TEXT_MAX (8u << 20)

/* Steps of those left that parsing may take: judging the commands needs some, too. */
static uint64_t parse_fuel_for(const struct shell_budget *budget)
{
	return budget->work / 4 * 3;
}

/* ---- before the first command ---- */

static void parse_set_params(struct expander *e, const struct shell_setup *setup)
{
	if (setup && setup->outer && !setup->exported_only && setup->arg_count == 0)
		return; /* those of the outer text */
	call_set_params(e, setup ? &(struct call){ setup->args, setup->arg_count }
				 : &(struct call){ NULL, 0 });
	if (setup && setup->arg_count > 0)
		vars_get(e, PARAMS)->items[0] = word_value(e, &setup->args[0]);
}

static void parse_apply_setup(struct expander *e, const struct shell_setup *setup)
{
	parse_set_params(e, setup);
	if (!setup)
		return;
	for (size_t i = 0; i < setup->variable_count; i++) {
		vars_set(e, setup->variables[i].name, word_value(e, &setup->variables[i].value));
		vars_export(e, setup->variables[i].name);
	}
	e->in_code = setup->in_code;
	if (setup->directory)
		vars_set(e, "PWD", value_text(e, setup->directory, 0));
	if (setup->input)
		e->given_input = e->io.input = word_value(e, setup->input);
}

static void parse_set_outer(struct shell_memory *m, const struct shell_setup *setup)
{
	m->shell_path = setup && setup->shell_path ? setup->shell_path : "/bin/sh";
	m->family = setup ? setup->family : SHELL_FAMILY_POSIX;
	m->is_outermost = setup && setup->outermost;
	if (!setup || !setup->outer)
		return;
	m->outer = setup->outer->memory;
	m->outer_exported_only = setup->exported_only;
	if (!setup->exported_only) {
		m->family = m->outer->family;
		m->is_outermost = m->outer->is_outermost;
	}
	if (setup->outer_command < setup->outer->command_count) {
		const struct shell_command *c = &setup->outer->commands[setup->outer_command];

		m->outer_version = setup->at_end ? c->end_version : c->version;
	}
}

/*
 * Kinds (SHELL_LITERAL) for words that are copies of the text; and the offsets 0, 1, 2, ... if
 * the text has none.
 */
static void parse_set_identity(struct expander *e, const struct shell_text *text)
{
	uint32_t *identity;

	e->zeros = shell_alloc(e->arena, text->len + 2);
	e->identity_len = text->len + 1;
	if (text->at)
		return;
	identity = shell_alloc_raw(e->arena, (text->len + 1) * sizeof(*identity));
	for (size_t i = 0; i <= text->len; i++)
		identity[i] = (uint32_t)i;
	e->identity = identity;
}

/* ---- one reading ---- */

/* What a command can leave behind for later ones, but $_. */
struct parse_state {
	uint32_t version;
	size_t functions, aliases;
	bool errexit, nounset;
};

static struct parse_state parse_state_of(const struct expander *e)
{
	return (struct parse_state){
		.version = e->memory->variables.version,
		.functions = e->memory->function_count,
		.aliases = e->memory->alias_count,
		.errexit = e->errexit,
		.nounset = e->nounset,
	};
}

static bool parse_has_changed(const struct parse_state *a, const struct parse_state *b)
{
	return a->version != b->version || a->functions != b->functions ||
	       a->aliases != b->aliases || a->errexit != b->errexit ||
	       a->nounset != b->nounset;
}

/* Read and walk the next commands. Frees their tree unless it defines a function. */
static bool parse_next(struct expander *e, struct lex_reader *r)
{
	struct shell_arena_mark mark = shell_arena_mark(&e->memory->tree);
	size_t given = e->memory->tree.given;
	struct ast_node *n = grammar_next(r);

	expand_charge(e, (e->memory->tree.given - given) / WORK_TREE);
	e->keep_tree = false;
	/* dash runs no part of a text that it refuses; bash runs what precedes the trouble. */
	if (n && !(r->state->posix && lex_failed(r)))
		eval_walk(e, n);
	if (!e->keep_tree)
		shell_arena_rewind(&e->memory->tree, &mark);
	return n && !lex_failed(r);
}

static void parse_reading(struct expander *e, struct lex_state *lex, const struct shell_text *text,
			  const struct shell_setup *setup)
{
	struct lex_reader r;
	size_t mark = vars_mark(e);
	bool more, sets_path = e->script->sets_path, sets_home = e->script->sets_home;

	expand_charge(e, WORK_TEXT + text->len);
	e->posix = lex->posix;
	e->context = 0;
	e->io = (struct streams){ .piped_from = SHELL_NONE };
	e->parent = SHELL_NONE;
	e->last_word = NULL;
	parse_apply_setup(e, setup);
	e->script->sets_path = sets_path; /* what it gets, it does not set */
	e->script->sets_home = sets_home;
	lex_reader_init(&r, lex, text);
	do {
		struct parse_state before = parse_state_of(e), after;
		uint32_t at = lex_origin(&r, r.pos);

		more = parse_next(e, &r);
		after = parse_state_of(e);
		if (setup && setup->on_change && parse_has_changed(&before, &after))
			setup->on_change(setup->on_change_ctx, at);
	} while (more && e->script->trouble == SHELL_FINE);
	record_end(e, 0);
	call_uncalled(e);
	vars_undo(e, mark);
}

static void parse_take_trouble(struct expander *e, const struct lex_state *lex)
{
	if (lex->trouble != SHELL_FINE)
		expand_trouble(e, lex->trouble, lex->trouble_text, lex->trouble_at);
}

static void parse_read_text(struct expander *e, const struct shell_text *text,
			    const struct shell_setup *setup)
{
	bool dash = e->memory->family == SHELL_FAMILY_DASH;
	struct lex_state lex = lex_state_of(&e->memory->tree, e->depth / EXPAND_LEVELS,
					    e->memory->family, text->len);
	struct lex_state posix = lex;
	bool refused;

	parse_reading(e, &lex, text, setup);
	refused = lex.trouble == SHELL_SYNTAX;
	if (!dash || !refused)
		parse_take_trouble(e, &lex);
	if (!(lex.ambiguous || refused) || e->script->trouble != SHELL_FINE)
		return;
	call_forget(e);
	posix.posix = true;
	parse_reading(e, &posix, text, setup);
	if (dash || posix.trouble != SHELL_SYNTAX)
		parse_take_trouble(e, &posix);
}

static void parse_refuse(struct shell_script *script, enum shell_trouble trouble, const char *what,
			 size_t at)
{
	script->trouble = trouble;
	script->trouble_text = what;
	script->trouble_at = (uint32_t)at;
}

/* Returns whether there is a NUL in @text. */
static bool parse_refuse_nul(struct shell_script *script, const struct shell_text *text)
{
	const char *nul = text->len > 0 ? memchr(text->s, '\0', text->len) : NULL;
	size_t at = nul ? (size_t)(nul - text->s) : 0;

	if (nul)
		parse_refuse(script, SHELL_SYNTAX, "a NUL", text->at ? text->at[at] : at);
	return nul;
}

static void parse_run(const struct shell_text *text, const struct shell_setup *setup,
		      struct shell_budget *budget, struct shell_script *script, bool marked)
{
	struct shell_memory *m = script->memory;
	struct expander e = {
		.memory = m,
		.arena = &m->arena,
		.script = script,
		.budget = budget,
		.fuel = parse_fuel_for(budget),
		.depth = budget->depth * EXPAND_LEVELS,
		.marked = marked,
	};

	uint64_t fuel = e.fuel;

	parse_set_outer(m, setup);
	parse_set_identity(&e, text);
	parse_read_text(&e, text, setup);
	expand_failed(&e); /* the fuel may have ended in the last step */
	size_t used = m->arena.used + m->tree.used;

	budget->bytes -= used < budget->bytes ? used : budget->bytes;
	shell_budget_take(budget, fuel - e.fuel);
}

static void parse_start_script(struct shell_budget *budget, struct shell_script *script)
{
	struct shell_memory *m = mem_zalloc(sizeof(*m));

	memset(script, 0, sizeof(*script));
	shell_arena_init(&m->arena, budget->bytes);
	shell_arena_init(&m->tree, budget->bytes / 2);
	script->memory = m;
}

/* ---- public ---- */

void shell_parse_with(const struct shell_text *text, const struct shell_setup *setup,
		      struct shell_budget *budget, struct shell_script *script)
{
	parse_start_script(budget, script);
	if (text->len > TEXT_MAX)
		parse_refuse(script, SHELL_TOO_LONG, "a text too long to judge", 0);
	else if (budget->depth == 0)
		parse_refuse(script, SHELL_TOO_DEEP, "too many levels of nesting", 0);
	else if (!parse_refuse_nul(script, text))
		parse_run(text, setup, budget, script, false);
}

void shell_parse_word(const struct shell_word *word, const struct shell_setup *setup,
		      struct shell_budget *budget, struct shell_script *script)
{
	struct shell_memory *m;

	parse_start_script(budget, script);
	m = script->memory;
	if (budget->depth == 0) {
		parse_refuse(script, SHELL_TOO_DEEP, "too many levels of nesting", 0);
	} else if (!parse_refuse_nul(script, &word->text)) {
		struct shell_text text = mark_text(&m->arena, word);

		budget->depth--;
		parse_run(&text, setup, budget, script, true);
		budget->depth++;
		if (script->trouble == SHELL_SYNTAX && word_is_partial(word))
			script->trouble = SHELL_FINE;
	}
}

/* "\" or "\" and newline at the end: the line goes on. */
static bool parse_is_continued(const char *text, size_t len)
{
	size_t slashes = 0;

	len -= len && text[len - 1] == '\n';
	while (slashes < len && text[len - 1 - slashes] == '\\')
		slashes++;
	return slashes % 2;
}

/* The end of the last line before @pos, if only blanks follow it. */
static bool parse_line_end(const char *text, size_t pos, size_t *end)
{
	while (pos && (text[pos - 1] == ' ' || text[pos - 1] == '\t'))
		pos--;
	*end = pos;
	return pos && text[pos - 1] == '\n' && !parse_is_continued(text, pos);
}

/* @idle: from where up to @end there are only comments and empty lines. */
static void parse_add_line(struct shell_lines *lines, size_t idle, size_t end)
{
	size_t n = lines->count, from = n ? lines->ends[n - 1] : 0, room = n ? 2 * n : 1;

	if (n && from >= end)
		return;
	if (!(n & (n - 1))) {
		lines->ends = mem_realloc(lines->ends, room * sizeof(*lines->ends));
		lines->idle = mem_realloc(lines->idle, room * sizeof(*lines->idle));
	}
	lines->ends[n] = (uint32_t)end;
	lines->idle[n] = (uint32_t)(idle > from && idle < end ? idle : end);
	lines->count++;
}

void shell_lines_read(const char *text, size_t len, struct shell_lines *lines)
{
	const struct shell_budget budget = SHELL_BUDGET_INIT;
	const struct shell_text all = { .s = text, .len = len };
	struct shell_arena tree;
	struct lex_state state = lex_state_of(&tree, budget.depth, SHELL_FAMILY_BASH, len);
	struct lex_reader r;
	bool more = true;
	size_t end = 0;

	memset(lines, 0, sizeof(*lines));
	shell_arena_init(&tree, budget.bytes);
	lex_reader_init(&r, &state, &all);
	while (more) {
		struct shell_arena_mark mark = shell_arena_mark(&tree);

		more = grammar_next(&r) && !lex_failed(&r);
		if (!state.unfinished && !lex_failed(&r) && parse_line_end(text, r.pos, &end))
			parse_add_line(lines, r.line_end, end);
		shell_arena_rewind(&tree, &mark);
	}
	shell_arena_release(&tree);
	end = shell_lines_end(lines);
	lines->open = state.unfinished ||
		      (end < len && parse_is_continued(text + end, len - end));
}

void shell_lines_free(struct shell_lines *lines)
{
	free(lines->ends);
	free(lines->idle);
}

size_t shell_lines_find(const struct shell_lines *lines, size_t at)
{
	size_t low = 0, high = lines->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->ends[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t shell_complete_end(const char *text, size_t len, bool *open)
{
	struct shell_lines lines;
	size_t end;

	shell_lines_read(text, len, &lines);
	end = shell_lines_end(&lines);
	*open = lines.open;
	shell_lines_free(&lines);
	return end;
}

void shell_script_free(struct shell_script *script)
{
	struct shell_memory *m = script->memory;

	if (m) {
		shell_arena_release(&m->arena);
		shell_arena_release(&m->tree);
		free(m);
	}
	free(script->commands);
	free(script->functions);
	memset(script, 0, sizeof(*script));
}
