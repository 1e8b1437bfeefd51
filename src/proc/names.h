/* names - the texts of states, reasons and signals as clients see them. */
#ifndef PROCPEN_PROC_NAMES_H
#define PROCPEN_PROC_NAMES_H

#include "proc/proc.h"

const char *names_state(enum proc_state state);   /* "timed_out" */
const char *names_reason(enum proc_reason reason); /* "killed_by_request" */

/* "SIGTERM"; "SIGRTMIN+2"; "SIG<n>" for numbers without a name. Static. */
const char *names_signal(int signal);

/* "SIGTERM", "TERM", "term" or "15" to 15; 0 if it names no signal of this system. */
int names_signal_number(const char *text);

#endif
