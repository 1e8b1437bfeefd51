#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "children.h"
#include "scratch.h"

#include "os/procfs.h"
#include "os/procfs_kept.h"

/* A child that does nothing until the other end of @hold is closed. */
static pid_t fork_idle(int hold[2])
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	close(hold[1]);
	while (read(hold[0], &byte, 1) > 0)
		;
	_exit(0);
}

static void release_children(int hold[2], int count)
{
	close(hold[0]);
	close(hold[1]);
	while (count-- > 0)
		assert_true(waitpid(-1, NULL, 0) > 0);
}

static void test_procfs_stat_of_ourselves(void **state)
{
	struct procread_stat st;

	(void)state;
	assert_int_equal(procread_stat(getpid(), &st), 0);
	assert_int_equal(st.state, 'R');
	assert_int_equal(st.parent, getppid());
	assert_true(st.rss_pages > 20);
}

/* The name stands in the middle of the line and may hold anything. */
static void test_procfs_stat_with_a_hostile_name(void **state)
{
	char name[16];
	struct procread_stat st;

	(void)state;
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	assert_int_equal(prctl(PR_SET_NAME, "x) Z 1 2 (y) "), 0);
	assert_int_equal(procread_stat(getpid(), &st), 0);
	prctl(PR_SET_NAME, name);
	assert_int_equal(st.state, 'R');
	assert_int_equal(st.parent, getppid());
}

static void test_procfs_stat_counts_time(void **state)
{
	struct procread_stat before, after;
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;

	(void)state;
	assert_int_equal(procread_stat(getpid(), &before), 0);
	do
		assert_int_equal(procread_stat(getpid(), &after), 0);
	while (after.cpu_ticks < before.cpu_ticks + 3 && clock_mono_ms() < until);
	assert_true(after.cpu_ticks >= before.cpu_ticks + 3);
	assert_int_equal(after.child_ticks, before.child_ticks);
}

static void test_procfs_of_no_process(void **state)
{
	struct procread_stat st;
	uint64_t r, w;
	pid_t pid = fork(), out[4];
	struct procfs_process tree[4];

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(procread_stat(pid, &st), -1);
	assert_int_equal(procfs_kept_io(pid, &r, &w), -1);
	assert_int_equal(procfs_children(pid, out, 4), 0);
	assert_int_equal(procfs_tree(pid, tree, 4), 0);
	assert_int_equal(procread_stat(0, &st), -1);
	assert_int_equal(procread_stat(-1, &st), -1);
}

/* A look at a process that has ended is one failed open, never a scan of /proc: in a tree that forks
 * without a pause most have ended. Without descriptors a scan cannot even begin. */
static void test_procfs_children_of_no_process_are_not_searched(void **state)
{
	struct rlimit usual, none;
	pid_t pid = fork(), out[4];
	int gone, self;

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = usual;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	gone = procfs_children(pid, out, 4);
	self = procfs_children(getpid(), out, 4);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	if (access("/proc/thread-self/children", F_OK)) {
		print_message("SKIP: this kernel has no lists of children\n");
		skip();
	}
	assert_int_equal(gone, 0);
	assert_int_equal(self, -1);
}

