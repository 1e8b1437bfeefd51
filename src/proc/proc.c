#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/procfs.h"
#include "os/spawn.h"
#include "os/start.h"
#include "proc/names.h"

#define PAGE_BYTES 4096

static void notify(struct proc *p, unsigned events)
{
	p->env->on_event(p->env->ctx, p, events);
}

/* ---- the end ---- */

/* Signals that mean "end": after one was delivered a run counts as killed, however it ended. */
static bool is_ending_signal(int signal)
{
	return signal == SIGTERM || signal == SIGKILL || signal == SIGINT || signal == SIGQUIT ||
	       signal == SIGHUP;
}

/* What a wait status says by itself. */
static enum proc_reason reason_of_status(const struct proc *p)
{
	enum proc_reason limit = limits_of_status(&p->limits, p->wait_status, &p->usage);

	if (limit != PROC_REASON_RUNNING)
		return limit;
	return WTERMSIG(p->wait_status) == SIGSYS && p->applied.layers & 1u << CONFINE_SECCOMP
		       ? PROC_REASON_SECCOMP
		       : PROC_REASON_SIGNALED;
}

static void decide_killed(struct proc *p)
{
	p->reason = p->kill_reason;
	p->state = p->reason == PROC_REASON_TIMEOUT ? PROC_STATE_TIMED_OUT : PROC_STATE_KILLED;
}

/*
 * Cause by evidence, in this order: our own kill that took effect, then what the
 * wait status says. A command that exited by itself while our SIGKILL was under
 * way has exited, unless a limit had struck before: what it made of that is no result.
 */
static void decide_state(struct proc *p)
{
	bool by_signal = p->exited && WIFSIGNALED(p->wait_status);
	bool asked = p->signal_sent &&
		     (is_ending_signal(p->signal_sent) ||
		      (by_signal && WTERMSIG(p->wait_status) == p->signal_sent));

	if (p->kill_reason != PROC_REASON_RUNNING &&
	    (!p->exited || by_signal || p->kill_reason == p->limits.struck)) {
		decide_killed(p);
	} else if (asked) {
		p->kill_reason = PROC_REASON_KILLED_BY_REQUEST;
		decide_killed(p);
	} else if (!p->exited || by_signal) {
		p->state = PROC_STATE_KILLED;
		p->reason = by_signal ? reason_of_status(p) : PROC_REASON_SIGNALED;
	} else {
		p->state = PROC_STATE_COMPLETED;
		p->reason = PROC_REASON_EXITED;
	}
}

static void note_end(struct proc *p)
{
	if (p->ended_mono_ms)
		return;
	p->ended_mono_ms = clock_mono_ms();
	p->ended_wall_ms = clock_wall_ms();
	p->pid = 0;
}

static void settle(struct proc *p)
{
	if (p->phase == PROC_SETTLED)
		return;
	loop_timer_stop(p->env->loop, &p->live->timeout);
	loop_timer_stop(p->env->loop, &p->live->drain);
	note_end(p);
	decide_state(p);
	p->phase = PROC_SETTLED;
	notify(p, PROC_EVENT_SETTLED);
}

static bool drain_pumps(struct proc *p)
{
	bool out_ended = pump_drain(&p->live->out), err_ended = pump_drain(&p->live->err);

	return out_ended && err_ended;
}

static void on_pump_data(void *ctx, struct pump *pump)
{
	struct proc *p = ctx;

	(void)pump;
	notify(p, PROC_EVENT_OUTPUT);
	if (p->phase == PROC_DRAINING && !proc_output_open(p))
		settle(p);
}

static void on_drain_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct proc *p = w->data;

	(void)loop;
	(void)revents;
	drain_pumps(p);
	settle(p);
}

/* ---- what the keeper tells ---- */

static void take_usage(struct proc *p, const struct shim_report *report)
{
	int64_t peak = (int64_t)report->maxrss_kib * 1024;

	if (peak < (int64_t)report->memory_peak_bytes)
		peak = (int64_t)report->memory_peak_bytes;
	p->usage.cpu_ms = (int64_t)(report->cpu_us + 500) / 1000;
	if (peak > p->usage.memory_peak_bytes)
		p->usage.memory_peak_bytes = peak;
	p->usage.io_read_bytes = (int64_t)report->io_read_bytes;
	p->usage.io_write_bytes = (int64_t)report->io_write_bytes;
	if (!report->empty) /* or it is read when everything is over, which is now */
		limits_group_usage(&p->limits, p->live->confine.cgroup, &p->usage);
}

/* A limit is proven to have struck: the whole run ends with it. */
static void on_limit(void *ctx)
{
	struct proc *p = ctx;

	proc_kill_tree(p, p->limits.struck);
}

