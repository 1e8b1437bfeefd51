#include "blocklist/effects/script.h"

#include <string.h>

#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/script_args.h"

/* Steps of the budget for a text, and for a token, or as much work. */
#define WORK_TEXT 400u
#define WORK_TOKEN 15u

/* ---- what is found ---- */

static void code_touch(struct code_reader *r, const char *effect, const struct shell_word *word)
{
	action_touch(r->out, effect, word);
}

static void code_found(struct code_reader *r, const char *effect)
{
	action_found(r->out, effect, r->t.text, 1);
}

static void code_shell(struct code_reader *r, const struct shell_word *text)
{
	action_text(r->out, text, ACTION_LENIENT);
}

/* Its standard input is run as shell text, behind @before if that is not NULL. */
static void code_run_input(struct code_reader *r, const struct shell_word *before)
{
	struct shell_word both[2];

	action_flow(r->out, r->at->input_flow, r->t.text, 1);
	if (!r->at->input)
		return;
	both[0] = before ? *before : *r->at->input;
	both[1] = *r->at->input;
	both[0] = word_join(both, 1 + (before != NULL), r->t.arena);
	code_shell(r, &both[0]);
}

/* @effect is done to each of its arguments, and to each name that comes in. */
static void code_touch_each(struct code_reader *r, const char *effect)
{
	struct shell_word *items = NULL, names[DATAFLOW_NAMES_MAX];
	const struct place *at = r->at;
	size_t n = 0;

	for (size_t i = 0; i < at->arg_count; i++)
		code_touch(r, effect, &at->args[i]);
	if (at->input)
		n = word_items(at->input, true, r->out->budget, r->t.arena, &items);
	if (!n && at->flows && at->index != SHELL_NONE) {
		items = names;
		n = dataflow_names(at->flows, place_command(at)->piped_from, r->out->budget,
				   r->t.arena, names, DATAFLOW_NAMES_MAX);
	}
	for (size_t i = 0; i < n; i++)
		code_touch(r, effect, &items[i]);
}

static const char code_runs[] =
	" system popen Popen exec execl execlp execle execv execvp execve execvpe spawn spawnl "
	"spawnlp "
	"spawnv spawnvp spawnSync execSync execFile execFileSync call check_call check_output run "
	"getoutput getstatusoutput shell_exec passthru proc_open pcntl_exec popen2 popen3 capture2 "
	"capture2e capture3 posix_spawn posix_spawnp execute spawn_shell create_subprocess_shell "
	"create_subprocess_exec sh command cmd CreateProcess startProcess Command outputOf "
	"exec_sync $ ";

static const char run_names[] = " system popen Popen exec run call check_output execSync spawn ";

/* ---- other names ---- */

static bool same_text(const struct code_reader *r, size_t i, size_t k)
{
	const struct code_token *a = &r->t.tokens[i], *b = &r->t.tokens[k];

	return a->end - a->start == b->end - b->start &&
	       memcmp(r->t.text->text.s + a->start, r->t.text->text.s + b->start,
		      a->end - a->start) == 0;
}

/* s = os.system, const e = require("child_process").execSync */
static void code_note_alias(struct code_reader *r, size_t i)
{
	if (!code_token_in(&r->t, i, code_runs) || code_is_char(&r->t, i + 1, '(') ||
	    !code_is_char(&r->t, i - 1, '.') || r->alias_count == CODE_ALIASES_MAX)
		return;
	for (size_t k = i; k-- > 1 && i - k < 10 && !code_is_char(&r->t, k, ';');)
		if (code_is_char(&r->t, k, '=') && r->t.tokens[k - 1].kind == TOKEN_NAME) {
			r->aliases[r->alias_count++] = k - 1;
			return;
		}
}

/* from os import system as s, {execSync: e}: another name for a call. */
static void code_note_renames(struct code_reader *r)
{
	for (size_t k = 2; k < r->t.count && r->alias_count < CODE_ALIASES_MAX; k++)
		if (r->t.tokens[k].kind == TOKEN_NAME &&
		    (code_is_char(&r->t, k - 1, ':') || code_token_in(&r->t, k - 1, " as ")) &&
		    code_token_in(&r->t, k - 2, code_runs))
			r->aliases[r->alias_count++] = k;
}

