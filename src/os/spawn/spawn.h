/*
 * spawn - starts a shim, which runs one command by a plan.
 *
 * The server's child (clone with CLONE_VM|CLONE_VFORK on a stack of its own) only
 * arranges descriptors and executes the shim. The shim (os/shim/) clones the command
 * and does everything that concerns it. Between clone and exec the child makes raw
 * system calls only, with every signal blocked, and resets ignored signals to their
 * default: see the head of os/spawn/child.c.
 */
#ifndef PROCPEN_OS_SPAWN_SPAWN_H
#define PROCPEN_OS_SPAWN_SPAWN_H

#include <sys/types.h>

#include "base/err.h"
#include "os/shim/proto.h"

/* Makes a ruleset of Landlock, or shares one: a descriptor that the caller owns, or -1. */
struct spawn_ruleset {
	int (*make)(void *ctx, struct err *e); /* NULL: none */
	void *ctx;
};

struct spawn_request {
	const char *path;        /* program to execute, already looked up; used after the chdir */
	char *const *argv;       /* the command's, NULL-terminated */
	char *const *envp;
	int cwd_fd;              /* O_PATH directory; borrowed */
	const char *cwd;         /* its canonical path, for a mount namespace; NULL with none */
	int stdin_fd, stdout_fd, stderr_fd; /* the child's ends; borrowed */
	struct shim_plan *plan;  /* filled by confine_enter(); path, cwd and announce are added */
	int clone_flags;         /* CLONE_NEW*, for the shim */
	uint32_t generation;     /* an idle shim of another one has mounts of directories that are
				  * gone */
	const int *fds;          /* for the shim, from SHIM_FD_EXTRA on; borrowed */
	int fd_count;            /* at most SHIM_EXTRA_FDS_MAX */
	struct spawn_ruleset ruleset; /* a shim gets its descriptor in the place of
				       * plan->landlock_fd, where @fds has -1, and may add rules */
	uint64_t log_bytes;      /* not 0: no command. @path is the file that a writer fills from
				  * its stdin (os/shim/log_writer.h), up to this size */
	bool log_truncate;       /* ... and what the file held is dropped first */
	bool announce;           /* report the command's exec at once: SHIM_ANNOUNCE */
	bool terminal;           /* the command has one: SHIM_TERMINAL */
	/* Opens the standard descriptors of the request when the flags of its plan are known, with
	 * SHIM_OWN_PTS other ones; may be called again for another try. NULL: they are open. */
	int (*open_stdio)(struct spawn_request *request, struct err *e);
	void *stdio_ctx;
};

/* Usage that a shim has collected from commands before the present one. */
struct spawn_past {
	uint32_t runs;
	uint64_t cpu_us, io_read_bytes, io_write_bytes;
};

struct spawn_result {
	pid_t shim_pid;
	int control_fd; /* our end, non-blocking, close-on-exec; owned by the caller */
	bool refused;   /* on failure: the kernel refused clone_flags (EPERM, ENOSPC, ...) */
	uint32_t kind;  /* private to os/spawn/pool; 0: the shim exits with its command */
	struct spawn_past past;
};

/*
 * Start a shim. Returns 0 when it is running; whether the command could be executed
 * comes later on the control socket (SHIM_STARTED or SHIM_FAILED). Returns -1 with
 * SpawnFailed (details.stage and details.errno) or SandboxUnavailable; then no process
 * and no descriptor is left.
 */
int spawn_start(const struct spawn_request *request, struct spawn_result *result, struct err *e);

/* Complete @plan, whose tail has all but that, with the program's path, the working directory and
 * how @request starts it. Returns the bytes of the message; 0: a path is too long. */
size_t spawn_add_command(struct shim_plan *plan, const struct spawn_request *request);

/* The @path of spawn_failed() for a start with log_bytes: that one is a file, not what starts. */
#define SPAWN_LOG_WRITER "the writer of log_file"

/* Turn a SHIM_FAILED report into the error for the client (@path for the message): SpawnFailed,
 * BadDirectory or SandboxUnavailable. */
int spawn_failed(int stage, int sys, const char *path, struct err *e);

/* The error of a shim that died before it had a word to say: SpawnFailed, retryable. Returns -1. */
int spawn_killed(struct err *e);

/* The stage's name as in details.stage: "exec", "chdir", "seccomp" ... */
const char *spawn_stage_name(int stage);

#endif
