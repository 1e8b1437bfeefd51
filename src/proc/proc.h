/*
 * proc - one run: from its start to the last process of its tree.
 *
 * Three separate events end a run: the command (leader) exits, the tree becomes empty,
 * the pipes reach end of file. The record settles (gets its final state, and requests
 * waiting for it are answered) after the first plus a short drain, or, if the server
 * kills the run, after the second; with a log file, when that is written too, so that the
 * answer can say how much of it is.
 *
 *   phase      meaning                                  leaves by
 *   STARTING   shim runs, command not yet executed    SHIM_STARTED / SHIM_FAILED
 *   RUNNING    the command lives                        SHIM_EXITED
 *   DRAINING   the command is over, output may come     both at end of file, or drain_ms
 *   ENDING     the command has taken a signal and is    the tree is empty, or the deadline: KILLING
 *              over, the rest has until a deadline
 *   KILLING    SIGKILL for the tree was sent            the tree is empty, or survivors are counted
 *   SETTLED    final; tree_alive tells of leftovers     -
 *
 * A signal that is to end the run may have a deadline, after which SIGKILL follows. The deadline
 * belongs to the tree: it holds until the tree is empty, independent of the command, the phase,
 * and the request that set it. Of two deadlines the earlier holds.
 *
 * Owned by the table (proc/proctab.h), which gets every change through env->on_event; no other
 * module keeps a pointer across a return to the loop.
 */
#ifndef PROCPEN_PROC_PROC_H
#define PROCPEN_PROC_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/slab.h"
#include "os/loop.h"
#include "os/pty.h"
#include "os/reaper.h"
#include "os/sandbox/confine.h"
#include "os/sandbox/seccomp_unotify.h"
#include "os/spawn/pool.h"
#include "proc/limits.h"
#include "proc/lines.h"
#include "proc/log_file.h"
#include "proc/names.h"
#include "proc/output.h"
#include "proc/pump.h"
#include "proc/tree.h"
#include "proc/usage.h"

/* A command that exits later than this after an ending signal without a deadline has survived the
 * signal: it ended by itself. */
#define PROC_LIVES_ON_MS 1000

enum proc_phase {
	PROC_STARTING,
	PROC_RUNNING,
	PROC_DRAINING,
	PROC_ENDING,
	PROC_KILLING,
	PROC_SETTLED,
};

/* What happened to a run; a set of bits. */
enum proc_event {
	PROC_EVENT_STARTED = 1,  /* the command is executing */
	PROC_EVENT_FAILED = 2,   /* it never did: rare->failure; the record goes after the hook */
	PROC_EVENT_OUTPUT = 4,   /* more bytes are stored */
	PROC_EVENT_SIGNALED = 8, /* a signal's outcome: live->signal_tried, signal_error */
	PROC_EVENT_SETTLED = 16, /* final state */
	PROC_EVENT_EMPTY = 32,   /* no process is left, or rare->survivors cannot be killed;
				  * the record may be gone after the hook */
	PROC_EVENT_REMOVED = 64, /* of a finished run: its record goes after the hook */
};

/* What the command's standard input is. With a terminal the bytes are typed there. */
enum proc_stdin {
	PROC_STDIN_NULL, /* /dev/null */
	PROC_STDIN_DATA, /* the bytes of the start, then end of file */
	PROC_STDIN_PIPE, /* the bytes of the start, then those of proc_input() */
};

/* A pseudo-terminal for a run: its controlling one, and what it writes both streams to. */
struct proc_terminal {
	struct pty_start start; /* 0 columns: the run has none */
	/* Gets our end of it, which it owns: the run keeps nothing and takes no input. Or NULL. */
	void (*take)(void *ctx, int fd);
	void *take_ctx;
};

/* What a run is made of. Everything is borrowed for the call. */
struct proc_spec {
	uint64_t seq;          /* set by the table, as are the next two */
	const char *id;
	struct proc *like;     /* a run that may have the same settings, or NULL */
	const char *command;   /* as shown: the string, or program and arguments joined by spaces */
	const char *masked;    /* the same without secrets, for logs; NULL: it has none */
	const char *origin;    /* request id, for the record of the end */
	const char *path;      /* program to execute */
	char *const *argv;
	char *const *envp;
	int cwd_fd;
	const char *cwd;       /* its name, for records */
	enum proc_stdin stdin_mode;
	const void *stdin_bytes; /* fed at the start; none with PROC_STDIN_NULL */
	size_t stdin_len;
	bool shares_stdio;     /* the command has our own 0, 1 and 2; none of it is kept */
	struct proc_terminal terminal;
	bool background;
	int64_t timeout_ms;    /* 0: none */
	int64_t idle_timeout_ms; /* without output; 0: none */
	struct log_file *log_file; /* open, or NULL; the run owns it when it has started */
	struct confine_request confine; /* the run's own demands on its sandbox */
};

