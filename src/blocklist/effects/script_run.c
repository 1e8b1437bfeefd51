#include "blocklist/effects/script_run.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/listing.h"
#include "blocklist/effects/script_names.h"
#include "blocklist/effects/script_network.h"

/* Arguments of the script that a call gets. */
#define ARGUMENTS_MAX 8
/* Variables of the environment that calls run or remove. */
#define ENVIRON_MAX 32
/* Tokens before a call among which its pattern is looked for. */
#define PATTERN_BACK 128

/* It runs @before with each file name that its standard input lists:
 * find / | awk '{system("rm " $0)}'. */
static void script_run_names(struct script_reader *r, const struct shell_word *before)
{
	struct shell_word names[DATAFLOW_NAMES_MAX], both[2] = { *before };
	const struct place *at = r->at;
	size_t n = 0;

	if (at->flows && at->index != SHELL_NONE && !listing_picks(place_command(at)))
		n = dataflow_names(at->flows, place_command(at)->piped_from, r->out->budget,
				   r->t.arena, names);
	for (size_t i = 0; i < n; i++) {
		both[1] = names[i];
		names[i] = word_join(both, 2, r->t.arena);
		action_text(r->out, &names[i], ACTION_LENIENT);
	}
}

void script_run_input(struct script_reader *r, const struct shell_word *before)
{
	struct shell_word both[2];

	action_flow(r->out, r->at->input_flow, r->t.text, 1);
	if (before)
		script_run_names(r, before);
	if (!place_input(r->at))
		return;
	both[0] = before ? *before : *place_input(r->at);
	both[1] = *place_input(r->at);
	both[0] = word_join(both, 1 + (before != NULL), r->t.arena);
	action_text(r->out, &both[0], ACTION_LENIENT);
}

/* ---- a shell that the text writes to ---- */

void script_note_shell(struct script_reader *r, const struct shell_word *words, size_t count)
{
	struct shell_word *items = NULL;
	size_t n = word_items(&words[0], false, r->out->budget, r->t.arena, &items);
	const struct blocklist_name *name = n ? name_of(&items[0]) : NULL;
	const struct blocklist_wrapper *wrapper = name ? name_wrapper(name) : NULL;

	if (!wrapper || (wrapper->kind != WRAPPER_SHELL && !word_in(&items[0], " su ")))
		return;
	for (size_t k = 1; k < n + count - 1; k++) {
		const struct shell_text *text = k < n ? &items[k].text : &words[k - n + 1].text;

		if (text->len > 1 && (text->s[0] != '-' || strchr(text->s, 'c')))
			return; /* a command or a file; popen("sh", "w") has none */
	}
	r->shell = true;
}

/* Does token @i write to something that is no screen: p.stdin.write(x), f:write(x), print $f "x",
 * fwrite($p, x), send x? */
static bool script_run_is_write(const struct script_text *t, size_t i)
{
	static const char calls[] = " fwrite fputs send exp_send ";
	static const char methods[] = " write communicate end puts print say printf sendline "
				      "sendall writelines ";
	static const char screens[] = " stdout stderr STDOUT STDERR console sys ";

	if (script_token_in(t, i, calls))
		return true;
	if (!script_token_in(t, i, methods))
		return false;
	if (script_is_char(t, i - 1, '.') || script_is_char(t, i - 1, ':'))
		return !script_token_in(t, i - 2, screens);
	return script_token_in(t, i, " print say printf puts ") && i + 1 < t->count &&
	       !script_token_in(t, i + 1, screens) &&
	       (t->tokens[i + 1].kind == TOKEN_NAME || script_is_char(t, i + 1, '$') ||
		script_is_char(t, i + 1, '{'));
}

/* What is written to the shell. */
static void script_run_read_write(struct script_reader *r, size_t i)
{
	struct script_args a;

	if (!r->shell || !script_run_is_write(&r->t, i))
		return;
	script_read_args(r, i + 1, &a);
	for (size_t k = 0; k < a.count; k++) {
		struct shell_word *values;
		size_t n = script_values(r, &a.words[k], &values);

		for (size_t m = 0; m < n; m++)
			action_text(r->out, &values[m], ACTION_LENIENT);
	}
}

