#include "proc/names.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

static const char *const states[] = {
	[PROC_STATE_RUNNING] = "running",
	[PROC_STATE_COMPLETED] = "completed",
	[PROC_STATE_KILLED] = "killed",
	[PROC_STATE_TIMED_OUT] = "timed_out",
};

static const char *const reasons[] = {
	[PROC_REASON_RUNNING] = "running",
	[PROC_REASON_EXITED] = "exited",
	[PROC_REASON_SIGNALED] = "signaled",
	[PROC_REASON_TIMEOUT] = "timeout",
	[PROC_REASON_IDLE] = "idle",
	[PROC_REASON_KILLED_BY_REQUEST] = "killed_by_request",
	[PROC_REASON_CANCELLED] = "cancelled",
	[PROC_REASON_MEMORY_LIMIT] = "memory_limit",
	[PROC_REASON_CPU_LIMIT] = "cpu_limit",
	[PROC_REASON_FILE_SIZE_LIMIT] = "file_size_limit",
	[PROC_REASON_PROCESS_LIMIT] = "process_limit",
	[PROC_REASON_SECCOMP] = "seccomp",
	[PROC_REASON_SERVER_SHUTDOWN] = "server_shutdown",
	[PROC_REASON_SUPERVISOR_LOST] = "supervisor_lost",
};

/* signal(7). Of the C libraries only glibc has the names (sigabbrev_np(3)). */
static const char *const signals[] = {
	[SIGHUP] = "HUP", [SIGINT] = "INT", [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
	[SIGTRAP] = "TRAP", [SIGABRT] = "ABRT", [SIGBUS] = "BUS", [SIGFPE] = "FPE",
	[SIGKILL] = "KILL", [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
	[SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT",
	[SIGCHLD] = "CHLD", [SIGCONT] = "CONT", [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
	[SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU", [SIGURG] = "URG", [SIGXCPU] = "XCPU",
	[SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
	[SIGPOLL] = "POLL", [SIGPWR] = "PWR", [SIGSYS] = "SYS",
};

/* Other names in signal.h. SIGRTMAX is not a constant. */
static const struct {
	const char *name;
	int signal; /* 0: SIGRTMAX */
} aliases[] = {
	{ "IO", SIGIO }, { "IOT", SIGIOT }, { "CLD", SIGCHLD }, { "RTMAX", 0 },
};

const char *const names_streams[2] = { "stdout", "stderr" };

const char *names_state(enum proc_state state)
{
	return states[state];
}

const char *names_reason(enum proc_reason reason)
{
	return reasons[reason];
}

const char *names_signal(int signal)
{
	static char text[24];

	if (signal > 0 && (size_t)signal < COUNT_OF(signals))
		snprintf(text, sizeof(text), "SIG%s", signals[signal]);
	else if (signal > SIGRTMIN && signal <= SIGRTMAX)
		snprintf(text, sizeof(text), "SIGRTMIN+%d", signal - SIGRTMIN);
	else
		snprintf(text, sizeof(text), signal == SIGRTMIN ? "SIGRTMIN" : "SIG%d", signal);
	return text;
}

/* kill -l counts the upper half of the real-time signals from their end. */
static bool names_counts_back(int signal, const char *text)
{
	char name[24];

	snprintf(name, sizeof(name), "RTMAX-%d", SIGRTMAX - signal);
	return signal > SIGRTMIN && !strcasecmp(name, text);
}

int names_signal_number(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (end != text && !*end)
		return number > 0 && number <= SIGRTMAX ? (int)number : 0;
	if (!strncasecmp(text, "SIG", 3))
		text += 3;
	for (int signal = 1; signal <= SIGRTMAX; signal++)
		if (!strcasecmp(names_signal(signal) + 3, text) || names_counts_back(signal, text))
			return signal;
	for (size_t i = 0; i < COUNT_OF(aliases); i++)
		if (!strcasecmp(aliases[i].name, text))
			return aliases[i].signal ? aliases[i].signal : SIGRTMAX;
	return 0;
}
