/*
 * cmd.exe and PowerShell, as a shell in WSL starts them: removing drives and homes, and switching
 * the machine off. No grammar of either: commands, blanks and quotes.
 */
#include "blocklist/effects/readers.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "blocklist/command/word.h"

/* More words of one command are not looked at. */
#define WINDOWS_WORDS_MAX 64
#define WINDOWS_WORK_BYTE 4u

struct windows_text {
	const struct shell_word *text;
	size_t at;
	bool powershell;
	struct shell_word words[WINDOWS_WORDS_MAX]; /* of the command at hand, without quotes */
	size_t count;
	struct action_list *out;
};

/* As word_in() with a @list in lower case, for a word in any. */
static bool windows_in(const struct shell_word *w, const char *list)
{
	char low[24];
	size_t len = w->text.len;

	if (len >= sizeof(low))
		return false;
	for (size_t i = 0; i < len; i++)
		low[i] = (char)tolower((unsigned char)w->text.s[i]);
	return list_has(list, low, len);
}

/* ---- paths ---- */

/* How many bytes at the start of @s name a directory, and which: *@path. */
static size_t windows_place(const char *s, const char **path)
{
	static const char *const places[][2] = {
		{ "$env:userprofile", "~" }, { "%userprofile%", "~" }, { "$env:home", "~" },
		{ "$home", "~" }, { "~", "~" }, { "c:", "/mnt/c" }, { "d:", "/mnt/d" },
		{ "e:", "/mnt/e" }, { "f:", "/mnt/f" }, { "$env:systemdrive", "/mnt/c" },
		{ "%systemdrive%", "/mnt/c" }, { "$env:systemroot", "/mnt/c/Windows" },
		{ "$env:windir", "/mnt/c/Windows" }, { "%systemroot%", "/mnt/c/Windows" },
		{ "%windir%", "/mnt/c/Windows" },
	};

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		size_t len = strlen(places[i][0]);

		if (strncasecmp(s, places[i][0], len) || !strchr("\\/", s[len]))
			continue;
		*path = places[i][1];
		return len;
	}
	return 0;
}

/* C:\Users\ME is /mnt/c/Users/ME. */
static struct shell_word windows_path(const struct shell_word *raw, struct shell_arena *arena)
{
	const char *path = "";
	size_t skip = windows_place(raw->text.s, &path);
	struct shell_word rest = word_slice(raw, skip, raw->text.len, arena), head;
	char *s = shell_copy(arena, rest.text.s, rest.text.len);
	uint8_t *kind = shell_alloc(arena, rest.text.len + 1);

	for (size_t i = 0; i < rest.text.len; i++) {
		kind[i] = strchr("*?", s[i]) ? SHELL_GLOB : SHELL_LITERAL;
		if (s[i] == '\\')
			s[i] = '/';
	}
	rest.text.s = s;
	rest.kind = kind;
	head = word_fixed(path, *path == '~' ? SHELL_TILDE : SHELL_LITERAL, raw, arena);
	return word_concat(&head, &rest, arena);
}

/* ---- commands ---- */

static void windows_touch(struct windows_text *t, const struct shell_word *operand)
{
	struct shell_word path = windows_path(operand, t->out->arena);
	struct action *a;

	action_touch(t->out, "remove_tree", &path);
	a = &t->out->list[t->out->count - 1];
	a->start = t->words[0].start;
	a->end = t->words[t->count - 1].end;
}

static bool windows_is_option(const struct windows_text *t, const struct shell_word *w)
{
	return w->text.s[0] == (t->powershell ? '-' : '/');
}

/* Remove-Item -Recurse, rd /s: with a filter it is not all that goes. */
static void windows_remove(struct windows_text *t)
{
	bool all = false;

	for (size_t i = 1; i < t->count; i++) {
		const struct shell_word *w = &t->words[i];

		if (windows_in(w, " -whatif -filter -include -exclude "))
			return;
		all |= t->powershell ? w->text.s[0] == '-' && tolower(w->text.s[1]) == 'r'
				     : windows_in(w, " /s ");
	}
	for (size_t i = 1; all && i < t->count; i++)
		if (!windows_is_option(t, &t->words[i]))
			windows_touch(t, &t->words[i]);
}

