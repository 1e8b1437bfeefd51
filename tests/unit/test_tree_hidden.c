/* A run whose shim /proc hides from the server: the shim is not dumpable. */
#include "unit.h"

#include "children.h"
#include "hide.h"

#include "proc/tree.h"

static bool hidden;

static int setup(void **state)
{
	hidden = can_hide() && hide_the_undumpable();
	return children_setup(state);
}

static void on_report(void *ctx, const struct shim_report *report)
{
	(void)ctx;
	(void)report;
}

static void on_empty(void *ctx)
{
	bool *empty = ctx;

	*empty = true;
}

static bool is_empty(void *ctx)
{
	return *(bool *)ctx;
}

/* A working shim gets seconds, a stopped one none. */
static void test_tree_hidden_shim_stopped(void **state)
{
	bool empty = false;
	struct tree tree = { .on_report = on_report, .on_empty = on_empty, .ctx = &empty };
	struct started started;
	struct procread_stat st;

	(void)state;
	if (!hidden)
		skip();
	children_shell(&all, "echo 1; sleep 300", &started);
	tree_start(&tree, all.loop, all.reaper, started.spawned.shim_pid,
		   started.spawned.control_fd);
	assert_int_equal(children_number(started.output), 1);
	assert_int_equal(procread_stat(tree.shim_pid, &st), -1);
	assert_int_equal(kill(tree.shim_pid, SIGSTOP), 0);
	tree_kill(&tree);
	assert_true(children_wait(&all, is_empty, &empty));
	assert_int_equal(tree.survivors, 0);
	assert_int_equal(tree.kill_timeouts, 0);
	tree_release(&tree);
	close(started.output);
}

/* It lives as long as nothing says that it does not. */
static void test_tree_hidden_orphan_is_not_forgotten(void **state)
{
	struct procread_stat st;
	pid_t orphan;

	(void)state;
	if (!hidden)
		skip();
	orphan = fork();
	if (!orphan) {
		prctl(PR_SET_DUMPABLE, 0);
		for (;;)
			pause();
	}
	while (!procread_stat(orphan, &st))
		usleep(1000);
	assert_true(reaper_has_orphans(all.reaper));
	assert_int_equal(kill(orphan, SIGKILL), 0);
	assert_true(children_wait(&all, children_none, NULL));
	assert_false(reaper_has_orphans(all.reaper));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree_hidden_orphan_is_not_forgotten),
		cmocka_unit_test(test_tree_hidden_shim_stopped),
	};

	return cmocka_run_group_tests(tests, setup, children_teardown);
}
