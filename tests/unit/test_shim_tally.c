/* The shim is not linked into the library, so its file is part of this one. What it asks about
 * processes is answered here. */
#include "unit.h"

#include "os/shim/tally.c"

static int others[PROCTREE_OTHERS_MAX];
static int other_count;
static int live_from; /* pids below are zombies */

int proctree_others(const int **pids)
{
	*pids = others;
	return other_count;
}

int proctree_is_live(int pid)
{
	return pid >= live_from;
}

/* The command 2 and @zombies, with @live behind them. */
static void tree_is(int zombies, int live)
{
	other_count = 1 + zombies + live;
	for (int i = 0; i < other_count; i++)
		others[i] = 2 + i;
	live_from = 3 + zombies;
}

static int setup(void **state)
{
	(void)state;
	noted_count = unnoted = 0;
	ended = 0;
	lost = false;
	return 0;
}

static void test_tally_command_alone(void **state)
{
	(void)state;
	tree_is(0, 0);
	assert_true(tally_note_namespace(2));
	tree_is(100, 0);
	assert_true(tally_note_namespace(2));
	tree_is(100, 1);
	assert_false(tally_note_namespace(2));
}

/* Of many only the first are looked at. */
static void test_tally_unseen_are_no_proof(void **state)
{
	(void)state;
	tree_is(ALIVE_MAX - 1, 0);
	assert_true(tally_note_namespace(2));
	tree_is(ALIVE_MAX - 1, 1);
	assert_false(tally_note_namespace(2));
	tally_lose();
	tree_is(0, 1);
	assert_false(tally_note_namespace(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_tally_command_alone, setup),
		cmocka_unit_test_setup(test_tally_unseen_are_no_proof, setup),
	};

	return cmocka_run_group_tests_name("shim_tally", tests, NULL, NULL);
}
