#include "os/shim/command.h"

#include <stddef.h>

#include <asm/siginfo.h>
#include <asm/signal.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/signalfd.h>
#include <linux/time.h>
#include <asm/ioctls.h>

#include "os/shim/log_writer.h"
#include "os/shim/namespaces.h"
#include "os/shim/pts.h"
#include "os/shim/report.h"
#include "os/shim/sockets.h"
#include "os/shim/sys.h"


static int command_failed(struct command *c, enum shim_stage stage, long result)
{
	c->error = (int)-result;
	c->stage = (int)stage;
	return 1;
}

/* With @of_descriptors that of open files, else all others. */
static int command_set_rlimits(struct command *c, int of_descriptors)
{
	const struct shim_plan *plan = c->plan;

	for (uint32_t i = 0; i < plan->rlimit_count; i++) {
		uint64_t pair[2] = { plan->rlimits[i].soft, plan->rlimits[i].hard };
		long result = 0;

		if ((plan->rlimits[i].resource == RLIMIT_NOFILE) == of_descriptors)
			result = sys4(__NR_prlimit64, 0, plan->rlimits[i].resource, pair, 0);
		if (result < 0)
			return command_failed(c, SHIM_STAGE_RLIMIT, result);
	}
	return 0;
}

void command_name_shim(const struct command *c, uint32_t shim)
{
	struct sock_filter *filter = c->filter;

	for (uint32_t i = 0; i < c->filter_len; i++) {
		uint32_t *k = &filter[i].k;

		if (filter[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && *k == SHIM_OWN_PID)
			*k = shim;
		else if (filter[i].code == (BPF_JMP | BPF_JEQ | BPF_K) &&
			 *k == -(uint32_t)SHIM_OWN_PID)
			*k = -shim;
	}
}

/* Send the listener to the server and close it: this process must not answer its own refused
 * calls. */
static int command_send_listener(struct command *c, int listener)
{
	const struct shim_report report = { .event = SHIM_LISTENING };
	long result = report_send_with(&report, &listener, 1);

	sys1(__NR_close, listener);
	return result < 0 ? command_failed(c, SHIM_STAGE_LISTENER, result) : 0;
}

int command_install_filter(struct command *c)
{
	struct sock_fprog program = {
		.len = (unsigned short)c->filter_len,
		.filter = c->filter,
	};
	int listens = (c->plan->flags & SHIM_LISTENER) != 0;
	unsigned flags = listens ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	long result;

	/* Kernels before 5.16 slow a filtered process down without SPEC_ALLOW; those before 4.17
	 * reject the flag. */
	result = sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
		      flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
	if (result == -EINVAL)
		result = sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (result < 0)
		return command_failed(c, listens ? SHIM_STAGE_LISTENER : SHIM_STAGE_SECCOMP,
				      result);
	return listens ? command_send_listener(c, (int)result) : 0;
}

/* cgroups(7): a process that writes "0" joins the group. */
static int command_join_groups(struct command *c)
{
	for (uint32_t i = 0; i < c->plan->join_count; i++) {
		long result = sys3(__NR_write, c->plan->joins[i], "0", 1);

		if (result < 0)
			return command_failed(c, SHIM_STAGE_CGROUP, result);
	}
	return 0;
}

/* Raw system calls change one thread; this process has only one. */
static int command_change_user(struct command *c)
{
	long result = sys2(__NR_setgroups, 0, 0);

	if (!result)
		result = sys3(__NR_setresgid, c->plan->gid, c->plan->gid, c->plan->gid);
	if (!result)
		result = sys3(__NR_setresuid, c->plan->uid, c->plan->uid, c->plan->uid);
	if (result < 0)
		return command_failed(c, SHIM_STAGE_CREDENTIALS, result);
	/* fchdir(2) ran with more rights: check that the user may enter the directory. */
	result = sys3(__NR_faccessat, AT_FDCWD, c->cwd[0] ? c->cwd : ".", 1 /* X_OK */);
	return result < 0 ? command_failed(c, SHIM_STAGE_CHDIR, result) : 0;
}

/* capabilities(7): at an exec root gets all capabilities of the bounding set. Call this before
 * command_change_user(): PR_CAPBSET_DROP needs privilege. */
static int command_cut_bounding_set(struct command *c)
{
	uint64_t excess = c->bounding & ~c->plan->caps;
	long result = 0;

	for (int cap = 0; cap < 64 && !result; cap++) {
		if (excess >> cap & 1)
			result = sys5(__NR_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
		/* EINVAL: past the last capability of this kernel. All know CAP_BLOCK_SUSPEND. */
		if (result == -EINVAL && cap > CAP_BLOCK_SUSPEND)
			return 0;
	}
	return result < 0 ? command_failed(c, SHIM_STAGE_CREDENTIALS, result) : 0;
}

static long command_read_capabilities(struct command_capabilities *has)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return sys2(__NR_capget, &header, has->halves);
}

/* A change of user may have taken some of those that the shim has. What is not inheritable is not
 * ambient either (capabilities(7)). */
static int command_drop_capabilities(struct command *c)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct command_capabilities has = c->inherited;
	uint64_t keep = c->plan->caps;
	uint32_t excess = 0;
	long result = 0;

	if (!c->inherits || c->plan->flags & SHIM_CREDENTIALS)
		result = command_read_capabilities(&has);
	for (int half = 0; half < 2 && !result; half++) {
		struct __user_cap_data_struct *h = &has.halves[half];
		const uint32_t left = h->permitted & (uint32_t)(keep >> 32 * half);

		excess |= (h->permitted ^ left) | h->inheritable;
		*h = (struct __user_cap_data_struct){ h->effective & left, left, 0 };
	}
	if (!result && excess)
		result = sys2(__NR_capset, &header, has.halves);
	return result < 0 ? command_failed(c, SHIM_STAGE_CREDENTIALS, result) : 0;
}

