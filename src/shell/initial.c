/* What variables are before the text assigns them. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

/* Values that every shell assigns at its start. */
static const struct {
	const char *name, *value;
} initials[] = {
	{ "IFS", " \t\n" }, { "OPTIND", "1" }, { "PS4", "+ " },
};

/*
 * The initial value of @name, or NULL. For -c TEXT bash sets no PS1 and PS2, and BASH_SOURCE is
 * empty, since TEXT is no file; dash has no BASH.
 */
static const char *initial_text(const struct expander *e, const char *name)
{
	bool bash = e->memory->family == SHELL_FAMILY_BASH;

	for (size_t i = 0; i < COUNT_OF(initials); i++)
		if (str_is(name, initials[i].name))
			return initials[i].value;
	if (str_is(name, "SHELL"))
		return e->memory->shell_path;
	if (str_is(name, "BASH"))
		return e->memory->family == SHELL_FAMILY_DASH ? NULL : "/bin/bash";
	if (bash && str_is(name, "BASH_SOURCE"))
		return "";
	if (str_is(name, "PS1"))
		return bash ? NULL : "$ ";
	return str_is(name, "PS2") && !bash ? "> " : NULL;
}

struct value *initial_value(struct expander *e, const char *name, uint32_t at)
{
	const char *text = initial_text(e, name);

	return text ? value_text(e, text, at) : NULL;
}

struct value *initial_unassigned(struct expander *e, const char *name, bool set)
{
	struct value *v = initial_value(e, name, 0);
	struct shell_char c = char_unknown(e, name, CHAR_UNKNOWN, 0);

	if (v)
		return v;
	if (str_is(name, "HOME"))
		c = (struct shell_char){ 0, expand_name(e, name), CHAR_TILDE, '~' };
	else if (c.c == UNKNOWN_ANY) /* the name would stand for what the text assigns, too */
		c = (struct shell_char){ 0, set ? expand_name(e, "${}") : 0, CHAR_UNKNOWN,
					 set ? UNKNOWN_SET : UNKNOWN_ANY };
	return value_make(e, &c, 1);
}
