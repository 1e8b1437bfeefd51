#include "blocklist/effects/script_decoded.h"

#include "blocklist/effects/script_code.h"
#include "blocklist/effects/script_names.h"

/* Is token @i the name of something that decodes, Buffer.from("...", "base64") too? */
static bool script_decoded_decodes(const struct script_text *t, size_t i)
{
	static const char names[] = " b64decode b32decode a85decode b85decode base64 decode64 "
				    "base64_decode unhexlify fromhex unpack atob decode_base64 "
				    "decompress gzinflate pack rot13 str_rot13 convert_uu hex2bin "
				    "codecs marshal ";

	if (script_token_in(t, i, names))
		return true;
	for (size_t k = i + 1; script_token_in(t, i, " Buffer ") && k < i + 16; k++)
		if (script_string_in(t, k, " base64 hex base64url "))
			return true;
	return false;
}

/* Variables that hold decoded text: c = b64decode("..."), then d = c.decode(). */
struct script_decoded {
	size_t names[SCRIPT_VARIABLES_MAX]; /* tokens */
	size_t count;
};

static bool script_decoded_is_in(const struct script_reader *r, const struct script_decoded *d,
				 size_t from, size_t end)
{
	for (size_t i = from; i < end && i < r->t.count; i++) {
		if (script_decoded_decodes(&r->t, i))
			return true;
		for (size_t k = 0; r->t.tokens[i].kind == TOKEN_NAME && k < d->count; k++)
			if (script_same_text(&r->t, d->names[k], i))
				return true;
	}
	return false;
}

/* Note the names that the = or in at token @i gives a value: c, d = x; my ($c) = x; c: str = x;
 * d["c"] += x; for c in x. */
static void script_decoded_note(const struct script_reader *r, size_t i, struct script_decoded *d)
{
	for (size_t k = i; k-- > 0 && i - k < 12 && d->count < SCRIPT_VARIABLES_MAX;) {
		const struct script_token *t = &r->t.tokens[k];

		if (script_is_char(&r->t, k, ';') || script_is_char(&r->t, k, '{') ||
		    script_new_line(&r->t, k + 1))
			return;
		if (t->kind == TOKEN_NAME && (k + 1 == i || t[1].kind != TOKEN_NAME) &&
		    !script_is_char(&r->t, k + 1, '$') && !script_is_char(&r->t, k + 1, '('))
			d->names[d->count++] = k;
	}
}

static bool script_decoded_is_set(const struct script_text *t, size_t i)
{
	if (script_token_in(t, i, " in of "))
		return true;
	return i && script_is_char(t, i, '=') && !script_is_char(t, i + 1, '=') &&
	       !script_is_char(t, i + 1, '>') && !script_is_char(t, i - 1, '=') &&
	       !script_is_char(t, i - 1, '!');
}

/* c = b64decode("..."), import b64decode as d */
static bool script_decoded_find(struct script_reader *r, struct script_decoded *d)
{
	for (size_t i = 1; i < r->t.count && d->count < SCRIPT_VARIABLES_MAX; i++) {
		size_t end;

		if (i + 1 < r->t.count && script_token_in(&r->t, i, " as ") &&
		    script_decoded_decodes(&r->t, i - 1))
			d->names[d->count++] = i + 1;
		if (!script_decoded_is_set(&r->t, i))
			continue;
		end = script_statement_end(&r->t, i);
		if (!script_step(r, (end - i) * (2 + d->count)))
			return false;
		if (script_decoded_is_in(r, d, i + 1, end))
			script_decoded_note(r, i, d);
	}
	return true;
}

/* c.exec(x) behind c = require("child_process") */
static bool script_decoded_is_of_child_process(const struct script_reader *r, size_t i)
{
	for (size_t k = 4; i >= 2 && script_is_char(&r->t, i - 1, '.') && k < r->t.count; k++)
		if (script_is_module(&r->t, k, " child_process node:child_process ") &&
		    script_same_text(&r->t, k - 4, i - 2))
			return true;
	return false;
}

static bool script_decoded_is_run(struct script_reader *r, size_t i)
{
	const char *effect;

	if (script_token_in(&r->t, i, " exec "))
		return script_is_function(&r->t, i) || (script_step(r, r->t.count / 8) &&
						    script_decoded_is_of_child_process(r, i));
	return script_token_in(&r->t, i, script_sure_runs) ||
	       (script_is_char(&r->t, i + 1, '(') && script_renamed(r, i, &effect) && !effect);
}

/* os.system(b64decode("...")), also by way of variables, which a function may use before they are
 * set */
static bool script_decoded_runs(struct script_reader *r)
{
	struct script_decoded d = { .count = 0 };

	if (!script_decoded_find(r, &d))
		return false;
	for (size_t i = 0; i < r->t.count && script_step(r, 1); i++) {
		size_t end;

		if (!script_decoded_is_run(r, i))
			continue;
		end = script_statement_end(&r->t, i);
		if (!script_step(r, (end - i) * (2 + d.count)))
			return false;
		if (script_decoded_is_in(r, &d, i + 1, end))
			return true;
	}
	return false;
}

bool script_runs_decoded(struct script_reader *r, bool runs_code)
{
	return script_any(&r->t, script_decoded_decodes) && (runs_code || script_decoded_runs(r));
}
