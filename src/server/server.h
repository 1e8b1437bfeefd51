/*
 * server - owns everything: reads requests, routes them, and shuts down in order.
 *
 *   reading    handles requests; while the client does not read (the queue to it is full) it
 *              handles none, and all else goes on
 *   ending     the input has ended and is handled: open requests go on within their time,
 *              answers are delivered, no request arrives
 *   closing    kills every run, answers every open request and flushes as much as the client
 *              reads at once
 *
 *   from       to         when
 *   reading    ending     end of file was read, and every request before it was handled; or no
 *                         input came for server.lease_ms while runs are alive
 *   ending     closing    every request is answered, every follow is at its end, and the client
 *                         has read all that; or it reads nothing for too long
 *   any        closing    a signal, or the reader of the answers has gone
 *   closing    the exit   every run is dead, every request answered, the rest flushed or given up
 *
 * `server.eof_seconds` bounds how long an open request may still take, and how long the server
 * waits for a reader that reads nothing (by default at least 30 s). It never bounds the delivery to
 * a reader that reads anything.
 */
#ifndef PROCPEN_SERVER_SERVER_H
#define PROCPEN_SERVER_SERVER_H

#include "server/context.h"

/* Run until the end. Returns the exit status: 3 if processes of a run may still be alive (reported
 * on stderr and by server_stop in the audit log), else 0, or 1 (reported on stderr) if it cannot
 * start, if writing the answers failed, or if the client did not read them after the end of the
 * input. */
int server_main(struct context_options *options);

#endif
