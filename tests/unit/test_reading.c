#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hide.h"
#include "in_child.h"
#include "os/reading.h"

/* ---- what a child does with the pipe @fd ---- */

static void do_read(int fd)
{
	char byte;

	(void)!read(fd, &byte, 1);
}

static void *read_in_thread(void *fd)
{
	do_read(*(int *)fd);
	return NULL;
}

static void do_read_in_thread(int fd)
{
	pthread_t thread;

	pthread_create(&thread, NULL, read_in_thread, &fd);
	pause();
}

static void do_poll(int fd)
{
	struct pollfd fds[] = { { .fd = -1, .events = POLLIN }, { .fd = fd, .events = POLLIN } };

	poll(fds, 2, -1);
}

static void do_poll_for_hang_up(int fd)
{
	struct pollfd fds = { .fd = fd, .events = 0 };

	poll(&fds, 1, -1);
}

static void do_select(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	select(fd + 1, &set, NULL, NULL, NULL);
}

static void do_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0);

	epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
	epoll_wait(set, &event, 1, -1);
}

static void do_epoll_of_another(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0), other[2];

	(void)fd;
	(void)!pipe(other);
	epoll_ctl(set, EPOLL_CTL_ADD, other[0], &event);
	epoll_wait(set, &event, 1, -1);
}

static void do_read_another(int fd)
{
	int other[2];

	(void)fd;
	(void)!pipe(other);
	do_read(other[0]);
}

static void do_sleep(int fd)
{
	(void)fd;
	pause();
}

static void do_run(int fd)
{
	(void)fd;
	for (;;)
		;
}

static void do_hide(int fd)
{
	prctl(PR_SET_DUMPABLE, 0);
	do_read(fd);
}

/* ---- */

/* Look until it is @wanted: the child needs a moment to get there. */
static enum reading look(pid_t child, const struct reading_file *file, enum reading wanted)
{
	struct procfs_process p = { .pid = child };
	enum reading found = READING_NO;

	for (int i = 0; i < 6000; i++) {
		(void)procread_stat(child, &p.stat);
		found = reading_of(&p, 1, file);
		if (found == wanted && (wanted != READING_NO || i > 10))
			break;
		usleep(10000);
	}
	return found;
}

static void expect(void (*does)(int fd), enum reading wanted)
{
	struct reading_file file;
	int fds[2], status;
	pid_t child;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	file = (struct reading_file){ .fd = fds[1] };
	child = fork();
	if (!child) {
		close(fds[1]);
		does(fds[0]);
		_exit(0);
	}
	assert_int_equal(look(child, &file, wanted), wanted);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(reading_of(&(struct procfs_process){ .pid = child, .stat.threads = 1 }, 1,
				    &file),
			 READING_NO);
	close(fds[0]);
	close(fds[1]);
}

static void test_reading_blocks(void **state)
{
	(void)state;
	expect(do_read, READING_BLOCKS);
	expect(do_read_in_thread, READING_BLOCKS);
}

static void test_reading_polls(void **state)
{
	(void)state;
	expect(do_poll, READING_POLLS);
	expect(do_select, READING_POLLS);
	expect(do_epoll, READING_POLLS);
}

static void test_reading_something_else(void **state)
{
	(void)state;
	expect(do_sleep, READING_NO);
	expect(do_run, READING_NO);
	expect(do_read_another, READING_NO);
	expect(do_epoll_of_another, READING_NO);
	expect(do_poll_for_hang_up, READING_NO);
}

static void test_reading_of_the_stopped(void **state)
{
	struct reading_file file;
	int fds[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	file = (struct reading_file){ .fd = fds[0] };
	child = fork();
	if (!child) {
		close(fds[1]);
		do_read(fds[0]);
		_exit(0);
	}
	assert_int_equal(look(child, &file, READING_BLOCKS), READING_BLOCKS);
	kill(child, SIGSTOP);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_int_equal(look(child, &file, READING_NO), READING_NO);
	file.stopped = true;
	assert_int_equal(look(child, &file, READING_BLOCKS), READING_BLOCKS);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(fds[0]);
	close(fds[1]);
}

/* In a child: it has one that hides, and reads. */
static void look_at_the_hidden(void)
{
	struct procfs_process tree[2];
	struct reading_file file;
	int fds[2], tries = 0;
	char path[32];
	pid_t child, none;

	CHECK(!pipe(fds));
	file = (struct reading_file){ .fd = fds[0] };
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		do_hide(fds[0]);
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d", (int)child);
	while (!access(path, F_OK) && tries++ < 6000)
		usleep(10000);
	CHECK(access(path, F_OK));
	CHECK(procfs_tree(getpid(), tree, 2) == 2);
	CHECK(tree[1].pid == child && procread_shows_life(&tree[1].stat));
	CHECK(reading_of(&tree[1], 1, &file) == READING_UNKNOWN);
	tree[1].stat.threads = 1; /* it has hidden since */
	CHECK(reading_of(&tree[1], 1, &file) == READING_UNKNOWN);
	CHECK(procfs_children(child, &none, 1) == -1);
	CHECK(procfs_tree(child, tree, 2) == -1);
	CHECK(!kill(child, SIGKILL) && waitpid(child, NULL, 0) == child);
	CHECK(procfs_tree(child, tree, 2) == 0);
	leave(0);
}

static void test_reading_of_the_hidden(void **state)
{
	int answer[2];
	pid_t child;

	(void)state;
	if (!can_hide())
		skip();
	assert_int_equal(pipe(answer), 0);
	child = fork();
	if (!child) {
		in_child_begin(answer);
		CHECK(hide_the_undumpable());
		look_at_the_hidden();
	}
	in_child_end(child, answer);
}

static void test_reading_of_the_undumpable(void **state)
{
	(void)state;
	if (!geteuid() && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
		skip(); /* this test is the last one */
	prctl(PR_SET_DUMPABLE, 1);
	expect(do_read, READING_BLOCKS);
	expect(do_hide, READING_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reading_blocks),
		cmocka_unit_test(test_reading_polls),
		cmocka_unit_test(test_reading_something_else),
		cmocka_unit_test(test_reading_of_the_stopped),
		cmocka_unit_test(test_reading_of_the_hidden),
		cmocka_unit_test(test_reading_of_the_undumpable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
