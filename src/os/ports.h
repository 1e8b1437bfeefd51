/*
 * ports - which TCP ports processes listen on, read from /proc (proc(5)). Nothing is connected.
 *
 * A table of sockets shows those of a network namespace, and descriptors say whose they are. Only
 * processes that the server may trace show their descriptors (ptrace(2)): not one that has changed
 * its user or is undumpable.
 *
 * On a machine with much memory the kernel takes milliseconds for a table, however few sockets it
 * has, because it looks for connections too. So none is read for processes without sockets, and a
 * look reads each one once, for however many processes and ports it is asked.
 *
 * Refuses to: read without bound. It looks at PORTS_SOCKETS listening sockets of a table and
 * PORTS_DESCRIPTORS descriptors of the processes, and remembers PORTS_TABLES tables.
 *
 * Ownership: there is one look at a time; it owns what it has read until ports_end().
 */
#ifndef PROCPEN_OS_PORTS_H
#define PROCPEN_OS_PORTS_H

#include <stdbool.h>

#include "os/procfs.h"

#define PORTS_SOCKETS 4096
#define PORTS_DESCRIPTORS 2048
#define PORTS_TABLES 32

enum { PORTS_IPV4 = 1, PORTS_IPV6 = 2 };

/* Begin a look that reads these kinds of tables. What an earlier look has read is forgotten. */
void ports_begin(unsigned tables);
void ports_end(void);

/* From now on the look is at the @count @processes, in whatever network namespaces they are. */
void ports_look_at(const struct procfs_process *processes, int count);

/* Does one of them listen on @port of 127.0.0.1, ::1 or any address? */
bool ports_listens(unsigned port);

#endif