static bool code_renamed(const struct code_reader *r, size_t i)
{
	for (size_t k = 0; k < r->alias_count; k++)
		if (same_text(r, r->aliases[k], i))
			return r->aliases[k] != i;
	return false;
}

/* ---- calls ---- */

/* exec rm -rf / of Tcl: bare words to the end of the line. */
static void read_bare(struct code_reader *r, size_t i)
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
	*text = word_slice(r->t.text, from, to, r->t.arena);
	code_shell(r, text);
}

/* os.system(requests.get(url).text), exec(sys.stdin.read()) */
static void read_run_source(struct code_reader *r, size_t i, size_t end)
{
	static const char fetches[] = " urlopen requests httpx curl_exec file_get_contents "
				      "create_connection makefile recv ";

	for (size_t k = i + 1; k < end && k < i + 12 && r->t.tokens[k].kind != TOKEN_STRING; k++) {
		if (code_token_in(&r->t, k, fetches))
			code_found(r, "pipe.remote");
		if (code_token_in(&r->t, k, " stdin STDIN "))
			code_run_input(r, NULL);
	}
}

static void code_read_run(struct code_reader *r, size_t i)
{
	struct code_args a;
	struct shell_word *words;

	code_read_args(r, i + 1, &a);
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
		words[k] = code_with_variables(r, &a.words[k]);
	code_shell(r, words);
	if (a.count > 1) {
		action_words(r->out, words, a.count, ACTION_LENIENT);
		/* execl("/bin/rm", "rm", "-rf", "/"): the name is there twice. */
		if (a.count > 2)
			action_words(r->out, words + 1, a.count - 1, ACTION_LENIENT);
	}
}

/* eval("...") of a constant */
static void code_read_eval(struct code_reader *r, size_t i)
{
	struct code_args a;
	struct shell_word *text;

	code_read_args(r, i + 1, &a);
	if (!a.count)
		return;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = a.words[0];
	action_code(r->out, text, r->at->args, r->at->arg_count, r->awk ? ACTION_AWK : 0);
}

/* getattr(os, "system")("..."), require("child_process")["exec"]("...") */
static bool code_is_quoted_call(const struct code_reader *r, size_t i)
{
	const struct code_token *t = &r->t.tokens[i];

	return t->kind == TOKEN_STRING &&
	       (code_is_char(&r->t, i + 1, ')') || code_is_char(&r->t, i + 1, ']')) &&
	       code_is_char(&r->t, i + 2, '(') &&
	       list_has(run_names, t->string.text.s, t->string.text.len);
}

/* shell "TEXT" of Raku, "TEXT".! of Scala, system $_ of Perl. */
static void code_read_other_runs(struct code_reader *r, size_t i)
{
	if (code_token_in(&r->t, i, " shell ") && i + 1 < r->t.count &&
	    (r->t.tokens[i + 1].kind == TOKEN_STRING ||
	     (code_is_char(&r->t, i + 1, '(') && i + 2 < r->t.count &&
	      r->t.tokens[i + 2].kind == TOKEN_STRING)))
		code_read_run(r, i);
	if (r->t.tokens[i].kind == TOKEN_STRING && code_is_char(&r->t, i + 1, '.') &&
	    code_is_char(&r->t, i + 2, '!'))
		code_shell(r, &r->t.tokens[i].string);
	if (code_token_in(&r->t, i, " system exec eval ") && code_is_char(&r->t, i + 1, '$') &&
	    code_token_in(&r->t, i + 2, " _ "))
		code_run_input(r, NULL);
}

/* ---- awk ---- */

