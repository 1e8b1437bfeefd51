/*
 * The same command in other places. What is blocked by itself is blocked wherever a
 * shell would run it; what is allowed stays allowed there; and either is nothing but
 * text where it is data.
 */
#include "unit.h"

#include "corpus.h"
#include "verdict.h"

struct context {
	const char *before, *after;
	bool quoted; /* in single quotes: the command is one word */
};

/* Where it is run. A newline ends a comment or a here-document of the command itself. */
static const struct context runs[] = {
	{ "( ", "\n)", false },
	{ "{ ", "\n}", false },
	{ "true && { ", "\n}", false },
	{ "true && { ", "\n} & wait", false },
	{ "while true; do ", "\nsleep 5; done &", false },
	{ "ls | { ", "\n} > log 2>&1", false },
	{ "if true; then\n", "\nfi", false },
	{ "if ", "\nthen :; fi", false },
	{ "while sleep 1; do ", "\ndone", false },
	{ "for i in 1 2 3; do ", "\ndone", false },
	{ "case x in\n*) ", "\n;; esac", false },
	{ "f() { ", "\n}; f", false },
	{ "echo \"a $(", "\n) b\"", false },
	{ "x=$(", "\n)", false },
	{ "cat <(", "\n)", false },
	{ "cat <<END\n$(", "\n)\nEND", false },
	{ "# comment\n\n", "\n# end", false },
	{ "echo one; echo two\n", "\necho three", false },
	{ "sh -c ", "", true },
	{ "sudo -n bash -ec ", " arg", true },
	{ "eval ", "", true },
	{ "env A=b nohup timeout 5 sh -c ", " &", true },
	{ "trap ", " EXIT", true },
	{ "bash <<'END'\n", "\nEND", false },
	{ "the_text=", "; eval \"$the_text\"", true },
	{ "bash <<< ", "", true },
	{ "printf '%s\\n' ", " | sh", true },
	{ "find . -name x -exec sh -c ", " \\;", true },
	{ "xargs -n1 sh -c ", "", true },
};

/* Where it is text. */
static const struct context data[] = {
	{ "echo ", "", true },
	{ ": ", "", true },
	{ "x=", "", true },
	{ "printf '%s' ", " > notes.txt", true },
	{ "git commit -m ", "", true },
	{ "grep -rnF -- ", " docs", true },
	{ "[ \"$x\" = ", " ] && echo yes", true },
	{ "cat <<'END'\n", "\nEND", false },
	{ "cat > notes.md <<'END'\n", "\nEND", false },
	{ "python3 x.py --text ", "", true },
	{ "case $x in ", ") echo same;; esac", true },
	{ "for w in ", "; do echo \"$w\"; done", true },
	{ "wc -c <<< ", "", true },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct found {
	int rows, checked, wrong;
};

/* All contexts for each row; without STRESS every ninth one, and others for the next row. */
static bool takes(const struct found *f, size_t context)
{
	return unit_stress() || context % 9 == (size_t)f->rows % 9;
}

static char *quote(const char *text)
{
	char *quoted = malloc(strlen(text) * 4 + 3), *end = quoted;

	assert_non_null(quoted);
	*end++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			end = stpcpy(end, "'\\'");
		*end++ = *text;
	}
	strcpy(end, "'");
	return quoted;
}

static char *put(const struct context *c, const char *command)
{
	char *middle = c->quoted ? quote(command) : strdup(command), *text;

	assert_true(asprintf(&text, "%s%s%s", c->before, middle, c->after) > 0);
	free(middle);
	return text;
}

static void expect(struct found *f, const char *text, bool blocked)
{
	struct blocklist_verdict v;

	corpus_judge(text, &v);
	verdict_check(&v, strlen(text));
	f->checked++;
	if (v.blocked == blocked)
		return;
	f->wrong++;
	json_t *string = json_string_nocheck(text);
	char *line = json_dumps(string, JSON_ENCODE_ANY);

	printf("# %s: %s   [%s]\n", v.blocked ? "blocked" : "missed", line ? line : "?",
	       v.blocked ? v.rule : "");
	free(line);
	json_decref(string);
}

/*
 * Text that is no shell by itself may become some when something is put around it,
 * and a mere comment is nothing that a group may hold.
 */
static bool is_whole(const struct corpus_row *row)
{
	return strcmp(row->file, "too-complex.tsv") != 0 &&
	       (row->command[0] != '#' || strchr(row->command, '\n'));
}

static bool starts_shell(const struct context *c)
{
	return strstr(c->before, "sh -") || strstr(c->before, "bash <") || strstr(c->after, "| sh");
}

/*
 * find puts its own path into every {} of the command, also inside a quoted text; and $0 is another
 * word behind find, xargs and the argument of bash -c; local fails outside of a function only;
 * behind a loop that may have no turn a trap may find its variables unset; a fork bomb is told by
 * what it puts into the background itself. Rows of the family own-shell are about $0 and the
 * variables of the shell that gets the whole.
 */
static bool keeps_sense(const struct context *c, const struct corpus_row *row)
{
	static const char *const givers[] = { "find ", "xargs ", "sudo -n bash" };
	static const char *const bombs[] = { "()", "function ", "while ", "until ", "for ((" };
	const char *command = row->command;

	for (size_t i = 0; i < COUNT(givers); i++)
		if (!strncmp(c->before, givers[i], strlen(givers[i])) &&
		    ((i == 0 && strstr(command, "{}")) || strstr(command, "$0")))
			return false;
	for (size_t i = 0; !c->quoted && strchr(c->after, '&') && i < COUNT(bombs); i++)
		if (strstr(command, bombs[i]))
			return false;
	if (!strncmp(c->before, "f()", 3) && strstr(command, "; local "))
		return false;
	if (!strncmp(c->before, "while", 5) && strstr(command, "; trap "))
		return false;
	return strcmp(row->file, "own-shell.tsv") != 0 || !starts_shell(c);
}

static void run_row(void *ctx, const struct corpus_row *row)
{
	struct found *f = ctx;
	bool blocked = !strcmp(row->label, "block");

	if ((!blocked && strcmp(row->label, "allow")) || !is_whole(row))
		return;
	f->rows++;
	for (size_t i = 0; i < COUNT(runs); i++) {
		char *text = put(&runs[i], row->command);

		if (takes(f, i) && keeps_sense(&runs[i], row))
			expect(f, text, blocked);
		free(text);
	}
}

static void data_row(void *ctx, const struct corpus_row *row)
{
	struct found *f = ctx;

	f->rows++;
	for (size_t i = 0; i < COUNT(data); i++) {
		char *text = put(&data[i], row->command);

		if (takes(f, i))
			expect(f, text, false);
		free(text);
	}
}

static void check_all(corpus_fn *fn)
{
	struct found f = { 0, 0, 0 };

	corpus_tricks(fn, &f);
	printf("# %d texts, %d wrong\n", f.checked, f.wrong);
	assert_true(f.checked > (unit_stress() ? 20000 : 6000));
	assert_int_equal(f.wrong, 0);
}

static void test_context_that_runs_it(void **state)
{
	(void)state;
	check_all(run_row);
}

static void test_context_where_it_is_data(void **state)
{
	(void)state;
	check_all(data_row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_context_that_runs_it),
		cmocka_unit_test(test_context_where_it_is_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
