#include "guard/blocklist_walk.h"

#include <string.h>

#include "base/mem.h"
#include "guard/blocklist_code.h"
#include "guard/blocklist_container.h"
#include "guard/blocklist_find.h"
#include "guard/blocklist_flow.h"
#include "guard/blocklist_hidden.h"
#include "guard/blocklist_kill.h"
#include "guard/shell_wrap.h"

#define DEPTH_MAX 40
#define STEPS_MAX 250000
#define NAMES_MAX 32
#define ITEMS_MAX 256
/* Names with unknown parts that are compared with all names of the table. */
#define PATTERNS_MAX 100
/* With more functions than this, none hides a program, and only few pairs are compared. */
#define FUNCTIONS_MAX 64

/* Where a command stands. All of it may be empty. */
struct stage {
	const struct shell_script *script;
	const struct blocklist_flows *flows;
	uint32_t index;
	const struct shell_word *input; /* known text on its standard input */
	const struct shell_assign *assigns;
	size_t assign_count;
	bool each; /* it gets all files below a place, one by one */
	bool same_shell; /* a text it runs sees all variables */
	bool lenient; /* a text it holds may be no shell text after all */
};

static bool walk_words(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		       const struct stage *at);
static bool walk_nested(struct blocklist_walk *w, const struct shell_word *text,
			const struct shell_word *args, size_t arg_count, const struct stage *at);
static bool judge_name(struct blocklist_walk *w, const struct blocklist_name *name,
		       const struct shell_word *words, size_t count, bool guess,
		       const struct stage *at);

static bool is(const struct shell_word *w, const char *text)
{
	return strcmp(w->text.s, text) == 0;
}

static bool found(struct blocklist_walk *w, const char *id, uint32_t start, uint32_t end)
{
	return blocklist_found(id, start, end, &w->finding);
}

static bool too_complex(struct blocklist_walk *w, uint32_t at)
{
	return found(w, "text.too_complex", at, at);
}

static bool unknown_at(const struct shell_word *w, size_t i)
{
	return i < w->text.len &&
	       (w->kind[i] == SHELL_UNKNOWN || w->kind[i] == SHELL_UNKNOWN_FIELDS);
}

/* ---- flows ---- */

/* A finding for text from @flow that is run. */
static bool run_flow(struct blocklist_walk *w, unsigned flow, const struct shell_word *words,
		     size_t count)
{
	uint32_t start = count ? words[0].start : 0, end = count ? words[count - 1].end : 0;

	if (flow & FLOW_REMOTE)
		return found(w, "pipe.remote", start, end);
	if (flow & FLOW_DECODED)
		return found(w, "pipe.decoded", start, end);
	return false;
}

static unsigned input_flow(const struct stage *at)
{
	return at->flows && at->index != SHELL_NONE ? blocklist_flow_input(at->flows, at->index) : 0;
}

static unsigned word_flow(const struct stage *at, const struct shell_word *word)
{
	return at->flows && at->index != SHELL_NONE
		       ? blocklist_flow_word(at->flows, at->index, word) : 0;
}

/* Text that begins unknown and comes from afar: $(curl ...), <(curl ...). */
static bool remote_text(struct blocklist_walk *w, const struct shell_word *text,
			const struct stage *at)
{
	size_t i = strspn(text->text.s, " \t\n\"'");

	return unknown_at(text, i) && run_flow(w, word_flow(at, text), text, 1);
}

/* ---- code of other languages ---- */

static bool walk_code(struct blocklist_walk *w, const struct shell_word *code, bool awk,
		      const struct stage *at)
{
	struct blocklist_code_calls calls = blocklist_code_read(code, awk, &w->arena);
	struct stage inner = *at;

	inner.lenient = true;
	for (size_t i = 0; i < calls.count; i++) {
		const struct blocklist_code_call *c = &calls.list[i];

		if (c->kind == CODE_SHELL && walk_nested(w, c->words, NULL, 0, &inner))
			return true;
		if (c->kind == CODE_NESTED && w->depth < DEPTH_MAX) {
			bool blocked;

			w->depth++;
			blocked = walk_code(w, c->words, awk, &inner);
			w->depth--;
			if (blocked)
				return true;
		}
		if (c->kind == CODE_INPUT && at->input && walk_nested(w, at->input, NULL, 0, &inner))
			return true;
		if (c->kind == CODE_WORDS && walk_words(w, c->words, c->count, &inner))
			return true;
		if (c->kind == CODE_EFFECT &&
		    blocklist_judge_effect(&w->rules, c->effect, c->words, 0, false, &w->finding))
			return true;
		if (c->kind == CODE_FOUND && found(w, c->effect, code->start, code->end))
			return true;
	}
	return false;
}

/* ---- words that come from standard input ---- */

static struct shell_word unknown_word(struct blocklist_walk *w, const struct shell_word *near)
{
	struct shell_word word = blocklist_contents(NULL, &w->arena);

	((uint8_t *)(uintptr_t)word.kind)[0] = SHELL_UNKNOWN_FIELDS;
	word.start = near ? near->start : 0;
	word.end = near ? near->end : 0;
	return word;
}

/* The items of known text: words, or lines if @lines. */
static size_t split_items(struct blocklist_walk *w, const struct shell_word *text, bool lines,
			  struct shell_word *items, size_t room)
{
	const char *stops = lines ? "\n" : " \t\n", *s = text->text.s;
	size_t n = 0, i = 0;

	while (i < text->text.len && n < room) {
		size_t from, quoted = 0;

		while (i < text->text.len && (strchr(stops, s[i]) || !s[i]))
			i++;
		from = i;
		if (!lines && i < text->text.len && (s[i] == '"' || s[i] == '\'')) {
			const char *end = memchr(s + i + 1, s[i], text->text.len - i - 1);

			quoted = end != NULL;
			i = end ? (size_t)(end - s) : i;
		}
		while (i < text->text.len && s[i] && !strchr(stops, s[i]))
			i++;
		if (i > from)
			items[n++] = shell_wrap_slice(text, from + quoted, i - quoted, &w->arena);
	}
	return n;
}

