#include "policy/run_command.h"

#include <string.h>

#include "blocklist/command/args.h"
#include "blocklist/command/list.h"
#include "blocklist/command/names.h"
#include "shell/words.h"

#define INNER_MAX 64 /* words that may be a program which another starts */

/* ---- options ---- */

/* May the next word be the value of the option @word, which ends in a letter of @values, or is a
 * long one? */
static bool run_command_is_open(const char *word, const char *values)
{
	size_t letters = word[0] == '-' ? 1 + strcspn(word + 1, values) : 0;

	return letters && (word[1] == '-' ? !strchr(word, '=')
					  : word[letters] && !word[letters + 1]);
}

/* Is @word, but for a value, a long option of @list, or short for one? */
static bool run_command_is_long(const char *list, const char *word)
{
	size_t len = strcspn(word, "=");

	for (const char *one = strstr(list, " --"); one && len > 2; one = strstr(one + 1, " --"))
		if (!strncmp(one + 1, word, len))
			return true;
	return list_has(list, word, len);
}

bool run_command_has_option(const struct blocklist_run *run, const char *list, const char *values)
{
	for (size_t i = 1; i < run->count; i++) {
		const char *word = run->words[i].text.s;
		size_t letters = word[0] == '-' ? 1 + strcspn(word + 1, values) : 0;

		if (*values && i > 1 && run_command_is_open(run->words[i - 1].text.s, values))
			continue;
		for (const char *one = strchr(list, '-'); one; one = strchr(one + 2, '-'))
			if (one[-1] == ' ' && (one[2] == ' ' || !one[2]) && letters &&
			    word[1] != '-' && memchr(word, one[1], letters + 1))
				return true;
		if (run_command_is_long(list, word))
			return true;
	}
	return false;
}

bool run_command_has_operand(const struct blocklist_run *run)
{
	for (size_t i = 1; i < run->count; i++)
		if (run->words[i].text.s[0] != '-')
			return true;
	return false;
}

bool run_command_is_operand(const struct blocklist_run *run, size_t i)
{
	return !strchr("-+", run->words[i].text.s[0]) &&
	       (i < 2 || !strchr("-+", run->words[i - 1].text.s[0]));
}

/* ---- programs ---- */

static const struct run_program run_command_programs[] = {
	{ .names = " sed gsed ", .scripts = " -f --file ", .texts = true },
	{ .names = " psql ", .scripts = " -f --file ",
	  .instead = " -c -f --command --file ", .values = "dFhLopPRTUv", .texts = true },
	{ .names = " mariadb mysql ",
	  .instead = " -e --execute ", .values = "DhpPSu", .texts = true },
	{ .names = " sqlite3 duckdb ", .scripts = " -init --init ", .instead = " ", .texts = true },
	{ .names = " vi vim nvim ex view ", .scripts = " -S -U -l -s -u ", .instead = " ",
	  .texts = true },
	{ .names = " ed ", .instead = " ", .texts = true },
	{ .names = " gdb lldb ", .instead = " ", .files = true, .texts = true },
	{ .names = " dc ", .instead = " ", .files = true },
	{ .names = " at batch ", .scripts = " -f --file ", .instead = " -f ", .values = "qt" },
	{ .names = " ninja ant scons ", .scripts = " -f --file " },
	{ .names = " make gmake bmake ", .scripts = " -f --file --makefile " },
	{ .names = " rake just ", .scripts = " -f --rakefile --justfile " },
	{ .names = " java ", .scripts = " -jar ", .files = true },
	{ .names = " cmake ", .scripts = " -P " },
	{ .names = " awk gawk mawk nawk original-awk ", .scripts = " -f --file -E --exec ",
	  .load = 'f', .load_names = " --file ", .load_values = "Ffv" },
	{ .names = " node nodejs ts-node tsx ",
	  .load = 'r', .load_names = " --require --import --loader --experimental-loader ",
	  .load_values = "Cepr", .has_modules = true },
	{ .names = " ruby jruby ", .load = 'r', .load_names = " ", .load_values = "CEFIKTWXeirx",
	  .has_modules = true, .elsewhere = " -C -X " },
	{ .names = " crontab jbang k6 mongo mongosh run-parts uv ", .files = true },
	{ .names = " go ", .files = true,
	  .builds = " build clean doc env fmt get install list mod test version vet work " },
	{ .names = " builtin command doas exec ionice nice nohup setsid stdbuf taskset timeout "
		   "xargs ", .starts = " " },
	{ .names = " env ", .starts = " -S --split-string " }, /* whose redirections are its own */
	{ .names = " sudo ", .starts = " -e --edit " },
	{ .names = " time ", .starts = " -o --output " },
	{ .names = " [ basename cat chmod cmp cut date df diff dirname du echo egrep expr false "
		   "fgrep grep head hostname id jq ls md5sum nproc printenv printf ps pwd "
		   "readlink realpath seq sha256sum sleep stat tac tail test tr true uname wc "
		   "which whoami ", .reads = true, .alone = true },
	{ .names = " apk apt apt-get dnf dpkg pacman pip pip3 tee yum zypper ", .alone = true },
	{ .names = NULL },
};

static const struct run_program *run_command_program(const struct shell_text *name)
{
	const struct run_program *row = run_command_programs;

	while (row->names && !list_has(row->names, name->s, name->len))
		row++;
	return row;
}

struct run_command run_command_read(const struct blocklist_run *run)
{
	const struct blocklist_name *name = name_lookup(run->program.s, run->program.len);
	struct run_command c = { .run = run, .program = run_command_program(&run->program),
				 .as = name ? name_wrapper(name) : NULL };