/* Those that an ordinary user's server was given itself, too: ambient ones would last through the
 * exec, and the writer of a log file executes nothing. */
static int command_drops_capabilities(const struct command *c)
{
	const uint32_t flags = c->plan->flags;

	return flags & SHIM_DROP_CAPS || c->inherits ||
	       (flags & SHIM_NO_NEW_PRIVS && sys0(__NR_geteuid));
}

int command_prepare_shim(struct command *c)
{
	if (c->plan->flags & SHIM_DROP_CAPS) {
		if (command_cut_bounding_set(c))
			return 1;
		c->bounding &= c->plan->caps;
	}
	c->inherits = command_drops_capabilities(c) && !command_read_capabilities(&c->inherited);
	return 0;
}

static int command_enter_landlock(struct command *c, int ruleset)
{
	long result = 0;

	if (c->plan->pts_rights && !(c->plan->flags & SHIM_OWN_PTS))
		result = pts_permit_inherited(c->plan->pts_rights, ruleset);
	if (!result)
		result = sys2(__NR_landlock_restrict_self, ruleset, 0);
	return result < 0 ? command_failed(c, SHIM_STAGE_LANDLOCK, result) : 0;
}

/* The command must not outlive its shim; reaper_sweep() kills its orphans. A PID namespace ends it
 * with its init. command_change_user() clears this (prctl(2)). */
