#include "blocklist/effects/wrapper.h"

#include <string.h>

#include "base/mem.h"
#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/files.h"
#include "blocklist/effects/input.h"
#include "blocklist/effects/surroundings.h"

/* Words of a command among which exec -a is looked for. */
#define NAME_GIVEN_MAX 16

/* A wrapper and its words, which are those of @cmd. */
struct wrapping {
	const struct blocklist_wrapper *wrapper;
	const struct command *cmd;
	const struct shell_word *words;
	size_t count;
	struct args *args;
	struct action_list *out;
	unsigned flags; /* of a text or file that it runs */
	const struct shell_assign *assigns; /* of env and sudo */
	size_t assign_count;
};

/* ---- words ---- */

static const struct shell_word *wrapper_keep(const struct wrapping *w, struct shell_word word)
{
	struct shell_word *kept = shell_alloc_raw(w->out->arena, sizeof(*kept));

	*kept = word;
	return kept;
}

static const struct shell_word *wrapper_join(const struct wrapping *w,
					     const struct shell_word *words, size_t count)
{
	return wrapper_keep(w, word_join(words, count, w->out->arena));
}

static const struct shell_word *wrapper_value(const struct wrapping *w,
					      const struct args_option *option)
{
	const struct shell_word *value = option->value;

	if (!option->skip)
		return value;
	return wrapper_keep(w, word_slice(value, option->skip, value->text.len, w->out->arena));
}

/* The value of the first option of @list; NULL: none. */
static const struct args_option *wrapper_option(const struct wrapping *w, const char *list)
{
	size_t from = 0;
	const struct args_option *option = args_next(w->args, list, &from);

	return option && option->value ? option : NULL;
}

/* ---- what is run ---- */

/* Words from @at on. */
static void wrapper_run_words(struct wrapping *w, size_t at)
{
	if (at < w->count)
		action_words(w->out, w->words + at, w->count - at, 0);
}

/* @text where the part that may be missing is unknown: a nested text does not see that it may. */
static const struct shell_word *wrapper_hide_gone(const struct wrapping *w,
						  const struct shell_word *text)
{
	struct shell_arena *arena = w->out->arena;
	const struct shell_word parts[] = {
		word_slice(text, 0, text->gone_from, arena),
		word_fixed("?", SHELL_UNKNOWN, text, arena),
		word_slice(text, text->gone_to, text->text.len, arena),
	};

	return wrapper_keep(w, word_concat_all(parts, COUNT_OF(parts), arena));
}

/* Text in the wrapper's language; @params are its $0, $1, ... */
static void wrapper_run_text(struct wrapping *w, const struct shell_word *text,
			     const struct shell_word *params, size_t count)
{
	const struct place *at = w->cmd->at;

	action_flow(w->out, dataflow_origin(at, text), text, 1);
	if (!(w->flags & ACTION_FOREIGN) && at->each && word_unknown_at(text, 0))
		action_flow(w->out, at->input_flow, text, 1);
	action_script(w->out, text, params, count, w->flags);
	if (text->gone_from < text->gone_to && text->gone_to <= text->text.len)
		action_script(w->out, wrapper_hide_gone(w, text), params, count, w->flags);
}

/* The values of all options that hold text. False: there is none. */
static bool wrapper_run_options(struct wrapping *w, const struct shell_word *params, size_t count)
{
	const char *text = strtab_get(w->wrapper->text);
	const struct args_option *option;
	size_t from = 0;
	bool any = false;

	if (!text)
		return false;
	while ((option = args_next(w->args, text, &from)) != NULL)
		if (option->value) {
			wrapper_run_text(w, wrapper_value(w, option), params, count);
			any = true;
		}
	return any;
}

/* ---- what standard input adds ---- */

/* What xargs gets: known items, names of files, or one unknown word. */
static size_t wrapper_items(const struct wrapping *w, bool lines, bool whole,
			    struct shell_word **items)
{
	struct action_list *out = w->out;
	const struct place *at = w->cmd->at;
	const struct args_option *option = wrapper_option(w, " -a --arg-file ");
	const struct shell_word *file = option ? wrapper_value(w, option) : NULL;
	bool from_file = file && !word_is_stdin(file);
	const struct shell_word *in = from_file ? files_text(at->files, file, out)
						: place_input(at);
	bool one = in && whole && !memchr(in->text.s, '\0', in->text.len);
	size_t n = 0;

