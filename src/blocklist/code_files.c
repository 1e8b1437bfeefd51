/* Calls that remove, write or change files, and the places that a loop of the text lists. */
#include "blocklist/code_reader.h"

#include <string.h>

#include "blocklist/code.h"
#include "blocklist/wrap.h"

/* ---- writing ---- */

/* "w", "wb", "r+", ">", "a": the argument of open() that lets it write. */
static bool is_write_mode(const struct shell_word *w)
{
	const char *s = w->text.s;

	return w->text.len <= 6 && (strpbrk(s, "wa+>x") != NULL) &&
	       strspn(s, "rwabtx+> <:utf8") == w->text.len;
}

static bool calls_open(const struct code_reader *r, size_t i)
{
	return code_token_in(&r->t, i, " open fopen sysopen File IO ");
}

/* open(F, ">/dev/sda"): the path behind the sign. */
static void write_by_sign(struct code_reader *r, const struct shell_word *w)
{
	size_t skip = strspn(w->text.s, "+> ");
	struct shell_word path;

	if (!skip || w->text.s[0] == ' ' || skip == w->text.len)
		return;
	path = shell_wrap_slice(w, skip, w->text.len, r->t.arena);
	code_add_effect(r, "write", &path);
}

/* open(F, "|cmd") and open(F, "cmd|") of Perl. */
static void run_by_sign(struct code_reader *r, const struct shell_word *w)
{
	size_t len = w->text.len;
	struct shell_word *text;

	if (len < 2 || (w->text.s[0] != '|' && w->text.s[len - 1] != '|'))
		return;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = shell_wrap_slice(w, w->text.s[0] == '|', len - (w->text.s[len - 1] == '|'),
				 r->t.arena);
	code_add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL, text, 1 });
}

void code_read_write(struct code_reader *r, size_t i)
{
	struct code_args a;
	bool mode = !calls_open(r, i);

	bool copies = code_token_in(&r->t, i,
				    " copyfile copy copy2 copyFileSync cp copyFile copyfileobj ");

	code_read_args(r, i + 1, &a);
	mode |= r->write_flags;
	for (size_t k = a.count < 2; k < a.count; k++)
		mode |= is_write_mode(&a.words[k]);
	for (size_t k = copies && a.count ? a.count - 1 : 0; k < a.count; k++) {
		if (calls_open(r, i)) {
			write_by_sign(r, &a.words[k]);
			run_by_sign(r, &a.words[k]);
		}
		if (mode)
			code_add_effect(r, "write", &a.words[k]);
	}
}

/* ---- removing and changing ---- */

/* Path("/etc/passwd").write_text(...), Path("/x").unlink(): the string is before the call. */
void code_read_method(struct code_reader *r, size_t i, const char *effect)
{
	if (i >= 3 && code_is_char(&r->t, i - 1, '.') && code_is_char(&r->t, i - 2, ')') &&
	    r->t.tokens[i - 3].kind == TOKEN_STRING)
		code_add_effect(r, effect, &r->t.tokens[i - 3].string);
}

/* Strings given to glob(), and to what may glob itself. */
static void mark_globs(struct code_reader *r, struct shell_word *w)
{
	uint8_t *kind = shell_alloc(r->t.arena, w->text.len + 1);

	memcpy(kind, w->kind, w->text.len);
	for (size_t i = 0; i < w->text.len; i++)
		if (strchr("*?[]", w->text.s[i]) && kind[i] == SHELL_LITERAL)
			kind[i] = SHELL_GLOB;
	w->kind = kind;
}

/* Places that a loop of the text lists: glob("/ *"), listdir("/"), os.walk("/"), Dir["/ *"]. */
static void add_listed(struct code_reader *r, const char *effect)
{
	static const char lists[] = " glob iglob Dir readdir opendir globSync ";
	static const char walks[] =
		" walk listdir scandir readdirSync rglob iterdir find finddepth "
		"children entries rii ";

	for (size_t i = 0; i < r->t.count; i++) {
		bool globs = code_token_in(&r->t, i, lists);
		struct code_args a;

		if (!globs && !code_token_in(&r->t, i, walks))
			continue;
		code_read_args(r, i + 1, &a);
		if (i >= 3)
			code_read_method(r, i, effect);
		for (size_t k = 0; k < a.count; k++) {
			if (globs)
				mark_globs(r, &a.words[k]);
			code_add_effect(r, effect, &a.words[k]);
		}
	}
}

const char code_removed[] = "remove";

void code_read_remove(struct code_reader *r, size_t i, const char *effect)
{
	struct code_args a;
	bool removes_it = strcmp(effect, "mode_call") != 0;

	code_read_args(r, i + 1, &a);
	if (effect == code_removed &&
	    (r->trees || (a.count > 1 && strcmp(a.words[1].text.s, "rf") == 0))) /* of vim */
		effect = "remove_tree";
	for (size_t k = 0; k < a.count; k++) {
		mark_globs(r, &a.words[k]);
		code_add_effect(r, effect, &a.words[k]);
	}
	code_read_method(r, i, effect);
	if (!a.count && !r->listed[removes_it]) {
		add_listed(r, removes_it ? "remove_tree" : effect);
		code_add_call(r, (struct blocklist_code_call){ CODE_EACH, effect, NULL, 0 });
	}
	r->listed[removes_it] |= !a.count;
}
