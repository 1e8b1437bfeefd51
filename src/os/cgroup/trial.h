/* cgroup_trial - can a process really join a group? */
#ifndef PROCPEN_OS_CGROUP_TRIAL_H
#define PROCPEN_OS_CGROUP_TRIAL_H

/*
 * Start a process that joins by writing "0" to each of @join_fds and ends; where @clone_fd (a
 * directory of version 2) is not -1, one that is cloned into it, if this kernel lets
 * us. Waits for it: microseconds, up to 15 ms where it must write under version 2.
 * Returns 0, or -1 with errno.
 */
int cgroup_try_join(const int *join_fds, int count, int clone_fd);

#endif
