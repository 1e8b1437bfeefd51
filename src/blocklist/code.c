/*
 * The text becomes tokens: strings, names, single characters. A name that means
 * something, followed by its arguments, is a call.
 */
#include "blocklist/code.h"

#include <string.h>

#include "blocklist/args.h"
#include "blocklist/code_reader.h"

/* Tokens that are looked at for one text, and blocks of bytes that are put together. */
#define STEPS_MAX 60000

void code_add_call(struct code_reader *r, struct blocklist_code_call call)
{
	if (r->call_count == r->call_room) {
		struct blocklist_code_call *old = r->calls;

		r->call_room = r->call_room ? r->call_room * 2 : 8;
		r->calls = shell_alloc(r->t.arena, r->call_room * sizeof(*old));
		if (r->call_count)
			memcpy(r->calls, old, r->call_count * sizeof(*old));
	}
	r->calls[r->call_count++] = call;
}

/* False: too much was looked at. */
bool code_step(struct code_reader *r, size_t steps)
{
	r->steps += steps;
	if (r->steps <= STEPS_MAX)
		return true;
	shell_arena_exhaust(r->t.arena);
	return false;
}

void code_add_effect(struct code_reader *r, const char *effect, const struct shell_word *word)
{
	struct shell_word *copy = shell_alloc(r->t.arena, sizeof(*copy));

	*copy = *word;
	code_add_call(r, (struct blocklist_code_call){ CODE_EFFECT, effect, copy, 1 });
}

void code_found(struct code_reader *r, const char *effect)
{
	code_add_call(r, (struct blocklist_code_call){ CODE_FOUND, effect, NULL, 0 });
}

/* ---- calls ---- */

static const char removes_tree[] =
	" rmtree remove_tree rm_rf rm_r rmSync rm rmdirSync removeSync RemoveAll remove_dir_all "
	"rimraf emptyDirSync emptyDir remove_entry_secure remove_entry deltree delTree ";
static const char removes[] = " unlink remove unlinkSync removedirs delete rm_f safe_unlink ";
static const char moves[] = " rename renameSync move replace mv copyout ";
static const char writes[] =
	" open fopen writeFileSync writeFile appendFileSync appendFile "
	"file_put_contents write_text write_bytes truncate truncateSync File IO "
	"createWriteStream copyfile copy copy2 copyFileSync cp copyFile sysopen "
	"writeTextFile copyfileobj writelines ";
static const char modes_tree[] = " chmod_R chown_R ";

/* os.kill(-1, 9), kill 9, -1, process.kill(1) */
static void read_kill(struct code_reader *r, size_t i)
{
	const char *s = r->t.text->text.s, *effect = NULL;

	for (size_t k = i + 1; k < r->t.count && k < i + 10 && !code_is_char(&r->t, k, ')') &&
			       !code_is_char(&r->t, k, ';'); k++) {
		bool minus = code_is_char(&r->t, k - 1, '-');

		if (r->t.tokens[k].kind != TOKEN_NAME ||
		    r->t.tokens[k].end - r->t.tokens[k].start != 1 ||
		    s[r->t.tokens[k].start] != '1')
			continue;
		if (minus)
			effect = "kill_all";
		else if (code_is_char(&r->t, k - 1, '(') || code_is_char(&r->t, k - 1, ','))
			effect = "kill_init";
	}
	if (effect)
		code_add_call(r, (struct blocklist_code_call){ CODE_FOUND, effect, NULL, 0 });
}

/* array_map("unlink", ...): the name of a function that is called for each. */
static void read_callback(struct code_reader *r, size_t i)
{
	static const char maps[] = " array_map array_walk call_user_func call_user_func_array ";
	const struct shell_word *w = &r->t.tokens[i].string;

	if (i < 2 || r->t.tokens[i].kind != TOKEN_STRING || !code_token_in(&r->t, i - 2, maps))
		return;
	if (blocklist_listed(removes, w->text.s, w->text.len) || strcmp(w->text.s, "rmdir") == 0)
		code_read_remove(r, i, "remove");
	if (blocklist_listed(code_runs, w->text.s, w->text.len))
		code_read_run(r, i);
}