/* Quotes for the shell in place of the braces s[0] and s[len], unless both are in the word. */
static void script_run_quote(char *s, size_t len)
{
	bool quoted = memchr(s, '\'', len);

	for (size_t i = 0; i < len && quoted; i++)
		if (strchr("\"$`\\", s[i]))
			return;
	s[0] = s[len] = quoted ? '"' : '\'';
}

/* Where the command of Tcl from byte @from on ends: with its line, with its block, or at a ;. */
static size_t script_run_bare_end(const struct shell_text *t, size_t from)
{
	size_t depth = 0;

	for (; from < t->len && (depth || (t->s[from] != '\n' && t->s[from] != ';')); from++) {
		if (t->s[from] == '}' && !depth)
			break;
		depth += t->s[from] == '{';
		depth -= t->s[from] == '}';
	}
	return from;
}

/* That command as shell text, where 'word' is what {word} is to Tcl. */
static struct shell_word script_run_bare_text(const struct script_reader *r, size_t from, size_t to)
{
	struct shell_word text = word_slice(r->t.text, from, to, r->t.arena);
	char *s = shell_copy(r->t.arena, text.text.s, text.text.len);
	size_t open = 0, depth = 0;

	for (size_t i = 0; i < text.text.len; i++) {
		if (s[i] == '{' && depth++ == 0)
			open = i;
		if (s[i] == '}' && depth && --depth == 0 && open && s[open - 1] == ' ')
			script_run_quote(s + open, i - open);
	}
	text.text.s = s;
	return text;
}

/* Do bare words follow the spawn of Expect at token @i, or the exec of Tcl? Behind their line is
 * another command. */
static bool script_run_has_bare_words(const struct script_text *t, size_t i)
{
	if (script_token_in(t, i, " exec ") && i + 2 < t->count && !script_new_line(t, i + 2))
		return t->tokens[i + 1].kind == TOKEN_NAME &&
		       (t->tokens[i + 2].kind == TOKEN_NAME || script_is_char(t, i + 2, '-')) &&
		       !script_token_in(t, i + 2, " if unless or and for while ");
	return script_token_in(t, i, " spawn ") && i + 1 < t->count && !script_new_line(t, i + 1) &&
	       (t->tokens[i + 1].kind == TOKEN_NAME || script_is_char(t, i + 1, '/') ||
		script_is_char(t, i + 1, '-') ||
		(script_is_char(t, i + 1, '.') && script_is_char(t, i + 2, '/'))) &&
	       !script_is_char(t, i + 2, ',');
}

/* Tcl's exec rm -rf /: bare words to the end of the line. */
static void script_run_read_bare_words(struct script_reader *r, size_t i)
{
	const struct shell_text *t = &r->t.text->text;
	size_t from = r->t.tokens[i].end, to;
	struct shell_word text;

	if (!script_run_has_bare_words(&r->t, i) &&
	    (!script_token_in(&r->t, i, " exec ") || i + 1 >= r->t.count ||
	     r->t.tokens[i + 1].kind != TOKEN_NAME))
		return;
	from += strspn(t->s + from, " ");
	while (t->s[from] == '-') { /* spawn -noecho */
		from += strcspn(t->s + from, " ;\n");
		from += strspn(t->s + from, " ");
	}
	to = script_run_bare_end(t, from);
	if (!action_charge(r->out, 4 * (to - from)))
		return;
	text = script_run_bare_text(r, from, to);
	script_note_shell(r, &text, 1);
	action_text(r->out, &text, ACTION_LENIENT);
}

/* Does token @i fetch what the call that it is in runs: as a @command, or else the exec of whatever
 * object? A hash of Ruby has a fetch, too, and a class of PHP a get. */
static bool script_run_fetches(const struct script_text *t, size_t i, bool command)
{
	if (script_token_in(t, i, " urlopen requests httpx curl_exec create_connection makefile "
				  "recv "))
		return true;
	return command && script_fetches(t, i) &&
	       !(script_token_in(t, i, " fetch ") && script_is_char(t, i - 1, '.')) &&
	       !(script_token_in(t, i, " get ") && script_is_char(t, i - 1, ':'));
}

