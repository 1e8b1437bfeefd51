/* in_child - a test body in a child whose standard descriptors are not the test's. */
#ifndef PROCPEN_TESTS_UNIT_IN_CHILD_H
#define PROCPEN_TESTS_UNIT_IN_CHILD_H

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN_CHILD_FD 40         /* in the child: beyond all that a body closes */
#define IN_CHILD_WAIT_MS 65000 /* longer than any body takes */

/* In the child: end with the number of the line that went wrong; 0: none. */
_Noreturn static inline void leave(int line)
{
	if (write(IN_CHILD_FD, &line, sizeof(line)) < 0)
		_exit(2);
	_exit(0);
}

#define CHECK(condition)                          \
	do {                                      \
		if (!(condition))                 \
			leave(__LINE__);          \
	} while (0)

/* In the child, before anything else: @answer is the pipe of in_child_end(). */
static inline void in_child_begin(const int answer[2])
{
	if (dup2(answer[1], IN_CHILD_FD) < 0)
		_exit(3);
	signal(SIGPIPE, SIG_IGN);
}

/* In the test: all went well in @pid, within the time. */
static inline void in_child_end(pid_t pid, const int answer[2])
{
	struct pollfd wait = { .fd = answer[0], .events = POLLIN };
	int line = -1, status;

	close(answer[1]);
	if (poll(&wait, 1, IN_CHILD_WAIT_MS) != 1)
		kill(pid, SIGKILL);
	assert_true(read(answer[0], &line, sizeof(line)) >= 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(answer[0]);
	if (line)
		print_error("wrong in line %d\n", line);
	assert_int_equal(line, 0);
	assert_int_equal(status, 0);
}

#endif
