/* The commands in this file are text to judge. None of them is ever run. */
#include "unit.h"

#include "base/mem.h"
#include "blocklist/literal.h"

static void test_literal_each_pattern(void **state)
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
		{ "systemctl  disable firewalld", "literal.firewalld_off", 0, 28 },
		{ "systemctl disable firewalld-double", "literal.firewalld_off", 0, 27 },
		{ "iptables -F", "literal.iptables_flush", 0, 11 },
		{ "iptables -FORWARD", "literal.iptables_flush", 0, 11 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct literal l;

		if (!literal_find(cases[i].text, strlen(cases[i].text), &l))
			fail_msg("not found: %s", cases[i].text);
		assert_string_equal(l.id, cases[i].rule);
		assert_int_equal(l.start, cases[i].start);
		assert_int_equal(l.end, cases[i].end);
		assert_non_null(l.suggestion);
		assert_non_null(l.shape);
	}
}

static void test_literal_near_misses(void **state)
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
		"init0", "init -6", "npm init 6pack", "reinit 0", "systemctl disable firewall",
		"systemctl enable firewalld", "ip6tables -F", "iptables -L", "iptables -f",
		"iptables-F",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct literal l;

		if (literal_find(texts[i], strlen(texts[i]), &l))
			fail_msg("found %s: %s", l.id, texts[i]);
	}
}

static void test_literal_names_shell(void **state)
{
	static const char *const shells[] = {
		"sh", "bash -s", "/bin/sh", "cat | /usr/bin/zsh", "true;sh", "env X=1 dash",
		"(ksh)", "'bash'", "\"sh\" -", "busybox sh", "sudo -u x ash", "tcsh", "echo `mksh`",
		"x&&fish", "csh", "exec $0", "eval x", ". /dev/stdin",
	};
	static const char *const others[] = {
		"cat", "grep -c x", "python3", "shfmt", "bashful", "cat x.sh", "git stash",
		"/sh/cat", "sh_", "",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(shells); i++)
		if (!literal_names_shell(shells[i], strlen(shells[i])))
			fail_msg("no shell: %s", shells[i]);
	for (size_t i = 0; i < COUNT_OF(others); i++)
		if (literal_names_shell(others[i], strlen(others[i])))
			fail_msg("a shell: %s", others[i]);
}

/* Texts that a matcher with backtracking would need hours for. */
static void test_literal_is_linear(void **state)
{
	static const char *const pieces[] = {
		"rm ", "rm -rf /  ", ": ", ":(){ ", "> ", ">", "dd if=", "init ", "     ",
		"of=/dev/s", ":(){ :|:& }x", "chmod -R 777 / ", "systemctl disable ", "sh;",
	};
	enum { SIZE = 4 << 20 };
	char *text = malloc(SIZE + 2);
	struct literal l;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(pieces); i++) {
		size_t len = strlen(pieces[i]), n = 0;

		for (; n + len <= SIZE; n += len)
			memcpy(text + n, pieces[i], len);
		strcpy(text + n, "x");
		assert_false(literal_find(text, n + 1, &l));
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_literal_each_pattern),
		cmocka_unit_test(test_literal_near_misses),
		cmocka_unit_test(test_literal_names_shell),
		cmocka_unit_test(test_literal_is_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
