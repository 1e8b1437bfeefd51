/*
 * Control groups of this machine, with real processes. What a limit holds is first shown to
 * happen without it; all is bounded (64 MiB, 20 processes, 1 s of processor time).
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/cgroup/cgroup.h"
#include "os/cgroup/group.h"

#define WAIT_MS 60000 /* a wait ends with its condition */
#define MIB (INT64_C(1) << 20)

static struct cgroups *all; /* of this program, prepared by the first test that needs it */
static uint64_t seq;

/* Groups of one name are one server's: @name, and who we are. */
static struct cgroups *of_this_program(const char *name)
{
	char instance[32];

	snprintf(instance, sizeof(instance), "%s%d", name, (int)getpid());
	return cgroups_new(instance);
}

static unsigned prepared(void)
{
	if (!all)
		all = of_this_program("unit");
	return cgroups_prepare(all);
}

/* Leave the test when the machine does not offer @bits. */
static void need(unsigned bits)
{
	if ((prepared() & bits) == bits)
		return;
	print_message("SKIP: no control groups with all of this here: %s\n", cgroups_reason(all));
	skip();
}

static struct cgroup *make(const struct cgroup_limits *limits)
{
	ERR_LOCAL(e);
	struct cgroup *g = cgroup_new(all, ++seq, limits, &e);

	if (!g)
		print_error("%s\n", e.message);
	assert_non_null(g);
	return g;
}

static void join(const struct cgroup *g)
{
	int fds[CGROUP_JOIN_FDS_MAX], count = cgroup_join_fds(g, fds);

	for (int i = 0; i < count; i++)
		if (write(fds[i], "0", 1) != 1)
			_exit(99);
}

