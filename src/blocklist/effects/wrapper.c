#include "blocklist/effects/wrapper.h"

#include <string.h>

#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/input.h"

/* What is inside of a wrapper. */
enum wrap_kind {
	WRAP_NOTHING, /* no command is in it */
	WRAP_WORDS,   /* a command: @words */
	WRAP_TEXT,    /* shell text: @texts; @words are its $0, $1, ... */
	WRAP_STDIN,   /* a shell that reads its text from standard input; @words its $0, $1 ... */
	WRAP_FILE,    /* a shell that reads the file words[0] */
	WRAP_CODE,    /* text of another language: @texts */
	WRAP_CODE_STDIN,
	WRAP_CODE_FILE,
};

struct wrap {
	enum wrap_kind kind;
	const struct shell_word *words;
	size_t count;
	const struct shell_word *texts;
	size_t text_count;
	const struct shell_word *also; /* the same words as a command, for a text made of words */
	size_t also_count;
	const struct shell_assign *assigns; /* of env and sudo */
	size_t assign_count;
	const struct shell_word *directory; /* it runs there, or NULL */
	size_t directory_skip;
	bool fed;                 /* words from standard input are added (xargs) */
	bool whole;               /* not split at blanks and lines */
	bool lines;               /* split at lines only */
	const char *placeholder;  /* where: in place of this text; NULL: behind the last word */
	size_t placeholder_len;
};

struct opening {
	const struct blocklist_wrapper *wrapper;
	const struct shell_word *words;
	size_t count;
	struct args *args;
	struct shell_arena *arena;
	struct wrap *out;
};

/* ---- opening ---- */

/* NAME=VALUE: the length of the name, else 0. */
static size_t assignment(const struct shell_word *w)
{
	const char *equals = memchr(w->text.s, '=', w->text.len);
	size_t len = equals ? (size_t)(equals - w->text.s) : 0;

	for (size_t i = 0; i < len; i++) {
		char c = w->text.s[i];

		if (w->kind[i] != SHELL_LITERAL ||
		    !(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (i && c >= '0' && c <= '9') || c == '%' || c == '('  || c == ')'))
			return 0;
	}
	return len;
}

static size_t take_assigns(struct opening *o, size_t at)
{
	struct shell_assign *list = shell_alloc(o->arena, (o->count + 1) * sizeof(*list));
	size_t len, n = 0;

	for (; at < o->count; at++) {
		const struct shell_word *w = &o->words[at];

		if (word_is(w, "-"))
			continue;
		len = assignment(w);
		if (!len)
			break;
		list[n].name = shell_copy(o->arena, w->text.s, len);
		list[n++].value = word_slice(w, len + 1, w->text.len, o->arena);
	}
	o->out->assigns = list;
	o->out->assign_count = n;
	return at;
}

static void take_directory(struct opening *o)
{
	const struct args_option *option;
	size_t from = 0;

	if (!o->wrapper->directory)
		return;
	option = args_next(o->args, o->wrapper->directory, &from);
	if (option && option->value) {
		o->out->directory = option->value;
		o->out->directory_skip = option->skip;
	}
}

static void set_text(struct opening *o, enum wrap_kind kind, const struct shell_word *text)
{
	struct shell_word *one = shell_alloc(o->arena, sizeof(*one));

	*one = *text;
	o->out->kind = kind;
	o->out->texts = one;
	o->out->text_count = 1;
}

/* Values of all options that hold text, each as a word of its own. 0 if there is none. */
static size_t option_texts(struct opening *o, enum wrap_kind kind)
{
	const struct args_option *option;
	struct shell_word *texts;
	size_t from = 0, n = 0;

	if (!o->wrapper->text || !args_has(o->args, o->wrapper->text))
		return 0;
	texts = shell_alloc(o->arena, (o->args->option_count + 1) * sizeof(*texts));
	while ((option = args_next(o->args, o->wrapper->text, &from)) != NULL)
		if (option->value)
			texts[n++] = option->skip ? word_slice(option->value, option->skip,
							       option->value->text.len,
							       o->arena)
						  : *option->value;
	o->out->kind = n ? kind : WRAP_NOTHING;
	o->out->texts = texts;
	o->out->text_count = n;
	return n;
}

