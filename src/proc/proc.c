#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/ports.h"
#include "os/procfs.h"
#include "os/pty.h"
#include "os/spawn/spawn.h"
#include "proc/names.h"
#include "proc/proc_life.h"

#define PACKED_MAX 1024 /* bytes of a record: what is left of a page is lost */
#define LAST_LOOK 64 /* processes */
#define UNREAD_MS 50 /* for the loop to read what is in a pipe */

static void proc_notify(struct proc *p, unsigned events)
{
	proc_env(p)->on_event(proc_env(p)->ctx, p, events);
}

/* ---- the end ---- */

/* Signals that ask a process to end: an exit soon after one counts as killed, whatever its
 * status. */
static bool proc_is_ending_signal(int signal)
{
	return signal == SIGTERM || signal == SIGKILL || signal == SIGINT || signal == SIGQUIT ||
	       signal == SIGHUP;
}

/* The reason that the wait status alone proves. */
static enum proc_reason proc_reason_of_status(const struct proc *p)
{
	enum proc_reason limit = limits_of_status(&p->settings->limits, p->wait_status, &p->usage);

	if (limit != PROC_REASON_RUNNING)
		return limit;
	/* Anybody can send SIGSYS; that a filter did is known only of the calls that we answer. */
	return WTERMSIG(p->wait_status) == SIGSYS && seccomp_unotify_killed(p->rare->notify)
		       ? PROC_REASON_SECCOMP
		       : PROC_REASON_SIGNALED;
}

/* Did the command end by a signal that we sent, without our SIGKILL? */
static bool proc_end_was_requested(const struct proc *p)
{
	return p->ended_mono_ms < p->live->asked_until_ms ||
	       (p->exited && WIFSIGNALED(p->wait_status) &&
		WTERMSIG(p->wait_status) == p->live->signal_sent);
}

static void proc_set_killed(struct proc *p)
{
	p->reason = p->live->kill_reason;
	p->state = p->reason == PROC_REASON_TIMEOUT || p->reason == PROC_REASON_IDLE
			   ? PROC_STATE_TIMED_OUT
			   : PROC_STATE_KILLED;
}

/*
 * Decide by evidence, in this order: our own kill if it took effect, a signal that a request sent
 * before the end, the wait status. A command that exited or died of another signal while our
 * SIGKILL was under way has not died of it, unless a limit struck before: then its end is not a
 * result.
 */
static void proc_decide_state(struct proc *p)
{
	bool by_signal = p->exited && WIFSIGNALED(p->wait_status);
	bool by_sigkill = by_signal && WTERMSIG(p->wait_status) == SIGKILL;

	if (p->live->kill_reason != PROC_REASON_RUNNING &&
	    (!p->exited || by_sigkill || p->live->kill_reason == p->rare->proof.struck)) {
		proc_set_killed(p);
	} else if (proc_end_was_requested(p)) {
		p->live->kill_reason = PROC_REASON_KILLED_BY_REQUEST;
		proc_set_killed(p);
	} else if (!p->exited || by_signal) {
		p->state = PROC_STATE_KILLED;
		p->reason = by_signal ? proc_reason_of_status(p) : PROC_REASON_SUPERVISOR_LOST;
	} else {
		p->state = PROC_STATE_COMPLETED;
		p->reason = PROC_REASON_EXITED;
	}
}

static void proc_note_end(struct proc *p)
{
	if (p->ended_mono_ms)
		return;
	p->ended_mono_ms = clock_mono_ms();
	p->ended_wall_ms = clock_wall_ms();
	p->live->reported = 0;
}

static void proc_stop_time_limits(struct proc *p)
{
	loop_timer_stop(proc_env(p)->loop, &p->live->timeout);
	loop_timer_stop(proc_env(p)->loop, &p->live->silence);
}

static void proc_settle(struct proc *p)
{
	if (p->phase == PROC_SETTLED)
		return;
	proc_stop_time_limits(p);
	loop_timer_stop(proc_env(p)->loop, &p->live->drain);
	proc_note_end(p);
	if (p->rare->log_file && !log_file_finish(p->rare->log_file, p->exited))
		return; /* proc_on_log_file_over() settles */
	proc_decide_state(p);
	p->rare->stdin_unread = feed_unread(&p->live->feed);
	p->stdin_refused = feed_refused(&p->live->feed);
	p->phase = PROC_SETTLED;
	proc_notify(p, PROC_EVENT_SETTLED);
}