/* What xargs gets: known items, names of files, or one unknown word. */
static size_t fed_items(struct blocklist_walk *w, const struct stage *at, bool lines, bool whole,
			const struct shell_word *near, struct shell_word *items)
{
	size_t n = 0, room = NAMES_MAX;

	if (at->input && whole && !memchr(at->input->text.s, '\0', at->input->text.len))
		items[n++] = *at->input;
	if (at->input && !n)
		n = split_items(w, at->input, lines, items, room);
	if (!n && at->flows && at->index != SHELL_NONE)
		n = blocklist_flow_names(at->flows, at->script->commands[at->index].piped_from,
					 &w->arena, items, room);
	if (!n)
		items[n++] = unknown_word(w, near);
	return n;
}

static bool walk_placed(struct blocklist_walk *w, const struct shell_wrap *wrap,
			const struct shell_word *items, size_t n, const struct stage *at)
{
	for (size_t i = 0; i < n; i++) {
		struct shell_word *words = shell_alloc(&w->arena, wrap->count * sizeof(*words));

		for (size_t k = 0; k < wrap->count; k++) {
			words[k] = wrap->words[k];
			if (wrap->words[k].text.len == wrap->placeholder_len &&
			    is(&wrap->words[k], wrap->placeholder))
				words[k] = items[i];
			else if (strstr(wrap->words[k].text.s, wrap->placeholder))
				words[k] = shell_wrap_replace(&wrap->words[k], wrap->placeholder,
							      wrap->placeholder_len, &items[i],
							      &w->arena);
		}
		if (walk_words(w, words, wrap->count, at))
			return true;
	}
	return false;
}

static bool walk_fed(struct blocklist_walk *w, const struct shell_wrap *wrap,
		     const struct shell_word *near, const struct stage *at)
{
	struct shell_word items[NAMES_MAX], *words;
	struct stage inner = *at;
	size_t n;

	n = fed_items(w, at, wrap->placeholder || wrap->lines, wrap->whole, near, items);
	inner.each = true;
	inner.input = NULL;
	if (!wrap->count)
		return false;
	if (wrap->placeholder) {
		char *copy = shell_copy(&w->arena, wrap->placeholder, wrap->placeholder_len);
		struct shell_wrap placed = *wrap;

		placed.placeholder = copy;
		return walk_placed(w, &placed, items, n, &inner);
	}
	words = shell_alloc(&w->arena, (wrap->count + n) * sizeof(*words));
	memcpy(words, wrap->words, wrap->count * sizeof(*words));
	memcpy(words + wrap->count, items, n * sizeof(*words));
	return walk_words(w, words, wrap->count + n, &inner);
}

/* ---- wrappers ---- */

static bool walk_texts(struct blocklist_walk *w, const struct shell_wrap *wrap,
		       const struct stage *at)
{
	for (size_t i = 0; i < wrap->text_count; i++) {
		const struct shell_word *text = &wrap->texts[i];

		if (remote_text(w, text, at) ||
		    (at->each && unknown_at(text, 0) && run_flow(w, input_flow(at), text, 1)) ||
		    walk_nested(w, text, wrap->words, wrap->count, at))
			return true;
	}
	return false;
}

/* parallel without ::: runs lines of its standard input, or adds them to its text. */
static bool walk_fed_texts(struct blocklist_walk *w, const struct shell_wrap *wrap,
			   const struct shell_word *near, const struct stage *at)
{
	struct shell_word items[NAMES_MAX], both[2];
	struct stage inner = *at;
	size_t n = fed_items(w, at, true, false, near, items);

	inner.input = NULL;
	inner.each = true;
	if (!wrap->text_count && run_flow(w, input_flow(at), near, 1))
		return true;
	for (size_t i = 0; i < n; i++) {
		both[0] = wrap->text_count ? wrap->texts[0] : items[i];
		if (wrap->text_count && strstr(both[0].text.s, "{}")) {
			both[0] = shell_wrap_replace(&both[0], "{}", 2, &items[i], &w->arena);
		} else if (wrap->text_count) {
			both[1] = items[i];
			both[0] = shell_wrap_join(both, 2, &w->arena);
		}
		if (walk_nested(w, &both[0], NULL, 0, &inner))
			return true;
	}
	return false;
}

/* A shell or an interpreter that reads its program from standard input. */
static bool walk_stdin(struct blocklist_walk *w, const struct shell_wrap *wrap,
		       const struct shell_word *words, size_t count, const struct stage *at)
{
	bool code = wrap->kind == WRAP_CODE_STDIN;
	struct stage inner = *at;

	inner.input = NULL; /* the shell has read it; what is left of it is judged here too */
	if (run_flow(w, input_flow(at), words, count))
		return true;
	if (!at->input)
		return false;
	if (remote_text(w, at->input, at))
		return true;
	if (code)
		return walk_code(w, at->input, false, &inner);
	return walk_nested(w, at->input, wrap->words, wrap->count, &inner);
}

/* sh FILE: what <(...) writes is known, and what the text itself wrote into the file before. */
static bool walk_file(struct blocklist_walk *w, const struct shell_wrap *wrap, bool code,
		      const struct stage *at)
{
	const struct shell_word *file = &wrap->words[0], *content = file->content;
	const struct blocklist_file *written = content ? NULL : blocklist_file_find(&w->files, file);

	if (remote_text(w, file, at) || (written && run_flow(w, written->flow, file, 1)))
		return true;
	if (written && written->known)
		content = &written->content;
	if (!content)
		return false;
	return code ? walk_code(w, content, false, at)
		    : walk_nested(w, content, wrap->words, wrap->count, at);
}

