/*
 * The text becomes tokens: strings, names, single characters. A name that means
 * something, followed by its arguments, is a call. Arguments are the constant
 * strings up to the end of the bracket or of the statement; strings joined by +, .
 * or nothing are one; anything else beside them makes them partly unknown.
 */
#include "guard/blocklist_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "guard/blocklist_args.h"
#include "guard/blocklist_code_text.h"
#include "guard/shell_wrap.h"

#define ARGS_MAX 64
#define ARGUMENT_TOKENS_MAX 512
#define VARIABLES_MAX 32
#define ALIASES_MAX 64
/* Tokens that are looked at for one text, and blocks of bytes that are put together. */
#define STEPS_MAX 60000
#define STEP_BYTES 16
#define CONSTANT_PIECES_MAX 64

struct reader {
	struct code_text t;
	bool awk;
	bool trees;   /* what is removed is removed with all below it */
	bool write_flags; /* a flag to open for writing is named */
	bool getline; /* of awk: something is read by it */
	bool codes; /* characters are made of numbers */
	bool listed[2]; /* add_listed() was here: to change modes, to remove */
	struct { size_t start, len; struct shell_word value; } variables[VARIABLES_MAX];
	size_t variable_count;
	size_t aliases[ALIASES_MAX]; /* tokens: names that were given a call */
	size_t alias_count;
	struct blocklist_code_calls calls;
};

static void add_call(struct reader *r, struct blocklist_code_call call)
{
	if (r->calls.count == r->calls.room) {
		struct blocklist_code_call *old = r->calls.list;

		r->calls.room = r->calls.room ? r->calls.room * 2 : 8;
		r->calls.list = shell_alloc(r->t.arena, r->calls.room * sizeof(*old));
		if (r->calls.count)
			memcpy(r->calls.list, old, r->calls.count * sizeof(*old));
	}
	r->calls.list[r->calls.count++] = call;
}

/* False: too much was looked at. */
static bool step(struct reader *r, size_t steps)
{
	r->calls.steps += steps;
	if (r->calls.steps <= STEPS_MAX)
		return true;
	shell_arena_exhaust(r->t.arena);
	return false;
}

/* ---- arguments ---- */

struct arguments {
	struct shell_word words[ARGS_MAX]; /* constant strings, and names of homes as ~ */
	bool joined[ARGS_MAX]; /* something unknown stands beside it in the same argument */
	size_t count;
	bool array;   /* in brackets of its own: words of a command */
	bool unknown; /* an argument that is no string */
	bool format;  /* behind the operator % */
	size_t end;   /* token behind them */
};

static struct shell_word one_char(struct reader *r, char c, uint8_t kind, size_t at)
{
	char *s = shell_copy(r->t.arena, &c, 1);
	uint8_t *kinds = shell_alloc(r->t.arena, 2);
	uint32_t *where = shell_alloc(r->t.arena, 2 * sizeof(*where));

	kinds[0] = kind;
	where[0] = r->t.text->text.at ? r->t.text->text.at[at] : (uint32_t)at;
	return (struct shell_word){ .text = { .s = s, .at = where, .len = 1 }, .kind = kinds,
				    .start = r->t.text->start, .end = r->t.text->end };
}

static const struct shell_word *variable(const struct reader *r, size_t i)
{
	const struct code_token *t = &r->t.tokens[i];

	for (size_t k = r->variable_count; k-- > 0;)
		if (r->variables[k].len == t->end - t->start &&
		    memcmp(r->t.text->text.s + r->variables[k].start, r->t.text->text.s + t->start,
			   t->end - t->start) == 0)
			return &r->variables[k].value;
	return NULL;
}

static void append(struct reader *r, struct arguments *a, const struct shell_word *piece, bool join)
{
	struct shell_word two[2], joined;
	size_t before = a->count ? a->words[a->count - 1].text.len : 0;

	if (!step(r, (before + piece->text.len) / STEP_BYTES))
		return;
	if (a->format && a->count) { /* "rm %s" % "/", "rm {}".format("/") */
		a->words[a->count - 1] = shell_wrap_replace(&a->words[a->count - 1], "%s", 2, piece,
							    r->t.arena);
		if (!step(r, a->words[a->count - 1].text.len / STEP_BYTES))
			return;
		a->words[a->count - 1] = shell_wrap_replace(&a->words[a->count - 1], "{}", 2, piece,
							    r->t.arena);
	} else if (join && a->count) {
		two[0] = a->words[a->count - 1];
		two[1] = *piece;
		joined = shell_wrap_join(two, 2, r->t.arena);
		/* Without the space between: the first, then the second in its place. */
		joined = shell_wrap_slice(&joined, 0, two[0].text.len, r->t.arena);
		two[0] = one_char(r, '\1', SHELL_LITERAL, 0);
		two[0] = shell_wrap_join((struct shell_word[]){ joined, two[0] }, 2, r->t.arena);
		joined = shell_wrap_replace(&two[0], " \1", 2, piece, r->t.arena);
		a->words[a->count - 1] = joined;
	} else if (a->count < ARGS_MAX) {
		a->words[a->count++] = *piece;
	}
}

