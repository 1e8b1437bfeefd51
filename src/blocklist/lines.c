/*
 * Programs that take lines of a language of their own, some of which run or write: jobs,
 * crontabs, ed, sed, makefiles, rules of a firewall, passwords. Declared in blocklist_stage.h.
 */
#include "blocklist/stage.h"

#include "blocklist/walk.h"

/* ---- what comes in ---- */

static bool only_blanks(const struct shell_word *word)
{
	return strspn(word->text.s, " \t\n") == word->text.len;
}

/* Nothing but comments: a crontab without a job. */
static bool no_jobs(const struct shell_word *text)
{
	const char *s = text->text.s;

	for (; *s; s += strcspn(s, "\n")) {
		s += strspn(s, " \t\n");
		if (*s && *s != '#')
			return false;
	}
	return true;
}

/* Is standard input /dev/null? */
static bool from_null(const struct blocklist_stage *at)
{
	const struct shell_command *c;

	if (!at->script || at->index == SHELL_NONE)
		return false;
	c = &at->script->commands[at->index];
	for (size_t i = 0; i < c->redirect_count; i++)
		if (c->redirects[i].op == SHELL_FROM &&
		    word_is(&c->redirects[i].target, "/dev/null"))
			return true;
	return false;
}

/* : | crontab - */
static bool from_nothing(const struct blocklist_stage *at)
{
	const struct shell_command *c;
	uint32_t from;

	if (!at->script || at->index == SHELL_NONE)
		return false;
	from = at->script->commands[at->index].piped_from;
	if (from >= at->script->command_count)
		return false;
	c = &at->script->commands[from];
	if (c->word_count == 2)
		return (word_is(c->words, "printf") && !c->words[1].text.len) ||
		       (word_is(c->words, "cat") && word_is(c->words + 1, "/dev/null")) ||
		       (word_is(c->words, "echo") && word_is(c->words + 1, "-n"));
	return c->word_count == 1 && (word_is(c->words, ":") || word_is(c->words, "true"));
}

/* ---- jobs, passwords, ed, firewalls ---- */

/* at and batch take shell text from standard input, crontab - takes lines of it. */
static bool walk_jobs(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      const struct blocklist_stage *at)
{
	struct shell_wrap wrap = { .kind = WRAP_STDIN, .words = words, .count = 1 };

	return walk_stdin(w, &wrap, words, count, at);
}

static bool walk_crontab_lines(struct blocklist_walk *w, const struct shell_word *text,
			       const struct blocklist_stage *at)
{
	struct shell_word *lines;
	struct blocklist_stage inner = *at;
	size_t n = walk_items(w, text, true, &lines);

	inner.input = NULL;
	inner.lenient = true;
	for (size_t i = 0; i < n; i++) {
		/* (crontab -l; echo LINE): what is not known ends before LINE. */
		size_t from = word_unknown_at(&lines[i], 0);
		size_t skip = from + walk_cron_skip(lines[i].text.s + from, false);
		struct shell_word line =
			shell_wrap_slice(&lines[i], skip, lines[i].text.len, &w->arena);
		if (walk_nested(w, &line, NULL, 0, &inner))
			return true;
	}
	return false;
}

static bool walk_crontab(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			 const struct blocklist_stage *at)
{

	if (count > 1 && !word_is(&words[count - 1], "-"))
		return false;
	shell_budget_take(&w->budget, at->input ? at->input->text.len : 0);
	if (at->input ? no_jobs(at->input) : from_null(at) || from_nothing(at))
		return walk_found(w, "jobs", words[0].start, words[count - 1].end);
	if (walk_flow(w, at->input_flow & FLOW_REMOTE, words, count))
		return true;
	return at->input && walk_crontab_lines(w, at->input, at);
}

/* echo root:x | chpasswd */
static bool walk_chpasswd(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			  const struct blocklist_stage *at)
{
	struct shell_word *lines;
	size_t n = at->input ? walk_items(w, at->input, true, &lines) : 0;

	if (at->script && at->index != SHELL_NONE &&
	    word_is(&at->script->commands[at->index].words[0], "chroot"))
		return false; /* the root of an image */
	for (size_t i = 0; i < n; i++)
		if (strncmp(lines[i].text.s, "root:", 5) == 0)
			return walk_found(w, "root_password", words[0].start,
					  words[count - 1].end);
	return false;
}

