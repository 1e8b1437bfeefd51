#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/shim_image.h"
#include "os/spawn_child.h"

#define CHILD_STACK_SIZE (64 * 1024)

static const char *const stage_names[SHIM_STAGE_COUNT] = {
	[SHIM_STAGE_NONE] = "none",
	[SHIM_STAGE_DESCRIPTORS] = "descriptors",
	[SHIM_STAGE_SHIM_EXEC] = "shim",
	[SHIM_STAGE_PLAN] = "plan",
	[SHIM_STAGE_FORK] = "fork",
	[SHIM_STAGE_SESSION] = "session",
	[SHIM_STAGE_CHDIR] = "chdir",
	[SHIM_STAGE_RLIMIT] = "rlimit",
	[SHIM_STAGE_NO_NEW_PRIVS] = "no_new_privs",
	[SHIM_STAGE_SECCOMP] = "seccomp",
	[SHIM_STAGE_EXEC] = "exec",
};

const char *spawn_stage_name(int stage)
{
	return stage > 0 && stage < SHIM_STAGE_COUNT ? stage_names[stage] : "unknown";
}

/* The one thing to do about @sys, by kind; NULL leaves the type's default. */
static const char *hint_for(int stage, int sys)
{
	if (sys == E2BIG)
		return "command, arguments and environment together are too big, or one of them "
		       "reaches 131,072 bytes: pass the data through stdin or a file";
	if (stage == SHIM_STAGE_CHDIR)
		return "the working directory cannot be entered: check its permissions";
	if (sys == ENOEXEC)
		return "the file has no known format: add a #! line, or run it through its "
		       "interpreter";
	if (sys == EACCES || sys == EPERM || sys == EISDIR)
		return "the file is not executable: chmod +x it, or run it through its interpreter";
	if (sys == ENOENT)
		return "the file or the interpreter in its #! line does not exist";
	if (sys == EAGAIN || sys == ENOMEM || sys == EMFILE || sys == ENFILE)
		return "the machine is short of processes, memory or descriptors: stop something "
		       "and try again";
	return NULL;
}

int spawn_failed(int stage, int sys, const char *path, struct err *e)
{
	bool layer = stage == SHIM_STAGE_NO_NEW_PRIVS || stage == SHIM_STAGE_SECCOMP;
	const char *hint = hint_for(stage, sys);

	err_sys(e, layer ? ERR_SANDBOX_UNAVAILABLE : ERR_SPAWN_FAILED, sys,
		"%s was not started: %s failed", path, spawn_stage_name(stage));
	if (hint && !layer)
		err_hint(e, "%s", hint);
	err_detail(e, "stage", json_string(spawn_stage_name(stage)));
	err_detail(e, "errno", json_string(err_sys_name(sys)));
	return -1;
}

/* Queue the plan before the shim exists: it then never waits for it. */
static int send_plan(int fd, const struct spawn_request *request, struct err *e)
{
	static struct shim_plan plan; /* 12 KB: too big for the stack, used by one call at a time */
	size_t filter_size, len;

	plan.path_len = (uint32_t)strlen(request->path);
	if (plan.path_len >= SHIM_PATH_MAX)
		return spawn_failed(SHIM_STAGE_EXEC, ENAMETOOLONG, request->path, e);
	if (confine_fill(request->confine, &plan, e))
		return -1;
	if (request->announce)
		plan.flags |= SHIM_ANNOUNCE;
	filter_size = (size_t)plan.filter_len * 8;
	memcpy(plan.tail + filter_size, request->path, plan.path_len + 1);
	len = SHIM_PLAN_HEAD + filter_size + plan.path_len + 1;
	if (send(fd, &plan, len, MSG_NOSIGNAL) != (ssize_t)len)
		return spawn_failed(SHIM_STAGE_PLAN, errno, request->path, e);
	return 0;
}

/*
 * Which signals we ignore. Looked up at the first start and kept: dispositions
 * are set before the loop runs and never after.
 */
static uint64_t ignored_signals(void)
{
	static bool known;
	static uint64_t ignored;
	struct sigaction action;

	for (int number = 1; !known && number <= 64; number++) {
		/* libc hides two numbers that it uses itself (EINVAL): reset them always. */
		bool hidden = sigaction(number, NULL, &action) < 0;

		if (hidden || action.sa_handler == SIG_IGN)
			ignored |= 1ULL << (number - 1);
	}
	known = true;
	return ignored;
}

/*
 * Clone the child that becomes the shim; pid or -1 with errno. The caller is
 * suspended until its exec or exit. Signals are blocked around it: a handler of
 * ours must not run in a child that shares our memory.
 */
static pid_t clone_child(struct spawn_child *child)
{
	static char *stack;
	sigset_t all, before;
	pid_t pid;
	int sys;

	if (!stack) {
		stack = mmap(NULL, CHILD_STACK_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		if (stack == MAP_FAILED) {
			stack = NULL;
			return -1;
		}
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone(spawn_child_run, stack + CHILD_STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD,
		    child);
	sys = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = sys;
	return pid;
}

int spawn_start(const struct spawn_request *request, struct spawn_result *result, struct err *e)
{
	int pair[2] = { -1, -1 };
	AUTO_CLOSE int ours = -1;
	AUTO_CLOSE int theirs = -1;
	struct spawn_child child = {
		.stdin_fd = request->stdin_fd,
		.stdout_fd = request->stdout_fd,
		.stderr_fd = request->stderr_fd,
		.cwd_fd = request->cwd_fd,
		.argv = request->argv,
		.envp = request->envp,
		.ignored = ignored_signals(),
	};

	child.shim_fd = shim_image_fd(e);
	if (child.shim_fd < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, request->path, e);
	ours = pair[0];
	theirs = pair[1];
	fcntl(ours, F_SETFL, O_NONBLOCK);
	if (send_plan(ours, request, e))
		return -1;
	child.control_fd = theirs;
	result->keeper_pid = clone_child(&child);
	if (result->keeper_pid < 0)
		return spawn_failed(SHIM_STAGE_FORK, errno, request->path, e);
	if (child.stage) /* it has exited; the reaper collects it */
		return spawn_failed(child.stage, child.error, request->path, e);
	result->control_fd = ours;
	ours = -1;
	return 0;
}