/* xargs: which text is replaced by each item. */
static void take_placeholder(struct opening *o)
{
	size_t from = 0;
	const struct args_option *option;

	o->out->fed = true;
	o->out->whole = args_has(o->args, " -0 --null ");
	o->out->lines = args_has(o->args, " -d --delimiter -L --max-lines ");
	option = args_next(o->args, " -I -J ", &from);
	if (option && option->value) {
		o->out->placeholder = option->value->text.s + option->skip;
		o->out->placeholder_len = option->value->text.len - option->skip;
	} else if (args_has(o->args, " -i --replace ")) {
		o->out->placeholder = "{}";
		o->out->placeholder_len = 2;
	}
	if (!o->out->placeholder_len)
		o->out->placeholder = NULL;
}

/* env -S 'A B' C: the text, then the words behind it. */
static void open_split(struct opening *o, size_t at)
{
	size_t n = option_texts(o, WRAP_TEXT), rest = o->count - at;
	struct shell_word *all = shell_alloc(o->arena, (n + rest) * sizeof(*all));
	struct shell_word joined;

	for (size_t i = 0; i < n + rest; i++)
		all[i] = i < n ? o->out->texts[i] : o->words[at + i - n];
	joined = word_join(all, n + rest, o->arena);
	set_text(o, WRAP_TEXT, &joined);
}

static void open_run(struct opening *o)
{
	const struct blocklist_wrapper *w = o->wrapper;
	size_t at = o->args->first_operand;

	if (w->assigns)
		at = take_assigns(o, at);
	take_directory(o);
	if (w->assigns && w->text && args_has(o->args, w->text)) {
		open_split(o, at);
		return;
	}
	if (option_texts(o, WRAP_TEXT))
		return;
	for (unsigned i = 0; i < w->skip && at < o->count; i++)
		if (w->remote || !name_lookup(o->words[at].text.s, o->words[at].text.len))
			at++;
	while (w->remote && at < o->count && o->words[at].text.s[0] == '-') /* ssh HOST -t CMD */
		at += 1 + word_in(&o->words[at], w->values);
	if (at > o->count)
		at = o->count;
	if (at < o->count && word_is(&o->words[at], "--"))
		at++;
	if (at + 1 < o->count && w->text &&
	    word_in(&o->words[at], w->text)) {
		set_text(o, WRAP_TEXT, &o->words[at + 1]);
		return;
	}
	o->out->words = o->words + at;
	o->out->count = o->count - at;
	if (w->feeds)
		take_placeholder(o);
	if (w->remote && o->out->count) {
		struct shell_word joined = word_join(o->out->words, o->out->count, o->arena);

		set_text(o, WRAP_TEXT, &joined);
		o->out->count = 0;
	} else if (w->remote) {
		o->out->kind = o->args->operand_count ? WRAP_STDIN : WRAP_NOTHING;
	} else if (o->out->count || w->feeds) {
		o->out->kind = WRAP_WORDS;
	} else if (w->login) {
		o->out->kind = WRAP_STDIN;
	}
}

static bool is_stdin(const struct shell_word *w)
{
	return word_in(w, " - /dev/stdin /dev/fd/0 /proc/self/fd/0 ");
}

/* $0, $1, ...: the words from @at on; without any $0 is the shell, as it was called. */
static void take_params(struct opening *o, size_t at)
{
	o->out->words = at < o->count ? o->words + at : o->words;
	o->out->count = at < o->count ? o->count - at : 1;
}

