/*
 * shim - the keeper of one run: a tiny program without libc.
 *
 * Theory of operation. The server executes this image with the command's own
 * argv and environment, the control socket on 3 and the working directory on 4.
 * It reads its plan from the socket, becomes sub-reaper, and clones the command
 * (sharing memory until the exec, so a failure is told through `failure`). From
 * then on every process of the run that loses its parent becomes a child of this
 * one, which makes three things exact that nobody else can know:
 *
 *   the command's exit   wait4() returns its pid: reported at once, with usage
 *   the tree is empty    wait4() says ECHILD: reported, then the shim exits
 *   the tree is dead     SIGKILL to all that /proc lists below us, until ECHILD
 *
 * It kills when told to, and when the control socket closes, so a server that
 * was killed leaves nothing behind. It holds none of the command's pipes, blocks
 * every signal, and is not dumpable (the command, which has its uid, can neither
 * trace it nor read its memory). It allocates nothing.
 *
 * Built with -ffreestanding -nostdlib because start-up is what it costs: one
 * more exec of a libc program would double the time of a short command.
 */
#include <stddef.h>
#include <stdint.h>

#include <asm/signal.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/socket.h>
#include <linux/wait.h>

#include "os/shim_proto.h"
#include "os/shim_sys.h"

#define MSG_NOSIGNAL_FLAG 0x4000
#define MSG_DONTWAIT_FLAG 0x40
#define RUSAGE_CHILDREN_WHO (-1)
#define TREE_MAX 8192     /* processes looked at in one pass; the next pass sees the rest */
#define KILL_PASS_MS 1    /* pause between passes while something still lives */
#define KILL_SLOW_MS 20   /* the same after KILL_FAST_PASSES (unkillable sleepers) */
#define KILL_FAST_PASSES 500

struct kernel_rusage {
	long utime_s, utime_us, stime_s, stime_us;
	long maxrss_kib;
	long rest[13];
};

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static struct shim_plan plan;
static struct {
	volatile int stage;
	volatile int error;
} failure;

static char **command_argv, **command_envp;
static int self_pid;
static int command_pid;   /* 0 when reaped */
static int signal_fd, io_fd;
static int have_children_file = 1;
static int announced;
static int killing;
static uint32_t killed_most; /* processes beside the command that one pass found */

static int tree[TREE_MAX];
static char scratch[4096];
static char child_stack[16384] __attribute__((aligned(16)));

/* The compiler may call these even in freestanding code. */
void *memset(void *to, int byte, size_t len);
void *memcpy(void *restrict to, const void *restrict from, size_t len);

void *memset(void *to, int byte, size_t len)
{
	volatile char *p = to;

	while (len--)
		*p++ = (char)byte;
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	volatile char *p = to;
	const char *q = from;

	while (len--)
		*p++ = *q++;
	return to;
}

_Noreturn static void leave(int status)
{
	for (;;)
		sys1(__NR_exit_group, status);
}

/* ---- text: /proc paths and numbers ---- */

static char *put_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = '\0';
	return at;
}

static char *put_number(char *at, unsigned number)
{
	char digits[12];
	int n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n)
		*at++ = digits[--n];
	*at = '\0';
	return at;
}

/* Leading decimal number at *@at, which moves behind it; 0 if there is none. */
static uint64_t take_number(const char **at)
{
	uint64_t number = 0;

	while (**at >= '0' && **at <= '9')
		number = number * 10 + (uint64_t)(*(*at)++ - '0');
	return number;
}

/* Read the whole of a small /proc file into scratch as a C string; its length or -errno. */
static long read_proc(const char *path)
{
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return fd;
	n = sys3(__NR_read, fd, scratch, sizeof(scratch) - 1);
	sys1(__NR_close, fd);
	scratch[n > 0 ? n : 0] = '\0';
	return n;
}

/* State letter and parent of @pid from /proc/PID/stat; 0 if it is gone. */
static char state_of(int pid, int *parent)
{
	char path[40];
	const char *at;
	long n;

	put_text(put_number(put_text(path, "/proc/"), (unsigned)pid), "/stat");
	n = read_proc(path);
	if (n <= 0)
		return 0;
	at = scratch + n;
	while (at > scratch && *at != ')') /* the name may hold anything, also ')' */
		at--;
	if (at[0] != ')' || at[1] != ' ')
		return 0;
	if (parent) {
		const char *number = at + 4;

		*parent = (int)take_number(&number);
	}
	return at[2];
}

