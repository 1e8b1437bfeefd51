#include "os/sandbox/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/spawn/spawn.h"

/* A trial takes milliseconds. The loop stands still meanwhile, but the run that needs the trial is
 * better late than refused because the machine was busy for a few seconds. */
#define TRIAL_MS (TRIAL_SECONDS * 1000)

/* Wait for SHIM_FAILED or SHIM_EXITED. 0, or an errno: ETIMEDOUT, EAGAIN: the shim was killed. */
static int trial_await_end(int fd, struct shim_report *report)
{
	int64_t until = clock_mono_ms() + TRIAL_MS;
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	for (;;) {
		int64_t left = until - clock_mono_ms();
		int ready = poll(&wait, 1, left > 0 ? (int)left : 0);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return ETIMEDOUT;
		if (recv(fd, report, sizeof(*report), MSG_DONTWAIT) != (ssize_t)sizeof(*report))
			return EAGAIN;
		if (report->event == SHIM_FAILED || report->event == SHIM_EXITED)
			return 0;
	}
}

static int trial_read_result(int fd, struct confine_trial *t)
{
	struct shim_report report;

	t->stage = SHIM_STAGE_PLAN;
	t->error = trial_await_end(fd, &report);
	if (t->error)
		return -1;
	if (report.event == SHIM_FAILED) {
		t->stage = report.value;
		t->error = report.error;
		return -1;
	}
	/* SIGKILL comes from outside, as when memory has run out: it says nothing of a layer. */
	t->error = WIFSIGNALED(report.value) && WTERMSIG(report.value) == SIGKILL ? EAGAIN : EPROTO;
	return WIFEXITED(report.value) && !WEXITSTATUS(report.value) ? 0 : -1;
}

/* The reaper does not watch this shim, so collect it here. */
static void trial_reap(const struct spawn_result *started)
{
	close(started->control_fd);
	kill(started->shim_pid, SIGKILL);
	while (waitpid(started->shim_pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The stage in the error @e of spawn_start(). */
static int trial_stage_of_error(const struct err *e)
{
	const char *name = json_string_value(json_object_get(e->details, "stage"));

	for (int stage = 1; name && stage < SHIM_STAGE_COUNT; stage++)
		if (!strcmp(spawn_stage_name(stage), name))
			return stage;
	return SHIM_STAGE_SHIM_EXEC;
}

int confine_trial_run(struct shim_plan *plan, const struct confine_run *run,
		      struct confine_trial *t)
{
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char name[] = "procpen-trial", *argv[] = { name, NULL }, *envp[] = { NULL };
	struct spawn_request request = {
		.path = "/", .argv = argv, .envp = envp, .cwd_fd = root, .cwd = "/",
		.stdin_fd = null, .stdout_fd = null, .stderr_fd = null, .plan = plan,
		.clone_flags = run->clone_flags, .fds = run->fds, .fd_count = run->fd_count,
		.ruleset = run->ruleset,
	};
	struct spawn_result started;
	ERR_LOCAL(e);
	int result;

	if (root < 0 || null < 0) {
		t->stage = SHIM_STAGE_DESCRIPTORS;
		t->error = errno;
		return -1;
	}
	plan->flags |= SHIM_TRIAL;
	if (spawn_start(&request, &started, &e)) {
		t->stage = trial_stage_of_error(&e);
		t->error = e.sys;
		err_release(&e);
		return -1;
	}
	result = trial_read_result(started.control_fd, t);
	trial_reap(&started);
	return result;
}
