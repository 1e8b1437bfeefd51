/*
 * More programs with a reading of their own: editors and databases that write files or
 * run commands from the text of an option, tar's letters without a dash, PowerShell.
 * Declared in blocklist_stage.h.
 */
#include "blocklist/stage.h"

#include <ctype.h>

#include "base/mem.h"
#include "blocklist/walk.h"

static bool listed(const char *list, const char *s, size_t len)
{
	return blocklist_listed(list, s, len);
}

/* ---- tar cf FILE ---- */

/* Letters without a dash: those that take a value take the words behind, in their order. */
static bool walk_tar(struct blocklist_walk *w, const struct blocklist_name *name,
		     const struct shell_word *words, size_t count, const struct blocklist_stage *at)
{
	static const char letters[] = "AcdrtuxvzjJZfCTXIWkmOpPhSsBbGgLlUw";
	const char *s = count > 1 ? words[1].text.s : "-";
	size_t len = strlen(s), next = 2, n = 1;
	struct shell_word *list;

	if (s[0] == '-' || !len || len > 12 || strspn(s, letters) != len)
		return false;
	list = shell_alloc(&w->arena, (count + len + 2) * sizeof(*list));
	list[0] = words[0];
	for (size_t i = 0; i < len; i++) {
		struct shell_word dash = shell_wrap_slice(&words[1], i, i + 1, &w->arena);
		char *text = shell_alloc(&w->arena, 3);

		text[0] = '-';
		text[1] = s[i];
		dash.text.s = text;
		dash.text.len = 2;
		dash.text.at = NULL;
		dash.kind = shell_alloc(&w->arena, 3);
		list[n++] = dash;
		if (strchr("fCTXIbGgLV", s[i]) && next < count)
			list[n++] = words[next++];
	}
	memcpy(list + n, words + next, (count - next) * sizeof(*list));
	return walk_named(w, name, list, n + count - next, false, at) ||
	       walk_hidden(w, name, list, n + count - next, at);
}

/* ---- texts in options ---- */

/* What of a text is a path: behind @mark, up to a blank or what ends a command. */
static bool writes_at(struct blocklist_walk *w, const struct shell_word *word, const char *mark)
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
		path = shell_wrap_slice(word, from, to, &w->arena);
		if (blocklist_judge_effect(&w->rules, "write", &path, 0, false, &w->finding))
			return true;
	}
	return false;
}

static bool writes_any(struct blocklist_walk *w, const struct shell_word *word,
		       const char *const *marks)
{
	for (; *marks; marks++)
		if (writes_at(w, word, *marks))
			return true;
	return false;
}

bool walk_rest(struct blocklist_walk *w, const struct shell_word *word, size_t from, size_t to,
	       const struct blocklist_stage *at)
{
	struct shell_word text = shell_wrap_slice(word, from, to, &w->arena);
	struct blocklist_stage inner = *at;

	inner.lenient = true;
	inner.input = NULL;
	return walk_nested(w, &text, NULL, 0, &inner);
}

/* A command line of vi: :silent !TEXT, call system("..."), w FILE. */
static bool walk_colon(struct blocklist_walk *w, const struct shell_word *word, size_t from,
		       const struct blocklist_stage *at)
{
	static const char *const marks[] = { "w ", "w! ", "w >>", "wq ", "sav ", "saveas ", "sav! ",
					     "wn ", NULL };
	static const char *const before[] = { "silent! ", "silent ", "sil ", "exe ", "execute ",
					      "r ", "read ", "w ", "%", "1," };
	const char *s = word->text.s, *bang = strchr(s + from, '!');
	struct shell_word rest;
	int left = 8; /* of such words before it */

	for (size_t i = 0, skip; bang && i < COUNT_OF(before) && left; i++) {
		from += strspn(s + from, ": '\"");
		skip = strlen(before[i]);
		if (s + from + skip <= bang + 1 && strncmp(s + from, before[i], skip) == 0) {
			from += skip;
			i = (size_t)-1;
			left--;
		}
	}
	if (s[from] == '!')
		return walk_rest(w, word, from + 1, word->text.len, at);
	rest = shell_wrap_slice(word, from, word->text.len, &w->arena);
	return writes_any(w, &rest, marks) ||
	       (strchr(rest.text.s, '(') && walk_code(w, &rest, false, at));
}

static bool walk_vi(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		    const struct blocklist_stage *at)
{
	for (size_t i = 1; i < count; i++) {
		const char *s = words[i].text.s;

		if (s[0] == '+' && s[1] && walk_colon(w, &words[i], 1, at))
			return true;
		if (s[0] == '-' && i + 1 < count && (s[strlen(s) - 1] == 'c' ||
						     word_is(&words[i], "--cmd")) &&
		    walk_colon(w, &words[i + 1], 0, at))
			return true;
		if (strncmp(s, "-c", 2) == 0 && s[2] && walk_colon(w, &words[i], 2, at))
			return true;
	}
	return false;
}