static bool walk_wrapped(struct blocklist_walk *w, const struct shell_wrap *wrap,
			 const struct shell_word *words, size_t count, bool awk,
			 const struct stage *at)
{
	switch (wrap->kind) {
	case WRAP_NOTHING:
		return false;
	case WRAP_WORDS:
		return wrap->fed ? walk_fed(w, wrap, &words[0], at)
				 : walk_words(w, wrap->words, wrap->count, at);
	case WRAP_TEXT:
		if (wrap->fed)
			return walk_fed_texts(w, wrap, &words[0], at);
		return walk_texts(w, wrap, at) || walk_words(w, wrap->also, wrap->also_count, at);
	case WRAP_STDIN:
	case WRAP_CODE_STDIN:
		return walk_stdin(w, wrap, words, count, at);
	case WRAP_FILE:
		return walk_file(w, wrap, false, at);
	case WRAP_CODE_FILE:
		return walk_file(w, wrap, true, at);
	case WRAP_CODE:
		for (size_t i = 0; i < wrap->text_count; i++)
			if (remote_text(w, &wrap->texts[i], at) ||
			    walk_code(w, &wrap->texts[i], awk, at))
				return true;
	}
	return false;
}

static bool open_wrapper(struct blocklist_walk *w, const struct blocklist_wrapper *wrapper,
			 const struct shell_word *words, size_t count, const struct stage *at)
{
	struct blocklist_dir before = w->rules.dir;
	struct stage inner = *at;
	struct shell_wrap wrap;
	bool blocked;

	shell_wrap_open(wrapper, words, count, &w->rules.args, &w->arena, &wrap);
	if (wrap.assign_count) {
		inner.assigns = wrap.assigns;
		inner.assign_count = wrap.assign_count;
	}
	inner.lenient |= wrapper->kind == WRAPPER_TEXT || wrapper->remote || wrapper->lenient;
	if (wrap.directory) {
		struct shell_word dir = shell_wrap_slice(wrap.directory, wrap.directory_skip,
							 wrap.directory->text.len, &w->arena);
		blocklist_chdir(&w->rules.dir, &dir);
	}
	blocked = walk_wrapped(w, &wrap, words, count, !wrapper->text, &inner);
	w->rules.dir = before;
	return blocked;
}

/* ---- programs with a reading of their own ---- */

static bool walk_find(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      bool is_fd, const struct stage *at)
{
	struct blocklist_found_actions a = blocklist_find_read(words, count, is_fd, &w->arena);
	struct stage inner = *at;

	inner.each = true;
	for (size_t i = 0; i < a.count; i++) {
		struct blocklist_found_action *action = &a.list[i];
		bool blocked = false;

		if (action->kind == FIND_DELETE)
			blocked = blocklist_judge_effect(&w->rules,
							 action->narrow ? "remove" : "remove_tree",
							 &action->subject, 0, false, &w->finding);
		else if (action->kind == FIND_WRITE)
			blocked = blocklist_judge_effect(&w->rules, "write", &action->subject, 0,
							 false, &w->finding);
		else if (action->kind == FIND_RUN && action->count)
			blocked = walk_words(w, action->words, action->count, &inner);
		if (blocked) {
			w->finding.start = words[0].start;
			w->finding.end = words[count - 1].end;
			return true;
		}
	}
	return false;
}

static bool walk_kill(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      const struct stage *at)
{
	bool all = at->each && (input_flow(at) & FLOW_ALL_PIDS);
	const char *effect;

	if (at->flows && at->index != SHELL_NONE)
		all |= (blocklist_flow_children(at->flows, at->index) & FLOW_ALL_PIDS) != 0;
	effect = blocklist_kill_effect(words, count, all);
	return effect && found(w, effect, words[0].start, words[count - 1].end);
}

static bool walk_pkill(struct blocklist_walk *w, const struct shell_word *words, size_t count)
{
	const char *effect = blocklist_pkill_effect(words, count);

	return effect && found(w, effect, words[0].start, words[count - 1].end);
}

/* source FILE: of a file only what <(...) or standard input gives is known. */
static bool walk_source(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			const struct stage *at)
{
	static const char stdin_names[] = " /dev/stdin /dev/fd/0 /proc/self/fd/0 ";
	struct shell_wrap wrap = { .kind = WRAP_STDIN, .words = words, .count = count };
	struct stage inner = *at;

	inner.same_shell = true;
	if (count < 2)
		return false;
	if (blocklist_listed(stdin_names, words[1].text.s, words[1].text.len))
		return walk_stdin(w, &wrap, words, count, &inner);
	wrap.words = words + 1;
	wrap.count = count - 1;
	return walk_file(w, &wrap, false, &inner);
}

/* trap TEXT SIGNAL */
static bool walk_trap(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      const struct stage *at)
{
	struct stage inner = *at;
	size_t i = 1 + (count > 1 && is(&words[1], "--"));

	inner.same_shell = true;
	if (count < i + 2 || words[i].text.s[0] == '-' || !words[i].text.len)
		return false;
	return walk_nested(w, &words[i], NULL, 0, &inner);
}

/* eval: the parser opens what it knows; here only where the text comes from. */
static bool walk_eval(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      const struct stage *at)
{
	return count > 1 && remote_text(w, &words[1], at);
}

/* at and batch take shell text from standard input, crontab - takes lines of it. */
static bool walk_jobs(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		      const struct stage *at)
{
	struct shell_wrap wrap = { .kind = WRAP_STDIN, .words = words, .count = 1 };

	return walk_stdin(w, &wrap, words, count, at);
}

static bool only_blanks(const struct shell_word *word)
{
	return strspn(word->text.s, " \t\n") == word->text.len;
}

/* Is standard input /dev/null? */
static bool from_null(const struct stage *at)
{
	const struct shell_command *c;

	if (!at->script || at->index == SHELL_NONE)
		return false;
	c = &at->script->commands[at->index];
	for (size_t i = 0; i < c->redirect_count; i++)
		if (c->redirects[i].op == SHELL_FROM && is(&c->redirects[i].target, "/dev/null"))
			return true;
	return false;
}

