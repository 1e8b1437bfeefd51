/* What other processes do to the directory of logs between the steps of a look. */
#include "unit.h"

#include <dirent.h>
#include <time.h>

#include "scratch.h"

#include "policy/audit_prune.h"

#define DAY 86400
#define NEWEST "30000101T000000Z-0.jsonl" /* the log of the caller */
#define LOGS 30 /* with "." and ".." what one step looks at: the next one removes */

static void name_of(int n, char name[AUDIT_DIR_NAME_MAX])
{
	snprintf(name, AUDIT_DIR_NAME_MAX, "20200101T0000%02dZ-%016x.jsonl", n, n);
}

/* As of a log that was last written @days ago. */
static void age(struct scratch *s, int n, int days)
{
	struct timespec then = { .tv_sec = time(NULL) - (time_t)days * DAY };
	char name[AUDIT_DIR_NAME_MAX];

	name_of(n, name);
	assert_int_equal(utimensat(AT_FDCWD, scratch_path(s, name),
				   (struct timespec[]){ then, then }, 0), 0);
}

static void make_logs(struct scratch *s, int count)
{
	char name[AUDIT_DIR_NAME_MAX];

	scratch_init(s);
	for (int n = count; n-- > 0;) { /* tmpfs lists what came last first */
		name_of(n, name);
		scratch_file(s, name, "0123456789", 0600);
		age(s, n, 9);
	}
}

static bool is_there(struct scratch *s, int n)
{
	char name[AUDIT_DIR_NAME_MAX];

	name_of(n, name);
	return !access(scratch_path(s, name), F_OK);
}

static struct audit_prune *look_at_all(struct scratch *s, const struct audit_prune_bounds *bounds,
				       struct audit_prune_found *found)
{
	struct audit_prune *p = audit_prune_new(s->dir, bounds);

	assert_non_null(p);
	assert_true(audit_prune_step(p, NEWEST, found));
	assert_int_equal(found->removed, 0);
	return p;
}

static void finish(struct audit_prune *p, const char *own, struct audit_prune_found *found)
{
	while (audit_prune_step(p, own, found))
		;
	audit_prune_remove(p);
	audit_prune_free(p);
}

static void expect_beside(const struct audit_prune_found *found, size_t at, int n)
{
	char name[AUDIT_DIR_NAME_MAX];

	name_of(n, name);
	assert_true(at < found->beside_count);
	assert_string_equal(found->beside[at], name);
}

static void test_prune_written_meanwhile(void **state)
{
	const struct audit_prune_bounds bounds = { .keep_seconds = DAY };
	struct audit_prune_found found = { 0 };
	struct audit_prune *p;
	struct scratch s;

	(void)state;
	make_logs(&s, LOGS);
	p = look_at_all(&s, &bounds, &found);
	age(&s, 3, 0);
	finish(p, NEWEST, &found);
	assert_int_equal(found.removed, LOGS - 1);
	assert_true(is_there(&s, 3));
	expect_beside(&found, 0, 3);
	scratch_release(&s);
}

static void test_prune_removed_meanwhile(void **state)
{
	const struct audit_prune_bounds bounds = { .total_bytes = 10 * (LOGS - 5) };
	struct audit_prune_found first = { 0 }, second = { 0 };
	struct audit_prune *p, *q;
	struct scratch s;

	(void)state;
	make_logs(&s, LOGS);
	p = look_at_all(&s, &bounds, &first);
	q = look_at_all(&s, &bounds, &second);
	finish(p, NEWEST, &first);
	assert_int_equal(first.removed, 5);
	finish(q, NEWEST, &second);
	assert_int_equal(second.removed, 0);
	assert_true(is_there(&s, 5));
	scratch_release(&s);
}

/* What is gone when its turn comes is not listed, though readdir(3) still has the name. */
static void test_prune_gone_before_seen(void **state)
{
	const struct audit_prune_bounds none = { 0 };
	struct audit_prune_found found = { 0 };
	char seen[32][256], name[AUDIT_DIR_NAME_MAX];
	struct audit_prune *p;
	struct scratch s;
	size_t in = 0;
	DIR *d;

	(void)state;
	make_logs(&s, 60);
	d = opendir(s.dir);
	assert_non_null(d);
	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++)
		snprintf(seen[i], sizeof(seen[i]), "%s", readdir(d)->d_name);
	closedir(d);
	p = look_at_all(&s, &none, &found);
	for (int n = 0; n < 60; n++) {
		name_of(n, name);
		assert_int_equal(unlink(scratch_path(&s, name)), 0);
	}
	finish(p, NEWEST, &found);
	for (size_t b = 0; b < found.beside_count; b++)
		for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++)
			in += !strcmp(found.beside[b], seen[i]);
	assert_int_equal(in, found.beside_count);
	scratch_release(&s);
}

