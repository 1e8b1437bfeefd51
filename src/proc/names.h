/* names - streams, states, reasons and signals of a run, and their texts as clients see them. */
#ifndef PROCPEN_PROC_NAMES_H
#define PROCPEN_PROC_NAMES_H

enum proc_state {
	PROC_STATE_RUNNING,
	PROC_STATE_COMPLETED,
	PROC_STATE_KILLED,
	PROC_STATE_TIMED_OUT,
};

enum proc_reason {
	PROC_REASON_RUNNING,
	PROC_REASON_EXITED,
	PROC_REASON_SIGNALED,
	PROC_REASON_TIMEOUT,
	PROC_REASON_IDLE,
	PROC_REASON_KILLED_BY_REQUEST,
	PROC_REASON_CANCELLED,
	PROC_REASON_MEMORY_LIMIT,
	PROC_REASON_CPU_LIMIT,
	PROC_REASON_FILE_SIZE_LIMIT,
	PROC_REASON_PROCESS_LIMIT,
	PROC_REASON_SECCOMP,
	PROC_REASON_SERVER_SHUTDOWN,
	PROC_REASON_SUPERVISOR_LOST,
};

extern const char *const names_streams[2]; /* "stdout", "stderr" */

const char *names_state(enum proc_state state);   /* "timed_out" */
const char *names_reason(enum proc_reason reason); /* "killed_by_request" */

/* "SIGTERM"; "SIGRTMIN+2"; "SIG<n>" for numbers without a name. Static storage. */
const char *names_signal(int signal);

/* 15 for "SIGTERM", "TERM", "term" and "15"; 0 if this system has no such signal. */
int names_signal_number(const char *text);

#endif