static bool walk_crontab(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			 const struct stage *at)
{
	struct shell_word lines[NAMES_MAX];
	struct stage inner = *at;
	size_t n;

	if (count > 1 && !is(&words[count - 1], "-"))
		return false;
	if (at->input ? only_blanks(at->input) : from_null(at))
		return found(w, "jobs", words[0].start, words[count - 1].end);
	if (!at->input)
		return false;
	inner.input = NULL;
	inner.lenient = true;
	n = split_items(w, at->input, true, lines, NAMES_MAX);
	for (size_t i = 0; i < n; i++) {
		const char *s = lines[i].text.s;
		size_t skip = strspn(s, " \t");
		int fields = s[skip] == '@' ? 1 : 5;
		struct shell_word text;

		while (fields-- > 0) {
			skip += strcspn(s + skip, " \t");
			skip += strspn(s + skip, " \t");
		}
		text = shell_wrap_slice(&lines[i], skip, lines[i].text.len, &w->arena);
		if (walk_nested(w, &text, NULL, 0, &inner))
			return true;
	}
	return false;
}

/* nft -f -, iptables-restore: each line of standard input is a command of its own. */
static bool walk_lines(struct blocklist_walk *w, const char *program,
		       const struct shell_word *words, size_t count, const struct stage *at)
{
	struct shell_word lines[NAMES_MAX], list[NAMES_MAX + 1];
	size_t n, k;

	if (from_null(at))
		return found(w, "firewall.empty", words[0].start, words[count - 1].end);
	n = at->input ? split_items(w, at->input, true, lines, NAMES_MAX) : 0;
	for (size_t i = 0; i < n; i++) {
		list[0] = words[0];
		k = split_items(w, &lines[i], false, list + 1, NAMES_MAX);
		if (judge_name(w, blocklist_lookup(program, strlen(program)), list, k + 1, false, at))
			return true;
	}
	return false;
}

/* make -f -: the lines of recipes. */
static bool walk_makefile(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			  const struct stage *at)
{
	struct shell_word lines[NAMES_MAX];
	struct stage inner = *at;
	size_t n;

	if (!at->input || count < 2 || !is(&words[count - 1], "-"))
		return false;
	n = split_items(w, at->input, true, lines, NAMES_MAX);
	inner.input = NULL;
	inner.lenient = true;
	for (size_t i = 0; i < n; i++)
		if (lines[i].text.s[0] == '\t' && walk_nested(w, &lines[i], NULL, 0, &inner))
			return true;
	return false;
}

/* s/A/B/e of sed runs B, as far as that is known. */
static bool walk_sed_run(struct blocklist_walk *w, const struct shell_word *script,
			 const struct stage *at)
{
	const char *s = script->text.s, *start = strchr(s, 's'), *middle, *end;
	struct stage inner = *at;
	struct shell_word text;

	if (!start || !start[1] || start[1] == ' ')
		return false;
	middle = strchr(start + 2, start[1]);
	end = middle ? strchr(middle + 1, start[1]) : NULL;
	if (!end || !memchr(end, 'e', strspn(end + 1, "egpiIm0123456789") + 1))
		return false;
	inner.lenient = true;
	text = shell_wrap_slice(script, (size_t)(middle + 1 - s), (size_t)(end - s), &w->arena);
	return walk_nested(w, &text, NULL, 0, &inner);
}

/* The command w FILE of sed, and the flag w of its s command. */
static bool walk_sed(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		     const struct stage *stage)
{
	for (size_t i = 1; i < count; i++) {
		const char *s = words[i].text.s, *at = strstr(s, "w /");
		struct shell_word file;
		size_t from;

		if (s[0] != '-' && s[0] != '/' && walk_sed_run(w, &words[i], stage))
			return true;
		if (!at)
			continue;
		from = (size_t)(at + 2 - s);
		file = shell_wrap_slice(&words[i], from, from + strcspn(s + from, "\n;}"), &w->arena);
		if (blocklist_judge_effect(&w->rules, "write", &file, 0, false, &w->finding))
			return true;
	}
	return false;
}

static bool walk_git(struct blocklist_walk *w, const struct shell_word *words, size_t count)
{
	struct blocklist_dir before = w->rules.dir;
	static const uint8_t dot_kind[] = { SHELL_LITERAL };
	struct shell_word here = { .text = { .s = ".", .len = 1 }, .kind = dot_kind,
				   .start = words[0].start, .end = words[count - 1].end };
	bool blocked = false, clean = false, force = false, dry = false;

	for (size_t i = 1; i < count; i++) {
		const char *s = words[i].text.s;

		if (!clean && is(&words[i], "-C") && i + 1 < count)
			blocklist_chdir(&w->rules.dir, &words[++i]);
		else if (!clean && strncmp(s, "--work-tree=", 12) == 0) {
			struct shell_word dir = shell_wrap_slice(&words[i], 12, words[i].text.len,
								 &w->arena);
			blocklist_chdir(&w->rules.dir, &dir);
		} else if (is(&words[i], "clean"))
			clean = true;
		else if (clean && s[0] == '-') {
			force |= strchr(s, 'f') != NULL;
			dry |= strchr(s, 'n') != NULL;
		} else if (clean && force && !dry)
			blocked |= blocklist_judge_effect(&w->rules, "clean", &words[i], 0, false,
							  &w->finding);
	}
	if (clean && force && !dry && !blocked)
		blocked = blocklist_judge_effect(&w->rules, "clean", &here, 0, false, &w->finding);
	w->rules.dir = before;
	return blocked;
}