/* Databases: .backup FILE, .shell TEXT, \o FILE, COPY ... TO PROGRAM 'TEXT'. */
static bool walk_sql_text(struct blocklist_walk *w, const struct shell_word *word,
			  const struct blocklist_stage *at)
{
	static const char *const marks[] = { ".backup ", ".output ", ".once ", ".save ", ".clone ",
					     "\\o ", "\\g ", "OUTFILE ", "outfile ", "DUMPFILE ",
					     "dumpfile ", NULL };
	static const char *const runs[] = { "PROGRAM '", "program '", ".shell ", ".system ",
					    "\\! ", "\\!" };
	const char *s = word->text.s;

	if (writes_any(w, word, marks))
		return true;
	for (size_t i = 0; i < COUNT_OF(runs); i++) {
		const char *hit = strstr(s, runs[i]);
		size_t from, to;

		if (!hit)
			continue;
		from = (size_t)(hit - s) + strlen(runs[i]);
		to = from + strcspn(s + from, s[from - 1] == '\'' ? "'" : "\n");
		if (walk_rest(w, word, from, to, at))
			return true;
	}
	return false;
}

static bool walk_sql(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		     const struct blocklist_stage *at)
{
	for (size_t i = 1; i < count; i++)
		if (walk_sql_text(w, &words[i], at))
			return true;
	return at->input && walk_sql_text(w, at->input, at);
}

/* ---- PowerShell ---- */

/* Is @text in @s, whatever the case? */
static bool says(const char *s, const char *text)
{
	return strcasestr(s, text) != NULL;
}

static bool walk_pwsh(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      const struct blocklist_stage *at)
{
	static const char encoded[] = " -e -ec -en -enc -enco -encodedcommand ";
	bool text = false;

	for (size_t i = 1; i < count; i++) {
		const char *s = words[i].text.s;
		char option[20];
		size_t n = 0;

		for (; s[n] && n + 1 < sizeof(option); n++)
			option[n] = (char)tolower((unsigned char)s[n]);
		option[n] = '\0';
		if (listed(encoded, option, n) && i + 1 < count)
			return walk_found(w, "pipe.decoded", words[0].start, words[count - 1].end);
		if (text && word_is(&words[i], "-"))
			return walk_flow(w, FLOW_REMOTE, words, count);
		text |= listed(" -c -command ", option, n);
		if ((says(s, "iex") || says(s, "invoke-expression") || says(s, "scriptblock]")) &&
		    (says(s, "iwr") || says(s, "irm") || says(s, "invoke-webrequest") ||
		     says(s, "invoke-restmethod") || says(s, "download") || says(s, "curl ") ||
		     says(s, "wget ") || says(s, "http")))
			return walk_flow(w, FLOW_REMOTE, words, count);
		if (says(s, "frombase64string") &&
		    (says(s, "iex") || says(s, "invoke-expression") || says(s, "scriptblock]")))
			return walk_found(w, "pipe.decoded", words[0].start, words[count - 1].end);
	}
	return count == 1 && walk_flow(w, at->input_flow, words, count);
}

/* bash --rcfile FILE, --init-file FILE, as far as <(...) says what is in it. */
static bool walk_startup(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			 const struct blocklist_stage *at)
{
	struct shell_wrap wrap = { .kind = WRAP_FILE, .count = 1 };

	for (size_t i = 1; i + 1 < count; i++) {
		if (!word_is(&words[i], "--rcfile") && !word_is(&words[i], "--init-file"))
			continue;
		wrap.words = &words[i + 1];
		if (walk_file(w, &wrap, false, at))
			return true;
	}
	return false;
}

/* ---- all of them ---- */

/* curl -o ~/.bashrc URL, wget -P /etc/cron.d URL */
static bool walk_fetched(struct blocklist_walk *w, const struct shell_word *words, size_t count)
{
	for (size_t i = 1; i + 1 < count; i++) {
		const char *s = words[i].text.s;
		size_t len = words[i].text.len;

		if (s[0] == '-' && len > 1 &&
		    (strchr("oOP", s[len - 1]) || strstr(s, "--output")) &&
		    walk_runs_itself(&words[i + 1]))
			return walk_flow(w, FLOW_REMOTE, words, count);
	}
	return false;
}

bool walk_more(struct blocklist_walk *w, const struct blocklist_name *name, const char *s,
	       size_t len, const struct shell_word *words, size_t count,
	       const struct blocklist_stage *at)
{
	if (name && listed(" tar gtar ", s, len))
		return walk_tar(w, name, words, count, at);
	if (listed(" vi vim view vimdiff nvim ex vim.tiny gvim ", s, len))
		return walk_vi(w, words, count, at);
	if (listed(" sqlite3 sqlite psql mysql mariadb duckdb ", s, len))
		return walk_sql(w, words, count, at);
	if (listed(" pwsh powershell ", s, len))
		return walk_pwsh(w, words, count, at);
	if (listed(" curl wget ", s, len))
		return walk_fetched(w, words, count);
	return listed(" sh bash ", s, len) && walk_startup(w, words, count, at);
}