	if (in && !one)
		n = word_items(in, lines, out->budget, out->arena, items);
	if (n)
		return n;
	*items = shell_alloc(out->arena, DATAFLOW_NAMES_MAX * sizeof(**items));
	if (one)
		(*items)[n++] = *in;
	if (!n && !from_file && at->flows && at->index != SHELL_NONE)
		n = dataflow_names(at->flows, place_command(at)->piped_from, out->budget,
				   out->arena, *items);
	if (!n)
		(*items)[n++] = word_fixed("?", SHELL_UNKNOWN_FIELDS, &w->words[0], out->arena);
	return n;
}

/* The text that xargs replaces by each item; empty: items go behind the last word. */
static struct shell_text wrapper_placeholder(const struct wrapping *w)
{
	const struct args_option *option = wrapper_option(w, " -I -J ");

	if (option)
		return (struct shell_text){ .s = option->value->text.s + option->skip,
					    .len = option->value->text.len - option->skip };
	if (args_has(w->args, " -i --replace "))
		return (struct shell_text){ .s = "{}", .len = 2 };
	return (struct shell_text){ .s = "", .len = 0 };
}

/*
 * ls ~ | xargs rm -rf ~/{}: dataflow_names() puts the directory before the names that ls prints.
 * Where @word has it before the placeholder at @hole, only the name belongs there. The directory
 * must be the whole path so far: bin is another directory than /usr/local/bin.
 */
static const struct shell_word *wrapper_item_for(const struct wrapping *w,
						 const struct shell_word *word, const char *hole,
						 const struct shell_word *item)
{
	static const char before_path[] = " \t\n'\"`;&|()<>=";
	const char *s = item->text.s, *slash = strrchr(s, '/'), *end = hole;
	size_t dir = slash ? (size_t)(slash - s) : 0, skip;

	while (end > word->text.s && end[-1] == '/')
		end--;
	while (dir && s[dir - 1] == '/')
		dir--;
	if (!slash || end == hole || (size_t)(end - word->text.s) < dir)
		return item;
	skip = (size_t)(end - word->text.s) - dir;
	if (memcmp(word->text.s + skip, s, dir))
		return item;
	while (skip && s[0] == '/' && word->text.s[skip - 1] == '/') /* //etc */
		skip--;
	if (skip && !strchr(before_path, word->text.s[skip - 1]))
		return item;
	return wrapper_keep(w, word_slice(item, (size_t)(slash + 1 - s), item->text.len,
					  w->out->arena));
}

/* @word with @item in each place of @placeholder; NULL: it has none. */
static const struct shell_word *wrapper_place(const struct wrapping *w,
					      const struct shell_word *word,
					      const struct shell_text *placeholder,
					      const struct shell_word *item)
{
	const char *hole = strstr(word->text.s, placeholder->s);

	if (!hole)
		return NULL;
	item = wrapper_item_for(w, word, hole, item);
	return wrapper_keep(w, word_replace(word, placeholder->s, placeholder->len, item,
					    w->out->budget, w->out->arena));
}

/* The words from @at on, with @item in each place of @placeholder. */
static void wrapper_run_placed(struct wrapping *w, size_t at,
			       const struct shell_text *placeholder,
			       const struct shell_word *item)
{
	size_t count = w->count - at;
	struct shell_word *words = shell_alloc(w->out->arena, count * sizeof(*words));

	for (size_t k = 0; k < count; k++) {
		const struct shell_word *word = &w->words[at + k], *placed = item;

		if (word->text.len != placeholder->len || !word_is(word, placeholder->s))
			placed = wrapper_place(w, word, placeholder, item);
		words[k] = placed ? *placed : *word;
	}
	action_words(w->out, words, count, ACTION_EACH | ACTION_NO_INPUT);
}

/* xargs: the words from @at on, with items. */
static void wrapper_run_fed(struct wrapping *w, size_t at)
{
	struct shell_text placeholder = wrapper_placeholder(w);
	bool lines = placeholder.len || args_has(w->args, " -d --delimiter -L --max-lines ");
	size_t count = w->count - at, n;
	struct shell_word *items, *words;
	uint64_t steps = count;

	if (!count)
		return;
	n = wrapper_items(w, lines, args_has(w->args, " -0 --null "), &items);
	if (placeholder.len) {
		for (size_t k = at; k < w->count; k++)
			steps += w->words[k].text.len;
		for (size_t i = 0; i < n && action_charge(w->out, steps); i++)
			wrapper_run_placed(w, at, &placeholder, &items[i]);
		return;
	}
	words = shell_alloc(w->out->arena, (count + n) * sizeof(*words));
	memcpy(words, w->words + at, count * sizeof(*words));
	memcpy(words + count, items, n * sizeof(*words));
	action_words(w->out, words, count + n, ACTION_EACH | ACTION_NO_INPUT);
}

