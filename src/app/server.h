/*
 * server - owns everything: reads requests, routes them, and ends in order.
 *
 *   reading    requests are taken
 *   paused     the client does not read: no request is taken, all else goes on
 *   closing    EOF, SIGTERM or SIGINT: no request is taken, every run is killed,
 *              every open request is answered, what the client takes is flushed
 *   gone       exit 0
 */
#ifndef PROCPEN_APP_SERVER_H
#define PROCPEN_APP_SERVER_H

#include "app/engine.h"

/* Run until the end. Returns the exit status: 0, or 1 (told on stderr) if it cannot start. */
int server_main(struct engine_options *options);

#endif