/* Run @fn in a child, in @g if that is not NULL; its wait status. */
static int run_in(const struct cgroup *g, int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (g)
			join(g);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Does the group list no process, in any place? */
static bool is_empty(const struct cgroup *g)
{
	char text[64];

	for (int i = 0; i < CGROUP_PLACES_MAX; i++)
		if (g->dirs[i] >= 0 && cgroup_read(g->dirs[i], "cgroup.procs", text, sizeof(text)) != 0)
			return false;
	return true;
}

static bool wait_empty(const struct cgroup *g)
{
	int64_t until = clock_mono_ms() + WAIT_MS;

	while (!is_empty(g) && clock_mono_ms() < until) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(1000);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return is_empty(g);
}

static bool is_there(const char *name)
{
	for (int i = 0; i < all->place_count; i++)
		if (faccessat(all->places[i].dir, name, F_OK, 0) == 0)
			return true;
	return false;
}

static _Noreturn void idle(void)
{
	for (;;)
		pause();
}

/* --- finding out ------------------------------------------------------------------ */

static void test_cgroup_says_what_it_can(void **state)
{
	unsigned bits = prepared();

	(void)state;
	print_message("version %d, bits %#x, reason \"%s\"\n", cgroups_version(all), bits,
		      cgroups_reason(all));
	assert_int_equal(cgroups_prepare(all), bits);
	if (bits != 31)
		assert_string_not_equal(cgroups_reason(all), "");
	if (bits == 0)
		assert_int_equal(cgroups_version(all), 0);
	else
		assert_in_range(cgroups_version(all), 1, 2);
	assert_int_equal((bits & 7) == 7, !*cgroups_remedy(all));
	for (int i = 0; i < CGROUP_ROLE_COUNT; i++) { /* the trial has left nothing */
		char name[64];

		snprintf(name, sizeof(name), "procpen-unit-%s", cgroup_role_names[i]);
		assert_false(is_there(name));
	}
}

static void test_cgroup_touches_nothing_before(void **state)
{
	struct cgroups *other = cgroups_new("other");

	(void)state;
	assert_int_equal(other->place_count, 0);
	assert_int_equal(cgroups_version(other), 0);
	assert_string_equal(cgroups_reason(other), "not tried yet");
	cgroups_free(other);
	cgroups_free(NULL);
}

/* What a user without a group of its own gets: nothing, and the reason. */
static int ordinary(void)
{
	const struct cgroup_limits limits = { .tasks = 8 };
	struct cgroups *mine = cgroups_new("ordinary");
	ERR_LOCAL(e);
	unsigned bits = cgroups_prepare(mine);
	int result = 0;

	if (bits || cgroups_version(mine) || cgroup_new(mine, 1, &limits, &e))
		result = 1;
	else if (!strstr(cgroups_reason(mine), "EACCES") || !strstr(cgroups_remedy(mine), "Delegate"))
		result = 2;
	else if (e.type != ERR_SANDBOX_UNAVAILABLE || !strstr(e.message, "EACCES"))
		result = 3;
	if (result)
		printf("# %#x \"%s\" \"%s\"\n", bits, cgroups_reason(mine), e.message);
	fflush(stdout);
	cgroups_free(mine);
	return result;
}

static int drop_and(int (*fn)(void))
{
	if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 98;
	return fn();
}

static int dropped_ordinary(void)
{
	return drop_and(ordinary);
}

static void test_cgroup_as_ordinary_user(void **state)
{
	(void)state;
	if (!prepared()) {
		print_message("SKIP: %s\n", cgroups_reason(all));
		skip();
	}
	if (getuid() != 0) {
		print_message("SKIP: this user has groups of its own\n");
		skip();
	}
	assert_int_equal(run_in(NULL, dropped_ordinary), 0);
}

/* The same without the help of root: this program was started by such a user. */
/* Descriptors ran out as the groups were looked for: that is no answer for good. */
static void test_cgroup_looked_for_in_a_shortage(void **state)
{
	struct rlimit old, low;
	struct cgroups *few;
	int first;

	(void)state;
	need(CGROUP_KILL);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	first = dup(0);
	close(first);
	for (int spare = 0; spare < all->place_count; spare++) {
		few = cgroups_new("few");
		low = (struct rlimit){ .rlim_cur = (rlim_t)(first + 1 + spare), .rlim_max = old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
		assert_int_equal(cgroups_prepare(few), 0);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_non_null(strstr(cgroups_reason(few), "EMFILE"));
		assert_true(few->again_ms > 0);
		few->again_ms = 1;
		assert_int_equal(cgroups_prepare(few), cgroups_prepare(all));
		cgroups_free(few);
	}
}

static void test_cgroup_reason_without_any(void **state)
{
	ERR_LOCAL(e);
	const struct cgroup_limits limits = { .memory_bytes = 16 * MIB };

	(void)state;
	if (prepared()) {
		print_message("SKIP: this user can make groups\n");
		skip();
	}
	assert_true(strlen(cgroups_reason(all)) > 10);
	assert_null(cgroup_new(all, 1, &limits, &e));
	assert_int_equal(e.type, ERR_SANDBOX_UNAVAILABLE);
	assert_non_null(strstr(e.message, cgroups_reason(all)));
}

/* --- limits ----------------------------------------------------------------------- */

static int use_memory(void)
{
	size_t size = 64 * MIB;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	return 0;
}

static void test_cgroup_memory_limit(void **state)
{
	const struct cgroup_limits limits = { .memory_bytes = 16 * MIB };
	struct pollfd wait = { .events = POLLIN };
	struct cgroup_usage u;
	struct cgroup *g;
	int64_t kills;
	int status;

	(void)state;
	need(CGROUP_MEMORY);
	assert_int_equal(run_in(NULL, use_memory), 0);
	g = make(&limits);
	wait.fd = cgroup_oom_fd(g);
	assert_true(wait.fd >= 0);
	assert_int_equal(cgroup_oom_kills(g), 0);
	assert_int_equal(poll(&wait, 1, 0), 0);
	status = run_in(g, use_memory);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
	kills = cgroup_oom_kills(g);
	assert_true(kills > 0);
	assert_int_equal(poll(&wait, 1, 0), 0); /* armed again */
	assert_int_equal(cgroup_oom_kills(g), kills);
	cgroup_usage(g, &u);
	if (u.memory_peak_bytes >= 0) {
		assert_true(u.memory_peak_bytes > 8 * MIB);
		assert_true(u.memory_peak_bytes <= 17 * MIB);
	} else {
		assert_int_equal(cgroups_version(all), 2); /* before Linux 5.19 */
	}
	cgroup_free(g);
}

static void ignore_alarm(int number)
{
	(void)number;
}

/* Under version 1 the kernel sets no memory limit for a process that has a signal pending. */
static void test_cgroup_limits_among_signals(void **state)
{
	const struct cgroup_limits limits = { .memory_bytes = 16 * MIB };
	const struct itimerval often = { { 0, 40 }, { 0, 40 } }, never = { 0 };
	struct sigaction on_alarm = { .sa_handler = ignore_alarm };
	ERR_LOCAL(e);
	struct cgroup *g = NULL;

	(void)state;
	need(CGROUP_MEMORY);
	assert_int_equal(sigaction(SIGALRM, &on_alarm, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (int i = 0; i < 300 && (!i || g); i++) {
		cgroup_free(g);
		g = cgroup_new(all, ++seq, &limits, &e);
	}
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	if (!g)
		print_error("%s\n", e.message);
	assert_non_null(g);
	cgroup_free(g);
}

/* A second strike fires again. */
static void test_cgroup_memory_strikes_twice(void **state)
{
	const struct cgroup_limits limits = { .memory_bytes = 16 * MIB };
	struct pollfd wait = { .events = POLLIN };
	struct cgroup *g;

	(void)state;
	need(CGROUP_MEMORY);
	g = make(&limits);
	wait.fd = cgroup_oom_fd(g);
	for (int i = 1; i <= 2; i++) {
		assert_true(WIFSIGNALED(run_in(g, use_memory)));
		assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
		assert_true(cgroup_oom_kills(g) >= i);
	}
	cgroup_free(g);
}

/* How many of 20 children could be started; they end with us. */
static int fork_twenty(void)
{
	pid_t parent = getpid();
	int count = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(0);
			idle();
		}
		count += pid > 0;
	}
	return count;
}

static void test_cgroup_tasks_limit(void **state)
{
	const struct cgroup_limits limits = { .tasks = 8 };
	struct cgroup *g;

	(void)state;
	need(CGROUP_TASKS | CGROUP_KILL);
	assert_int_equal(WEXITSTATUS(run_in(NULL, fork_twenty)), 20);
	g = make(&limits);
	assert_int_equal(cgroup_refused(g), 0);
	assert_int_equal(WEXITSTATUS(run_in(g, fork_twenty)), 7);
	assert_true(cgroup_refused(g) > 0); /* once per refused fork, or once for all: by kernel */
	cgroup_kill(g);
	assert_true(wait_empty(g));
	cgroup_free(g);
}

/* Use 0.2 s of processor time. */
static int burn(void)
{
	struct rusage u;

	do
		getrusage(RUSAGE_SELF, &u);
	while (u.ru_utime.tv_sec * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_sec * 1000000 +
		       u.ru_stime.tv_usec < 200000);
	return 0;
}

static int64_t throttled(const struct cgroup *g)
{
	return cgroup_read_number(cgroup_group_dir(g, CGROUP_ROLE_CPU), "cpu.stat", "nr_throttled");
}

/* One process cannot use two processors, so a limit of that never strikes; one of a tenth must. */
static void test_cgroup_cpu_limit(void **state)
{
	struct cgroup_limits limits = { .cpu_permille = 2000 };
	struct cgroup *g;

	(void)state;
	need(CGROUP_CPU);
	g = make(&limits);
	assert_int_equal(run_in(g, burn), 0);
	assert_int_equal(throttled(g), 0);
	cgroup_free(g);
	limits.cpu_permille = 100;
	g = make(&limits);
	assert_int_equal(run_in(g, burn), 0);
	assert_true(throttled(g) > 0);
	cgroup_free(g);
}

/* A hundredth and less needs a longer period; the kernel must take it. */
static void test_cgroup_cpu_limit_extremes(void **state)
{
	const int64_t permille[] = { 1, 9, 10, 64000 };

	(void)state;
	need(CGROUP_CPU);
	for (size_t i = 0; i < sizeof(permille) / sizeof(*permille); i++) {
		const struct cgroup_limits limits = { .cpu_permille = permille[i] };

		cgroup_free(make(&limits));
	}
}

/* --- usage ------------------------------------------------------------------------ */

/* An orphan does the work, under a reaper that ignores SIGCHLD. */
static int burn_in_orphan(void)
{
	int done[2];
	char byte;

	if (pipe(done))
		return 1;
	if (!fork()) {
		signal(SIGCHLD, SIG_IGN);
		if (!fork()) {
			setsid();
			burn();
			_exit(0);
		}
		_exit(0);
	}
	close(done[1]);
	return read(done[0], &byte, 1) == 0 ? 0 : 1;
}

static void test_cgroup_counts_orphans(void **state)
{
	const struct cgroup_limits limits = { .count = CGROUP_CPU_USAGE };
	struct cgroup_usage u;
	struct cgroup *g;

	(void)state;
	need(CGROUP_CPU_USAGE);
	g = make(&limits);
	cgroup_usage(g, &u);
	assert_true(u.cpu_us >= 0 && u.cpu_us < 200000);
	assert_int_equal(run_in(g, burn_in_orphan), 0);
	cgroup_usage(g, &u);
	assert_true(u.cpu_us >= 200000);
	cgroup_free(g);
}

static void test_cgroup_counts_only_what_was_asked_for(void **state)
{
	const struct cgroup_limits none = { .count = 0 }, peak = { .count = CGROUP_MEMORY };
	struct cgroup_usage u;
	struct cgroup *g;

	(void)state;
	need(CGROUP_MEMORY | CGROUP_KILL);
	g = make(&none);
	cgroup_usage(g, &u);
	if (cgroups_version(all) == 1) {
		assert_int_equal(u.memory_peak_bytes, -1);
		assert_int_equal(u.cpu_us, -1);
		assert_int_equal(cgroup_oom_kills(g), -1);
		assert_int_equal(cgroup_clone_fd(g), -1);
	} else {
		assert_true(cgroup_clone_fd(g) >= 0);
	}
	assert_int_equal(cgroup_oom_fd(g), -1);
	cgroup_free(g);
	g = make(&peak);
	cgroup_usage(g, &u);
	assert_true(u.memory_peak_bytes >= 0 || cgroups_version(all) == 2);
	cgroup_free(g);
}

/* --- kill ------------------------------------------------------------------------- */

static int ready[2]; /* a byte for each process that is where it wants to be */

/* Ten of the kinds that get away from a kill of the process group, then we wait with them. */
static int escapees(void)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid)
			continue;
		signal(SIGTERM, SIG_IGN);
		if (i % 2)
			setsid();
		if (i % 3 == 0 && fork())
			_exit(0);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		if (i % 5 == 4)
			raise(SIGSTOP);
		idle();
	}
	idle();
}