/* In a PID namespace the keeper knows another number than we do. */
static pid_t outer_pid(const struct proc *p, pid_t pid)
{
	if (!(p->applied.layers & 1u << CONFINE_PID_NS))
		return pid;
	return procfs_find_inner(p->live->tree.keeper_pid, pid);
}

static void on_started(struct proc *p, pid_t pid)
{
	p->pid = outer_pid(p, pid);
	if (p->phase == PROC_STARTING)
		p->phase = PROC_RUNNING;
	notify(p, PROC_EVENT_STARTED);
}

static void on_exited(struct proc *p, const struct shim_report *report)
{
	if (limits_look(&p->limits, p->live->confine.cgroup))
		on_limit(p); /* the watch may not have told yet */
	p->exited = true;
	p->wait_status = report->value;
	p->leftover = report->live;
	take_usage(p, report);
	note_end(p);
	loop_timer_stop(p->env->loop, &p->live->timeout);
	if (p->phase != PROC_KILLING)
		p->phase = PROC_DRAINING;
	notify(p, PROC_EVENT_EXITED);
	if (report->empty)
		return; /* on_tree_empty() comes next and settles */
	if (p->phase == PROC_DRAINING)
		loop_timer_start(p->env->loop, &p->live->drain, p->env->drain_ms);
	/* What the command wrote before its exit is in the pipes by now. */
	if (drain_pumps(p) && p->phase == PROC_DRAINING)
		settle(p);
}

static void on_report(void *ctx, const struct shim_report *report)
{
	struct proc *p = ctx;

	switch (report->event) {
	case SHIM_STARTED:
		on_started(p, report->value);
		break;
	case SHIM_FAILED:
		p->failure = mem_zalloc(sizeof(*p->failure));
		spawn_failed(report->value, report->error, p->live->path, p->failure);
		break;
	case SHIM_EXITED:
		on_exited(p, report);
		break;
	case SHIM_SIGNALED:
		p->signal_tried = report->value;
		p->signal_error = report->error;
		if (!report->error)
			p->signal_sent = report->value;
		notify(p, PROC_EVENT_SIGNALED);
		break;
	case SHIM_LIMITED:
		limits_reported(&p->limits, report);
		on_limit(p);
		break;
	case SHIM_EMPTY:
		take_usage(p, report);
		p->killed_rest = report->live;
		if (p->phase == PROC_DRAINING)
			p->leftover = 0;
		else if (p->phase != PROC_SETTLED && report->live > p->leftover)
			p->leftover = report->live;
		break;
	}
}

/* The command's filter tells of refused calls from now on. */
static void on_listener(void *ctx, int fd)
{
	struct proc *p = ctx;

	if (p->denials)
		mem_cleanup_close(&fd);
	else
		p->denials = denials_new(p->env->loop, fd);
}

/* Nothing of the run is left to be watched. */
static void release_live(struct proc *p)
{
	struct proc_live *live = p->live;

	if (!live)
		return;
	loop_timer_stop(p->env->loop, &live->timeout);
	loop_timer_stop(p->env->loop, &live->drain);
	pump_close(&live->out);
	pump_close(&live->err);
	feed_close(&live->feed);
	tree_release(&live->tree);
	limits_watch_stop(&live->limits, p->env->loop);
	denials_stop(p->denials);
	confine_run_release(&live->confine);
	free(live->path);
	free(live);
	p->live = NULL;
}

/* What was found alive after the keeper's death counts like what it would have found; the command
 * itself has died with the keeper (its parent-death signal). */
static void count_hunted(struct proc *p)
{
	uint32_t found = p->live->tree.hunted;

	if (!found)
		return;
	p->killed_rest = found;
	if (found > p->leftover)
		p->leftover = found;
}

static void on_tree_empty(void *ctx)
{
	struct proc *p = ctx;

	p->pid = 0;
	if (p->failure) {
		notify(p, PROC_EVENT_FAILED); /* frees p */
		return;
	}
	/* All writers are dead: what is in the pipes is all there will be. */
	drain_pumps(p);
	p->tree_alive = false;
	p->survivors = p->live->tree.survivors;
	p->keeper_lost = p->live->tree.lost && !p->exited;
	limits_group_usage(&p->limits, p->live->confine.cgroup, &p->usage);
	count_hunted(p);
	settle(p);
	if (!p->survivors)
		release_live(p);
	notify(p, PROC_EVENT_EMPTY); /* may free p */
}

/* Its control group still knows all of them, whoever their parents are now. */
static void on_lost(void *ctx)
{
	const struct proc *p = ctx;

	if (p->live->confine.cgroup)
		(void)cgroup_kill(p->live->confine.cgroup); /* the hunt tells what is left */
}

