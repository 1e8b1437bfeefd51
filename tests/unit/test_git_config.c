#include "unit.h"

#include <stdlib.h>
#include <string.h>
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
	struct err e = ERR_INIT;

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

/* What a run that writes @text changes, without the path; "" for nothing. */
static const char *changed(struct fixture *f, const char *text)
{
	static char keys[2048];
	int64_t start = clock_wall_ms(), start_us = clock_mono_us();
	char *found;

	git_config_begin(f->g);
	write_config(f, text);
	git_config_look(f->g);
	found = git_config_changes(f->g, start, start_us);
	strcpy(keys, found ? strstr(found, "/.git/config: ") + strlen("/.git/config: ") : "");
	free(found);
	return keys;
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
	char *long_run;
	int64_t start = clock_wall_ms(), start_us = clock_mono_us();

	git_config_begin(f->g);
	write_config(f, "[core]\nhooksPath = /x\n");
	usleep(120000);
	assert_string_equal(changed(f, "[core]\nhooksPath = /x\n[user]\nname=n\n"), "");
	git_config_look(f->g);
	assert_null(git_config_changes(f->g, clock_wall_ms(), clock_mono_us()));
	long_run = git_config_changes(f->g, start, start_us);
	assert_non_null(long_run);
	free(long_run);
}

static void test_git_config_what_is_no_file(void **state)
{
	struct fixture *f = *state;
	const char *path = scratch_path(&f->tmp, "ws/.git/config");
	int64_t start = clock_wall_ms(), start_us = clock_mono_us();
	char *found, *large = malloc(300000);

	git_config_begin(f->g);
	memset(large, '#', 299999);
	large[299999] = '\0';
	assert_string_equal(changed(f, large), "more than 256 KiB");
	free(large);
	for (int i = 0; i < 2; i++) { /* neither is opened */
		(void)!unlink(path);
		if (i)
			assert_int_equal(mkfifo(path, 0600), 0);
		else
			assert_int_equal(symlink("/dev/zero", path), 0);
		git_config_look(f->g);
	}
	found = git_config_changes(f->g, start, start_us);
	assert_non_null(strstr(found, "no regular file"));
	free(found);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_git_config_is_read_as_git_does),
		TEST(test_git_config_compares),
		TEST(test_git_config_between_runs),
		TEST(test_git_config_what_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
