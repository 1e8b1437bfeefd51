/*
 * shim_proto - what the server and the shim (src/os/shim/) say to each other.
 *
 * Both sides are built together and the shim is carried inside procpen, so this
 * is an internal ABI without versions. One SOCK_SEQPACKET socketpair per run; a
 * message is one struct. The first message (server to shim, sent before the
 * shim exists) is the plan; end of file on either side means the other is dead.
 *
 * Descriptors at the shim's start: 0, 1, 2 the command's, 3 the control socket,
 * 4 the working directory (O_PATH). argv and envp are the command's own.
 *
 * This header is compiled without libc: fixed-width types only.
 */
#ifndef PROCPEN_OS_SHIM_PROTO_H
#define PROCPEN_OS_SHIM_PROTO_H

#include <stdint.h>

#define SHIM_FD_CONTROL 3
#define SHIM_FD_CWD 4

#define SHIM_PATH_MAX 4096
#define SHIM_FILTER_MAX 1024 /* instructions of 8 bytes (struct sock_filter) */
#define SHIM_RLIMITS_MAX 16

enum shim_flag {
	SHIM_NO_NEW_PRIVS = 1, /* implied by a filter */
	SHIM_SECCOMP = 2,      /* the filter below is required */
	SHIM_ANNOUNCE = 4,     /* report SHIM_STARTED at once, not after SHIM_ANNOUNCE_MS */
};

/* A command that is over by then is never announced: its exit says it all, and saves the server
 * a wake-up in the middle of a short run. */
#define SHIM_ANNOUNCE_MS 3

struct shim_rlimit {
	uint32_t resource;
	uint32_t pad;
	uint64_t soft, hard;
};

/* Sent as header, then filter_len instructions, then path and its NUL. */
struct shim_plan {
	uint32_t flags; /* enum shim_flag */
	uint32_t umask;
	uint32_t rlimit_count;
	uint32_t filter_len; /* instructions */
	uint32_t path_len;   /* without the NUL */
	uint32_t pad;
	struct shim_rlimit rlimits[SHIM_RLIMITS_MAX];
	uint8_t tail[SHIM_FILTER_MAX * 8 + SHIM_PATH_MAX];
};
#define SHIM_PLAN_HEAD (__builtin_offsetof(struct shim_plan, tail))

/* Server to shim, after the plan. */
enum shim_command {
	SHIM_SIGNAL = 1, /* arg: signal for the command's group; answered by SHIM_SIGNALED */
	SHIM_KILL = 2,   /* SIGKILL for the whole tree; ends in SHIM_EMPTY */
};
struct shim_request {
	uint32_t command;
	int32_t arg;
};

/* Where a start failed; the names are in os/spawn.c. */
enum shim_stage {
	SHIM_STAGE_NONE,
	SHIM_STAGE_DESCRIPTORS,
	SHIM_STAGE_SHIM_EXEC,
	SHIM_STAGE_PLAN,
	SHIM_STAGE_FORK,
	SHIM_STAGE_SESSION,
	SHIM_STAGE_CHDIR,
	SHIM_STAGE_RLIMIT,
	SHIM_STAGE_NO_NEW_PRIVS,
	SHIM_STAGE_SECCOMP,
	SHIM_STAGE_EXEC,
	SHIM_STAGE_COUNT
};

/* Shim to server. */
enum shim_event {
	SHIM_STARTED = 1,  /* value: pid of the command; not sent when SHIM_EXITED comes first */
	SHIM_FAILED = 2,   /* value: enum shim_stage, error: errno; the shim exits */
	SHIM_EXITED = 3,   /* value: wait status of the command; live: processes still alive;
			    * empty: there are none, and this is the last report */
	SHIM_SIGNALED = 4, /* value: signal, error: 0 or errno; ESRCH: the command is over */
	SHIM_EMPTY = 5,    /* nothing is left; live: the most processes beside the command that
			    * a kill found */
};

struct shim_report {
	uint32_t event;
	int32_t value;
	int32_t error;
	uint32_t live;
	uint32_t empty;
	uint32_t pad;
	/* Usage so far of all that the shim has reaped: with SHIM_EXITED and SHIM_EMPTY. */
	uint64_t cpu_us;
	uint64_t maxrss_kib;
	uint64_t io_read_bytes;
	uint64_t io_write_bytes;
};

#endif
