/* What servers do to their logs while these are read. */
#include "unit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "scratch.h"

#include "policy/audit.h"
#include "policy/audit_dir.h"
#include "policy/audit_verify.h"

#define LOGS_OF_ONE_LINE 100 /* bytes: the next line begins another */

/* Names of a log that is none, read before and after all others. */
#define FIRST "0.jsonl"
#define LAST "z.jsonl"

struct fixture {
	struct scratch tmp;
	struct audit *audit;
	int to_write; /* lines, when the log that is none has been read */
	int others;   /* problems with other logs */
};

static void write_lines(struct audit *a, int count)
{
	const struct audit_event event = { .event = "end" };
	struct err e = ERR_INIT;

	while (count-- > 0)
		assert_int_equal(audit_write(a, &event, &e), 0);
}

static void begin(struct fixture *f, const struct audit_bounds *bounds, const char *none)
{
	char path[64];

	*f = (struct fixture){ .to_write = 5 };
	scratch_init(&f->tmp);
	scratch_mkdir(&f->tmp, "audit");
	snprintf(path, sizeof(path), "audit/%s", none);
	scratch_file(&f->tmp, path, "none\n", 0600);
	f->audit = audit_new(f->tmp.dir, "0123456789abcdef");
	audit_set_bounds(f->audit, bounds);
	audit_serves(f->audit);
	write_lines(f->audit, 3);
}

static void report(void *ctx, const struct audit_problem *problem)
{
	struct fixture *f = ctx;

	if (!strcmp(problem->file, FIRST) || !strcmp(problem->file, LAST)) {
		write_lines(f->audit, f->to_write);
		f->to_write = 0;
		return;
	}
	print_message("%s: %s: %s\n", problem->kind, problem->file, problem->text);
	f->others++;
}

/* The number of lines that were read. */
static uint64_t verify(struct fixture *f)
{
	struct audit_verdict verdict;
	struct err e = ERR_INIT;

	assert_int_equal(audit_verify(scratch_path(&f->tmp, "audit"), report, f, &verdict, &e), 0);
	assert_int_equal(f->to_write, 0);
	assert_int_equal(f->others, 0);
	assert_int_equal(verdict.running, 1);
	audit_free(f->audit);
	scratch_release(&f->tmp);
	return verdict.lines;
}

static void test_verify_turned_before_it_is_read(void **state)
{
	const struct audit_bounds bounds = { .file_bytes = LOGS_OF_ONE_LINE };
	struct fixture f;

	(void)state;
	begin(&f, &bounds, FIRST);
	assert_int_equal(verify(&f), 1 + 1 + 3 + 5);
}

static void test_verify_turned_after_it_was_read(void **state)
{
	const struct audit_bounds bounds = { .file_bytes = 2000 };
	struct fixture f;

	(void)state;
	begin(&f, &bounds, LAST);
	f.to_write = 50;
	assert_int_equal(verify(&f), 1 + 1 + 3 + 50);
}

static void test_verify_pruned_before_it_is_read(void **state)
{
	struct audit_bounds bounds = { .file_bytes = LOGS_OF_ONE_LINE };
	struct fixture f;

	(void)state;
	begin(&f, &bounds, FIRST);
	bounds.total_bytes = 1;
	audit_set_bounds(f.audit, &bounds);
	assert_true(verify(&f) < 1 + 1 + 3 + 5);
}

/* A file that is full is in use until the next one is, which may take a while. */
static void test_verify_left_before_the_next_is_begun(void **state)
{
	const struct audit_bounds bounds = { .file_bytes = LOGS_OF_ONE_LINE };
	const struct audit_event event = { .event = "end" };
	struct err e = ERR_INIT;
	struct rlimit old, none;
	struct fixture f;

	(void)state;
	begin(&f, &bounds, FIRST);
	f.to_write = 0;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ 0, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(audit_write(f.audit, &event, &e), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	err_release(&e);
	assert_int_equal(verify(&f), 1 + 1 + 3);
}

/* The next file is in use, and its first line is about to be written. */
static void test_verify_before_the_first_line(void **state)
{
	const struct audit_bounds bounds = { .file_bytes = LOGS_OF_ONE_LINE };
	const char *next = "audit/30000101T000000Z-0123456789abcdef-0004.jsonl";
	struct fixture f;
	int fd;

	(void)state;
	begin(&f, &bounds, FIRST);
	f.to_write = 0;
	audit_free(f.audit);
	f.audit = NULL;
	scratch_file(&f.tmp, next, "", 0600);
	fd = open(scratch_path(&f.tmp, next), O_WRONLY | O_CLOEXEC);
	audit_dir_hold(fd);
	assert_int_equal(verify(&f), 1 + 1 + 3);
	close(fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verify_turned_before_it_is_read),
		cmocka_unit_test(test_verify_turned_after_it_was_read),
		cmocka_unit_test(test_verify_pruned_before_it_is_read),
		cmocka_unit_test(test_verify_left_before_the_next_is_begun),
		cmocka_unit_test(test_verify_before_the_first_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
