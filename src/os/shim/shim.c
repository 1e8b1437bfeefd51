/*
 * shim - the process that watches one run: a tiny program without libc.
 *
 * Theory of operation. The server executes this image with the command's own
 * argv and environment, the control socket on 3 and the working directory on 4.
 * It reads its plan from the socket, becomes sub-reaper, and clones the command
 * (command.c; sharing memory until the exec). From then on every process of the run
 * that loses its parent becomes a child of the shim, so the shim alone knows exactly:
 *
 *   the command's exit   wait4() returns its pid: reported at once, with usage
 *   the tree is empty    wait4() says ECHILD: reported, then the shim exits
 *   the tree is dead     SIGKILL to all that /proc lists below us, until ECHILD
 *
 * With a PID namespace the shim is its init: then one kill(-1) reaches all of it at
 * one moment, and the kernel kills all of it when the shim dies.
 *
 * A pooled shim (pooled.c) may serve one command after another: if the tree becomes
 * empty by itself, it says so, and if it shows no taint (taint.c) it waits for the next, and
 * keeps nothing but the namespaces and the filter.
 *
 * It kills the tree when the server shuts its side of the control socket down, or closes
 * it, so a server that was killed leaves nothing behind. It closes the command's pipes
 * before its first report, or right after it where that tells the command's end. It blocks
 * every signal, and is not dumpable (the command, which has its uid, can neither trace it nor
 * read its memory). It allocates nothing.
 *
 * Built with -ffreestanding -nostdlib because its cost is its start-up: one more exec
 * of a libc program would double the time of a short command.
 */
#include <stdint.h>

#include <asm/signal.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/socket.h>
#include <linux/time_types.h>
#include <linux/wait.h>

#include "os/shim/command.h"
#include "os/shim/taint.h"
#include "os/shim/message.h"
#include "os/shim/namespaces.h"
#include "os/shim/proctree.h"
#include "os/shim/proto.h"
#include "os/shim/report.h"
#include "os/shim/sockets.h"
#include "os/shim/pooled.h"
#include "os/shim/sys.h"
#include "os/shim/rusage.h"
#include "os/shim/limit.h"
#include "os/shim/tally.h"

#define REAP_MAX 64       /* children reaped in one turn */
#define REAP_TURNS 32     /* turns without a pause, during a kill */
#define KILL_ALONE_MS 5   /* for the death of a command without children */
#define KILL_PASS_MS 1    /* pause between passes while something still lives */
#define KILL_SLOW_MS 20   /* the same after KILL_FAST_PASSES (unkillable sleepers) */
#define KILL_FAST_PASSES 500
#define KILL_DEEP_PASSES 16 /* every so many passes, also kill below children that do not die */
#define KILL_LISTS 8 /* a tree that grows for longer than so many cannot be counted */
#define CAUSED_MAX 16 /* so often we do work of the run's making as a real-time process */
#define GROUPS_MAX 256 /* process groups signalled as one; in further ones each process */

static struct shim_plan plan SHIM_FIRST_OF_LARGE;
static struct command_scheduling usual; /* the server's; size 0: we have it always */
static struct command command = { .plan = &plan, .bounding = ~0ULL, .ruleset = -1 };
static int command_pid;   /* 0 when reaped */
static int signal_fd;
static int announced;
static int over; /* the tree is empty, and the shim waits for another command */
static int killing;
static int server_gone; /* a report could not be delivered */
static int kernel_reaps; /* too many died to reap them one by one */
static int caused; /* such work: see shim_count_caused() */

_Noreturn static void shim_exit(int status)
{
	for (;;)
		sys1(__NR_exit_group, status);
}

/* Live processes of the run, whose command is over. */
static void shim_count_live(struct shim_report *report)
{
	const int *tree;
	int count = proctree_list(&tree);

	for (int i = 0; i < count; i++) {
		report->live += (uint32_t)proctree_is_live(tree[i]);
		report->uncounted |= (uint32_t)proctree_is_hidden(tree[i]); /* with its children */
	}
}

/* ---- talking to the server ---- */

static void shim_add_usage(struct shim_report *report)
{
	rusage_report(report);
	report->memory_peak_bytes = limit_memory_peak();
}

