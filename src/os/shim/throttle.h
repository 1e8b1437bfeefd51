/*
 * throttle - holds a tree to a share of the processor by stopping and continuing it.
 *
 * An account: time comes in at the limit's rate and goes out as the tree uses it. In
 * debt the tree is stopped, out of debt it goes on, so what was used too much in one
 * stretch is waited for in the next and the average is exact however late we look.
 *
 * Parents are stopped before their children and continued after them, so that few
 * see a stopped child (a shell with job control may). What the command has stopped
 * itself is left stopped. No boundary against a command that fights it: a process
 * may continue another one before it is stopped itself, and then runs until the
 * next look.
 */
#ifndef PROCPEN_OS_SHIM_THROTTLE_H
#define PROCPEN_OS_SHIM_THROTTLE_H

#include <stdint.h>

#include "os/shim/tally.h"

/* @permille of one processor. @whole_namespace: we are its init and reach all others at once. */
void throttle_start(uint32_t permille, int whole_namespace);

/* At @now_ns the last look says @t: stops or continues the tree. @quiet: nothing has run since
 * that look, which else was made just now. */
void throttle_account(uint64_t now_ns, const struct tally *t, int quiet);

/* Nanoseconds until that should be called again; nothing ran in the last @quiet turns. */
uint64_t throttle_wait(unsigned quiet);

/* Continue what is stopped now; the debt stays. */
void throttle_let_go(void);

#endif