/* The shim reports a command that lives on after SHIM_ANNOUNCE_MS. A shorter one wakes the server
 * once, by its end, and not for the ends of its pipes before. */
static void proc_let_pumps_go(struct proc *p)
{
	pump_let_go(&p->live->out);
	pump_let_go(&p->live->err);
}

/* The feed has a duplicate of our end of the terminal. It must not keep open what nobody reads:
 * what a process wrote to it then would be lost, and the writer wait for good. */
static void proc_close_ended_terminal(struct proc *p)
{
	if (p->live->out.is_terminal && !pump_open(&p->live->out))
		feed_hang_up(&p->live->feed, true);
}

static bool proc_drain_pumps(struct proc *p)
{
	bool out_ended = pump_drain(&p->live->out), err_ended = pump_drain(&p->live->err);

	proc_close_ended_terminal(p);
	return out_ended && err_ended;
}

/* All readers and writers of the run are dead, and everything is read: but the shim may still have
 * ends of the pipes, so that these do not say so. And another process may have a terminal, which
 * is not locked then: nothing may keep it open, unread. */
static void proc_close_streams(struct proc *p)
{
	pump_close(&p->live->out);
	pump_close(&p->live->err);
	feed_hang_up(&p->live->feed, false);
}

static void proc_on_pump_data(void *ctx, bool stored)
{
	struct proc *p = ctx;

	proc_close_ended_terminal(p);
	if (stored) {
		p->live->output_mono_ms = clock_mono_ms();
		if (p->rare->log_file)
			log_file_feed(p->rare->log_file);
		proc_notify(p, PROC_EVENT_OUTPUT);
	}
	if (p->phase == PROC_DRAINING && !proc_output_open(p))
		proc_settle(p);
}

static void proc_on_drain_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct proc *p = w->data;

	(void)loop;
	(void)revents;
	proc_drain_pumps(p);
	proc_settle(p);
}

/* ---- reports of the shim ---- */

static void proc_read_group(struct proc *p)
{
	limits_group_usage(p->live->confine.cgroup, &p->usage);
	limits_count_refused(&p->rare->proof, p->live->confine.cgroup);
}

static void proc_take_usage(struct proc *p, const struct shim_report *report)
{
	int64_t peak = (int64_t)report->maxrss_kib * 1024;

	if (peak < (int64_t)report->memory_peak_bytes)
		peak = (int64_t)report->memory_peak_bytes;
	p->usage.cpu_ms = (int64_t)(report->cpu_us + 500) / 1000;
	if (peak > p->usage.memory_peak_bytes)
		p->usage.memory_peak_bytes = peak;
	p->usage.io_read_bytes = (int64_t)report->io_read_bytes;
	p->usage.io_write_bytes = (int64_t)report->io_write_bytes;
	if (!report->empty) /* else proc_on_tree_empty(), which comes next, reads it */
		proc_read_group(p);
}

void proc_on_limit(void *ctx)
{
	struct proc *p = ctx;

	proc_kill_tree(p, p->rare->proof.struck);
}

pid_t proc_pid(const struct proc *p)
{
	struct proc_live *live = p->live;

	if (!live || !live->reported)
		return 0;
	if (!(p->settings->applied.layers & 1u << CONFINE_PID_NS))
		return live->reported;
	if (!live->pid)
		live->pid = procfs_find_inner(live->tree.shim_pid, live->reported);
	return live->pid;
}

static void proc_on_started(struct proc *p, pid_t pid)
{
	p->live->reported = pid;
	if (p->phase == PROC_STARTING)
		p->phase = PROC_RUNNING;
	if (p->rare->log_file)
		log_file_feed(p->rare->log_file);
	proc_notify(p, PROC_EVENT_STARTED);
}

static bool proc_has_deadline(const struct proc *p)
{
	return loop_timer_is_set(&p->live->deadline);
}

/* Was the command sent a signal whose deadline is still to come? */
static bool proc_has_pending_signal(const struct proc *p)
{
	return p->live->asked_until_ms == INT64_MAX && proc_has_deadline(p);
}

