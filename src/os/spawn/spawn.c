#include "os/spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/spawn/child.h"
#include "os/spawn/shim_image.h"

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
	[SHIM_STAGE_USER_NS] = "user_namespace",
	[SHIM_STAGE_MOUNTS] = "mounts",
	[SHIM_STAGE_PROC] = "proc",
	[SHIM_STAGE_NET_NS] = "network_namespace",
	[SHIM_STAGE_CGROUP] = "cgroup",
	[SHIM_STAGE_CREDENTIALS] = "credentials",
	[SHIM_STAGE_LANDLOCK] = "landlock",
	[SHIM_STAGE_LISTENER] = "listener",
	[SHIM_STAGE_LOCK_MOUNTS] = "lock_mounts",
	[SHIM_STAGE_LOG_FILE] = "log_file",
	[SHIM_STAGE_OWN_PTS] = "own_terminals",
};

const char *spawn_stage_name(int stage)
{
	return stage > 0 && stage < SHIM_STAGE_COUNT ? stage_names[stage] : "unknown";
}

/* A process without namespaces needs memory, descriptors and a place in a limit, and nothing else;
 * ENOSPC is a limit of namespaces. */
static bool spawn_lacks_namespace(int stage, int sys)
{
	return stage == SHIM_STAGE_FORK && (sys == ENOSPC || !err_is_shortage(sys));
}

static enum err_type spawn_error_of(int stage, int sys)
{
	if (stage == SHIM_STAGE_NO_NEW_PRIVS || stage == SHIM_STAGE_SECCOMP ||
	    stage > SHIM_STAGE_EXEC || spawn_lacks_namespace(stage, sys))
		return ERR_SANDBOX_UNAVAILABLE;
	return stage == SHIM_STAGE_CHDIR ? ERR_BAD_DIRECTORY : ERR_SPAWN_FAILED;
}

/* The hint for errno @sys in @stage; NULL: err_hint_text() knows it. */
static const char *spawn_hint_for(int stage, int sys)
{
	if (sys == ENOSPC && (stage == SHIM_STAGE_FORK || stage == SHIM_STAGE_NET_NS ||
			      stage == SHIM_STAGE_LOCK_MOUNTS))
		return "The kernel grants no more namespaces: wait until other runs have ended; "
		       "the operator can raise user.max_*_namespaces (sysctl).";
	if (spawn_error_of(stage, sys) == ERR_SANDBOX_UNAVAILABLE)
		return NULL;
	if (sys == E2BIG)
		return "Command, arguments and environment together are too big, or one of them "
		       "reaches 131,072 bytes: pass the data through stdin or a file.";
	if (stage == SHIM_STAGE_CHDIR && sys == ESTALE) /* see namespaces_open_same() */
		return "Commands find another directory there: the operator hides it "
		       "(sandbox.hide), or it was replaced just now.";
	if (stage == SHIM_STAGE_CHDIR && !err_is_shortage(sys))
		return "The user that commands run as cannot enter the working directory: check "
		       "its permissions, and those of the directories above it.";
	if (stage != SHIM_STAGE_EXEC)
		return NULL;
	if (sys == ENOEXEC)
		return "The file has no known format: add a #! line, or run it through its "
		       "interpreter.";
	if (sys == EACCES || sys == EPERM || sys == EISDIR)
		return "The user that commands run as may not execute the file, or the "
		       "interpreter in its #! line, or the operator hides it (sandbox.hide): "
		       "check its permissions, or use another program.";
	if (sys == ENOENT)
		return "Commands do not find the file, or not the interpreter that its #! line "
		       "names; a CR at the end of that line belongs to the name. Correct the "
		       "line, or run the file through an interpreter.";
	return NULL;
}

int spawn_failed(int stage, int sys, const char *path, struct err *e)
{
	const char *hint = spawn_hint_for(stage, sys);

	err_sys(e, spawn_error_of(stage, sys), sys, "%s was not started: %s failed", path,
		spawn_stage_name(stage));
	if (hint)
		err_hint(e, "%s", hint);
	e->lasting = sys == E2BIG; /* no permission makes room for it */
	err_detail(e, "stage", json_string(spawn_stage_name(stage)));
	err_detail(e, "errno", json_string(err_sys_name(sys)));
	return -1;
}

int spawn_killed(struct err *e)
{
	err_set(e, ERR_SPAWN_FAILED,
		"the shim that was to start the command was killed or changed from outside; "
		"nothing ran");
	e->sys = EAGAIN; /* it passes */
	return err_hint(e, "Start the command again.");
}

/* What did not start, for spawn_failed(). */
static const char *spawn_name(const struct spawn_request *request)
{
	return request->log_bytes ? SPAWN_LOG_WRITER : request->path;
}

