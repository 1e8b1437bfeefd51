#include "blocklist/wrap.h"

#include <string.h>

#include "blocklist/rules.h"

struct opening {
	const struct blocklist_wrapper *wrapper;
	const struct shell_word *words;
	size_t count;
	struct blocklist_args *args;
	struct shell_arena *arena;
	struct shell_wrap *out;
};

static bool word_is(const struct shell_word *w, const char *text)
{
	return strcmp(w->text.s, text) == 0;
}

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
		list[n++].value = shell_wrap_slice(w, len + 1, w->text.len, o->arena);
	}
	o->out->assigns = list;
	o->out->assign_count = n;
	return at;
}

static void take_directory(struct opening *o)
{
	const struct blocklist_option *option;
	size_t from = 0;

	if (!o->wrapper->directory)
		return;
	option = blocklist_args_next(o->args, o->wrapper->directory, &from);
	if (option && option->value) {
		o->out->directory = option->value;
		o->out->directory_skip = option->skip;
	}
}

static void set_text(struct opening *o, enum shell_wrap_kind kind, const struct shell_word *text)
{
	struct shell_word *one = shell_alloc(o->arena, sizeof(*one));

	*one = *text;
	o->out->kind = kind;
	o->out->texts = one;
	o->out->text_count = 1;
}