/* From now on attribute an exit of the command to @signal: until the deadline, or for
 * PROC_LIVES_ON_MS. */
static void proc_note_signal(struct proc *p, int signal)
{
	p->live->signal_sent = signal;
	if (proc_has_deadline(p))
		p->live->asked_until_ms = INT64_MAX;
	else if (proc_is_ending_signal(signal) && p->live->asked_until_ms != INT64_MAX)
		p->live->asked_until_ms = clock_mono_ms() + PROC_LIVES_ON_MS;
}

/* A signal that failed drops the deadline: SIGKILL would fail too. */
static void proc_on_signaled(struct proc *p, const struct shim_report *report)
{
	p->live->signal_tried = report->value;
	p->live->signal_error = report->error;
	if (!p->exited && report->error)
		loop_timer_stop(proc_env(p)->loop, &p->live->deadline);
	else if (!p->exited)
		proc_note_signal(p, report->value);
	proc_notify(p, PROC_EVENT_SIGNALED);
}

static void proc_on_exited(struct proc *p, const struct shim_report *report)
{
	if (limits_check_group(&p->rare->proof, p->live->confine.cgroup))
		proc_on_limit(p); /* limits_watch may not have fired yet */
	p->exited = true;
	p->wait_status = report->value;
	p->rare->leftover = report->live;
	p->leftover_unknown |= report->uncounted;
	mem_cleanup_close(&p->live->terminal_fd);
	proc_take_usage(p, report);
	proc_note_end(p);
	if (p->phase != PROC_KILLING)
		p->phase = proc_has_pending_signal(p) ? PROC_ENDING : PROC_DRAINING;
	if (p->phase != PROC_ENDING)
		proc_stop_time_limits(p);
	if (report->empty)
		return; /* proc_on_tree_empty() comes next and settles */
	if (p->phase == PROC_DRAINING)
		loop_timer_start(proc_env(p)->loop, &p->live->drain, proc_env(p)->drain_ms);
	/* What the command wrote before its exit is in the pipes by now. */
	if (proc_drain_pumps(p) && p->phase == PROC_DRAINING)
		proc_settle(p);
}

static void proc_on_report(void *ctx, const struct shim_report *report)
{
	struct proc *p = ctx;

	if (!report->empty) /* else proc_on_tree_empty() comes next */
		proc_let_pumps_go(p);
	switch (report->event) {
	case SHIM_STARTED:
		proc_on_started(p, report->value);
		break;
	case SHIM_FAILED:
		p->rare->failure = mem_zalloc(sizeof(*p->rare->failure));
		spawn_failed(report->value, report->error, p->live->path, p->rare->failure);
		break;
	case SHIM_EXITED:
		proc_on_exited(p, report);
		break;
	case SHIM_SIGNALED:
		proc_on_signaled(p, report);
		break;
	case SHIM_LIMITED:
		limits_reported(&p->rare->proof, report);
		proc_on_limit(p);
		break;
	case SHIM_EMPTY:
		proc_take_usage(p, report);
		p->rare->killed_rest = report->live;
		p->usage_partial = report->uncounted;
		p->leftover_unknown |= report->uncounted;
		if (p->phase == PROC_DRAINING)
			p->rare->leftover = 0;
		else if (p->phase != PROC_SETTLED && report->live > p->rare->leftover)
			p->rare->leftover = report->live;
		break;
	}
}

/* From now on the command's filter notifies us of refused calls. */
static void proc_on_listener(void *ctx, int fd)
{
	struct proc *p = ctx;

	if (p->rare->notify)
		mem_cleanup_close(&fd);
	else
		p->rare->notify = seccomp_unotify_new(proc_env(p)->loop, fd);
}

void proc_take_terminal(struct proc *p, const struct proc_terminal *terminal, int ours, int theirs)
{
	struct proc_live *live = p->live;

	live->terminal_fd = theirs;
	if (terminal->take) {
		terminal->take(terminal->take_ctx, ours);
		return;
	}
	if (live->feed.awaits)
		feed_connect(&live->feed, fcntl(ours, F_DUPFD_CLOEXEC, 0));
	pump_start(&live->out, proc_env(p)->loop, ours, -1, &p->out);
}