/* A line of the log names only what can be a log, and what it can name. */
static void test_prune_other_files(void **state)
{
	const struct audit_prune_bounds bounds = { .keep_seconds = DAY };
	struct audit_prune_found found = { 0 };
	struct scratch s;

	(void)state;
	make_logs(&s, 1);
	scratch_mkdir(&s, "z1.jsonl");
	assert_int_equal(mkfifo(scratch_path(&s, "z2.jsonl"), 0600), 0);
	assert_int_equal(symlink("z5.jsonl", scratch_path(&s, "z3.jsonl")), 0);
	scratch_file(&s, "z4\xff.jsonl", "x", 0600);
	scratch_file(&s, "z5.jsonl", "x", 0600);
	scratch_file(&s, "z6.jsonl", "x", 0600);
	finish(audit_prune_new(s.dir, &bounds), "z6.jsonl", &found);
	assert_int_equal(found.removed, 1);
	assert_int_equal(found.beside_count, 1);
	assert_string_equal(found.beside[0], "z5.jsonl");
	scratch_release(&s);
}

#define AWAY_SIZE (sizeof(((struct scratch *)NULL)->dir) + 8)

/* Another directory stands in the place of the logs' until they are moved back. */
static void move_away(const struct scratch *s, char away[AWAY_SIZE])
{
	snprintf(away, AWAY_SIZE, "%s.away", s->dir);
	assert_int_equal(rename(s->dir, away), 0);
	assert_int_equal(mkdir(s->dir, 0700), 0);
}

static void move_back(const struct scratch *s, const char *away)
{
	assert_int_equal(rmdir(s->dir), 0);
	assert_int_equal(rename(away, s->dir), 0);
}

static void test_prune_moved_meanwhile(void **state)
{
	const struct audit_prune_bounds bounds = { .keep_seconds = DAY };
	struct audit_prune_found found = { 0 };
	char away[AWAY_SIZE];
	struct audit_prune *p;
	struct scratch s;

	(void)state;
	make_logs(&s, LOGS);
	p = look_at_all(&s, &bounds, &found);
	move_away(&s, away);
	finish(p, NEWEST, &found);
	move_back(&s, away);
	assert_int_equal(found.removed, 0);
	assert_int_equal(found.beside_count, 0);
	assert_true(is_there(&s, 0));
	scratch_release(&s);
}

/* Between the choice and the removal, which the record of it is written in. */
static void test_prune_moved_before_the_removal(void **state)
{
	const struct audit_prune_bounds bounds = { .keep_seconds = DAY };
	struct audit_prune_found found = { 0 };
	char away[AWAY_SIZE];
	struct audit_prune *p;
	struct scratch s;

	(void)state;
	make_logs(&s, LOGS);
	p = look_at_all(&s, &bounds, &found);
	while (audit_prune_step(p, NEWEST, &found))
		;
	assert_int_equal(found.removed, LOGS);
	move_away(&s, away);
	audit_prune_remove(p);
	audit_prune_free(p);
	move_back(&s, away);
	assert_true(is_there(&s, 0) && is_there(&s, LOGS - 1));
	scratch_release(&s);
}

static void test_prune_of_another_user(void **state)
{
	const struct audit_prune_bounds bounds = { .keep_seconds = DAY };
	struct audit_prune_found found = { 0 };
	char name[AUDIT_DIR_NAME_MAX];
	struct scratch s;

	(void)state;
	if (geteuid())
		skip();
	make_logs(&s, 3);
	name_of(1, name);
	assert_int_equal(chown(scratch_path(&s, name), 65534, (gid_t)-1), 0);
	age(&s, 1, 9);
	finish(audit_prune_new(s.dir, &bounds), NEWEST, &found);
	assert_int_equal(found.removed, 2);
	assert_true(is_there(&s, 1));
	scratch_release(&s);
}

/* The newest go, and logs in use stay: these are the newest then. */
static void test_prune_newest(void **state)
{
	const struct audit_prune_bounds bounds = { .total_bytes = 1 };
	struct audit_prune_found found = { 0 };
	char name[AUDIT_DIR_NAME_MAX];
	struct scratch s;
	int fd;

	(void)state;
	make_logs(&s, LOGS);
	name_of(2, name);
	fd = open(scratch_path(&s, name), O_WRONLY | O_CLOEXEC);
	audit_dir_hold(fd);
	finish(look_at_all(&s, &bounds, &found), NEWEST, &found);
	assert_int_equal(found.removed, LOGS - 1);
	assert_int_equal(found.beside_count, 1);
	expect_beside(&found, 0, 2);
	close(fd);
	scratch_release(&s);
}

