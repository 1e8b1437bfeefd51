/*
 * Every signal is blocked when this starts, and stays so across the exec: the
 * shim wants it that way and clears the mask for the command. So no handler of
 * the server can run here, and the exec drops them; only ignored signals (we
 * ignore SIGPIPE, a host may have ignored more) would survive it and are reset.
 * sigaction() of libc is not used: it may touch state that belongs to the
 * server, whose memory this is.
 */
#include "os/spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/shim_proto.h"

/* As the kernel defines it (signal(7), "rt_sigaction"): all zero is SIG_DFL. */
struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static int failed(struct spawn_child *c, enum shim_stage stage)
{
	c->error = errno;
	c->stage = (int)stage;
	return 127;
}

static void reset_ignored(uint64_t ignored)
{
	const struct kernel_sigaction by_default = { 0 };

	for (int number = 1; ignored; number++, ignored >>= 1)
		if (ignored & 1)
			syscall(SYS_rt_sigaction, number, &by_default, NULL,
				sizeof(uint64_t));
}

/* Out of the way of the targets 0 to 4. */
static int above_targets(int fd)
{
	if (fd > SHIM_FD_CWD)
		return fd;
	return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, SHIM_FD_CWD + 1);
}

static int place(int from, int to)
{
	return (int)syscall(SYS_dup3, from, to, 0);
}

int spawn_child_run(void *child)
{
	struct spawn_child *c = child;
	int in = above_targets(c->stdin_fd), out = above_targets(c->stdout_fd);
	int err = above_targets(c->stderr_fd), control = above_targets(c->control_fd);
	int cwd = above_targets(c->cwd_fd), shim = above_targets(c->shim_fd);

	reset_ignored(c->ignored);
	if (in < 0 || out < 0 || err < 0 || control < 0 || cwd < 0 || shim < 0 ||
	    place(in, STDIN_FILENO) < 0 || place(out, STDOUT_FILENO) < 0 ||
	    place(err, STDERR_FILENO) < 0 || place(control, SHIM_FD_CONTROL) < 0 ||
	    place(cwd, SHIM_FD_CWD) < 0)
		return failed(c, SHIM_STAGE_DESCRIPTORS);
	syscall(SYS_execveat, shim, "", c->argv, c->envp, AT_EMPTY_PATH);
	return failed(c, SHIM_STAGE_SHIM_EXEC);
}