	c.interprets = c.as && (c.as->kind == WRAPPER_SHELL || c.as->kind == WRAPPER_CODE);
	c.has_script = c.program->scripts && run_command_has_option(run, c.program->scripts, "");
	if (c.interprets)
		run_script_find(run, c.as, &c.script);
	else
		c.script.from = c.has_script ? RUN_SCRIPT_FILE : RUN_SCRIPT_TEXT;
	return c;
}

/* ---- standard input ---- */

/* Does @c, of a program that is not an interpreter, take its standard input for commands? */
static bool run_command_reads_commands(const struct run_command *c)
{
	const struct run_program *p = c->program;

	return p->instead &&
	       !run_command_has_option(c->run, p->instead, p->values ? p->values : "");
}

/* Is a word the standard input: -, -f-, --file=-, /dev/stdin? */
static bool run_command_names_stdin(const struct blocklist_run *run)
{
	for (size_t i = 1; i < run->count; i++) {
		const struct shell_text *text = &run->words[i].text;

		if (text->len && (text->s[text->len - 1] == '-' || !strncmp(text->s, "/dev/", 5)))
			return true;
	}
	return false;
}

/* Does @c, which would start a shell without a command to start, have none? */
static bool run_command_starts_shell(const struct run_command *c)
{
	const struct blocklist_wrapper *as = c->as;
	struct args args = { 0 };
	bool starts;

	if (!as || (!as->login && !as->remote))
		return false;
	args_read(&args, c->run->words, c->run->count, strtab_get(as->values),
		  as->kind != WRAPPER_OPTION);
	starts = as->kind == WRAPPER_OPTION ? !args_has(&args, strtab_get(as->text))
					    : args.first_operand + as->skip >= c->run->count;
	args_release(&args);
	return starts;
}

bool run_command_runs_input(const struct run_command *c)
{
	return c->script.reads_input || run_command_starts_shell(c) ||
	       run_command_reads_commands(c) || (c->has_script && run_command_names_stdin(c->run));
}

/* ---- programs among the words ---- */

/* May @c start a program among its words, as in a container: docker exec -i c sh? What a shell
 * and the wrappers start is looked at as a command of its own. */
static bool run_command_may_start(const struct run_command *c)
{
	const struct blocklist_run *run = c->run;
	bool builtin = run->is_direct && shell_words_is_builtin(run->words[0].text.s);

	return !run->is_function && !builtin && !c->as && !c->program->alone;
}

/* Word @i of @run as a program. */
static struct blocklist_run run_command_inner(const struct blocklist_run *run, size_t i)
{
	struct blocklist_run inner = *run;
	bool foreign;

	inner.words += i;
	inner.count -= i;
	inner.program = name_base(inner.words, &foreign);
	return inner;
}

/* May @c start an interpreter among its words? */
static bool run_command_starts_script(const struct run_command *c)
{
	bool may_start = run_command_may_start(c);

	for (size_t i = 1; may_start && i < c->run->count && i < INNER_MAX; i++) {
		struct blocklist_run inner = run_command_inner(c->run, i);

		if (run_command_read(&inner).interprets)
			return true;
	}
	return false;
}

bool run_command_passes_input(const struct run_command *c)
{
	bool may_start = run_command_may_start(c);

	for (size_t i = 1; may_start && i < c->run->count; i++) {
		struct blocklist_run inner = run_command_inner(c->run, i);
		struct run_command command = run_command_read(&inner);

		if (i == INNER_MAX || run_command_runs_input(&command))
			return true;
	}
	return false;
}

bool run_command_runs_words(const struct run_command *c)
{
	const char *first = c->run->count > 1 ? shell_word_constant(&c->run->words[1]) : NULL;
	bool builds = first && list_has(c->program->builds, first, strlen(first));

	return (c->program->files && !builds) || run_command_starts_script(c);
}

/* ---- files among the words ---- */

const char *run_command_loaded(const struct run_command *c, size_t i)
{
	const struct blocklist_run *run = c->run;
	const char *word = run->words[i].text.s, *value = word + strcspn(word, "=");
	const char *next = i + 1 < run->count ? run->words[i + 1].text.s : NULL;

	if (run_command_is_long(c->program->load_names, word))
		return *value ? value + 1 : next;
	value = word[0] == '-' ? word + 1 + strcspn(word + 1, c->program->load_values) : "";
	if (*value != c->program->load || word[1] == '-')
		return NULL;
	return value[1] ? value + 1 : next;
}

bool run_command_is_later_file(const struct blocklist_run *run, size_t i)
{
	const struct shell_word *word = &run->words[i];

	if (i < 2 || !word->text.len || word->kind[0] != SHELL_LITERAL ||
	    !run_command_is_operand(run, i))
		return false;
	for (size_t k = 0; k < word->text.len; k++)
		if (word->kind[k] != SHELL_LITERAL && word->kind[k] != SHELL_GLOB)
			return false;
	return true;
}

/* ---- what it writes ---- */

bool run_command_is_harmless(const struct run_command *c)
{
	/* Builtins that run something later, or write files by their words. */
	static const char late[] = " bind complete fc hash history jobs time trap ";
	const struct blocklist_run *run = c->run;

	if (run->writes)
		return false;
	if (!run->count || run->is_test || run->is_function || c->program->reads)
		return true;
	if (run->is_direct && shell_words_is_builtin(run->words[0].text.s))
		return !list_has(late, run->program.s, run->program.len);
	return c->as && c->as->kind == WRAPPER_SHELL && c->script.from == RUN_SCRIPT_TEXT;
}