/* The command's process has opened it. Its size may have been changed meanwhile. */
static void proc_on_terminal(void *ctx, int ours, int theirs)
{
	struct proc *p = ctx;
	const struct proc_terminal terminal = p->live->awaited;

	p->live->awaited = (struct proc_terminal){ .take = NULL };
	(void)pty_resize(ours, p->rare->out.screen.cols, p->rare->out.screen.rows);
	proc_take_terminal(p, &terminal, ours, theirs);
}

/* Release everything that a run needs while it is alive. */
static void proc_release_live(struct proc *p)
{
	struct proc_live *live = p->live;

	if (!live)
		return;
	proc_stop_time_limits(p);
	loop_timer_stop(proc_env(p)->loop, &live->drain);
	loop_timer_stop(proc_env(p)->loop, &live->deadline);
	pump_close(&live->out);
	pump_close(&live->err);
	feed_close(&live->feed);
	mem_cleanup_close(&live->terminal_fd);
	tree_release(&live->tree);
	limits_watch_stop(&live->limits, proc_env(p)->loop);
	seccomp_unotify_stop(p->rare->notify);
	confine_run_release(&live->confine);
	if (live->release_attached)
		live->release_attached(live->attached);
	free(live->path);
	free(live->origin);
	slab_free(live);
	p->live = NULL;
}

/* The shim died before it could report leftovers and usage. */
static void proc_note_lost_shim(struct proc *p)
{
	if (!p->live->tree.lost)
		return;
	p->usage_partial = true;
	if (p->phase != PROC_SETTLED)
		p->leftover_unknown = true;
}

/* Did our SIGKILL kill any process? The command counts if it was alive at that moment, and so does
 * the process that was to become it. */
static bool proc_kill_ended_any(const struct proc *p)
{
	bool by_sigkill = WIFSIGNALED(p->wait_status) && WTERMSIG(p->wait_status) == SIGKILL;
	bool command = p->live->kill_reason != PROC_REASON_RUNNING && (!p->exited || by_sigkill);

	return command || p->rare->killed_rest || p->rare->survivors || p->leftover_unknown;
}

/* The shim died while it waited for a command, out of memory for one, or found itself changed. */
static void proc_note_never_began(struct proc *p)
{
	if (p->rare->failure || p->live->kill_reason != PROC_REASON_RUNNING ||
	    !tree_never_began(&p->live->tree))
		return;
	p->never_began = true;
	(void)pool_drop_idle(proc_env(p)->pool, 0); /* the others may be dying too */
	p->rare->failure = mem_zalloc(sizeof(*p->rare->failure));
	(void)spawn_killed(p->rare->failure);
}

/* The last step of a run, after it has settled. */
static void proc_leave_tree(struct proc *p)
{
	if (!p->rare->survivors)
		proc_release_live(p);
	proc_notify(p, PROC_EVENT_EMPTY); /* may free p */
}

static void proc_on_tree_empty(void *ctx)
{
	struct proc *p = ctx;

	p->live->reported = 0;
	proc_note_never_began(p);
	if (p->rare->failure) {
		proc_notify(p, PROC_EVENT_FAILED); /* frees p */
		return;
	}
	mem_cleanup_close(&p->live->terminal_fd);
	if (p->live->tree.lost) /* survivors may write, and there may have been no report */
		proc_let_pumps_go(p);
	proc_drain_pumps(p);
	if (!p->live->tree.lost)
		proc_close_streams(p);
	p->tree_alive = false;
	p->rare->survivors = p->live->tree.survivors;
	p->supervisor_lost = p->live->tree.lost && !p->live->tree.given_up && !p->exited;
	proc_read_group(p);
	proc_note_lost_shim(p);
	p->usage.alive = p->rare->survivors ? -1 : 0; /* nobody sees survivors die */
	p->forced = p->forced && proc_kill_ended_any(p);
	loop_timer_stop(proc_env(p)->loop, &p->live->deadline);
	proc_settle(p);
	if (p->phase == PROC_SETTLED)
		proc_leave_tree(p);
}