/* Start @fn in @g, in a process group of its own; true when @count live there. */
static pid_t start_in(const struct cgroup *g, int (*fn)(void))
{
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		join(g);
		_exit(fn());
	}
	setpgid(pid, pid);
	return pid;
}

static int count_in(const struct cgroup *g)
{
	char text[4096];
	int count = 0;

	for (int i = 0; i < CGROUP_PLACES_MAX; i++) {
		if (g->dirs[i] < 0)
			continue;
		cgroup_read(g->dirs[i], "cgroup.procs", text, sizeof(text));
		count = *text ? 1 : 0;
		for (const char *at = text; *at; at++)
			count += *at == '\n';
		break;
	}
	return count;
}

static bool wait_count(const struct cgroup *g, int least)
{
	int64_t until = clock_mono_ms() + WAIT_MS;
	bool seen;

	while (!(seen = count_in(g) >= least) && clock_mono_ms() < until)
		usleep(1000);
	return seen; /* of those that fork and exit the next count may be less */
}

static void test_cgroup_kill_reaches_all(void **state)
{
	const struct cgroup_limits limits = { .count = 0 };
	struct cgroup *g;
	char byte;
	pid_t pid;

	(void)state;
	need(CGROUP_KILL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	g = make(&limits);
	pid = start_in(g, escapees);
	for (int i = 0; i < 10; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	cgroup_joined(g);
	assert_int_equal(kill(-pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(count_in(g) >= 5); /* those in sessions of their own */
	assert_int_equal(cgroup_kill(g), 0);
	assert_true(wait_empty(g));
	close(ready[0]);
	close(ready[1]);
	cgroup_free(g);
}

/* Fork and exit for longer than anybody waits, with a little room. */
static _Noreturn void run_on(void)
{
	int64_t until = clock_mono_ms() + 2 * WAIT_MS;

	while (clock_mono_ms() < until) {
		pid_t pid = fork();

		if (pid > 0)
			break;
		if (!pid)
			setsid();
	}
	_exit(0);
}

static int runners(void)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid;

		while ((pid = fork()) < 0)
			; /* those before may fill the room */
		if (!pid)
			run_on();
	}
	idle();
}

static void test_cgroup_kill_outruns_runners(void **state)
{
	const struct cgroup_limits limits = { .tasks = 16 };

	(void)state;
	need(CGROUP_KILL | CGROUP_TASKS);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGCHLD, SIG_IGN); /* else dead children, not reaped yet, count against the limit */
	for (int i = 0; i < 20; i++) {
		struct cgroup *g = make(&limits);
		char max[16];

		start_in(g, runners);
		assert_true(wait_count(g, 3));
		assert_int_equal(cgroup_kill(g), 0);
		cgroup_read(cgroup_group_dir(g, CGROUP_ROLE_PIDS), "pids.max", max, sizeof(max));
		if (cgroups_version(all) == 1) /* no process forks during the kill by list */
			assert_string_equal(max, "0");
		assert_true(wait_empty(g));
		cgroup_free(g);
	}
	signal(SIGCHLD, SIG_DFL);
}

/* Into a group below its own, which its privilege allows. */
static int hide_below(void)
{
	for (int i = 0; i < all->place_count; i++) {
		char name[128];
		int home = all->places[i].dir;
		AUTO_CLOSE int dir = -1;

		snprintf(name, sizeof(name), "%s%d/below", all->prefix, (int)seq);
		if (mkdirat(home, name, 0755))
			continue;
		dir = openat(home, name, O_RDONLY | O_DIRECTORY);
		if (cgroup_fs_kernel.write(dir, "cgroup.procs", "0"))
			_exit(96);
	}
	idle();
}

static void test_cgroup_kill_and_remove_below(void **state)
{
	const struct cgroup_limits limits = { .count = 0 };
	int64_t until = clock_mono_ms() + WAIT_MS;
	struct cgroup *g;
	pid_t pid;

	(void)state;
	need(CGROUP_KILL);
	g = make(&limits);
	pid = start_in(g, hide_below);
	for (int i = 0; i < CGROUP_PLACES_MAX; i++)
		while (g->dirs[i] >= 0 && faccessat(g->dirs[i], "below", F_OK, 0) &&
		       clock_mono_ms() < until)
			usleep(1000);
	while (!is_empty(g) && clock_mono_ms() < until) /* it has moved below */
		usleep(1000);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	assert_int_equal(cgroup_kill(g), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	cgroup_free(g);
	cgroup_free(make(&limits)); /* if it was busy a moment ago */
	assert_null(all->retired);
}

/* Who is cloned into the group need not write anything. */
static void test_cgroup_clone_into(void **state)
{
	const struct cgroup_limits limits = { .count = 0 };
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	struct cgroup *g;
	long pid;

	(void)state;
	need(CGROUP_KILL);
	if (cgroups_version(all) == 1) {
		print_message("SKIP: version 1 has no such thing\n");
		skip();
	}
	g = make(&limits);
	cgroup_joined(g);
	args.cgroup = (unsigned)cgroup_clone_fd(g);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		idle();
	assert_true(pid > 0);
	assert_int_equal(count_in(g), 1);
	assert_int_equal(cgroup_kill(g), 0);
	assert_int_equal(waitpid((pid_t)pid, NULL, 0), pid);
	cgroup_free(g);
}

/* --- what is left ------------------------------------------------------------------- */

static int wait_for_ever(void)
{
	idle();
}

static void test_cgroup_busy_group_is_removed_later(void **state)
{
	const struct cgroup_limits limits = { .count = 0 };
	char name[CGROUP_NAME_SIZE];
	struct cgroup *g;
	pid_t pid;

	(void)state;
	need(CGROUP_KILL);
	g = make(&limits);
	strcpy(name, g->name);
	pid = start_in(g, wait_for_ever);
	assert_true(wait_count(g, 1));
	cgroup_free(g);
	assert_true(is_there(name));
	cgroup_free(make(&limits));
	assert_true(is_there(name)); /* still lived in */
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	cgroup_free(make(&limits));
	assert_false(is_there(name));
	assert_null(all->retired);
}

#define FREED 24
#define BUSY 10 /* more than one portion */

/* With a loop nothing is removed while runs end, and all that nobody lives in soon after, in
 * portions, also behind groups that are still busy. */
static void test_cgroup_freed_ones_are_removed_when_quiet(void **state)
{
	const struct cgroup_limits limits = { .count = 0 };
	struct cgroups *mine, *before;
	char names[FREED][CGROUP_NAME_SIZE];
	struct cgroup *groups[FREED];
	pid_t pids[FREED] = { 0 };
	struct ev_loop *loop;

	(void)state;
	need(CGROUP_KILL);
	loop = loop_new();
	before = all;
	all = mine = of_this_program("quiet");
	assert_true(prepared() & CGROUP_KILL);
	cgroups_remove_later(all, loop);
	for (int i = 0; i < FREED; i++) {
		groups[i] = make(&limits);
		strcpy(names[i], groups[i]->name);
	}
	for (int i = FREED - BUSY; i < FREED; i++) { /* freed last, so tried first */
		pids[i] = start_in(groups[i], wait_for_ever);
		assert_true(wait_count(groups[i], 1));
	}
	for (int i = 0; i < FREED; i++)
		cgroup_free(groups[i]);
	for (int i = 0; i < FREED; i++)
		assert_true(is_there(names[i]));
	ev_run(loop, 0); /* returns when its timer waits for nothing more */
	for (int i = 0; i < FREED; i++)
		assert_int_equal(is_there(names[i]), pids[i] != 0);
	for (int i = FREED - BUSY; i < FREED; i++) {
		kill(pids[i], SIGKILL);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
	cgroup_free(make(&limits));
	ev_run(loop, 0);
	for (int i = 0; i < FREED; i++)
		assert_false(is_there(names[i]));
	assert_null(all->retired);
	cgroups_free(mine);
	all = before;
	loop_free(loop);
}

/* Removes a group whose lock is free; keeps one of a live server, even an empty one. */
static void test_cgroup_cleans_after_the_dead(void **state)
{
	const struct cgroup_limits limits = { .count = 0 };
	struct cgroups *other, *third;
	struct cgroup *g;
	ERR_LOCAL(e);
	char dead[CGROUP_NAME_SIZE], name[CGROUP_NAME_SIZE];

	(void)state;
	need(CGROUP_KILL);
	if (all->delegation.moved) {
		print_message("SKIP: other servers of this program would live in our leaf\n");
		skip();
	}
	snprintf(dead, sizeof(dead), "procpen-dead%d-1", (int)getpid());
	assert_int_equal(mkdirat(all->places[0].dir, dead, 0755), 0);
	other = of_this_program("live");
	assert_true(cgroups_prepare(other));
	assert_false(is_there(dead));
	g = cgroup_new(other, 7, &limits, &e);
	assert_non_null(g);
	strcpy(name, g->name);
	assert_true(is_there(name));
	third = of_this_program("third");
	assert_true(cgroups_prepare(third));
	assert_true(is_there(name));
	cgroups_free(third);
	cgroup_free(g);
	assert_false(is_there(name));
	cgroups_free(other);
}

/* What one run did to a group is not what the next finds. */
static void test_cgroup_given_back(void **state)
{
	const struct cgroup_limits limits = { .tasks = 4 }, others = { .tasks = 5 };
	struct cgroup *g, *other;
	char name[CGROUP_NAME_SIZE];
	int kept;

	(void)state;
	need(CGROUP_TASKS);
	g = make(&limits);
	strcpy(name, g->name);
	run_in(g, fork_twenty);
	assert_true(wait_empty(g));
	assert_true(cgroup_refused(g) > 0);
	cgroup_recycle(g);
	kept = all->idle_count;
	assert_int_equal(kept, cgroups_version(all) == 1);
	assert_int_equal(is_there(name), kept);
	other = make(&others);
	assert_string_not_equal(other->name, name);
	for (int i = 0; i < 3; i++) {
		g = make(&limits);
		if (kept)
			assert_string_equal(g->name, name);
		assert_int_equal(cgroup_refused(g), 0);
		run_in(g, fork_twenty);
		assert_true(wait_empty(g));
		assert_true(cgroup_refused(g) > 0);
		cgroup_joined(g);
		cgroup_recycle(g);
	}
	cgroup_recycle(other);
	assert_int_equal(all->idle_count, kept ? 2 : 0);
	g = make(&(struct cgroup_limits){ .tasks = 4, .count = CGROUP_MEMORY });
	if (g->roles != 1U << CGROUP_ROLE_PIDS) { /* it counts what cannot be reset */
		cgroup_recycle(g);
		assert_int_equal(all->idle_count, kept ? 2 : 0);
	} else {
		cgroup_free(g);
	}
	cgroup_recycle(NULL);
	assert_int_equal(cgroups_drop_idle(all, 1), kept);
	assert_int_equal(all->idle_count, kept);
}

/* Another process removes an idle group: no run fails. */
static void test_cgroup_idle_one_removed(void **state)
{
	const struct cgroup_limits limits = { .tasks = 4 };
	struct cgroup *g;
	char name[CGROUP_NAME_SIZE];

	(void)state;
	need(CGROUP_TASKS);
	g = make(&limits);
	strcpy(name, g->name);
	cgroup_recycle(g);
	if (is_there(name)) {
		assert_ptr_equal(make(&limits), g);
		assert_int_equal(cgroup_refused(g), 0);
		cgroup_recycle(g); /* now its file was read before */
	}
	if (!is_there(name)) {
		print_message("SKIP: no group is kept here\n");
		return;
	}
	for (int i = 0; i < all->place_count; i++)
		(void)cgroup_remove_tree(all->fs, all->places[i].dir, name);
	assert_false(is_there(name));
	g = make(&limits);
	assert_true(is_there(g->name));
	run_in(g, fork_twenty); /* it can be joined */
	assert_true(wait_empty(g));
	cgroup_free(g);
}

/* A name that is taken is not shared. */
static void test_cgroup_same_name_twice(void **state)
{
	const struct cgroup_limits limits = { .count = 0 };
	ERR_LOCAL(e);
	struct cgroup *g, *second;

	(void)state;
	need(CGROUP_KILL);
	g = make(&limits);
	start_in(g, wait_for_ever);
	assert_true(wait_count(g, 1));
	second = cgroup_new(all, seq, &limits, &e);
	if (second)
		assert_string_not_equal(second->name, g->name);
	cgroup_free(second);
	assert_true(wait_count(g, 1));
	assert_int_equal(cgroup_kill(g), 0);
	assert_true(wait_empty(g));
	cgroup_free(g);
	cgroup_free(NULL);
	assert_non_null(second);
}

static void test_cgroup_no_descriptor_is_lost(void **state)
{
	const struct cgroup_limits limits = { .memory_bytes = 16 * MIB, .tasks = 8 };
	int before = dup(0), after;

	(void)state;
	need(CGROUP_MEMORY | CGROUP_TASKS);
	close(before);
	for (int i = 0; i < 10; i++)
		cgroup_free(make(&limits));
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

static int told_to_end[2];

static int end_soon(void)
{
	char byte;

	close(told_to_end[1]);
	(void)!read(told_to_end[0], &byte, 1);
	usleep(5000);
	return 0;
}

/* Last: the directories are gone, also of a group whose last process is just ending, and under
 * version 2 we are where we were. */
static void test_cgroup_leaves_nothing(void **state)
{
	struct cgroup_place places[CGROUP_PLACES_MAX];
	char why[512], prefix[CGROUP_NAME_SIZE];
	const struct cgroup_limits limits = { .tasks = 8 };
	struct cgroup *g;
	int count, version;
	bool shortage;

	(void)state;
	need(CGROUP_KILL);
	version = cgroups_version(all);
	snprintf(prefix, sizeof(prefix), "%s", all->prefix);
	g = make(&limits);
	assert_int_equal(pipe(told_to_end), 0);
	(void)start_in(g, end_soon);
	while (count_in(g) < 1)
		usleep(100);
	close(told_to_end[1]);
	signal(SIGCHLD, SIG_IGN); /* nobody waits for it */
	cgroup_free(g);
	cgroups_free(all);
	all = NULL;
	count = cgroup_places_find(&cgroup_fs_kernel, version, places, &shortage, why, sizeof(why));
	assert_true(count > 0);
	for (int i = 0; i < count; i++) {
		DIR *dir = fdopendir(dup(places[i].dir));
		struct dirent *entry;

		while ((entry = readdir(dir)))
			assert_null(strstr(entry->d_name, prefix));
		closedir(dir);
		cgroup_place_close(&places[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroup_touches_nothing_before),
		cmocka_unit_test(test_cgroup_says_what_it_can),
		cmocka_unit_test(test_cgroup_as_ordinary_user),
		cmocka_unit_test(test_cgroup_looked_for_in_a_shortage),
		cmocka_unit_test(test_cgroup_reason_without_any),
		cmocka_unit_test(test_cgroup_memory_limit),
		cmocka_unit_test(test_cgroup_limits_among_signals),
		cmocka_unit_test(test_cgroup_memory_strikes_twice),
		cmocka_unit_test(test_cgroup_tasks_limit),
		cmocka_unit_test(test_cgroup_cpu_limit),
		cmocka_unit_test(test_cgroup_cpu_limit_extremes),
		cmocka_unit_test(test_cgroup_counts_orphans),
		cmocka_unit_test(test_cgroup_counts_only_what_was_asked_for),
		cmocka_unit_test(test_cgroup_kill_reaches_all),
		cmocka_unit_test(test_cgroup_kill_outruns_runners),
		cmocka_unit_test(test_cgroup_kill_and_remove_below),
		cmocka_unit_test(test_cgroup_clone_into),
		cmocka_unit_test(test_cgroup_busy_group_is_removed_later),
		cmocka_unit_test(test_cgroup_freed_ones_are_removed_when_quiet),
		cmocka_unit_test(test_cgroup_cleans_after_the_dead),
		cmocka_unit_test(test_cgroup_given_back),
		cmocka_unit_test(test_cgroup_idle_one_removed),
		cmocka_unit_test(test_cgroup_same_name_twice),
		cmocka_unit_test(test_cgroup_no_descriptor_is_lost),
		cmocka_unit_test(test_cgroup_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
