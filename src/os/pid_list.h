/*
 * pid_list - the process numbers in a file of the kernel's: cgroup.procs, children.
 *
 * Only reads. What a number is worth when it has been read is the caller's matter.
 */
#ifndef PROCPEN_OS_PID_LIST_H
#define PROCPEN_OS_PID_LIST_H

#include <sys/types.h>

/*
 * Call @fn for each number in the rest of @fd, a long list too: the kernel gives it in
 * pieces. Returns 0, or -1 with errno when it cannot be read to its end.
 */
int pid_list_read(int fd, void (*fn)(void *ctx, pid_t pid), void *ctx);

#endif
