/* state - what confine.c, layers.c, probe.c and report.c share; private to them. */
#ifndef PROCPEN_OS_SANDBOX_STATE_H
#define PROCPEN_OS_SANDBOX_STATE_H

#include <linux/filter.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/cgroup/cgroup.h"
#include "os/sandbox/mounts.h"
#include "os/sandbox/tmpdir.h"
#include "os/sandbox/types.h"

#define BIT(layer) (1u << (layer))
#define ALWAYS_LAYERS (BIT(CONFINE_SHIM) | BIT(CONFINE_SESSION) | BIT(CONFINE_RLIMITS))
#define NAMESPACE_LAYERS (BIT(CONFINE_PID_NS) | BIT(CONFINE_MOUNT_NS))
#define FILE_LAYERS (BIT(CONFINE_LANDLOCK) | BIT(CONFINE_MOUNT_NS)) /* either protects files */
#define ASKED_FOR_LAYERS (BIT(CONFINE_CREDENTIALS) | BIT(CONFINE_NETWORK_OFF)) /* by a run */
#define FILTER_VARIANTS 64

struct confine_filter {
	struct sock_filter *program; /* NULL: not built yet */
	size_t len;
};

/* A directory, by its identity. */
struct place {
	dev_t dev;
	ino_t ino;
};

struct confine {
	struct confine_options options; /* pointers replaced by the copies below */
	char **writable_option, **hidden_option, **readonly_option, *record_option;
	bool resolved;       /* writable_option holds canonical paths */
	struct place *found; /* what was at each of them when the layers were built */
	uint32_t generation; /* counts these times, and changes of / */
	struct timespec root_changed; /* /, when the rulesets were begun: they name what is in it */
	bool privileged; /* the effective uid is 0 */
	uint32_t uid, gid;
	struct tmpdir *tmpdir, *users_tmpdir;
	struct cgroups *cgroups;

	bool prepared, tried; /* the layers are built; a trial has shown which work */
	int64_t again_ms; /* clock_mono_ms() when a layer that a shortage has taken away is tried
			   * again; 0: none was */
	struct err failure;  /* of confine_prepare(); type 0: success */
	uint32_t usable;     /* bit per available layer */
	struct {
		char reason[192];   /* why it is not available */
		const char *remedy; /* the one thing to do; NULL: nothing */
		int shortage;       /* errno of the shortage that is the reason; 0: none */
	} layers[CONFINE_LAYER_COUNT];
	struct confine_filter filters[FILTER_VARIANTS];
	char **writable;     /* all paths that commands may write: options, devices, temporary;
			      * canonical if they existed when the layers were made from them */
	int landlock_abi;
	int ruleset;       /* of Landlock, for all shims that add nothing; -1: not made yet */
	int spare_ruleset; /* another that nothing has been added to, for the next use; or -1 */
	struct confine_mounts mounts[2]; /* default, strict */
	bool warned_open; /* confine_warning() has returned its text */
	bool net_probed, net_ns_usable;
	bool own_shm;         /* with a mount namespace, /dev/shm is the session's own */
	bool own_ipc;         /* with one, System V IPC and message queues are the run's own */
	bool no_user_ns;      /* the shim cannot make one, to lock its mounts */
	bool no_pts;          /* with a mount namespace, runs have no terminals of their own */
	char net_reason[96];
};

/* Let the next confine_prepare() build the layers anew if a directory that they name was removed
 * and made again, or replaced. (probe.c) */
void confine_renew(struct confine *c);

/* Find out whether a network namespace works; once. (probe.c) */
void confine_probe_network(struct confine *c);

#endif
