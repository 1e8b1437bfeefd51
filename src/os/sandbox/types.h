/* sandbox/types - layers, profiles, the operator's options and a run's request: see confine.h. */
#ifndef PROCPEN_OS_SANDBOX_TYPES_H
#define PROCPEN_OS_SANDBOX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "os/cgroup/cgroup.h"
#include "os/cgroup/own.h"
#include "os/shim/proto.h"
#include "os/spawn/spawn.h"

/* In the order in which they are reported. */
enum confine_layer {
	CONFINE_SHIM,
	CONFINE_SESSION,
	CONFINE_RLIMITS,
	CONFINE_NO_NEW_PRIVS,
	CONFINE_CREDENTIALS,  /* as root: the command runs as another user */
	CONFINE_CAPABILITIES, /* as root: the bounding set is cut */
	CONFINE_SECCOMP,
	CONFINE_LANDLOCK,
	CONFINE_PID_NS,
	CONFINE_MOUNT_NS,
	CONFINE_NETWORK_OFF,
	CONFINE_NETWORK_PORTS, /* TCP to the operator's ports is the only network */
	CONFINE_CGROUP,
	CONFINE_LAYER_COUNT
};

enum confine_profile { CONFINE_DEFAULT, CONFINE_STRICT, CONFINE_NONE };

struct reaper;
struct ev_loop;

#define CONFINE_PORTS_MAX 64

/* Takes one text of several: a path, a layer, a gap; borrowed for the call. */
typedef void (*confine_text_fn)(void *ctx, const char *text);

/* The operator's settings; confine_new() copies everything but @reaper and @loop. */
struct confine_options {
	const char *instance; /* names control groups and the temporary directory */
	const char *temporary; /* parent of the private temporary directory; NULL: none */
	const char *users_temporary; /* the same for runs as another user; NULL: there are none */
	struct cgroup_own *own; /* opened by confine_prepare(), borrowed; may be NULL */
	struct reaper *reaper; /* watches the cleaner of temporary files (tmpdir.h); may be NULL */
	struct ev_loop *loop;  /* cgroups_remove_later(); NULL: at once */
	enum confine_profile profile;
	bool network;         /* false: off for every run */
	uint16_t ports[CONFINE_PORTS_MAX]; /* if any: the only network is TCP to these */
	size_t port_count;
	bool namespaces;      /* false: never try them */
	uint32_t required;    /* bit per enum confine_layer that must be entered */
	bool files;           /* Landlock or a mount namespace must be entered */
	bool as_root;         /* runs that name no user are root's */
	const char *const *writable; /* directories and files commands may write, canonical;
				      * NULL-terminated, may be NULL */
	const char *const *hidden;   /* paths that commands must not see, existing or not;
				      * NULL-terminated, without "..", may be NULL. If one cannot
				      * be hidden, no run starts */
	const char *const *readonly; /* paths that commands must not change, though they lie in
				      * writable ones; NULL-terminated, without "..", may be NULL */
	bool readonly_required;      /* if one of these cannot be read-only, no run starts */
	const char *record;          /* a path that is hidden if possible; NULL: none */
	uint32_t umask;
	struct rlimit nofile; /* descriptor limits given back to children */
	int64_t tasks;        /* processes and threads per run; 0: no limit */
};

/* What one run asks for in addition; it can only tighten. All zero: nothing. */
struct confine_request {
	bool confined;        /* a sandbox: the default profile at least */
	bool strict;          /* the strict profile */
	bool network_off;
	bool explain;         /* name denied system calls (a listener) */
	int64_t memory_bytes; /* for the whole tree; 0: none */
	int64_t cpu_permille; /* of one processor; 0: none */
	int64_t tasks;        /* 0: the operator's */
	bool terminal;        /* it has one: SIGSTOP and SIGCONT would show to its job control */
	bool shares_stdio;    /* it has our own 0, 1 and 2, of which each may be a terminal */
	bool as_user;         /* run as uid and gid, without other groups */
	uint32_t uid, gid;
	bool no_namespaces;   /* the kernel has just refused them to this run */
	const struct shim_rlimit *rlimits; /* replace the fixed ones of the same kind */
	size_t rlimit_count;
};

/* What a run has entered; kept in its record. */
struct confine_applied {
	uint32_t layers; /* bit per enum confine_layer */
	enum confine_profile profile;
	uint32_t uid;    /* of the command, with CONFINE_CREDENTIALS */
	bool net_ns;     /* CONFINE_NETWORK_OFF is a namespace; else the filter's rule */
};

/* The layers of one run, and what the server holds for them; plain data, owned by the run. */
struct confine_run {
	struct confine_applied applied; /* true once the command has started */
	int clone_flags;       /* CLONE_NEW*, for the shim */
	uint32_t generation;   /* of the directories that its mounts were made for */
	int fds[SHIM_EXTRA_FDS_MAX]; /* borrowed; for the shim, from SHIM_FD_EXTRA on */
	int fd_count;
	struct spawn_ruleset ruleset; /* likewise */
	struct cgroup *cgroup; /* owned; NULL: none */
	bool left_nothing;     /* set by the caller: the tree ended by itself, no process is left */
	bool watched_memory, watched_cpu, watched_tasks; /* by the shim, not by a control group */
	bool rlimited_tasks; /* by RLIMIT_NPROC, not by a control group */
};

#endif