static void read_token(struct code_reader *r, size_t i)
{
	if (r->t.tokens[i].kind == TOKEN_RUN) {
		r->t.tokens[i].string = code_with_variables(r, &r->t.tokens[i].string);
		code_add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL,
							       &r->t.tokens[i].string, 1 });
		return;
	}
	if (r->awk)
		code_read_awk(r, i);
	code_note_alias(r, i);
	read_callback(r, i);
	code_read_other_runs(r, i);
	if (code_is_quoted_call(r, i))
		code_read_run(r, i + 1);
	if (r->awk && code_token_in(&r->t, i, " system ") && code_is_char(&r->t, i + 1, '(') &&
	    code_is_char(&r->t, i + 2, '$'))
		code_add_call(r, (struct blocklist_code_call){ CODE_INPUT, NULL, NULL, 0 });
	if (r->awk && code_token_in(&r->t, i, " system ") && i + 3 < r->t.count &&
	    r->t.tokens[i + 2].kind == TOKEN_STRING && code_is_char(&r->t, i + 3, '$'))
		code_add_call(r, (struct blocklist_code_call){ CODE_INPUT, NULL,
							       &r->t.tokens[i + 2].string, 1 });
	if (code_token_in(&r->t, i, code_runs) ||
	    (r->alias_count && r->t.tokens[i].kind == TOKEN_NAME && code_renamed(r, i)))
		code_read_run(r, i);
	if (code_token_in(&r->t, i, " exec eval "))
		code_read_eval(r, i);
	if (code_token_in(&r->t, i, removes_tree))
		code_read_remove(r, i, "remove_tree");
	if (code_token_in(&r->t, i, removes))
		code_read_remove(r, i, code_removed);
	if (code_token_in(&r->t, i, moves))
		code_read_remove(r, i, "move");
	if (code_token_in(&r->t, i, " chmod chmodSync ") && i + 1 < r->t.count &&
	    (code_is_char(&r->t, i + 1, '(') || r->t.tokens[i + 1].kind == TOKEN_NAME))
		code_read_remove(r, i, "mode_call");
	if (code_token_in(&r->t, i, modes_tree))
		code_read_remove(r, i, "mode_tree");
	if (code_token_in(&r->t, i, writes) ||
	    (i >= 2 && code_token_in(&r->t, i, " write binwrite ") &&
	     code_token_in(&r->t, i - 2, " File IO "))) {
		code_read_write(r, i);
		if (code_token_in(&r->t, i, " write_text write_bytes truncate write "))
			code_read_method(r, i, "write");
	}
	if (code_token_in(&r->t, i, " kill killpg posix_kill "))
		read_kill(r, i);
}

struct blocklist_code_calls blocklist_code_read(const struct shell_word *text, bool awk,
						struct shell_arena *arena)
{
	struct code_reader r = { .t = { .text = text, .arena = arena }, .awk = awk };

	code_tokenize(&r.t);
	code_note_renames(&r);
	r.trees = code_any_name(&r.t, " recursive directory ");
	r.write_flags = code_any_name(&r.t, " O_WRONLY O_RDWR O_TRUNC ");
	r.codes = code_any_name(&r.t, " chr fromCharCode bytes bytearray pack Char ");
	r.getline = awk && code_any_name(&r.t, " getline ");
	for (size_t i = 1; i < r.t.count; i++) /* ... for x in ["a"]: used before it is named */
		if (code_token_in(&r.t, i, " in "))
			code_note_variable(&r, i - 1);
	for (size_t i = 0; i < r.t.count && code_step(&r, 1); i++) {
		read_token(&r, i);
		code_note_variable(&r, i);
	}
	if (!awk)
		code_read_whole(&r);
	return (struct blocklist_code_calls){ r.calls, r.call_count, r.call_room, r.steps };
}
