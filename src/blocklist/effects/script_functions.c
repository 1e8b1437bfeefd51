#include "blocklist/effects/script_functions.h"

#include <string.h>

#include "blocklist/command/word.h"
#include "blocklist/effects/script_loops.h"

/* Calls of a function that count. */
#define CALLS_MAX 16
/* Tokens of its parameters that are looked at. */
#define PARAMETERS_MAX 32

/* x => and (x, y) => at token @i: the token x; 0: it is neither. */
static size_t script_functions_arrow(const struct script_text *t, size_t i)
{
	size_t end = i;

	if (script_is_char(t, i, '('))
		while (end < t->count && end < i + PARAMETERS_MAX && !script_is_char(t, end, ')'))
			end++;
	if (!script_is_char(t, end + 1, '=') || !script_is_char(t, end + 2, '>'))
		return 0;
	return i + script_is_char(t, i, '(');
}

/* The parameter of the function whose name is token @i, or 0; of a method, the one behind self. */
static size_t script_functions_parameter(const struct script_text *t, size_t i)
{
	size_t at = i + 1;

	if (script_token_in(t, i - 1, " def function func ") && script_is_char(t, at, '('))
		at += 1 + script_is_char(t, at + 1, '$');
	else if (script_is_char(t, at, '=')) /* f = async (x) => */
		at = script_functions_arrow(t, at + 1 + script_token_in(t, at + 1, " async "));
	else
		return 0;
	if (script_token_in(t, at, " self cls ") && script_is_char(t, at + 1, ','))
		at += 2;
	if (!at || at >= t->count || t->tokens[at].kind != TOKEN_NAME ||
	    script_token_in(t, at, " self cls "))
		return 0;
	return at;
}

/* What the call at token @i gives its first parameter: a string, Path() of one, or a list of
 * strings. Returns how many, up to CALLS_MAX; 0: nothing that is known. */
static size_t script_functions_argument(const struct script_text *t, size_t i,
					const struct shell_word *out[CALLS_MAX])
{
	bool list = script_is_char(t, i + 2, '[');
	bool path = script_token_in(t, i + 2, " Path ") && script_is_char(t, i + 3, '(');
	size_t n = 0, at = i + 2 + list + (path ? 2 : 0);

	for (; n < CALLS_MAX && (out[n] = script_string(t, at)) != NULL; at += 2) {
		n++;
		if (!list || !script_is_char(t, at + 1, ','))
			break;
	}
	at += 1 + list + path;
	return n && (script_is_char(t, at, ')') || script_is_char(t, at, ',')) ? n : 0;
}

static void script_functions_note_call(struct script_reader *r, struct script_function *f, size_t i)
{
	const struct shell_word *given[CALLS_MAX];
	size_t n = script_functions_argument(&r->t, i, given);

	for (size_t k = 0; k < n && f->count < CALLS_MAX; k++) {
		struct shell_word two[2] = { f->value, *given[k] }, lines[3] = { f->lines };

		if (!script_step(r, 1 + (f->value.text.len + given[k]->text.len) /
					     SCRIPT_STEP_BYTES * 2))
			return;
		lines[1] = script_char(r, '\n', SHELL_LITERAL, i);
		lines[2] = *given[k];
		f->spaces |= strchr(given[k]->text.s, ' ') != NULL;
		f->value = f->count ? word_join(two, 2, r->t.arena) : *given[k];
		f->lines = f->count ? word_concat_all(lines, 3, r->t.arena) : *given[k];
		f->count++;
	}
	f->list |= n && script_is_char(&r->t, i + 2, '[');
}

void script_note_functions(struct script_reader *r)
{
	for (size_t i = 1; i + 1 < r->t.count && r->function_count < SCRIPT_FUNCTIONS_MAX; i++) {
		size_t parameter = r->t.tokens[i].kind == TOKEN_NAME
					   ? script_functions_parameter(&r->t, i) : 0;

		if (parameter)
			r->functions[r->function_count++] = (struct script_function){
				.name = i, .parameter = parameter,
			};
	}
	for (size_t i = 1; r->function_count && i + 2 < r->t.count; i++) {
		if (r->t.tokens[i].kind != TOKEN_NAME || !script_is_char(&r->t, i + 1, '(') ||
		    !script_step(r, 2))
			continue;
		for (size_t k = 0; k < r->function_count; k++)
			if (script_same_text(&r->t, r->functions[k].name, i) &&
			    r->functions[k].name != i)
				script_functions_note_call(r, &r->functions[k], i);
	}
}

/* The body of the function around token @i ends before it: its variables are gone. */
static void script_functions_leave(struct script_reader *r, size_t i)
{
	if (!r->inside || !script_new_line(&r->t, i) || script_is_char(&r->t, i, ')') ||
	    !script_step(r, 2) || script_indent(&r->t, i) > r->inside_indent)
		return;
	r->variable_count = r->inside - 1;
	r->inside = 0;
}

/* Has the parameter of @f, which gets what is not known, the name that a loop elsewhere gives each
 * file, and leaves @f some of them out? */
static bool script_functions_hides(struct script_reader *r, const struct script_function *f)
{
	const struct script_variable *v = script_find_variable(r, f->parameter);

	return v && v->is_listing && script_loop_picks(r, f->name);
}

void script_enter_function(struct script_reader *r, size_t i)
{
	if (i)
		script_functions_leave(r, i);
	for (size_t k = 0; k < r->function_count; k++) {
		const struct script_function *f = &r->functions[k];
		bool several = f->list || f->count > 1;
		struct script_variable *v = &r->variables[r->variable_count];

		if (f->parameter != i || r->variable_count == SCRIPT_VARIABLES_MAX ||
		    !(f->count || script_functions_hides(r, f)))
			continue;
		*v = (struct script_variable){
			.start = r->t.tokens[i].start,
			.len = r->t.tokens[i].end - r->t.tokens[i].start,
			.value = f->value, .is_list = several && !f->spaces,
		};
		if (several) {
			v->lines = f->lines;
			v->is_item = true;
		}
		if (!f->count || (several && f->spaces))
			v->value = script_char(r, '?', SHELL_UNKNOWN, i);
		r->variable_count++;
		if (!r->inside) {
			r->inside = r->variable_count;
			r->inside_indent = script_indent(&r->t, f->name);
		}
	}
}