/* awk: print "x" > "/dev/sda", print | "sh", "cmd" | getline */
static void code_read_awk(struct code_reader *r, size_t i)
{
	const struct code_token *t = &r->t.tokens[i];
	struct shell_word *text;

	if (t->kind != TOKEN_STRING)
		return;
	if (i && code_is_char(&r->t, i - 1, '>'))
		code_touch(r, "write", &t->string);
	if (strncmp(t->string.text.s, "/inet/", 6) == 0 && r->getline)
		code_found(r, "pipe.remote");
	if ((i && code_is_char(&r->t, i - 1, '|')) || code_is_char(&r->t, i + 1, '|')) {
		text = shell_alloc(r->t.arena, sizeof(*text));
		*text = t->string;
		code_shell(r, text);
	}
}

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
	path = word_slice(w, skip, w->text.len, r->t.arena);
	code_touch(r, "write", &path);
}

/* open(F, "|cmd") and open(F, "cmd|") of Perl. */
static void run_by_sign(struct code_reader *r, const struct shell_word *w)
{
	size_t len = w->text.len;
	struct shell_word *text;

	if (len < 2 || (w->text.s[0] != '|' && w->text.s[len - 1] != '|'))
		return;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = word_slice(w, w->text.s[0] == '|', len - (w->text.s[len - 1] == '|'),
				 r->t.arena);
	code_shell(r, text);
}

static void code_read_write(struct code_reader *r, size_t i)
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
			code_touch(r, "write", &a.words[k]);
	}
}

/* ---- removing and changing ---- */

/* Path("/etc/passwd").write_text(...), Path("/x").unlink(): the string is before the call. */
static void code_read_method(struct code_reader *r, size_t i, const char *effect)
{
	if (i >= 3 && code_is_char(&r->t, i - 1, '.') && code_is_char(&r->t, i - 2, ')') &&
	    r->t.tokens[i - 3].kind == TOKEN_STRING)
		code_touch(r, effect, &r->t.tokens[i - 3].string);
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
			code_touch(r, effect, &a.words[k]);
		}
	}
}

static const char code_removed[] = "remove";

static void code_read_remove(struct code_reader *r, size_t i, const char *effect)
{
	struct code_args a;
	bool removes_it = strcmp(effect, "mode_call") != 0;

	code_read_args(r, i + 1, &a);
	if (effect == code_removed &&
	    (r->trees || (a.count > 1 && strcmp(a.words[1].text.s, "rf") == 0))) /* of vim */
		effect = "remove_tree";
	for (size_t k = 0; k < a.count; k++) {
		mark_globs(r, &a.words[k]);
		code_touch(r, effect, &a.words[k]);
	}
	code_read_method(r, i, effect);
	if (!a.count && !r->listed[removes_it]) {
		add_listed(r, removes_it ? "remove_tree" : effect);
		code_touch_each(r, effect);
	}
	r->listed[removes_it] |= !a.count;
}

/* ---- which token means something ---- */

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
		code_found(r, effect);
}

/* array_map("unlink", ...): the name of a function that is called for each. */
static void read_callback(struct code_reader *r, size_t i)
{
	static const char maps[] = " array_map array_walk call_user_func call_user_func_array ";
	const struct shell_word *w = &r->t.tokens[i].string;

	if (i < 2 || r->t.tokens[i].kind != TOKEN_STRING || !code_token_in(&r->t, i - 2, maps))
		return;
	if (list_has(removes, w->text.s, w->text.len) || strcmp(w->text.s, "rmdir") == 0)
		code_read_remove(r, i, "remove");
	if (list_has(code_runs, w->text.s, w->text.len))
		code_read_run(r, i);
}

