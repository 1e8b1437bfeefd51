#include "unit.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "policy/config_file.c"
#include "scratch.h"

static struct scratch tmp;
static struct config_file file;
static struct buf text;

static int read_it(const char *name, struct err *e)
{
	config_file_release(&file);
	buf_release(&text);
	buf_init(&text, CONFIG_FILE_MAX + 3 * 4096); /* the bound is not the buffer's */
	return config_file_read(&file, scratch_path(&tmp, name), &text, e);
}

static void expect_read(const char *name, const char *content)
{
	ERR_LOCAL(e);

	if (read_it(name, &e) != 1)
		fail_msg("%s: %s", name, e.message);
	assert_string_equal(text.data, content);
}

static void expect_refused(const char *name, const char *part)
{
	ERR_LOCAL(e);

	assert_int_equal(read_it(name, &e), -1);
	if (!strstr(e.message, part) || e.type != ERR_INVALID_PARAMS)
		fail_msg("%s: %s", name, e.message);
	assert_true(e.hint[0] || e.sys);
	err_release(&e);
}

static int setup(void **state)
{
	(void)state;
	umask(022);
	scratch_init(&tmp);
	scratch_mkdir(&tmp, "dir");
	scratch_file(&tmp, "dir/file", "{}", 0600);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	config_file_release(&file);
	buf_release(&text);
	scratch_release(&tmp);
	return 0;
}

static void test_config_file_is_read(void **state)
{
	ERR_LOCAL(e);

	(void)state;
	expect_read("dir/file", "{}"); /* below /tmp, which has the sticky bit */
	assert_string_equal(file.path, scratch_path(&tmp, "dir/file"));
	assert_true(config_file_lies_in(&file, scratch_path(&tmp, "dir")));
	assert_true(config_file_lies_in(&file, file.path));
	assert_true(config_file_lies_in(&file, "/"));
	assert_false(config_file_lies_in(&file, "/proc"));
	assert_int_equal(read_it("missing", &e), 0);
	assert_null(file.path);
	scratch_file(&tmp, "dir/empty", "", 0400);
	assert_int_equal(read_it("dir/empty", &e), 1);
	assert_int_equal(text.len, 0);
}

static void test_config_file_others_may_not_write(void **state)
{
	ERR_LOCAL(e);

	(void)state;
	chmod(scratch_path(&tmp, "dir/file"), 0620);
	expect_refused("dir/file", "other users may write the file");
	chmod(scratch_path(&tmp, "dir/file"), 0602);
	expect_refused("dir/file", "dir/file (mode 0602)");
	chmod(scratch_path(&tmp, "dir/file"), 01602); /* it protects names in a directory */
	expect_refused("dir/file", "dir/file (mode 1602)");
	chmod(scratch_path(&tmp, "dir/file"), 0644);
	chmod(scratch_path(&tmp, "dir"), 0770);
	expect_refused("dir/file", "other users may write the directory");
	assert_int_equal(read_it("dir/none", &e), 0); /* there is nothing to distrust */
	chmod(scratch_path(&tmp, "dir"), 01777);
	expect_read("dir/file", "{}");
}

static void test_config_file_links_are_followed_and_judged(void **state)
{
	(void)state;
	scratch_mkdir(&tmp, "open");
	scratch_mkdir(&tmp, "open/in");
	scratch_file(&tmp, "open/in/file", "[]", 0600);
	chmod(scratch_path(&tmp, "open"), 0777);
	scratch_link(&tmp, "dir/file", "to_file");
	scratch_link(&tmp, "dir", "to_dir");
	scratch_link(&tmp, "../to_dir/../dir/file", "dir/again");
	scratch_link(&tmp, "../dir/file", "open/to_file");
	scratch_link(&tmp, "open/in/file", "to_open");
	scratch_link(&tmp, "nowhere", "dangling");
	scratch_link(&tmp, "loop", "loop");
	expect_read("to_file", "{}");
	assert_true(config_file_lies_in(&file, scratch_path(&tmp, "dir")));
	expect_read("to_dir/file", "{}");
	expect_read("dir/again", "{}");
	expect_refused("open/to_file", "other users may write the directory");
	expect_refused("to_open", "other users may write the directory");
	expect_refused("dangling", "ENOENT");
	expect_refused("loop", "ELOOP");
	expect_refused("dir/file/", "ENOTDIR");
}

