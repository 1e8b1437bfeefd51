/*
 * Every signal is blocked when this starts and stays blocked across the exec: the
 * shim needs that, and clears the mask for the command. So no handler of the server
 * can run here, and the exec drops them. Ignored signals (we ignore SIGPIPE, the host
 * may have ignored more) would survive the exec, so child_reset_ignored() resets them. It
 * does not call libc's sigaction(), which may change state of the server, whose memory
 * this child shares.
 */
#include "os/spawn/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>


/* As the kernel defines it (signal(7), "rt_sigaction"): all zero is SIG_DFL. */
struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static int spawn_child_failed(struct spawn_child *c, enum shim_stage stage)
{
	c->error = errno;
	c->stage = (int)stage;
	return 127;
}

static void child_reset_ignored(uint64_t ignored)
{
	const struct kernel_sigaction by_default = { 0 };

	for (int number = 1; ignored; number++, ignored >>= 1)
		if (ignored & 1)
			syscall(SYS_rt_sigaction, number, &by_default, NULL,
				sizeof(uint64_t));
}

/* A table of our own of the descriptors up to the last slot. */
static bool child_unshare_files(const struct spawn_child *c)
{
	int last = 0;

	for (int i = 0; i < SPAWN_SLOTS; i++)
		last = c->slots[i] > last ? c->slots[i] : last;
	/* close_range(2) copies no more than it leaves; without it, from Linux 5.9, copy all. */
	return !syscall(SYS_close_range, last + 1, ~0U, 1U << 1 /* CLOSE_RANGE_UNSHARE */) ||
	       !syscall(SYS_unshare, CLONE_FILES);
}

/* Bring every descriptor to its number; the shim's program into the slot behind theirs. */
static bool child_take_descriptors(const struct spawn_child *c)
{
	bool fine = syscall(SYS_dup3, c->shim_fd, c->slots[c->fd_count], O_CLOEXEC) >= 0;

	for (int i = 0; i < c->fd_count && fine; i++)
		fine = syscall(SYS_dup3, c->fds[i], c->slots[i], O_CLOEXEC) >= 0;
	fine = fine && child_unshare_files(c);
	for (int i = 0; i < c->fd_count && fine; i++)
		fine = syscall(SYS_dup3, c->slots[i], i, 0) >= 0;
	return fine;
}

/*
 * The first process of a user namespace has all capabilities in it, but loses them at
 * an exec, because its uid there is not 0. Raise those that the shim needs to set up
 * the namespaces as ambient capabilities (capabilities(7)). The command gets none.
 */
static int child_keep_capabilities(void)
{
	static const int needed[] = { CAP_SETGID, CAP_SETUID, CAP_SETPCAP, CAP_NET_ADMIN,
				      CAP_SYS_ADMIN, CAP_SYS_CHROOT };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	int result;

	if (syscall(SYS_capget, &header, data) < 0)
		return -1;
	data[0].inheritable = data[0].permitted;
	data[1].inheritable = data[1].permitted;
	result = (int)syscall(SYS_capset, &header, data);
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed) && !result; i++)
		result = (int)syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0,
				      0);
	return result;
}

int spawn_child_run(void *child)
{
	struct spawn_child *c = child;

	child_reset_ignored(c->ignored);
	if (c->user_ns && child_keep_capabilities() < 0)
		return spawn_child_failed(c, SHIM_STAGE_USER_NS);
	if (!child_take_descriptors(c))
		return spawn_child_failed(c, SHIM_STAGE_DESCRIPTORS);
	syscall(SYS_execveat, c->slots[c->fd_count], "", c->argv, c->envp, AT_EMPTY_PATH);
	return spawn_child_failed(c, SHIM_STAGE_SHIM_EXEC);
}
