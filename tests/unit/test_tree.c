#include "unit.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include "children.h"
#include "no_watches.h"
#include "send_fd.h"

#include "proc/tree.h"

/* One run and the reports about it. */
struct run {
	struct tree tree;
	struct started started;
	struct shim_report exited, signaled, empty;
	int reports, empties;
};

static void on_report(void *ctx, const struct shim_report *report)
{
	struct run *r = ctx;

	assert_int_equal(r->empties, 0); /* no call follows on_empty */
	r->reports++;
	if (report->event == SHIM_EXITED)
		r->exited = *report;
	else if (report->event == SHIM_SIGNALED)
		r->signaled = *report;
	else if (report->event == SHIM_EMPTY)
		r->empty = *report;
}

static void on_empty(void *ctx)
{
	struct run *r = ctx;

	r->empties++;
}

static bool is_empty(void *ctx)
{
	return ((struct run *)ctx)->empties > 0;
}

static bool is_signaled(void *ctx)
{
	return ((struct run *)ctx)->signaled.event != 0;
}

static bool is_exited(void *ctx)
{
	return ((struct run *)ctx)->exited.event != 0;
}

static void run_start(struct run *r, const char *script)
{
	memset(r, 0, sizeof(*r));
	children_shell(&all, script, &r->started);
	r->tree.on_report = on_report;
	r->tree.on_empty = on_empty;
	r->tree.ctx = r;
	tree_start(&r->tree, all.loop, all.reaper, r->started.spawned.shim_pid,
		   r->started.spawned.control_fd);
}

/* It must become empty, once, with no process left. */
static void run_finish(struct run *r)
{
	assert_true(children_wait(&all, is_empty, r));
	assert_true(children_wait(&all, children_none, NULL));
	children_pause(&all, 10);
	assert_int_equal(r->empties, 1);
	assert_false(r->tree.alive);
	assert_int_equal(r->tree.survivors, 0);
	assert_int_equal(r->tree.control.fd, -1);
	tree_release(&r->tree);
	close(r->started.output);
}

/* Starts a child, one in its own session, and an orphan; prints their pids. */
#define ESCAPEES \
	"sleep 300 & echo $!; setsid sleep 300 & echo $!; " \
	"(setsid sh -c 'setsid sleep 300 & echo $!') ; "

static void read_escapees(struct run *r, pid_t pids[3])
{
	for (int i = 0; i < 3; i++) {
		pids[i] = children_number(r->started.output);
		assert_true(pids[i] > 1);
		assert_false(children_gone(&pids[i]));
	}
}

static void expect_gone(pid_t pids[3])
{
	for (int i = 0; i < 3; i++)
		assert_true(children_wait(&all, children_gone, &pids[i]));
}

static void test_tree_ends_by_itself(void **state)
{
	struct run r;

	(void)state;
	run_start(&r, "exit 3");
	run_finish(&r);
	assert_int_equal(WEXITSTATUS(r.exited.value), 3);
	assert_int_equal(tree_signal(&r.tree, SIGTERM), -1);
	tree_kill(&r.tree); /* no effect on an empty tree */
	assert_int_equal(r.empties, 1);
}

/* A command may have used up what its user may watch: then this run is looked at now and then. */
static void test_tree_socket_that_cannot_be_watched(void **state)
{
	struct run r;

	(void)state;
	for (int later = 0; later < 2; later++) {
		no_watches = true;
		run_start(&r, "sleep 0.3; exit 3");
		children_pause(&all, 100);
		no_watches = !later;
		run_finish(&r);
		no_watches = false;
		assert_int_equal(WEXITSTATUS(r.exited.value), 3);
		assert_false(r.tree.lost);
	}
}

static void test_tree_failed_start(void **state)
{
	char *argv[] = { (char[]){ "/nonexistent" }, NULL };
	ERR_LOCAL(e);
	struct run r = { 0 };

	(void)state;
	assert_int_equal(children_start(&all, argv, &r.started, &e), 0);
	r.tree.on_report = on_report;
	r.tree.on_empty = on_empty;
	r.tree.ctx = &r;
	tree_start(&r.tree, all.loop, all.reaper, r.started.spawned.shim_pid,
		   r.started.spawned.control_fd);
	run_finish(&r);
	assert_int_equal(r.reports, 1);
	assert_int_equal(r.exited.event, 0);
}

