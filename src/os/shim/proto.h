/*
 * shim_proto - the messages between the server and the shim (src/os/shim/).
 *
 * Both sides are built together and procpen embeds the shim, so this is an internal
 * ABI without versions. One SOCK_SEQPACKET socketpair per shim; a message is one
 * struct. The first message (server to shim, sent before the shim exists) is the plan.
 * End of file tells the shim to kill its tree (the server has shut its side down, or is
 * dead), and the server that the shim is dead.
 *
 * Descriptors at the shim's start: 0, 1, 2 the command's, 3 the control socket,
 * 4 the working directory (O_PATH), from 5 on those that the plan names. argv and
 * envp are the command's.
 *
 * This header is compiled without libc: fixed-width types only.
 */
#ifndef PROCPEN_OS_SHIM_PROTO_H
#define PROCPEN_OS_SHIM_PROTO_H

#include <stdint.h>

#define SHIM_FD_CONTROL 3
#define SHIM_FD_CWD 4
#define SHIM_FD_EXTRA 5
#define SHIM_EXTRA_FDS_MAX 8

#define SHIM_PATH_MAX 4096
/* Instructions of 8 bytes (struct sock_filter). The kernel takes 4,096 (BPF_MAXINSNS); the longest
 * filter has a third of ours. */
#define SHIM_FILTER_MAX 512
#define SHIM_RLIMITS_MAX 16
#define SHIM_SETTINGS_SIZE 36 /* the kernel's struct termios (TCGETS, ioctl_tty(2)) */
/* The shim replaces this value in the filter by its own pid, and its negative by its process group
 * (kill(2)). No pid is that large. */
#define SHIM_OWN_PID 0x6b656570
/* The machine that the filter accepts calls of. */
#if defined(__x86_64__)
#define SHIM_NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SHIM_NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "name this machine's AUDIT_ARCH_* value"
#endif
#define SHIM_JOINS_MAX 5
#define SHIM_PATHS_MAX 16384 /* bytes of all mount entries */
#define SHIM_STRINGS_MAX 100000 /* bytes of arguments and environment in a second plan */
#define SHIM_STRINGS_MAX_COUNT 4000
#define SHIM_TAIL_MAX (2 * SHIM_PATH_MAX + SHIM_STRINGS_MAX)

enum shim_flag {
	SHIM_NO_NEW_PRIVS = 1, /* implied by a filter */
	SHIM_SECCOMP = 2,      /* the filter below is required */
	SHIM_ANNOUNCE = 4,     /* report SHIM_STARTED at once, not after SHIM_ANNOUNCE_MS */
	SHIM_USER_NS = 8,      /* the shim is in a new user namespace: write its maps (uid, gid) */
	SHIM_PID_NS = 16,      /* the shim is init of a PID namespace: kill(-1) reaches all of it */
	SHIM_MOUNTS = 32,      /* in a new mount namespace: make it read-only but for `mounts` */
	SHIM_NET_NS = 64,      /* in a new network namespace: bring its loopback up; a reused shim
				* enters another one after a command that may have left something */
	SHIM_DROP_CAPS = 128,  /* the command keeps `caps` only, bounding set included */
	SHIM_LISTENER = 256,   /* send the filter's notification descriptor as SHIM_LISTENING */
	SHIM_TRIAL = 512,      /* do everything but the exec: the command exits with 0 */
	SHIM_CREDENTIALS = 1024, /* the command runs as uid and gid below, without other groups */
	SHIM_OOM_SCORE = 2048, /* raise oom_score_adj: the kernel kills the run before the host */
	SHIM_POOLED = 4096,    /* the command comes in a second plan: see shim/pooled.h */
	SHIM_QUEUED = 8192,    /* with SHIM_POOLED: the second plan is sent already; SHIM_READY is
				* not needed */
	SHIM_REUSABLE = 16384, /* second plan: wait for another command when this one is over, has
				* left no process, and there is no taint */
	SHIM_LOCK_MOUNTS = 32768, /* with SHIM_MOUNTS: covered files stay covered, even for who
				   * keeps a directory longer than the namespace lives */
	SHIM_TERMINAL = 131072, /* descriptor 1 is to be the controlling terminal of the command's
				 * session; with SHIM_OWN_PTS its process opens it and puts it on 1
				 * and 2 */
	SHIM_LOG = 262144, /* no exec: the command's process becomes the writer of a log file, see
			    * shim/log_writer.h. The plan's path is that file */
	SHIM_LOG_TRUNCATE = 524288, /* with SHIM_LOG: drop what the file held at the first
					 * byte, see os/shim/log_writer.h */
	SHIM_IPC_NS = 65536, /* in a new IPC namespace; with SHIM_MOUNTS: its queues are on
			      * /dev/mqueue */
	SHIM_OWN_PTS = 1048576, /* with SHIM_MOUNTS: pseudo-terminals of its own are on /dev/pts */
	SHIM_RENEW_PTS = 4194304, /* with SHIM_OWN_PTS and SHIM_POOLED: each command has new ones */
	SHIM_TYPED_STDIN = 2097152, /* with both: the terminal is put on descriptor 0, too */
	SHIM_SHELTERED = 16777216, /* with SHIM_POOLED: no command of another run can send a signal
				    * to a process of this one: its PID namespace hides that, or
				    * Landlock keeps the signals of each command inside its run */
	SHIM_GROUPED = 8388608, /* with SHIM_POOLED: a second plan may have a group_fd. The filter
				 * refuses clone3(2), so each command installs it itself */
	SHIM_NULL_STDIN = 33554432, /* the command's process opens /dev/null on descriptor 0, in the
				     * place of the one that is there */