/* Values of all options that hold text, each as a word of its own. 0 if there is none. */
static size_t option_texts(struct opening *o, enum shell_wrap_kind kind)
{
	const struct blocklist_option *option;
	struct shell_word *texts;
	size_t from = 0, n = 0;

	if (!o->wrapper->text || !blocklist_args_has(o->args, o->wrapper->text))
		return 0;
	texts = shell_alloc(o->arena, (o->args->option_count + 1) * sizeof(*texts));
	while ((option = blocklist_args_next(o->args, o->wrapper->text, &from)) != NULL)
		if (option->value)
			texts[n++] = option->skip ? shell_wrap_slice(option->value, option->skip,
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
	const struct blocklist_option *option;

	o->out->fed = true;
	o->out->whole = blocklist_args_has(o->args, " -0 --null ");
	o->out->lines = blocklist_args_has(o->args, " -d --delimiter -L --max-lines ");
	option = blocklist_args_next(o->args, " -I -J ", &from);
	if (option && option->value) {
		o->out->placeholder = option->value->text.s + option->skip;
		o->out->placeholder_len = option->value->text.len - option->skip;
	} else if (blocklist_args_has(o->args, " -i --replace ")) {
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
	joined = shell_wrap_join(all, n + rest, o->arena);
	set_text(o, WRAP_TEXT, &joined);
}

static void open_run(struct opening *o)
{
	const struct blocklist_wrapper *w = o->wrapper;
	size_t at = o->args->first_operand;

	if (w->assigns)
		at = take_assigns(o, at);
	take_directory(o);
	if (w->assigns && w->text && blocklist_args_has(o->args, w->text)) {
		open_split(o, at);
		return;
	}
	if (option_texts(o, WRAP_TEXT))
		return;
	for (unsigned i = 0; i < w->skip && at < o->count; i++)
		if (w->remote || !blocklist_lookup(o->words[at].text.s, o->words[at].text.len))
			at++;
	while (w->remote && at < o->count && o->words[at].text.s[0] == '-') /* ssh HOST -t CMD */
		at += 1 + blocklist_listed(w->values, o->words[at].text.s, o->words[at].text.len);
	if (at > o->count)
		at = o->count;
	if (at < o->count && word_is(&o->words[at], "--"))
		at++;
	if (at + 1 < o->count && w->text &&
	    blocklist_listed(w->text, o->words[at].text.s, o->words[at].text.len)) {
		set_text(o, WRAP_TEXT, &o->words[at + 1]);
		return;
	}
	o->out->words = o->words + at;
	o->out->count = o->count - at;
	if (w->feeds)
		take_placeholder(o);
	if (w->remote && o->out->count) {
		struct shell_word joined = shell_wrap_join(o->out->words, o->out->count, o->arena);

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
	return word_is(w, "-") || word_is(w, "/dev/stdin") || word_is(w, "/dev/fd/0") ||
	       word_is(w, "/proc/self/fd/0");
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
	const struct blocklist_option *option;

	take_params(o, at);
	option = blocklist_args_next(o->args, " --command ", &from);
	if (option && option->value) {
		struct shell_word text = shell_wrap_slice(option->value, option->skip,
							  option->value->text.len, o->arena);
		set_text(o, WRAP_TEXT, &text);
	} else if (blocklist_args_has(o->args, " -c ") && at < o->count) {
		set_text(o, WRAP_TEXT, &o->words[at]);
		take_params(o, at + 1);
	} else if (blocklist_args_has(o->args, " -s ") || at == o->count ||
		   is_stdin(&o->words[at])) {
		/* sh -s A: $0 is sh; the word before is as good as its name. */
		if (at < o->count && blocklist_args_has(o->args, " -s ")) {
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
		blocklist_args_read(o->args, o->words + at, o->count - at, o->wrapper->values,
				    true);
		at += o->args->first_operand;
	}
	for (end = at; end < o->count && strncmp(o->words[end].text.s, ":::", 3);)
		end++;
	template = shell_wrap_join(o->words + at, end - at, o->arena);
	for (size_t i = end + 1; i < o->count && !shell_arena_spent(o->arena); i++) {
		if (strncmp(o->words[i].text.s, ":::", 3) == 0)
			continue;
		both[0] = template;
		both[1] = o->words[i];
		if (end == at)
			texts[n++] = o->words[i];
		else if (strstr(template.text.s, "{}"))
			texts[n++] = shell_wrap_replace(&template, "{}", 2, &o->words[i], o->arena);
		else
			texts[n++] = shell_wrap_join(both, 2, o->arena);
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

	if (!blocklist_listed(runners, o->words[0].text.s, o->words[0].text.len))
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
		struct shell_text base = blocklist_base_name(&o->words[i], &foreign);
		const struct blocklist_name *name = blocklist_lookup(base.s, base.len);

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
		const struct blocklist_option *file =
			blocklist_args_next(o->args, " -f --file ", &from);

		if (file && file->value && !file->skip) {
			o->out->kind = WRAP_CODE_FILE;
			o->out->words = file->value;
			o->out->count = 1;
		} else if (at < o->count && !file) {
			set_text(o, WRAP_CODE, &o->words[at]);
		}
	} else if (at == o->count || is_stdin(&o->words[at])) {
		if (!blocklist_args_has(o->args, " -m "))
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
	if (!blocklist_args_has(o->args, " -u --user ")) {
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
	list[0] = shell_wrap_slice(&list[0], strlen(option), list[0].text.len, o->arena);
	o->out->words = list;
}

void shell_wrap_open(const struct blocklist_wrapper *wrapper, const struct shell_word *words,
		     size_t count, struct blocklist_args *args, struct shell_arena *arena,
		     struct shell_wrap *out)
{
	struct opening o = { wrapper, words, count, args, arena, out };

	memset(out, 0, sizeof(*out));
	if (wrapper->multicall) {
		open_multicall(&o);
		return;
	}
	blocklist_args_read(args, words, count, wrapper->values, wrapper->kind != WRAPPER_OPTION);
	if (wrapper->inert && blocklist_args_has(args, wrapper->inert))
		return;
	if (wrapper->kind == WRAPPER_RUN)
		open_run(&o);
	else if (wrapper->kind == WRAPPER_SHELL)
		open_shell(&o);
	else if (wrapper->kind == WRAPPER_TEXT)
		open_text(&o);
	else if (wrapper->kind == WRAPPER_OPTION)
		open_option(&o);
	else if (wrapper->kind == WRAPPER_SCAN)
		open_scan(&o);
	else
		open_code(&o);
}