/* Wait @ms milliseconds, or until a child ends. */
static void shim_sleep(int ms)
{
	struct pollfd wait = { .fd = signal_fd, .events = POLLIN };
	struct __kernel_timespec pause = { 0, ms * 1000000 };

	/* ppoll fails if the command has lowered our RLIMIT_NOFILE: then just wait. */
	if (sys5(__NR_ppoll, &wait, 1, &pause, 0, 0) < 0)
		sys2(__NR_nanosleep, &pause, 0);
}

/* If the server is gone, shim_serve() kills the tree next. */
static void shim_send_report(const struct shim_report *report)
{
	server_gone |= report_send(report) < 0;
}

static void shim_report_event(enum shim_event event, int value, int error)
{
	struct shim_report report = {
		.event = (uint32_t)event, .value = value, .error = error,
	};

	shim_send_report(&report);
}

/* @empty: the command was the last process; one report says both, for one wake-up. */
static void shim_report_exit(int wait_status, int empty, int reusable)
{
	struct shim_report report = {
		.event = SHIM_EXITED, .value = wait_status, .empty = (uint32_t)empty,
		.reusable = (uint32_t)reusable,
		.renews = (uint32_t)(reusable && pooled_renews(&command)),
	};

	if (!empty && !killing) /* a kill counts the processes as they die */
		shim_count_live(&report);
	shim_add_usage(&report);
	shim_send_report(&report);
}

_Noreturn static void report_empty_and_leave(void)
{
	struct shim_report report = { .event = SHIM_EMPTY };

	tally_report(&report);
	shim_add_usage(&report);
	shim_send_report(&report);
	shim_exit(0);
}

/* ---- scheduling ---- */

/*
 * sched(7): a hundred processes that do nothing but fork leave the shim a hundredth of the
 * processor, and fork faster than it can kill them. So run under SCHED_FIFO if permitted.
 * Otherwise a session of our own gets at least one of the shares that the kernel divides the
 * processor into ("The autogroup feature").
 */
static void shim_raise_priority(void)
{
	const int priority = 1;

	if (command.raised || !usual.size)
		return;
	if (sys3(__NR_sched_setscheduler, 0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) < 0) {
		usual.size = 0;
		command.scheduling = 0;
		command.timer_slack_ns = 0;
		return;
	}
	command.raised = 1;
}

/* Take the server's class again. 0, or a negative errno. */
static long shim_become_usual(void)
{
	struct command_scheduling kept = usual;
	long result = command.raised ? sys3(__NR_sched_setattr, 0, &usual, 0) : 0;

	kept.flags |= SCHED_FLAG_RESET_ON_FORK;
	if (result == -EPERM) /* without CAP_SYS_NICE that cannot be taken back: sched(7) */
		result = sys3(__NR_sched_setattr, 0, &kept, 0);
	if (!result)
		command.raised = 0;
	return result;
}

/*
 * A process of the run has made work for us that it can make again and again, at little cost to
 * itself. A real-time process that does such work without end takes the processors from everybody
 * else, so after a few times we do it in our turn. The kill raises us again.
 */
static void shim_count_caused(void)
{
	if (caused < CAUSED_MAX)
		caused++;
	else
		(void)shim_become_usual();
}

/* ---- children ---- */

static int shim_has_children(void)
{
	return sys5(__NR_waitid, P_ALL, 0, 0, WNOHANG | WEXITED | WNOWAIT, 0) != -ECHILD;
}

static int shim_is_stop(int status)
{
	return (status & 0xff) == 0x7f;
}

/* The child @pid has made the shim its tracer (ptrace(2), PTRACE_TRACEME), so it stops for each
 * signal, which wait4() reports too: detach from it and pass the signal on. */
static void shim_release_traced(long pid, int status)
{
	const int signal = status >> 8 & 0xff;

	if (killing) {
		sys2(__NR_kill, pid, SIGKILL); /* else it could stop again and again */
		return;
	}
	sys4(__NR_ptrace, PTRACE_DETACH, pid, 0, signal == SIGTRAP ? 0 : signal);
	shim_count_caused();
}

/* Collect one child that is dead, or that has stopped for us. Returns its pid, 0 if there is none,
 * -ECHILD if there is no child. */
static long shim_collect(int *status)
{
	struct kernel_rusage usage;
	long pid;

	do
		pid = sys4(__NR_wait4, -1, status, WNOHANG, &usage);
	while (pid == -EINTR);
	if (pid <= 0)
		return pid;
	if (shim_is_stop(*status)) {
		shim_release_traced(pid, *status);
		return pid;
	}
	rusage_add(&usage);
	if (killing)
		tally_collected((int)pid, *status & 0x7f, pid != command_pid);
	return pid;
}