struct proc;

/* The pipes of the next run's stdout and stderr, each with its read end first; -1: not made. They
 * are made while a command starts, so that the next start need not wait for them. */
struct proc_pipes {
	int out[2], err[2];
};

#define PROC_NO_PIPES { { -1, -1 }, { -1, -1 } }

/* Close those that are made. */
void proc_pipes_close(struct proc_pipes *pipes);

/* What all runs share; one per table. */
struct proc_env {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct confine *confine;
	struct pool *pool;             /* NULL: every shim is started when it is needed */
	uint64_t head_bytes, tail_bytes; /* kept per stream */
	struct proc_rare *none;        /* of a run that has nothing of it; never changes */
	struct slab *live, *over;      /* for struct proc_live; for records of runs that are over */
	struct proc_pipes *pipes;
	size_t stdin_max; /* bytes that may wait for one command */
	int drain_ms;
	void (*on_event)(void *ctx, struct proc *p, unsigned events);
	void *ctx;
};

/* What a run was started with. Most runs have the same, so records share it; it does not change. */
struct proc_settings {
	const struct proc_env *env;
	unsigned users; /* records */
	struct confine_applied applied; /* layers that it runs in */
	struct limits limits;
	char cwd[];
};

/* For proc/input_wait: the processor time at a look, and since when it is that. */
struct quiet {
	int64_t since_ms; /* 0: no look yet */
	int64_t cpu_ms;
	int64_t looked_ms; /* the last time */
};

/* The part of a record that exists only while a process of the run lives; most records are kept
 * long after. */
struct proc_live {
	struct pump out, err;
	enum proc_stdin stdin_mode;
	struct feed feed;
	struct proc_terminal awaited; /* the command's process opens it and sends it; 0 columns:
				       * it is here, or there is none */
	int terminal_fd; /* the command's terminal, open until the command is over, because one
			  * that no process has open looks hung up; -1: none */
	struct pty_line typed; /* of what is typed there */
	struct tree tree;
	pid_t reported; /* pid of the command as the shim sees it; 0 before its start and after its
			 * end */
	pid_t pid;      /* the same as we see it, for proc_pid(); 0: not looked for yet */
	struct confine_run confine;
	struct limits_watch limits;
	ev_timer timeout, silence, drain;
	int64_t idle_timeout_ms;
	int64_t output_mono_ms; /* of its last output; at first, of its start */
	int64_t resident_bytes; /* of its tree, at the last reading */
	struct quiet quiet;
	struct lines_place counted[2]; /* the last of stdout, stderr from which a call searched */
	ev_timer deadline; /* of a signal that is to end the run: then SIGKILL */
	struct spawn_past past; /* of the shim */
	uint32_t pool_kind;   /* likewise, for pool_return() */
	void *attached;       /* proc_attach() */
	void (*release_attached)(void *attached);
	enum proc_reason kill_reason; /* set before our SIGKILL; RUNNING: none was sent */
	int signal_sent;              /* the last signal that reached the command; 0: none */
	int64_t asked_until_ms;       /* an exit before this time counts as the effect of
				       * signal_sent */
	int signal_tried;             /* the last one whose outcome is known ... */
	int signal_error;             /* ... its errno; 0: delivered, to the command or to others */
	char *origin;                 /* proc_spec.origin, or NULL */
	char *path; /* of the program, for the message when it cannot be executed */
};