static void test_tree_kill_takes_every_escapee(void **state)
{
	pid_t pids[3];
	struct run r;

	(void)state;
	run_start(&r, ESCAPEES "echo $$; wait");
	read_escapees(&r, pids);
	assert_true(children_number(r.started.output) > 1); /* their shells have ended */
	tree_kill(&r.tree);
	run_finish(&r);
	for (int i = 0; i < 3; i++)
		assert_true(children_gone(&pids[i])); /* when it says empty, not later */
	assert_true(WIFSIGNALED(r.exited.value));
	assert_int_equal(WTERMSIG(r.exited.value), SIGKILL);
	assert_int_equal(r.empty.live, 3);
	assert_false(r.empty.uncounted);
}

#define SPINNERS 32

/* A parent that gets no processor is killed with all below it. Before it dies it may still collect
 * a child, and the kernel collects those of a parent that ignores SIGCHLD. */
static void test_tree_kill_counts_what_others_collect(void **state)
{
	const struct sched_param none = { .sched_priority = 0 };
	cpu_set_t one;
	struct run r;
	pid_t pid;

	(void)state;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	run_start(&r, "exec bash -c \"trap '' CHLD; for i in {1..32}; do "
		      "while :; do :; done & echo \\$!; done; echo \\$\\$; wait\"");
	for (int i = 0; i <= SPINNERS; i++) {
		pid = children_number(r.started.output);
		assert_int_equal(sched_setaffinity(pid, sizeof(one), &one), 0);
	}
	assert_int_equal(sched_setscheduler(pid, SCHED_IDLE, &none), 0); /* their parent */
	tree_kill(&r.tree);
	run_finish(&r);
	assert_int_equal(r.empty.live, SPINNERS);
	assert_false(r.empty.uncounted);
}

/* Processes that ignore every signal that can be ignored, and fork while they are killed. */
static void test_tree_kill_of_stubborn_ones(void **state)
{
	struct run r;

	(void)state;
	run_start(&r, "trap '' TERM INT HUP QUIT; echo 1; "
		      "for i in 1 2 3; do (while :; do sleep 0.01 & done) & sleep 0.02; done; "
		      "sleep 300");
	assert_int_equal(children_number(r.started.output), 1);
	children_pause(&all, 100);
	tree_kill(&r.tree);
	run_finish(&r);
}

static void test_tree_leftovers_outlive_the_command_until_killed(void **state)
{
	pid_t pids[3];
	struct run r;

	(void)state;
	run_start(&r, ESCAPEES "exit 0");
	read_escapees(&r, pids);
	assert_true(children_wait(&all, is_exited, &r));
	assert_int_equal(r.exited.live, 3);
	assert_false(r.exited.empty);
	children_pause(&all, 50);
	assert_int_equal(r.empties, 0);
	for (int i = 0; i < 3; i++)
		assert_false(children_gone(&pids[i]));
	tree_kill(&r.tree);
	run_finish(&r);
	expect_gone(pids);
}

/* A command has the shim's uid and may kill it. */
static void test_tree_shim_killed(void **state)
{
	pid_t pids[3];
	struct run r;

	(void)state;
	run_start(&r, ESCAPEES "sleep 300");
	read_escapees(&r, pids);
	assert_int_equal(kill(r.tree.shim_pid, SIGKILL), 0);
	run_finish(&r);
	expect_gone(pids);
	assert_int_equal(r.empty.event, 0);
}

/* The server kills the orphans of a shim that does not finish its kill. */
static void test_tree_shim_stopped(void **state)
{
	pid_t pids[3];
	struct run r;

	(void)state;
	run_start(&r, ESCAPEES "sleep 300");
	read_escapees(&r, pids);
	assert_int_equal(kill(r.tree.shim_pid, SIGSTOP), 0);
	tree_kill(&r.tree);
	run_finish(&r);
	expect_gone(pids);
}

/* A tree whose shim is @pid, and not real but for its socket. Returns our end of that. */
static int fake_shim_of(struct run *r, pid_t pid, void (*listener)(void *ctx, int fd))
{
	int pair[2];

	memset(r, 0, sizeof(*r));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	r->tree.on_report = on_report;
	r->tree.on_listener = listener;
	r->tree.on_empty = on_empty;
	r->tree.ctx = r;
	tree_start(&r->tree, all.loop, all.reaper, pid, pair[0]);
	return pair[1];
}

