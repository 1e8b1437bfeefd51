/*
 * cpu_throttle - limits a tree to a share of the processor by SIGSTOP and SIGCONT.
 *
 * An account earns time at the limit's rate and pays for what the tree uses. In debt
 * the tree is stopped, otherwise it runs; so the average is exact however late a sample
 * comes.
 *
 * Parents stop before their children and continue after them, so few see a stopped child
 * (a shell with job control may). Processes that the command stopped itself stay stopped.
 * This does not hold a command that fights it: a process can continue another one before
 * it is stopped itself, which then runs until the next sample.
 */
#ifndef PROCPEN_OS_SHIM_CPU_THROTTLE_H
#define PROCPEN_OS_SHIM_CPU_THROTTLE_H

#include <stdint.h>

#include "os/shim/sampler.h"

/* @permille of one processor. @whole_namespace: we are its init and reach all others at once. */
void cpu_throttle_start(uint32_t permille, int whole_namespace);

/* At @now_ns the last look says @t: stops or continues the tree. @quiet: nothing has run since
 * that look, which else was made just now. */
void cpu_throttle_account(uint64_t now_ns, const struct sample *t, int quiet);

/* Nanoseconds until that should be called again; nothing ran in the last @quiet turns. */
uint64_t cpu_throttle_wait(unsigned quiet);

/* Continue what is stopped now; the debt stays. */
void cpu_throttle_let_go(void);

#endif
