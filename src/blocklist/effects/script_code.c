#include "blocklist/effects/script_code.h"

#include <string.h>

bool script_is_function(const struct script_text *t, size_t i)
{
	static const char modules[] = " builtins __builtins__ globalThis global window Kernel "
				      "binding TOPLEVEL_BINDING child_process cp ";

	if (i < 2)
		return true;
	if (script_is_char(t, i - 1, '>'))
		return !script_is_char(t, i - 2, '-');
	return !script_is_char(t, i - 1, '.') || script_is_char(t, i - 2, ')') ||
	       script_token_in(t, i - 2, modules);
}

/* "$c", "#{c}", `${c}`: text that holds other text. */
static bool script_code_is_interpolated(const struct script_text *t, size_t i)
{
	const struct script_token *k = &t->tokens[i];

	return i < t->count && (k->kind == TOKEN_STRING || k->kind == TOKEN_RUN) &&
	       (strchr(k->string.text.s, '$') || strstr(k->string.text.s, "#{"));
}

/* Are the arguments behind token @i none, or a constant, which is judged by itself? */
static bool script_code_is_constant(const struct script_text *t, size_t i)
{
	if (!script_is_char(t, i + 1, '(') || i + 2 >= t->count)
		return false;
	if (script_is_char(t, i + 2, ')'))
		return true;
	return (t->tokens[i + 2].kind == TOKEN_STRING || t->tokens[i + 2].kind == TOKEN_RUN) &&
	       !script_code_is_interpolated(t, i + 2) &&
	       (script_is_char(t, i + 3, ')') ||
		(script_token_in(t, i, " exec eval ") && script_is_char(t, i + 3, ',')));
}

/* (0, eval)(x), eval.call(null, x), eval?.(x) */
static bool script_code_is_indirect(const struct script_text *t, size_t i)
{
	if (script_is_char(t, i + 1, ')'))
		return script_is_char(t, i + 2, '(');
	i += script_is_char(t, i + 1, '?');
	return script_is_char(t, i + 1, '.') &&
	       (script_is_char(t, i + 2, '(') || script_token_in(t, i + 2, " call apply "));
}

bool script_runs_code(const struct script_text *t, size_t i)
{
	static const char functions[] = " exec eval execfile create_function Function ";
	static const char methods[] = " instance_eval class_eval runInThisContext runInNewContext ";

	if (!(script_token_in(t, i, functions) && script_is_function(t, i)) &&
	    !script_token_in(t, i, methods))
		return false;
	if (script_is_char(t, i + 1, '('))
		return !script_code_is_constant(t, i);
	if (script_is_char(t, i + 1, '$') || script_is_char(t, i + 1, '[') ||
	    script_code_is_interpolated(t, i + 1) || script_code_is_indirect(t, i) ||
	    (i + 1 < t->count && (t->tokens[i + 1].kind == TOKEN_NAME ||
				  t->tokens[i + 1].kind == TOKEN_RUN)))
		return true;
	return i >= 2 && !script_is_char(t, i + 1, '{') &&
	       (script_token_in(t, i, " eval Function ") || script_token_in(t, i - 2, " map ")) &&
	       (script_is_char(t, i - 1, '(') || script_is_char(t, i - 1, '='));
}