/*
 * The command is over. Other processes that a signal to its group killed may still be
 * exiting: wait a moment, so that the report counts only what stays.
 */
static void shim_command_exited(int exit_status)
{
	int empty, stays, wait_status, count = 0;
	long pid = -ECHILD;

	command_pid = 0;
	if (shim_has_children()) {
		if (!killing)
			shim_sleep(KILL_PASS_MS);
		do
			pid = shim_collect(&wait_status);
		while (pid > 0 && ++count < REAP_MAX);
	}
	empty = pid == -ECHILD && tally_is_none(); /* else SHIM_EMPTY counts */
	stays = empty && plan.flags & SHIM_REUSABLE;
	shim_report_exit(exit_status, empty, stays);
	over = stays && !server_gone;
	if (empty && !over)
		shim_exit(0);
}

/*
 * Collect up to REAP_MAX children and report the command's exit. Returns how many. When no
 * process is left, exits, or sets `over` if the shim is reused. In portions, because processes
 * may die as fast as we reap them, and requests of the server come first.
 */
static int shim_reap(void)
{
	int count = 0;

	/* With `over` the last report is sent: the server may have given us another run. */
	for (; !over && count < REAP_MAX; count++) {
		int status = 0;
		long pid = shim_collect(&status);

		if (pid == -ECHILD)
			report_empty_and_leave();
		if (pid <= 0)
			break;
		if (pid == command_pid && !shim_is_stop(status))
			shim_command_exited(status);
	}
	return count;
}

/* ---- the kill ---- */

static int shim_command_is_alone(void)
{
	return tally_note_namespace(command_pid);
}

/*
 * kill(2) of -1 looks at every process of the machine, so a command that is alone in its namespace
 * is killed by its pid. Exits if that was all. Returns whether it is still alone: then it only
 * needs a processor to die, because a pending SIGKILL makes fork(2) fail. Else it had forked.
 */
static int shim_kill_alone(void)
{
	sys2(__NR_kill, command_pid, SIGKILL);
	shim_sleep(KILL_ALONE_MS);
	command_drain_signal_fd(signal_fd);
	while (shim_reap() == REAP_MAX)
		;
	return shim_command_is_alone();
}

/*
 * After this no process of the run can escape by forking: the init of a PID namespace kills all
 * of it at one moment, and in a control group fork(2) fails (cgroups(7), pids.max).
 */
static void shim_stop_forks(void)
{
	if (plan.flags & SHIM_PID_NS) {
		if (!shim_command_is_alone() || !shim_kill_alone())
			sys2(__NR_kill, -1, SIGKILL);
	} else if (plan.forks_fd < 0 || sys3(__NR_write, plan.forks_fd, "0", 1) < 0) {
		return;
	}
	shim_report_event(SHIM_KILLING, 0, 0);
}

/* Reap up to REAP_TURNS * REAP_MAX children. True: there are more. */
static int shim_reap_backlog(void)
{
	int turns = 0;

	while (turns < REAP_TURNS && shim_reap() == REAP_MAX)
		turns++;
	return turns == REAP_TURNS;
}

/*
 * More processes die than our share of the processor lets us reap, and the live ones come after
 * them in every list. Ignore SIGCHLD from here on, so that the kernel reaps for us (sigaction(2)).
 * The price: we do not learn how many there were.
 */
static void shim_let_kernel_reap(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	kernel_reaps = 1;
	tally_lose();
	sys4(__NR_rt_sigaction, SIGCHLD, &ignore, 0, sizeof(ignore.sa_mask));
	while (shim_reap() == REAP_MAX)
		;
}

/*
 * Kill from the top: the children of a dead process become ours, so no list of the tree is needed,
 * and little time passes between listing and killing. A pending SIGKILL makes fork(2) fail, so a
 * process that got it forks no more. Repeat without a pause as long as children die.
 */
static void shim_kill_children(void)
{
	const int *pids;
	int count;

	do {
		count = proctree_children(&pids);
		for (int i = 0; i < count; i++)
			sys2(__NR_kill, pids[i], SIGKILL);
	} while (shim_reap() > 0);
}

/* Kill all that can be listed below us. A listed pid can be reused only if its parent reaped it and
 * the whole pid space was used up within microseconds: accepted. Returns how many are new. */
