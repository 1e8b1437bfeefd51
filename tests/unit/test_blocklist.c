/* The commands in this file and in the corpus are text to judge. None of them is ever run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <jansson.h>

#include "guard/blocklist.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct blocklist_verdict judge(const char *command)
{
	struct blocklist_input in = { .command = command };
	struct blocklist_verdict v;

	blocklist_judge(&in, &v);
	return v;
}

/* Judge @command with @args (NULL-terminated) and @text on stdin. */
static struct blocklist_verdict judge_all(const char *command, const char *const *args,
					  const char *text, size_t len)
{
	struct blocklist_input in = { command, args, text, len };
	struct blocklist_verdict v;

	blocklist_judge(&in, &v);
	return v;
}

static void assert_open(const char *command)
{
	struct blocklist_verdict v = judge(command);

	if (v.blocked)
		fail_msg("\"%s\": %s", command, v.reason);
	assert_null(v.rule);
	assert_null(v.suggestion);
	assert_false(v.has_span);
	assert_string_equal(v.reason, "");
}

static void test_blocklist_each_pattern(void **state)
{
	static const struct {
		const char *text, *rule;
		size_t start, end;
	} cases[] = {
		{ "rm -rf /", "literal.rm_root", 0, 8 },
		{ "sudo rm \t-rf\n/ \n", "literal.rm_root", 5, 14 },
		{ "/bin/rm -rf /", "literal.rm_root", 5, 13 },
		{ "rm\f-rf\v/\r\n", "literal.rm_root", 0, 8 },
		{ "rm -rf /*", "literal.rm_root_glob", 0, 9 },
		{ "rm -rf /* /.[!.]*", "literal.rm_root_glob", 0, 9 },
		{ "mkfs.ext4 /dev/sda1", "literal.mkfs", 0, 5 },
		{ "man mkfs.8", "literal.mkfs", 4, 9 },
		{ "dd if=/dev/zero of=/dev/sda bs=1M", "literal.dd_disk", 0, 26 },
		{ "dd bs=1M if=x count=1 of=/dev/sdb1", "literal.dd_disk", 0, 32 },
		{ "cat x > /dev/sda", "literal.redirect_disk", 6, 15 },
		{ "cat x >>/dev/sdb", "literal.redirect_disk", 7, 15 },
		{ "chmod -R 777 /", "literal.chmod_root", 0, 14 },
		{ "chmod  -R  777  /  ", "literal.chmod_root", 0, 17 },
		{ ":(){ :|:& };:", "literal.fork_bomb", 0, 13 },
		{ ":(){:|:&};:", "literal.fork_bomb", 0, 11 },
		{ ": ( ) {\n: | : &\n} ; :", "literal.fork_bomb", 0, 21 },
		{ "shutdown -h now", "literal.shutdown", 0, 8 },
		{ "git commit -m 'fix reboot'", "literal.reboot", 19, 25 },
		{ "init 0", "literal.init_runlevel_0", 0, 6 },
		{ "telinit; init  6", "literal.init_runlevel_6", 9, 16 },
		{ "git init 0-day-notes", "literal.init_runlevel_0", 4, 10 },
		{ "npm init 6pack", "literal.init_runlevel_6", 4, 10 },
		{ "systemctl  disable firewalld", "literal.firewalld_off", 0, 28 },
		{ "systemctl disable firewalld-double", "literal.firewalld_off", 0, 27 },
		{ "iptables -F", "literal.iptables_flush", 0, 11 },
		{ "iptables -FORWARD", "literal.iptables_flush", 0, 11 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct blocklist_verdict v = judge(cases[i].text);

		if (!v.blocked)
			fail_msg("not blocked: %s", cases[i].text);
		assert_string_equal(v.rule, cases[i].rule);
		assert_true(v.has_span);
		assert_int_equal(v.start, cases[i].start);
		assert_int_equal(v.end, cases[i].end);
		assert_non_null(v.suggestion);
		assert_non_null(strstr(v.reason, v.rule));
		assert_non_null(strstr(v.reason, "only data"));
		assert_non_null(strstr(v.reason, "override"));
	}
}

static void test_blocklist_near_misses(void **state)
{
	static const char *const texts[] = {
		"", " ", "ls", "rm -rf /tmp/x", "rm -rf / tmp", "rm -rf ./", "rm -rf", "rm -rf/",
		"farm -rf /", "rm -fr /", "rm_ -rf /", "_rm -rf /", "ls # rm -rf / would be bad",
		"rm -rf ./*", "mkfs", "mkfs.", "mkfs. x", "xmkfs.ext4", "dd if=a of=b",
		"dd if=/dev/zero of=images/dev/sda.img", "dd of=/dev/sda if=x",
		"add if=x of=/dev/sda", "dd if=x of=/dev/stdout", "cat x > dev/sda",
		"cat x > /dev/null", "cat x >| /dev/sda", "chmod -R 777 ./public",
		"chmod -R 777 /x", "chmod -r 777 /", "# chmod -R 777 /\nls -l", ":(){ :|:& }",
		"x(){ x|x& };x", "shutdowns", "pre_reboot", "rebooted", "Reboot", "init", "init 1",
		"init0", "init -6", "reinit 0", "systemctl disable firewall",
		"systemctl enable firewalld", "ip6tables -F", "iptables -L", "iptables -f",
		"iptables-F",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_open(texts[i]);
}

static void test_blocklist_arguments_are_joined(void **state)
{
	static const char *const rm[] = { "-rf", "/", NULL };
	static const char *const commit[] = { "commit", "-m", "before reboot", NULL };
	static const char *const split[] = { "boot", NULL };
	static const char *const empty[] = { NULL };
	static const char *const root[] = { "/", NULL };
	struct blocklist_verdict v;

	(void)state;
	v = judge_all("/bin/rm", rm, NULL, 0);
	assert_string_equal(v.rule, "literal.rm_root");
	assert_int_equal(v.start, 5);
	assert_int_equal(v.end, 13);
	v = judge_all("git", commit, NULL, 0);
	assert_string_equal(v.rule, "literal.reboot");
	assert_int_equal(v.start, strlen("git commit -m before "));
	assert_true(judge_all("rm -rf", root, NULL, 0).blocked);
	assert_true(judge_all("reboot", empty, NULL, 0).blocked);
	assert_false(judge_all("re", split, NULL, 0).blocked);
	/* The end of the text is the end of the last argument, not of the command. */
	assert_false(judge_all("rm -rf /", split, NULL, 0).blocked);
}

static void test_blocklist_stdin_of_a_shell(void **state)
{
	static const char text[] = "echo a\nreboot\n";
	static const char *const fed[] = {
		"sh", "bash -s", "/bin/sh", "cat | /usr/bin/zsh", "true;sh", "env X=1 dash",
		"(ksh)", "'bash'", "\"sh\" -", "busybox sh", "sudo -u x ash", "tcsh", "echo `mksh`",
		"x&&fish", "csh",
	};
	static const char *const not_fed[] = {
		"cat", "grep -c x", "python3", "shfmt", "bashful", "cat x.sh", "git stash",
		"/sh/cat", "sh_",
	};
	static const char *const args[] = { "-c", "exec /bin/bash", NULL };

	(void)state;
	for (size_t i = 0; i < COUNT(fed); i++) {
		struct blocklist_verdict v = judge_all(fed[i], NULL, text, sizeof(text) - 1);

		if (!v.blocked)
			fail_msg("not blocked: %s", fed[i]);
		assert_string_equal(v.rule, "literal.reboot");
		assert_false(v.has_span);
		assert_non_null(strstr(v.reason, "stdin"));
		assert_false(judge_all(fed[i], NULL, NULL, 0).blocked);
		assert_false(judge_all(fed[i], NULL, "ls\n", 3).blocked);
	}
	for (size_t i = 0; i < COUNT(not_fed); i++)
		if (judge_all(not_fed[i], NULL, text, sizeof(text) - 1).blocked)
			fail_msg("blocked: %s", not_fed[i]);
	assert_true(judge_all("env", args, text, sizeof(text) - 1).blocked);
	/* What stands in the command itself is reported first. */
	assert_true(judge_all("sh reboot", NULL, text, sizeof(text) - 1).has_span);
}

static void test_blocklist_nul_does_not_end_stdin(void **state)
{
	static const char text[] = "a\0b\0reboot\0";
	static const char at_end[] = "\0rm -rf /";

	(void)state;
	assert_true(judge_all("sh", NULL, text, sizeof(text) - 1).blocked);
	assert_true(judge_all("sh", NULL, at_end, sizeof(at_end) - 1).blocked);
	/* The bytes need no NUL behind them. */
	assert_false(judge_all("sh", NULL, "reboot", 5).blocked);
}

static void test_blocklist_reason_quotes_safely(void **state)
{
	char text[4096];
	size_t len = (size_t)sprintf(text, "dd if=\x01\n\xff");
	struct blocklist_verdict v;

	(void)state;
	while (len < 3000)
		len += (size_t)sprintf(text + len, "\xe2\x82\xac");
	sprintf(text + len, " of=/dev/sda");
	v = judge(text);
	assert_true(v.blocked);
	assert_int_equal(v.end, len + strlen(" of=/dev/sd"));
	json_t *reason = json_string(v.reason); /* NULL if it is not UTF-8 */

	assert_non_null(reason);
	json_decref(reason);
	assert_null(strpbrk(v.reason, "\x01\n\xff"));
	assert_non_null(strstr(v.reason, "dd if=  ?\xe2\x82\xac"));
	assert_non_null(strstr(v.reason, "\xe2\x82\xac...\""));
	assert_non_null(strstr(v.reason, "override"));
}

/* Texts that a matcher with backtracking would need minutes for. */
static void test_blocklist_is_linear(void **state)
{
	static const char *const pieces[] = {
		"rm ", "rm -rf /  ", ": ", ":(){ ", "> ", ">", "dd if=", "init ", "     ",
		"of=/dev/s", ":(){ :|:& }x", "chmod -R 777 / ", "systemctl disable ", "sh;",
	};
	enum { SIZE = 4 << 20 };
	char *text = malloc(SIZE + 2);
	clock_t start = clock();

	(void)state;
	for (size_t i = 0; i < COUNT(pieces); i++) {
		size_t len = strlen(pieces[i]), n = 0;

		for (; n + len <= SIZE; n += len)
			memcpy(text + n, pieces[i], len);
		strcpy(text + n, "x");
		assert_false(judge(text).blocked);
		assert_false(judge_all("sh", NULL, text, n + 1).blocked);
	}
	free(text);
	/* About 1 s with the sanitizers; a quadratic one would take hours. */
	assert_true((clock() - start) / CLOCKS_PER_SEC < 60);
}

/* ---- the corpus: label, command as a JSON string, reason ---- */

static FILE *open_corpus(const char *name)
{
	const char *dir = getenv("PROCPEN_CORPORA");
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "../shared/corpora", name);
	FILE *file = fopen(path, "r");

	if (!file)
		printf("# skipped: there is no %s\n", path);
	return file;
}

/*
 * Dangerous rows that the plain patterns miss are left to other layers; blocking
 * one here (a fork bomb over several lines) is no mistake.
 */
static void check_row(const char *label, const char *command, const char *reason)
{
	bool blocked = judge(command).blocked;

	if (strcmp(label, "seed-literal") == 0 || strstr(reason, "seed=hit")) {
		if (!blocked)
			fail_msg("not blocked: %s (%s)", command, reason);
	} else if (strcmp(label, "benign") == 0 && !strstr(reason, "literal pattern")) {
		if (blocked)
			fail_msg("blocked: %s (%s)", command, reason);
	}
}

static void test_blocklist_agrees_with_the_corpus(void **state)
{
	FILE *file = open_corpus("blocklist_dev.tsv");
	char *line = NULL;
	size_t size = 0;
	int rows = 0;

	(void)state;
	if (!file)
		skip();
	while (getline(&line, &size, file) > 0) {
		char *save, *label = strtok_r(line, "\t", &save);
		char *text = strtok_r(NULL, "\t", &save), *reason = strtok_r(NULL, "\t", &save);

		if (!text || text[0] != '"')
			continue;
		json_t *command = json_loads(text, JSON_DECODE_ANY, NULL);

		assert_non_null(command);
		check_row(label, json_string_value(command), reason);
		json_decref(command);
		rows++;
	}
	assert_true(rows > 400);
	free(line);
	fclose(file);
}

static void check_argv_row(const json_t *row)
{
	const json_t *list = json_object_get(row, "args"), *text = json_object_get(row, "stdin");
	const char *args[64] = { NULL };
	struct blocklist_verdict v;

	assert_true(json_array_size(list) < COUNT(args));
	for (size_t i = 0; i < json_array_size(list); i++)
		args[i] = json_string_value(json_array_get(list, i));
	v = judge_all(json_string_value(json_object_get(row, "command")), args,
		      json_string_value(text), json_string_length(text));
	if (strcmp(json_string_value(json_object_get(row, "label")), "benign") == 0 && v.blocked)
		fail_msg("%s: %s", json_string_value(json_object_get(row, "id")), v.reason);
}

static void test_blocklist_agrees_with_the_argv_corpus(void **state)
{
	FILE *file = open_corpus("blocklist_argv_dev.jsonl");
	int rows = 0;
	json_t *row;

	(void)state;
	if (!file)
		skip();
	while ((row = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
		check_argv_row(row);
		json_decref(row);
		rows++;
	}
	assert_true(rows > 10);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocklist_each_pattern),
		cmocka_unit_test(test_blocklist_near_misses),
		cmocka_unit_test(test_blocklist_arguments_are_joined),
		cmocka_unit_test(test_blocklist_stdin_of_a_shell),
		cmocka_unit_test(test_blocklist_nul_does_not_end_stdin),
		cmocka_unit_test(test_blocklist_reason_quotes_safely),
		cmocka_unit_test(test_blocklist_is_linear),
		cmocka_unit_test(test_blocklist_agrees_with_the_corpus),
		cmocka_unit_test(test_blocklist_agrees_with_the_argv_corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