/*
 * parallel: @item in place of {} in @template, or behind it; with no template it is the text.
 * NULL: the budget is spent.
 */
static const struct shell_word *wrapper_fill(const struct wrapping *w,
					     const struct shell_word *template,
					     const struct shell_word *item)
{
	static const struct shell_text hole = { .s = "{}", .len = 2 };
	const struct shell_word *placed;
	struct shell_word both[2];

	if (!action_charge(w->out, 1 + (template ? template->text.len : 0)))
		return NULL;
	if (!template)
		return item;
	placed = wrapper_place(w, template, &hole, item);
	if (placed)
		return placed;
	both[0] = *template;
	both[1] = *item;
	return wrapper_join(w, both, 2);
}

/* parallel without ::: takes its items from lines of its standard input. */
static void wrapper_run_fed_texts(struct wrapping *w, const struct shell_word *template)
{
	struct shell_word *items;
	const struct shell_word *text;
	size_t n = wrapper_items(w, true, false, &items);

	if (!template)
		action_flow(w->out, w->cmd->at->input_flow, &w->words[0], 1);
	for (size_t i = 0; i < n && (text = wrapper_fill(w, template, &items[i])) != NULL; i++)
		action_text(w->out, text, w->flags | ACTION_EACH | ACTION_NO_INPUT);
}

/* ---- sudo, env, xargs, ssh: words ---- */

/* Are the first @len characters of @word a name that a shell keeps, or that of a function? */
static bool wrapper_is_name(const struct shell_word *word, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = word->text.s[i];

		if (word->kind[i] != SHELL_LITERAL ||
		    !(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (i && c >= '0' && c <= '9') || c == '%' || c == '('  || c == ')'))
			return false;
	}
	return len > 0;
}

/* env 'BASH_FUNC_ls%%=() { ...; }' bash: the body of a function for every bash. */
static void wrapper_run_function(struct wrapping *w, const struct shell_assign *assign)
{
	const struct shell_text *value = &assign->value.text;
	const char *body = strchr(value->s, '{');

	if (strncmp(assign->name, "BASH_FUNC_", 10) == 0 && body)
		action_text_part(w->out, &assign->value, (size_t)(body - value->s), value->len,
				 w->flags);
}

/* Variables from @at on. Returns where they end. */
static size_t wrapper_take_assigns(struct wrapping *w, size_t at)
{
	struct shell_arena *arena = w->out->arena;
	struct shell_assign *list = shell_alloc(arena, (w->count + 1) * sizeof(*list));
	const char *equals;
	size_t len, n = 0;

	for (; at < w->count; at++) {
		const struct shell_word *word = &w->words[at];

		if (word_is(word, "-"))
			continue;
		equals = memchr(word->text.s, '=', word->text.len);
		if (!equals)
			break;
		len = (size_t)(equals - word->text.s);
		if (!wrapper_is_name(word, len)) /* env takes any name */
			continue;
		list[n].name = shell_copy(arena, word->text.s, len);
		list[n].value = word_slice(word, len + 1, word->text.len, arena);
		wrapper_run_function(w, &list[n++]);
	}
	w->assigns = list;
	w->assign_count = n;
	return at;
}

/* env -S 'A B' C: the text, then the words behind it. */
static void wrapper_run_split(struct wrapping *w, size_t at)
{
	size_t from = 0, n = 0;
	const struct args_option *option;
	struct shell_word *all = shell_alloc(w->out->arena, (w->args->option_count + w->count) *
							    sizeof(*all));

	while ((option = args_next(w->args, strtab_get(w->wrapper->text), &from)) != NULL)
		if (option->value)
			all[n++] = *wrapper_value(w, option);
	for (; at < w->count; at++)
		all[n++] = w->words[at];
	wrapper_run_text(w, wrapper_join(w, all, n), NULL, 0);
}

/*
 * Does @word name a program, so that the operand which could stand there is missing: the context
 * behind runcon -t TYPE? Files are such operands, too, so of paths only those in bin or sbin count.
 */
static bool wrapper_names_program(const struct shell_word *word)
{
	const char *s = word->text.s, *slash = strrchr(s, '/');

	if (slash && !(slash - s >= 3 && strncmp(slash - 3, "bin", 3) == 0) && !strstr(s, "bin/"))
		return false;
	return name_of(word) || name_in(word, " kill ");
}