static void command_die_with_shim(const struct command *c)
{
	if (!(c->plan->flags & SHIM_PID_NS))
		sys5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

/* The order: groups first, while their files may still be written; then what needs privilege,
 * before it is dropped; the filter last, because it may refuse calls that the others need. */
static int command_enter_layers(struct command *c)
{
	uint32_t flags = c->plan->flags;
	int ruleset = c->await || c->ruleset < 0 ? c->plan->landlock_fd : c->ruleset;
	long result;

	if (command_join_groups(c) || command_set_rlimits(c, 0))
		return 1;
	if (flags & SHIM_DROP_CAPS && command_cut_bounding_set(c))
		return 1;
	if (flags & SHIM_CREDENTIALS && command_change_user(c))
		return 1;
	if (command_drops_capabilities(c) && command_drop_capabilities(c))
		return 1;
	if (!c->await || flags & SHIM_CREDENTIALS) /* else it is so already */
		command_die_with_shim(c);
	if (flags & (SHIM_NO_NEW_PRIVS | SHIM_SECCOMP) && !c->no_new_privs) {
		result = sys5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (result < 0)
			return command_failed(c, SHIM_STAGE_NO_NEW_PRIVS, result);
	}
	if (ruleset >= 0 && command_enter_landlock(c, ruleset))
		return 1;
	if (!(flags & SHIM_SECCOMP))
		return 0;
	command_name_shim(c, (uint32_t)sys0(__NR_getppid));
	return command_install_filter(c);
}

/* In a new mount namespace SHIM_FD_CWD refers to a mount of the old one: open the directory by
 * name and compare the two. */
static long command_enter_directory(const struct command *c)
{
	long fd = SHIM_FD_CWD;

	if (c->plan->flags & SHIM_MOUNTS)
		fd = namespaces_open_same(c->cwd, SHIM_FD_CWD);
	return fd < 0 ? fd : sys1(__NR_fchdir, fd);
}

/* In the mount namespace that the command belongs to: one of the server's would lie on a mount of
 * the host, where root's command could change mode and owner of the device. */
static int command_open_null(struct command *c)
{
	int ends[2];
	long result;

	if (!(c->plan->flags & SHIM_NULL_STDIN))
		return 0;
	if (c->await && c->null_fd >= 0) {
		result = sys3(__NR_dup3, c->null_fd, 0, 0);
		return result < 0 ? command_failed(c, SHIM_STAGE_DESCRIPTORS, result) : 0;
	}
	sys1(__NR_close, 0); /* what is opened next gets this number */
	result = sys4(__NR_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
	if (result < 0) { /* where the operator hides /dev: what reads as empty, too */
		result = sys2(__NR_pipe2, ends, 0);
		if (!result)
			sys1(__NR_close, ends[1]);
	}
	return result < 0 ? command_failed(c, SHIM_STAGE_DESCRIPTORS, result) : 0;
}

/* As the user that the command has by now, to whom the terminal will belong. */
static int command_open_terminal(struct command *c)
{
	const uint32_t wanted = SHIM_TERMINAL | SHIM_OWN_PTS, flags = c->plan->flags;
	long result = 0;

	if ((flags & wanted) == wanted)
		result = pts_open(&c->plan->terminal, (flags & SHIM_TYPED_STDIN) != 0);
	return result < 0 ? command_failed(c, SHIM_STAGE_DESCRIPTORS, result) : 0;
}

static volatile int command_shares_memory; /* the child has not executed yet, nor ended */

int command_leaves_fds(const struct command *c)
{
	return !c->await || !(c->plan->flags & SHIM_PID_NS);
}

int command_sleeps(const struct command *c)
{
	return c->await && !c->watches && c->timer_fd >= 0;
}

static long command_set_timer(const struct command *c, int64_t ns)
{
	const struct __kernel_itimerspec at = { .it_value.tv_nsec = ns };

	return sys4(__NR_timerfd_settime, c->timer_fd, 0, &at, 0);
}

void command_open_timer(struct command *c)
{
	c->timer_fd = (int)sys2(__NR_timerfd_create, CLOCK_MONOTONIC, O_CLOEXEC | O_NONBLOCK);
	if (command_set_timer(c, 0) < 0)
		c->timer_fd = -1;
}

/* Wake the shim in @ns nanoseconds; 0: never. */
static void command_set_alarm(struct command *c, int64_t ns)
{
	if (!command_sleeps(c))
		return;
	c->alarm = ns != 0;
	command_set_timer(c, ns);
}

/* From here on the server holds a run whose shim dies for one that may have begun: it finds the
 * plan taken. Until then the shim ends with its command's process, or the next one would find this
 * plan. */
static void command_take_plan(struct command *c)
{
	if (!c->await)
		return;
	sys6(__NR_recvfrom, SHIM_FD_CONTROL, 0, 0, 0, 0, 0);
	c->taken = 1;
	command_set_alarm(c, c->plan->flags & SHIM_ANNOUNCE ? 1 : SHIM_ANNOUNCE_MS * 1000000);
}

/* The kernel has reset the class that the shim has, to nice 0, but not the timer slack, of which a
 * real-time process has none. */
static void command_restore_scheduling(const struct command *c)
{
	if (c->scheduling) {
		/* sched_setattr(2) leaves it alone with SCHED_IDLE. */
		sys3(__NR_setpriority, PRIO_PROCESS, 0, c->scheduling->nice);
		sys3(__NR_sched_setattr, 0, c->scheduling, 0);
	}
	if (c->timer_slack_ns > 0)
		sys5(__NR_prctl, PR_SET_TIMERSLACK, c->timer_slack_ns, 0, 0, 0);
}

/* Has its shim, which the pool may discard, died before it could die with it? */
static int command_is_orphan(const struct command *c)
{
	command_die_with_shim(c);
	return !(c->plan->flags & SHIM_PID_NS) && sys0(__NR_getppid) != c->shim;
}

/* Entry of the child; the result is its exit status. */
static int command_run(void *command)
{
	struct command *c = command;
	uint64_t no_signals = 0;
	long result;

	result = c->watches ? sockets_watch() : 0;
	if (result < 0)
		return command_failed(c, SHIM_STAGE_DESCRIPTORS, result);
	result = sys0(__NR_setsid);
	if (command_sleeps(c))
		command_restore_scheduling(c);
	if (c->await) {
		if (command_is_orphan(c) ||
		    (c->ruleset >= 0 && command_enter_landlock(c, c->ruleset)) ||
		    (c->filter_len && command_install_filter(c)))
			return 1;
		if (c->await(c))
			return 1;
		c->plan->flags &= ~(uint32_t)SHIM_SECCOMP;
	}
	if (result >= 0 && (c->plan->flags & (SHIM_TERMINAL | SHIM_OWN_PTS)) == SHIM_TERMINAL)
		result = sys3(__NR_ioctl, 1, TIOCSCTTY, 0);
	if (result < 0)
		return command_failed(c, SHIM_STAGE_SESSION, result);
	result = command_enter_directory(c);
	if (result < 0)
		return command_failed(c, SHIM_STAGE_CHDIR, result);
	if (c->plan->umask != c->umask)
		sys1(__NR_umask, c->plan->umask);
	/* The limit of open files last: the filter's listener and the terminal need descriptors. */
	if (command_open_null(c) || command_enter_layers(c) || command_open_terminal(c) ||
	    command_set_rlimits(c, 1))
		return 1;
	if (c->watches)
		sockets_note_inherited();
	command_take_plan(c);
	if (c->plan->flags & SHIM_TRIAL)
		return 0;
	if (c->plan->flags & SHIM_LOG) {
		result = log_writer_start(c->plan, c->path);
		return result < 0 ? command_failed(c, SHIM_STAGE_LOG_FILE, result) : 0;
	}
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &no_signals, 0, sizeof(no_signals));
	return command_failed(c, SHIM_STAGE_EXEC, sys3(__NR_execve, c->path, c->argv, c->envp));
}

/* Until sockets_watch() has given the shim its listener; of a process that takes the plan without a
 * PID namespace until its exec, because the shim needs `forks_fd`. */
static unsigned long command_shares_files(const struct command *c)
{
	return c->watches || (c->await && command_leaves_fds(c)) ? CLONE_FILES : 0;
}

int command_drain_signal_fd(int signal_fd)
{
	struct signalfd_siginfo notices[4];
	const long size = sys3(__NR_read, signal_fd, notices, sizeof(notices));
	int other = 0;

	for (int i = 0; (long)((i + 1) * sizeof(notices[0])) <= size; i++)
		other |= notices[i].ssi_code < CLD_EXITED || notices[i].ssi_code > CLD_TRAPPED;
	return other;
}

/*
 * Most commands are short. If the exec woke the shim, it would take the processor from the command
 * and wait again. So the shim sleeps on until the command has ended, or until its process's alarm
 * comes, which it sets once @c->taken is.
 */
static void command_sleep(struct command *c, int pid)
{
	struct pollfd events[3] = {
		{ .fd = c->signal_fd, .events = POLLIN }, { .fd = c->timer_fd, .events = POLLIN },
		{ .fd = SHIM_FD_CONTROL, .events = POLLRDHUP }, /* only the end of requests */
	};
	uint64_t times;
	long ready;

	do {
		ready = sys5(__NR_ppoll, events, 3, 0, 0, 0);
		if (ready > 0 && events[0].revents)
			command_drain_signal_fd(c->signal_fd);
		if (ready > 0 && events[1].revents &&
		    sys3(__NR_read, c->timer_fd, &times, sizeof(times)) > 0)
			c->alarm = 0;
		if (ready > 0 && events[2].revents && !c->taken) { /* it may be stopped */
			c->unwanted = 1;
			sys2(__NR_kill, pid, SIGKILL);
			events[2].fd = -1;
		}
	} while ((ready > 0 || ready == -EINTR) && command_shares_memory && !c->taken);
}

/*
 * As vfork(2) does, but the wait for a command may be long, and one in vfork(2) would count as load
 * of the machine. The kernel clears the word when the child executes or ends (clone(2),
 * CLONE_CHILD_CLEARTID).
 */
static int command_start_ahead(struct command *c, char stack[COMMAND_STACK])
{
	long pid;

	c->taken = 0;
	command_shares_memory = 1;
	if (c->alarm)
		command_set_alarm(c, 0); /* it would wake us for nothing */
	pid = sys_clone_call(CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD | command_shares_files(c),
			     stack + COMMAND_STACK, &command_shares_memory, command_run, c);
	if (pid > 0 && command_sleeps(c))
		command_sleep(c, (int)pid);
	while (pid > 0 && command_shares_memory)
		sys4(__NR_futex, &command_shares_memory, FUTEX_WAIT, 1, 0);
	return (int)pid;
}

/* Clone into the control group, because joining it later costs a kernel grace period
 * (milliseconds). If the kernel refuses that, the child joins. */
int command_start(struct command *c, char stack[COMMAND_STACK])
{
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP | command_shares_files(c),
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)stack,
		.stack_size = COMMAND_STACK,
		.cgroup = (uint64_t)c->plan->group_fd,
	};
	uint32_t joins = c->plan->join_count;
	long pid = -ENOSYS;

	if (c->await)
		return command_start_ahead(c, stack);
	if (c->plan->group_fd >= 0) {
		c->plan->join_count = 0; /* the child shares our memory */
		pid = sys_clone3_call(&args, sizeof(args), command_run, c);
		c->plan->join_count = joins;
	}
	if (pid < 0)
		pid = sys_clone_call(CLONE_VM | CLONE_VFORK | SIGCHLD | command_shares_files(c),
				     stack + COMMAND_STACK, 0, command_run, c);
	return (int)pid;
}

/* The shim was executed with the command's argv and environment. Wipe them, so that a process list
 * shows the command once and the shim's memory holds none of its secrets. Write our name over
 * argv[0], cut to the room there is. */
void command_wipe(const struct command *c)
{
	static const char name[] = "procpen-shim";
	char *start = c->argv[0], *end = start;

	for (char **text = c->argv; *text; text++)
		for (end = *text; *end; end++)
			;
	for (char **text = c->envp; *text; text++)
		for (end = *text; *end; end++)
			;
	if (!start || end <= start)
		return;
	for (char *at = start; at < end; at++)
		*at = '\0';
	for (size_t i = 0; i < sizeof(name) - 1 && start + i < end; i++)
		start[i] = name[i];
}
