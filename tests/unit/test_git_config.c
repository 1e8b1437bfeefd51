#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "policy/git_config.h"
#include "scratch.h"

struct fixture {
	struct scratch tmp;
	struct scope *scope;
	struct git_config *g;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char *const none[] = { NULL };
	ERR_LOCAL(e);

	scratch_init(&f->tmp);
	scratch_mkdir(&f->tmp, "ws");
	scratch_mkdir(&f->tmp, "ws/.git");
	f->scope = scope_new(scratch_path(&f->tmp, "ws"), none, &e);
	assert_non_null(f->scope);
	f->g = git_config_new(f->scope);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	git_config_free(f->g);
	scope_free(f->scope);
	scratch_release(&f->tmp);
	free(f);
	return 0;
}

static void write_config(struct fixture *f, const char *text)
{
	(void)!unlink(scratch_path(&f->tmp, "ws/.git/config"));
	scratch_file(&f->tmp, "ws/.git/config", text, 0600);
}

/* What has changed since @start_us, from @from on; "" for nothing. */
static const char *told(struct fixture *f, int64_t start_us, const char *from)
{
	static char text[2048];
	char *found;

	git_config_look(f->g);
	found = git_config_changes(f->g, start_us);
	strcpy(text, found ? strstr(found, from) + strlen(from) : "");
	free(found);
	return text;
}

/* The start of a run. */
static int64_t begin(struct fixture *f)
{
	git_config_look(f->g);
	return clock_mono_us();
}

/* What a run that writes @text changes, without the path; "" for nothing. */
static const char *changed(struct fixture *f, const char *text)
{
	int64_t start_us = begin(f);

	write_config(f, text);
	return told(f, start_us, "/.git/config: ");
}

/* What the user has changed before a run is not the run's. */
static void test_git_config_before_a_run(void **state)
{
	struct fixture *f = *state;
	int64_t start_us;

	write_config(f, "[alias]a=b");
	git_config_begin(f->g);
	write_config(f, "[alias]c=d");
	usleep(150000); /* a look just before would do for this run, too */
	git_config_begin(f->g);
	start_us = clock_mono_us();
	assert_string_equal(told(f, start_us, ""), "");
}