static void open_shell(struct opening *o)
{
	size_t at = o->args->first_operand, from = 0;
	const struct args_option *option;

	take_params(o, at);
	option = args_next(o->args, " --command ", &from);
	if (option && option->value) {
		struct shell_word text = word_slice(option->value, option->skip,
						    option->value->text.len, o->arena);
		set_text(o, WRAP_TEXT, &text);
	} else if (args_has(o->args, " -c ") && at < o->count) {
		set_text(o, WRAP_TEXT, &o->words[at]);
		take_params(o, at + 1);
	} else if (args_has(o->args, " -s ") || at == o->count ||
		   is_stdin(&o->words[at])) {
		/* sh -s A: $0 is sh; the word before is as good as its name. */
		if (at < o->count && args_has(o->args, " -s ")) {
			o->out->words--;
			o->out->count++;
		}
		o->out->kind = WRAP_STDIN;
	} else {
		o->out->kind = WRAP_FILE;
	}
}

/* parallel CMD ::: A B, watch CMD, tmux new CMD */
static void open_text(struct opening *o)
{
	size_t at = o->args->first_operand, end, n = 0;
	struct shell_word *texts = shell_alloc(o->arena, (o->count + 1) * sizeof(*texts));
	struct shell_word template, both[2];

	if (o->wrapper->skip && at < o->count) { /* options of the subcommand */
		args_read(o->args, o->words + at, o->count - at, o->wrapper->values,
			  true);
		at += o->args->first_operand;
	}
	for (end = at; end < o->count && strncmp(o->words[end].text.s, ":::", 3);)
		end++;
	template = word_join(o->words + at, end - at, o->arena);
	for (size_t i = end + 1; i < o->count && !shell_arena_spent(o->arena); i++) {
		if (strncmp(o->words[i].text.s, ":::", 3) == 0)
			continue;
		both[0] = template;
		both[1] = o->words[i];
		if (end == at)
			texts[n++] = o->words[i];
		else if (strstr(template.text.s, "{}"))
			texts[n++] = word_replace(&template, "{}", 2, &o->words[i], o->arena);
		else
			texts[n++] = word_join(both, 2, o->arena);
	}
	o->out->fed = o->wrapper->feeds && end == o->count;
	if (end == o->count && end > at)
		texts[n++] = template;
	o->out->kind = n || o->out->fed ? WRAP_TEXT : WRAP_NOTHING;
	o->out->texts = texts;
	o->out->text_count = n;
	o->out->also = o->words + at;
	o->out->also_count = end - at;
}

/*
 * uv run pytest -k halt: behind run, the first word that cannot be the value of an option
 * is the program, known or not.
 */
static size_t scan_end(const struct opening *o)
{
	static const char runners[] = " uv poetry pipenv hatch rye conda mamba micromamba ";
	size_t i = 1;

	if (!word_in(&o->words[0], runners))
		return o->count;
	while (i < o->count && !word_is(&o->words[i], "run"))
		i++;
	for (i++; i < o->count; i++)
		if (o->words[i].text.s[0] != '-' && o->words[i - 1].text.s[0] != '-')
			return i + 1;
	return o->count;
}

/* Options are not known: every word that names a program may be where the command begins. */
static void open_scan(struct opening *o)
{
	size_t end = scan_end(o);

	for (size_t i = 1; i < end; i++) {
		bool foreign;
		struct shell_text base = name_base(&o->words[i], &foreign);
		const struct blocklist_name *name = name_lookup(base.s, base.len);

		/* direnv exec . CMD, mise exec -- CMD, aws-vault exec PROFILE -- CMD */
		if (word_is(&o->words[i], "exec") && i + 1 < o->count &&
		    (word_is(&o->words[i + 1], ".") || word_is(&o->words[i + 1], "--") ||
		     (i + 2 < o->count && word_is(&o->words[i + 2], "--")))) {
			i++;
			continue;
		}
		if (!name || (!name->wrapper && !name->program && name->rules[0] == UINT16_MAX))
			continue;
		o->out->kind = WRAP_WORDS;
		o->out->words = o->words + i;
		o->out->count = o->count - i;
		return;
	}
}