/* os.system(requests.get(url).text), b.exec(urlopen(u).read()), exec(sys.stdin.read()) */
static void script_run_read_source(struct script_reader *r, size_t i, size_t end)
{
	bool command = script_token_in(&r->t, i, " system popen passthru shell_exec execSync ");

	for (size_t k = i + 1; k < end && k < i + 12 && !script_string(&r->t, k); k++) {
		if (script_run_fetches(&r->t, k, command))
			action_found(r->out, "pipe.remote", r->t.text, 1);
		if (script_token_in(&r->t, k, " stdin STDIN "))
			script_run_input(r, NULL);
	}
}

/* May the program be @name, behind @program? execl("/bin/rm", "rm", "-rf", "/") has it twice, and
 * join(" ", "rm", "-rf", "/") behind a blank; but ["getent", "passwd", "root"] runs getent. */
static bool script_run_precedes(const struct shell_word *program, const struct shell_word *name)
{
	bool foreign;
	struct shell_text a = name_base(program, &foreign), b = name_base(name, &foreign);

	return program->text.s[strspn(program->text.s, " \t\n")] == '\0' ||
	       (a.len == b.len && memcmp(a.s, b.s, a.len) == 0);
}

/* The words of @a as a program and its arguments, of the call at token @i; a list, as args of
 * spawn("rm", args), is many. */
static void script_run_words(struct script_reader *r, size_t i, const struct script_args *a)
{
	struct shell_word *items[SCRIPT_ARGS_MAX], *words;
	size_t counts[SCRIPT_ARGS_MAX], count = 0, n = 0;
	uint32_t start, end;

	for (size_t k = 0; k < a->count; k++) {
		const struct script_variable *v = script_variable_of(r, &a->words[k]);

		items[k] = shell_alloc(r->t.arena, sizeof(*words));
		*items[k] = script_with_variables(r, &a->words[k]);
		counts[k] = 1;
		if (v && v->is_list)
			counts[k] = word_items(&v->value, false, r->out->budget, r->t.arena,
					       &items[k]);
		count += counts[k];
	}
	words = shell_alloc(r->t.arena, (count + 1) * sizeof(*words));
	for (size_t k = 0; k < a->count; n += counts[k++])
		memcpy(words + n, items[k], counts[k] * sizeof(*words));
	script_statement_place(&r->t, i, &start, &end);
	for (size_t k = 0; k < count; k++) {
		words[k].start = start;
		words[k].end = end;
	}
	if (count > 1)
		action_words(r->out, words, count, ACTION_LENIENT);
	if (count > 2 && script_run_precedes(&words[0], &words[1]))
		action_words(r->out, words + 1, count - 1, ACTION_LENIENT);
}

/* for c in ["a", "b"]: system(c), with system at token @i and its first argument @word. */
static void script_run_items(struct script_reader *r, size_t i, const struct shell_word *word)
{
	size_t at = i + 2 + script_is_char(&r->t, i + 2, '$');
	const struct script_variable *item = script_find_variable(r, at);

	if (item && item->is_item && item->lines.text.len && script_is_char(&r->t, i + 1, '(') &&
	    word->text.s == item->value.text.s)
		action_text(r->out, &item->lines, ACTION_LENIENT);
}

/*
 * Is the program of run([TOOL, "x"]) or execFile(bin, ["x"]), with the call at token @i, a name
 * whose value is not known? Then what follows are its arguments.
 */
static bool script_run_is_unknown(struct script_reader *r, size_t i)
{
	bool list = script_is_char(&r->t, i + 2, '[');
	size_t from = i + 2 + list, depth = 0;

	if (!script_is_char(&r->t, i + 1, '('))
		return false;
	for (size_t k = from; k < r->t.count && k < from + SCRIPT_EXPRESSION_MAX &&
			      script_step(r, 1); k++) {
		if (r->t.tokens[k].kind == TOKEN_NAME && !script_variable_at(r, k))
			continue;
		if (k == from || r->t.tokens[k].kind != TOKEN_OTHER)
			return false;
		if (script_is_char(&r->t, k, ',') && !depth)
			return list || script_is_char(&r->t, k + 1, '[');
		if (script_is_char(&r->t, k, '(') || script_is_char(&r->t, k, '['))
			depth++;
		else if (!script_is_char(&r->t, k, '.') && !depth)
			return false;
		else if (script_is_char(&r->t, k, ')') || script_is_char(&r->t, k, ']'))
			depth--;
	}
	return false;
}