/* "rm -rf $x", "rm -rf #{x}" and f"rm -rf {x}", where x was given a constant before. */
static struct shell_word with_variables(struct reader *r, const struct shell_word *word)
{
	static const char *const forms[][2] = {
		{ "$", "" }, { "#{", "}" }, { "${", "}" }, { "{", "}" }
	};
	struct shell_word out = *word;

	for (size_t v = 0; v < r->variable_count; v++) {
		const char *name = r->t.text->text.s + r->variables[v].start;
		char *old = shell_alloc(r->t.arena, r->variables[v].len + 4);

		if (!step(r, 1 + out.text.len / STEP_BYTES))
			break;
		sprintf(old, "%.*s", (int)r->variables[v].len, name);
		if (!strstr(out.text.s, old))
			continue;
		for (size_t k = 0; k < COUNT_OF(forms) && step(r, out.text.len / STEP_BYTES);
		     k++) {
			sprintf(old, "%s%.*s%s", forms[k][0], (int)r->variables[v].len, name,
				forms[k][1]);
			if (strstr(out.text.s, old))
				out = shell_wrap_replace(&out, old, strlen(old),
							 &r->variables[v].value, r->t.arena);
		}
	}
	return out;
}

static const char homes[] = " HOME home homedir expanduser_home HOMEPATH ";
static const char silent[] =
	" r b u f rb br String os path Path pathlib join expanduser ENV environ "
	"process env File fs require shell True False true false capture_output "
	"check text stdout stderr PIPE subprocess recursive force ignore_errors "
	"qw q qq m s exit and or not map chr bytes bytearray list decode encode "
	"escapeshellarg escapeshellcmd shlex quote str String strval fromCharCode apply sh";

/* Does this argument go on with another piece: + . or a slash of Path? */
static bool joins(const struct reader *r, size_t i)
{
	return code_is_char(&r->t, i, '+') || code_is_char(&r->t, i, '.') ||
	       (code_is_char(&r->t, i, '/') && i);
}

/* A name among the arguments: a constant of the text, a home, or something unknown. */
static void take_name(struct reader *r, struct arguments *a, size_t i, bool join)
{
	const struct shell_word *value = variable(r, i);
	struct shell_word piece;

	if (value) {
		append(r, a, value, join);
	} else if (code_token_in(&r->t, i, homes)) {
		piece = one_char(r, '~', SHELL_TILDE, r->t.tokens[i].start);
		append(r, a, &piece, join);
	} else if (!code_token_in(&r->t, i, silent) &&
		   !(r->t.text->text.s[r->t.tokens[i].start] <= '9' &&
		     r->t.text->text.s[r->t.tokens[i].start] >= '0')) {
		a->unknown = true;
		if (join && a->count) {
			piece = one_char(r, '?', SHELL_UNKNOWN, r->t.tokens[i].start);
			append(r, a, &piece, true);
		}
	}
}

/* chr(47), String.fromCharCode(47): 0 if token @i begins no such call. */
static char character(const struct reader *r, size_t i)
{
	long code;

	if (!code_token_in(&r->t, i, " chr Chr fromCharCode ") ||
	    !code_is_char(&r->t, i + 1, '(') ||
	    i + 3 >= r->t.count || r->t.tokens[i + 2].kind != TOKEN_NAME ||
	    !code_is_char(&r->t, i + 3, ')'))
		return 0;
	code = strtol(r->t.text->text.s + r->t.tokens[i + 2].start, NULL, 0);
	return code > 0 && code < 127 ? (char)code : 0;
}

/* [104,97,108,116]: the characters of these numbers; *@end: the token behind them. */
static bool characters(struct reader *r, size_t i, struct shell_word *out, size_t *end)
{
	char *s = shell_alloc(r->t.arena, ARGS_MAX + 1);
	uint32_t *where = shell_alloc(r->t.arena, (ARGS_MAX + 1) * sizeof(*where));
	size_t n = 0;

	for (; i < r->t.count && n < ARGS_MAX && r->t.tokens[i].kind == TOKEN_NAME; i += 2) {
		char *rest;
		long code = strtol(r->t.text->text.s + r->t.tokens[i].start, &rest, 0);

		if (code < 9 || code > 126 ||
		    rest != r->t.text->text.s + r->t.tokens[i].end)
			break;
		where[n] = r->t.text->text.at ? r->t.text->text.at[r->t.tokens[i].start] : 0;
		s[n++] = (char)code;
		*end = i + 1;
		if (!code_is_char(&r->t, i + 1, ','))
			break;
	}
	*out = (struct shell_word){ .text = { .s = s, .at = where, .len = n },
				    .kind = shell_alloc(r->t.arena, n + 1),
				    .start = r->t.text->start, .end = r->t.text->end };
	return n > 2;
}

