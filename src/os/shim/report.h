/*
 * report - the shim's messages to the server.
 */
#ifndef PROCPEN_OS_SHIM_REPORT_H
#define PROCPEN_OS_SHIM_REPORT_H

#include "os/shim/proto.h"

/* Send @report; waits if the kernel has no buffer for it. Returns 0, or -1: the server is gone. */
int report_send(const struct shim_report *report);

/* The same with duplicates of the @count descriptors, at most REPORT_FDS_MAX, but without a wait:
 * for the command's process. Returns 0 or a negative errno. */
#define REPORT_FDS_MAX 2
long report_send_with(const struct shim_report *report, const int *fds, int count);

#endif