/* Spellings that git reads as a setting, or as none (git-config(1)). */
static void test_git_config_is_read_as_git_does(void **state)
{
	static const struct {
		const char *text, *keys;
	} rows[] = {
		{ "[core]\n\thooksPath = /x\n", "core.hookspath" },
		{ "[CORE] HOOKSPATH=/x", "core.hookspath" },
		{ "\xef\xbb\xbf[core]\r\nfsmonitor\r\n", "core.fsmonitor" },
		{ "[core]\nbare = true\n[user]\nname = hooksPath = /x\n", "" },
		{ "# [core]\n; hooksPath = /x\n[core] # hooksPath = /x\n", "" },
		{ "[core]\nname = \"a # b\\\nhooksPath = x\"\n", "" },
		{ "[core]\nname = a # b \\\nhooksPath = x\n", "core.hookspath" },
		{ "[filter \"a.b ]\\\"c\"]\nclean = x\nsmudge=y",
		  "filter.a.b ]\"c.clean, filter.a.b ]\"c.smudge" },
		{ "[filter.lfs]\nclean = x", "filter.lfs.clean" },
		{ "[include]path=x\n[includeIf \"gitdir:/\"]path=y",
		  "include.path, includeif.gitdir:/.path" },
		{ "[alias]a=!b\n[alias \"c\"]d=e", "alias.a, alias.c.d" },
		{ "[aliases]\na=b\n[core \"x\"]y=z\n[hookspath]core=1\n[diff \"x\"]\nwordRegex=y", "" },
		{ "[diff \"x\"]textconv=a\n[diff]external=b\n[merge \"m\"]driver=c\n[credential]helper=d",
		  "credential.helper, diff.external, diff.x.textconv, merge.m.driver" },
		{ "[core]editor=x\npager=x\naskPass=x\ngitProxy=x",
		  "core.askpass, core.editor, core.gitproxy, core.pager" },
		{ "[pager]log=x\n[gpg]program=x\n[gpg \"ssh\"]program=x\n[sequence]editor=x\n"
		  "[interactive]diffFilter=x",
		  "gpg.program, gpg.ssh.program, interactive.difffilter, pager.log, sequence.editor" },
		{ "[remote \"o\"]uploadpack=x\nreceivepack=x\nvcs=x\n[submodule \"s\"]update=!x",
		  "remote.o.receivepack, remote.o.uploadpack, remote.o.vcs, submodule.s.update" },
		{ "[mergetool \"m\"]cmd=x\n[difftool \"d\"]cmd=x\n[extensions]worktreeConfig=true",
		  "difftool.d.cmd, extensions.worktreeconfig, mergetool.m.cmd" },
		{ "[diff \"x\"]command=a", "diff.x.command" },
		{ "[alias]\na=1\nb=1\nc=1\nd=1\ne=1\nf=1\ng=1",
		  "alias.a, alias.b, alias.c, alias.d, alias.e and 2 more" },
		{ "[alias]\nx = 1\nx = 2", "alias.x" },
		{ "[alias \"\xe2\x80\xae\x1b\"]x=1", "alias.\\u202e\\u001b.x" },
		{ "[credential \"https://me:S3CRET@h/\"]helper=x", "credential.https://me:***@h/.helper" },
		{ "[credential \"https://me:S3=CRET@h/\"]helper=x", "credential.https://me:***@h/.helper" },
		{ "[credential \"https://me:S3CRETS3CRETS3CRETS3CRETS3CRETS3CRETS3CRETS3CRET@h/\"]helper=x",
		  "credential.https://me:***@h/.helper" },
		{ "[core\nhooksPath = x", "a line that git refuses" },
		{ "[core]\nhooksPath = \"x\n", "a line that git refuses" },
		{ "[core]\nhooksPath = \\q\n", "a line that git refuses" },
		{ "hooksPath = x\n", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *f = *state;

		git_config_free(f->g);
		f->g = git_config_new(f->scope);
		write_config(f, "");
		assert_string_equal(changed(f, rows[i].text), rows[i].keys);
	}
}

/* What was there before is no change; what is taken away is one, and so is another value. */
static void test_git_config_compares(void **state)
{
	struct fixture *f = *state;

	write_config(f, "[core]\nhooksPath = /x\n[alias]\na=b\n");
	assert_string_equal(changed(f, "[user]\nname = n\n[alias]\na=b\n[core]\nhooksPath = /x"), "");
	assert_string_equal(changed(f, "[alias]\na=c\n[core]\nhooksPath = /x"), "alias.a");
	assert_string_equal(changed(f, "[alias]\na=c\n"), "core.hookspath");
	assert_string_equal(changed(f, "[alias]\na = \"c\" ; the same"), "");
}

/* A change is told of the runs during which it was made: not of one that started later. */
static void test_git_config_between_runs(void **state)
{
	struct fixture *f = *state;
	int64_t start_us = begin(f);

	write_config(f, "[core]\nhooksPath = /x\n");
	assert_string_equal(changed(f, "[core]\nhooksPath = /x\n[user]\nname=n\n"), "");
	assert_string_equal(told(f, clock_mono_us(), ""), "");
	assert_string_equal(told(f, start_us, "/.git/config: "), "core.hookspath");
}

/* A run makes one change before another run starts, and one more. */
static void test_git_config_changes_twice(void **state)
{
	struct fixture *f = *state;
	int64_t start_us = begin(f);

	write_config(f, "[core]\nhooksPath = /x\n");
	assert_string_equal(changed(f, "[core]\nhooksPath = /x\n[alias]\nst = x\n"), "alias.st");
	assert_non_null(strstr(told(f, start_us, ""), "/.git/config: core.hookspath; "));
	assert_non_null(strstr(told(f, start_us, ""), "/.git/config: alias.st"));
}

static void test_git_config_what_is_no_file(void **state)
{
	struct fixture *f = *state;
	const char *path = scratch_path(&f->tmp, "ws/.git/config");
	char *large = malloc(300000);

	memset(large, '#', 299999);
	large[299999] = '\0';
	assert_string_equal(changed(f, large), "more than 256 KiB");
	free(large);
	for (int i = 0; i < 2; i++) { /* neither is opened */
		int64_t start_us;

		write_config(f, "");
		start_us = begin(f);
		(void)!unlink(path);
		if (i)
			assert_int_equal(mkfifo(path, 0600), 0);
		else
			assert_int_equal(symlink("/dev/zero", path), 0);
		assert_string_equal(told(f, start_us, "/.git/config: "), "no regular file");
	}
}

/* `chmod 0 .` hides from us whether a file is there. */
static void test_git_config_unreadable(void **state)
{
	struct fixture *f = *state;
	const uid_t uid = geteuid();
	const char *text, *git;
	int64_t start_us;

	write_config(f, "");
	start_us = begin(f);
	git = scratch_path(&f->tmp, "ws/.git");
	assert_int_equal(uid ? chmod(git, 0) : seteuid(65534), 0);
	text = told(f, start_us, uid ? "/.git/config: " : "/.git: ");
	assert_int_equal(uid ? chmod(git, 0700) : seteuid(0), 0);
	assert_memory_equal(text, "cannot be read; ", 16);
}

/* What is not read hides no later change: a first run could make it so, and a second one set a hook. */
static void test_git_config_changes_unread(void **state)
{
	struct fixture *f = *state;
	const char *path = scratch_path(&f->tmp, "ws/.git/config");
	char *large = malloc(300000);
	int64_t start_us;

	memset(large, '#', 299999);
	large[299999] = '\0';
	write_config(f, large);
	begin(f);
	memcpy(large, "[core]\nhooksPath = x\n", 21);
	assert_string_equal(changed(f, large), "more than 256 KiB");
	start_us = begin(f);
	assert_string_equal(told(f, start_us, ""), "");
	free(large);

	for (int i = 0; i < 2; i++) {
		start_us = begin(f);
		(void)!unlink(path);
		assert_int_equal(symlink(i ? "b" : "a", path), 0);
		assert_string_equal(told(f, start_us, "/.git/config: "),
				    i ? "no regular file" : "more than 256 KiB, no regular file");
	}
	start_us = begin(f);
	assert_string_equal(told(f, start_us, ""), "");
}

/* The name of a section counts with each of its keys, and a command must not fill the memory so. */
static void test_git_config_long_names(void **state)
{
	enum { LEN = 5000 };
	struct fixture *f = *state;
	char *text = malloc(3 * LEN + 100);
	int at = sprintf(text, "[alias \"%0*d\"]\n", LEN, 0);

	for (int i = 0; i < LEN; i++)
		at += sprintf(text + at, "a\n");
	text[strlen("[alias \"")] = 's';
	assert_non_null(strstr(changed(f, text), "names of more than 4 MiB"));
	text[strlen("[alias \"") + 100] = 's'; /* of those before the limit the first is named */
	assert_non_null(strstr(changed(f, text), "alias.s000"));
	assert_string_equal(changed(f, text), "");
	strcpy(text + at, "[core]\nhooksPath = x\n"); /* git reads on */
	assert_string_equal(changed(f, text), "names of more than 4 MiB");
	free(text);
}

static void move(struct fixture *f, const char *from, const char *to)
{
	char old[SCRATCH_PATH];

	scratch_copy(&f->tmp, from, old);
	assert_int_equal(rename(old, scratch_path(&f->tmp, to)), 0);
}

/* Other files that make git take its hooks and settings from elsewhere; and some that do not. */
static void test_git_config_led_elsewhere(void **state)
{
	static const struct {
		const char *name, *text, *told;
	} rows[] = {
		{ "ws/.git/commondir", "../evil\n", ".git/commondir: leads git elsewhere" },
		{ "ws/.git/config.worktree", "[core]\nhooksPath = x\n",
		  ".git/config.worktree: core.hookspath" },
		{ "ws/HEAD", "ref: refs/heads/main\n", "HEAD: leads git elsewhere" },
		{ "ws/HEAD", "ref: refs/heads/other\n", "" },
		{ "ws/config", "[core]\nhooksPath = x\n", "" },
		{ "ws/.git/HEAD", "ref: refs/heads/main\n", "" },
	};
	struct fixture *f = *state;
	int64_t start_us = begin(f);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start_us = begin(f);
		scratch_file(&f->tmp, rows[i].name, rows[i].text, 0600);
		assert_string_equal(told(f, start_us, "/ws/"), rows[i].told);
	}
	start_us = begin(f);
	move(f, "ws/.git", "ws/old");
	scratch_file(&f->tmp, "ws/.git", "gitdir: evil\n", 0600);
	assert_non_null(strstr(told(f, start_us, "/ws/"), ".git: leads git elsewhere"));
}

