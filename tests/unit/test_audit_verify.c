/* What servers do to their logs while these are read. */
#include "unit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "scratch.h"

#include "policy/audit.h"
#include "policy/audit_dir.h"
#include "policy/audit_verify.h"

#define INSTANCE "0123456789abcdef"
#define LOGS_OF_ONE_LINE 100 /* bytes: the next line begins another */
#define BEGUN (1 + 1 + 3)    /* lines: of the log that is none, and of the server */

/* Names of a log that is none, read before and after all others. */
#define FIRST "0.jsonl"
#define LAST "z.jsonl"

struct fixture {
	struct scratch tmp;
	struct audit *audit;
	void (*meanwhile)(struct fixture *f); /* when the log that is none has been read; or NULL */
	int lines;  /* for write_more() */
	int others; /* problems with other logs */
	int fd;     /* for lock_it() */
};

static void write_lines(struct audit *a, int count)
{
	const struct audit_event event = { .event = "end" };
	ERR_LOCAL(e);

	while (count-- > 0)
		assert_int_equal(audit_write(a, &event, &e), 0);
}

static void begin(struct fixture *f, int64_t file_bytes, const char *none)
{
	char path[64];

	*f = (struct fixture){ .fd = -1 };
	scratch_init(&f->tmp);
	scratch_mkdir(&f->tmp, "audit");
	snprintf(path, sizeof(path), "audit/%s", none);
	scratch_file(&f->tmp, path, "none\n", 0600);
	f->audit = audit_new(f->tmp.dir, INSTANCE);
	audit_set_bounds(f->audit, &(struct audit_bounds){ .file_bytes = file_bytes });
	audit_serves(f->audit);
	write_lines(f->audit, 3);
}

/* The server is killed. */
static void end(struct fixture *f)
{
	audit_free(f->audit);
	f->audit = NULL;
}

/* A log without a line, of mode 0600 at @path, as f->fd. */
static void make_log(struct fixture *f, const char *path)
{
	scratch_file(&f->tmp, path, "", 0600);
	f->fd = open(scratch_path(&f->tmp, path), O_WRONLY | O_CLOEXEC);
	assert_true(f->fd >= 0);
}

static void report(void *ctx, const struct audit_problem *problem)
{
	struct fixture *f = ctx;
	bool none = !strcmp(problem->file, FIRST) || !strcmp(problem->file, LAST);

	if (none && f->meanwhile)
		f->meanwhile(f);
	if (none)
		f->meanwhile = NULL;
	else
		print_message("%s: %s: %s\n", problem->kind, problem->file, problem->text);
	f->others += !none;
}

/* The number of lines that were read; there are @others problems. */
static uint64_t verify(struct fixture *f, int others)
{
	struct audit_verdict verdict;
	ERR_LOCAL(e);

	assert_int_equal(audit_verify(scratch_path(&f->tmp, "audit"), report, f, &verdict, &e), 0);
	assert_null(f->meanwhile);
	assert_int_equal(f->others, others);
	audit_free(f->audit);
	if (f->fd >= 0)
		close(f->fd);
	scratch_release(&f->tmp);
	return verdict.lines;
}

static void write_more(struct fixture *f)
{
	write_lines(f->audit, f->lines);
}

static void test_verify_turned_before_it_is_read(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, LOGS_OF_ONE_LINE, FIRST);
	f.meanwhile = write_more;
	f.lines = 5;
	assert_int_equal(verify(&f, 0), BEGUN + 5);
}

static void test_verify_turned_after_it_was_read(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 2000, LAST);
	f.meanwhile = write_more;
	f.lines = 50;
	assert_int_equal(verify(&f, 0), BEGUN + 50);
}

static void test_verify_pruned_before_it_is_read(void **state)
{
	const struct audit_bounds bounds = { .file_bytes = LOGS_OF_ONE_LINE, .total_bytes = 1 };
	struct fixture f;

	(void)state;
	begin(&f, LOGS_OF_ONE_LINE, FIRST);
	audit_set_bounds(f.audit, &bounds);
	f.meanwhile = write_more;
	f.lines = 5;
	assert_true(verify(&f, 0) < BEGUN + 5);
}

/* A file that is full is in use until the next one is, which may take a while. */
static void test_verify_left_before_the_next_is_begun(void **state)
{
	const struct audit_event event = { .event = "end" };
	ERR_LOCAL(e);
	struct rlimit old, none;
	struct fixture f;

	(void)state;
	begin(&f, LOGS_OF_ONE_LINE, FIRST);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ 0, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(audit_write(f.audit, &event, &e), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	err_release(&e);
	assert_int_equal(verify(&f, 0), BEGUN);
}

/* The next file is in use, and its first line is about to be written. */
static void test_verify_before_the_first_line(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, LOGS_OF_ONE_LINE, FIRST);
	end(&f);
	make_log(&f, "audit/30000101T000000Z-" INSTANCE "-0004.jsonl");
	audit_dir_hold(f.fd);
	assert_int_equal(verify(&f, 0), BEGUN);
}

static void lock_it(struct fixture *f)
{
	audit_dir_hold(f->fd);
}

static void test_verify_locked_after_it_was_read(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, LOGS_OF_ONE_LINE, LAST);
	make_log(&f, "audit/20200101T000000Z-fedcba9876543210.jsonl");
	f.meanwhile = lock_it;
	assert_int_equal(verify(&f, 0), BEGUN);
}

static void write_the_rest(struct fixture *f)
{
	assert_int_equal(write(f->fd, "00000000\"}\n", 11), 11);
}

static void test_verify_while_a_line_is_written(void **state)
{
	static const char start[] =
		"{\"time\":\"2020-01-01T00:00:00.000Z\",\"seq\":1,\"instance\":\"" INSTANCE
		"\",\"event\":\"end\",\"prev\":\"00000000000000000000000000000000000000000000000000"
		"000000";
	struct fixture f;

	(void)state;
	begin(&f, LOGS_OF_ONE_LINE, LAST);
	make_log(&f, "audit/20200101-run.jsonl");
	assert_int_equal(write(f.fd, start, strlen(start)), strlen(start));
	f.meanwhile = write_the_rest;
	assert_int_equal(verify(&f, 0), BEGUN + 1);
}

static void remove_the_last(struct fixture *f)
{
	assert_int_equal(unlink(scratch_path(&f->tmp, "audit/30000101T000000Z-" INSTANCE
						      "-0004.jsonl")), 0);
}

/* That the server went on is known, and that its last file is missing. */
static void test_verify_removed_before_it_is_read(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, LOGS_OF_ONE_LINE, FIRST);
	end(&f);
	make_log(&f, "audit/30000101T000000Z-" INSTANCE "-0004.jsonl");
	f.meanwhile = remove_the_last;
	assert_int_equal(verify(&f, 1), BEGUN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verify_turned_before_it_is_read),
		cmocka_unit_test(test_verify_turned_after_it_was_read),
		cmocka_unit_test(test_verify_pruned_before_it_is_read),
		cmocka_unit_test(test_verify_left_before_the_next_is_begun),
		cmocka_unit_test(test_verify_before_the_first_line),
		cmocka_unit_test(test_verify_locked_after_it_was_read),
		cmocka_unit_test(test_verify_while_a_line_is_written),
		cmocka_unit_test(test_verify_removed_before_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
