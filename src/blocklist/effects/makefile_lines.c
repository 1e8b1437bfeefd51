#include "blocklist/effects/makefile_lines.h"

#include "blocklist/command/word.h"

/* Steps of the budget for a line, and for a byte of it. */
#define WORK_LINE 30u
#define WORK_BYTE 2u

struct makefile_list {
	struct shell_word *lines;
	size_t count, room;
	char prefix; /* of recipes; 0: not known */
	struct action_list *out;
};

static void makefile_lines_add(struct makefile_list *l, const struct shell_word *line)
{
	if (l->count == l->room)
		l->lines = shell_grow(l->out->arena, l->lines, &l->room, 8, sizeof(*l->lines));
	l->lines[l->count++] = *line;
}

/* @line with @first as its first character. */
static struct shell_word makefile_lines_begun(const struct makefile_list *l,
					      const struct shell_word *line, char first)
{
	struct shell_word begun = *line;
	char *s;

	if (*line->text.s == first)
		return begun;
	s = shell_copy(l->out->arena, line->text.s, line->text.len);
	*s = first;
	begun.text.s = s;
	return begun;
}

static void makefile_lines_add_recipe(struct makefile_list *l, const struct shell_word *line)
{
	const char joint[] = { '\\', '\n', l->prefix ? l->prefix : '\t', '\0' };
	struct shell_word recipe = makefile_lines_begun(l, line, '\t'), both;

	if (strstr(recipe.text.s, joint)) {
		both = word_fixed("\\\n", SHELL_LITERAL, line, l->out->arena);
		recipe = word_replace(&recipe, joint, strlen(joint), &both, l->out->budget,
				      l->out->arena);
	}
	makefile_lines_add(l, &recipe);
}

/* What begins recipes behind @line, which is none, if @prefix does before it. */
static char makefile_lines_prefix(const struct shell_word *line, char prefix)
{
	const char *s = *line->text.s == '#' ? NULL : strstr(line->text.s, ".RECIPEPREFIX");
	const char *assign = s ? strchr(s, '=') : NULL;

	if (!s)
		return prefix;
	if (!assign || assign[-1] == '!')
		return 0;
	if (strchr("?+", assign[-1])) /* versions of make differ in what += makes of no value */
		return assign[-1] == '+' && prefix == '\t' ? '\0' : prefix;
	s = assign + 1 + strspn(assign + 1, " \t");
	if (!*s || *s == '#')
		return '\t';
	return strchr("$\\)", *s) ? '\0' : *s;
}

/* A line that begins with a TAB may be a recipe if the prefix is another, for the text may have set
 * it in a way that is not read here. */
static void makefile_lines_read(struct makefile_list *l, const struct shell_word *line)
{
	char first = *line->text.s;
	struct shell_word other;

	if (first != l->prefix) {
		other = makefile_lines_begun(l, line, first == '\t' ? ' ' : first);
		makefile_lines_add(l, &other);
	}
	if (first == l->prefix || first == '\t' || !l->prefix)
		makefile_lines_add_recipe(l, line);
	if (first != l->prefix)
		l->prefix = makefile_lines_prefix(line, l->prefix);
}

/* The end of the line at byte @i: no newline that a backslash escapes, which itself is not. */
static size_t makefile_lines_end(const struct shell_text *text, size_t i)
{
	const char *s = text->s;
	bool is_escaped = false;

	for (; i < text->len && s[i] && (s[i] != '\n' || is_escaped); i++)
		is_escaped = s[i] == '\\' && !is_escaped;
	return i;
}

size_t makefile_lines(const struct command *cmd, const struct shell_word *text,
		      struct action_list *out, struct shell_word **lines)
{
	struct makefile_list l = { .prefix = '\t', .out = out };
	size_t end;

	for (size_t i = 1; i < cmd->count; i++)
		l.prefix = makefile_lines_prefix(&cmd->words[i], l.prefix);
	for (size_t i = 0; i < text->text.len; i = end + 1) {
		struct shell_word line;

		end = makefile_lines_end(&text->text, i);
		if (!action_charge(out, WORK_LINE + WORK_BYTE * (end - i)))
			break;
		if (end == i)
			continue;
		line = word_slice(text, i, end, out->arena);
		makefile_lines_read(&l, &line);
	}
	*lines = l.lines;
	return l.count;
}
