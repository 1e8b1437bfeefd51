/*
 * Editors, databases, AppleScript and PowerShell: their own commands, in options or on standard
 * input, that run shell text, write a file or stop the machine.
 */
#include "blocklist/effects/readers.h"

#include <ctype.h>

#include "base/mem.h"
#include "blocklist/command/word.h"

/* Such text may not be valid shell, and its commands do not share the standard input. */
#define LINE_FLAGS (ACTION_LENIENT | ACTION_NO_INPUT)

/* ---- files named in a text ---- */

/* The absolute path after each @mark, up to a blank or the end of the command, is written. */
static void editors_touch_behind(const struct shell_word *word, const char *mark,
				 struct action_list *out)
{
	const char *s = word->text.s;

	for (const char *hit = s; (hit = strstr(hit, mark)) != NULL; hit++) {
		size_t from = (size_t)(hit - s) + strlen(mark), to;
		struct shell_word path;

		if (hit > s && isalnum((unsigned char)hit[-1]) && isalpha((unsigned char)*mark))
			continue;
		from += strspn(s + from, " '\"");
		to = from + strcspn(s + from, " '\"|;\n");
		if (to == from || s[from] != '/')
			continue;
		path = word_slice(word, from, to, out->arena);
		action_touch(out, "write", &path);
	}
}

static void editors_touch_behind_any(const struct shell_word *word, const char *const *marks,
				     struct action_list *out)
{
	for (; *marks; marks++)
		editors_touch_behind(word, *marks, out);
}

/* ---- ed ---- */

/* !COMMAND and w FILE on standard input. */
void read_ed(const struct command *cmd, struct action_list *out)
{
	struct shell_word *lines = NULL;
	size_t n = 0;

	if (place_input(cmd->at))
		n = word_items(place_input(cmd->at), true, out->budget, out->arena, &lines);
	for (size_t i = 0; i < n; i++) {
		if (lines[i].text.s[0] == '!')
			action_text_part(out, &lines[i], 1, lines[i].text.len, LINE_FLAGS);
		if (word_begins(&lines[i], "w ")) {
			struct shell_word file = word_slice(&lines[i], 2, lines[i].text.len,
							    out->arena);
			action_touch(out, "write", &file);
		}
	}
}

/* ---- sed ---- */

/* The next @mark in @s that no backslash quotes; NULL: there is none. */
static const char *editors_sed_mark(const char *s, char mark)
{
	for (; *s && *s != mark; s++)
		s += *s == '\\' && s[1];
	return *s ? s : NULL;
}

/* sed's s/A/B/e runs B; for an & in B, the input. */
static void editors_sed_flag(const struct command *cmd, const struct shell_word *script,
			     struct action_list *out)
{
	const char *s = script->text.s, *start = strchr(s, 's'), *middle, *end;
	struct shell_word text;

	if (!start || !start[1] || start[1] == ' ')
		return;
	middle = editors_sed_mark(start + 2, start[1]);
	end = middle ? editors_sed_mark(middle + 1, start[1]) : NULL;
	if (!end || !memchr(end, 'e', strspn(end + 1, "egpiIm0123456789") + 1))
		return;
	text = word_slice(script, (size_t)(middle + 1 - s), (size_t)(end - s), out->arena);
	if (place_input(cmd->at) && strchr(text.text.s, '&'))
		action_text(out, place_input(cmd->at), ACTION_LENIENT);
	action_text(out, &text, ACTION_LENIENT);
}

/* sed's command e TEXT. */
static void editors_sed_lines(const struct shell_word *script, struct action_list *out)
{
	const char *s = script->text.s;

	for (const char *e = s; (e = strstr(e, "e ")) != NULL; e++) {
		size_t from = (size_t)(e + 2 - s);

		if (e == s || strchr(";!}0123456789$/\n", e[-1]))
			action_text_part(out, script, from, from + strcspn(s + from, "\n"),
					 LINE_FLAGS);
	}
}

/* sed's command w FILE, and the flag w FILE of its s command. */
static void editors_sed_file(const struct shell_word *script, struct action_list *out)
{
	const char *s = script->text.s, *at = strstr(s, "w /");
	size_t from = at ? (size_t)(at + 2 - s) : 0;
	struct shell_word file;

	if (!at)
		return;
	file = word_slice(script, from, from + strcspn(s + from, "\n;}"), out->arena);
	action_touch(out, "write", &file);
}

void read_sed(const struct command *cmd, struct action_list *out)
{
	const struct shell_word *input = place_input(cmd->at);

	for (size_t i = 1; i < cmd->count; i++) {
		const struct shell_word *w = &cmd->words[i];
		const char *s = w->text.s;

		if (input && word_in(w, " e 1e "))
			action_text(out, input, ACTION_NO_INPUT);
		if (s[0] != '-' && s[0] != '/')
			editors_sed_flag(cmd, w, out);
		if (i < 3 && s[0] != '-')
			editors_sed_lines(w, out);
		if (w->content && word_is(w - 1, "-f"))
			editors_sed_lines(w->content, out);
		if (word_is(w, "e"))
			action_flow(out, cmd->at->input_flow, cmd->words, cmd->count);
		editors_sed_file(w, out);
	}
}