void proc_on_log_file_over(void *ctx)
{
	struct proc *p = ctx;

	proc_settle(p);
	if (!p->tree_alive)
		proc_leave_tree(p);
}

static void proc_kill_group(void *ctx)
{
	struct proc *p = ctx;
	struct usage seen = p->usage;

	/* Read the usage once more, in case the shim does not report. Bounded, so that it delays no
	 * kill. */
	(void)usage_live(p->live->tree.shim_pid, &p->live->past, LAST_LOOK, &seen);
	if (seen.cpu_ms > p->usage.cpu_ms)
		p->usage = seen;
	limits_ending(&p->rare->proof, p->live->confine.cgroup);
	if (!p->live->confine.cgroup)
		return;
	(void)cgroup_kill(p->live->confine.cgroup);
	/* The shim finds them dead before it reads that it is a kill, and dying parents have
	 * collected some: whatever it reports is not a count. */
	p->leftover_unknown = true;
}

static void proc_on_shim(void *ctx, pid_t shim_pid, int control_fd, const struct shim_report *last)
{
	struct proc *p = ctx;
	const struct spawn_result started = {
		.shim_pid = shim_pid, .control_fd = control_fd,
		.kind = p->live->pool_kind, .past = p->live->past,
	};

	p->live->confine.left_nothing = true;
	pool_return(proc_env(p)->pool, &started, last);
}

/* If the command was sent a signal that is to end it, that is the cause of the end, and only the
 * time for it is over. If it has ended, it was in time, and what it has left lives on. */
static void proc_time_out(struct proc *p, enum proc_reason limit)
{
	if (!tree_look(&p->live->tree) || (p->exited && p->phase != PROC_ENDING))
		return;
	proc_kill_tree(p, clock_mono_ms() < p->live->asked_until_ms ? PROC_REASON_KILLED_BY_REQUEST
								     : limit);
}

static void proc_on_timeout(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	proc_time_out(w->data, PROC_REASON_TIMEOUT);
}

/* Bytes that wait in a pipe are output, read or not. */
int64_t proc_silence_left(const struct proc *p, int64_t wanted_ms)
{
	int64_t left = p->live->output_mono_ms + wanted_ms - clock_mono_ms();

	if (left > 0)
		return left;
	return pump_has_bytes(&p->live->out) || pump_has_bytes(&p->live->err) ? UNREAD_MS : 0;
}

/* Output does not restart the timer, which would cost every read: what is left is counted here. */
static void proc_on_silence(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct proc *p = w->data;
	int64_t left = proc_silence_left(p, p->live->idle_timeout_ms);

	(void)revents;
	if (left > 0)
		loop_timer_start(loop, w, (double)left);
	else
		proc_time_out(p, PROC_REASON_IDLE);
}

static void proc_on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	proc_kill_tree(w->data, PROC_REASON_KILLED_BY_REQUEST);
}

/* ---- watchers ---- */

struct proc_live *proc_live_new(struct proc *p, const struct proc_spec *spec)
{
	struct proc_live *live = slab_zalloc(proc_env(p)->live, sizeof(*live));

	live->path = mem_strdup(spec->path);
	live->origin = mem_strdup(spec->origin);
	live->out.on_data = live->err.on_data = proc_on_pump_data;
	live->out.ctx = live->err.ctx = p;
	live->out.arrivals = live->err.arrivals = &p->arrivals;
	live->out.start_ms = live->err.start_ms = live->output_mono_ms =
		p->started_mono_us / 1000;
	live->err.is_err = true;
	live->out.io.fd = live->err.io.fd = live->feed.io.fd = live->tree.control.fd = -1;
	live->out.held = live->err.held = -1;
	live->feed.rest_fd = live->terminal_fd = -1;
	live->limits.oom.fd = -1;
	live->tree.on_report = proc_on_report;
	live->tree.on_listener = proc_on_listener;
	live->tree.on_terminal = proc_on_terminal;
	live->tree.on_shim = proc_on_shim;
	live->tree.on_empty = proc_on_tree_empty;
	live->tree.kill_group = proc_kill_group;
	live->tree.ctx = p;
	loop_timer_init(&live->timeout, proc_on_timeout, p);
	loop_timer_init(&live->silence, proc_on_silence, p);
	loop_timer_init(&live->drain, proc_on_drain_over, p);
	loop_timer_init(&live->deadline, proc_on_deadline, p);
	return live;
}

