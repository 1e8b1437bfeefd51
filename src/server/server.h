/*
 * server - owns everything: reads requests, routes them, and ends in order.
 *
 *   reading    requests are taken; while the client does not read (the queue to it is full) none
 *              is, and all else goes on
 *   ending     the input has ended and is worked off: open requests go on within their time,
 *              answers are delivered, and nothing new comes
 *   closing    everything is killed, what is open is answered, what the client takes at once is
 *              flushed
 *
 *   from       to         when
 *   reading    ending     end of file was read, and every request before it was handled
 *   ending     closing    every request is answered and the client has taken the answers; or it
 *                         takes none for too long
 *   any        closing    a signal, or the reader of the answers is gone
 *   closing    the exit   every run is dead, every request answered, the rest flushed or given up
 *
 * How long an open request may still take, and how long a reader that takes nothing is waited for,
 * is `server.eof_seconds` (by default the reader has at least 30 s); it never bounds the delivery
 * to a reader that takes anything.
 */
#ifndef PROCPEN_SERVER_SERVER_H
#define PROCPEN_SERVER_SERVER_H

#include "server/context.h"

/* Run until the end. Returns the exit status: 3 if processes of a run may still be alive (told on
 * stderr and by server_stop in the audit log), else 0, or 1 (told on stderr) if it cannot start, if
 * writing the answers failed, or if the client did not take them after the end of the input. */
int server_main(struct context_options *options);

#endif