static int fake_shim(struct run *r, void (*listener)(void *ctx, int fd))
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return fake_shim_of(r, pid, listener);
}

static void on_shim(void *ctx, pid_t shim_pid, int control_fd, const struct shim_report *last)
{
	(void)ctx;
	(void)shim_pid;
	(void)control_fd;
	(void)last;
	fail_msg("the shim is passed on");
}

/* A run that ended by itself while the kill was on its way: its shim serves no other. */
static void test_tree_killed_at_its_end(void **state)
{
	const struct shim_report last = { .event = SHIM_EXITED, .empty = 1, .reusable = 1 };
	struct run r;
	int shim = fake_shim(&r, NULL);
	char byte;

	(void)state;
	r.tree.on_shim = on_shim;
	assert_int_equal(send(shim, &last, sizeof(last), 0), sizeof(last));
	tree_kill(&r.tree);
	assert_int_equal(tree_signal(&r.tree, SIGTERM), 0); /* SIGKILL takes its place */
	assert_int_equal(recv(shim, &byte, 1, 0), 0);
	assert_true(children_wait(&all, is_empty, &r));
	assert_int_equal(r.tree.control.fd, -1);
	tree_release(&r.tree);
	close(shim);
	assert_true(children_wait(&all, children_none, NULL));
}

/* A process that takes no word, below another that holds it in a stop of ptrace(2) if @traced. */
static pid_t deaf_process(bool traced, pid_t *tracer)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		for (;;)
			pause();
	}
	*tracer = traced ? fork() : 0;
	if (traced && !*tracer) {
		while (ptrace(PTRACE_SEIZE, pid, NULL, NULL)) /* until it lets us */
			usleep(1000);
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
		for (;;)
			pause();
	}
	return pid;
}

static bool is_traced(void *pid)
{
	struct procread_stat st;

	return !procread_stat(*(pid_t *)pid, &st) && st.state == 't';
}

static bool is_sealed(void *ctx)
{
	return ((struct run *)ctx)->tree.sealed;
}

/* A shim that does not answer a kill is not waited for where its death is all that is needed, as
 * that of an init, or where it cannot answer: only its tracer can wait for a stop of ptrace(2). */
static void test_tree_shim_that_cannot_answer(void **state)
{
	(void)state;
	for (int traced = 0; traced < 2; traced++) {
		struct run r;
		pid_t tracer, pid = deaf_process(traced, &tracer);
		int shim = fake_shim_of(&r, pid, NULL);

		r.tree.is_init = !traced;
		if (traced)
			assert_true(children_wait(&all, is_traced, &pid));
		tree_kill(&r.tree);
		assert_true(children_wait(&all, is_sealed, &r));
		assert_true(r.tree.given_up);
		close(shim);
		if (traced)
			kill(tracer, SIGKILL);
		assert_true(children_wait(&all, is_empty, &r));
		assert_int_equal(r.tree.survivors, 0);
		tree_release(&r.tree);
		assert_true(children_wait(&all, children_none, NULL));
	}
}

/* A shim with a process that is to become the command, in which it shares the socket. That one is
 * stopped before it has asked to die with the shim, which dies. */
static pid_t shim_of_a_stopped_process(int socket)
{
	pid_t shim = fork(), waits;
	int status;

	if (shim)
		return shim;
	waits = fork();
	if (!waits)
		raise(SIGSTOP);
	waitpid(waits, &status, WUNTRACED);
	_exit(socket < 0 || !WIFSTOPPED(status));
}

/* It has never begun only if nobody has asked anything of it: the shim may have died of that. */
static void test_tree_stopped_process_outlives_the_shim(void **state)
{
	(void)state;
	for (int asked = 0; asked < 2; asked++) {
		struct run r = { 0 };
		int pair[2];
		pid_t shim;

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		assert_int_equal(send(pair[0], "plan", 4, 0), 4);
		shim = shim_of_a_stopped_process(pair[1]);
		assert_true(shim > 0);
		close(pair[1]);
		r.tree.on_report = on_report;
		r.tree.on_empty = on_empty;
		r.tree.ctx = &r;
		r.started.output = -1;
		tree_start(&r.tree, all.loop, all.reaper, shim, pair[0]);
		if (asked)
			assert_int_equal(tree_signal(&r.tree, SIGUSR1), 0);
		run_finish(&r);
		assert_int_equal(tree_never_began(&r.tree), !asked);
	}
}