static int shim_kill_listed(void)
{
	const int *tree;
	int count = proctree_list(&tree), found = 0;

	for (int i = 0; i < count; i++) {
		found += tally_note(tree[i]);
		sys2(__NR_kill, tree[i], SIGKILL);
	}
	return found;
}

/*
 * Kill the descendants of a child that does not die because it hangs in the kernel, or waits for a
 * processor. An init also reaches what a list of /proc may have missed. Elsewhere list until
 * nothing is new, so that all is noted before the signal to the command's group, which is there in
 * case /proc cannot be read.
 */
static void shim_kill_descendants(void)
{
	int lists = 0;

	if (plan.flags & SHIM_PID_NS) {
		sys2(__NR_kill, -1, SIGKILL);
		return;
	}
	while (shim_kill_listed())
		if (++lists == KILL_LISTS)
			tally_lose();
	if (command_pid && !kernel_reaps) {
		if (!proctree_sees_below(command_pid))
			tally_lose();
		sys2(__NR_kill, -command_pid, SIGKILL);
	}
}

/* How long to wait after a pass. All of a PID namespace has its SIGKILL, and each death wakes us,
 * unless the kernel reaps: so we need not look often, which would take time from the dying. */
static int shim_pause_ms(int pass)
{
	if (plan.flags & SHIM_PID_NS && !kernel_reaps)
		return pass < 4 ? KILL_PASS_MS << pass : KILL_SLOW_MS;
	return pass < KILL_FAST_PASSES ? KILL_PASS_MS : KILL_SLOW_MS;
}

/* Kill until wait4() returns ECHILD, the only exact proof that the tree is dead. */
_Noreturn static void kill_tree(void)
{
	plan.flags &= ~(uint32_t)SHIM_REUSABLE;
	killing = 1;
	shim_raise_priority();
	shim_stop_forks();
	for (int pass = 0;; pass++) {
		if (shim_reap_backlog())
			shim_let_kernel_reap();
		/* An init has just killed all at one moment: first wait for the deaths. */
		if (pass || !(plan.flags & SHIM_PID_NS))
			shim_kill_children();
		if (pass % KILL_DEEP_PASSES == KILL_DEEP_PASSES - 1)
			shim_kill_descendants();
		shim_sleep(shim_pause_ms(pass));
		command_drain_signal_fd(signal_fd);
	}
}

/* ---- signals ---- */

/* We have not reaped the command, so its pid cannot have been reused. */
static long shim_signal_command(int number)
{
	long result = -ESRCH;

	if (command_pid) {
		result = sys2(__NR_kill, -command_pid, number);
		if (result == -ESRCH)
			result = sys2(__NR_kill, command_pid, number);
	}
	return result;
}

/* The state while one signal is sent to the whole tree. */
struct round {
	int number;
	long result; /* 0: at least one process was sent it */
	int groups[GROUPS_MAX], count; /* process groups that were sent it */
};

static int shim_group_was_signaled(const struct round *r, int group)
{
	for (int i = 0; i < r->count; i++)
		if (r->groups[i] == group)
			return 1;
	return 0;
}

/* @pid as for kill(2). Also sends SIGCONT, so that a stopped process handles the signal, unless
 * the signal is itself a stop. */
static void shim_signal_and_wake(struct round *r, int pid)
{
	const int number = r->number;
	long result = sys2(__NR_kill, pid, number);

	if (!result && number != SIGSTOP && number != SIGTSTP && number != SIGTTIN &&
	    number != SIGTTOU)
		sys2(__NR_kill, pid, SIGCONT);
	if (r->result)
		r->result = result;
}

/*
 * Signal by process group: the kernel then also reaches a child whose fork is under way. A process
 * that joins a signalled group later was started by a signal handler and is left alone. The
 * command leads a session, so its groups have no members outside this run.
 */
static void shim_signal_group_of(void *ctx, int pid, const struct procread_stat *stat)
{
	struct round *r = ctx;

	if (shim_group_was_signaled(r, stat->group))
		return;
	if (r->count == GROUPS_MAX || stat->group <= 1) {
		shim_signal_and_wake(r, pid);
		return;
	}
	r->groups[r->count++] = stat->group;
	shim_signal_and_wake(r, -stat->group);
}

/* Send a signal to every process of the run, once each, so that they end by themselves. An init
 * reaches all at one moment. */