/*
 * The words of @a, of the call at token @i, behind a program that is not known: what begins with an
 * option, or if=x, may be meant for rm, chmod or dd, as behind "$TOOL" in a shell. A word is the
 * tool's own, [ADB, "reboot"]: unlike in a shell, no empty name leaves it as the program.
 */
static void script_run_behind_unknown(struct script_reader *r, size_t i, struct script_args *a)
{
	size_t count = a->count < SCRIPT_ARGS_MAX ? a->count : SCRIPT_ARGS_MAX - 1;
	const char *first = a->words[0].text.s;

	if (first[0] != '-' && !strchr(first, '='))
		return;
	memmove(a->words + 1, a->words, count * sizeof(*a->words));
	a->words[0] = script_char(r, '?', SHELL_UNKNOWN, i);
	a->count = count + 1;
	if (a->directory)
		action_chdir(r->out, a->directory, ACTION_PUSH);
	script_run_words(r, i, a);
	if (a->directory)
		action_chdir(r->out, NULL, ACTION_POP);
}

/* run(["bash", "-n"]), spawn("bash", ["-n"]), with the call at token @i: its first word alone is
 * not what runs. */
static bool script_run_takes_list(const struct script_reader *r, size_t i)
{
	return script_is_char(&r->t, i + 2, '[') ||
	       (script_is_char(&r->t, i + 3, ',') && script_is_char(&r->t, i + 4, '['));
}

/* Is token @i the arguments of the script, or a name that has got some of them: sys.argv[1:],
 * @ARGV, process.argv[1], the arg[1] of Lua? */
static bool script_run_is_argument(const struct script_reader *r, size_t i)
{
	for (size_t k = 0; k < r->given_count; k++)
		if (script_same_text(&r->t, r->given[k], i))
			return true;
	return script_token_in(&r->t, i, " argv ARGV ") ||
	       (script_token_in(&r->t, i, " arg ") && script_is_char(&r->t, i + 1, '['));
}

/* c = argv[1], const [, ...args] = process.argv, my ($c) = @ARGV, for d in argv[1:], with the
 * arguments at token @i: the names that get them. */
static void script_run_note_given(struct script_reader *r, size_t i)
{
	size_t k = i, least = i > SCRIPT_EXPRESSION_MAX ? i - SCRIPT_EXPRESSION_MAX : 0;

	if (!r->at->arg_count || !script_run_is_argument(r, i))
		return;
	while (k > least && script_step(r, 1) && !script_is_char(&r->t, k, '=') &&
	       !script_token_in(&r->t, k, " in of ") && !script_is_char(&r->t, k, ';') &&
	       !script_new_statement(&r->t, k))
		k--;
	if (!script_is_char(&r->t, k, '=') && !script_token_in(&r->t, k, " in of "))
		return;
	while (k-- > least && !script_is_char(&r->t, k, ';')) {
		if (r->t.tokens[k].kind == TOKEN_NAME && r->given_count < SCRIPT_GIVEN_MAX &&
		    !script_token_in(&r->t, k, " const let var my _ "))
			r->given[r->given_count++] = k;
		if (script_new_line(&r->t, k))
			break;
	}
}

/* Does the call between tokens @i and @end take the arguments of the script? */
static bool script_run_takes_arguments(struct script_reader *r, size_t i, size_t end)
{
	for (size_t k = i + 1; k < end && k < i + SCRIPT_EXPRESSION_MAX && script_step(r, 1); k++)
		if (r->t.tokens[k].kind == TOKEN_NAME && script_run_is_argument(r, k))
			return true;
	return false;
}

/* run(sys.argv[1:]), run(["rm"] + sys.argv[1:]), system($ARGV[0]): the arguments of the script
 * behind the words of @a, and each as a text. Which of them the call takes is not read. */
