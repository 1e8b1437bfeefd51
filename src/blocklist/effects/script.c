#include "blocklist/effects/script.h"

#include <string.h>

#include "blocklist/effects/script_awk.h"
#include "blocklist/effects/script_code.h"
#include "blocklist/effects/script_decoded.h"
#include "blocklist/effects/script_files.h"
#include "blocklist/effects/script_functions.h"
#include "blocklist/effects/script_names.h"
#include "blocklist/effects/script_network.h"
#include "blocklist/effects/script_processes.h"
#include "blocklist/effects/script_run.h"

/* Steps of the budget for a text. */
#define WORK_TEXT 400u

/* array_map("unlink", ...) calls unlink for each. */
static void script_read_callback(struct script_reader *r, size_t i)
{
	static const char maps[] = " array_map array_walk call_user_func call_user_func_array ";

	if (!script_token_in(&r->t, i - 2, maps))
		return;
	if (script_string_in(&r->t, i, script_removes) || script_string_in(&r->t, i, " rmdir "))
		script_read_remove(r, i, "remove");
	if (script_string_in(&r->t, i, script_runs))
		script_read_run(r, i);
}

static void script_read_renamed(struct script_reader *r, size_t i)
{
	const char *effect;

	if (!script_renamed(r, i, &effect))
		return;
	if (effect && script_is_char(&r->t, i + 1, '(')) /* r'...' is a string */
		script_read_remove(r, i, effect);
	else if (!effect && !script_token_in(&r->t, i, script_runs))
		script_read_run(r, i);
}

/* What the call at token @i touches is reported with that call, not with the whole text. */
static void script_name_call(struct script_reader *r, size_t first, size_t i)
{
	uint32_t start, end;

	if (first == r->out->count || !script_step(r, 2))
		return;
	script_statement_place(&r->t, i, &start, &end);
	for (struct action *a = r->out->list + first; a < r->out->list + r->out->count; a++)
		if (a->kind == ACTION_TOUCH || a->kind == ACTION_FOUND || a->kind == ACTION_FLOW) {
			a->start = start;
			a->end = end;
		}
}

/* def run(cmd):, function exec(cmd) { */
static bool script_is_definition(const struct script_text *t, size_t i)
{
	return script_is_char(t, i + 1, '(') && script_token_in(t, i - 1, " def function func ");
}

static void script_read_token(struct script_reader *r, size_t i)
{
	size_t first = r->out->count;

	if (script_is_definition(&r->t, i))
		return;
	if (r->t.tokens[i].kind == TOKEN_RUN) {
		r->t.tokens[i].string = script_with_variables(r, &r->t.tokens[i].string);
		action_text(r->out, &r->t.tokens[i].string, ACTION_LENIENT);
		return;
	}
	if (r->awk)
		script_read_awk(r, i);
	script_note_alias(r, i);
	script_read_callback(r, i);
	script_read_renamed(r, i);
	script_read_runs(r, i);
	script_read_files(r, i);
	script_read_kill(r, i);
	script_name_call(r, first, i);
}

/* Names that together mean harm, wherever in the text they are. */
static void script_read_names(struct script_reader *r)
{
	bool runs_code = script_any(&r->t, script_runs_code);

	if (script_is_fork_bomb(r))
		action_found(r->out, "process.fork_bomb", r->t.text, 1);
	if (script_is_remote_shell(&r->t) || (runs_code && script_any(&r->t, script_fetches)))
		action_found(r->out, "pipe.remote", r->t.text, 1);
	if (script_runs_decoded(r, runs_code))
		action_found(r->out, "pipe.decoded", r->t.text, 1);
}

/* ctypes.CDLL(None).reboot(0x4321fedc) */
static void script_read_library_calls(struct script_reader *r)
{
	static const uint8_t kind[6];
	struct shell_word *word;

	if (!script_any_name(&r->t, " CDLL cdll PyDLL LoadLibrary dlopen ") ||
	    !script_any_name(&r->t, " reboot "))
		return;
	word = shell_alloc(r->t.arena, sizeof(*word));
	*word = (struct shell_word){ .text = { .s = "reboot", .len = 6 }, .kind = kind,
				     .start = r->t.text->start, .end = r->t.text->end };
	action_words(r->out, word, 1, ACTION_LENIENT);
}

void script_read(const struct shell_word *text, bool awk, const struct place *at,
		 struct action_list *out)
{
	struct script_reader r = { .t = { .text = text, .arena = out->arena }, .awk = awk,
				 .at = at, .out = out };

	if (!action_charge(out, WORK_TEXT + text->text.len))
		return;
	script_tokenize(&r.t);
	script_note_renames(&r);
	r.trees = script_any_name(&r.t, " recursive directory ") ||
		  strstr(text->text.s, "fs-extra");
	r.write_flags = script_any_name(&r.t, " O_WRONLY O_RDWR O_TRUNC ");
	r.codes = script_any_name(&r.t, " chr fromCharCode bytes bytearray pack Char ");
	r.getline = awk && script_any_name(&r.t, " getline ");
	for (size_t i = 1; i < r.t.count; i++) /* f(x) for x in ["a"]: used before assigned */
		if (script_token_in(&r.t, i, " in of ")) {
			r.ahead = i > 2 && !script_new_line(&r.t, i - 2);
			script_note_variable(&r, i - 1);
			script_note_processes(&r, i - 1);
		}
	r.ahead = false;
	script_note_functions(&r);
	for (size_t i = 0; i < r.t.count && script_step(&r, 1); i++) {
		script_enter_function(&r, i);
		script_read_token(&r, i);
		script_note_variable(&r, i);
		if (script_token_in(&r.t, i + 1, " in of "))
			script_note_processes(&r, i);
	}
	if (awk)
		return;
	script_read_library_calls(&r);
	script_read_names(&r);
}
