/*
 * What wrappers run: words, shell text, text of other languages, and what comes to
 * them through pipes. Declared in blocklist_stage.h.
 */
#include "blocklist/stage.h"

#include <stdlib.h>

#include "blocklist/code.h"
#include "blocklist/find.h"
#include "blocklist/walk.h"

/* ---- flows ---- */

/* A finding for text from @flow that is run. */
bool walk_flow(struct blocklist_walk *w, unsigned flow, const struct shell_word *words,
		     size_t count)
{
	uint32_t start = count ? words[0].start : 0, end = count ? words[count - 1].end : 0;

	if (flow & FLOW_REMOTE)
		return walk_found(w, "pipe.remote", start, end);
	if (flow & FLOW_DECODED)
		return walk_found(w, "pipe.decoded", start, end);
	if (flow & FLOW_FILTERED)
		return walk_found(w, "pipe.filtered", start, end);
	return false;
}

unsigned walk_word_flow(const struct blocklist_stage *at, const struct shell_word *word)
{
	return at->flows && at->index != SHELL_NONE
		       ? blocklist_flow_word(at->flows, at->index, word) : 0;
}

/* Text that begins unknown and comes from afar: $(curl ...), <(curl ...). */
bool walk_remote(struct blocklist_walk *w, const struct shell_word *text,
			const struct blocklist_stage *at)
{
	size_t i = strspn(text->text.s, " \t\n\"'");

	return word_unknown_at(text, i) && walk_flow(w, walk_word_flow(at, text), text, 1);
}

/* ---- code of other languages ---- */

/* Steps of the budget for a token, or as much work. */
#define WORK_TOKEN 15u

/* What is done to each argument, or to each name that comes in. */
static bool walk_each(struct blocklist_walk *w, const char *effect,
		      const struct blocklist_stage *at)
{
	struct shell_word *items = NULL, names[WALK_NAMES_MAX];
	size_t n = at->input ? walk_items(w, at->input, true, &items) : 0;

	for (size_t i = 0; i < at->arg_count; i++)
		if (blocklist_judge_effect(&w->rules, effect, &at->args[i], 0, false, &w->finding))
			return true;
	if (!n && at->flows && at->index != SHELL_NONE) {
		items = names;
		n = blocklist_flow_names(at->flows, at->script->commands[at->index].piped_from,
					 &w->arena, names, WALK_NAMES_MAX);
	}
	for (size_t i = 0; i < n; i++)
		if (blocklist_judge_effect(&w->rules, effect, &items[i], 0, false, &w->finding))
			return true;
	return false;
}