size_t spawn_add_command(struct shim_plan *plan, const struct spawn_request *request)
{
	const char *cwd = request->cwd ? request->cwd : "";
	uint8_t *at = plan->tail + (size_t)plan->filter_len * 8 + plan->mounts_size;
	size_t path_len = strlen(request->path), cwd_len = strlen(cwd);

	if (path_len >= SHIM_PATH_MAX || cwd_len >= SHIM_PATH_MAX)
		return 0;
	if (request->announce)
		plan->flags |= SHIM_ANNOUNCE;
	if (request->terminal)
		plan->flags |= SHIM_TERMINAL;
	if (request->log_bytes)
		plan->flags |= SHIM_LOG | (request->log_truncate ? SHIM_LOG_TRUNCATE : 0);
	plan->log_bytes = request->log_bytes;
	plan->path_len = (uint32_t)path_len;
	plan->cwd_len = (uint32_t)cwd_len;
	memcpy(at, request->path, path_len + 1);
	memcpy(at + path_len + 1, cwd, cwd_len + 1);
	return (size_t)(at - (uint8_t *)plan) + path_len + cwd_len + 2;
}

/* Queue the plan before the shim exists, so that the shim never waits for it. */
static int spawn_send_plan(int fd, const struct spawn_request *request, struct err *e)
{
	size_t len = spawn_add_command(request->plan, request);

	if (!len)
		return spawn_failed(SHIM_STAGE_EXEC, ENAMETOOLONG, spawn_name(request), e);
	if (send(fd, request->plan, len, MSG_NOSIGNAL) != (ssize_t)len)
		return spawn_failed(SHIM_STAGE_PLAN, errno, spawn_name(request), e);
	return 0;
}

/*
 * The signals that the server ignores. Read at the first start and cached: the server
 * sets dispositions before the loop runs and never after.
 */
static uint64_t spawn_ignored_signals(void)
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

/* Descriptors of /dev/null. Children borrow their numbers, but for the last one. Kept for good. */
static int spawn_slots[SPAWN_SLOTS + 1];

/* Returns 0, or -1 with errno. */
static int spawn_reserve_slots(void)
{
	static int ready;
	AUTO_CLOSE int null = ready <= SPAWN_SLOTS ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

	if (null < 0 && ready <= SPAWN_SLOTS)
		return -1;
	for (; ready <= SPAWN_SLOTS; ready++) {
		spawn_slots[ready] = fcntl(null, F_DUPFD_CLOEXEC, SPAWN_FDS_MAX);
		if (spawn_slots[ready] < 0)
			return -1;
	}
	return 0;
}

/* The child has what it needs: let go of it. */
static void spawn_clear_slots(const struct spawn_child *child)
{
	for (int i = 0; i <= child->fd_count; i++)
		dup3(spawn_slots[SPAWN_SLOTS], spawn_slots[i], O_CLOEXEC);
}

/*
 * Clone the child that becomes the shim. Returns its pid, or -1 with errno. Suspends the
 * caller until the child's exec or exit. Blocks signals meanwhile: a handler of ours
 * must not run in a child that shares our memory.
 */
static pid_t spawn_clone_child(struct spawn_child *child, int namespaces)
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
	pid = clone(spawn_child_run, stack + CHILD_STACK_SIZE,
		    CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD | namespaces, child);
	sys = errno;
	if (pid > 0)
		spawn_clear_slots(child);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = sys;
	return pid;
}

/* Make the control socket, with the plan in it. */
static int spawn_open_control(const struct spawn_request *request, int *ours, int *theirs,
			      struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, spawn_name(request), e);
	*ours = pair[0];
	*theirs = pair[1];
	fcntl(*ours, F_SETFL, O_NONBLOCK);
	return spawn_send_plan(*ours, request, e);
}

int spawn_start(const struct spawn_request *request, struct spawn_result *result, struct err *e)
{
	AUTO_CLOSE int ours = -1;
	AUTO_CLOSE int theirs = -1;
	AUTO_CLOSE int ruleset = -1;
	struct spawn_child child = {
		.fds = { request->stdin_fd, request->stdout_fd, request->stderr_fd, -1,
			 request->cwd_fd },
		.fd_count = SHIM_FD_EXTRA + request->fd_count,
		.argv = request->argv,
		.envp = request->envp,
		.user_ns = request->clone_flags & CLONE_NEWUSER,
		.ignored = spawn_ignored_signals(),
		.slots = spawn_slots,
	};

	*result = (struct spawn_result){ .control_fd = -1 };
	if (request->fd_count)
		memcpy(child.fds + SHIM_FD_EXTRA, request->fds,
		       (size_t)request->fd_count * sizeof(int));
	child.shim_fd = shim_image_fd(e);
	if (child.shim_fd < 0)
		return -1;
	if (request->ruleset.make && request->plan->landlock_fd >= 0) {
		ruleset = request->ruleset.make(request->ruleset.ctx, e);
		if (ruleset < 0)
			return -1;
		child.fds[request->plan->landlock_fd] = ruleset;
	}
	if (spawn_reserve_slots())
		return spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, spawn_name(request), e);
	if (spawn_open_control(request, &ours, &theirs, e))
		return -1;
	child.fds[SHIM_FD_CONTROL] = theirs;
	result->shim_pid = spawn_clone_child(&child, request->clone_flags);
	result->refused = result->shim_pid < 0 && request->clone_flags &&
			  (errno == ENOSPC || !err_is_shortage(errno));
	if (result->shim_pid < 0)
		return spawn_failed(SHIM_STAGE_FORK, errno, spawn_name(request), e);
	if (child.stage) /* it has exited; the reaper collects it */
		return spawn_failed(child.stage, child.error, spawn_name(request), e);
	result->control_fd = ours;
	ours = -1;
	return 0;
}
