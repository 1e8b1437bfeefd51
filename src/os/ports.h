/*
 * ports - which TCP ports processes listen on, read from /proc (proc(5)). Nothing is connected.
 *
 * A table of sockets shows those of a network namespace, and descriptors say whose they are. Only
 * processes that the server may trace show their descriptors (ptrace(2)): not one that has changed
 * its user or is undumpable.
 *
 * On a machine with much memory the kernel takes milliseconds for a table, however few sockets it
 * has, because it looks for connections too. So none is read for processes without sockets.
 *
 * Refuses to: read without bound. It looks at PORTS_SOCKETS listening sockets of a table and
 * PORTS_DESCRIPTORS descriptors.
 */
#ifndef PROCPEN_OS_PORTS_H
#define PROCPEN_OS_PORTS_H

#include <stdbool.h>

#include "os/procfs.h"

#define PORTS_SOCKETS 4096
#define PORTS_DESCRIPTORS 2048

enum { PORTS_IPV4 = 1, PORTS_IPV6 = 2 };

/* Does one of the @count @processes listen on @port of 127.0.0.1, ::1 or any address, in
 * whatever network namespace it is? Reads @tables only. */
bool ports_listens(const struct procfs_process *processes, int count, unsigned port,
		   unsigned tables);

#endif
