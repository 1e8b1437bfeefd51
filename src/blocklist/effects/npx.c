/*
 * npx, npm exec, pnpm, yarn, bunx: programs of packages, by name and version; rimraf and del-cli,
 * which expand patterns by themselves.
 */
#include "blocklist/effects/readers.h"

#include "blocklist/command/names.h"
#include "blocklist/command/word.h"

/* They run nothing but programs. */
static const char npx_runners[] = " npx pnpx bunx ";

/* Options before the program that take a value. */
static const char npx_values[] =
	" -p --package -C --dir --prefix -F --filter --workspace --cwd --registry --userconfig "
	"--cache --loglevel --script-shell --node-options --node-arg ";

/* The first word from @i on that is neither an option nor the value of one. */
static size_t npx_operand(const struct command *cmd, size_t i)
{
	bool pnpm = command_in(cmd, " pnpm "); /* its -w is the root of all workspaces */

	while (i < cmd->count && cmd->words[i].text.s[0] == '-')
		i += 1 + (word_in(&cmd->words[i], npx_values) ||
			  (!pnpm && word_is(&cmd->words[i], "-w")));
	return i;
}

/* Where the program stands; cmd->count: nowhere. */
static size_t npx_program(const struct command *cmd)
{
	static const char direct[] = " rimraf del-cli shx concurrently nodemon ";
	bool runs_bins = command_in(cmd, " pnpm yarn ");
	size_t i = npx_operand(cmd, 1);

	if (command_in(cmd, npx_runners) || i >= cmd->count)
		return i;
	if (word_in(&cmd->words[i], " exec dlx x "))
		return npx_operand(cmd, i + 1);
	if (word_is(&cmd->words[i], "explore")) /* npm explore PACKAGE -- CMD */
		return npx_operand(cmd, npx_operand(cmd, i + 1) + 1);
	/* They run scripts of the project, too: only names that hardly are one count. */
	if (runs_bins && word_is(&cmd->words[i], "run"))
		i = npx_operand(cmd, i + 1);
	return runs_bins && i < cmd->count && word_in(&cmd->words[i], direct) ? i : cmd->count;
}

/* NAME of NAME@VERSION. */
static struct shell_word npx_name(const struct shell_word *word, struct shell_arena *arena)
{
	const char *at = memchr(word->text.s, '@', word->text.len);

	return at && at > word->text.s ? word_slice(word, 0, (size_t)(at - word->text.s), arena)
				       : *word;
}

/* npx with-env -- CMD: a package whose name is unknown may run what stands behind a --. */
static void npx_add_behind(const struct shell_word *words, size_t count, struct action_list *out)
{
	for (size_t i = 1; i + 1 < count; i++)
		if (word_is(&words[i], "--")) {
			action_words(out, words + i + 1, count - i - 1, 0);
			return;
		}
}

void read_npx(const struct command *cmd, struct action_list *out)
{
	size_t i = npx_program(cmd), count = i < cmd->count ? cmd->count - i : 0;
	struct shell_word *words;

	if (!count)
		return;
	words = shell_alloc(out->arena, count * sizeof(*words));
	memcpy(words, cmd->words + i, count * sizeof(*words));
	words[0] = npx_name(&words[0], out->arena);
	action_words(out, words, count, 0);
	if (!name_of(&words[0]))
		npx_add_behind(words, count, out);
}

/* Quoted, so that not the shell expands it: rimraf "$HOME/ *" without the space. */
void read_rimraf(const struct command *cmd, struct action_list *out)
{
	for (size_t i = 1; i < cmd->count; i++) {
		struct shell_word word = cmd->words[i];
		uint8_t *kind;
		size_t globs = 0;

		if (word.text.s[0] == '-' || !action_charge(out, word.text.len))
			continue;
		kind = shell_alloc(out->arena, word.text.len + 1);
		for (size_t k = 0; k < word.text.len; k++) {
			bool glob = word.kind[k] == SHELL_LITERAL && strchr("*?[", word.text.s[k]);

			kind[k] = glob ? SHELL_GLOB : word.kind[k];
			globs += glob;
		}
		word.kind = kind;
		word.start = cmd->words[0].start;
		word.end = cmd->words[cmd->count - 1].end;
		if (globs)
			action_touch(out, "remove_tree", &word);
	}
}