static long shim_signal_tree(int number)
{
	static struct round r SHIM_LARGE;

	r.number = number;
	r.result = -ESRCH;
	r.count = 0;
	plan.flags &= ~(uint32_t)SHIM_REUSABLE;
	if (plan.flags & SHIM_PID_NS)
		shim_signal_and_wake(&r, -1);
	else
		proctree_walk(shim_signal_group_of, &r);
	return r.result;
}

/* Reap first, so that an earlier exit is reported before the signal's outcome. */
static void shim_signal_run(const struct shim_request *request)
{
	long result;

	shim_reap();
	if (over)
		return;
	limit_before_signal();
	result = request->command == SHIM_SIGNAL_TREE ? shim_signal_tree(request->arg)
						      : shim_signal_command(request->arg);
	shim_report_event(SHIM_SIGNALED, request->arg, (int)-result);
}

static void shim_serve_control(void)
{
	struct shim_request request;
	long n = sys6(__NR_recvfrom, SHIM_FD_CONTROL, (long)&request, sizeof(request),
		      MSG_DONTWAIT_FLAG, 0, 0);

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n != (long)sizeof(request))
		kill_tree(); /* the end of requests */
	shim_signal_run(&request);
}

static void shim_report_started(void)
{
	if (command_pid && !announced)
		shim_report_event(SHIM_STARTED, command_pid, 0);
	announced = 1;
}

/* Report before the kill, so that the server knows the cause whatever ends first. */
_Noreturn static void kill_for_limit(enum shim_limit limit)
{
	struct shim_report report = {
		.event = SHIM_LIMITED, .value = (int32_t)limit, .live = limit_tasks(),
	};

	shim_add_usage(&report);
	shim_send_report(&report);
	kill_tree();
}

#define POLLS 3 /* the control socket, signals, the calls that make sockets */

/* Wait for an event or the next deadline; @more: only poll. */
static long shim_wait_for_event(struct pollfd polls[POLLS], int more)
{
	int64_t ns = more ? 0 : limit_wait();
	struct __kernel_timespec pause;

	polls[2].fd = sockets_listener();
	polls[2].revents = 0; /* else a failed call would leave it, and sockets_serve() block */

	if (!announced && (ns < 0 || ns > SHIM_ANNOUNCE_MS * 1000000))
		ns = SHIM_ANNOUNCE_MS * 1000000;
	pause.tv_sec = ns / 1000000000;
	pause.tv_nsec = ns % 1000000000;
	return sys5(__NR_ppoll, polls, POLLS, ns < 0 ? 0 : &pause, 0, 0);
}

/* Returns when the command is over and the shim is to be reused. */
static void shim_serve(void)
{
	struct pollfd polls[POLLS] = {
		{ .fd = SHIM_FD_CONTROL, .events = POLLIN },
		{ .fd = signal_fd, .events = POLLIN },
		{ .events = POLLIN },
	};

	for (;;) {
		struct __kernel_timespec moment = { 0, SHIM_ANNOUNCE_MS * 1000000 };
		enum shim_limit limit;
		int more = shim_reap() == REAP_MAX;
		long ready;

		if (over)
			return;
		if (server_gone)
			kill_tree();
		limit = limit_check();
		if (limit)
			kill_for_limit(limit);
		ready = shim_wait_for_event(polls, more);
		if (!ready && !more)
			shim_report_started();
		if (ready < 0 && ready != -EINTR) { /* ppoll fails: check both after a pause */
			sys2(__NR_nanosleep, &moment, 0);
			polls[0].revents = polls[1].revents = POLLIN;
		}
		if (polls[2].revents) {
			sockets_serve(polls[2].revents);
			shim_count_caused();
		}
		/* A process that others stop and continue without end costs them little. */
		if (polls[1].revents && command_drain_signal_fd(signal_fd))
			shim_count_caused();
		if (polls[0].revents) {
			shim_reap();
			if (!over)
				shim_serve_control();
		}
	}
}

/* ---- start ---- */