/* A change by which no time of the file changes: all of .git is replaced by an older one; or the
 * file is written through a mapping that has written before. */
static void test_git_config_unchanged_times(void **state)
{
	static const char before[] = "[core]\nneutral = x\n", after[] = "[core]\npager\t= x\n\n\n";
	struct fixture *f = *state;
	int64_t start_us;
	char *map;
	int fd;

	scratch_mkdir(&f->tmp, "ws/new");
	scratch_file(&f->tmp, "ws/new/config", "[core]\nfsmonitor = x\n", 0600);
	write_config(f, before);
	usleep(50000);
	start_us = begin(f);
	move(f, "ws/.git", "ws/old");
	move(f, "ws/new", "ws/.git");
	assert_string_equal(told(f, start_us, "/.git/config: "), "core.fsmonitor");

	write_config(f, before);
	fd = open(scratch_path(&f->tmp, "ws/.git/config"), O_RDWR);
	map = mmap(NULL, sizeof(before), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(fd >= 0 && map != MAP_FAILED);
	map[0] = before[0];
	start_us = begin(f);
	memcpy(map, after, sizeof(before) - 1);
	assert_string_equal(told(f, start_us, "/.git/config: "), "core.pager");
	munmap(map, sizeof(before));
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_git_config_before_a_run),
		TEST(test_git_config_is_read_as_git_does),
		TEST(test_git_config_compares),
		TEST(test_git_config_between_runs),
		TEST(test_git_config_changes_twice),
		TEST(test_git_config_what_is_no_file),
		TEST(test_git_config_unreadable),
		TEST(test_git_config_changes_unread),
		TEST(test_git_config_long_names),
		TEST(test_git_config_led_elsewhere),
		TEST(test_git_config_unchanged_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
