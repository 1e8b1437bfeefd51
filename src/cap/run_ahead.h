/*
 * run_ahead - makes ready what the first run needs, while the client is still silent.
 *
 * The first run would try the layers of the sandbox and make its shim itself, which takes some
 * milliseconds of the one thread, and build what judges its command. What fails here is left to
 * that run, which reports it.
 */
#ifndef PROCPEN_CAP_RUN_AHEAD_H
#define PROCPEN_CAP_RUN_AHEAD_H

#include "cap/cap.h"

/* Prepare for a run that asks for nothing but a command, in a server that has its workspace. Does
 * nothing if process.run is denied; makes no sandbox after the first run. */
void run_ahead(struct cap *c);

#endif
