/*
 * libFuzzer target: lexer, parser, expansion and verdict on any bytes. Up to a NUL the
 * command, behind it stdin. Besides the sanitizers it checks the promises of a script.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "blocklist/blocklist.h"
#include "shell/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const struct shell_word *w, size_t len)
{
	BUG_IF(w->text.s[w->text.len] != '\0');
	for (size_t i = 0; i < w->text.len; i++) {
		BUG_IF(w->kind[i] > SHELL_UNKNOWN_FIELDS);
		BUG_IF(w->text.at && w->text.at[i] > len);
		BUG_IF(w->kind[i] == SHELL_TILDE && w->text.s[i] != '~');
	}
	for (uint32_t i = 0; i < w->unknown_count; i++)
		BUG_IF(!w->unknowns[i].name || w->unknowns[i].index >= w->text.len);
}

static void check_command(const struct shell_script *s, const struct shell_command *c, size_t len)
{
	BUG_IF(c->start > c->end || c->end > len);
	BUG_IF(c->parent != SHELL_NONE && c->parent >= s->command_count);
	BUG_IF(c->piped_from != SHELL_NONE && c->piped_from >= s->command_count);
	for (size_t i = 0; i < c->word_count; i++)
		check_word(&c->words[i], len);
	for (size_t i = 0; i < c->assign_count; i++)
		check_word(&c->assigns[i].value, len);
	for (size_t i = 0; i < c->redirect_count; i++)
		check_word(&c->redirects[i].target, len);
	if (c->input)
		check_word(c->input, len);
}

static void parse(const char *text, size_t len)
{
	struct shell_budget budget = SHELL_BUDGET_INIT;
	struct shell_text all = { .s = text, .len = len };
	struct shell_script script;

	shell_parse_with(&all, NULL, &budget, &script);
	BUG_IF(script.trouble != SHELL_FINE && !script.trouble_text);
	for (size_t i = 0; i < script.command_count; i++)
		check_command(&script, &script.commands[i], len);
	for (size_t i = 0; i < script.function_count; i++)
		BUG_IF(script.functions[i].last > script.command_count);
	shell_script_free(&script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = mem_strndup((const char *)data, size);
	size_t len = strlen(text);
	struct blocklist_verdict v;
	struct blocklist_input in = {
		.command = text,
		.stdin_bytes = len < size ? (const char *)data + len + 1 : NULL,
		.stdin_len = len < size ? size - len - 1 : 0,
	};

	parse((const char *)data, size);
	parse(text, len);
	blocklist_judge(&in, &v);
	BUG_IF(v.blocked && !v.rule);
	BUG_IF(v.has_span && (v.start > v.end || v.end > len));
	return 0;
}