/* What few runs have anything of when they are over. */
struct proc_rare {
	struct spool spool;
	struct output_range out, err;
	uint64_t kept_bytes;          /* counted by the table against the log budget */
	uint32_t leftover;            /* live processes beside the command when it settled, those
				       * just killed included */
	uint32_t killed_rest;         /* how many processes a SIGKILL for the tree ended */
	uint32_t survivors;           /* could not be killed */
	uint64_t stdin_unread;        /* bytes of its stdin that were left when it settled */
	uint32_t dropped_logs;        /* when it failed for the server's own memory limit: finished
				       * runs that have lost their logs for that */
	struct limits_proof proof;
	struct seccomp_unotify *notify; /* the calls that its filter refused; NULL: the run has no
					 * listener */
	struct log_file *log_file;    /* or NULL */
	struct err *failure;          /* why it never started, or NULL */
	char *git_changes;            /* set by the hook when it settled: what of git's settings had
				       * changed meanwhile, for the answer and for later ones; NULL:
				       * nothing */
};

/* A thousand are kept: no hole between members. */
struct proc {
	struct proc *older, *newer; /* the table's list */
	struct proc *finished_before, *finished_after; /* its list of finished ones */
	uint64_t seq;
	struct proc_settings *settings;
	struct proc_live *live;       /* NULL once no process of it lives */
	struct proc_rare *rare;       /* owned, or env->none, see proc_shrink() */

	int64_t started_mono_us;      /* exact, for what is found out about this run or another */
	int64_t ended_mono_ms;
	int64_t started_wall_ms, ended_wall_ms;
	struct usage usage;           /* of the last reading; final when the tree is empty */

	struct output out, err;
	struct arrivals arrivals;
	int wait_status;              /* once it has exited */
	enum proc_phase phase : 8;
	enum proc_state state : 8;
	enum proc_reason reason : 8;
	bool has_masked : 1;          /* see proc_masked() */
	bool background : 1;
	bool exited : 1;              /* wait_status is valid */
	bool tree_alive : 1;          /* a process of it is, or may be, alive */
	bool forced : 1;              /* SIGKILL was sent; with an empty tree: and it ended a
				       * process */
	bool leftover_unknown : 1;    /* they died before the shim counted them, or /proc hides
				       * some */
	bool usage_partial : 1;       /* the usage is a lower bound: part of it was not reported */
	bool supervisor_lost : 1;     /* its shim died first: its end, or even its start, is
				       * unknown */
	bool announced : 1;           /* a client was told that it runs; set by the one that told
				       * it */
	bool never_began : 1;         /* with failure: its shim died before it took the command */
	bool replaced : 1;            /* ... and another run does its work; set by the hook */
	bool out_of_memory : 1;       /* when it failed, the kernel had killed a process for the
				       * server's own memory limit */
	bool spool_counted : 1;       /* its descriptor counts against spools_max */
	bool stdin_refused : 1;       /* when it settled, see proc_stdin_refused() */
	bool packed : 1;              /* it lies in env->over, the output behind its texts */
	char id[];                    /* the command follows, and its masked form if it has one */
};

/*
 * Start a run; the id is filled in by the table. Returns the record in phase
 * STARTING, or NULL with SpawnFailed or SandboxUnavailable.
 */
struct proc *proc_new(const struct proc_env *env, const struct proc_spec *spec, struct err *e);

/* Give up the descriptors that are kept for later runs, or are still to be closed. Returns true if
 * there were any: what failed may have needed these, so try it once more. */
bool proc_drop_idle(const struct proc_env *env);

/* Stop watching and free. Kills nothing itself: the closed socket makes a live shim kill its
 * tree. */
void proc_free(struct proc *p);

/* Make @r empty, of a run that keeps so many bytes of each stream. */
void proc_rare_init(struct proc_rare *r, uint64_t head_bytes, uint64_t tail_bytes);

/* If nothing of @p is alive, make it small: env->none takes the place of a p->rare that has
 * nothing, and a short record moves to env->over with its output. Returns where it is. */
struct proc *proc_shrink(struct proc *p);

/* What it has written to @stream, 0 (stdout) or 1 (stderr). */
static inline const struct output *proc_output(const struct proc *p, int stream)
{
	return stream ? &p->err : &p->out;
}

/* The command, as shown. */
const char *proc_command(const struct proc *p);

/* The same without secrets, for logs. */
const char *proc_masked(const struct proc *p);

/* The exit code, or -1 unless the command exited by itself without our kill. */
int proc_exit_code(const struct proc *p);

/*
 * Keep @state, which this module does not read, while a process of @p lives, then @release it. At
 * most once for a run.
 */
void proc_attach(struct proc *p, void *state, void (*release)(void *state));
void *proc_attached(const struct proc *p); /* NULL: nothing, or not any more */