static bool walk_cd(struct blocklist_walk *w, const struct shell_word *words, size_t count)
{
	static const uint8_t home_kind[] = { SHELL_TILDE };
	static const struct shell_word home = { .text = { .s = "~", .len = 1 }, .kind = home_kind };
	size_t i = 1;

	while (i < count && words[i].text.s[0] == '-' && words[i].text.len > 1)
		i++;
	if (i == count)
		blocklist_chdir(&w->rules.dir, &home);
	else if (is(&words[i], "-"))
		w->rules.dir.known = false;
	else
		blocklist_chdir(&w->rules.dir, &words[i]);
	return false;
}

/* Texts in options of programs that are no wrappers: tar, git, vim, ... */
static bool walk_hidden(struct blocklist_walk *w, const struct blocklist_name *name,
			const struct shell_word *words, size_t count, const struct stage *at)
{
	struct shell_word texts[NAMES_MAX];
	struct stage inner = *at;
	size_t n = blocklist_hidden_texts(name, words, count, &w->arena, texts, NAMES_MAX);

	inner.lenient = true;
	for (size_t i = 0; i < n; i++)
		if (walk_nested(w, &texts[i], NULL, 0, &inner))
			return true;
	return false;
}

static bool walk_container(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			   const struct stage *at)
{
	struct blocklist_container c = blocklist_container_open(words, count, &w->arena);
	struct stage inner = *at;

	inner.lenient = true;
	return c.count && walk_words(w, c.words, c.count, &inner);
}

static bool name_is(const char *s, size_t len, const char *list)
{
	return blocklist_listed(list, s, len);
}

static bool walk_special(struct blocklist_walk *w, const char *s, size_t len,
			 const struct shell_word *words, size_t count, const struct stage *at)
{
	switch (s[0]) {
	case 'k':
		if (name_is(s, len, " kill "))
			return walk_kill(w, words, count, at);
		return name_is(s, len, " killall ") && walk_pkill(w, words, count);
	case 'p':
		if (name_is(s, len, " podman "))
			return walk_container(w, words, count, at);
		if (name_is(s, len, " pkill "))
			return walk_pkill(w, words, count);
		return name_is(s, len, " pushd ") && walk_cd(w, words, count);
	case 's':
		if (name_is(s, len, " sed "))
			return walk_sed(w, words, count, at);
		if (name_is(s, len, " skill slay snice "))
			return walk_pkill(w, words, count);
		return name_is(s, len, " source ") && walk_source(w, words, count, at);
	case '.':
		return len == 1 && walk_source(w, words, count, at);
	case 'f':
		if (name_is(s, len, " find "))
			return walk_find(w, words, count, false, at);
		return name_is(s, len, " fd fdfind ") && walk_find(w, words, count, true, at);
	case 'g':
		if (name_is(s, len, " gfind "))
			return walk_find(w, words, count, false, at);
		return name_is(s, len, " git ") && walk_git(w, words, count);
	case 'c':
		if (name_is(s, len, " cd chdir "))
			return walk_cd(w, words, count);
		return name_is(s, len, " crontab ") && walk_crontab(w, words, count, at);
	case 'i':
		return name_is(s, len, " iptables-restore ip6tables-restore iptables-nft-restore ") &&
		       walk_lines(w, "iptables", words, count, at);
	case 'm':
		return name_is(s, len, " make ") && walk_makefile(w, words, count, at);
	case 'n':
		return name_is(s, len, " nft ") && walk_lines(w, "nft", words, count, at);
	case 't':
		return name_is(s, len, " trap ") && walk_trap(w, words, count, at);
	case 'e':
		return name_is(s, len, " eval ") && walk_eval(w, words, count, at);
	case 'd':
		return name_is(s, len, " docker ") && walk_container(w, words, count, at);
	case 'a':
	case 'b':
		return name_is(s, len, " at batch ") && walk_jobs(w, words, count, at);
	}
	return false;
}

/* ---- one command ---- */

static bool judge_name(struct blocklist_walk *w, const struct blocklist_name *name,
		       const struct shell_word *words, size_t count, bool guess,
		       const struct stage *at)
{
	w->rules.each = at->each;
	if (blocklist_judge_program(&w->rules, name, words, count, guess, &w->finding))
		return true;
	return !guess && name->wrapper && open_wrapper(w, name->wrapper, words, count, at);
}

/* The program is not known, but its words fit one that nobody would run on them. */
static bool walk_unknown_name(struct blocklist_walk *w, const struct shell_word *words,
			      size_t count, const struct stage *at)
{
	struct blocklist_args *args = &w->rules.args;
	const struct blocklist_name *guesses[] = { blocklist_lookup("rm", 2),
						   blocklist_lookup("chmod", 5),
						   blocklist_lookup("dd", 2) };

	bool itself = at->script && at->index != SHELL_NONE &&
		      words == at->script->commands[at->index].words;
	unsigned flow = word_flow(at, &words[0]);

	if (run_flow(w, itself ? flow : flow & FLOW_REMOTE, words, 1))
		return true;
	if (count < 2)
		return false;
	blocklist_args_read(args, words, count, NULL, false);
	w->rules.each = false;
	for (size_t i = 0; i < COUNT_OF(guesses); i++) {
		if (i == 0 && !(blocklist_args_has(args, " -f --force ") &&
				blocklist_args_has(args, " -r -R --recursive ")))
			continue;
		if (blocklist_judge_program(&w->rules, guesses[i], words, count, true, &w->finding))
			return true;
	}
	/* It may be empty, or a wrapper like sudo. */
	return words[1].text.len && words[1].text.s[0] != '-' && !unknown_at(&words[1], 0) &&
	       walk_words(w, words + 1, count - 1, at);
}