/* Where the command begins, behind operands of the wrapper. */
static size_t wrapper_skip(const struct wrapping *w, size_t at)
{
	bool remote = w->wrapper->remote;

	for (unsigned i = 0; i < w->wrapper->skip && at < w->count; i++)
		if (remote || !wrapper_names_program(&w->words[at]))
			at++;
	while (remote && at < w->count && w->words[at].text.s[0] == '-') /* ssh HOST -t CMD */
		at += 1 + word_in(&w->words[at], strtab_get(w->wrapper->values));
	if (at < w->count && word_is(&w->words[at], "--"))
		at++;
	return at < w->count ? at : w->count;
}

/* The command behind all options and operands. */
static void wrapper_run_rest(struct wrapping *w, size_t at)
{
	const struct blocklist_wrapper *wrapper = w->wrapper;
	const char *text = strtab_get(wrapper->text);

	if (at + 1 < w->count && text && word_in(&w->words[at], text))
		wrapper_run_text(w, &w->words[at + 1], NULL, 0);
	else if (wrapper->remote && at < w->count)
		wrapper_run_text(w, wrapper_join(w, w->words + at, w->count - at), NULL, 0);
	else if (wrapper->feeds)
		wrapper_run_fed(w, at);
	else if (at < w->count)
		wrapper_run_words(w, at);
	else if (wrapper->remote ? w->args->operand_count > 0 : wrapper->login)
		input_run(w->cmd, NULL, 0, w->flags, w->out);
}

/* Does it begin in the user's home: su -, su -l, sudo -i? ssh does, too, on another machine, whose
 * files an answer that is remembered would have to know (policy/run_files). */
static bool wrapper_goes_home(const struct wrapping *w)
{
	const struct args *a = w->args;

	if (command_in(w->cmd, " sudo sudo-rs "))
		return args_has(a, " -i --login ");
	return command_in(w->cmd, " su runuser ") &&
	       (args_has(a, " -l --login ") ||
		(a->operand_count && word_is(a->operands[0], "-")));
}

static void wrapper_go_home(struct wrapping *w)
{
	struct shell_word home = word_fixed("~", SHELL_TILDE, &w->words[0], w->out->arena);

	if (wrapper_goes_home(w))
		action_chdir(w->out, &home, 0);
}

static void wrapper_read_run(struct wrapping *w)
{
	const struct blocklist_wrapper *wrapper = w->wrapper;
	const char *text = strtab_get(wrapper->text), *named = strtab_get(wrapper->directory);
	const struct args_option *directory = named ? wrapper_option(w, named) : NULL;
	size_t at = w->args->first_operand;

	wrapper_go_home(w);
	if (directory)
		action_chdir(w->out, wrapper_value(w, directory), 0);
	if (wrapper->assigns)
		at = wrapper_take_assigns(w, at);
	if (wrapper->assigns && text && args_has(w->args, text))
		wrapper_run_split(w, at);
	else if (!wrapper_run_options(w, NULL, 0))
		wrapper_run_rest(w, wrapper_skip(w, at));
}

/* ---- shells ---- */

/* exec -a NAME, env -a NAME, env --argv0=NAME around the shell: its $0; NULL: as it is called. */
static const struct shell_word *wrapper_name_given(const struct wrapping *w)
{
	static const char given[] = "--argv0=";
	const struct shell_command *c = place_command(w->cmd->at);
	bool renames = false;

	for (size_t i = 0; c && i + 1 < c->word_count && i < NAME_GIVEN_MAX; i++) {
		const struct shell_word *word = &c->words[i];
		const char *s = word->text.s;
		size_t skip = word_begins(word, given) ? strlen(given) : 2;

		renames |= word_in(word, " exec env /usr/bin/env ");
		if (!renames || s[0] != '-' || word->text.len < 2)
			continue;
		if (word_is(word, "--argv0") || (s[1] != '-' && s[word->text.len - 1] == 'a'))
			return word + 1;
		if (skip > 2 || s[1] == 'a')
			return wrapper_keep(w, word_slice(word, skip, word->text.len,
							  w->out->arena));
	}
	return NULL;
}

/* $0, $1, ... from @at on; without any, $0 is the shell as it was called. */
static const struct shell_word *wrapper_params(const struct wrapping *w, size_t at, size_t *count)
{
	const struct shell_word *name = at < w->count ? NULL : wrapper_name_given(w);

	*count = at < w->count ? w->count - at : 1;
	return at < w->count ? w->words + at : name ? name : w->words;
}

