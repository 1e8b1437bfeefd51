/*
 * report - the shim's messages to the server.
 */
#ifndef PROCPEN_OS_SHIM_REPORT_H
#define PROCPEN_OS_SHIM_REPORT_H

#include "os/shim/proto.h"

/* Not lost for want of a buffer: waits for one. 0, or -1 when the server is gone. */
int report_send(const struct shim_report *report);

#endif
