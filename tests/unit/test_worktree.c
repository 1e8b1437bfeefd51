#include "unit.h"

#include "scratch.h"

#include "base/mem.h"
#include "policy/worktree.h"

/*
 * <dir>/main/.git             the common directory; worktrees/wt is the worktree's own part
 * <dir>/wt                    the workspace
 * <dir>/fake                  looks like a repository, and knows no worktree
 */
struct fixture {
	struct scratch tmp;
};

static void write_path(struct fixture *f, const char *name, const char *before, const char *target)
{
	char text[2 * SCRATCH_PATH];

	snprintf(text, sizeof(text), "%s%s/%s\n", before, f->tmp.dir, target);
	scratch_file(&f->tmp, name, text, 0600);
}

static void make_repository(struct fixture *f, const char *name)
{
	static const char *const dirs[] = { "", "/objects", "/refs", "/worktrees" };
	char path[64];

	for (size_t i = 0; i < COUNT_OF(dirs); i++) {
		snprintf(path, sizeof(path), "%s%s", name, dirs[i]);
		scratch_mkdir(&f->tmp, path);
	}
	snprintf(path, sizeof(path), "%s/HEAD", name);
	scratch_file(&f->tmp, path, "ref: refs/heads/main\n", 0600);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	scratch_init(&f->tmp);
	scratch_mkdir(&f->tmp, "main");
	make_repository(f, "main/.git");
	scratch_mkdir(&f->tmp, "main/.git/worktrees/wt");
	scratch_mkdir(&f->tmp, "wt");
	write_path(f, "wt/.git", "gitdir: ", "main/.git/worktrees/wt");
	write_path(f, "main/.git/worktrees/wt/gitdir", "", "wt/.git");
	make_repository(f, "fake");
	scratch_mkdir(&f->tmp, "fake/worktrees/wt");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_release(&f->tmp);
	free(f);
	return 0;
}

/* worktree_common_dir() of <dir>/wt with @extra accessible too; heap. */
static char *common_dir(struct fixture *f, char *extra)
{
	char *const list[] = { extra, NULL };
	ERR_LOCAL(e);
	struct scope *scope = scope_new(scratch_path(&f->tmp, "wt"), list, &e);
	char *found;

	assert_non_null(scope);
	found = worktree_common_dir(scope);
	scope_free(scope);
	return found;
}

static void assert_found(struct fixture *f, const char *expected)
{
	AUTO_FREE char *found = common_dir(f, NULL);

	assert_non_null(found);
	assert_string_equal(found, scratch_path(&f->tmp, expected));
}

static void assert_none(struct fixture *f)
{
	AUTO_FREE char *found = common_dir(f, NULL);

	if (found)
		fail_msg("recognised %s", found);
}

static void test_worktree_names_the_common_directory(void **state)
{
	struct fixture *f = *state;

	assert_found(f, "main/.git");
	/* git worktree add --relative-paths */
	scratch_file(&f->tmp, "wt/.git", "gitdir: ../main/.git/worktrees/wt\r\n", 0600);
	scratch_file(&f->tmp, "main/.git/worktrees/wt/gitdir", "../../../../wt/.git\n", 0600);
	assert_found(f, "main/.git");
}

static void test_worktree_is_silent_where_nothing_needs_opening(void **state)
{
	struct fixture *f = *state;
	char extra[SCRATCH_PATH];

	scratch_copy(&f->tmp, "main", extra);
	assert_null(common_dir(f, extra));
	unlink(scratch_path(&f->tmp, "wt/.git"));
	assert_none(f);
	scratch_mkdir(&f->tmp, "wt/.git");
	assert_none(f);
}

/* The server's user or the owner of the workspace must have made the repository. */
static void test_worktree_asks_who_owns_the_repository(void **state)
{
	struct fixture *f = *state;

	if (geteuid())
		skip();
	assert_int_equal(chown(scratch_path(&f->tmp, "main/.git"), 65534, (gid_t)-1), 0);
	assert_none(f);
	assert_int_equal(chown(scratch_path(&f->tmp, "wt"), 65534, (gid_t)-1), 0);
	assert_found(f, "main/.git");
}

