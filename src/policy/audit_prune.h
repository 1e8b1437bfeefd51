/*
 * audit_prune - a look into the directory of audit logs: removes the oldest, and sees which others
 * there are.
 *
 * It goes on in steps, because with thousands of logs it takes longer than a turn of the loop may:
 * on a cold disk the looks at 10,000 took 0.17 s. It never removes a log that a process writes, nor
 * one that is not a regular file of the server's own user.
 *
 * Removal goes by the names, which begin with the time of their making: the 256 oldest are
 * considered.
 */
#ifndef PROCPEN_POLICY_AUDIT_PRUNE_H
#define PROCPEN_POLICY_AUDIT_PRUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/audit_dir.h"

#define AUDIT_PRUNE_BESIDE_MAX 8

struct audit_prune_bounds {
	int64_t keep_seconds; /* a log that was not written for so long goes; 0: none for that */
	int64_t total_bytes;  /* of all logs; 0: no bound */
};

/* What was seen, and what goes. All zero at first. */
struct audit_prune_found {
	uint64_t removed;
	char last[AUDIT_DIR_NAME_MAX]; /* the newest of them */
	/* The newest other logs, the newest first, once all were seen. */
	char beside[AUDIT_PRUNE_BESIDE_MAX][AUDIT_DIR_NAME_MAX];
	size_t beside_count;
};

struct audit_prune;

/* Begin a look into the directory @path. NULL: it cannot be read. */
struct audit_prune *audit_prune_new(const char *path, const struct audit_prune_bounds *bounds);
void audit_prune_free(struct audit_prune *p); /* also NULL */

/* Look at 32 logs more or, when all were seen, choose up to 8 that go. @own is the name of the
 * caller's log by now: it and newer ones stay, and it is not listed. Adds to @found. Returns
 * whether there is more to do, which there is not when the directory was moved or replaced. */
bool audit_prune_step(struct audit_prune *p, const char *own, struct audit_prune_found *found);

/* Remove what was chosen: call it when that is on record, so that no log is missing that nothing
 * excuses, whatever ends the process. */
void audit_prune_remove(struct audit_prune *p);

#endif