/* A name with globs or unknown parts: each name of the table that fits it. */
static bool walk_pattern_name(struct blocklist_walk *w, const struct shell_text *base,
			      const uint8_t *kind, const struct shell_word *words, size_t count,
			      const struct stage *at)
{
	char *pattern = shell_alloc(&w->arena, base->len * 2 + 3);
	struct shell_word name = { 0 };
	size_t n = 0;

	if (strpbrk(base->s, " \t\n")) /* no program has such a name */
		return false;
	if (w->rules.patterns++ >= PATTERNS_MAX)
		return too_complex(w, words[0].start);
	pattern[n++] = ' ';
	for (size_t i = 0; i < base->len; i++) {
		bool glob = kind[i] == SHELL_GLOB && base->s[i] != ']';

		if (glob && base->s[i] == '[')
			while (i + 1 < base->len && base->s[i] != ']')
				i++;
		if (kind[i] == SHELL_LITERAL && strchr("*?\\", base->s[i]))
			pattern[n++] = '\\';
		pattern[n++] = kind[i] == SHELL_LITERAL ? base->s[i]
			       : glob && base->s[i] != '*' ? '?' : '*';
	}
	pattern[n] = ' ';
	for (unsigned i = 0; i < blocklist_name_count; i++) {
		const char *text = blocklist_names[i].name;
		static const uint8_t plain[64];

		name.text = (struct shell_text){ .s = text, .len = strlen(text) };
		name.kind = plain;
		if (blocklist_word_fits(&name, 0, pattern) &&
		    judge_name(w, &blocklist_names[i], words, count, false, at))
			return true;
	}
	return false;
}

/* A function of the text hides the program of its name, unless one could take it away. */
static bool is_function(const struct stage *at, const struct shell_word *word)
{
	const struct shell_script *s = at->script;
	uint32_t start;

	if (!s || !s->function_count || s->function_count > FUNCTIONS_MAX ||
	    at->index == SHELL_NONE ||
	    word != &s->commands[at->index].words[0])
		return false;
	start = s->commands[at->index].start;
	for (size_t i = 0; i < s->function_count; i++)
		if (strcmp(s->functions[i].name, word->text.s) == 0 &&
		    (s->functions[i].end <= start ||
		     (s->functions[i].start <= start && start < s->functions[i].end)))
			return true;
	return false;
}

/* A literal pattern at the start of the command. */
static bool literal_command(struct blocklist_walk *w, const struct shell_text *base,
			    const struct shell_word *words, size_t count)
{
	struct shell_word joined;
	size_t skip = words[0].text.len - base->len;

	if (!w->literals)
		return false;
	joined = shell_wrap_join(words, count, &w->arena);
	if (!blocklist_literal_at_start(joined.text.s + skip, joined.text.len - skip, &w->literal))
		return false;
	w->finding.start = words[0].start;
	w->finding.end = words[count - 1].end;
	return true;
}

static bool has_pattern(const struct shell_text *base, const uint8_t *kind)
{
	for (size_t i = 0; i < base->len; i++)
		if (kind[i] != SHELL_LITERAL)
			return true;
	return false;
}

/*
 * A pattern that fits nearly any name says nothing: one with less than a letter, or two
 * letters beside an unknown part; but /sbin/???? says its length.
 */
static bool fits_any(const struct shell_word *word, const struct shell_text *base,
		     const uint8_t *kind)
{
	size_t letters = 0;
	bool open = false, unknown = false;

	for (size_t i = 0; i < base->len; i++) {
		char c = base->s[i];

		letters += kind[i] == SHELL_LITERAL && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
		unknown |= kind[i] != SHELL_LITERAL && kind[i] != SHELL_GLOB;
		open |= c == '*' && kind[i] == SHELL_GLOB;
	}
	if (unknown)
		return letters < 2;
	return !letters && (open || word->text.s[0] != '/');
}

/* /etc/init.d/ufw stop is service ufw stop */
static bool walk_init_script(struct blocklist_walk *w, const struct shell_word *words,
			     size_t count, const struct stage *at)
{
	const char *s = words[0].text.s, *slash = strrchr(s, '/');
	struct shell_word *list;

	if (!slash || (strncmp(s, "/etc/init.d/", 12) && strncmp(s, "/etc/rc.d/", 10)))
		return false;
	list = shell_alloc(&w->arena, (count + 1) * sizeof(*list));
	list[0] = words[0];
	list[1] = shell_wrap_slice(&words[0], (size_t)(slash + 1 - s), words[0].text.len, &w->arena);
	memcpy(list + 2, words + 1, (count - 1) * sizeof(*list));
	return judge_name(w, blocklist_lookup("service", 7), list, count + 1, false, at);
}

/* ./x.sh, which the text wrote before. */
static bool walk_own_file(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			  const struct stage *at)
{
	struct shell_wrap wrap = { .kind = WRAP_FILE, .words = words, .count = count };
	struct stage inner = *at;

	inner.lenient = true;
	return walk_file(w, &wrap, false, &inner);
}

static bool walk_program(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			 const struct stage *at)
{
	bool foreign;
	struct shell_text base = blocklist_base_name(&words[0], &foreign);
	const uint8_t *kind = words[0].kind + (base.s - words[0].text.s);
	const struct blocklist_name *name;

	if (!base.len)
		return count > 1 && !words[0].text.len && walk_words(w, words + 1, count - 1, at);
	if (base.len == 1 && unknown_at(&words[0], words[0].text.len - 1))
		return walk_unknown_name(w, words, count, at);
	if (has_pattern(&base, kind) && fits_any(&words[0], &base, kind))
		return false;
	if (has_pattern(&base, kind))
		return walk_pattern_name(w, &base, kind, words, count, at);
	if (is_function(at, &words[0]))
		return false;
	if (literal_command(w, &base, words, count) || walk_init_script(w, words, count, at))
		return true;
	if (blocklist_file_find(&w->files, &words[0]) && walk_own_file(w, words, count, at))
		return true;
	name = blocklist_lookup(base.s, base.len);
	if (name && judge_name(w, name, words, count, foreign && !name->wrapper, at))
		return true;
	return walk_special(w, base.s, base.len, words, count, at) ||
	       (name && (name->flow & FLOW_KIND_HIDDEN) &&
		walk_hidden(w, name, words, count, at));
}