static void proc_rare_free(struct proc_rare *r)
{
	seccomp_unotify_free(r->notify);
	log_file_free(r->log_file);
	spool_close(&r->spool);
	if (r->failure)
		err_release(r->failure);
	free(r->failure);
	free(r->git_changes);
	free(r);
}

static bool proc_has_rare(const struct proc *p)
{
	const struct proc_rare *r = p->rare;
	uint64_t from, to;

	return r->spool.fd >= 0 || r->out.screen.cols || r->leftover || r->killed_rest ||
	       r->survivors || r->stdin_unread || r->dropped_logs || r->notify ||
	       r->log_file || r->failure || r->git_changes ||
	       r->proof.struck != PROC_REASON_RUNNING || r->proof.oom_kills ||
	       r->proof.tasks_refused || output_evicted(&p->out, &from, &to) ||
	       output_evicted(&p->err, &from, &to);
}

static void proc_drop_rare(struct proc *p)
{
	struct proc_rare *none = proc_env(p)->none;

	proc_rare_free(p->rare);
	p->rare = none;
	p->out.range = &none->out;
	p->err.range = &none->err;
}

/* Beside what comes and goes with each run, a record would keep memory around it from other use.
 * A log file has pointers into it. */
static struct proc *proc_pack(struct proc *p)
{
	const char *last = proc_masked(p);
	size_t head = (size_t)(last + strlen(last) + 1 - (const char *)p);
	size_t out = output_heap_bytes(&p->out), err = output_heap_bytes(&p->err);
	struct proc *packed;
	char *place;

	if (p->rare->log_file || head + out + err > PACKED_MAX)
		return p;
	place = slab_zalloc(proc_env(p)->over, head + out + err);
	packed = memcpy(place, p, head);
	free(p);
	output_move(&packed->out, place + head);
	output_move(&packed->err, place + head + out);
	packed->packed = true;
	return packed;
}

struct proc *proc_shrink(struct proc *p)
{
	if (p->live || p->packed)
		return p;
	if (!proc_has_rare(p))
		proc_drop_rare(p);
	return proc_pack(p);
}

static void proc_free_record(struct proc *p)
{
	if (p->packed) {
		slab_free(p);
		return;
	}
	output_release(&p->out);
	output_release(&p->err);
	free(p);
}

void proc_free(struct proc *p)
{
	struct proc_settings *settings;

	if (!p)
		return;
	proc_release_live(p);
	arrivals_release(&p->arrivals);
	if (p->rare != proc_env(p)->none)
		proc_rare_free(p->rare);
	settings = p->settings;
	proc_free_record(p);
	if (!--settings->users)
		free(settings);
}

/* ---- the interface ---- */

const char *proc_command(const struct proc *p)
{
	return p->id + strlen(p->id) + 1;
}

const char *proc_masked(const struct proc *p)
{
	const char *command = proc_command(p);

	return p->has_masked ? command + strlen(command) + 1 : command;
}

int proc_exit_code(const struct proc *p)
{
	return p->state == PROC_STATE_COMPLETED && p->exited && WIFEXITED(p->wait_status)
		       ? WEXITSTATUS(p->wait_status)
		       : -1;
}

void proc_attach(struct proc *p, void *state, void (*release)(void *state))
{
	p->live->attached = state;
	p->live->release_attached = release;
}

void *proc_attached(const struct proc *p)
{
	return p->live ? p->live->attached : NULL;
}

static int proc_fail_closed(const struct proc *p, struct err *e)
{
	const struct proc_live *live = p->live;

	if (live->stdin_mode != PROC_STDIN_PIPE) {
		err_set(e, ERR_STDIN_CLOSED, "the stdin of %s takes nothing: the run was started "
			"without stdin_mode \"pipe\"", p->id);
		return err_hint(e, "Call process.monitor for the state of the run; to write to the "
				"command, start it again with stdin_mode \"pipe\".");
	}
	return err_set(e, ERR_STDIN_CLOSED, live->feed.hung_up
		       ? "the command of %s has closed its stdin"
		       : "the stdin of %s was closed by an earlier call", p->id);
}