/* "ffo"[::-1] */
static bool reverses(const struct reader *r, size_t i)
{
	const struct code_token *t = &r->t.tokens[i];

	return t->end + 5 <= r->t.text->text.len && i && r->t.tokens[i - 1].kind == TOKEN_STRING &&
	       strncmp(r->t.text->text.s + t->start, "[::-1]", 6) == 0;
}

static void reverse_last(struct reader *r, struct arguments *a)
{
	struct shell_word *w = &a->words[a->count - 1];
	size_t len = w->text.len;
	char *s = shell_copy(r->t.arena, w->text.s, len);
	uint8_t *kind = shell_alloc(r->t.arena, len + 1);

	if (!step(r, len / STEP_BYTES))
		return;
	for (size_t k = 0; k < len; k++) {
		s[k] = w->text.s[len - 1 - k];
		kind[k] = w->kind[len - 1 - k];
	}
	w->text.s = s;
	w->kind = kind;
}

/* Functions whose result is their argument, as far as it matters here. */
static const char quoters[] = " escapeshellarg escapeshellcmd quote str String strval ";

/* The strings from token @i on, to the end of the bracket or of the statement. */
static void read_arguments(struct reader *r, size_t i, struct arguments *a)
{
	size_t depth = 0, behind;
	struct shell_word codes;
	bool join = false;

	memset(a, 0, sizeof(*a));
	for (size_t last = i + ARGUMENT_TOKENS_MAX; i < r->t.count && i < last && step(r, 1);
	     i++) {
		const struct code_token *t = &r->t.tokens[i];
		char c = t->kind == TOKEN_OTHER ? r->t.text->text.s[t->start] : 0;

		if (character(r, i)) {
			struct shell_word piece =
				one_char(r, character(r, i), SHELL_LITERAL, t->start);

			append(r, a, &piece, join);
			join = joins(r, i + 4);
			i += 3;
			continue;
		} else if (r->codes && t->kind == TOKEN_NAME &&
			   strchr("0123456789", r->t.text->text.s[t->start]) && step(r, 8) &&
			   characters(r, i, &codes, &behind)) {
			append(r, a, &codes, join);
			i = behind - 1;
		} else if (c == '.' && a->count && code_token_in(&r->t, i + 1, " reverse ")) {
			reverse_last(r, a);
			i++;
			join = false;
			continue;
		} else if (c == '[' && a->count && reverses(r, i)) {
			reverse_last(r, a);
			i += 5;
		} else if (c == '.' && code_token_in(&r->t, i + 1, " format ") && a->count) {
			a->format = true;
			i++;
			continue;
		} else if (c == '(' || c == '[' || c == '{') {
			depth++;
			a->array |= c == '[';
		} else if (c == ')' || c == ']' || c == '}') {
			if (depth <= 1)
				break;
			depth--;
		} else if ((c == ';' || c == '|' || c == '&') && !depth) {
			break;
		} else if (c == ',') {
			join = false;
			a->format &= depth > 1;
			continue;
		} else if (c == '%' && i && r->t.tokens[i - 1].kind == TOKEN_STRING) {
			a->format = true;
		} else if (t->kind == TOKEN_STRING) {
			append(r, a, &t->string, join);
		} else if (t->kind == TOKEN_NAME) {
			take_name(r, a, i, join);
		}
		join = joins(r, i) || (join && c && strchr("([{$@", c)) ||
		       (join && code_is_char(&r->t, i + 1, '(') &&
			code_token_in(&r->t, i, quoters)) ||
		       (t->kind == TOKEN_STRING && i + 1 < r->t.count &&
			r->t.tokens[i + 1].kind == TOKEN_STRING);
	}
	a->end = i;
}

/* ---- calls ---- */

static const char runs[] =
	" system popen Popen exec execl execlp execle execv execvp execve execvpe spawn spawnl "
	"spawnlp "
	"spawnv spawnvp spawnSync execSync execFile execFileSync call check_call check_output run "
	"getoutput getstatusoutput shell_exec passthru proc_open pcntl_exec popen2 popen3 capture2 "
	"capture2e capture3 posix_spawn posix_spawnp execute spawn_shell create_subprocess_shell "
	"create_subprocess_exec sh command cmd CreateProcess startProcess Command outputOf "
	"exec_sync $ ";