static void wrapper_read_shell(struct wrapping *w)
{
	size_t at = w->args->first_operand, count;
	bool input = args_has(w->args, " -s ");
	const struct args_option *option = wrapper_option(w, " --command ");
	const struct shell_word *params = wrapper_params(w, at, &count);

	if (option) {
		wrapper_run_text(w, wrapper_value(w, option), params, count);
	} else if (args_has(w->args, " -c ") && at < w->count) {
		params = wrapper_params(w, at + 1, &count);
		wrapper_run_text(w, &w->words[at], params, count);
	} else if (input || at == w->count || word_is_stdin(&w->words[at])) {
		/* sh -s A: $0 is sh; the word before is as good as its name. */
		if (input && at < w->count)
			params = wrapper_params(w, at - 1, &count);
		input_run(w->cmd, params, count, w->flags, w->out);
	} else {
		action_file(w->out, params, params, count, w->flags);
	}
}

/* ---- parallel CMD ::: A B, watch CMD, tmux new CMD: text in several words ---- */

/*
 * Are the words of a text one command too, as watch -x and tmux take them? Not those of eval,
 * which knows text only, nor where a command ends among them: rm -rf build '&&' cmake ..
 */
static bool wrapper_is_one_command(const struct wrapping *w, const struct shell_word *words,
				   size_t count)
{
	if (w->flags & ACTION_SAME_SHELL)
		return false;
	for (size_t i = 0; i + 1 < count; i++)
		if (words[i].text.len && strchr(";&|", words[i].text.s[words[i].text.len - 1]))
			return false;
	return true;
}

/* The words from @at to @end as text; of tmux send-keys, with the key that ends a line. */
static const struct shell_word *wrapper_text(const struct wrapping *w, size_t at, size_t end)
{
	static const char enter[] = " Enter C-m C-j KPEnter ";
	struct shell_word *words;

	if (!command_in(w->cmd, " tmux byobu "))
		return wrapper_join(w, w->words + at, end - at);
	words = shell_alloc(w->out->arena, (end - at) * sizeof(*words));
	for (size_t i = at; i < end; i++)
		words[i - at] = word_in(&w->words[i], enter)
				? word_fixed("\n", SHELL_LITERAL, &w->words[i], w->out->arena)
				: w->words[i];
	return wrapper_join(w, words, end - at);
}

/* tmux new -d \; send-keys halt Enter: a word that ends in ; ends a command. */
static void wrapper_run_chain(struct wrapping *w)
{
	struct shell_word *words;
	size_t n = 1;
	bool ended = false;

	if (!command_in(w->cmd, " tmux byobu ") || !action_charge(w->out, w->count))
		return;
	words = shell_alloc(w->out->arena, 2 * w->count * sizeof(*words));
	words[0] = w->words[0];
	for (size_t i = 1; i < w->count; i++) {
		size_t len = w->words[i].text.len;
		bool ends = len && w->words[i].text.s[len - 1] == ';';

		if (len > ends)
			words[n++] = word_slice(&w->words[i], 0, len - ends, w->out->arena);
		ended |= ends;
		if (!ends && (!ended || i + 1 < w->count))
			continue;
		action_words(w->out, words, n, 0);
		words += n;
		words[0] = w->words[0];
		n = 1;
	}
}

static void wrapper_read_text(struct wrapping *w)
{
	size_t at = w->args->first_operand, end;
	const struct shell_word *template;
	bool any = false;

	wrapper_run_options(w, NULL, 0); /* hyperfine --prepare TEXT */
	for (unsigned i = 0; i < w->wrapper->skip && at < w->count; i++) {
		/* options of the subcommand */
		args_read(w->args, w->words + at, w->count - at, strtab_get(w->wrapper->values),
			  true);
		at += w->args->first_operand;
	}
	for (end = at; end < w->count && !word_begins(&w->words[end], ":::");)
		end++;
	template = end > at ? wrapper_text(w, at, end) : NULL;
	if (end == w->count && w->wrapper->feeds) {
		wrapper_run_fed_texts(w, template);
		return;
	}
	if (end == w->count && template) {
		wrapper_run_text(w, template, NULL, 0);
		any = true;
	}
	for (size_t i = end + 1; i < w->count; i++) {
		const struct shell_word *text;

		if (word_begins(&w->words[i], ":::"))
			continue;
		text = wrapper_fill(w, template, &w->words[i]);
		if (!text)
			break;
		wrapper_run_text(w, text, NULL, 0);
		any = true;
	}
	if (any && template && wrapper_is_one_command(w, w->words + at, end - at))
		action_words(w->out, w->words + at, end - at, 0);
}

/* ---- su -c TEXT; runuser -u USER COMMAND; script FILE COMMAND ---- */