static int proc_fail_input_full(const struct proc *p, size_t len, struct err *e)
{
	size_t queued = proc_input_queued(p);

	err_set(e, ERR_LIMIT_REACHED, "%zu bytes already wait until %s reads its stdin, and with "
		"%zu more they would exceed limits.stdin_bytes, %zu; nothing was taken", queued,
		p->id, len, proc_env(p)->stdin_max);
	err_detail(e, "limit", json_string("limits.stdin_bytes"));
	err_detail(e, "limit_value", json_integer((json_int_t)proc_env(p)->stdin_max));
	err_detail(e, "bytes_queued", json_integer((json_int_t)queued));
	if (len > proc_env(p)->stdin_max) {
		e->lasting = true;
		return err_hint(e, "Send at most %zu bytes in one call.", proc_env(p)->stdin_max);
	}
	return err_hint(e, "Wait until the command has read more, then send the rest.");
}

bool proc_takes_input(const struct proc *p)
{
	return p->tree_alive && feed_open(&p->live->feed);
}

bool proc_takes_bytes(const struct proc *p, size_t len)
{
	size_t queued, max;

	if (!proc_takes_input(p))
		return false;
	queued = proc_input_queued(p);
	max = proc_env(p)->stdin_max;
	return !len || (queued <= max && len <= max - queued);
}

int proc_check_input(const struct proc *p, size_t len, struct err *e)
{
	if (proc_takes_bytes(p, len))
		return 0;
	if (!p->tree_alive)
		return err_set(e, ERR_PROCESS_ALREADY_EXITED, "%s has ended", p->id);
	if (!feed_open(&p->live->feed))
		return proc_fail_closed(p, e);
	return proc_fail_input_full(p, len, e);
}

bool proc_type(struct proc *p, const void *bytes, size_t len, bool close)
{
	struct proc_live *live = p->live;
	char end[PTY_END_MAX];
	size_t end_len;

	if (len) {
		feed_add(&live->feed, bytes, len, false);
		pty_type(live->out.io.fd, &live->typed, bytes, len);
	}
	end_len = close ? pty_end_of_file(live->out.io.fd, &live->typed, end) : 0;
	if (!end_len || !feed_open(&live->feed))
		return false;
	feed_add(&live->feed, end, end_len, false);
	live->typed = (struct pty_line){ 0 };
	return true;
}

int proc_input(struct proc *p, const void *bytes, size_t len, size_t taken, bool *close,
	       struct err *e)
{
	if (proc_check_input(p, len, e))
		return -1;
	if (p->live->feed.is_terminal)
		*close = proc_type(p, bytes, len, *close);
	else
		feed_offer(&p->live->feed, bytes, len, taken, *close);
	pump_look(&p->live->out);
	return p->live->feed.hung_up ? proc_fail_closed(p, e) : 0;
}

bool proc_has_terminal(const struct proc *p)
{
	return p->live && p->live->out.is_terminal;
}

bool proc_echoes(const struct proc *p)
{
	return !proc_has_terminal(p) || !pump_open(&p->live->out) ||
	       pty_echoes(p->live->out.io.fd);
}

bool proc_types_lines(const struct proc *p)
{
	return proc_has_terminal(p) && pump_open(&p->live->out) &&
	       pty_has_lines(p->live->out.io.fd);
}

int proc_resize(struct proc *p, unsigned cols, unsigned rows, struct err *e)
{
	if (!p->tree_alive ||
	    (proc_has_terminal(p) && !pump_open(&p->live->out) && !p->live->awaited.start.cols))
		return err_set(e, ERR_PROCESS_ALREADY_EXITED, "%s has ended", p->id);
	if (!proc_has_terminal(p)) {
		err_invalid(e, "process_id", "%s has no terminal", p->id);
		return err_hint(e, "Start the command with tty: true, and cols and rows.");
	}
	p->rare->out.screen = (struct screen_size){ (uint16_t)cols, (uint16_t)rows };
	if (pump_open(&p->live->out))
		(void)pty_resize(p->live->out.io.fd, cols, rows); /* does not fail */
	return 0;
}