static void test_procfs_zombie(void **state)
{
	struct procread_stat st = { 0 };
	siginfo_t info;
	pid_t pid = fork(), out[4];

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(procread_stat(pid, &st), 0);
	assert_int_equal(st.state, 'Z');
	assert_int_equal(st.parent, getpid());
	assert_int_equal(procfs_children(getpid(), out, 4), 1);
	assert_int_equal(out[0], pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_procfs_io(void **state)
{
	uint64_t r = 1, w = 1;

	(void)state;
	if (access("/proc/self/io", R_OK)) {
		print_message("SKIP: this kernel does not account for i/o\n");
		skip();
	}
	assert_int_equal(procfs_kept_io(getpid(), &r, &w), 0);
	assert_true(r < UINT64_C(1) << 50 && w < UINT64_C(1) << 50);
}

static void test_procfs_children_and_tree(void **state)
{
	pid_t a, b, c, out[8];
	struct procfs_process tree[8];
	int hold[2], tell[2];

	(void)state;
	assert_int_equal(pipe(hold), 0);
	assert_int_equal(pipe(tell), 0);
	a = fork_idle(hold);
	b = fork();
	if (!b) {
		c = fork_idle(hold);
		if (write(tell[1], &c, sizeof(c)) != sizeof(c))
			_exit(1);
		close(hold[1]);
		_exit(waitpid(c, NULL, 0) == c ? 0 : 1);
	}
	assert_int_equal(read(tell[0], &c, sizeof(c)), sizeof(c));
	assert_int_equal(procfs_children(getpid(), out, 8), 2);
	assert_int_equal(out[0], a);
	assert_int_equal(out[1], b);
	assert_int_equal(procfs_tree(getpid(), tree, 8), 4);
	assert_int_equal(tree[0].pid, getpid());
	assert_int_equal(tree[3].pid, c);
	assert_int_equal(tree[3].stat.parent, b);
	assert_int_equal(procfs_tree(getpid(), tree, 2), 2);
	assert_int_equal(procfs_children(getpid(), out, 1), 1);
	assert_int_equal(procfs_children(getpid(), out, 0), 0);
	release_children(hold, 2);
	close(tell[0]);
	close(tell[1]);
}

/* Behind zombies that fill the room there may be a process that lives: not none, but unknown. */
static void test_procfs_tree_of_which_only_zombies_were_seen(void **state)
{
	enum { ZOMBIES = 4 };
	struct procfs_process tree[ZOMBIES + 2];
	int hold[2];
	siginfo_t info;

	(void)state;
	assert_int_equal(pipe(hold), 0);
	for (int i = 0; i < ZOMBIES; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	}
	assert_true(fork_idle(hold) > 0);
	assert_int_equal(procfs_tree(getpid(), tree, ZOMBIES + 2), ZOMBIES + 2);
	assert_int_equal(procfs_tree(getpid(), tree, ZOMBIES), -1);
	release_children(hold, ZOMBIES + 1);
}

/* Start a process that has the pid @wanted, which nobody else should need. */
static bool fork_as(pid_t wanted, int hold[2])
{
	for (int try = 0; try < 50; try++) {
		int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
		bool set = fd >= 0 && dprintf(fd, "%d", wanted - 1) > 0;
		pid_t pid;

		close(fd);
		if (!set)
			return false;
		pid = fork_idle(hold);
		if (pid == wanted)
			return true;
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	return false;
}

/* A file that is still open belongs to the process that had the pid before. */
static void test_procfs_tree_whose_pid_has_another_process(void **state)
{
	struct procfs_process tree[4];
	int first[2], second[2];
	pid_t pid;
	bool same;

	(void)state;
	assert_int_equal(pipe(first), 0);
	assert_int_equal(pipe(second), 0);
	pid = fork_idle(first);
	assert_int_equal(procfs_tree(getpid(), tree, 4), 2);
	release_children(first, 1);
	same = fork_as(pid, second);
	if (same) {
		assert_int_equal(procfs_tree(getpid(), tree, 4), 2);
		assert_int_equal(tree[1].pid, pid);
		assert_int_equal(tree[1].stat.parent, getpid());
	}
	release_children(second, same);
	if (!same) {
		print_message("SKIP: no way to choose a pid here\n");
		skip();
	}
	assert_int_equal(procfs_tree(getpid(), tree, 4), 1);
}

/* Use 0.05 s of processor time. */
static void burn(void)
{
	clock_t begin = clock();

	while (clock() - begin < CLOCKS_PER_SEC / 20)
		;
}

/* For each byte a child that burns, and is reaped. */
static void reap_for_each(int orders, int done)
{
	char byte;

	while (read(orders, &byte, 1) == 1) {
		pid_t pid = fork();

		if (!pid) {
			burn();
			_exit(0);
		}
		if (waitpid(pid, NULL, 0) != pid || write(done, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

/* The root's files are not read again while it sleeps, and are when it has run. */
static void test_procfs_tree_whose_root_has_run(void **state)
{
	struct procfs_process tree[4];
	int orders[2], done[2];
	pid_t root;
	char byte = 'x';

	(void)state;
	assert_int_equal(pipe(orders), 0);
	assert_int_equal(pipe(done), 0);
	root = fork();
	if (!root) {
		close(orders[1]);
		reap_for_each(orders[0], done[1]);
	}
	for (uint64_t ticks = 0, round = 0; round < 3; round++) {
		for (int look = 0; look < 4; look++) {
			assert_int_equal(procfs_tree(root, tree, 4), 1);
			assert_int_equal(tree[0].stat.child_ticks, ticks);
		}
		assert_int_equal(write(orders[1], &byte, 1), 1);
		assert_int_equal(read(done[0], &byte, 1), 1);
		assert_int_equal(procfs_tree(root, tree, 4), 1);
		assert_true(tree[0].stat.child_ticks > ticks);
		ticks = tree[0].stat.child_ticks;
	}
	close(done[0]);
	close(done[1]);
	release_children(orders, 1);
	assert_int_equal(procfs_tree(root, tree, 4), 0);
	procfs_kept_drop_tree(root);
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_procfs_keeps_files_of_few_processes(void **state)
{
	enum { MANY = 3 * PROCFS_KEPT };
	struct procfs_process tree[MANY + 2];
	int hold[2], before, kept;

	(void)state;
	procfs_kept_drop_tree(getpid());
	before = count_descriptors();
	assert_int_equal(pipe(hold), 0);
	for (int i = 0; i < MANY; i++)
		assert_true(fork_idle(hold) > 0);
	for (int look = 0; look < 3; look++)
		assert_int_equal(procfs_tree(getpid(), tree, MANY + 2), MANY + 1);
	release_children(hold, MANY);
	kept = count_descriptors() - before;
	assert_in_range(kept, PROCFS_KEPT, PROCFS_KEPT * PROCFS_FILES);
	procfs_kept_drop_tree(getpid() + 1);
	assert_int_equal(count_descriptors() - before, kept);
	procfs_kept_drop_tree(getpid());
	assert_int_equal(count_descriptors(), before);
}

/* The kernel gives a long list in pieces of a page. */
static void test_procfs_many_children(void **state)
{
	enum { MANY = 1100 };
	static pid_t want[MANY], out[MANY + 10];
	int hold[2], started = 0, found;

	(void)state;
	assert_int_equal(pipe(hold), 0);
	while (started < MANY) {
		pid_t pid = fork_idle(hold);

		if (pid < 0)
			break;
		want[started++] = pid;
	}
	found = procfs_children(getpid(), out, MANY + 10);
	release_children(hold, started);
	assert_int_equal(started, MANY);
	assert_int_equal(found, MANY);
	assert_memory_equal(out, want, sizeof(want));
}

/* In a PID namespace a process has two numbers; a shim's child is found by its inner one. */
static int inner_body(void *hold)
{
	char byte;
	pid_t pid = fork();

	if (!pid) {
		close(((int *)hold)[1]);
		while (read(((int *)hold)[0], &byte, 1) > 0)
			;
		_exit(0);
	}
	close(((int *)hold)[1]);
	while (read(((int *)hold)[0], &byte, 1) > 0)
		;
	while (waitpid(-1, NULL, 0) > 0)
		;
	_exit(0);
}

static bool has_a_child(void *pid)
{
	pid_t out[2];

	return procfs_children(*(pid_t *)pid, out, 2) == 1;
}

static void test_procfs_find_inner(void **state)
{
	static char stack[65536] __attribute__((aligned(16)));
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;
	pid_t init, child, out[2], found;
	int hold[2];

	(void)state;
	assert_int_equal(pipe(hold), 0);
	init = clone(inner_body, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, hold);
	if (init < 0)
		init = clone(inner_body, stack + sizeof(stack),
			     CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, hold);
	if (init < 0) {
		close(hold[0]);
		close(hold[1]);
		print_message("SKIP: no PID namespace here: %s\n", strerror(errno));
		skip();
	}
	while (!has_a_child(&init) && clock_mono_ms() < until)
		usleep(1000);
	assert_int_equal(procfs_children(init, out, 2), 1);
	child = out[0];
	found = procfs_find_inner(init, 2);
	assert_int_equal(found, child);
	assert_int_equal(procfs_find_inner(init, child == 3 ? 4 : 3), 0); /* no process has that pid */
	assert_int_equal(procfs_find_inner(getpid(), 1), init);
	assert_int_equal(procfs_find_inner(getpid(), 2), 0); /* children only, no grandchildren */
	release_children(hold, 1);
	assert_int_equal(procfs_find_inner(init, 2), 0);
}

/* Without a namespace both numbers are the same. */
static void test_procfs_find_inner_without_namespace(void **state)
{
	int hold[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(hold), 0);
	pid = fork_idle(hold);
	assert_int_equal(procfs_find_inner(getpid(), pid), pid);
	assert_int_equal(procfs_find_inner(getpid(), 1), 0);
	assert_int_equal(procfs_find_inner(pid, pid), 0);
	release_children(hold, 1);
}

static void *fork_in_thread(void *hold)
{
	fork_idle(hold);
	return NULL;
}

/* Children of any thread count, also when the thread that forked is gone. */
static void test_procfs_children_of_threads(void **state)
{
	pthread_t thread;
	pid_t out[4];
	int hold[2];

	(void)state;
	assert_int_equal(pipe(hold), 0);
	assert_int_equal(pthread_create(&thread, NULL, fork_in_thread, hold), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(procfs_children(getpid(), out, 4), 1);
	release_children(hold, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_procfs_stat_of_ourselves),
		cmocka_unit_test(test_procfs_stat_with_a_hostile_name),
		cmocka_unit_test(test_procfs_stat_counts_time),
		cmocka_unit_test(test_procfs_of_no_process),
		cmocka_unit_test(test_procfs_children_of_no_process_are_not_searched),
		cmocka_unit_test(test_procfs_zombie),
		cmocka_unit_test(test_procfs_io),
		cmocka_unit_test(test_procfs_children_and_tree),
		cmocka_unit_test(test_procfs_tree_of_which_only_zombies_were_seen),
		cmocka_unit_test(test_procfs_tree_whose_pid_has_another_process),
		cmocka_unit_test(test_procfs_tree_whose_root_has_run),
		cmocka_unit_test(test_procfs_keeps_files_of_few_processes),
		cmocka_unit_test(test_procfs_many_children),
		cmocka_unit_test(test_procfs_find_inner),
		cmocka_unit_test(test_procfs_find_inner_without_namespace),
		cmocka_unit_test(test_procfs_children_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