/* Two sweeps at once; a healthy run beside them is not touched. */
static void test_tree_hunt_spares_other_runs(void **state)
{
	struct run a, b, good;

	(void)state;
	run_start(&good, "echo 1; sleep 300");
	run_start(&a, "setsid sleep 300 & echo $!; sleep 300");
	run_start(&b, "setsid sleep 300 & echo $!; sleep 300");
	assert_int_equal(children_number(good.started.output), 1);
	assert_true(children_number(a.started.output) > 0);
	assert_true(children_number(b.started.output) > 0);
	kill(a.tree.shim_pid, SIGKILL);
	kill(b.tree.shim_pid, SIGKILL);
	assert_true(children_wait(&all, is_empty, &a));
	assert_true(children_wait(&all, is_empty, &b));
	children_pause(&all, 30);
	assert_int_equal(good.empties, 0);
	assert_int_equal(good.exited.event, 0);
	tree_kill(&good.tree);
	run_finish(&good);
	run_finish(&a);
	run_finish(&b);
}

/* The server was killed: the closed socket alone ends the tree. */
static void test_tree_dies_with_the_control_socket(void **state)
{
	struct started s;
	pid_t pids[3];

	(void)state;
	children_shell(&all, ESCAPEES "sleep 300", &s);
	for (int i = 0; i < 3; i++)
		pids[i] = children_number(s.output);
	close(s.spawned.control_fd);
	assert_true(children_wait(&all, children_none, NULL));
	for (int i = 0; i < 3; i++)
		assert_true(children_gone(&pids[i]));
	close(s.output);
}

static void test_tree_release_ends_it(void **state)
{
	struct run r;
	pid_t pid;

	(void)state;
	run_start(&r, "setsid sleep 300 & echo $!; sleep 300");
	pid = children_number(r.started.output);
	tree_release(&r.tree);
	assert_true(children_wait(&all, children_none, NULL));
	assert_true(children_gone(&pid));
	assert_int_equal(r.empties, 0);
	close(r.started.output);
}

static void test_tree_signal(void **state)
{
	struct run r;

	(void)state;
	run_start(&r, "trap 'exit 3' TERM; echo 1; while :; do sleep 0.02; done");
	assert_int_equal(children_number(r.started.output), 1);
	assert_int_equal(tree_signal(&r.tree, SIGTERM), 0);
	assert_true(children_wait(&all, is_signaled, &r));
	assert_int_equal(r.signaled.value, SIGTERM);
	assert_int_equal(r.signaled.error, 0);
	run_finish(&r);
	assert_int_equal(WEXITSTATUS(r.exited.value), 3);
}

/* The signal goes to the command's group, not to processes that left it. */
static void test_tree_signal_reaches_the_group_only(void **state)
{
	pid_t in, out;
	struct run r;

	(void)state;
	run_start(&r, "sleep 300 & echo $!; setsid sh -c 'echo $$; exec sleep 300' & sleep 300");
	in = children_number(r.started.output);
	out = children_number(r.started.output);
	assert_int_equal(tree_signal(&r.tree, SIGTERM), 0);
	assert_true(children_wait(&all, is_exited, &r));
	assert_true(children_wait(&all, children_gone, &in));
	assert_false(children_gone(&out));
	assert_int_equal(tree_signal(&r.tree, SIGTERM), 0); /* the command is over */
	r.signaled.event = 0;
	assert_true(children_wait(&all, is_signaled, &r));
	assert_int_equal(r.signaled.error, ESRCH);
	tree_kill(&r.tree);
	run_finish(&r);
	assert_true(children_gone(&out));
}

/* The signal reaches all processes, wherever they went, and ends them. */
static void test_tree_signal_all_reaches_who_left_the_group(void **state)
{
	pid_t pids[3];
	struct run r;

	(void)state;
	run_start(&r, ESCAPEES "sleep 300");
	read_escapees(&r, pids);
	assert_int_equal(tree_signal_all(&r.tree, SIGTERM), 0);
	run_finish(&r);
	expect_gone(pids);
	assert_int_equal(r.signaled.value, SIGTERM);
	assert_int_equal(r.signaled.error, 0);
	assert_true(WIFSIGNALED(r.exited.value));
	assert_int_equal(WTERMSIG(r.exited.value), SIGTERM);
	assert_int_equal(r.empty.live, 0); /* nothing was killed */
}

