/* children - for tests with real processes: a loop, a reaper, one run at a time, bounded waits. */
#ifndef PROCPEN_TESTS_UNIT_CHILDREN_H
#define PROCPEN_TESTS_UNIT_CHILDREN_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/loop.h"
#include "os/procfs.h"
#include "os/reaper.h"
#include "os/sandbox/confine.h"
#include "os/spawn/spawn.h"

#define CHILDREN_WAIT_MS 60000 /* longer than any of these takes; a wait ends with its condition */

struct children {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct confine *confine;
	ev_timer tick;
	int group_fd; /* a directory of control groups (v2) to start in; 0: none */
	struct confine_run *runs; /* their groups are removed when no process is left in them */
	size_t run_count;
};

static inline void children_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)w;
	(void)revents;
}

static inline void children_init(struct children *c)
{
	static const char *const writable[] = { "/tmp", NULL };
	static char instance[32]; /* names control groups: two programs may run at a time */
	/* Without namespaces, so that a pid that a command prints means the same here. */
	struct confine_options options = {
		.instance = instance, .umask = 022, .network = true, .writable = writable,
		.nofile = { 1024, 4096 },
	};

	snprintf(instance, sizeof(instance), "test%d", (int)getpid());
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &options.nofile), 0);
	c->loop = loop_new();
	c->reaper = reaper_new(c->loop);
	c->confine = confine_new(&options);
	ev_timer_init(&c->tick, children_tick, 0.005, 0.005);
	ev_timer_start(c->loop, &c->tick);
}

/* Run the loop until @done says so. False after the time. */
static inline bool children_wait(struct children *c, bool (*done)(void *ctx), void *ctx)
{
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;

	while (!done(ctx)) {
		if (clock_mono_ms() > until)
			return false;
		ev_run(c->loop, EVRUN_ONCE);
	}
	return true;
}

/* Run the loop for @ms. */
static inline void children_pause(struct children *c, int ms)
{
	int64_t until = clock_mono_ms() + ms;

	while (clock_mono_ms() < until)
		ev_run(c->loop, EVRUN_ONCE);
}

static inline bool children_none(void *ctx)
{
	pid_t pid;

	(void)ctx;
	return procfs_children(getpid(), &pid, 1) == 0;
}

static inline bool children_gone(void *pid)
{
	struct procread_stat st;

	return procread_stat(*(pid_t *)pid, &st) < 0 || st.state == 'Z' || st.state == 'X';
}

static inline bool children_stopped(void *pid)
{
	struct procread_stat st;

	return !procread_stat(*(pid_t *)pid, &st) && st.state == 'T';
}

/* Nothing may be left of what a test started. */
static inline void children_release(struct children *c)
{
	assert_true(children_wait(c, children_none, NULL));
	ev_timer_stop(c->loop, &c->tick);
	while (c->run_count)
		confine_run_release(&c->runs[--c->run_count]);
	free(c->runs);
	confine_free(c->confine);
	reaper_free(c->reaper);
	loop_free(c->loop);
}

/* What most programs have: one of it, made for each test. */
static struct children all;

static inline int children_setup(void **state)
{
	(void)state;
	children_init(&all);
	return 0;
}

static inline int children_teardown(void **state)
{
	(void)state;
	children_release(&all);
	return 0;
}

/* One started command and the end of its output that we read. */
struct started {
	struct spawn_result spawned;
	int output; /* stdout and stderr of the command */
};

/* Start @argv; argv[0] is the path. 0 or -1 with @e. */
static inline int children_start(struct children *c, char *const *argv, struct started *s,
				 struct err *e)
{
	char *environment[] = { (char[]){ "PATH=/usr/bin:/bin" }, NULL };
	int pair[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC), result;
	int cwd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	static struct shim_plan plan;
	const struct confine_request nothing = { 0 };
	struct confine_run run;
	struct spawn_request request = {
		.path = argv[0],
		.argv = argv,
		.envp = environment,
		.cwd_fd = cwd,
		.stdin_fd = null,
		.stdout_fd = pair[1],
		.stderr_fd = pair[1],
		.plan = &plan,
		.fds = run.fds,
		.announce = true,
	};

	result = confine_enter(c->confine, &nothing, c->run_count + 1, &plan, &run, e);
	if (!result) {
		if (c->group_fd) {
			plan.group_fd = SHIM_FD_EXTRA + run.fd_count;
			run.fds[run.fd_count++] = c->group_fd;
		}
		request.fd_count = run.fd_count;
		request.ruleset = run.ruleset;
		result = spawn_start(&request, &s->spawned, e);
	}
	c->runs = mem_realloc(c->runs, (c->run_count + 1) * sizeof(run));
	c->runs[c->run_count++] = run;
	s->output = pair[0];
	close(pair[1]);
	close(null);
	close(cwd);
	if (result)
		close(pair[0]);
	return result;
}

/* A hierarchy of version 2 that we may make a group in, mounted as hybrid hosts or others do. */
static inline const char *children_group_place(void)
{
	static const char *const places[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	char path[128];

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", places[i]);
		if (!access(path, W_OK))
			return places[i];
	}
	return NULL;
}

/* Start @script in a shell, which must work. */
static inline void children_shell(struct children *c, const char *script, struct started *s)
{
	char *argv[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" }, NULL, NULL };
	char *copy = strdup(script);
	ERR_LOCAL(e);

	argv[2] = copy;
	assert_int_equal(children_start(c, argv, s, &e), 0);
	free(copy);
}

/* The next report of a shim: 0, or -1 at end of file or when none comes. */
static inline int children_report(int control_fd, struct shim_report *report)
{
	struct pollfd wait = { .fd = control_fd, .events = POLLIN };

	int count;

	memset(report, 0, sizeof(*report));
	do
		count = poll(&wait, 1, CHILDREN_WAIT_MS);
	while (count < 0 && errno == EINTR); /* some child has ended */
	if (count != 1)
		return -1;
	return recv(control_fd, report, sizeof(*report), MSG_DONTWAIT) == sizeof(*report) ? 0 : -1;
}

/* A whole line of the output, waited for, without its newline. */
static inline const char *children_line(int fd, char *line, size_t size)
{
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;
	size_t len = 0;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (len < size - 1) {
		ssize_t n = read(fd, line + len, 1);

		if (n < 0 && errno == EAGAIN && clock_mono_ms() < until) {
			usleep(1000);
			continue;
		}
		if (n != 1 || line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	return line;
}

/* A number that the command printed on a line of its own: mostly a pid. */
static inline int children_number(int fd)
{
	char line[64];

	return atoi(children_line(fd, line, sizeof(line)));
}

#endif