static void open_code(struct opening *o)
{
	size_t at = o->args->first_operand;

	o->out->words = o->words + at;
	o->out->count = o->count - at;
	if (option_texts(o, WRAP_CODE))
		return;
	if (at + 1 < o->count && word_is(&o->words[at], "eval")) { /* deno eval */
		set_text(o, WRAP_CODE, &o->words[at + 1]);
	} else if (at + 1 < o->count && word_is(&o->words[at], "run") &&
		   is_stdin(&o->words[at + 1])) { /* deno run - */
		o->out->kind = WRAP_CODE_STDIN;
	} else if (!o->wrapper->text) { /* awk: the first operand is the program */
		size_t from = 0;
		const struct args_option *file =
			args_next(o->args, " -f --file ", &from);

		if (file && file->value && !file->skip) {
			o->out->kind = WRAP_CODE_FILE;
			o->out->words = file->value;
			o->out->count = 1;
		} else if (at < o->count && !file) {
			set_text(o, WRAP_CODE, &o->words[at]);
		}
	} else if (at == o->count || is_stdin(&o->words[at])) {
		if (!args_has(o->args, " -m "))
			o->out->kind = WRAP_CODE_STDIN;
	} else {
		o->out->kind = WRAP_CODE_FILE;
	}
}

/* su -c TEXT; runuser -u USER COMMAND; script FILE COMMAND */
static void open_option(struct opening *o)
{
	size_t skip = o->wrapper->skip;

	if (option_texts(o, WRAP_TEXT))
		return;
	if (skip && o->args->operand_count > skip) {
		o->out->words = o->args->operands[skip];
		o->out->count = (size_t)(o->words + o->count - o->out->words);
		o->out->kind = WRAP_WORDS;
		return;
	}
	if (!args_has(o->args, " -u --user ")) {
		o->out->kind = o->wrapper->login ? WRAP_STDIN : WRAP_NOTHING;
		return;
	}
	o->out->words = o->words + o->args->first_operand;
	o->out->count = o->count - o->args->first_operand;
	o->out->kind = o->out->count ? WRAP_WORDS : WRAP_NOTHING;
}

/* busybox PROGRAM ..., coreutils --coreutils-prog=PROGRAM ... */
static void open_multicall(struct opening *o)
{
	static const char option[] = "--coreutils-prog=";
	struct shell_word *list;

	if (o->count < 2)
		return;
	o->out->kind = WRAP_WORDS;
	o->out->count = o->count - 1;
	o->out->words = o->words + 1;
	if (strncmp(o->words[1].text.s, option, strlen(option)))
		return;
	list = shell_alloc(o->arena, o->out->count * sizeof(*list));
	memcpy(list, o->out->words, o->out->count * sizeof(*list));
	list[0] = word_slice(&list[0], strlen(option), list[0].text.len, o->arena);
	o->out->words = list;
}

static void open_wrapper(struct opening *o)
{
	static void (*const by_kind[])(struct opening *) = {
		[WRAPPER_RUN] = open_run,       [WRAPPER_SHELL] = open_shell,
		[WRAPPER_TEXT] = open_text,     [WRAPPER_OPTION] = open_option,
		[WRAPPER_SCAN] = open_scan,     [WRAPPER_CODE] = open_code,
	};
	const struct blocklist_wrapper *w = o->wrapper;

	if (w->multicall) {
		open_multicall(o);
		return;
	}
	args_read(o->args, o->words, o->count, w->values, w->kind != WRAPPER_OPTION);
	if (!w->inert || !args_has(o->args, w->inert))
		by_kind[w->kind](o);
}

/* ---- words that come from standard input ---- */

static bool has_nul(const struct shell_word *text)
{
	return memchr(text->text.s, '\0', text->text.len) != NULL;
}

/* What xargs gets: known items, names of files, or one unknown word. */
static size_t wrap_fed_items(const struct command *cmd, bool lines, bool whole,
			     struct action_list *out, struct shell_word **items)
{
	const struct place *at = cmd->at;
	bool one = at->input && whole && !has_nul(at->input);
	size_t n = 0;