/* The message must be exactly as long as its header says. */
static int shim_check_plan_tail(unsigned long size)
{
	unsigned long filter = plan.filter_len * sizeof(struct sock_filter);

	if (plan.filter_len > SHIM_FILTER_MAX || plan.mounts_size > SHIM_PATHS_MAX ||
	    plan.path_len >= SHIM_PATH_MAX || plan.cwd_len >= SHIM_PATH_MAX ||
	    plan.join_count > SHIM_JOINS_MAX || plan.rlimit_count > SHIM_RLIMITS_MAX ||
	    size != filter + plan.mounts_size + plan.path_len + plan.cwd_len + 2)
		return -1;
	command.filter = plan.tail;
	command.filter_len = plan.filter_len;
	command.path = (const char *)plan.tail + filter + plan.mounts_size;
	command.cwd = command.path + plan.path_len + 1;
	return 0;
}

static void shim_receive_plan(void)
{
	long n = sys6(__NR_recvfrom, SHIM_FD_CONTROL, (long)&plan, sizeof(plan), 0, 0, 0);

	if (n < (long)SHIM_PLAN_HEAD || shim_check_plan_tail((unsigned long)n - SHIM_PLAN_HEAD)) {
		shim_report_event(SHIM_FAILED, SHIM_STAGE_PLAN, n < 0 ? (int)-n : EPROTO);
		shim_exit(1);
	}
}

_Noreturn static void fail_to_start(enum shim_stage stage, long result)
{
	if (command_pid > 0)
		sys4(__NR_wait4, command_pid, 0, 0, 0); /* it has already exited */
	shim_report_event(SHIM_FAILED, (int)stage, (int)-result);
	shim_exit(1);
}

/* proc(5), oom_score_adj: when memory runs out, the kernel kills a run before its host. The write
 * fails if /proc is read-only; then the kernel's own choice stands. */
