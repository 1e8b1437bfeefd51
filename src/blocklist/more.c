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

static bool word_in(const struct shell_word *w, const char *list)
{
	return blocklist_listed(list, w->text.s, w->text.len);
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

/* m4: syscmd(TEXT), with or without its quotes. */
static bool walk_m4(struct blocklist_walk *w, const struct blocklist_stage *at)
{
	const char *s = at->input ? at->input->text.s : "", *hit = strstr(s, "syscmd(");
	size_t from, to;

	if (!hit)
		return false;
	from = (size_t)(hit - s) + 7;
	from += strspn(s + from, "` ");
	to = from + strcspn(s + from, "')");
	return walk_rest(w, at->input, from, to, at);
}

/* Lines !TEXT and shell TEXT of ftp, gdb and their like. */
static bool walk_bang_lines(struct blocklist_walk *w, const struct blocklist_stage *at)
{
	struct shell_word *lines = NULL;
	size_t n = at->input ? walk_items(w, at->input, true, &lines) : 0;

	for (size_t i = 0; i < n; i++) {
		const char *s = lines[i].text.s;
		size_t skip = strspn(s, " ~:");

		skip += s[skip] == '!' ? 1 : strncmp(s + skip, "shell ", 6) == 0 ? 6 : 0;
		if (skip > strspn(s, " ~:") && walk_rest(w, &lines[i], skip, lines[i].text.len, at))
			return true;
	}
	return false;
}

/* parted DISK, with its commands on standard input. */
static bool walk_parted(struct blocklist_walk *w, const struct blocklist_name *name,
			const struct shell_word *words, size_t count,
			const struct blocklist_stage *at)
{
	struct shell_word *lines = NULL, *items, *list;
	size_t n = at->input ? walk_items(w, at->input, true, &lines) : 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = walk_items(w, &lines[i], false, &items);

		list = shell_alloc(&w->arena, (count + k) * sizeof(*list));
		memcpy(list, words, count * sizeof(*list));
		memcpy(list + count, items, k * sizeof(*list));
		if (walk_named(w, name, list, count + k, false, at))
			return true;
	}
	return false;
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

/* ---- builtins and make ---- */

/* let 'a[$(TEXT)]=1', unset 'a[$(TEXT)]': the index is expanded when it is used. */
static bool walk_index(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		       const struct blocklist_stage *at)
{
	for (size_t i = 1; i < count; i++) {
		const char *s = words[i].text.s, *open = strstr(s, "$("), *end = strrchr(s, ')');

		if (open && end > open &&
		    walk_rest(w, &words[i], (size_t)(open + 2 - s), (size_t)(end - s), at))
			return true;
	}
	return false;
}

/* bind -x '"KEYS":TEXT' */
static bool walk_bind(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      const struct blocklist_stage *at)
{
	const char *colon = count == 3 && word_is(&words[1], "-x")
				    ? strchr(words[2].text.s, ':') : NULL;

	size_t from = colon ? (size_t)(colon + 1 - words[2].text.s) : 0;
	size_t quote = colon && colon[1] == '"';

	return colon && walk_rest(w, &words[2], from + quote, words[2].text.len - quote, at);
}

/* make CC=TEXT: programs that the rules of every makefile run. */
static bool walk_make_variables(struct blocklist_walk *w, const struct shell_word *words,
				size_t count, const struct blocklist_stage *at)
{
	static const char names[] = " CC CXX CPP LD AR AS RM CP MV LN MKDIR INSTALL MAKE PYTHON "
				    "NODE GO SED AWK RANLIB STRIP ";

	for (size_t i = 1; i < count; i++) {
		const char *s = words[i].text.s, *equals = strchr(s, '=');
		size_t len = equals ? (size_t)(equals - s) : 0;

		while (len && strchr(":?+!", s[len - 1]))
			len--;
		if (len && listed(names, s, len) &&
		    walk_rest(w, &words[i], (size_t)(equals + 1 - s), words[i].text.len, at))
			return true;
	}
	return false;
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
	switch (s[0]) {
	case 't':
	case 'g':
		if (name && listed(" tar gtar ", s, len))
			return walk_tar(w, name, words, count, at);
		return listed(" gdb gvim gnuplot telnet tftp ", s, len) &&
		       (s[1] == 'v' ? walk_vi(w, words, count, at) : walk_bang_lines(w, at));
	case 'v':
	case 'n':
	case 'e':
		return listed(" vi vim view vimdiff nvim ex vim.tiny ", s, len) &&
		       walk_vi(w, words, count, at);
	case 's':
		if (listed(" sqlite3 sqlite ", s, len))
			return walk_sql(w, words, count, at);
		return listed(" sftp sh ", s, len) &&
		       (len == 2 ? walk_startup(w, words, count, at) : walk_bang_lines(w, at));
	case 'p':
		if (name && at->input && listed(" parted ", s, len))
			return walk_parted(w, name, words, count, at);
		if (listed(" psql ", s, len))
			return walk_sql(w, words, count, at);
		return listed(" pwsh powershell ", s, len) && walk_pwsh(w, words, count, at);
	case 'm':
		if (listed(" mysql mariadb ", s, len))
			return walk_sql(w, words, count, at);
		if (len == 2 && s[1] == '4')
			return walk_m4(w, at);
		if (listed(" mail mailx mutt ", s, len))
			return walk_bang_lines(w, at);
		return listed(" make ", s, len) && walk_make_variables(w, words, count, at);
	case 'f':
	case 'l':
		if (listed(" let ", s, len))
			return walk_index(w, words, count, at);
		return listed(" ftp lftp ", s, len) && walk_bang_lines(w, at);
	case 'u':
		return listed(" unset ", s, len) && walk_index(w, words, count, at);
	case 'c':
	case 'w':
		return listed(" curl wget ", s, len) && walk_fetched(w, words, count);
	case 'b':
		if (listed(" bash ", s, len))
			return walk_startup(w, words, count, at);
		return listed(" bind ", s, len) && walk_bind(w, words, count, at);
	case 'd':
		if (len == 2 && s[1] == 'c')
			return walk_bang_lines(w, at);
		return word_in(&words[0], " duckdb ") && walk_sql(w, words, count, at);
	}
	return false;
}