static void script_run_arguments(struct script_reader *r, size_t i, const struct script_args *a)
{
	const struct shell_word *given = r->at->args;
	size_t count = r->at->arg_count < ARGUMENTS_MAX ? r->at->arg_count : ARGUMENTS_MAX;
	struct shell_word *words;

	if (!count || !script_run_takes_arguments(r, i, a->end) || !action_charge(r->out, count))
		return;
	words = shell_alloc(r->t.arena, (a->count + count) * sizeof(*words));
	memcpy(words, a->words, a->count * sizeof(*words));
	memcpy(words + a->count, given, count * sizeof(*words));
	action_words(r->out, words, a->count + count, ACTION_LENIENT);
	for (size_t k = 0; k < count && !a->count; k++)
		action_text(r->out, &given[k], ACTION_LENIENT);
}

/* The token with the name of the variable that os.environ["X"], getenv("X"), ENV["X"], $ENV{X} or
 * process.env.X reads, with the first of these words at token @i; 0: it reads none. */
static size_t script_run_env_name(const struct script_text *t, size_t i)
{
	bool env = script_token_in(t, i, " env ") && script_token_in(t, i - 2, " process ");
	size_t k = i + 1;

	if (!env && !script_token_in(t, i, " environ getenv ENV ENVIRON "))
		return 0;
	while (k < i + 4 && (script_token_in(t, k, " get fetch ") ||
			     (k < t->count && t->tokens[k].kind == TOKEN_OTHER)))
		k++;
	return k > i + 1 && k < t->count && t->tokens[k].kind != TOKEN_OTHER ? k : 0;
}

/* Has the call no constant, or only one that may be the name of a variable? */
static bool script_run_takes_name(const struct script_args *a)
{
	const char *s = a->count ? a->words[0].text.s : "";

	while (str_is_name_char(*s))
		s++;
	return a->count < 2 && !*s;
}

void script_run_variables(struct script_reader *r, size_t i, const struct script_args *a,
			  const char *command)
{
	size_t last = i + SCRIPT_EXPRESSION_MAX;

	if (!script_run_takes_name(a))
		return;
	for (size_t k = i + 1; k < a->end && k < last && script_step(r, 1); k++) {
		size_t at = script_run_env_name(&r->t, k), len = 0;
		const struct shell_word *string = script_string(&r->t, at);
		const char *name = string ? string->text.s
					  : r->t.text->text.s + r->t.tokens[at].start;
		struct shell_word text;
		char *s;

		while (at && str_is_name_char(name[len]))
			len++;
		if (!len || r->environ == ENVIRON_MAX ||
		    !script_step(r, 1 + len / SCRIPT_STEP_BYTES))
			continue;
		r->environ++;
		s = shell_alloc(r->t.arena, strlen(command) + len + sizeof(" \"$\""));
		sprintf(s, "%s \"$%.*s\"", command, (int)len, name);
		text = word_fixed(s, SHELL_LITERAL, r->t.text, r->t.arena);
		action_text(r->out, &text, ACTION_LENIENT);
	}
}

/* The actions from number @first on read @input, unless it is NULL. */
static void script_run_feed(struct script_reader *r, size_t first, const struct shell_word *input)
{
	struct shell_word *kept;

	if (!input)
		return;
	kept = shell_alloc(r->t.arena, sizeof(*kept)); /* that of a variable goes with @r */
	*kept = *input;
	for (; first < r->out->count; first++)
		r->out->list[first].input = kept;
}