static void windows_run_as(struct windows_text *t, const char *name)
{
	struct shell_word *list = shell_alloc(t->out->arena, t->count * sizeof(*list));

	memcpy(list, t->words, t->count * sizeof(*list));
	list[0] = word_fixed(name, SHELL_LITERAL, &t->words[0], t->out->arena);
	action_words(t->out, list, t->count, 0);
}

static void windows_judge(struct windows_text *t)
{
	const struct shell_word *name = &t->words[0];

	if (windows_in(name, " remove-item ri rd rmdir del erase rm "))
		windows_remove(t);
	else if (windows_in(name, " shutdown shutdown.exe "))
		windows_run_as(t, "shutdown.exe");
	else if (t->powershell && windows_in(name, " stop-computer "))
		windows_run_as(t, "Stop-Computer");
	else if (t->powershell && windows_in(name, " restart-computer "))
		windows_run_as(t, "Restart-Computer");
	else if (!t->powershell && windows_in(name, " format format.com "))
		for (size_t i = 1; i < t->count; i++)
			if (!windows_is_option(t, &t->words[i]))
				windows_touch(t, &t->words[i]);
}

/* ---- text ---- */

/* The next word of the command, or false at its end. */
static bool windows_next_word(struct windows_text *t, struct shell_word *word)
{
	const struct shell_text *text = &t->text->text;
	size_t from;
	char quote = 0;

	while (t->at < text->len && strchr(" \t", text->s[t->at]))
		t->at++;
	from = t->at;
	for (; t->at < text->len; t->at++) {
		char c = text->s[t->at];

		if (quote ? c == quote : c == '"' || c == '\'')
			quote = quote ? 0 : c;
		else if (!quote && strchr(" \t\n;|&(){}", c))
			break;
	}
	if (t->at == from)
		return false;
	quote = text->s[from];
	if ((quote == '"' || quote == '\'') && t->at > from + 1 && text->s[t->at - 1] == quote)
		*word = word_slice(t->text, from + 1, t->at - 1, t->out->arena);
	else
		*word = word_slice(t->text, from, t->at, t->out->arena);
	return true;
}

static void windows_read_text(struct windows_text *t)
{
	struct shell_word word;

	while (t->at < t->text->text.len && action_charge(t->out, WINDOWS_WORK_BYTE)) {
		t->count = 0;
		while (windows_next_word(t, &word))
			if (t->count < WINDOWS_WORDS_MAX)
				t->words[t->count++] = word;
		if (t->count)
			windows_judge(t);
		t->at++;
	}
}

/* Where the text begins; cmd->count: there is none. */
static size_t windows_text_at(const struct command *cmd, bool powershell)
{
	static const char values[] = " -executionpolicy -ep -ex -exec -version -v -inputformat -if "
				     "-outputformat -of -windowstyle -w -workingdirectory -wd "
				     "-encodedcommand -e -ec -enc ";

	for (size_t i = 1; i < cmd->count; i++) {
		const struct shell_word *w = &cmd->words[i];

		if (windows_in(w, powershell ? " -c -command " : " /c /k "))
			return i + 1;
		if (powershell && windows_in(w, " -file -f "))
			return cmd->count;
		if (powershell && w->text.s[0] != '-')
			return i;
		i += powershell && windows_in(w, values);
	}
	return cmd->count;
}

void read_windows(const struct command *cmd, struct action_list *out)
{
	bool powershell = !command_in(cmd, " cmd cmd.exe ");
	size_t at = windows_text_at(cmd, powershell);
	struct shell_word text;
	struct windows_text *t;

	if (at >= cmd->count)
		return;
	text = word_join(cmd->words + at, cmd->count - at, out->arena);
	if (!action_charge(out, WINDOWS_WORK_BYTE * text.text.len))
		return;
	t = shell_alloc(out->arena, sizeof(*t));
	*t = (struct windows_text){ .text = &text, .powershell = powershell, .out = out };
	windows_read_text(t);
}