	/* What a shim of the pool makes anew after a command, when need be. Its own filter would
	 * refuse that. */
	SHIM_RENEWED = SHIM_NET_NS | SHIM_RENEW_PTS,
};

/* What is done at a path of the new mount namespace. */
enum shim_mount_kind {
	SHIM_MOUNT_WRITABLE = 1, /* stays writable */
	SHIM_MOUNT_HIDE = 2,     /* an empty directory, or an empty file, lies over it */
	SHIM_MOUNT_PIN = 3,      /* a directory that cannot be renamed, because something hidden or
				  * read-only is below; a file in its place is read-only */
	SHIM_MOUNT_DEVICE = 4,   /* a device file, or a directory, that stays a device */
	SHIM_MOUNT_SHARED_MEMORY = 5, /* this directory lies over /dev/shm; if it is not there, an
				       * empty one */
	SHIM_MOUNT_READONLY = 6, /* cannot be changed, renamed or removed */
};

/* The entries follow each other in the tail, each padded to 8 bytes. */
struct shim_mount {
	uint32_t kind;
	uint32_t size;     /* of this entry with its path, NUL and padding */
	uint64_t dev, ino; /* the file that the path must be; 0, 0: any */
	char path[];       /* absolute, canonical: no symbolic link is followed */
};

/* The shim does not announce a command that ends within this time: SHIM_EXITED says enough, and
 * the server is not woken in the middle of a short run. */
#define SHIM_ANNOUNCE_MS 3

struct shim_rlimit {
	uint32_t resource;
	uint32_t pad;
	uint64_t soft, hard;
};

/* The terminal that a command's process opens. */
struct shim_terminal {
	uint16_t cols, rows;
	uint32_t has_settings; /* else it has the usual ones, with UTF-8 */
	uint8_t settings[SHIM_SETTINGS_SIZE];
};

/* Limits that the shim enforces itself, where no control group does; 0: none. */
struct shim_limits {
	uint64_t memory_bytes; /* resident, summed over the tree */
	uint32_t cpu_permille; /* of one processor, over the tree */
	uint32_t tasks;        /* processes at once */
};

/*
 * Sent as header, then filter_len instructions, then mounts_size bytes of entries,
 * then the program's path and its NUL, then the working directory's and its NUL.
 *
 * The plan of a pooled shim has no path and nothing else of a command, but for a ruleset
 * that is the shim's own. The second plan has neither filter nor mounts; behind its paths
 * stand argc arguments and envc variables, each with its NUL, and with it come the
 * descriptors 0, 1, 2, SHIM_FD_CWD and those from SHIM_FD_EXTRA on, in this order.
 */
struct shim_plan {
	uint32_t flags; /* enum shim_flag */
	uint32_t umask;
	uint32_t rlimit_count;
	uint32_t filter_len;  /* instructions */
	uint32_t mounts_size; /* bytes, a multiple of 8 */
	uint32_t path_len;    /* without the NUL */
	uint32_t cwd_len;     /* without the NUL; 0: only the descriptor is used (no SHIM_MOUNTS) */
	uint32_t argc, envc, strings_size; /* second plan: texts, and bytes of all of them */
	uint32_t uid, gid;    /* SHIM_USER_NS: the maps; SHIM_CREDENTIALS: the command's */
	int32_t landlock_fd;  /* ruleset, or -1; in a second plan also when the first has it */
	int32_t group_fd;     /* control group (v2) to clone the command into, or -1 */
	int32_t forks_fd;     /* pids.max of its control group: "0" ends all forks; or -1 */
	uint32_t join_count;  /* files of control groups to join otherwise: cgroup.procs, tasks */
	int32_t joins[SHIM_JOINS_MAX];
	uint64_t proc_rights; /* with SHIM_MOUNTS and SHIM_PID_NS: what the ruleset, of this shim
			       * alone, is to permit below /proc */
	uint64_t pts_rights;  /* what the ruleset, of this shim alone, is to permit: with
			       * SHIM_OWN_PTS there, else on inherited terminals; 0: nothing */
	struct shim_terminal terminal; /* SHIM_TERMINAL, with SHIM_OWN_PTS */
	uint64_t caps;        /* SHIM_DROP_CAPS: bit per capability that stays */
	uint64_t log_bytes;   /* SHIM_LOG: the size at which the file stops growing */
	struct shim_limits limits;
	struct shim_rlimit rlimits[SHIM_RLIMITS_MAX];
	uint8_t tail[SHIM_TAIL_MAX];
};
_Static_assert(SHIM_FILTER_MAX * 8 + SHIM_PATHS_MAX + 2 * SHIM_PATH_MAX <= SHIM_TAIL_MAX,
	       "the tail of a first plan fits");