bool walk_code(struct blocklist_walk *w, const struct shell_word *code, bool awk,
	       const struct blocklist_stage *at)
{
	struct blocklist_code_calls calls;
	struct blocklist_stage inner = *at;

	if (walk_spent(w, 400 + code->text.len))
		return walk_too_complex(w, code->start);
	calls = blocklist_code_read(code, awk, &w->arena);
	shell_budget_take(&w->budget, WORK_TOKEN * calls.steps);

	inner.lenient = true;
	for (size_t i = 0; i < calls.count; i++) {
		const struct blocklist_code_call *c = &calls.list[i];

		if (c->kind == CODE_SHELL && walk_nested(w, c->words, NULL, 0, &inner))
			return true;
		if (c->kind == CODE_NESTED && w->depth < WALK_DEPTH_MAX) {
			bool blocked;

			w->depth++;
			blocked = walk_code(w, c->words, awk, &inner);
			w->depth--;
			if (blocked)
				return true;
		}
		if (c->kind == CODE_INPUT && walk_flow(w, at->input_flow, code, 1))
			return true;
		if (c->kind == CODE_INPUT && at->input) {
			struct shell_word both[2] = { *at->input, *at->input };

			if (c->count)
				both[0] = c->words[0];
			both[0] = shell_wrap_join(both, 1 + (c->count > 0), &w->arena);
			if (walk_nested(w, &both[0], NULL, 0, &inner))
				return true;
		}
		if (c->kind == CODE_WORDS && walk_words(w, c->words, c->count, &inner))
			return true;
		if (c->kind == CODE_EFFECT &&
		    blocklist_judge_effect(&w->rules, c->effect, c->words, 0, false, &w->finding))
			return true;
		if (c->kind == CODE_EACH && walk_each(w, c->effect, at))
			return true;
		if (c->kind == CODE_FOUND && walk_found(w, c->effect, code->start, code->end))
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

/* Steps for an item. */
#define WORK_ITEM 20u

struct items {
	struct shell_word *list;
	size_t count, room;
};

static void add_item(struct blocklist_walk *w, struct items *items, struct shell_word item)
{
	struct shell_word *old = items->list;

	if (items->count == items->room) {
		items->room = items->room * 2;
		items->list = (struct shell_word *)shell_alloc(&w->arena, (items->room + 2) *
						sizeof(*items->list)) + 1;
		memcpy(items->list - 1, old - 1, (items->count + 1) * sizeof(*items->list));
	}
	items->list[items->count++] = item;
}

size_t walk_items(struct blocklist_walk *w, const struct shell_word *text, bool lines,
		  struct shell_word **list)
{
	const char *stops = lines ? "\n" : " \t\n", *s = text->text.s;
	struct items items = { .room = 8 };
	size_t i = 0;

	items.list = (struct shell_word *)shell_alloc(&w->arena, (items.room + 2) *
						sizeof(*items.list)) + 1;
	while (i < text->text.len && !walk_spent(w, WORK_ITEM)) {
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
			add_item(w, &items,
				 shell_wrap_slice(text, from + quoted, i - quoted, &w->arena));
	}
	walk_spent(w, i); /* many commands may have one input */
	*list = items.list;
	return items.count;
}

/* What xargs gets: known items, names of files, or one unknown word. */
static size_t fed_items(struct blocklist_walk *w, const struct blocklist_stage *at, bool lines,
			bool whole, const struct shell_word *near, struct shell_word **items)
{
	size_t n = 0;

	if (at->input && !(whole && !memchr(at->input->text.s, '\0', at->input->text.len)))
		n = walk_items(w, at->input, lines, items);
	if (n)
		return n;
	*items = shell_alloc(&w->arena, WALK_NAMES_MAX * sizeof(**items));
	if (at->input && whole && !memchr(at->input->text.s, '\0', at->input->text.len))
		(*items)[n++] = *at->input;
	if (!n && at->flows && at->index != SHELL_NONE)
		n = blocklist_flow_names(at->flows, at->script->commands[at->index].piped_from,
					 &w->arena, *items, WALK_NAMES_MAX);
	if (!n)
		(*items)[n++] = unknown_word(w, near);
	return n;
}

static bool walk_placed(struct blocklist_walk *w, const struct shell_wrap *wrap,
			const struct shell_word *items, size_t n, const struct blocklist_stage *at)
{
	for (size_t i = 0; i < n; i++) {
		struct shell_word *words = shell_alloc(&w->arena, wrap->count * sizeof(*words));

		for (size_t k = 0; k < wrap->count; k++) {
			words[k] = wrap->words[k];
			if (wrap->words[k].text.len == wrap->placeholder_len &&
			    word_is(&wrap->words[k], wrap->placeholder))
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
		     const struct shell_word *near, const struct blocklist_stage *at)
{
	struct shell_word *items, *words;
	struct blocklist_stage inner = *at;
	size_t n;

	n = fed_items(w, at, wrap->placeholder || wrap->lines, wrap->whole, near, &items);
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
		       const struct blocklist_stage *at)
{
	for (size_t i = 0; i < wrap->text_count; i++) {
		const struct shell_word *text = &wrap->texts[i];

		if (walk_remote(w, text, at) ||
		    (at->each && word_unknown_at(text, 0) &&
		     walk_flow(w, at->input_flow, text, 1)) ||
		    walk_nested(w, text, wrap->words, wrap->count, at))
			return true;
	}
	return false;
}

/* parallel without ::: runs lines of its standard input, or adds them to its text. */
static bool walk_fed_texts(struct blocklist_walk *w, const struct shell_wrap *wrap,
			   const struct shell_word *near, const struct blocklist_stage *at)
{
	struct shell_word *items, both[2];
	struct blocklist_stage inner = *at;
	size_t n = fed_items(w, at, true, false, near, &items);

	inner.input = NULL;
	inner.each = true;
	if (!wrap->text_count && walk_flow(w, at->input_flow, near, 1))
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
bool walk_stdin(struct blocklist_walk *w, const struct shell_wrap *wrap,
		const struct shell_word *words, size_t count, const struct blocklist_stage *at)
{
	bool code = wrap->kind == WRAP_CODE_STDIN;
	struct blocklist_stage inner = *at;

	inner.input = NULL; /* the shell has read it; what is left of it is judged here too */
	if (walk_flow(w, at->input_flow & ~(code ? FLOW_FILTERED : 0u), words, count))
		return true;
	if (!at->input)
		return false;
	if (walk_remote(w, at->input, at))
		return true;
	if (code)
		return walk_code(w, at->input, false, &inner);
	return walk_nested(w, at->input, wrap->words, wrap->count, &inner);
}

/* /dev/fd/3 3<<<TEXT: what is known of a descriptor that the command itself is given. */
static const struct shell_word *descriptor_text(const struct blocklist_stage *at,
						const struct shell_word *file)
{
	const char *s = file->text.s;
	long fd;

	if (!at->script || at->index == SHELL_NONE ||
	    (strncmp(s, "/dev/fd/", 8) && strncmp(s, "/proc/self/fd/", 14)))
		return NULL;
	fd = strtol(strrchr(s, '/') + 1, NULL, 10);
	return walk_opened(&at->script->commands[at->index], fd);
}

/* sh FILE: what <(...) writes is known, and what the text itself wrote into the file before. */
bool walk_file(struct blocklist_walk *w, const struct shell_wrap *wrap, bool code,
		      const struct blocklist_stage *at)
{
	const struct shell_word *file = &wrap->words[0], *content = file->content;
	const struct blocklist_file *written =
		content ? NULL : blocklist_file_find(&w->files, file);

	/* A file made from a template by sed is there for everybody to read. */
	if (walk_remote(w, file, at) ||
	    (written && walk_flow(w, written->flow & ~(unsigned)FLOW_FILTERED, file, 1)))
		return true;
	if (written && written->known)
		content = &written->content;
	if (!content)
		content = descriptor_text(at, file);
	if (!content)
		return false;
	return code ? walk_code(w, content, false, at)
		    : walk_nested(w, content, wrap->words, wrap->count, at);
}

static bool walk_wrapped(struct blocklist_walk *w, const struct shell_wrap *wrap,
			 const struct shell_word *words, size_t count, bool awk,
			 const struct blocklist_stage *at)
{
	struct blocklist_stage inner = *at;

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
		inner.args = wrap->words;
		inner.arg_count = wrap->count;
		for (size_t i = 0; i < wrap->text_count; i++)
			if (walk_remote(w, &wrap->texts[i], at) ||
			    walk_code(w, &wrap->texts[i], awk, &inner))
				return true;
	}
	return false;
}

/* env 'BASH_FUNC_ls%%=() { ...; }' bash: the body of a function for every bash. */
static bool walk_functions(struct blocklist_walk *w, const struct shell_wrap *wrap,
			   const struct blocklist_stage *at)
{
	for (size_t i = 0; i < wrap->assign_count; i++) {
		const struct shell_word *value = &wrap->assigns[i].value;
		const char *body = strchr(value->text.s, '{');
		struct shell_word text;

		if (strncmp(wrap->assigns[i].name, "BASH_FUNC_", 10) || !body)
			continue;
		text = shell_wrap_slice(value, (size_t)(body - value->text.s), value->text.len,
					&w->arena);
		if (walk_nested(w, &text, NULL, 0, at))
			return true;
	}
	return false;
}

static bool is_bash(const struct shell_word *word)
{
	bool foreign;
	struct shell_text base = blocklist_base_name(word, &foreign);

	return base.len == 4 && memcmp(base.s, "bash", 4) == 0;
}

bool walk_wrapper(struct blocklist_walk *w, const struct blocklist_wrapper *wrapper,
		  const struct shell_word *words, size_t count, const struct blocklist_stage *at)
{
	struct blocklist_dir before;
	struct blocklist_stage inner = *at;
	struct shell_wrap wrap;
	bool blocked;

	blocklist_dir_copy(&before, &w->rules.dir);
	shell_wrap_open(wrapper, words, count, &w->rules.args, &w->arena, &wrap);
	if (wrap.assign_count) {
		inner.assigns = wrap.assigns;
		inner.assign_count = wrap.assign_count;
	}
	inner.bash = wrapper->kind == WRAPPER_SHELL && is_bash(&words[0]);
	inner.same_shell |= word_is(&words[0], "eval");
	inner.lenient |= wrapper->kind == WRAPPER_TEXT || wrapper->remote || wrapper->lenient;
	if (wrap.directory) {
		struct shell_word dir = shell_wrap_slice(wrap.directory, wrap.directory_skip,
							 wrap.directory->text.len, &w->arena);
		blocklist_chdir(&w->rules.dir, &dir);
	}
	blocked = walk_functions(w, &wrap, &inner) ||
		  walk_wrapped(w, &wrap, words, count, !wrapper->text, &inner);
	/* command cd and builtin cd change the shell's own directory. */
	if (!word_is(&words[0], "command") && !word_is(&words[0], "builtin"))
		blocklist_dir_copy(&w->rules.dir, &before);
	return blocked;
}
