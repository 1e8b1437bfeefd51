/*
 * audit_share - the audit log of a day, to which each `procpen run` appends.
 *
 * Processes append one after another, under the lock of a file beside the logs, and read the end of
 * the log first: what they write follows what others wrote. The wait for the lock is bounded.
 *
 * The newest file is the log, whatever the clock says; a new day, or one that is full, is followed
 * by another. The mode of a file that has a successor is 0400, which tells a process that has it
 * open. A line that a killed process did not finish stays as it is, and the next one follows it.
 *
 * Refuses a log that belongs to another user, that others can write, that has another name too, or
 * that is not a regular file.
 */
#ifndef PROCPEN_POLICY_AUDIT_SHARE_H
#define PROCPEN_POLICY_AUDIT_SHARE_H

#include "policy/audit_file.h"

/*
 * Lock, and make f->chain and its file ready for a line. 0, or -1 with PermissionDenied. In both
 * cases call audit_share_finish(), which has no effect on a file that is not shared.
 */
int audit_share_begin(struct audit_file *f, struct err *e);
void audit_share_finish(struct audit_file *f);

#endif