void script_read_run(struct script_reader *r, size_t i)
{
	static const char takes_text[] = " system popen exec Popen check_output check_call "
					 "getoutput getstatusoutput execSync shell_exec passthru ";
	const struct shell_word *before = script_string(&r->t, i - 2);
	struct script_args a;
	struct shell_word text;
	size_t first;

	script_read_args(r, i + 1, &a);
	if (script_is_char(&r->t, i + 1, '(') &&
	    (script_token_in(&r->t, i, takes_text) ||
	     (script_token_in(&r->t, i, " run call ") &&
	      script_token_in(&r->t, i - 2, " subprocess sp "))))
		script_run_read_source(r, i, a.end);
	if (!a.count && before && script_is_char(&r->t, i - 1, '.'))
		a.words[a.count++] = *before; /* "text".execute() */
	if (script_run_has_bare_words(&r->t, i))
		a.count = 0;
	if (!a.count)
		script_run_read_bare_words(r, i);
	script_run_arguments(r, i, &a);
	script_run_variables(r, i, &a, "eval");
	if (!a.count)
		return;
	if (script_run_is_unknown(r, i)) {
		script_run_behind_unknown(r, i, &a);
		return;
	}
	text = script_with_variables(r, &a.words[0]);
	script_note_shell(r, a.words, a.count);
	if (a.directory)
		action_chdir(r->out, a.directory, ACTION_PUSH);
	first = r->out->count + (a.count > 1 && script_run_takes_list(r, i));
	action_text(r->out, &text, ACTION_LENIENT);
	if (a.count > 1)
		script_run_words(r, i, &a);
	script_run_feed(r, first, a.input);
	script_run_items(r, i, &a.words[0]);
	if (a.directory)
		action_chdir(r->out, NULL, ACTION_POP);
}

/* os.chdir("/"), Dir.chdir("/"), chdir "/": where later calls are. */
static void script_run_read_chdir(struct script_reader *r, size_t i)
{
	struct script_args a;

	script_read_args(r, i + 1, &a);
	action_chdir(r->out, a.count ? &a.words[0] : NULL, 0);
}

/* eval("...") of a constant */
static void script_run_read_eval(struct script_reader *r, size_t i)
{
	struct script_args a;
	struct shell_word *text;

	script_read_args(r, i + 1, &a);
	if (!a.count)
		return;
	text = shell_alloc(r->t.arena, sizeof(*text));
	*text = a.words[0];
	action_script(r->out, text, r->at->args, r->at->arg_count,
		      ACTION_FOREIGN | (r->awk ? ACTION_AWK : 0));
}

/* getattr(os, "system")("..."), require("child_process")["exec"]("...") */
static bool script_run_is_quoted(const struct script_reader *r, size_t i)
{
	return script_string_in(&r->t, i, script_sure_runs) &&
	       (script_is_char(&r->t, i + 1, ')') || script_is_char(&r->t, i + 1, ']')) &&
	       script_is_char(&r->t, i + 2, '(');
}

/* eval STDIN.read of Ruby, eval join("", <STDIN>) of Perl, not eval { ... <STDIN> ... } */
static bool script_run_evals_input(const struct script_reader *r, size_t i)
{
	if (!script_token_in(&r->t, i, " eval instance_eval "))
		return false;
	for (size_t k = i + 1; k < i + 10 && k < r->t.count; k++) {
		if (script_token_in(&r->t, k, " STDIN stdin ARGF "))
			return true;
		if (script_is_char(&r->t, k, '{') || script_is_char(&r->t, k, ';'))
			return false;
	}
	return false;
}

/* shell "TEXT" of Raku, "TEXT".! of Scala, system $_ of Perl. */
static void script_run_read_others(struct script_reader *r, size_t i)
{
	const struct shell_word *text = script_string(&r->t, i);
	size_t at = i + 1;

	if (script_token_in(&r->t, i, " shell ") &&
	    (script_string(&r->t, i + 1) ||
	     (script_is_char(&r->t, i + 1, '(') && script_string(&r->t, i + 2))))
		script_read_run(r, i);
	if (text && script_is_char(&r->t, i + 1, '.') && script_is_char(&r->t, i + 2, '!'))
		action_text(r->out, text, ACTION_LENIENT);
	at += script_is_char(&r->t, at, '('); /* system($_) */
	if (script_token_in(&r->t, i, " system exec eval ") && script_is_char(&r->t, at, '$') &&
	    script_token_in(&r->t, at + 1, " _ "))
		script_run_input(r, NULL);
	if (script_run_evals_input(r, i))
		script_run_input(r, NULL);
}

/*
 * client.call("shutdown"), db.execute("shutdown"): a method of another object than subprocess, a
 * name that the text gives it, or the os of Lua.
 */
