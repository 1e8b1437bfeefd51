#include "os/shim/command.h"

#include <asm/signal.h>
#include <linux/errno.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

#include "os/shim/sys.h"

static int failed(struct command *c, enum shim_stage stage, long result)
{
	c->error = (int)-result;
	c->stage = (int)stage;
	return 1;
}

static int set_rlimits(struct command *c)
{
	const struct shim_plan *plan = c->plan;

	for (uint32_t i = 0; i < plan->rlimit_count && i < SHIM_RLIMITS_MAX; i++) {
		uint64_t pair[2] = { plan->rlimits[i].soft, plan->rlimits[i].hard };
		long result = sys4(__NR_prlimit64, 0, plan->rlimits[i].resource, pair, 0);

		if (result < 0)
			return failed(c, SHIM_STAGE_RLIMIT, result);
	}
	return 0;
}

static int install_filter(struct command *c)
{
	struct sock_fprog program = {
		.len = (unsigned short)c->plan->filter_len,
		.filter = (struct sock_filter *)(void *)c->plan->tail,
	};
	/* Without SPEC_ALLOW kernels before 5.16 slow a filtered process down; before 4.17
	 * they do not know the flag. */
	long result = sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
			   &program);

	if (result == -EINVAL)
		result = sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	return result < 0 ? failed(c, SHIM_STAGE_SECCOMP, result) : 0;
}

static int confine(struct command *c)
{
	long result;

	if (set_rlimits(c))
		return 1;
	if (c->plan->flags & (SHIM_NO_NEW_PRIVS | SHIM_SECCOMP)) {
		result = sys5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (result < 0)
			return failed(c, SHIM_STAGE_NO_NEW_PRIVS, result);
	}
	return c->plan->flags & SHIM_SECCOMP ? install_filter(c) : 0;
}

int command_run(void *command)
{
	struct command *c = command;
	const char *path = (const char *)c->plan->tail +
			   c->plan->filter_len * sizeof(struct sock_filter);
	uint64_t no_signals = 0;
	long result;

	result = sys0(__NR_setsid);
	if (result < 0)
		return failed(c, SHIM_STAGE_SESSION, result);
	result = sys1(__NR_fchdir, SHIM_FD_CWD);
	if (result < 0)
		return failed(c, SHIM_STAGE_CHDIR, result);
	sys1(__NR_umask, c->plan->umask);
	/* The command itself must not outlive its keeper; what it forks is hunted by others. */
	sys5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (confine(c))
		return 1;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &no_signals, 0, sizeof(no_signals));
	return failed(c, SHIM_STAGE_EXEC, sys3(__NR_execve, path, c->argv, c->envp));
}