static const char removes_tree[] =
	" rmtree remove_tree rm_rf rm_r rmSync rm rmdirSync removeSync RemoveAll remove_dir_all "
	"rimraf emptyDirSync emptyDir remove_entry_secure remove_entry deltree delTree ";
static const char run_names[] = " system popen Popen exec run call check_output execSync spawn ";
static const char removes[] = " unlink remove unlinkSync removedirs delete rm_f safe_unlink ";
static const char moves[] = " rename renameSync move replace mv copyout ";
static const char writes[] =
	" open fopen writeFileSync writeFile appendFileSync appendFile "
	"file_put_contents write_text write_bytes truncate truncateSync File IO "
	"createWriteStream copyfile copy copy2 copyFileSync cp copyFile sysopen "
	"writeTextFile copyfileobj writelines ";
static const char modes_tree[] = " chmod_R chown_R ";

/* "w", "wb", "r+", ">", "a": the argument of open() that lets it write. */
static bool is_write_mode(const struct shell_word *w)
{
	const char *s = w->text.s;

	return w->text.len <= 6 && (strpbrk(s, "wa+>x") != NULL) &&
	       strspn(s, "rwabtx+> <:utf8") == w->text.len;
}

static bool calls_open(const struct reader *r, size_t i)
{
	return code_token_in(&r->t, i, " open fopen sysopen File IO ");
}

static void add_effect(struct reader *r, const char *effect, const struct shell_word *word)
{
	struct shell_word *copy = shell_alloc(r->t.arena, sizeof(*copy));

	*copy = *word;
	add_call(r, (struct blocklist_code_call){ CODE_EFFECT, effect, copy, 1 });
}

/* open(F, ">/dev/sda"): the path behind the sign. */
static void write_by_sign(struct reader *r, const struct shell_word *w)
{
	size_t skip = strspn(w->text.s, "+> ");
	struct shell_word path;

	if (!skip || w->text.s[0] == ' ' || skip == w->text.len)
		return;
	path = shell_wrap_slice(w, skip, w->text.len, r->t.arena);
	add_effect(r, "write", &path);
}

/* open(F, "|cmd") and open(F, "cmd|") of Perl. */
static void run_by_sign(struct reader *r, const struct shell_word *w)
{
	size_t len = w->text.len;
	struct shell_word *text;

	if (len < 2 || (w->text.s[0] != '|' && w->text.s[len - 1] != '|'))
		return;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = shell_wrap_slice(w, w->text.s[0] == '|', len - (w->text.s[len - 1] == '|'),
				 r->t.arena);
	add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL, text, 1 });
}

static void read_write(struct reader *r, size_t i)
{
	struct arguments a;
	bool mode = !calls_open(r, i);

	bool copies = code_token_in(&r->t, i,
				    " copyfile copy copy2 copyFileSync cp copyFile copyfileobj ");

	read_arguments(r, i + 1, &a);
	mode |= r->write_flags;
	for (size_t k = a.count < 2; k < a.count; k++)
		mode |= is_write_mode(&a.words[k]);
	for (size_t k = copies && a.count ? a.count - 1 : 0; k < a.count; k++) {
		if (calls_open(r, i)) {
			write_by_sign(r, &a.words[k]);
			run_by_sign(r, &a.words[k]);
		}
		if (mode)
			add_effect(r, "write", &a.words[k]);
	}
}

/* Path("/etc/passwd").write_text(...), Path("/x").unlink(): the string is before the call. */
static void read_method(struct reader *r, size_t i, const char *effect)
{
	if (i >= 3 && code_is_char(&r->t, i - 1, '.') && code_is_char(&r->t, i - 2, ')') &&
	    r->t.tokens[i - 3].kind == TOKEN_STRING)
		add_effect(r, effect, &r->t.tokens[i - 3].string);
}

/* Strings given to glob(), and to what may glob itself. */
static void mark_globs(struct reader *r, struct shell_word *w)
{
	uint8_t *kind = shell_alloc(r->t.arena, w->text.len + 1);

	memcpy(kind, w->kind, w->text.len);
	for (size_t i = 0; i < w->text.len; i++)
		if (strchr("*?[]", w->text.s[i]) && kind[i] == SHELL_LITERAL)
			kind[i] = SHELL_GLOB;
	w->kind = kind;
}