	if (at->input && !one)
		n = word_items(at->input, lines, out->budget, out->arena, items);
	if (n)
		return n;
	*items = shell_alloc(out->arena, DATAFLOW_NAMES_MAX * sizeof(**items));
	if (one)
		(*items)[n++] = *at->input;
	if (!n && at->flows && at->index != SHELL_NONE)
		n = dataflow_names(at->flows, place_command(at)->piped_from, out->budget,
				   out->arena, *items, DATAFLOW_NAMES_MAX);
	if (!n)
		(*items)[n++] = word_fixed("?", SHELL_UNKNOWN_FIELDS, &cmd->words[0], out->arena);
	return n;
}

/* The words of @wrap with @item in place of each placeholder. */
static void wrap_add_placed(const struct wrap *wrap, const struct shell_word *item,
			    struct action_list *out)
{
	struct shell_word *words = shell_alloc(out->arena, wrap->count * sizeof(*words));

	for (size_t k = 0; k < wrap->count; k++) {
		const struct shell_word *w = &wrap->words[k];

		words[k] = *w;
		if (w->text.len == wrap->placeholder_len && word_is(w, wrap->placeholder))
			words[k] = *item;
		else if (strstr(w->text.s, wrap->placeholder))
			words[k] = word_replace(w, wrap->placeholder, wrap->placeholder_len, item,
						out->arena);
	}
	action_words(out, words, wrap->count, ACTION_EACH | ACTION_NO_INPUT);
}

static void wrap_add_fed(const struct command *cmd, const struct wrap *wrap,
			 struct action_list *out)
{
	struct shell_word *items, *words;
	struct wrap placed = *wrap;
	size_t n = wrap_fed_items(cmd, wrap->placeholder || wrap->lines, wrap->whole, out, &items);

	if (!wrap->count)
		return;
	if (wrap->placeholder) {
		placed.placeholder = shell_copy(out->arena, wrap->placeholder,
						wrap->placeholder_len);
		for (size_t i = 0; i < n && action_charge(out, wrap->count); i++)
			wrap_add_placed(&placed, &items[i], out);
		return;
	}
	words = shell_alloc(out->arena, (wrap->count + n) * sizeof(*words));
	memcpy(words, wrap->words, wrap->count * sizeof(*words));
	memcpy(words + wrap->count, items, n * sizeof(*words));
	action_words(out, words, wrap->count + n, ACTION_EACH | ACTION_NO_INPUT);
}

/* parallel without ::: runs lines of its standard input, or adds them to its text. */
static void wrap_add_fed_texts(const struct command *cmd, const struct wrap *wrap, unsigned flags,
			       struct action_list *out)
{
	struct shell_word *items, both[2];
	size_t n = wrap_fed_items(cmd, true, false, out, &items);

	if (!wrap->text_count)
		action_flow(out, cmd->at->input_flow, &cmd->words[0], 1);
	for (size_t i = 0; i < n && action_charge(out, 1); i++) {
		both[0] = wrap->text_count ? wrap->texts[0] : items[i];
		if (wrap->text_count && strstr(both[0].text.s, "{}")) {
			both[0] = word_replace(&both[0], "{}", 2, &items[i], out->arena);
		} else if (wrap->text_count) {
			both[1] = items[i];
			both[0] = word_join(both, 2, out->arena);
		}
		action_text(out, &both[0], flags | ACTION_EACH | ACTION_NO_INPUT);
	}
}

/* ---- what is inside ---- */

static void wrap_add_texts(const struct command *cmd, const struct wrap *wrap, unsigned flags,
			   struct action_list *out)
{
	for (size_t i = 0; i < wrap->text_count; i++) {
		const struct shell_word *text = &wrap->texts[i];
		struct action *a;

		action_flow(out, dataflow_origin(cmd->at, text), text, 1);
		if (cmd->at->each && word_unknown_at(text, 0))
			action_flow(out, cmd->at->input_flow, text, 1);
		a = action_add(out, ACTION_TEXT, flags);
		a->word = text;
		a->words = wrap->words;
		a->count = wrap->count;
	}
}