static void read_token(struct code_reader *r, size_t i)
{
	if (r->t.tokens[i].kind == TOKEN_RUN) {
		r->t.tokens[i].string = code_with_variables(r, &r->t.tokens[i].string);
		code_shell(r, &r->t.tokens[i].string);
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
		code_run_input(r, NULL);
	if (r->awk && code_token_in(&r->t, i, " system ") && i + 3 < r->t.count &&
	    r->t.tokens[i + 2].kind == TOKEN_STRING && code_is_char(&r->t, i + 3, '$'))
		code_run_input(r, &r->t.tokens[i + 2].string);
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

/* ---- the text as a whole ---- */

/* A string that names a shell: "/bin/sh -i", "bash". */
static bool names_shell(const struct code_reader *r)
{
	static const char shells[] = " sh bash /bin/sh /bin/bash dash /bin/dash ";

	for (size_t i = 0; i < r->t.count; i++) {
		const struct shell_word *w = &r->t.tokens[i].string;

		if (r->t.tokens[i].kind == TOKEN_STRING && w->text.len &&
		    list_has(shells, w->text.s, strcspn(w->text.s, " ")))
			return true;
	}
	return false;
}

/* A connection and a shell on it. */
static bool remote_shell(const struct code_reader *r)
{
	return code_any_name(&r->t, " socket fsockopen pfsockopen TCPSocket Socket connect "
				    "create_connection createConnection Sockets INET ") &&
	       (code_any_name(&r->t, " dup2 ") || names_shell(r)) &&
	       code_any_name(&r->t, " exec spawn pty popen Popen call run system shell_exec "
				    "proc_open execve passthru subprocess ");
}

/* while True: Popen([sys.executable] + sys.argv) */
static bool starts_itself(const struct code_reader *r)
{
	bool endless = code_any_name(&r->t, " loop ") || strstr(r->t.text->text.s, "(;;)") ||
		       (code_any_name(&r->t, " while until ") &&
			code_any_name(&r->t, " 1 True true "));

	return endless && code_any_name(&r->t, " Popen spawn fork execFile ") &&
	       code_any_name(&r->t, " executable execPath __filename __FILE__ argv argv0 ");
}

/* exec(Buffer.from("...", "base64").toString()) */
static void read_buffer(struct code_reader *r)
{
	if (!code_any_name(&r->t, " Buffer ") ||
	    !code_any_name(&r->t, " exec execSync spawn spawnSync eval Function "))
		return;
	for (size_t i = 0; i < r->t.count; i++)
		if (r->t.tokens[i].kind == TOKEN_STRING &&
		    list_has(" base64 hex base64url ", r->t.tokens[i].string.text.s,
			     r->t.tokens[i].string.text.len))
			code_found(r, "pipe.decoded");
}

/* Things that lie in the whole of the text. */
static void read_names(struct code_reader *r)
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
		code_found(r, "process.fork_bomb");
	if (remote_shell(r))
		code_found(r, "pipe.remote");
	if (!code_any_name(&r->t, evals))
		return;
	if (code_any_name(&r->t,
			  " exec eval execfile instance_eval create_function Function assert ") &&
	    code_any_name(&r->t, fetches))
		code_found(r, "pipe.remote");
	if (code_any_name(&r->t, decoders))
		code_found(r, "pipe.decoded");
}

/* ctypes.CDLL(None).reboot(0x4321fedc) */
static void read_library_calls(struct code_reader *r)
{
	static const uint8_t kind[6];
	struct shell_word *word;

	if (!code_any_name(&r->t, " CDLL cdll PyDLL LoadLibrary dlopen ") ||
	    !code_any_name(&r->t, " reboot "))
		return;
	word = shell_alloc(r->t.arena, sizeof(*word));
	*word = (struct shell_word){ .text = { .s = "reboot", .len = 6 }, .kind = kind,
				     .start = r->t.text->start, .end = r->t.text->end };
	action_words(r->out, word, 1, ACTION_LENIENT);
}

static void code_read_whole(struct code_reader *r)
{
	read_library_calls(r);
	read_names(r);
	read_buffer(r);
}

void script_read(const struct shell_word *text, bool awk, const struct place *at,
		 struct action_list *out)
{
	struct code_reader r = { .t = { .text = text, .arena = out->arena }, .awk = awk,
				 .at = at, .out = out };

	if (!action_charge(out, WORK_TEXT + text->text.len))
		return;
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
	action_charge(out, WORK_TOKEN * r.steps);
}
