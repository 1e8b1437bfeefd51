/* drive - the modes of the measuring client; see drive.c. */
#ifndef PROCPEN_BENCH_DRIVE_H
#define PROCPEN_BENCH_DRIVE_H

#include <stddef.h>

#include "client.h"

/* @n runs with @params, @window outstanding; latencies into @took unless NULL. */
void drive_runs(struct client *c, const char *params, size_t n, size_t window, double *took);

/* Modes: their arguments, then the command line of the server. */
void drive_flood(char **args, char **server);
void drive_output(char **args, char **server);
void drive_follow(char **args, char **server);
void drive_logs(char **args, char **server);
void drive_exact(char **args, char **server);
void drive_background(char **args, char **server);
void drive_timeout(char **args, char **server);
void drive_end(char **args, char **server);
void drive_chains(char **args, char **server);

#endif
