/* cgroup_trial - tests whether a process can join a group. */
#ifndef PROCPEN_OS_CGROUP_TRIAL_H
#define PROCPEN_OS_CGROUP_TRIAL_H

/*
 * If @clone_fd (a directory of version 2) is not -1, clone a process into it. If that is not
 * possible, start a process that joins by writing "0" to each of @join_fds. Waits for it to exit:
 * microseconds, up to 15 ms if it must write under version 2. Returns 0, or -1 with errno.
 */
int cgroup_try_join(const int *join_fds, int count, int clone_fd);

#endif