/* Places that a loop of the text lists: glob("/ *"), listdir("/"), os.walk("/"), Dir["/ *"]. */
static void add_listed(struct reader *r, const char *effect)
{
	static const char lists[] = " glob iglob Dir readdir opendir globSync ";
	static const char walks[] =
		" walk listdir scandir readdirSync rglob iterdir find finddepth "
		"children entries rii ";

	for (size_t i = 0; i < r->t.count; i++) {
		bool globs = code_token_in(&r->t, i, lists);
		struct arguments a;

		if (!globs && !code_token_in(&r->t, i, walks))
			continue;
		read_arguments(r, i + 1, &a);
		if (i >= 3)
			read_method(r, i, effect);
		for (size_t k = 0; k < a.count; k++) {
			if (globs)
				mark_globs(r, &a.words[k]);
			add_effect(r, effect, &a.words[k]);
		}
	}
}

static const char removed[] = "remove";

static void read_remove(struct reader *r, size_t i, const char *effect)
{
	struct arguments a;
	bool removes_it = strcmp(effect, "mode_call") != 0;

	read_arguments(r, i + 1, &a);
	if (effect == removed &&
	    (r->trees || (a.count > 1 && strcmp(a.words[1].text.s, "rf") == 0))) /* of vim */
		effect = "remove_tree";
	for (size_t k = 0; k < a.count; k++) {
		mark_globs(r, &a.words[k]);
		add_effect(r, effect, &a.words[k]);
	}
	read_method(r, i, effect);
	if (!a.count && !r->listed[removes_it]) {
		add_listed(r, removes_it ? "remove_tree" : effect);
		add_call(r, (struct blocklist_code_call){ CODE_EACH, effect, NULL, 0 });
	}
	r->listed[removes_it] |= !a.count;
}

/* exec rm -rf / of Tcl: bare words to the end of the line. */
static void read_bare(struct reader *r, size_t i)
{
	const struct shell_text *t = &r->t.text->text;
	size_t from = r->t.tokens[i].end, to = from;
	struct shell_word *text;

	if (!code_token_in(&r->t, i, " exec spawn ") || i + 1 >= r->t.count ||
	    r->t.tokens[i + 1].kind != TOKEN_NAME)
		return;
	while (to < t->len && t->s[to] != '\n' && t->s[to] != ';')
		to++;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = shell_wrap_slice(r->t.text, from, to, r->t.arena);
	add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL, text, 1 });
}

static bool same_text(const struct reader *r, size_t i, size_t k)
{
	const struct code_token *a = &r->t.tokens[i], *b = &r->t.tokens[k];

	return a->end - a->start == b->end - b->start &&
	       memcmp(r->t.text->text.s + a->start, r->t.text->text.s + b->start,
		      a->end - a->start) == 0;
}

/* s = os.system, const e = require("child_process").execSync */
static void note_alias(struct reader *r, size_t i)
{
	if (!code_token_in(&r->t, i, runs) || code_is_char(&r->t, i + 1, '(') ||
	    !code_is_char(&r->t, i - 1, '.') || r->alias_count == ALIASES_MAX)
		return;
	for (size_t k = i; k-- > 1 && i - k < 10 && !code_is_char(&r->t, k, ';');)
		if (code_is_char(&r->t, k, '=') && r->t.tokens[k - 1].kind == TOKEN_NAME) {
			r->aliases[r->alias_count++] = k - 1;
			return;
		}
}

/* from os import system as s, {execSync: e}: another name for a call. */
static void note_renames(struct reader *r)
{
	for (size_t k = 2; k < r->t.count && r->alias_count < ALIASES_MAX; k++)
		if (r->t.tokens[k].kind == TOKEN_NAME &&
		    (code_is_char(&r->t, k - 1, ':') || code_token_in(&r->t, k - 1, " as ")) &&
		    code_token_in(&r->t, k - 2, runs))
			r->aliases[r->alias_count++] = k;
}

static bool renamed(const struct reader *r, size_t i)
{
	for (size_t k = 0; k < r->alias_count; k++)
		if (same_text(r, r->aliases[k], i))
			return r->aliases[k] != i;
	return false;
}

/* os.system(requests.get(url).text), exec(sys.stdin.read()) */
static void read_run_source(struct reader *r, size_t i, size_t end)
{
	static const char fetches[] = " urlopen requests httpx curl_exec file_get_contents "
				      "create_connection makefile recv ";

	for (size_t k = i + 1; k < end && k < i + 12 && r->t.tokens[k].kind != TOKEN_STRING; k++) {
		if (code_token_in(&r->t, k, fetches))
			add_call(r, (struct blocklist_code_call){ CODE_FOUND, "pipe.remote", NULL,
								  0 });
		if (code_token_in(&r->t, k, " stdin STDIN "))
			add_call(r, (struct blocklist_code_call){ CODE_INPUT, NULL, NULL, 0 });
	}
}

