/*
 * report - the shim's messages to the server.
 */
#ifndef PROCPEN_OS_SHIM_REPORT_H
#define PROCPEN_OS_SHIM_REPORT_H

#include "os/shim/proto.h"

/* Send @report; waits if the kernel has no buffer for it. Returns 0, or -1: the server is gone. */
int report_send(const struct shim_report *report);

#endif
