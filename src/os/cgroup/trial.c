#include "os/cgroup/trial.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0, or -1 with the child's exit status as errno. The child sends no SIGCHLD, so the reaper does
 * not collect it. */
static int trial_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	return -1;
}

static int trial_clone(int clone_fd)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .cgroup = (unsigned)clone_fd };
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0); /* no exit handler may run */
	return pid < 0 ? -1 : trial_wait(pid);
}

static int trial_write(const int *join_fds, int count)
{
	pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);

	if (pid == 0) {
		for (int i = 0; i < count; i++)
			if (write(join_fds[i], "0", 1) != 1)
				_exit(errno);
		_exit(0);
	}
	return pid < 0 ? -1 : trial_wait(pid);
}

int cgroup_try_join(const int *join_fds, int count, int clone_fd)
{
	sigset_t all, before;
	int result = -1, error;

	sigfillset(&all); /* no handler of the server may run in the child */
	sigprocmask(SIG_SETMASK, &all, &before);
	if (clone_fd >= 0)
		result = trial_clone(clone_fd);
	if (result) /* the kernel lacks clone3(2), or a seccomp filter around us refuses it */
		result = trial_write(join_fds, count);
	error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return result;
}