static bool walk_words(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		       const struct stage *at)
{
	bool blocked;

	if (!count)
		return false;
	if (w->depth >= DEPTH_MAX || ++w->steps > STEPS_MAX || shell_arena_spent(&w->arena))
		return too_complex(w, words[0].start);
	w->depth++;
	blocked = walk_program(w, words, count, at);
	w->depth--;
	return blocked;
}

/* ---- one script ---- */

/* : > FILE empties it. */
static bool writes_nothing(const struct shell_command *c)
{
	const struct shell_word *w = c->words;

	if (c->word_count == 0)
		return true;
	if (c->word_count == 1)
		return is(w, ":") || is(w, "true") || is(w, "echo");
	return c->word_count == 2 && (is(w, "cat") || is(w, "echo") || is(w, "printf")) &&
	       (is(w + 1, "/dev/null") || is(w + 1, "-n") || !w[1].text.len);
}

static bool walk_redirects(struct blocklist_walk *w, const struct shell_command *c)
{
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		const char *effect = r->op == SHELL_APPEND ? "append"
				     : r->op == SHELL_TO || r->op == SHELL_BOTH ? "write" : NULL;

		if (effect && r->op == SHELL_TO && writes_nothing(c) &&
		    blocklist_judge_effect(&w->rules, "wipe", &r->target, 0, false, &w->finding))
			return true;
		if (effect && blocklist_judge_effect(&w->rules, effect, &r->target, 0, false,
						     &w->finding)) {
			w->finding.start = c->start;
			w->finding.end = c->end;
			return true;
		}
	}
	return false;
}

/* PAGER='rm -rf ~' man x: variables whose text a program runs. */
static bool walk_assigns(struct blocklist_walk *w, const struct shell_assign *list, size_t count,
			 const struct stage *at)
{
	static const char run[] = " PROMPT_COMMAND PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR "
				  "GIT_SSH_COMMAND GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF LESSOPEN "
				  "BROWSER RSYNC_RSH SUDO_EDITOR GIT_PROXY_COMMAND SHELLOPTS_COMMAND ";
	struct stage inner = *at;

	inner.lenient = true;
	for (size_t i = 0; i < count; i++)
		if (blocklist_listed(run, list[i].name, strlen(list[i].name)) &&
		    walk_nested(w, &list[i].value, NULL, 0, &inner))
			return true;
	return false;
}

/* sh < /dev/stdin */
static bool reads_outer_input(const struct shell_command *c)
{
	static const char names[] = " /dev/stdin /dev/fd/0 /proc/self/fd/0 ";

	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_word *file = &c->redirects[i].target;

		if (c->redirects[i].op == SHELL_FROM &&
		    blocklist_listed(names, file->text.s, file->text.len))
			return true;
	}
	return false;
}

/* echo x > >(sh), tee >(sh): what goes into the process. */
static const struct shell_word *parent_output(struct blocklist_walk *w,
					      const struct shell_command *parent)
{
	struct shell_word *out;

	if (parent->word_count && is(&parent->words[0], "tee"))
		return parent->input;
	out = shell_alloc(&w->arena, sizeof(*out));
	return blocklist_output(parent, &w->arena, out) ? out : NULL;
}

static bool walk_command(struct blocklist_walk *w, const struct shell_script *s,
			 const struct blocklist_flows *flows, uint32_t index)
{
	const struct shell_command *c = &s->commands[index];
	struct stage at = { .script = s, .flows = flows, .index = index, .input = c->input };

	if (!at.input && reads_outer_input(c))
		at.input = w->input;
	if (!at.input && (c->context & SHELL_IN_PROCESS) && c->parent < s->command_count)
		at.input = parent_output(w, &s->commands[c->parent]);
	if (walk_redirects(w, c) || walk_assigns(w, c->assigns, c->assign_count, &at))
		return true;
	if (c->word_count && !(c->context & SHELL_TEST) &&
	    walk_words(w, c->words, c->word_count, &at))
		return true;
	if (c->redirect_count || c->word_count > 1)
		blocklist_file_note(&w->files, flows, index, &w->arena);
	return false;
}

/* "$FUNCNAME" is whatever function it stands in. */
static bool names_function(const struct shell_word *word, const char *g)
{
	const char *unknown;

	if (strcmp(word->text.s, g) == 0)
		return true;
	unknown = word->text.len == 1 ? shell_word_unknown(word, 0) : word->variable;
	return unknown && strcmp(unknown, "FUNCNAME") == 0;
}

/* Does function @f call @g in a way that makes another process? */
static bool calls(const struct shell_script *s, const struct shell_function *f, const char *g,
		  bool *forks)
{
	bool called = false;
	uint32_t before = SHELL_NONE;

	*forks = false;
	for (uint32_t i = f->first; i < f->last && i < s->command_count; i++) {
		const struct shell_command *c = &s->commands[i];

		if (!c->word_count || !names_function(&c->words[0], g))
			continue;
		if (c->context & SHELL_BACKGROUND)
			*forks = true;
		if (c->piped_from != SHELL_NONE && (c->piped_from == before ||
						    !(c->context & (SHELL_CONDITIONAL | SHELL_IN_LOOP))))
			*forks = true;
		before = i;
		called = true;
	}
	return called;
}

/* A function that starts itself, through at most one other function, in new processes. */
static bool fork_bomb(struct blocklist_walk *w, const struct shell_script *s)
{
	size_t most = s->function_count < FUNCTIONS_MAX ? s->function_count : FUNCTIONS_MAX;

	for (size_t i = 0; i < s->function_count; i++) {
		const struct shell_function *f = &s->functions[i];
		bool there, back;

		if (calls(s, f, f->name, &there) && there)
			return found(w, "process.fork_bomb", f->start, f->end);
		for (size_t k = 0; i < most && k < i; k++)
			if (calls(s, f, s->functions[k].name, &there) &&
			    calls(s, &s->functions[k], f->name, &back) && (there || back))
				return found(w, "process.fork_bomb", f->start, f->end);
	}
	return false;
}