/* su USER -- -c TEXT: what is behind the -- are arguments of the user's shell; but a command behind
 * runuser -u USER -- */
static bool wrapper_run_shell_option(struct wrapping *w)
{
	const struct args *a = w->args;

	if (!w->wrapper->login || args_has(a, " -u --user "))
		return false;
	for (size_t i = 1; i + 1 < a->operand_count; i++)
		if (word_is(a->operands[i], "-c")) {
			wrapper_run_text(w, a->operands[i + 1], NULL, 0);
			return true;
		}
	return false;
}

static void wrapper_read_option(struct wrapping *w)
{
	size_t skip = w->wrapper->skip;

	wrapper_go_home(w);
	if (wrapper_run_options(w, NULL, 0) || wrapper_run_shell_option(w))
		return;
	if (skip && w->args->operand_count > skip)
		wrapper_run_words(w, (size_t)(w->args->operands[skip] - w->words));
	else if (args_has(w->args, " -u --user "))
		wrapper_run_words(w, w->args->first_operand);
	else if (w->wrapper->login)
		input_run(w->cmd, NULL, 0, w->flags, w->out);
}

/* ---- wrappers whose options are not known ---- */

/*
 * Runners that run nothing but what stands behind one of @words, and @operands of their own: a
 * profile, a directory, an image.
 */
static const struct wrapper_runner {
	const char *names, *words;
	unsigned operands;
} wrapper_runners[] = {
	{ " uv poetry pipenv hatch rye conda mamba micromamba pdm pixi volta rustup ", " run ", 0 },
	{ " op doppler infisical teller foreman toolbox dotenvx railway ", " run ", 0 },
	{ " nvm fnm lerna tox bundle pyenv rbenv asdf ddev mirrord xdotool ", " exec ", 0 },
	{ " direnv aws-vault chamber apptainer singularity ", " exec ", 1 },
	{ " ip ", " exec ", 1 },
	{ " mise ", " exec x ", 1 },
	{ " distrobox ", " enter ", 1 },
	{ " limactl ", " shell ", 1 },
	{ " perf ", " record stat trace mem c2c ", 0 },
	{ " rvm ", " do ", 0 },
	{ " pueue ", " add ", 0 },
	{ " wait-for-it wait-for-it.sh wait-for wait-for.sh ", " -- ", 0 },
	{ " telepresence ", " -- --run ", 0 },
};

static const struct wrapper_runner *wrapper_runner_of(const struct wrapping *w)
{
	for (size_t i = 0; i < COUNT_OF(wrapper_runners); i++)
		if (command_in(w->cmd, wrapper_runners[i].names))
			return &wrapper_runners[i];
	return NULL;
}

/* Where one of @list stands, from @i on; w->count: nowhere. */
static size_t wrapper_find(const struct wrapping *w, size_t i, const char *list)
{
	while (i < w->count && !word_in(&w->words[i], list))
		i++;
	return i;
}

/* The version in nvm exec 20 CMD, rustup run stable CMD; the subcommand in dotenv run CMD. */
static bool wrapper_is_version(const struct shell_word *word)
{
	const char *s = word->text.s;

	s += *s == 'v';
	return (*s >= '0' && *s <= '9') || word_begins(word, "lts/") ||
	       word_in(word, " stable beta nightly node system default run record ");
}

/* Is word @i the value of an option that is known to take one? */
static bool wrapper_is_value(const struct wrapping *w, size_t i)
{
	const char *values = strtab_get(w->wrapper->values);

	return values && i > 1 && word_in(&w->words[i - 1], values);
}

/*
 * May word @i be the value of an option? Some options of bwrap take two. uv run -m pytest names the
 * program.
 */
static bool wrapper_may_be_value(const struct wrapping *w, size_t i)
{
	const char *no_value = command_in(w->cmd, " uv ") ? " -- -m --module " : " -- ";
	size_t values = command_in(w->cmd, " bwrap ") ? 2 : 1;

	for (size_t k = 1; k <= values && k < i; k++) {
		const struct shell_word *before = &w->words[i - k];

		if (before->text.s[0] == '-')
			return !word_in(before, no_value) && !word_begins(before, "--no-") &&
			       !memchr(before->text.s, '=', before->text.len);
	}
	return false;
}

/* pixi run halt, pdm run reboot: a single word is a task of the project, if it is not a program
 * that would run others. */
static bool wrapper_is_task(const struct wrapping *w, size_t i, const struct blocklist_name *name)
{
	return i + 1 == w->count && command_in(w->cmd, " pdm pixi rye ") && name &&
	       !strchr(w->words[i].text.s, '/') && !name_wrapper(name) && !name_program(name);
}