static void wrap_add_codes(const struct command *cmd, const struct wrap *wrap, unsigned flags,
			   struct action_list *out)
{
	for (size_t i = 0; i < wrap->text_count; i++) {
		action_flow(out, dataflow_origin(cmd->at, &wrap->texts[i]), &wrap->texts[i], 1);
		action_code(out, &wrap->texts[i], wrap->words, wrap->count, flags);
	}
}

static void wrap_add_inside(const struct command *cmd, const struct wrap *wrap, unsigned flags,
			    struct action_list *out)
{
	switch (wrap->kind) {
	case WRAP_NOTHING:
		break;
	case WRAP_WORDS:
		if (wrap->fed)
			wrap_add_fed(cmd, wrap, out);
		else
			action_words(out, wrap->words, wrap->count, 0);
		break;
	case WRAP_TEXT:
		if (wrap->fed) {
			wrap_add_fed_texts(cmd, wrap, flags, out);
			break;
		}
		wrap_add_texts(cmd, wrap, flags, out);
		if (wrap->also_count)
			action_words(out, wrap->also, wrap->also_count, 0);
		break;
	case WRAP_STDIN:
		input_run(cmd, wrap->words, wrap->count, flags, out);
		break;
	case WRAP_CODE_STDIN:
		input_run(cmd, NULL, 0, flags | ACTION_FOREIGN, out);
		break;
	case WRAP_FILE:
		action_file(out, &wrap->words[0], wrap->words, wrap->count, flags);
		break;
	case WRAP_CODE_FILE:
		action_file(out, &wrap->words[0], NULL, 0, flags | ACTION_FOREIGN);
		break;
	case WRAP_CODE:
		wrap_add_codes(cmd, wrap, flags, out);
		break;
	}
}

/* env 'BASH_FUNC_ls%%=() { ...; }' bash: the body of a function for every bash. */
static void wrap_add_functions(const struct wrap *wrap, unsigned flags, struct action_list *out)
{
	for (size_t i = 0; i < wrap->assign_count; i++) {
		const struct shell_word *value = &wrap->assigns[i].value;
		const char *body = strchr(value->text.s, '{');

		if (strncmp(wrap->assigns[i].name, "BASH_FUNC_", 10) == 0 && body)
			action_text_part(out, value, (size_t)(body - value->text.s),
					 value->text.len, flags);
	}
}

static unsigned wrapper_flags(const struct blocklist_wrapper *wrapper, const struct command *cmd)
{
	unsigned flags = 0;

	if (wrapper->kind == WRAPPER_SHELL && cmd->program.len == 4 &&
	    memcmp(cmd->program.s, "bash", 4) == 0)
		flags |= ACTION_BASH;
	if (word_is(&cmd->words[0], "eval"))
		flags |= ACTION_SAME_SHELL;
	if (wrapper->kind == WRAPPER_TEXT || wrapper->remote || wrapper->lenient)
		flags |= ACTION_LENIENT;
	if (wrapper->kind == WRAPPER_CODE && !wrapper->text)
		flags |= ACTION_AWK;
	return flags;
}

void wrapper_read(const struct blocklist_wrapper *wrapper, const struct command *cmd,
		  struct action_list *out)
{
	struct wrap wrap = { .kind = WRAP_NOTHING };
	struct opening o = { wrapper, cmd->words, cmd->count, out->args, out->arena, &wrap };
	unsigned flags = wrapper_flags(wrapper, cmd);
	size_t first;

	open_wrapper(&o);
	/* command cd and builtin cd change the shell's own directory. */
	out->keeps_directory = word_in(&cmd->words[0], " command builtin ");
	if (wrap.directory) {
		struct shell_word dir = word_slice(wrap.directory, wrap.directory_skip,
						   wrap.directory->text.len, out->arena);
		action_chdir(out, &dir);
	}
	first = out->count;
	wrap_add_functions(&wrap, flags, out);
	wrap_add_inside(cmd, &wrap, flags, out);
	for (size_t i = first; i < out->count && wrap.assign_count; i++) {
		out->list[i].assigns = wrap.assigns;
		out->list[i].assign_count = wrap.assign_count;
	}
}