/* Pid of the command, as we see it; 0 before its start and after its end. Looked for in /proc when
 * it is asked for first, if the run has a PID namespace: of most runs nobody asks. */
pid_t proc_pid(const struct proc *p);

/* Can somebody write to its stdin, or in a moment, when it has started? */
bool proc_takes_input(const struct proc *p);

/* May @len more bytes be given to the command? */
bool proc_takes_bytes(const struct proc *p, size_t len);

/*
 * The same, and why not. Returns 0, or -1 with ProcessAlreadyExited (nothing
 * of the run is alive), StdinClosed (its stdin never was a pipe, or is closed, by a call or by the
 * command), or LimitReached (more than stdin_max bytes would wait for it).
 */
int proc_check_input(const struct proc *p, size_t len, struct err *e);

/*
 * Give the command @len bytes of standard input, behind those that it was given before; with
 * *@close, end of file follows. Never blocks: what the pipe does not take waits. Refuses as
 * proc_check_input() does, and then takes nothing; StdinClosed also comes if the write finds that
 * the command has closed its end. The first @taken bytes are of earlier calls: what of them the
 * command does not get counts as left unread.
 *
 * A terminal has its end of file typed, and takes more after it. *@close becomes false if its
 * settings have no such character (raw mode); then only the bytes are written.
 */
int proc_input(struct proc *p, const void *bytes, size_t len, size_t taken, bool *close,
	       struct err *e);

/* Has the run a terminal? While its command lives, or some output of it may still come. */
bool proc_has_terminal(const struct proc *p);

/* Is what is typed shown? False only for a terminal whose echo is off. */
bool proc_echoes(const struct proc *p);

/* Does its terminal keep no more than PTY_LINE_MAX bytes of a line that is typed now? */
bool proc_types_lines(const struct proc *p);

/* Change the size of the run's terminal. Returns 0, or -1 with ProcessAlreadyExited (the command is
 * over), InvalidParams (the run has none). */
int proc_resize(struct proc *p, unsigned cols, unsigned rows, struct err *e);

/* Bytes of standard input that wait until the command reads. */
size_t proc_input_queued(const struct proc *p);

/* Signal that ended it ("SIGKILL"), or NULL. */
const char *proc_signal_name(const struct proc *p);

/* Milliseconds from start to end, or to now. */
int64_t proc_duration_ms(const struct proc *p);

/* Is a pipe of this run still open? */
bool proc_output_open(const struct proc *p);

/* Is the run over, and have both streams ended? */
bool proc_output_ended(const struct proc *p);

/* Did the command close its stdin before all input was written to it? */
bool proc_stdin_refused(const struct proc *p);

/* Current usage: read from /proc while processes live, final afterwards. */
const struct usage *proc_usage(struct proc *p);

/* How many milliseconds are left until both streams of @p, which has not settled, have been silent
 * for @wanted_ms; 0: none. Some are left while bytes wait in its pipes. */
int64_t proc_silence_left(const struct proc *p, int64_t wanted_ms);

/* How many new processes and threads its control group has refused; read now while it lives. */
int64_t proc_tasks_refused(struct proc *p);

/* Let the look of os/ports.h be at this run, at the first PROC_PORTS_MAX of its processes. */
#define PROC_PORTS_MAX 256
void proc_look_at_ports(const struct proc *p);

/*
 * SIGKILL for the whole tree because of @reason: a time or another limit, KILLED_BY_REQUEST,
 * CANCELLED or SERVER_SHUTDOWN. On a settled run with leftovers only these die
 * and the state stays. No effect on an empty tree.
 */
void proc_kill_tree(struct proc *p, enum proc_reason reason);

/* Send @signal to the command's process group; PROC_EVENT_SIGNALED brings the outcome. Returns 0,
 * or -1 with KillFailed: the shim cannot be reached (ESRCH, EPIPE: it is gone). */
int proc_signal(struct proc *p, int signal, struct err *e);

/*
 * Ask the run to end: send @signal to every process of it, and @force_after_ms later SIGKILL to
 * what is left; 0: never. Returns as proc_signal() does; the deadline holds even if the shim cannot
 * be reached. @p must have a live tree.
 */
int proc_end(struct proc *p, int signal, double force_after_ms, struct err *e);

/* Is the end still to come, but certain, because a deadline is set, SIGKILL was sent or the tree is
 * gone? */
bool proc_is_ending(const struct proc *p);

#endif