static void test_config_file_must_be_regular(void **state)
{
	(void)state;
	mkfifo(scratch_path(&tmp, "fifo"), 0600);
	scratch_link(&tmp, "/dev/zero", "zero");
	scratch_link(&tmp, "/proc/self/fd/0", "stdin");
	expect_refused("fifo", "not a regular file");
	expect_refused("dir", "not a regular file");
	expect_refused("zero", "not a regular file");
	expect_refused("stdin", "ELOOP");
}

static void test_config_file_has_one_name_and_a_size(void **state)
{
	char from[SCRATCH_PATH], to[SCRATCH_PATH];

	(void)state;
	scratch_copy(&tmp, "dir/file", from);
	scratch_copy(&tmp, "dir/second", to);
	assert_int_equal(link(from, to), 0);
	expect_refused("dir/file", "hard links");
	assert_int_equal(chmod(from, 0444), 0); /* its owner can undo that */
	expect_refused("dir/file", "hard links");
	assert_int_equal(chmod(from, 0644), 0);
	unlink(to);
	expect_read("dir/file", "{}");
	assert_int_equal(truncate(from, CONFIG_FILE_MAX), 0);
	assert_int_equal(read_it("dir/file", &(struct err){ .type = ERR_NONE }), 1);
	assert_int_equal(text.len, CONFIG_FILE_MAX);
	assert_int_equal(truncate(from, CONFIG_FILE_MAX + 1), 0);
	expect_refused("dir/file", "larger than 1 MiB");
	assert_int_equal(truncate(from, (off_t)1 << 40), 0);
	expect_refused("dir/file", "larger than 1 MiB");
}

static void test_config_file_belongs_to_root_or_the_user(void **state)
{
	(void)state;
	if (geteuid())
		skip(); /* only root gives files away */
	assert_int_equal(chown(scratch_path(&tmp, "dir/file"), 12345, 0), 0);
	expect_refused("dir/file", "the file");
	expect_refused("dir/file", "belongs to user 12345");
	assert_int_equal(chown(scratch_path(&tmp, "dir/file"), 0, 0), 0);
	assert_int_equal(chown(scratch_path(&tmp, "dir"), 12345, 0), 0);
	expect_refused("dir/file", "the directory");
	scratch_link(&tmp, "/etc/passwd", "foreign");
	assert_int_equal(lchown(scratch_path(&tmp, "foreign"), 12345, 0), 0);
	expect_refused("foreign", "the link");
}

/* The name is replaced between the look at the file and its opening: what counts is what was
 * opened. */
static void test_config_file_replaced_in_between(void **state)
{
	struct config_look look = { .file = &file, .fd = -1 };
	AUTO_CLOSE int dir = open(scratch_path(&tmp, "dir"), O_PATH | O_DIRECTORY);
	AUTO_CLOSE int seen = openat(dir, "file", O_PATH | O_NOFOLLOW);
	ERR_LOCAL(e);

	(void)state;
	unlink(scratch_path(&tmp, "dir/file"));
	scratch_file(&tmp, "dir/file", "{\"evil\"}", 0666);
	config_file_visit(&look, dir, "file", seen);
	assert_int_equal(config_file_judge(&look, "x", &e), -1);
	assert_non_null(strstr(e.message, "other users may write"));
	unlink(scratch_path(&tmp, "dir/file"));
	scratch_link(&tmp, "/etc/passwd", "dir/file");
	err_init(&look.fault);
	config_file_visit(&look, dir, "file", seen);
	assert_int_equal(config_file_judge(&look, "x", &e), -1);
	assert_int_equal(e.sys, ELOOP);
	assert_int_equal(look.fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_config_file_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_file_others_may_not_write, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_config_file_links_are_followed_and_judged,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_file_must_be_regular, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_file_has_one_name_and_a_size, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_config_file_belongs_to_root_or_the_user,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_config_file_replaced_in_between, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