static bool is_endless(const struct shell_command *c)
{
	return c->word_count == 1 && (c->context & SHELL_IN_LOOP) &&
	       !(c->context & SHELL_BACKGROUND) && (is(&c->words[0], ":") || is(&c->words[0], "true"));
}

/* while true; do X & done: only starts, and waits for nothing. */
static bool loop_bomb(struct blocklist_walk *w, const struct shell_script *s)
{
	for (uint32_t i = 0, k; i < s->command_count; i = k) {
		k = i + 1;
		if (!is_endless(&s->commands[i]))
			continue;
		while (k < s->command_count && (s->commands[k].context & SHELL_IN_LOOP) &&
		       (s->commands[k].context & SHELL_BACKGROUND))
			k++;
		if (k > i + 1 && (k == s->command_count ||
				  !(s->commands[k].context & SHELL_IN_LOOP)))
			return found(w, "process.fork_bomb", s->commands[i].start,
				     s->commands[k - 1].end);
	}
	return false;
}

/* cd in a subshell ends with it; a definition alone changes nothing. */
static void enter(struct blocklist_walk *w, const struct shell_command *c,
		  struct blocklist_dir *outside, bool *inside)
{
	bool sub = c->context & (SHELL_IN_SUBSHELL | SHELL_IN_SUBSTITUTION | SHELL_IN_PROCESS);

	if (sub && !*inside)
		*outside = w->rules.dir;
	else if (!sub && *inside)
		w->rules.dir = *outside;
	*inside = sub;
}

static bool walk_script(struct blocklist_walk *w, const struct shell_script *s)
{
	struct blocklist_dir start = w->rules.dir, outside = start;
	struct blocklist_flows flows;
	bool inside = false, blocked = fork_bomb(w, s) || loop_bomb(w, s);

	blocklist_flow_read(&flows, s, &w->arena);
	for (uint32_t i = 0; !blocked && i < s->command_count; i++) {
		const struct shell_command *c = &s->commands[i];
		struct blocklist_dir before = w->rules.dir;

		enter(w, c, &outside, &inside);
		blocked = walk_command(w, s, &flows, i);
		if ((c->context & SHELL_IN_FUNCTION) && !(c->context & SHELL_IN_CALL))
			w->rules.dir = before;
	}
	w->rules.dir = start;
	return blocked;
}

/* Either the outermost @text, or @word out of another text. */
static bool parse_and_walk(struct blocklist_walk *w, const struct shell_text *text,
			   const struct shell_word *word, const struct shell_setup *setup,
			   bool lenient)
{
	struct shell_script script;
	bool blocked;

	if (word)
		shell_parse_word(word, setup, &w->budget, &script);
	else
		shell_parse_with(text, setup, &w->budget, &script);
	blocked = walk_script(w, &script);
	if (!blocked && script.trouble == SHELL_SYNTAX && !lenient)
		blocked = found(w, "text.unparsable", script.trouble_at, script.trouble_at);
	else if (!blocked && script.trouble != SHELL_FINE && script.trouble != SHELL_SYNTAX)
		blocked = found(w, "text.too_complex", script.trouble_at, script.trouble_at);
	if (blocked && script.trouble != SHELL_FINE && !w->finding.detail &&
	    strncmp(w->finding.rule->id, "text.", 5) == 0)
		w->finding.detail = script.trouble_text;
	shell_script_free(&script);
	return blocked;
}

/* What is unknown in a text may bring the quote that is missing. */
static bool has_unknown(const struct shell_word *text)
{
	for (size_t i = 0; i < text->text.len; i++)
		if (unknown_at(text, i))
			return true;
	return false;
}

static bool walk_nested(struct blocklist_walk *w, const struct shell_word *text,
			const struct shell_word *args, size_t arg_count, const struct stage *at)
{
	struct shell_setup setup = { .args = args, .arg_count = arg_count, .input = at->input };
	struct shell_assign *all;
	size_t n = at->assign_count + (at->script ? 0 : w->variable_count);
	bool blocked;

	if (w->depth >= DEPTH_MAX || shell_arena_spent(&w->arena))
		return too_complex(w, text->start);
	if (at->script && at->index != SHELL_NONE) {
		setup.outer = at->script;
		setup.outer_command = at->index;
		setup.exported_only = !at->same_shell;
	}
	all = shell_alloc(&w->arena, (n + 1) * sizeof(*all));
	if (!at->script && w->variable_count)
		memcpy(all, w->variables, w->variable_count * sizeof(*all));
	if (at->assign_count)
		memcpy(all + (n - at->assign_count), at->assigns, at->assign_count * sizeof(*all));
	setup.variables = all;
	setup.variable_count = n;
	w->depth++;
	blocked = parse_and_walk(w, NULL, text, &setup, at->lenient || has_unknown(text));
	w->depth--;
	return blocked;
}

/* ---- entry ---- */

void blocklist_walk_init(struct blocklist_walk *w)
{
	memset(w, 0, sizeof(*w));
	shell_arena_init(&w->arena, 128u << 20);
	w->budget = (struct shell_budget)SHELL_BUDGET_INIT;
}

void blocklist_walk_release(struct blocklist_walk *w)
{
	shell_arena_release(&w->arena);
	blocklist_args_release(&w->rules.args);
}

bool blocklist_walk_text(struct blocklist_walk *w, const struct shell_text *text,
			 const struct shell_word *args, size_t arg_count,
			 const struct shell_word *input)
{
	struct shell_setup setup = { .variables = w->variables,
				     .variable_count = w->variable_count, .args = args,
				     .arg_count = arg_count, .input = input };

	w->input = input;
	return parse_and_walk(w, text, NULL, &setup, false);
}

bool blocklist_walk_words(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			  const struct shell_word *input)
{
	struct stage at = { .index = SHELL_NONE, .input = input };

	return walk_words(w, words, count, &at);
}
