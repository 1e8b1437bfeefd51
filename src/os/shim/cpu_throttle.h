/*
 * cpu_throttle - limits a tree to a share of the processor by SIGSTOP and SIGCONT.
 *
 * A balance grows at the limit's rate and shrinks by the time that the tree uses. While
 * it is negative the tree is stopped, so the average is exact however late a sample is.
 *
 * Parents stop before their children and continue after them, so few see a stopped child
 * (a shell with job control may). Processes that the command stopped itself stay stopped.
 * A command can fight this: a process can continue another one before it is stopped
 * itself, and that one runs until the next sample.
 */
#ifndef PROCPEN_OS_SHIM_CPU_THROTTLE_H
#define PROCPEN_OS_SHIM_CPU_THROTTLE_H

#include <stdint.h>

#include "os/shim/sampler.h"

/* @permille of one processor. @whole_namespace: the shim is init of the PID namespace, so one
 * kill(-1) reaches all of it. */
void cpu_throttle_start(uint32_t permille, int whole_namespace);

/* Account for the sample @t at @now_ns and stop or continue the tree. @quiet: @t is an older
 * sample, and nothing has run since; else it was taken just now. */
void cpu_throttle_account(uint64_t now_ns, const struct sample *t, int quiet);

/* Nanoseconds until the next cpu_throttle_account(); nothing ran in the last @quiet turns. */
uint64_t cpu_throttle_wait(unsigned quiet);

/* Continue the tree if it is stopped; the balance stays negative. */
void cpu_throttle_resume(void);

#endif
