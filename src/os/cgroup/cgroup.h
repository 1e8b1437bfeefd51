/*
 * cgroup - one control group per run, where the machine lets us make one.
 *
 * For: exact limits of memory, processor and tasks over a whole tree, proof that
 * a limit struck, exact usage, and a kill that nothing escapes. Speaks version 1
 * (controller by controller, also in hybrid hosts) and version 2 (a delegated
 * subtree); version 1 where both would do, because there its controllers are.
 * Nothing is touched before the first cgroups_prepare(): a server that runs
 * nothing leaves no trace.
 *
 * Refuses to: make a group anywhere but below the server's own, so that limits
 * set on the server hold for its commands too; change a limit of a group it has
 * not made; move a process other than a run's own (and, under version 2, the
 * server itself into a leaf of its own, which the kernel requires before
 * controllers can be enabled, and only when no other process is in the way).
 *
 * A group is made before its run, entered by the command's own process (which
 * writes "0" to the descriptors of cgroup_join_fds(), or is cloned into it), and
 * removed when empty. Groups that a killed server has left behind, empty, are
 * removed by the next: each live server holds a lock on its own.
 *
 * A process that may write the group's files (the server's own user, or root) can
 * change its limits or leave it. Keeping it from them is the business of the layers
 * for files: Landlock, read-only mounts.
 */
#ifndef PROCPEN_OS_CGROUP_CGROUP_H
#define PROCPEN_OS_CGROUP_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "os/cgroup/types.h"

struct cgroups; /* what this machine offers; one per server */
struct cgroup;  /* one run's group */

#define CGROUP_JOIN_FDS_MAX 5

/* @instance names our groups ("procpen-<instance>-<seq>"). Touches nothing. */
struct cgroups *cgroups_new(const char *instance);

/* Removes what is empty, and takes the server out of its leaf. Every group was freed before. */
void cgroups_free(struct cgroups *all);

/*
 * Find out by really making a group, setting limits, joining it and removing it.
 * Once; later calls return the first answer. Call it before the server has started
 * any process: under version 2 they would be in the way. @return bits of enum
 * cgroup_can; what is missing and why is in cgroups_reason().
 */
unsigned cgroups_prepare(struct cgroups *all);

/* Why not all bits are set, for people; and what the operator can do about it. "" when nothing
 * is missing, never NULL. */
const char *cgroups_reason(const struct cgroups *all);
const char *cgroups_remedy(const struct cgroups *all);

int cgroups_version(const struct cgroups *all); /* 1 or 2; 0: none */

/*
 * Make a group with @limits (only those whose bit is set are asked for; another
 * is an error). It can always be killed where CGROUP_KILL is set. Returns NULL with
 * SandboxUnavailable.
 */
struct cgroup *cgroup_new(struct cgroups *all, uint64_t seq, const struct cgroup_limits *limits,
			  struct err *e);

/*
 * Write-only, close-on-exec descriptors, owned by the group; who writes "0" to all has joined.
 * Returns how many. They may be closed early with cgroup_joined(). The writer has one thread.
 */
int cgroup_join_fds(const struct cgroup *g, int fds[CGROUP_JOIN_FDS_MAX]);
void cgroup_joined(struct cgroup *g);

/*
 * Version 2: a descriptor for clone3(CLONE_INTO_CGROUP), owned by the group; who is cloned
 * with it need not write to any of the above. That costs nothing, while a write costs a
 * grace period of the kernel: up to 15 ms on an idle machine. -1: version 1, where a
 * write costs microseconds.
 */
int cgroup_clone_fd(const struct cgroup *g);

/*
 * A descriptor that becomes readable on memory trouble, owned by the group, or -1. After it
 * fired call cgroup_oom_kills(), which also arms it again.
 */
int cgroup_oom_fd(const struct cgroup *g);

/*
 * How often the kernel killed in the group for its memory limit (version 2 counts some processes
 * twice); -1: cannot tell. A kill because the whole machine ran out of memory does not count.
 * Under version 1 only one process dies at a time: the caller ends the run.
 */
int64_t cgroup_oom_kills(struct cgroup *g);

void cgroup_usage(const struct cgroup *g, struct cgroup_usage *u);

/*
 * A write-only, close-on-exec descriptor, owned by the group: who writes "0" to it ends all forks
 * in the group for good (cgroups(7), pids.max), so that a kill of what is there kills all.
 * -1: the group has no pids controller.
 */
int cgroup_forks_fd(struct cgroup *g);

/* SIGKILL for every process in it. 0, or -1 when it has no such means or that failed: call it
 * again, or kill by other means. They die soon after, not before this returns. */
int cgroup_kill(struct cgroup *g);

/* Forget and remove it (NULL is ignored). What is not empty yet is removed by a later call of
 * cgroup_new(), cgroup_free() or cgroups_free(). */
void cgroup_free(struct cgroup *g);

/*
 * The same for one whose run has ended by itself and left no process, which the caller knows for
 * certain: if it only counts tasks it may be kept for another run with the same limit, since to
 * make and to remove a directory costs more than many commands. The name stays that of its first
 * run.
 */
void cgroup_give_back(struct cgroup *g);

/* Remove the groups that are kept so; were there any? */
bool cgroups_drop_idle(struct cgroups *all);

#endif