#define SHIM_PLAN_HEAD (__builtin_offsetof(struct shim_plan, tail))

/* Server to shim, after the plan. */
enum shim_command {
	SHIM_SIGNAL = 1, /* arg: signal for the command's group; answered by SHIM_SIGNALED */
	SHIM_SIGNAL_TREE = 2, /* arg: signal for every process of the run; answered by
			       * SHIM_SIGNALED */
};
struct shim_request {
	uint32_t command;
	int32_t arg;
};

/* Where a start failed; the names are in os/spawn/spawn.c. */
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
	SHIM_STAGE_USER_NS,
	SHIM_STAGE_MOUNTS,
	SHIM_STAGE_PROC,
	SHIM_STAGE_NET_NS,
	SHIM_STAGE_CGROUP,
	SHIM_STAGE_CREDENTIALS,
	SHIM_STAGE_LANDLOCK,
	SHIM_STAGE_LISTENER,
	SHIM_STAGE_LOCK_MOUNTS,
	SHIM_STAGE_LOG_FILE,
	SHIM_STAGE_OWN_PTS,
	SHIM_STAGE_COUNT
};

/* Shim to server. */
enum shim_event {
	SHIM_STARTED = 1,  /* value: pid of the command; not sent when SHIM_EXITED comes first */
	SHIM_FAILED = 2,   /* value: enum shim_stage, error: errno; the shim exits */
	SHIM_EXITED = 3,   /* value: wait status of the command; live: processes still alive;
			    * empty: there are none, and this is the last report */
	SHIM_SIGNALED = 4, /* value: signal, error: 0 or errno; ESRCH: no process was left */
	SHIM_EMPTY = 5,    /* no process is left; live: how many processes, apart from the
			    * command, the kill ended */
	SHIM_LIMITED = 6,  /* value: enum shim_limit; the tree is being killed for it */
	SHIM_READY = 8,    /* a pooled shim waits for its command */
	SHIM_KILLING = 9,  /* a kill has begun, and no process can escape it by forking */
	SHIM_LOGGED = 10,  /* the writer of a log file has ended; io_write_bytes: what it wrote,
			    * error: errno that stopped it, SHIM_LOG_FULL, or 0; value: 1 if
			    * it was to truncate the file and did not: somebody wrote to it */
	SHIM_TYPING = 11, /* with our end of the command's terminal, and the command's; sent by the
			   * command's process, before its exec */
	SHIM_LISTENING = 7, /* with the filter's notification descriptor; sent by the command's
			    * process, before its exec */
};

#define SHIM_LOG_FULL (-1) /* the file has log_bytes; EFBIG is another's limit */

enum shim_limit { SHIM_LIMIT_MEMORY = 1, SHIM_LIMIT_TASKS = 2 };

struct shim_report {
	uint32_t event;
	int32_t value;
	int32_t error;
	uint32_t live;
	uint32_t empty;
	uint32_t uncounted; /* with SHIM_EXITED: `live` is a lower bound; with SHIM_EMPTY: the
			     * usage, too */
	uint32_t reusable; /* with `empty`: the shim waits for another second plan, and ignores
			    * requests until that comes; if it finds taint first, it exits */
	uint32_t renews; /* with `reusable`: first it makes something anew, and sends SHIM_READY */
	/* Usage so far of this tree's reaped processes: with SHIM_EXITED and SHIM_EMPTY. */
	uint64_t cpu_us;
	uint64_t maxrss_kib;
	uint64_t memory_peak_bytes; /* of the whole tree, as sampled; 0: no memory limit */
	uint64_t io_read_bytes;
	uint64_t io_write_bytes;
};

#endif