static void read_run(struct reader *r, size_t i)
{
	struct arguments a;
	struct shell_word *words;

	read_arguments(r, i + 1, &a);
	if (code_token_in(&r->t, i, " system popen exec eval ") &&
	    code_is_char(&r->t, i + 1, '('))
		read_run_source(r, i, a.end);
	if (!a.count && i >= 2 && code_is_char(&r->t, i - 1, '.') &&
	    r->t.tokens[i - 2].kind == TOKEN_STRING)
		a.words[a.count++] = r->t.tokens[i - 2].string; /* "text".execute() */
	if (!a.count)
		read_bare(r, i);
	if (!a.count)
		return;
	words = shell_alloc(r->t.arena, a.count * sizeof(*words));
	for (size_t k = 0; k < a.count; k++)
		words[k] = with_variables(r, &a.words[k]);
	add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL, words, 1 });
	if (a.count > 1) {
		add_call(r, (struct blocklist_code_call){ CODE_WORDS, NULL, words, a.count });
		/* execl("/bin/rm", "rm", "-rf", "/"): the name is there twice. */
		if (a.count > 2)
			add_call(r, (struct blocklist_code_call){ CODE_WORDS, NULL, words + 1,
								  a.count - 1 });
	}
}

/* eval("...") of a constant */
static void read_eval(struct reader *r, size_t i)
{
	struct arguments a;
	struct shell_word *text;

	read_arguments(r, i + 1, &a);
	if (!a.count)
		return;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = a.words[0];
	add_call(r, (struct blocklist_code_call){ CODE_NESTED, NULL, text, 1 });
}

/* os.kill(-1, 9), kill 9, -1, process.kill(1) */
static void read_kill(struct reader *r, size_t i)
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
		add_call(r, (struct blocklist_code_call){ CODE_FOUND, effect, NULL, 0 });
}

static void found(struct reader *r, const char *effect)
{
	add_call(r, (struct blocklist_code_call){ CODE_FOUND, effect, NULL, 0 });
}

/* A string that names a shell: "/bin/sh -i", "bash". */
static bool names_shell(const struct reader *r)
{
	static const char shells[] = " sh bash /bin/sh /bin/bash dash /bin/dash ";

	for (size_t i = 0; i < r->t.count; i++) {
		const struct shell_word *w = &r->t.tokens[i].string;

		if (r->t.tokens[i].kind == TOKEN_STRING && w->text.len &&
		    blocklist_listed(shells, w->text.s, strcspn(w->text.s, " ")))
			return true;
	}
	return false;
}

/* A connection and a shell on it. */
static bool remote_shell(const struct reader *r)
{
	return code_any_name(&r->t, " socket fsockopen pfsockopen TCPSocket Socket connect "
				    "create_connection createConnection Sockets INET ") &&
	       (code_any_name(&r->t, " dup2 ") || names_shell(r)) &&
	       code_any_name(&r->t, " exec spawn pty popen Popen call run system shell_exec "
				    "proc_open execve passthru subprocess ");
}

/* while True: Popen([sys.executable] + sys.argv) */
static bool starts_itself(const struct reader *r)
{
	bool endless = code_any_name(&r->t, " loop ") || strstr(r->t.text->text.s, "(;;)") ||
		       (code_any_name(&r->t, " while until ") &&
			code_any_name(&r->t, " 1 True true "));

	return endless && code_any_name(&r->t, " Popen spawn fork execFile ") &&
	       code_any_name(&r->t, " executable execPath __filename __FILE__ argv argv0 ");
}

/* Things that lie in the whole of the text. */
static void read_whole(struct reader *r)
{
	static const char evals[] =
		" exec eval execfile run runInThisContext runInNewContext "
		"instance_eval class_eval assert create_function Function loads "
		"system popen shell_exec ";
	static const char fetches[] = " urlopen urllib urllib2 requests httpx http https fetch "
				      "file_get_contents LWP get curl_exec urlretrieve open_uri "
				      "HTTParty axios URI Net ";
	static const char decoders[] = " b64decode b32decode a85decode b85decode base64 decode64 "
				       "base64_decode unhexlify fromhex unpack atob decode_base64 "
				       "decompress gzinflate pack rot13 str_rot13 convert_uu "
				       "hex2bin "
				       "codecs marshal ";
	static const char loops[] = " while until loop for ";

	if ((code_any_name(&r->t, " fork vfork cluster pcntl_fork ") &&
	     code_any_name(&r->t, loops)) || starts_itself(r))
		found(r, "process.fork_bomb");
	if (remote_shell(r))
		found(r, "pipe.remote");
	if (!code_any_name(&r->t, evals))
		return;
	if (code_any_name(&r->t,
			  " exec eval execfile instance_eval create_function Function assert ") &&
	    code_any_name(&r->t, fetches))
		found(r, "pipe.remote");
	if (code_any_name(&r->t, decoders))
		found(r, "pipe.decoded");
}