static void shim_offer_to_oom_killer(void)
{
	long fd = sys4(__NR_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	sys3(__NR_write, fd, "500", 3);
	sys1(__NR_close, fd);
}

static void shim_enter_namespaces(void)
{
	enum shim_stage stage;
	long result = namespaces_enter(&plan, &stage);

	if (result < 0)
		fail_to_start(stage, result);
}

/*
 * Where the exec wakes us (vfork(2)): if we were real-time then, we would take the processor from
 * the command, and on a busy machine it would wait for its next turn, milliseconds later.
 */
static void shim_lower_priority(void)
{
	long result = shim_become_usual();

	if (result < 0)
		fail_to_start(SHIM_STAGE_FORK, result);
}

/* A real-time server's shims stay at its priority: ours may be less than their commands' then, and
 * without privilege there is no way back up. */
static void shim_read_scheduling(void)
{
	if (sys4(__NR_sched_getattr, 0, &usual, sizeof(usual), 0) < 0 ||
	    usual.policy == SCHED_FIFO || usual.policy == SCHED_RR)
		usual.size = 0;
	if (usual.size && (usual.policy != SCHED_NORMAL || usual.nice))
		command.scheduling = &usual;
	command.timer_slack_ns = sys5(__NR_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);
}

static void shim_prepare(void)
{
	uint64_t child_signal = 1ULL << (SIGCHLD - 1);
	long result;

	sys0(__NR_setsid);
	shim_read_scheduling();
	shim_raise_priority();
	command.shim = sys0(__NR_getpid);
	proctree_init((int)command.shim);
	/* Of what each command's process sets, it need not set what it inherits. */
	sys1(__NR_umask, plan.umask);
	command.umask = plan.umask;
	/* The command must get none of our descriptors, except 0, 1 and 2. */
	if (sys3(__NR_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC_FLAG) < 0)
		for (int fd = 3; fd < SHIM_FD_EXTRA + SHIM_EXTRA_FDS_MAX; fd++)
			sys3(__NR_fcntl, fd, F_SETFD, FD_CLOEXEC);
	signal_fd = (int)sys4(__NR_signalfd4, -1, &child_signal, sizeof(child_signal),
			      O_CLOEXEC | O_NONBLOCK);
	if (signal_fd < 0)
		fail_to_start(SHIM_STAGE_FORK, signal_fd);
	command.signal_fd = signal_fd;
	command_open_timer(&command);
	/* If the server dies while the command has the shim stopped, SIGCONT lets the shim clean
	 * up. An init need not: killing it kills its namespace. */
	sys5(__NR_prctl, PR_SET_PDEATHSIG, plan.flags & SHIM_PID_NS ? SIGKILL : SIGCONT, 0, 0, 0);
	result = sys5(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (result < 0)
		fail_to_start(SHIM_STAGE_FORK, result);
	/* Before the fork, so that a command that has lost its shim has it at any moment:
	 * reaper_sweep() leaves others alone. */
	if (plan.flags & (SHIM_NO_NEW_PRIVS | SHIM_SECCOMP)) {
		result = sys5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (result < 0)
			fail_to_start(SHIM_STAGE_NO_NEW_PRIVS, result);
		command.no_new_privs = 1;
	}
	sys5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	sys5(__NR_prctl, PR_SET_NAME, "procpen-shim", 0, 0, 0);
}

/* Close our ends of the command's pipes; in one call, so that the server wakes once. */
static void shim_close_command_fds(void)
{
	if (sys3(__NR_close_range, 0, 2, 0) < 0)
		for (int fd = 0; fd < 3; fd++)
			sys1(__NR_close, fd);
	sys1(__NR_close, SHIM_FD_CWD);
}

/* The process that waited for a command has ended without it, so nothing ran. If it was killed
 * because the server wanted that, this is the end of the run; else the server starts it anew. */
_Noreturn static void leave_before_command(void)
{
	sys4(__NR_wait4, command_pid, 0, 0, 0);
	if (command.unwanted)
		shim_report_event(SHIM_EMPTY, 0, 0);
	shim_exit(0);
}

/* Returns when the shim is to be reused. @forget: drop the command's data when not needed. */
static void shim_run_command(char stack[COMMAND_STACK], void (*forget)(const struct command *c))
{
	announced = over = caused = 0;
	sockets_forget();
	rusage_start();
	/* A command that forks without end must find us raised: later we would wait our turn. */
	if (command_sleeps(&command))
		shim_raise_priority();
	else
		shim_lower_priority();
	command_pid = command_start(&command, stack);
	if (command_pid < 0)
		fail_to_start(SHIM_STAGE_FORK, command_pid);
	if (command.stage)
		fail_to_start((enum shim_stage)command.stage, -(long)command.error);
	if (command.await && !command.taken)
		leave_before_command();
	limit_start(&plan); /* before a report: it must not show the peak of the command before */
	shim_reap(); /* a short command is over */
	forget(&command);
	if (!over)
		shim_raise_priority();
	if (plan.flags & SHIM_ANNOUNCE || command_sleeps(&command))
		shim_report_started();
	if (!over)
		shim_serve();
}

static void shim_forget_arguments(const struct command *c)
{
	shim_close_command_fds();
	command_wipe(c);
}

/*
 * The server may end, or discard the shim, before a command comes.
 *
 * The command's process waits for it, so that no run has to wait for its clone, where no process of
 * another run can stop it, which the server would not see. A command with a control group (version
 * 2) is cloned into it, which is not known before its plan comes.
 */
_Noreturn static void shim_run_commands(char stack[COMMAND_STACK])
{
	int result;

	shim_lower_priority();
	result = pooled_prepare(&command);
	command_wipe(&command);
	if (plan.flags & SHIM_SHELTERED && !(plan.flags & SHIM_GROUPED))
		command.await = pooled_wait;
	while (!result && (command.await || !(result = pooled_wait(&command)))) {
		shim_run_command(stack, pooled_forget);
		if (!command_sleeps(&command) || command.reachable) { /* taint compares it */
			shim_lower_priority();
			sys0(__NR_sched_yield); /* the server has our report to answer first */
		}
		if (!taint_none())
			break;
		if (plan.flags & SHIM_MOUNTS)
			namespaces_keep_directory(command.cwd);
		result = pooled_renew(&command);
	}
	if (command.stage)
		fail_to_start((enum shim_stage)command.stage, -(long)command.error);
	shim_exit(0);
}

_Noreturn void shim_main(long *stack);

_Noreturn void shim_main(long *stack)
{
	char child_stack[COMMAND_STACK] __attribute__((aligned(16)));
	long argc = stack[0];

	command.argv = (char **)(stack + 1);
	command.envp = command.argv + argc + 1;
	shim_receive_plan();
	if (plan.flags & SHIM_OOM_SCORE)
		shim_offer_to_oom_killer();
	shim_enter_namespaces();
	if (plan.flags & SHIM_POOLED)
		pooled_reserve(&command);
	shim_prepare();
	if (plan.flags & SHIM_POOLED)
		shim_run_commands(child_stack);
	shim_run_command(child_stack, shim_forget_arguments);
	shim_exit(0);
}

SHIM_ENTRY(shim_main);
