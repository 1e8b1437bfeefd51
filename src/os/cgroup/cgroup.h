/*
 * cgroup - one control group per run, where the machine lets us create one.
 *
 * For: exact limits of memory, processor and tasks over a whole tree, proof that
 * a limit struck, exact usage, and a kill that nothing escapes. Supports version 1
 * (controller by controller, also on hybrid hosts) and version 2 (a delegated
 * subtree). Prefers version 1 where it works: a controller mounted there is not
 * available to version 2. Touches nothing before the first cgroups_prepare(): a
 * server that runs nothing leaves no trace.
 *
 * Refuses to: create a group anywhere but below the server's own, so that limits
 * set on the server also hold for its commands; change a limit of a group it did
 * not create; move a process other than a run's own. One exception: under version 2
 * the server moves itself into a leaf if it is the only process in its group, because
 * the kernel requires that before controllers can be enabled.
 *
 * cgroup_new() creates a group before its run. The command's own process enters it
 * (it writes "0" to the descriptors of cgroup_join_fds(), or is cloned into it). The
 * group is removed when empty. Each live server holds a lock on its groups; the next
 * server removes empty groups without a lock, which a killed server left behind.
 *
 * A process that may write the group's files (the server's own user, or root) can
 * change its limits or leave it. The file layers prevent that: Landlock, read-only
 * mounts.
 */
#ifndef PROCPEN_OS_CGROUP_CGROUP_H
#define PROCPEN_OS_CGROUP_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/cgroup/types.h"

struct ev_loop;
struct cgroups; /* what this machine offers; one per server */
struct cgroup;  /* one run's group */

#define CGROUP_JOIN_FDS_MAX 5

/* @instance names our groups ("procpen-<instance>-<seq>", with "-<attempt>" where that is taken).
 * Touches nothing. */
struct cgroups *cgroups_new(const char *instance);

/* From now on remove groups that are freed a moment later, when no run ends meanwhile: then many
 * runs that end at once need not wait for that. @loop must outlive @all. */
void cgroups_remove_later(struct cgroups *all, struct ev_loop *loop);

/* Remove the empty groups and move the server out of its leaf. Free every group first. */
void cgroups_free(struct cgroups *all);

/*
 * Probe: create a group, set limits, join it and remove it. Runs once; later calls return the
 * first result, unless no group worked for lack of something (err_is_shortage()): then it runs
 * again after half a minute. Call it before the server starts any process: under version 2 other
 * processes keep controllers from being enabled. Returns bits of enum cgroup_can; cgroups_reason()
 * says what is missing and why.
 */
unsigned cgroups_prepare(struct cgroups *all);

/* Why some bits are not set, as text for people, and what the operator can do about it. "" when
 * nothing is missing; never NULL. */
const char *cgroups_reason(const struct cgroups *all);
const char *cgroups_remedy(const struct cgroups *all);

int cgroups_version(const struct cgroups *all); /* 1 or 2; 0: none */

/*
 * Create a group with @limits. A limit whose bit cgroups_prepare() did not return is an
 * error. Where CGROUP_KILL is set, cgroup_kill() works on every group. Returns NULL with
 * SandboxUnavailable.
 */
struct cgroup *cgroup_new(struct cgroups *all, uint64_t seq, const struct cgroup_limits *limits,
			  struct err *e);

/*
 * Write-only, close-on-exec descriptors, owned by the group. A process with one thread joins by
 * writing "0" to all of them. Returns how many there are. cgroup_joined() closes them early.
 */
int cgroup_join_fds(const struct cgroup *g, int fds[CGROUP_JOIN_FDS_MAX]);
void cgroup_joined(struct cgroup *g);

/*
 * Version 2: a descriptor for clone3(CLONE_INTO_CGROUP), owned by the group. A process cloned
 * with it does not write to the join descriptors. The clone costs nothing, a write costs a
 * grace period of the kernel: up to 15 ms on an idle machine. -1 under version 1, where a
 * write costs microseconds.
 */
int cgroup_clone_fd(const struct cgroup *g);

/*
 * A descriptor that becomes readable when the group runs out of memory, owned by the group, or
 * -1. When it fires, call cgroup_oom_kills(), which also rearms it.
 */
int cgroup_oom_fd(const struct cgroup *g);

/*
 * How many processes the kernel killed for the group's memory limit (version 2 counts some
 * twice); -1: unknown. Kills because the whole machine ran out of memory do not count.
 * Version 1 kills only one process at a time: the caller must end the run.
 */
int64_t cgroup_oom_kills(struct cgroup *g);

void cgroup_usage(const struct cgroup *g, struct cgroup_usage *u);

/* How often the tasks limit struck, or one of a group above (version 1, and version 2 before Linux
 * 6.11, count that here, too; cgroups(7), pids.events); -1: not counted here. */
int64_t cgroup_refused(struct cgroup *g);

/*
 * A write-only, close-on-exec descriptor of pids.max, owned by the group. Writing "0" to it makes
 * every later fork in the group fail (cgroups(7)), so that killing the listed processes kills
 * all. -1: the group has no pids controller.
 */
int cgroup_forks_fd(struct cgroup *g);

/* Send SIGKILL to every process in @g. Returns 0, or -1 if @g has neither pids nor freezer or the
 * kill failed: call it again, or kill by other means. The processes die soon after the return. */
int cgroup_kill(struct cgroup *g);

/* Free and remove @g; NULL is ignored. If it is not empty yet, a later cgroup_new(), cgroup_free()
 * or cgroups_free() removes it; after cgroups_remove_later() each is removed soon, or by these. */
void cgroup_free(struct cgroup *g);

/*
 * Like cgroup_free(), for a group whose run ended by itself and certainly left no process, after a
 * last cgroup_refused(). A group that only counts tasks may be kept for another run with the same
 * limit, because creating and removing a directory costs more than many commands. It keeps the name
 * of its first run.
 */
void cgroup_recycle(struct cgroup *g);

/* Remove the groups beyond @keep that cgroup_recycle() kept. Returns true if there were any. */
bool cgroups_drop_idle(struct cgroups *all, size_t keep);

#endif