size_t proc_input_queued(const struct proc *p)
{
	return p->live ? feed_queued(&p->live->feed) : 0;
}

const char *proc_signal_name(const struct proc *p)
{
	if (p->state == PROC_STATE_RUNNING || !p->exited || !WIFSIGNALED(p->wait_status))
		return NULL;
	return names_signal(WTERMSIG(p->wait_status));
}

int64_t proc_duration_ms(const struct proc *p)
{
	return (p->ended_mono_ms ? p->ended_mono_ms : clock_mono_ms()) - p->started_mono_us / 1000;
}

bool proc_output_open(const struct proc *p)
{
	return p->live && (pump_open(&p->live->out) || pump_open(&p->live->err));
}

bool proc_output_ended(const struct proc *p)
{
	return p->phase == PROC_SETTLED && !proc_output_open(p);
}

bool proc_stdin_refused(const struct proc *p)
{
	return p->phase == PROC_SETTLED || !p->live ? p->stdin_refused : p->live->feed.refused;
}

const struct usage *proc_usage(struct proc *p)
{
	struct usage now = p->usage;

	if (!p->tree_alive)
		return &p->usage;
	p->live->resident_bytes = usage_live(p->live->tree.shim_pid, &p->live->past, USAGE_TREE_MAX,
					     &now);
	if (!now.alive && p->phase != PROC_SETTLED)
		now.alive = 1; /* the command starts, or ends just now: it counts as running */
	p->usage.alive = now.alive;
	if (!p->exited || p->rare->leftover)
		p->usage = now;
	limits_group_usage(p->live->confine.cgroup, &p->usage);
	return &p->usage;
}

int64_t proc_tasks_refused(struct proc *p)
{
	if (p->tree_alive)
		limits_count_refused(&p->rare->proof, p->live->confine.cgroup);
	return p->rare->proof.tasks_refused;
}

void proc_look_at_ports(const struct proc *p)
{
	struct procfs_process tree[PROC_PORTS_MAX];
	int count = 0;

	if (p->tree_alive && p->live->tree.shim_pid > 0)
		count = procfs_tree(p->live->tree.shim_pid, tree, PROC_PORTS_MAX);
	ports_look_at(tree, count);
}

void proc_kill_tree(struct proc *p, enum proc_reason reason)
{
	if (!p->tree_alive)
		return;
	if (p->phase != PROC_SETTLED) {
		/* The first reason holds; a command that is already over was not killed. */
		if (!p->exited && p->live->kill_reason == PROC_REASON_RUNNING)
			p->live->kill_reason = reason;
		proc_stop_time_limits(p);
		loop_timer_stop(proc_env(p)->loop, &p->live->drain);
		p->phase = PROC_KILLING;
	}
	loop_timer_stop(proc_env(p)->loop, &p->live->deadline);
	p->forced = true;
	limits_ending(&p->rare->proof, p->live->confine.cgroup);
	tree_kill(&p->live->tree);
}

int proc_signal(struct proc *p, int signal, struct err *e)
{
	if (p->live && !tree_signal(&p->live->tree, signal))
		return 0;
	return err_sys(e, ERR_KILL_FAILED, errno, "%s could not be sent to %s",
		       names_signal(signal), p->id);
}

/* Never postpones a deadline that is already set. */
static void proc_set_deadline(struct proc *p, double ms)
{
	struct ev_loop *loop = proc_env(p)->loop;
	ev_timer *deadline = &p->live->deadline;

	if (ms <= 0 || p->live->tree.killing)
		return;
	if (!proc_has_deadline(p) || ev_timer_remaining(loop, deadline) * 1000 > ms)
		loop_timer_start(loop, deadline, ms);
}

int proc_end(struct proc *p, int signal, double force_after_ms, struct err *e)
{
	proc_set_deadline(p, force_after_ms);
	if (!tree_signal_all(&p->live->tree, signal))
		return 0;
	return err_sys(e, ERR_KILL_FAILED, errno, "%s could not be sent to %s",
		       names_signal(signal), p->id);
}

bool proc_is_ending(const struct proc *p)
{
	if (!p->tree_alive)
		return p->phase != PROC_SETTLED; /* its log file gets the last bytes */
	return p->live->tree.killing || proc_has_deadline(p);
}