/* ---- vi ---- */

/* Skip words that may precede the ! of a command line; the index after them. */
static size_t editors_vi_colon_skip(const char *s, size_t from, const char *bang)
{
	static const char *const before[] = { "silent! ", "silent ", "sil ", "exe ", "execute ",
					      "r ", "read ", "w ", "%", "1," };
	int left = 8; /* of such words */

	for (size_t i = 0, skip; bang && i < COUNT_OF(before) && left; i++) {
		from += strspn(s + from, ": '\"");
		skip = strlen(before[i]);
		if (s + from + skip <= bang + 1 && strncmp(s + from, before[i], skip) == 0) {
			from += skip;
			i = (size_t)-1;
			left--;
		}
	}
	return from;
}

/* The command line of vi from @from on: silent !TEXT, call system("..."), w FILE. */
static void editors_vi_colon(const struct command *cmd, const struct shell_word *word, size_t from,
			     struct action_list *out)
{
	static const char *const marks[] = { "w ", "w!", "w >>", "wq ", "sav ", "saveas ", "sav! ",
					     "wn ", NULL };
	const char *s = word->text.s;
	struct shell_word *rest;

	from = editors_vi_colon_skip(s, from, strchr(s + from, '!'));
	if (s[from] == '!') {
		action_text_part(out, word, from + 1, word->text.len, LINE_FLAGS);
		return;
	}
	rest = shell_alloc(out->arena, sizeof(*rest));
	*rest = word_slice(word, from, word->text.len, out->arena);
	editors_touch_behind_any(rest, marks, out);
	if (strchr(rest->text.s, '('))
		action_script(out, rest, cmd->at->args, cmd->at->arg_count, ACTION_FOREIGN);
}

void read_vi(const struct command *cmd, struct action_list *out)
{
	for (size_t i = 1; i < cmd->count; i++) {
		const struct shell_word *w = &cmd->words[i];
		const char *s = w->text.s;

		if (s[0] == '+' && s[1])
			editors_vi_colon(cmd, w, 1, out);
		if (s[0] == '-' && i + 1 < cmd->count &&
		    (s[w->text.len - 1] == 'c' || word_is(w, "--cmd")))
			editors_vi_colon(cmd, w + 1, 0, out);
		if (word_begins(w, "-c") && s[2])
			editors_vi_colon(cmd, w, 2, out);
	}
}

/* ---- visudo, vipw, vigr ---- */

/* The editor that a variable names gets the file of the accounts as its last word. */
void read_visudo(const struct command *cmd, struct action_list *out)
{
	static const char editors[] = "$SUDO_EDITOR \"$1\"; $VISUAL \"$1\"; $EDITOR \"$1\"";
	const char *file = command_in(cmd, " visudo ") ? "/etc/sudoers" :
			   command_in(cmd, " vipw ") ? "/etc/passwd" : "/etc/group";
	struct shell_word *params = shell_alloc(out->arena, 2 * sizeof(*params)), *text;
	const struct args_option *named;
	size_t from = 0;

	args_read(out->args, cmd->words, cmd->count, " -f --file -R --root ", false);
	if (args_has(out->args, " -c --check -h --help -V --version "))
		return;
	named = command_in(cmd, " visudo ") ? args_next(out->args, " -f --file ", &from) : NULL;
	params[0] = cmd->words[0];
	params[1] = word_fixed(file, SHELL_LITERAL, cmd->words, out->arena);
	if (named && named->value)
		params[1] = word_slice(named->value, named->skip, named->value->text.len,
				       out->arena);
	text = shell_alloc(out->arena, sizeof(*text));
	*text = word_fixed(editors, SHELL_LITERAL, cmd->words, out->arena);
	action_script(out, text, params, 2, ACTION_LENIENT);
}

/* ---- databases ---- */

/* .backup FILE, .shell TEXT, \o FILE, COPY ... TO PROGRAM 'TEXT' */
static void editors_sql_text(const struct shell_word *word, struct action_list *out)
{
	static const char *const marks[] = { ".backup ", ".output ", ".once ", ".save ", ".clone ",
					     "\\o ", "\\g ", "OUTFILE ", "outfile ", "DUMPFILE ",
					     "dumpfile ", NULL };
	static const char *const runs[] = { "PROGRAM '", "program '", ".shell ", ".system ",
					    "\\! ", "\\!" };
	const char *s = word->text.s;

	editors_touch_behind_any(word, marks, out);
	for (size_t i = 0; i < COUNT_OF(runs); i++) {
		const char *hit = strstr(s, runs[i]);
		size_t from, to;

		if (!hit)
			continue;
		from = (size_t)(hit - s) + strlen(runs[i]);
		to = from + strcspn(s + from, s[from - 1] == '\'' ? "'" : "\n");
		action_text_part(out, word, from, to, LINE_FLAGS);
	}
}