/*
 * The words from @i on, behind @operands of the wrapper. The first one that cannot be the value
 * of an option is the program, known or not: what follows are its arguments. One that can be
 * both is the program if it names one, and passed over too.
 */
static void wrapper_scan(struct wrapping *w, size_t i, unsigned operands)
{
	for (; i < w->count; i++) {
		const struct shell_word *word = &w->words[i];
		const struct blocklist_name *name = name_of(word);
		bool known = name || name_in(word, " kill "), value = wrapper_may_be_value(w, i);

		if (word_is(word, "--")) {
			wrapper_run_words(w, i + 1);
			return;
		}
		if (word->text.s[0] == '-' || wrapper_is_value(w, i) ||
		    (!known && wrapper_is_version(word)))
			continue;
		if (wrapper_is_task(w, i, name))
			return;
		if (known || (!value && !operands))
			wrapper_run_words(w, i);
		if (!value && !operands)
			return;
		operands -= !value;
	}
}

/*
 * Operands of the wrapper end at a --, if there is one; but in direnv exec . rm -- FILE it is one
 * of the program's, also where the operand is missing.
 */
static void wrapper_read_scan(struct wrapping *w)
{
	const struct wrapper_runner *r = wrapper_runner_of(w);
	unsigned operands = r ? r->operands : w->wrapper->skip;
	size_t at = r ? wrapper_find(w, 1, r->words) + 1 : 1;
	size_t dashes = operands ? wrapper_find(w, at, " -- ") : w->count;
	size_t program = at + operands;

	if (dashes == w->count) {
		wrapper_scan(w, at, operands);
		return;
	}
	wrapper_scan(w, dashes, operands);
	if (program < dashes && w->words[at].text.s[0] != '-' && name_of(&w->words[program]))
		wrapper_run_words(w, program);
	if (program < dashes && name_of(&w->words[at]))
		wrapper_run_words(w, at);
}

/* busybox PROGRAM ..., coreutils --coreutils-prog=PROGRAM ... */
static void wrapper_read_multicall(struct wrapping *w)
{
	static const char option[] = "--coreutils-prog=";
	struct shell_word *list;

	if (w->count < 2 || !word_begins(&w->words[1], option)) {
		wrapper_run_words(w, 1);
		return;
	}
	list = shell_alloc(w->out->arena, (w->count - 1) * sizeof(*list));
	memcpy(list, w->words + 1, (w->count - 1) * sizeof(*list));
	list[0] = word_slice(&list[0], strlen(option), list[0].text.len, w->out->arena);
	action_words(w->out, list, w->count - 1, 0);
}

/* ---- other languages ---- */

/* awk: the first operand is the program, unless -f names its files. */
static void wrapper_read_awk(struct wrapping *w, size_t at)
{
	size_t from = 0;
	const struct args_option *file;
	bool any = false;

	while ((file = args_next(w->args, " -f --file ", &from)) != NULL) {
		const struct shell_word *name = file->value ? wrapper_value(w, file) : NULL;

		any = true;
		if (name && word_is_stdin(name))
			input_run(w->cmd, NULL, 0, w->flags, w->out);
		else if (name)
			action_file(w->out, name, NULL, 0, w->flags);
	}
	if (at < w->count && !any)
		wrapper_run_text(w, &w->words[at], w->words + at, w->count - at);
}

/* python manage.py shell -c "x": is the script at word @at known for what it runs? */
static bool wrapper_is_runner(const struct wrapping *w, size_t at)
{
	const struct blocklist_name *name = at < w->count ? name_of(&w->words[at]) : NULL;
	const struct blocklist_wrapper *wrapper = name ? name_wrapper(name) : NULL;

	return wrapper && wrapper->kind == WRAPPER_CODE;
}

/* deno eval "x", rails runner -e test "x": the word behind the options of subcommand @at. */
static size_t wrapper_code_of(const struct wrapping *w, size_t at)
{
	do {
		at++;
	} while (at + 1 < w->count &&
		 (w->words[at].text.s[0] == '-' || wrapper_is_value(w, at)));
	return at;
}