static void test_tree_signal_all_after_the_exit(void **state)
{
	pid_t pids[3];
	struct run r;

	(void)state;
	run_start(&r, ESCAPEES "exit 3");
	read_escapees(&r, pids);
	assert_true(children_wait(&all, is_exited, &r));
	assert_int_equal(tree_signal_all(&r.tree, SIGTERM), 0);
	run_finish(&r);
	expect_gone(pids);
	assert_int_equal(r.signaled.error, 0);
	assert_int_equal(WEXITSTATUS(r.exited.value), 3);
}

#define LISTENER "exec 2>/dev/null; trap 'echo 7' USR1; echo 1; while :; do sleep 0.02; done"

/* Two in a group, one below the other, and one with its own group: each gets the signal once. */
static void test_tree_signal_all_is_heard_once(void **state)
{
	struct run r;
	char byte;

	(void)state;
	run_start(&r, "sh -c \"" LISTENER "\" & setsid sh -c \"" LISTENER "\" & " LISTENER);
	for (int i = 0; i < 3; i++)
		assert_int_equal(children_number(r.started.output), 1);
	assert_int_equal(tree_signal_all(&r.tree, SIGUSR1), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(children_number(r.started.output), 7);
	children_pause(&all, 100);
	assert_int_equal(read(r.started.output, &byte, 1), -1);
	assert_int_equal(r.exited.event, 0);
	tree_kill(&r.tree);
	run_finish(&r);
}

/* A stopped process is continued so that it takes the signal. */
static void test_tree_signal_all_wakes_the_stopped(void **state)
{
	struct run r;
	pid_t pid;

	(void)state;
	/* No fork at that moment: a process that waits for a stopped vfork(2) does not show as
	 * stopped. */
	run_start(&r, "sleep 300 & trap 'exit 3' TERM; echo $$; wait");
	pid = children_number(r.started.output);
	assert_int_equal(tree_signal_all(&r.tree, SIGSTOP), 0);
	assert_true(children_wait(&all, children_stopped, &pid));
	children_pause(&all, 20);
	assert_true(children_stopped(&pid)); /* a stop is not an end */
	assert_int_equal(tree_signal_all(&r.tree, SIGTERM), 0);
	run_finish(&r);
	assert_int_equal(WEXITSTATUS(r.exited.value), 3);
}

/* ---- a descriptor that comes with a report ---- */

static int listener_fd;

static void on_listener(void *ctx, int fd)
{
	(void)ctx;
	listener_fd = fd;
}

static void send_report_with_fd(int to, uint32_t event, int fd)
{
	struct shim_report report = { .event = event, .value = 7 };

	assert_int_equal(send_fd(to, &report, sizeof(report), fd), (ssize_t)sizeof(report));
}

/* Is the write end of @pipe_read's pipe closed everywhere? */
static bool is_abandoned(int pipe_read)
{
	char byte;

	return read(pipe_read, &byte, 1) == 0;
}

static void test_tree_listener_is_handed_on(void **state)
{
	const struct shim_report over = { .event = SHIM_EMPTY };
	struct run r;
	int shim = fake_shim(&r, on_listener), pair[2];

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
	listener_fd = -1;
	send_report_with_fd(shim, SHIM_LISTENING, pair[1]);
	close(pair[1]);
	assert_int_equal(send(shim, &over, sizeof(over), 0), (ssize_t)sizeof(over));
	assert_true(children_wait(&all, is_empty, &r));
	assert_int_equal(r.reports, 1); /* not SHIM_LISTENING */
	assert_true(listener_fd >= 0);
	assert_int_equal(fcntl(listener_fd, F_GETFD), FD_CLOEXEC);
	assert_false(is_abandoned(pair[0]));
	close(listener_fd);
	assert_true(is_abandoned(pair[0]));
	close(pair[0]);
	close(shim);
	tree_release(&r.tree);
}

/* Without a hook for it, and with a report that should bring none, it is closed. */
static void test_tree_unwanted_descriptors_are_closed(void **state)
{
	static const uint32_t events[] = { SHIM_LISTENING, SHIM_SIGNALED };
	const struct shim_report over = { .event = SHIM_EMPTY };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct run r;
		int shim = fake_shim(&r, i ? on_listener : NULL), pair[2];

		assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
		send_report_with_fd(shim, events[i], pair[1]);
		close(pair[1]);
		assert_int_equal(send(shim, &over, sizeof(over), 0), (ssize_t)sizeof(over));
		assert_true(children_wait(&all, is_empty, &r));
		assert_true(is_abandoned(pair[0]));
		close(pair[0]);
		close(shim);
		tree_release(&r.tree);
	}
}