static bool script_run_is_of_other(const struct script_reader *r, size_t i)
{
	if (i < 2 || !script_is_char(&r->t, i - 1, '.') || !script_is_char(&r->t, i + 1, '('))
		return false;
	if (script_token_in(&r->t, i, " call "))
		return !script_token_in(&r->t, i - 2, " subprocess sp ") &&
		       !(r->subprocess && script_same_text(&r->t, i - 2, r->subprocess));
	return script_token_in(&r->t, i, " execute ") && r->t.tokens[i - 2].kind == TOKEN_NAME &&
	       !script_token_in(&r->t, i - 2, " os ");
}

/* Does a pattern, /x/ or /x/gi, end with token @i? No comment does, nor a line. */
static bool script_run_ends_pattern(const struct script_text *t, size_t i)
{
	const char *s = t->text->text.s;
	const struct script_token *flags = &t->tokens[i];

	if (!script_is_char(t, i, '/') && flags->kind == TOKEN_NAME &&
	    strspn(s + flags->start, "dgimsuvy") >= flags->end - flags->start &&
	    t->tokens[i - 1].end == flags->start)
		i--;
	return script_is_char(t, i, '/') && !script_is_char(t, i - 1, '/') &&
	       !script_is_char(t, i - 1, '*') && t->tokens[i].end == t->tokens[i + 1].start;
}

/* /x/.exec("..."), and of re = /x/ re.exec("..."): of a pattern. */
static bool script_run_is_of_pattern(struct script_reader *r, size_t i)
{
	const struct script_text *t = &r->t;
	bool pattern = false;

	if (i < 3 || !script_token_in(t, i, " exec ") || !script_is_char(t, i - 1, '.'))
		return false;
	if (script_run_ends_pattern(t, i - 2))
		return true;
	for (size_t k = i > PATTERN_BACK ? i - PATTERN_BACK : 0;
	     k + 4 < i && action_charge(r->out, 2); k++)
		if (script_is_char(t, k + 1, '=') && script_same_text(t, k, i - 2))
			pattern = script_is_char(t, k + 2, '/') ||
				  script_token_in(t, k + 2, " RegExp ") ||
				  script_token_in(t, k + 3, " RegExp ");
	return pattern;
}

/* {run: "..."}, f(cmd="...") and run.add("...") call nothing that runs, nor does
 * for (command of ["..."]); run.call(null, "...") does. */
static bool script_run_is_call(const struct script_reader *r, size_t i)
{
	if (!script_token_in(&r->t, i, script_runs) || script_run_is_of_other(r, i))
		return false;
	if (script_is_char(&r->t, i + 1, '.') || script_is_char(&r->t, i + 1, ':'))
		return script_token_in(&r->t, i + 2, " apply bind call __call__ ") ||
		       r->t.tokens[i + 1].start > r->t.tokens[i].end; /* run :out, "x" of Raku */
	if (script_is_char(&r->t, i + 1, '='))
		return r->awk; /* command = "x"; command | getline */
	if (script_is_char(&r->t, i + 1, '\\') && script_is_char(&r->t, i + 2, '('))
		return false; /* a pattern: s/system\("x"\)/f()/ */
	if (script_token_in(&r->t, i - 1, " spawn ")) /* its program, in bare words */
		return false;
	if (script_token_in(&r->t, i, " command ") && i >= 2 && script_is_char(&r->t, i - 1, '.') &&
	    !script_token_in(&r->t, i - 2, " Sys ")) /* of OCaml */
		return false;
	return !script_token_in(&r->t, i, " cmd command ") || script_is_char(&r->t, i + 1, '(') ||
	       script_string(&r->t, i + 1);
}

void script_read_runs(struct script_reader *r, size_t i)
{
	if (r->t.tokens[i].kind == TOKEN_NAME)
		script_run_note_given(r, i);
	if (script_run_is_of_pattern(r, i))
		return;
	script_run_read_others(r, i);
	script_run_read_write(r, i);
	if (script_run_is_quoted(r, i))
		script_read_run(r, i + 1);
	if (script_run_is_call(r, i))
		script_read_run(r, i);
	if (script_token_in(&r->t, i, " exec eval "))
		script_run_read_eval(r, i);
	if (script_token_in(&r->t, i, " chdir ") &&
	    (script_is_char(&r->t, i + 1, '(') || script_string(&r->t, i + 1)))
		script_run_read_chdir(r, i);
}