/* ---- the tree below us ---- */

/* Append the children that @path (a /proc children file) lists to tree[]; the new count. */
static int add_children(const char *path, int count)
{
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	int number = 0;
	long n;

	if (fd < 0)
		return count;
	while ((n = sys3(__NR_read, fd, scratch, sizeof(scratch))) > 0)
		for (long i = 0; i < n; i++) {
			if (scratch[i] >= '0' && scratch[i] <= '9') {
				number = number * 10 + (scratch[i] - '0');
			} else if (number) {
				if (count < TREE_MAX)
					tree[count++] = number;
				number = 0;
			}
		}
	sys1(__NR_close, fd);
	return count;
}

/* Append the children of all threads of @pid. */
static int add_children_of(int pid, int count)
{
	static char entries[2048];
	char path[64], *tail;
	long fd, n;

	tail = put_text(put_number(put_text(path, "/proc/"), (unsigned)pid), "/task/");
	fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return count;
	while ((n = sys3(__NR_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < n;) {
			struct dirent64 *entry = (struct dirent64 *)(void *)(entries + at);

			at += entry->reclen;
			if (entry->name[0] == '.')
				continue;
			put_text(put_text(tail, entry->name), "/children");
			count = add_children(path, count);
		}
	sys1(__NR_close, fd);
	return count;
}

/* Without CONFIG_PROC_CHILDREN: our own children by a scan of /proc. Deeper ones follow when
 * their parents are dead and they are ours. */
static int add_children_by_scan(int count)
{
	static char entries[2048];
	long fd = sys4(__NR_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return count;
	while ((n = sys3(__NR_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < n;) {
			struct dirent64 *entry = (struct dirent64 *)(void *)(entries + at);
			const char *name = entry->name;
			int pid = (int)take_number(&name), parent = 0;

			at += entry->reclen;
			if (pid && state_of(pid, &parent) && parent == self_pid &&
			    count < TREE_MAX)
				tree[count++] = pid;
		}
	sys1(__NR_close, fd);
	return count;
}

/* Fill tree[] with everything below us; its size. */
static int list_tree(void)
{
	int count = 0;

	if (!have_children_file)
		return add_children_by_scan(0);
	count = add_children_of(self_pid, 0);
	for (int i = 0; i < count; i++)
		count = add_children_of(tree[i], count);
	return count;
}

/* Live processes of the run beside the command. */
static uint32_t count_live(void)
{
	int count = list_tree();
	uint32_t live = 0;

	for (int i = 0; i < count; i++) {
		char state = tree[i] == command_pid ? 0 : state_of(tree[i], NULL);

		if (state && state != 'Z' && state != 'X')
			live++;
	}
	return live;
}

/* ---- talking to the server ---- */

static void read_io(struct shim_report *report)
{
	const char *at = scratch;
	long n = sys4(__NR_pread64, io_fd, scratch, sizeof(scratch) - 1, 0);
	uint64_t *value = NULL;

	scratch[n > 0 ? n : 0] = '\0';
	for (; *at; at++) {
		if (at != scratch && at[-1] != '\n')
			continue;
		value = at[0] == 'r' && at[1] == 'e' ? &report->io_read_bytes
		      : at[0] == 'w' && at[1] == 'r' ? &report->io_write_bytes
						     : NULL;
		while (*at && *at != ' ')
			at++;
		if (!*at)
			return;
		if (value) {
			at++;
			*value = take_number(&at);
			if (!*at)
				return;
		}
	}
}

static void add_usage(struct shim_report *report)
{
	struct kernel_rusage usage = { 0 };

	sys2(__NR_getrusage, RUSAGE_CHILDREN_WHO, &usage);
	report->cpu_us = (uint64_t)(usage.utime_s + usage.stime_s) * 1000000 +
			 (uint64_t)(usage.utime_us + usage.stime_us);
	report->maxrss_kib = (uint64_t)usage.maxrss_kib;
	if (io_fd >= 0)
		read_io(report);
}

/* Wait a moment; a child's end cuts it short. */
static void nap(void)
{
	struct pollfd wait = { .fd = signal_fd, .events = POLLIN };
	struct { int64_t s, ns; } pause = { 0, KILL_PASS_MS * 1000000 };

	sys5(__NR_ppoll, &wait, 1, &pause, 0, 0);
}

/* A report must not be lost for want of a buffer. When the server is gone there is nobody to tell,
 * and the closed socket tells us so next. */
static void send_report(const struct shim_report *report)
{
	long result;

	do {
		result = sys6(__NR_sendto, SHIM_FD_CONTROL, (long)report, sizeof(*report),
			      MSG_NOSIGNAL_FLAG, 0, 0);
		if (result == -ENOBUFS || result == -ENOMEM || result == -EAGAIN)
			nap();
	} while (result == -ENOBUFS || result == -ENOMEM || result == -EAGAIN || result == -EINTR);
}

static void report_event(enum shim_event event, int value, int error)
{
	struct shim_report report = {
		.event = (uint32_t)event, .value = value, .error = error,
	};

	send_report(&report);
}

/* @empty: the command was the last; one report then tells both facts with one wake-up. */
static void report_exit(int wait_status, int empty)
{
	struct shim_report report = {
		.event = SHIM_EXITED, .value = wait_status, .empty = (uint32_t)empty,
	};

	if (!empty)
		report.live = count_live();
	add_usage(&report);
	send_report(&report);
}

_Noreturn static void report_empty_and_leave(void)
{
	struct shim_report report = { .event = SHIM_EMPTY, .live = killed_most };

	add_usage(&report);
	send_report(&report);
	leave(0);
}

/* ---- children ---- */

static int has_children(void)
{
	return sys5(__NR_waitid, P_ALL, 0, 0, WNOHANG | WEXITED | WNOWAIT, 0) != -ECHILD;
}

/*
 * The command is over. What a signal to its group has ended with it may still be
 * on its way out: look a moment later, so that only what stays is called live.
 */
static void command_exited(int wait_status)
{
	long pid;
	int empty;

	command_pid = 0;
	if (!killing && has_children())
		nap();
	do
		pid = sys4(__NR_wait4, -1, 0, WNOHANG, 0);
	while (pid > 0);
	empty = pid == -ECHILD && !killing;
	report_exit(wait_status, empty);
	if (empty)
		leave(0);
}

/* Collect the dead. Reports the command's exit; leaves when nobody is left. */
static void reap(void)
{
	for (;;) {
		int status = 0;
		long pid = sys4(__NR_wait4, -1, &status, WNOHANG, 0);

		if (pid == -ECHILD)
			report_empty_and_leave();
		if (pid == -EINTR)
			continue;
		if (pid <= 0)
			return;
		if (pid == command_pid)
			command_exited(status);
	}
}

/* SIGKILL for everything below us. A pid in the list can only be reused after it was reaped by
 * its parent and the whole pid space was used up in between: microseconds apart, accepted. */
static void kill_pass(void)
{
	int count;
	uint32_t others = 0;

	count = list_tree();
	for (int i = 0; i < count; i++) {
		if (tree[i] != command_pid) {
			char state = state_of(tree[i], NULL);

			others += state && state != 'Z' && state != 'X';
		}
		sys2(__NR_kill, tree[i], SIGKILL);
	}
	if (command_pid) /* also where /proc shows nothing */
		sys2(__NR_kill, -command_pid, SIGKILL);
	if (others > killed_most)
		killed_most = others;
}

/* Kill until wait4() says that there is nobody: the only exact proof. */
_Noreturn static void kill_tree(void)
{
	struct pollfd wait = { .fd = signal_fd, .events = POLLIN };

	reap(); /* what has already ended was not killed */
	killing = 1;
	for (int pass = 0;; pass++) {
		struct { int64_t s, ns; } pause = {
			0, (pass < KILL_FAST_PASSES ? KILL_PASS_MS : KILL_SLOW_MS) * 1000000
		};

		kill_pass();
		sys5(__NR_ppoll, &wait, 1, &pause, 0, 0);
		sys3(__NR_read, signal_fd, scratch, sizeof(scratch));
		reap();
	}
}

/* A signal for the command's process group. Reaped first, so that an exit that came before is
 * told before; its pid stays ours until then, so the number cannot mean anybody else. */
static void signal_command(int number)
{
	long result = -ESRCH;

	reap();
	if (command_pid) {
		result = sys2(__NR_kill, -command_pid, number);
		if (result == -ESRCH)
			result = sys2(__NR_kill, command_pid, number);
	}
	report_event(SHIM_SIGNALED, number, (int)-result);
}

static void serve_control(void)
{
	struct shim_request request;
	long n = sys6(__NR_recvfrom, SHIM_FD_CONTROL, (long)&request, sizeof(request),
		      MSG_DONTWAIT_FLAG, 0, 0);

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n != (long)sizeof(request) || request.command == SHIM_KILL)
		kill_tree(); /* told to, or the server is gone */
	if (request.command == SHIM_SIGNAL)
		signal_command(request.arg);
}

static void announce(void)
{
	if (command_pid && !announced)
		report_event(SHIM_STARTED, command_pid, 0);
	announced = 1;
}

_Noreturn static void serve(void)
{
	struct pollfd polls[2] = {
		{ .fd = SHIM_FD_CONTROL, .events = POLLIN },
		{ .fd = signal_fd, .events = POLLIN },
	};

	for (;;) {
		struct { int64_t s, ns; } first = { 0, SHIM_ANNOUNCE_MS * 1000000 };

		reap();
		if (!sys5(__NR_ppoll, polls, 2, announced ? 0 : &first, 0, 0))
			announce();
		if (polls[1].revents)
			sys3(__NR_read, signal_fd, scratch, sizeof(scratch));
		if (polls[0].revents) {
			reap();
			serve_control();
		}
	}
}

/* ---- the command's own process: from here to its exec ---- */

static int failed(enum shim_stage stage, long result)
{
	failure.error = (int)-result;
	failure.stage = (int)stage;
	return 1;
}

static int set_rlimits(void)
{
	for (uint32_t i = 0; i < plan.rlimit_count && i < SHIM_RLIMITS_MAX; i++) {
		uint64_t pair[2] = { plan.rlimits[i].soft, plan.rlimits[i].hard };
		long result = sys4(__NR_prlimit64, 0, plan.rlimits[i].resource, pair, 0);

		if (result < 0)
			return failed(SHIM_STAGE_RLIMIT, result);
	}
	return 0;
}

static int install_filter(void)
{
	struct sock_fprog program = {
		.len = (unsigned short)plan.filter_len,
		.filter = (struct sock_filter *)(void *)plan.tail,
	};
	/* Without SPEC_ALLOW kernels before 5.16 slow a filtered process down; before 4.17
	 * they do not know the flag. */
	long result = sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
			   &program);

	if (result == -EINVAL)
		result = sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	return result < 0 ? failed(SHIM_STAGE_SECCOMP, result) : 0;
}

static int confine(void)
{
	long result;

	if (set_rlimits())
		return 1;
	if (plan.flags & (SHIM_NO_NEW_PRIVS | SHIM_SECCOMP)) {
		result = sys5(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (result < 0)
			return failed(SHIM_STAGE_NO_NEW_PRIVS, result);
	}
	return plan.flags & SHIM_SECCOMP ? install_filter() : 0;
}

static int run_command(void *unused)
{
	const char *path = (const char *)plan.tail + plan.filter_len * sizeof(struct sock_filter);
	uint64_t no_signals = 0;
	long result;

	(void)unused;
	result = sys0(__NR_setsid);
	if (result < 0)
		return failed(SHIM_STAGE_SESSION, result);
	result = sys1(__NR_fchdir, SHIM_FD_CWD);
	if (result < 0)
		return failed(SHIM_STAGE_CHDIR, result);
	sys1(__NR_umask, plan.umask);
	/* The command itself must not outlive its keeper; what it forks is hunted by others. */
	sys5(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (confine())
		return 1;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &no_signals, 0, sizeof(no_signals));
	return failed(SHIM_STAGE_EXEC, sys3(__NR_execve, path, command_argv, command_envp));
}

/* ---- start ---- */

static void receive_plan(void)
{
	long n = sys6(__NR_recvfrom, SHIM_FD_CONTROL, (long)&plan, sizeof(plan), 0, 0, 0);
	unsigned long tail = n < (long)SHIM_PLAN_HEAD ? 0 : (unsigned long)n - SHIM_PLAN_HEAD;
	unsigned long filter = plan.filter_len * sizeof(struct sock_filter);

	if (!tail || plan.filter_len > SHIM_FILTER_MAX || plan.path_len >= SHIM_PATH_MAX ||
	    tail != filter + plan.path_len + 1) {
		report_event(SHIM_FAILED, SHIM_STAGE_PLAN, n < 0 ? (int)-n : EPROTO);
		leave(1);
	}
}

_Noreturn static void fail_to_start(enum shim_stage stage, long result)
{
	if (command_pid > 0)
		sys4(__NR_wait4, command_pid, 0, 0, 0); /* it has already exited */
	report_event(SHIM_FAILED, (int)stage, (int)-result);
	leave(1);
}

static void become_keeper(void)
{
	uint64_t child_signal = 1ULL << (SIGCHLD - 1);
	long result;

	self_pid = (int)sys0(__NR_getpid);
	/* None of our descriptors may reach the command, except 0, 1 and 2. */
	if (sys3(__NR_close_range, 3, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */) < 0) {
		sys3(__NR_fcntl, SHIM_FD_CONTROL, F_SETFD, FD_CLOEXEC);
		sys3(__NR_fcntl, SHIM_FD_CWD, F_SETFD, FD_CLOEXEC);
	}
	io_fd = (int)sys4(__NR_openat, AT_FDCWD, "/proc/self/io", O_RDONLY | O_CLOEXEC, 0);
	signal_fd = (int)sys4(__NR_signalfd4, -1, &child_signal, sizeof(child_signal),
			      O_CLOEXEC | O_NONBLOCK);
	if (signal_fd < 0)
		fail_to_start(SHIM_STAGE_FORK, signal_fd);
	result = sys5(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (result < 0)
		fail_to_start(SHIM_STAGE_FORK, result);
	sys5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	sys5(__NR_prctl, PR_SET_NAME, "procpen-shim", 0, 0, 0);
}

/* Without this file (CONFIG_PROC_CHILDREN) children are found by scanning /proc. */
static void probe_children_file(void)
{
	char path[64];
	char *at = put_number(put_text(path, "/proc/self/task/"), (unsigned)self_pid);

	put_text(at, "/children");
	have_children_file = sys4(__NR_faccessat, AT_FDCWD, path, 4 /* R_OK */, 0) == 0;
}

/* Our own argv and environment are the command's: wipe them, so that a process list shows the
 * command once and our memory holds none of its secrets. The name fits any argv[0] or is cut. */
static void wipe_arguments(void)
{
	static const char name[] = "procpen-shim";
	char *start = command_argv[0], *end = start;

	for (char **text = command_argv; *text; text++)
		for (end = *text; *end; end++)
			;
	for (char **text = command_envp; *text; text++)
		for (end = *text; *end; end++)
			;
	if (!start || end <= start)
		return;
	for (char *at = start; at < end; at++)
		*at = '\0';
	for (size_t i = 0; i < sizeof(name) - 1 && start + i < end; i++)
		start[i] = name[i];
}

/* Hold no end of the command's pipes; one call, so that the server wakes once. */
static void let_go(void)
{
	if (sys3(__NR_close_range, 0, 2, 0) < 0)
		for (int fd = 0; fd < 3; fd++)
			sys1(__NR_close, fd);
	sys1(__NR_close, SHIM_FD_CWD);
}

_Noreturn void shim_main(long *stack);

_Noreturn void shim_main(long *stack)
{
	long argc = stack[0];

	command_argv = (char **)(stack + 1);
	command_envp = command_argv + argc + 1;
	receive_plan();
	become_keeper();
	probe_children_file();
	command_pid = (int)sys_clone_call(CLONE_VM | CLONE_VFORK | SIGCHLD,
					  child_stack + sizeof(child_stack), run_command, NULL);
	if (command_pid < 0)
		fail_to_start(SHIM_STAGE_FORK, command_pid);
	if (failure.stage)
		fail_to_start((enum shim_stage)failure.stage, -(long)failure.error);
	reap(); /* a short command may be over before we run again */
	if (plan.flags & SHIM_ANNOUNCE)
		announce();
	let_go();
	wipe_arguments();
	serve();
}

SHIM_ENTRY(shim_main);