static int terminal_fds[2];

/* As a run that gets something to type takes a duplicate. */
static void on_terminal(void *ctx, int ours, int theirs)
{
	int typed = fcntl(ours, F_DUPFD_CLOEXEC, 0);

	(void)ctx;
	assert_true(typed >= 0);
	close(typed);
	terminal_fds[0] = ours;
	terminal_fds[1] = theirs;
}

/* Open descriptors until the limit is reached. Returns how many. */
static int open_all(int *fds, int max)
{
	int count = 0;

	while (count < max && (fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		count++;
	assert_int_equal(errno, EMFILE);
	return count;
}

static bool all_have_come(void *ctx)
{
	(void)ctx;
	return listener_fd >= 0 && terminal_fds[0] >= 0 && terminal_fds[1] >= 0;
}

/* Without the room the kernel drops both, and the command has run without its terminal. */
static void test_tree_room_for_descriptors(void **state)
{
	struct shim_report typing = { .event = SHIM_TYPING };
	struct rlimit before, few;
	struct run r;
	int shim = fake_shim(&r, on_listener), fds[256], count;

	(void)state;
	r.tree.on_terminal = on_terminal;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ 256, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(tree_room_take(&r.tree.room, 4), 0);
	count = open_all(fds, 256);
	terminal_fds[0] = terminal_fds[1] = listener_fd = -1;
	send_report_with_fd(shim, SHIM_LISTENING, shim);
	assert_int_equal(send_fds(shim, &typing, sizeof(typing), (int[]){ shim, shim }, 2),
			 (ssize_t)sizeof(typing));
	assert_true(children_wait(&all, all_have_come, NULL));
	assert_int_equal(r.tree.room.count, 0);
	while (count)
		close(fds[--count]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	close(listener_fd);
	close(terminal_fds[0]);
	close(terminal_fds[1]);
	close(shim);
	tree_release(&r.tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree_ends_by_itself),
		cmocka_unit_test(test_tree_socket_that_cannot_be_watched),
		cmocka_unit_test(test_tree_failed_start),
		cmocka_unit_test(test_tree_killed_at_its_end),
		cmocka_unit_test(test_tree_kill_takes_every_escapee),
		cmocka_unit_test(test_tree_kill_counts_what_others_collect),
		cmocka_unit_test(test_tree_kill_of_stubborn_ones),
		cmocka_unit_test(test_tree_leftovers_outlive_the_command_until_killed),
		cmocka_unit_test(test_tree_shim_killed),
		cmocka_unit_test(test_tree_shim_stopped),
		cmocka_unit_test(test_tree_shim_that_cannot_answer),
		cmocka_unit_test(test_tree_stopped_process_outlives_the_shim),
		cmocka_unit_test(test_tree_hunt_spares_other_runs),
		cmocka_unit_test(test_tree_dies_with_the_control_socket),
		cmocka_unit_test(test_tree_release_ends_it),
		cmocka_unit_test(test_tree_signal),
		cmocka_unit_test(test_tree_signal_reaches_the_group_only),
		cmocka_unit_test(test_tree_signal_all_reaches_who_left_the_group),
		cmocka_unit_test(test_tree_signal_all_after_the_exit),
		cmocka_unit_test(test_tree_signal_all_is_heard_once),
		cmocka_unit_test(test_tree_signal_all_wakes_the_stopped),
		cmocka_unit_test(test_tree_listener_is_handed_on),
		cmocka_unit_test(test_tree_unwanted_descriptors_are_closed),
		cmocka_unit_test(test_tree_room_for_descriptors),
	};

	return cmocka_run_group_tests(tests, children_setup, children_teardown);
}