static void on_keeper(void *ctx, pid_t keeper_pid, int control_fd, const struct shim_report *last)
{
	struct proc *p = ctx;
	const struct spawn_result started = {
		.keeper_pid = keeper_pid, .control_fd = control_fd,
		.kind = p->live->keeper_kind, .past = p->live->past,
	};

	p->live->confine.left_nothing = true;
	spare_return(p->env->spare, &started, last);
}

static void on_timeout(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	proc_kill_tree(w->data, PROC_REASON_TIMEOUT);
}

/* ---- the start ---- */

/* The descriptors of one start; what is still here at the end is closed. */
struct start {
	int in_read, in_write;
	int out_read, out_write;
	int err_read, err_write;
};

static void close_fds(struct start *s)
{
	int *fds[] = { &s->in_read,  &s->in_write, &s->out_read,
		       &s->out_write, &s->err_read, &s->err_write };

	for (size_t i = 0; i < COUNT_OF(fds); i++)
		mem_cleanup_close(fds[i]);
}

/* A pipe whose end @ours (0 read, 1 write) is non-blocking. */
static int make_pipe(int *read_end, int *write_end, int ours)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	fcntl(fds[ours], F_SETFL, O_NONBLOCK);
	*read_end = fds[0];
	*write_end = fds[1];
	return 0;
}

/* A command opens /dev/stdout by name as well, so its pipes belong to whom it runs as. */
static void give_pipes(const struct start *s, const struct confine_request *confine)
{
	const int fds[] = { s->in_write, s->out_read, s->err_read };

	for (size_t i = 0; confine->as_user && i < COUNT_OF(fds); i++)
		if (fds[i] >= 0)
			(void)!fchown(fds[i], confine->uid, confine->gid);
}

static int open_pipes(struct start *s, const struct proc_spec *spec, struct err *e)
{
	if (make_pipe(&s->out_read, &s->out_write, 0) ||
	    make_pipe(&s->err_read, &s->err_write, 0) ||
	    (spec->has_stdin && make_pipe(&s->in_read, &s->in_write, 1)))
		return spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, spec->path, e);
	if (!spec->has_stdin) {
		s->in_read = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (s->in_read < 0)
			return spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, "/dev/null", e);
	}
	give_pipes(s, &spec->confine);
	return 0;
}

static struct proc_live *new_live(struct proc *p, const char *path)
{
	struct proc_live *live = mem_zalloc(sizeof(*live));

	live->path = mem_strdup(path);
	live->out.on_data = live->err.on_data = on_pump_data;
	live->out.ctx = live->err.ctx = p;
	live->out.io.fd = live->err.io.fd = live->feed.io.fd = live->tree.control.fd = -1;
	live->limits.oom.fd = -1;
	live->tree.on_report = on_report;
	live->tree.on_listener = on_listener;
	live->tree.on_lost = on_lost;
	live->tree.on_keeper = on_keeper;
	live->tree.on_empty = on_tree_empty;
	live->tree.ctx = p;
	ev_timer_init(&live->timeout, on_timeout, 0., 0.);
	ev_timer_init(&live->drain, on_drain_over, 0., 0.);
	live->timeout.data = live->drain.data = p;
	return live;
}

static struct proc *new_record(const struct proc_env *env, const struct proc_spec *spec)
{
	size_t command = strlen(spec->command) + 1, cwd = strlen(spec->cwd) + 1;
	size_t origin = spec->origin ? strlen(spec->origin) + 1 : 0;
	/* One piece of memory: a thousand records are kept. */
	struct proc *p = mem_zalloc(sizeof(*p) + command + cwd + origin);
	uint64_t region = (env->head_bytes + env->tail_bytes + PAGE_BYTES - 1) / PAGE_BYTES *
			  PAGE_BYTES;

	p->env = env;
	p->command = memcpy(p + 1, spec->command, command);
	p->cwd = memcpy(p->command + command, spec->cwd, cwd);
	if (origin)
		p->origin = memcpy(p->cwd + cwd, spec->origin, origin);
	p->seq = spec->seq;
	p->background = spec->background;
	p->started_mono_ms = clock_mono_ms();
	p->started_wall_ms = clock_wall_ms();
	spool_init(&p->spool);
	output_init(&p->out, &p->spool, 0, env->head_bytes, env->tail_bytes);
	output_init(&p->err, &p->spool, region, env->head_bytes, env->tail_bytes);
	p->tree_alive = true;
	p->live = new_live(p, spec->path);
	return p;
}