/* exec(Buffer.from("...", "base64").toString()) */
static void read_buffer(struct reader *r)
{
	if (!code_any_name(&r->t, " Buffer ") ||
	    !code_any_name(&r->t, " exec execSync spawn spawnSync eval Function "))
		return;
	for (size_t i = 0; i < r->t.count; i++)
		if (r->t.tokens[i].kind == TOKEN_STRING &&
		    blocklist_listed(" base64 hex base64url ", r->t.tokens[i].string.text.s,
				     r->t.tokens[i].string.text.len))
			found(r, "pipe.decoded");
}

/* awk: print "x" > "/dev/sda", print | "sh", "cmd" | getline */
static void read_awk(struct reader *r, size_t i)
{
	const struct code_token *t = &r->t.tokens[i];
	struct shell_word *text;

	if (t->kind != TOKEN_STRING)
		return;
	if (i && code_is_char(&r->t, i - 1, '>'))
		add_effect(r, "write", &t->string);
	if (strncmp(t->string.text.s, "/inet/", 6) == 0 && r->getline)
		found(r, "pipe.remote");
	if ((i && code_is_char(&r->t, i - 1, '|')) || code_is_char(&r->t, i + 1, '|')) {
		text = shell_alloc(r->t.arena, sizeof(*text));
		*text = t->string;
		add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL, text, 1 });
	}
}

/* getattr(os, "system")("..."), require("child_process")["exec"]("...") */
static bool is_quoted_call(const struct reader *r, size_t i)
{
	const struct code_token *t = &r->t.tokens[i];

	return t->kind == TOKEN_STRING &&
	       (code_is_char(&r->t, i + 1, ')') || code_is_char(&r->t, i + 1, ']')) &&
	       code_is_char(&r->t, i + 2, '(') &&
	       blocklist_listed(run_names, t->string.text.s, t->string.text.len);
}

/* array_map("unlink", ...): the name of a function that is called for each. */
static void read_callback(struct reader *r, size_t i)
{
	static const char maps[] = " array_map array_walk call_user_func call_user_func_array ";
	const struct shell_word *w = &r->t.tokens[i].string;

	if (i < 2 || r->t.tokens[i].kind != TOKEN_STRING || !code_token_in(&r->t, i - 2, maps))
		return;
	if (blocklist_listed(removes, w->text.s, w->text.len) || strcmp(w->text.s, "rmdir") == 0)
		read_remove(r, i, "remove");
	if (blocklist_listed(runs, w->text.s, w->text.len))
		read_run(r, i);
}

/* shell "TEXT" of Raku, "TEXT".! of Scala, system $_ of Perl. */
static void read_other_runs(struct reader *r, size_t i)
{
	if (code_token_in(&r->t, i, " shell ") && i + 1 < r->t.count &&
	    (r->t.tokens[i + 1].kind == TOKEN_STRING ||
	     (code_is_char(&r->t, i + 1, '(') && i + 2 < r->t.count &&
	      r->t.tokens[i + 2].kind == TOKEN_STRING)))
		read_run(r, i);
	if (r->t.tokens[i].kind == TOKEN_STRING && code_is_char(&r->t, i + 1, '.') &&
	    code_is_char(&r->t, i + 2, '!'))
		add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL,
							  &r->t.tokens[i].string, 1 });
	if (code_token_in(&r->t, i, " system exec eval ") && code_is_char(&r->t, i + 1, '$') &&
	    code_token_in(&r->t, i + 2, " _ "))
		add_call(r, (struct blocklist_code_call){ CODE_INPUT, NULL, NULL, 0 });
}