static void wrapper_read_code(struct wrapping *w)
{
	static const char runners[] =
		" deno bun crystal manage.py django-admin artisan rails wp drush ";
	size_t at = w->args->first_operand, count = w->count - at;
	const struct shell_word *words = w->words + at;
	bool runs = command_in(w->cmd, runners);

	if (wrapper_run_options(w, words, count))
		return;
	if (wrapper_is_runner(w, at))
		wrapper_run_words(w, at);
	if (count > 1 && word_is(words, "run") && command_in(w->cmd, " deno bun crystal "))
		for (words++, count--; count > 1 && words->text.s[0] == '-' &&
				       !word_is_stdin(words); count--)
			words++; /* deno run -A x.ts */
	if (runs && count > 1 && word_in(words, " eval php:eval php-eval ev runner r "))
		wrapper_run_text(w, &w->words[wrapper_code_of(w, at)], words, count);
	else if (runs && count && word_in(words, " shell shell_plus console tinker "))
		input_run(w->cmd, NULL, 0, w->flags, w->out);
	else if (!strtab_get(w->wrapper->text))
		wrapper_read_awk(w, at);
	else if (count && !word_is_stdin(words))
		action_file(w->out, words, NULL, 0, w->flags);
	else if (!args_has(w->args, " -m "))
		input_run(w->cmd, NULL, 0, w->flags, w->out);
}

/* ---- all of them ---- */

static unsigned wrapper_flags(const struct blocklist_wrapper *wrapper, const struct command *cmd)
{
	unsigned flags = 0;

	if (wrapper->kind == WRAPPER_SHELL && command_in(cmd, " bash "))
		flags |= ACTION_BASH;
	if (word_is(&cmd->words[0], "eval"))
		flags |= ACTION_SAME_SHELL;
	if (wrapper->kind == WRAPPER_TEXT || wrapper->remote || wrapper->lenient)
		flags |= ACTION_LENIENT;
	if (wrapper->kind == WRAPPER_CODE)
		flags |= ACTION_FOREIGN | (strtab_get(wrapper->text) ? 0 : ACTION_AWK);
	return flags;
}

/* Does one of its options let it run nothing? Behind python -c CODE they are the code's. */
static bool wrapper_is_inert(const struct wrapping *w)
{
	const char *inert = strtab_get(w->wrapper->inert), *text = strtab_get(w->wrapper->text);
	const struct args_option *first, *code;
	size_t from = 0;

	first = inert ? args_next(w->args, inert, &from) : NULL;
	from = 0;
	code = first && text ? args_next(w->args, text, &from) : NULL;
	return first && (!code || !code->value || first < code);
}

static void wrapper_read_kind(struct wrapping *w)
{
	static void (*const by_kind[])(struct wrapping *) = {
		[WRAPPER_RUN] = wrapper_read_run,   [WRAPPER_SHELL] = wrapper_read_shell,
		[WRAPPER_TEXT] = wrapper_read_text, [WRAPPER_OPTION] = wrapper_read_option,
		[WRAPPER_SCAN] = wrapper_read_scan, [WRAPPER_CODE] = wrapper_read_code,
	};
	const struct blocklist_wrapper *wrapper = w->wrapper;

	if (wrapper->multicall) {
		wrapper_read_multicall(w);
		return;
	}
	wrapper_run_chain(w);
	args_read(w->args, w->words, w->count, strtab_get(wrapper->values),
		  wrapper->kind != WRAPPER_OPTION &&
			  !(wrapper->kind == WRAPPER_CODE && wrapper->skip));
	if (!wrapper_is_inert(w))
		by_kind[wrapper->kind](w);
}

/* Where what it runs is, as flags. */
static unsigned wrapper_where(const struct wrapping *w)
{
	if (w->wrapper->remote || command_in(w->cmd, " nsenter "))
		return ACTION_HOST;
	/* ip vrf exec runs in the network of the machine. */
	return command_in(w->cmd, " ip ") && words_have(w->words, w->count, " netns ")
	       ? ACTION_NETNS : 0;
}

void wrapper_read(const struct blocklist_wrapper *wrapper, const struct command *cmd,
		  struct action_list *out)
{
	struct wrapping w = { .wrapper = wrapper, .cmd = cmd, .words = cmd->words,
			      .count = cmd->count, .args = out->args, .out = out,
			      .flags = wrapper_flags(wrapper, cmd) };

	/* command cd and builtin cd change the shell's own directory. */
	out->keeps_directory = word_in(&cmd->words[0], " command builtin ");
	wrapper_read_kind(&w);
	for (size_t i = 0; i < out->count; i++)
		out->list[i].flags |= wrapper_where(&w);
	surroundings_assigns(w.assigns, w.assign_count, out);
	for (size_t i = 0; i < out->count && w.assign_count; i++) {
		out->list[i].assigns = w.assigns;
		out->list[i].assign_count = w.assign_count;
	}
}