/* The keeper runs: watch everything. */
static void watch(struct proc *p, const struct proc_spec *spec, struct start *s,
		  const struct spawn_result *spawned)
{
	struct ev_loop *loop = p->env->loop;

	p->live->past = spawned->past;
	p->live->keeper_kind = spawned->kind;
	tree_start(&p->live->tree, loop, p->env->reaper, spawned->keeper_pid, spawned->control_fd);
	pump_start(&p->live->out, loop, s->out_read, &p->out);
	pump_start(&p->live->err, loop, s->err_read, &p->err);
	s->out_read = s->err_read = -1;
	if (spec->has_stdin) {
		feed_start(&p->live->feed, loop, s->in_write, spec->stdin_bytes, spec->stdin_len);
		s->in_write = -1;
	}
	if (spec->timeout_ms)
		loop_timer_start(loop, &p->live->timeout, (double)spec->timeout_ms);
}

static int spawn(const struct proc_env *env, const struct proc_spec *spec, const struct start *s,
		 struct confine_run *run, struct spawn_result *spawned, struct err *e)
{
	struct spawn_request request = {
		.path = spec->path,
		.argv = spec->argv,
		.envp = spec->envp,
		.cwd_fd = spec->cwd_fd,
		.cwd = spec->cwd,
		.stdin_fd = s->in_read,
		.stdout_fd = s->out_write,
		.stderr_fd = s->err_write,
		.announce = spec->background,
	};

	return start_command(env->confine, &spec->confine, spec->seq, env->spare, &request, run,
			     spawned, e);
}

static int try_start(const struct proc_env *env, const struct proc_spec *spec, struct start *s,
		     struct confine_run *run, struct spawn_result *spawned, struct err *e)
{
	*s = (struct start){ -1, -1, -1, -1, -1, -1 };
	if (!open_pipes(s, spec, e) && !spawn(env, spec, s, run, spawned, e))
		return 0;
	close_fds(s);
	return -1;
}

struct proc *proc_new(const struct proc_env *env, const struct proc_spec *spec, struct err *e)
{
	struct start s;
	struct spawn_result spawned;
	struct confine_run run = { 0 };
	struct proc *p = NULL;
	int result = try_start(env, spec, &s, &run, &spawned, e);

	if (result && start_drop_idle(env->confine, env->spare)) {
		err_release(e);
		result = try_start(env, spec, &s, &run, &spawned, e);
	}
	if (!result) {
		p = new_record(env, spec);
		p->applied = run.applied;
		p->live->confine = run;
		limits_init(&p->limits, &spec->confine, &run);
		limits_watch_start(&p->live->limits, env->loop, &p->limits, run.cgroup, on_limit,
				   p);
		if (run.cgroup)
			cgroup_joined(run.cgroup); /* the keeper has its own descriptors */
		watch(p, spec, &s, &spawned);
		close_fds(&s);
	}
	return p;
}

void proc_free(struct proc *p)
{
	if (!p)
		return;
	release_live(p);
	denials_free(p->denials);
	spool_close(&p->spool);
	if (p->failure)
		err_release(p->failure);
	free(p->failure);
	free(p);
}

/* ---- what others ask and do ---- */

int proc_exit_code(const struct proc *p)
{
	return p->state == PROC_STATE_COMPLETED && p->exited && WIFEXITED(p->wait_status)
		       ? WEXITSTATUS(p->wait_status)
		       : -1;
}

const char *proc_signal_name(const struct proc *p)
{
	if (p->state == PROC_STATE_RUNNING || !p->exited || !WIFSIGNALED(p->wait_status))
		return NULL;
	return names_signal(WTERMSIG(p->wait_status));
}

int64_t proc_duration_ms(const struct proc *p)
{
	return (p->ended_mono_ms ? p->ended_mono_ms : clock_mono_ms()) - p->started_mono_ms;
}

bool proc_output_open(const struct proc *p)
{
	return p->live && (pump_open(&p->live->out) || pump_open(&p->live->err));
}

const struct usage *proc_usage(struct proc *p)
{
	if (p->tree_alive && (!p->exited || p->leftover))
		usage_live(p->live->tree.keeper_pid, &p->live->past, &p->usage);
	if (p->live && p->tree_alive)
		limits_group_usage(&p->limits, p->live->confine.cgroup, &p->usage);
	return &p->usage;
}

void proc_kill_tree(struct proc *p, enum proc_reason reason)
{
	if (!p->tree_alive)
		return;
	if (p->phase != PROC_SETTLED) {
		/* The first reason holds; a command that is already over was not killed. */
		if (!p->exited && p->kill_reason == PROC_REASON_RUNNING)
			p->kill_reason = reason;
		loop_timer_stop(p->env->loop, &p->live->timeout);
		loop_timer_stop(p->env->loop, &p->live->drain);
		p->phase = PROC_KILLING;
	}
	tree_kill(&p->live->tree, p->env->kill_patience_ms);
}

int proc_signal(struct proc *p, int signal, struct err *e)
{
	if (p->live && !tree_signal(&p->live->tree, signal))
		return 0;
	return err_sys(e, ERR_KILL_FAILED, errno, "%s could not be sent to %s",
		       names_signal(signal), p->id);
}
