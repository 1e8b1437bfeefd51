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

#include "base/err.h"
#include "guard/config.h"

struct server_options {
	const char *workspace;   /* NULL: found by the rules of docs/protocol.md */
	const char *state_dir;   /* NULL: audit_default_dir() */
	char *const *directories; /* further accessible directories, NULL-terminated, or NULL */
	struct config config;    /* moved into the server; all zero afterwards */
};

/* Run until the end. Returns the exit status: 0, or 1 (told on stderr) if it cannot start. */
int server_main(struct server_options *options);

#endif
