/*
 * input_wait - does a run wait for input?
 *
 * A judgement. It does if its stdin is open on our side, everything written there was read, and a
 * process of the run sleeps in a read of it (os/reading.h). One that polls it, among other things,
 * waits if the run has also been quiet for INPUT_WAIT_QUIET_MS: no output, and no more processor
 * time since an earlier look than the kernel's clock can tell from none.
 */
#ifndef PROCPEN_PROC_INPUT_WAIT_H
#define PROCPEN_PROC_INPUT_WAIT_H

struct proc;
struct usage;

#define INPUT_WAIT_QUIET_MS 200
#define INPUT_WAIT_PROCESSES 256 /* that are looked at */

enum input_wait { INPUT_WAIT_NO, INPUT_WAIT_YES, INPUT_WAIT_UNKNOWN };

/* Remember the processor time of the run for the next look. */
void input_wait_note(struct proc *p);

/* Look, and note that too. @now: its usage, just read. */
enum input_wait input_wait_of(struct proc *p, const struct usage *now);

#endif