/* Lines for ed: !COMMAND and w FILE. */
static bool walk_ed(struct blocklist_walk *w, const struct blocklist_stage *at)
{
	struct shell_word *lines, rest;
	struct blocklist_stage inner = *at;
	size_t n = at->input ? walk_items(w, at->input, true, &lines) : 0;

	inner.input = NULL;
	inner.lenient = true;
	for (size_t i = 0; i < n; i++) {
		bool writes = strncmp(lines[i].text.s, "w ", 2) == 0;

		if (!writes && lines[i].text.s[0] != '!')
			continue;
		rest = shell_wrap_slice(&lines[i], 1 + writes, lines[i].text.len, &w->arena);
		if (writes ? blocklist_judge_effect(&w->rules, "write", &rest, 0, false,
						    &w->finding)
			   : walk_nested(w, &rest, NULL, 0, &inner))
			return true;
	}
	return false;
}

/* Each line of standard input is the rest of a command that begins with @words. */
static bool walk_command_lines(struct blocklist_walk *w, const char *program,
			       const struct shell_word *words, size_t count,
			       const struct blocklist_stage *at)
{
	const struct blocklist_name *name = blocklist_lookup(program, strlen(program));
	struct shell_word *lines, *items, *list;
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

/* nft -f -, iptables-restore */
static bool walk_rule_lines(struct blocklist_walk *w, const char *program,
			    const struct shell_word *words, size_t count,
			    const struct blocklist_stage *at)
{
	if (count > 1 && (word_is(&words[1], "-t") || word_is(&words[1], "--test")))
		return false;
	if (from_null(at) || (at->input && only_blanks(at->input) && count == 1) ||
	    (count > 1 && word_is(&words[count - 1], "/dev/null")))
		return walk_found(w, "firewall.empty", words[0].start, words[count - 1].end);
	return walk_command_lines(w, program, words, 1, at);
}

/* ---- make ---- */

/* The makefile of -f - or -f <(...), as far as its text is known. *@input: it is what comes in. */
static const struct shell_word *makefile_text(const struct shell_word *words, size_t count,
					      const struct blocklist_stage *at, bool *input)
{
	static const char stdin_names[] = " - /dev/stdin /dev/fd/0 ";

	*input = false;
	for (size_t i = 1; i < count; i++) {
		bool next = word_is(&words[i], "-f") && i + 1 < count;
		const struct shell_word *file = &words[i + next];

		*input = word_is(&words[i], "-f-") ||
			 (next && blocklist_listed(stdin_names, file->text.s, file->text.len));
		if (*input)
			return at->input;
		if (next && file->content)
			return file->content;
	}
	return NULL;
}

/* The Makefile that the text wrote before. */
static const struct shell_word *written_makefile(struct blocklist_walk *w)
{
	static const char *const names[] = { "Makefile", "makefile", "GNUmakefile" };
	static const uint8_t kind[16];

	for (size_t i = 0; w->files.count && i < 3; i++) {
		struct shell_word name = { .text = { .s = names[i], .len = strlen(names[i]) },
					   .kind = kind };
		const struct blocklist_file *f = blocklist_file_find(&w->files, &name);

		if (f && f->known)
			return &f->content;
	}
	return NULL;
}

/* make -f -: the lines of recipes, and what stands behind ; in a rule. */
static bool walk_makefile(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			  const struct blocklist_stage *at)
{
	struct shell_word *lines;
	struct blocklist_stage inner = *at;
	bool input;
	const struct shell_word *text = makefile_text(words, count, at, &input);

	if (!text && !input)
		text = written_makefile(w);
	size_t n = text ? walk_items(w, text, true, &lines) : 0;

	if (input && walk_flow(w, at->input_flow, words, count))
		return true;
	inner.input = NULL;
	inner.lenient = true;
	for (size_t i = 0; i < n; i++) {
		const char *s = lines[i].text.s, *recipe = s[0] == '\t' ? s : strchr(s, ';');
		struct shell_word run;

		if (!recipe)
			continue;
		run = shell_wrap_slice(&lines[i], (size_t)(recipe - s) + 1, lines[i].text.len,
				       &w->arena);
		if (walk_nested(w, &run, NULL, 0, &inner))
			return true;
	}
	return false;
}

/* ---- sed ---- */

/* s/A/B/e of sed runs B, as far as that is known. */
static bool walk_sed_run(struct blocklist_walk *w, const struct shell_word *script,
			 const struct blocklist_stage *at)
{
	const char *s = script->text.s, *start = strchr(s, 's'), *middle, *end;
	struct blocklist_stage inner = *at;
	struct shell_word text;

	if (!start || !start[1] || start[1] == ' ')
		return false;
	middle = strchr(start + 2, start[1]);
	end = middle ? strchr(middle + 1, start[1]) : NULL;
	if (!end || !memchr(end, 'e', strspn(end + 1, "egpiIm0123456789") + 1))
		return false;
	inner.lenient = true;
	text = shell_wrap_slice(script, (size_t)(middle + 1 - s), (size_t)(end - s), &w->arena);
	if (at->input && strchr(text.text.s, '&') && walk_nested(w, at->input, NULL, 0, &inner))
		return true;
	return walk_nested(w, &text, NULL, 0, &inner);
}

/* The command e TEXT of sed. */
static bool walk_sed_lines(struct blocklist_walk *w, const struct shell_word *script,
			   const struct blocklist_stage *at)
{
	const char *s = script->text.s;
	struct blocklist_stage inner = *at;
	struct shell_word text;

	inner.lenient = true;
	inner.input = NULL;
	for (const char *e = s; (e = strstr(e, "e ")) != NULL; e++) {
		size_t from = (size_t)(e + 2 - s);

		if (e > s && !strchr(";!}0123456789$/\n", e[-1]))
			continue;
		text = shell_wrap_slice(script, from, from + strcspn(s + from, "\n"), &w->arena);
		if (walk_nested(w, &text, NULL, 0, &inner))
			return true;
	}
	return false;
}

/* The command w FILE of sed, and the flag w of its s command. */
static bool walk_sed(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		     const struct blocklist_stage *stage)
{
	for (size_t i = 1; i < count; i++) {
		const char *s = words[i].text.s, *at = strstr(s, "w /");
		struct shell_word file;
		size_t from;

		if (stage->input && (word_is(&words[i], "e") || word_is(&words[i], "1e"))) {
			struct blocklist_stage inner = *stage;

			inner.input = NULL;
			if (walk_nested(w, stage->input, NULL, 0, &inner))
				return true;
		}
		if (s[0] != '-' && s[0] != '/' && walk_sed_run(w, &words[i], stage))
			return true;
		if (i < 3 && s[0] != '-' && walk_sed_lines(w, &words[i], stage))
			return true;
		if (words[i].content && word_is(&words[i - 1], "-f") &&
		    walk_sed_lines(w, words[i].content, stage))
			return true;
		if (word_is(&words[i], "e") && walk_flow(w, stage->input_flow, words, count))
			return true;
		if (!at)
			continue;
		from = (size_t)(at + 2 - s);
		file = shell_wrap_slice(&words[i], from, from + strcspn(s + from, "\n;}"),
					&w->arena);
		if (blocklist_judge_effect(&w->rules, "write", &file, 0, false, &w->finding))
			return true;
	}
	return false;
}

/* ---- which one ---- */

bool walk_lines(struct blocklist_walk *w, const char *s, size_t len,
		const struct shell_word *words, size_t count, const struct blocklist_stage *at)
{
	switch (s[0]) {
	case 'a':
	case 'b':
		return blocklist_listed(" at batch ", s, len) && walk_jobs(w, words, count, at);
	case 'c':
		if (blocklist_listed(" chpasswd ", s, len))
			return walk_chpasswd(w, words, count, at);
		return blocklist_listed(" crontab ", s, len) && walk_crontab(w, words, count, at);
	case 'e':
		return blocklist_listed(" ed ", s, len) && walk_ed(w, at);
	case 'i':
		return blocklist_listed(" iptables-restore ip6tables-restore "
					"iptables-nft-restore ", s, len) &&
		       walk_rule_lines(w, "iptables", words, count, at);
	case 'm':
		return blocklist_listed(" make gmake ", s, len) &&
		       walk_makefile(w, words, count, at);
	case 'n':
		return blocklist_listed(" nft ", s, len) &&
		       walk_rule_lines(w, "nft", words, count, at);
	case 'p':
		return blocklist_listed(" parted ", s, len) &&
		       walk_command_lines(w, "parted", words, count, at);
	case 's':
		return blocklist_listed(" sed ", s, len) && walk_sed(w, words, count, at);
	}
	return false;
}