void read_sql(const struct command *cmd, struct action_list *out)
{
	for (size_t i = 1; i < cmd->count; i++)
		editors_sql_text(&cmd->words[i], out);
	if (place_input(cmd->at))
		editors_sql_text(place_input(cmd->at), out);
}

/* ---- AppleScript ---- */

/* The end of the string that begins at @s[from]. */
static size_t editors_apple_string_end(const char *s, size_t from)
{
	size_t i = from + 1;

	while (s[i] && s[i] != '"')
		i += s[i] == '\\' && s[i + 1] ? 2 : 1;
	return i;
}

/* Does a statement that stops the machine begin at @s[i]: on a line, or behind tell ... to? */
static bool editors_apple_stops(const char *s, size_t i)
{
	static const char *const verbs[] = { "shut down", "restart", "sleep",
					     "\302\253event aevtrsdn",
					     "\302\253event aevtrrst" };
	size_t before = i, k = 0, len = 0;

	for (; k < COUNT_OF(verbs); k++) {
		len = strlen(verbs[k]);
		if (strncasecmp(s + i, verbs[k], len) == 0)
			break;
	}
	if (k == COUNT_OF(verbs) || isalnum((unsigned char)s[i + len]))
		return false;
	while (before > 0 && (s[before - 1] == ' ' || s[before - 1] == '\t'))
		before--;
	return before == 0 || s[before - 1] == '\n' ||
	       (before > 2 && before < i && strncasecmp(s + before - 3, " to", 3) == 0);
}

/* do shell script "TEXT" and, if the text addresses the @system, shut down and its kin. */
static void editors_apple_text(const struct shell_word *word, bool system, struct action_list *out)
{
	static const char run[] = "do shell script ";
	const char *s = word->text.s;
	size_t len = strlen(run);
	struct shell_word *stop;

	if (!action_charge(out, word->text.len))
		return;
	for (size_t i = 0; i < word->text.len; i++) {
		size_t from = i;

		if (system && editors_apple_stops(s, i)) {
			stop = shell_alloc(out->arena, sizeof(*stop));
			*stop = word_fixed("shutdown", SHELL_LITERAL, word, out->arena);
			action_words(out, stop, 1, 0);
			return;
		}
		if (s[i] != '"')
			continue;
		i = editors_apple_string_end(s, i);
		if (from >= len && strncasecmp(s + from - len, run, len) == 0)
			action_text_part(out, word, from + 1, i, LINE_FLAGS);
	}
}

void read_osascript(const struct command *cmd, struct action_list *out)
{
	const struct shell_word *input = place_input(cmd->at);
	bool system = false;

	for (size_t i = 1; i <= cmd->count; i++) {
		const struct shell_word *w = i < cmd->count ? &cmd->words[i] : input;

		system |= w && (strcasestr(w->text.s, "\"System Events\"") ||
				strcasestr(w->text.s, "\"Finder\"") ||
				strcasestr(w->text.s, "\"loginwindow\""));
	}
	for (size_t i = 1; i < cmd->count; i++)
		editors_apple_text(&cmd->words[i], system, out);
	if (input)
		editors_apple_text(input, system, out);
}

/* ---- PowerShell ---- */

/* Is @text in @s, in upper or lower case? */
static bool editors_powershell_says_one(const char *s, const char *text)
{
	return strcasestr(s, text) != NULL;
}

static bool editors_powershell_says(const char *s, const char *const *texts)
{
	for (; *texts; texts++)
		if (editors_powershell_says_one(s, *texts))
			return true;
	return false;
}

void read_powershell(const struct command *cmd, struct action_list *out)
{
	static const char encoded[] = " -e -ec -en -enc -enco -encodedcommand ";
	static const char *const runs[] = { "iex", "invoke-expression", "scriptblock]", NULL };
	static const char *const fetches[] = { "iwr", "irm", "invoke-webrequest",
					       "invoke-restmethod", "download", "curl ", "wget ",
					       "http", NULL };
	bool text = false;

	for (size_t i = 1; i < cmd->count; i++) {
		const char *s = cmd->words[i].text.s;
		char option[20];
		size_t n = 0;

		for (; s[n] && n + 1 < sizeof(option); n++)
			option[n] = (char)tolower((unsigned char)s[n]);
		option[n] = '\0';
		if (list_has(encoded, option, n) && i + 1 < cmd->count)
			action_flow(out, FLOW_DECODED, cmd->words, cmd->count);
		if (text && word_is(&cmd->words[i], "-"))
			action_flow(out, FLOW_REMOTE, cmd->words, cmd->count);
		text |= list_has(" -c -command ", option, n);
		if (editors_powershell_says(s, runs) && editors_powershell_says(s, fetches))
			action_flow(out, FLOW_REMOTE, cmd->words, cmd->count);
		if (editors_powershell_says(s, runs) &&
		    editors_powershell_says_one(s, "frombase64string"))
			action_flow(out, FLOW_DECODED, cmd->words, cmd->count);
	}
	if (cmd->count == 1)
		action_flow(out, cmd->at->input_flow, cmd->words, cmd->count);
	read_windows(cmd, out);
}