static void read_token(struct reader *r, size_t i)
{
	if (r->t.tokens[i].kind == TOKEN_RUN) {
		r->t.tokens[i].string = with_variables(r, &r->t.tokens[i].string);
		add_call(r, (struct blocklist_code_call){ CODE_SHELL, NULL, &r->t.tokens[i].string,
							  1 });
		return;
	}
	if (r->awk)
		read_awk(r, i);
	note_alias(r, i);
	read_callback(r, i);
	read_other_runs(r, i);
	if (is_quoted_call(r, i))
		read_run(r, i + 1);
	if (r->awk && code_token_in(&r->t, i, " system ") && code_is_char(&r->t, i + 1, '(') &&
	    code_is_char(&r->t, i + 2, '$'))
		add_call(r, (struct blocklist_code_call){ CODE_INPUT, NULL, NULL, 0 });
	if (r->awk && code_token_in(&r->t, i, " system ") && i + 3 < r->t.count &&
	    r->t.tokens[i + 2].kind == TOKEN_STRING && code_is_char(&r->t, i + 3, '$'))
		add_call(r, (struct blocklist_code_call){ CODE_INPUT, NULL,
							  &r->t.tokens[i + 2].string, 1 });
	if (code_token_in(&r->t, i, runs) ||
	    (r->alias_count && r->t.tokens[i].kind == TOKEN_NAME && renamed(r, i)))
		read_run(r, i);
	if (code_token_in(&r->t, i, " exec eval "))
		read_eval(r, i);
	if (code_token_in(&r->t, i, removes_tree))
		read_remove(r, i, "remove_tree");
	if (code_token_in(&r->t, i, removes))
		read_remove(r, i, removed);
	if (code_token_in(&r->t, i, moves))
		read_remove(r, i, "move");
	if (code_token_in(&r->t, i, " chmod chmodSync ") && i + 1 < r->t.count &&
	    (code_is_char(&r->t, i + 1, '(') || r->t.tokens[i + 1].kind == TOKEN_NAME))
		read_remove(r, i, "mode_call");
	if (code_token_in(&r->t, i, modes_tree))
		read_remove(r, i, "mode_tree");
	if (code_token_in(&r->t, i, writes) ||
	    (i >= 2 && code_token_in(&r->t, i, " write binwrite ") &&
	     code_token_in(&r->t, i - 2, " File IO "))) {
		read_write(r, i);
		if (code_token_in(&r->t, i, " write_text write_bytes truncate write "))
			read_method(r, i, "write");
	}
	if (code_token_in(&r->t, i, " kill killpg posix_kill "))
		read_kill(r, i);
}

/* "a", "a" + "b", "a"."b", ["a", "b"] from token @i on, as one text. */
static bool constant(struct reader *r, size_t i, struct shell_word *out)
{
	bool list = code_is_char(&r->t, i, '[') || code_is_char(&r->t, i, '(');
	struct arguments *a;

	i += list;
	if (i >= r->t.count || r->t.tokens[i].kind != TOKEN_STRING)
		return false;
	a = shell_alloc(r->t.arena, sizeof(*a));
	a->words[a->count++] = r->t.tokens[i].string;
	for (size_t n = 0; n < CONSTANT_PIECES_MAX && i + 2 < r->t.count; n++, i += 2) {
		bool comma = list && code_is_char(&r->t, i + 1, ',');
		struct shell_word two[2] = { a->words[0], r->t.tokens[i + 2].string };

		if (r->t.tokens[i + 2].kind != TOKEN_STRING ||
		    !(comma || code_is_char(&r->t, i + 1, '+') || code_is_char(&r->t, i + 1, '.')))
			break;
		if (comma && !step(r, (two[0].text.len + two[1].text.len) / STEP_BYTES))
			break;
		if (comma)
			a->words[0] = shell_wrap_join(two, 2, r->t.arena);
		else
			append(r, a, &two[1], true);
	}
	*out = a->words[0];
	return true;
}

/* NAME = "constant" */
static void note_variable(struct reader *r, size_t i)
{
	size_t value = i + 2;
	struct shell_word text;

	if (r->t.tokens[i].kind != TOKEN_NAME ||
	    !(code_is_char(&r->t, i + 1, '=') || code_token_in(&r->t, i + 1, " in ")) ||
	    r->variable_count == VARIABLES_MAX || !constant(r, value, &text))
		return;
	r->variables[r->variable_count].start = r->t.tokens[i].start;
	r->variables[r->variable_count].len = r->t.tokens[i].end - r->t.tokens[i].start;
	r->variables[r->variable_count++].value = text;
}

struct blocklist_code_calls blocklist_code_read(const struct shell_word *text, bool awk,
						struct shell_arena *arena)
{
	struct reader r = { .t = { .text = text, .arena = arena }, .awk = awk };

	code_tokenize(&r.t);
	note_renames(&r);
	r.trees = code_any_name(&r.t, " recursive directory ");
	r.write_flags = code_any_name(&r.t, " O_WRONLY O_RDWR O_TRUNC ");
	r.codes = code_any_name(&r.t, " chr fromCharCode bytes bytearray pack Char ");
	r.getline = awk && code_any_name(&r.t, " getline ");
	for (size_t i = 1; i < r.t.count; i++) /* ... for x in ["a"]: used before it is named */
		if (code_token_in(&r.t, i, " in "))
			note_variable(&r, i - 1);
	for (size_t i = 0; i < r.t.count && step(&r, 1); i++) {
		read_token(&r, i);
		note_variable(&r, i);
	}
	if (!awk) {
		read_whole(&r);
		read_buffer(&r);
	}
	return r.calls;
}
