#include "blocklist/effects/makefile_lines.h"

#include "blocklist/command/word.h"

/* Steps of the budget for a line, and for a byte of it. */
#define WORK_LINE 30u
#define WORK_BYTE 2u

struct makefile_list {
	struct shell_word *lines;
	size_t count, room;
	struct action_list *out;
};

static void makefile_lines_add(struct makefile_list *l, const struct shell_word *line)
{
	struct shell_word *old = l->lines;

	if (l->count == l->room) {
		l->room = l->room ? l->room * 2 : 8;
		l->lines = shell_alloc_raw(l->out->arena, l->room * sizeof(*old));
		if (l->count)
			memcpy(l->lines, old, l->count * sizeof(*old));
	}
	l->lines[l->count++] = *line;
}

/* Add @line, of a recipe if it begins with a TAB. */
static void makefile_lines_read(struct makefile_list *l, const struct shell_word *line)
{
	static const char joint[] = "\\\n\t";
	struct action_list *out = l->out;
	struct shell_word both, recipe;

	if (*line->text.s != '\t' || !strstr(line->text.s, joint)) {
		makefile_lines_add(l, line);
		return;
	}
	both = word_fixed("\\\n", SHELL_LITERAL, line, out->arena);
	recipe = word_replace(line, joint, strlen(joint), &both, out->budget, out->arena);
	makefile_lines_add(l, &recipe);
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

size_t makefile_lines(const struct shell_word *text, struct action_list *out,
		      struct shell_word **lines)
{
	struct makefile_list l = { .out = out };
	size_t end;

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