/* What is newer than the log with the record stays: such a log may go first, and its record with
 * it. */
static void test_prune_newer_than_own(void **state)
{
	const struct audit_prune_bounds bounds = { .keep_seconds = DAY, .total_bytes = 1 };
	struct audit_prune_found found = { 0 };
	char own[AUDIT_DIR_NAME_MAX], before[AUDIT_DIR_NAME_MAX];
	struct scratch s;

	(void)state;
	make_logs(&s, LOGS);
	name_of(20, own);
	name_of(19, before);
	finish(audit_prune_new(s.dir, &bounds), own, &found);
	assert_int_equal(found.removed, 20);
	assert_string_equal(found.last, before);
	assert_true(is_there(&s, 21));
	expect_beside(&found, 0, LOGS - 1);
	scratch_release(&s);
}

/* One is old when it was last written longer ago than logs are kept, not before. */
static void test_prune_by_age(void **state)
{
	const struct audit_prune_bounds keeps = { .keep_seconds = 9 * DAY + 3600 };
	const struct audit_prune_bounds drops = { .keep_seconds = 9 * DAY - 3600 };
	struct audit_prune_found found = { 0 };
	struct scratch s;

	(void)state;
	make_logs(&s, 2);
	finish(audit_prune_new(s.dir, &keeps), NEWEST, &found);
	assert_int_equal(found.removed, 0);
	finish(audit_prune_new(s.dir, &drops), NEWEST, &found);
	assert_int_equal(found.removed, 2);
	scratch_release(&s);
}

/* A server may be about to write its first line, and to hold the log before. */
static void test_prune_without_a_line(void **state)
{
	const struct audit_prune_bounds bytes = { .total_bytes = 1 };
	const struct audit_prune_bounds days = { .keep_seconds = DAY };
	struct audit_prune_found found = { 0 };
	char name[AUDIT_DIR_NAME_MAX];
	struct scratch s;

	(void)state;
	make_logs(&s, 3);
	name_of(1, name);
	assert_int_equal(truncate(scratch_path(&s, name), 0), 0);
	finish(audit_prune_new(s.dir, &bytes), NEWEST, &found);
	assert_int_equal(found.removed, 2);
	assert_true(is_there(&s, 1));
	age(&s, 1, 9);
	finish(audit_prune_new(s.dir, &days), NEWEST, &found);
	assert_false(is_there(&s, 1));
	scratch_release(&s);
}

/* The next `procpen run` goes on behind the newest log of them, closed or not; and one that is not
 * closed may be written to, though another follows it. */
static void test_prune_newest_of_run(void **state)
{
	const struct audit_prune_bounds bounds = { .total_bytes = 1 };
	struct audit_prune_found found = { 0 };
	struct scratch s;

	(void)state;
	scratch_init(&s);
	scratch_file(&s, "20200101-run.jsonl", "0123456789", 0400);
	scratch_file(&s, "20191231-run.jsonl", "0123456789", 0600);
	scratch_file(&s, "20200101-run-0002.jsonl", "0123456789", 0400);
	finish(audit_prune_new(s.dir, &bounds), NEWEST, &found);
	assert_int_equal(found.removed, 1);
	assert_string_equal(found.last, "20200101-run.jsonl");
	assert_int_equal(access(scratch_path(&s, "20200101-run-0002.jsonl"), F_OK), 0);
	assert_int_equal(access(scratch_path(&s, "20191231-run.jsonl"), F_OK), 0);
	scratch_release(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prune_written_meanwhile),
		cmocka_unit_test(test_prune_removed_meanwhile),
		cmocka_unit_test(test_prune_gone_before_seen),
		cmocka_unit_test(test_prune_moved_meanwhile),
		cmocka_unit_test(test_prune_moved_before_the_removal),
		cmocka_unit_test(test_prune_of_another_user),
		cmocka_unit_test(test_prune_newest),
		cmocka_unit_test(test_prune_newer_than_own),
		cmocka_unit_test(test_prune_by_age),
		cmocka_unit_test(test_prune_without_a_line),
		cmocka_unit_test(test_prune_newest_of_run),
		cmocka_unit_test(test_prune_other_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