static void test_worktree_believes_no_claim(void **state)
{
	struct fixture *f = *state;
	char target[SCRATCH_PATH];

	/* A repository that does not know this worktree. */
	write_path(f, "wt/.git", "gitdir: ", "fake/worktrees/wt");
	assert_none(f);
	write_path(f, "fake/worktrees/wt/gitdir", "", "main/.git");
	assert_none(f);
	/* Any directory of the machine. */
	scratch_file(&f->tmp, "wt/.git", "gitdir: /etc\n", 0600);
	assert_none(f);
	scratch_file(&f->tmp, "wt/.git", "gitdir: /proc/self/cwd\n", 0600);
	assert_none(f);
	/* The right one, in another shape. */
	write_path(f, "wt/.git", "gitdir: ", "main/.git/worktrees/wt\nx");
	assert_none(f);
	write_path(f, "wt/.git", "", "main/.git/worktrees/wt");
	assert_none(f);
	scratch_file(&f->tmp, "wt/.git", "", 0600);
	assert_none(f);
	/* The .git file of another worktree: by a link, and by a second name. */
	scratch_mkdir(&f->tmp, "other");
	scratch_copy(&f->tmp, "other/.git", target);
	assert_int_equal(rename(scratch_path(&f->tmp, "wt/.git"), target), 0);
	write_path(f, "other/.git", "gitdir: ", "main/.git/worktrees/wt");
	write_path(f, "main/.git/worktrees/wt/gitdir", "", "other/.git");
	scratch_link(&f->tmp, "../other/.git", "wt/.git");
	assert_none(f);
	unlink(scratch_path(&f->tmp, "wt/.git"));
	assert_int_equal(link(target, scratch_path(&f->tmp, "wt/.git")), 0);
	assert_none(f);
}

static void test_worktree_wants_a_repository(void **state)
{
	static const char *const parts[] = { "HEAD", "objects", "refs" };
	struct fixture *f = *state;
	char part[64], from[SCRATCH_PATH];

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		snprintf(part, sizeof(part), "main/.git/%s", parts[i]);
		scratch_copy(&f->tmp, part, from);
		assert_int_equal(rename(from, scratch_path(&f->tmp, "moved")), 0);
		assert_none(f);
		assert_int_equal(rename(scratch_path(&f->tmp, "moved"), from), 0);
	}
	assert_found(f, "main/.git");
}

static void test_worktree_never_opens_the_home(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE char *home = mem_strdup(getenv("HOME"));

	setenv("HOME", scratch_path(&f->tmp, "main/.git"), 1);
	assert_none(f);
	setenv("HOME", scratch_path(&f->tmp, "main/.git/objects"), 1);
	assert_none(f);
	setenv("HOME", scratch_path(&f->tmp, "main"), 1);
	assert_found(f, "main/.git");
	if (home)
		setenv("HOME", home, 1);
	else
		unsetenv("HOME");
}

static void test_worktree_names_no_path_that_forges_text(void **state)
{
	static const char *const names[] = { "a\nb", "a\033[31m", "it's", "\xff" };
	struct fixture *f = *state;
	char from[SCRATCH_PATH], text[3 * SCRATCH_PATH];

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		/* Named by way of a link, because a .git file has one line. */
		scratch_copy(&f->tmp, i ? names[i - 1] : "main", from);
		assert_int_equal(rename(from, scratch_path(&f->tmp, names[i])), 0);
		unlink(scratch_path(&f->tmp, "link"));
		scratch_link(&f->tmp, names[i], "link");
		write_path(f, "wt/.git", "gitdir: ", "link/.git/worktrees/wt");
		assert_none(f);
	}
	scratch_copy(&f->tmp, names[COUNT_OF(names) - 1], from);
	assert_int_equal(rename(from, scratch_path(&f->tmp, "a b $(x)")), 0);
	snprintf(text, sizeof(text), "gitdir: %s/a b $(x)/.git/worktrees/wt\n", f->tmp.dir);
	scratch_file(&f->tmp, "wt/.git", text, 0600);
	assert_found(f, "a b $(x)/.git");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_worktree_names_the_common_directory),
		TEST(test_worktree_is_silent_where_nothing_needs_opening),
		TEST(test_worktree_asks_who_owns_the_repository),
		TEST(test_worktree_believes_no_claim),
		TEST(test_worktree_wants_a_repository),
		TEST(test_worktree_never_opens_the_home),
		TEST(test_worktree_names_no_path_that_forges_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
