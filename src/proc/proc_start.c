/* The start of a run: its pipes, its record, the request to the shim. Declared in proc.h. */
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/pty.h"
#include "os/sandbox/start.h"
#include "os/spawn/spawn.h"
#include "proc/proc_life.h"

#define PAGE_BYTES 4096

/* ---- standard input and output ---- */

/* The descriptors of one start; proc_start_close_fds() closes those not handed over. */
struct start {
	int in_read, in_write;
	int out_read, out_write;
	int err_read, err_write;
	int terminal; /* the command's end, for as long as the command lives */
	struct tree_room room;
};

static void proc_start_close_fds(struct start *s)
{
	int *fds[] = { &s->in_read,  &s->in_write, &s->out_read,
		       &s->out_write, &s->err_read, &s->err_write, &s->terminal };

	for (size_t i = 0; i < COUNT_OF(fds); i++)
		mem_cleanup_close(fds[i]);
	tree_room_release(&s->room);
}

/* Make a pipe whose end @ours (0 read, 1 write) is non-blocking: the server would wait for good to
 * read from one whose write end it holds. Changes @ends only on success. */
static int proc_start_make_pipe(int ends[2], int ours)
{
	int fds[2], error;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	if (fcntl(fds[ours], F_SETFL, O_NONBLOCK) < 0) {
		error = errno;
		close(fds[0]);
		close(fds[1]);
		errno = error;
		return -1;
	}
	memcpy(ends, fds, sizeof(fds));
	return 0;
}

void proc_pipes_close(struct proc_pipes *pipes)
{
	for (int end = 0; end < 2; end++) {
		mem_cleanup_close(&pipes->out[end]);
		mem_cleanup_close(&pipes->err[end]);
	}
}

static int proc_start_make_pipes(struct proc_pipes *pipes)
{
	if (pipes->out[0] >= 0 ||
	    (!proc_start_make_pipe(pipes->out, 0) && !proc_start_make_pipe(pipes->err, 0)))
		return 0;
	proc_pipes_close(pipes);
	return -1;
}

/* Give the command duplicates of our 0, 1 and 2, which proc_start_close_fds() closes. */
static int proc_start_share_stdio(struct start *s, const char *path, struct err *e)
{
	s->in_read = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	s->out_write = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	s->err_write = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	return s->in_read < 0 || s->out_write < 0 || s->err_write < 0
		       ? spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, path, e)
		       : 0;
}

/* A command may open /dev/stdout by name, so its pipes must belong to its user. Its terminal keeps
 * its group, which write(1) needs. */
static void proc_start_chown_pipes(const struct start *s, const struct confine_request *confine)
{
	const int fds[] = { s->in_write, s->out_read, s->err_read };

	if (!confine->as_user)
		return;
	if (s->terminal >= 0) {
		(void)!fchown(s->terminal, confine->uid, (gid_t)-1);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		if (fds[i] >= 0)
			(void)!fchown(fds[i], confine->uid, confine->gid);
}

/* The terminal, a duplicate for each stream. */
static int proc_start_open_terminal(struct start *s, const struct proc_spec *spec)
{
	if (pty_open(&spec->terminal.start, &s->out_read, &s->terminal))
		return -1;
	s->out_write = fcntl(s->terminal, F_DUPFD_CLOEXEC, 0);
	s->err_write = fcntl(s->terminal, F_DUPFD_CLOEXEC, 0);
	if (spec->stdin_mode != PROC_STDIN_NULL)
		s->in_read = fcntl(s->terminal, F_DUPFD_CLOEXEC, 0);
	return s->out_write < 0 || s->err_write < 0 ||
			       (s->in_read < 0 && spec->stdin_mode != PROC_STDIN_NULL)
		       ? -1
		       : 0;
}

/* The command's process opens it, in the mount namespace that it belongs to. */
static int proc_start_plan_terminal(struct start *s, const struct proc_spec *spec,
				    struct shim_plan *plan)
{
	pty_describe(&spec->terminal.start, &plan->terminal);
	if (spec->stdin_mode != PROC_STDIN_NULL)
		plan->flags |= SHIM_TYPED_STDIN;
	s->out_write = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (s->out_write < 0)
		return -1;
	s->err_write = fcntl(s->out_write, F_DUPFD_CLOEXEC, 0);
	return s->err_write < 0 ? -1 : 0;
}

static int proc_start_open_pipes(struct start *s, const struct proc_spec *spec,
				 struct proc_pipes *pipes)
{
	int in[2];

	if (proc_start_make_pipes(pipes))
		return -1;
	s->out_read = pipes->out[0];
	s->out_write = pipes->out[1];
	s->err_read = pipes->err[0];
	s->err_write = pipes->err[1];
	*pipes = (struct proc_pipes)PROC_NO_PIPES;
	if (spec->stdin_mode == PROC_STDIN_NULL)
		return 0;
	if (proc_start_make_pipe(in, 1))
		return -1;
	s->in_read = in[0];
	s->in_write = in[1];
	return 0;
}

static int proc_start_open_streams(struct start *s, const struct proc_spec *spec,
				   struct shim_plan *plan, struct proc_pipes *pipes)
{
	if (!spec->terminal.start.cols)
		return proc_start_open_pipes(s, spec, pipes);
	return plan->flags & SHIM_OWN_PTS ? proc_start_plan_terminal(s, spec, plan)
					  : proc_start_open_terminal(s, spec);
}

/* For what the command's process will send before its exec. */
static int proc_start_take_room(struct start *s, const struct proc_spec *spec, uint32_t flags)
{
	bool sends_terminal = spec->terminal.start.cols && flags & SHIM_OWN_PTS;

	return tree_room_take(&s->room, (sends_terminal ? 3 : 0) + (flags & SHIM_LISTENER ? 1 : 0));
}

static int proc_start_open_files(struct start *s, const struct proc_spec *spec,
				 struct shim_plan *plan, struct proc_pipes *pipes, struct err *e)
{
	if (spec->shares_stdio && !spec->terminal.start.cols)
		return proc_start_share_stdio(s, spec->path, e);
	if (proc_start_open_streams(s, spec, plan, pipes) ||
	    proc_start_take_room(s, spec, plan->flags))
		return spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, spec->path, e);
	if (s->in_read < 0)
		plan->flags |= SHIM_NULL_STDIN;
	proc_start_chown_pipes(s, &spec->confine);
	return 0;
}

/* What proc_start_open_stdio() works on. */
struct start_stdio {
	struct start *s;
	const struct proc_spec *spec;
	struct proc_pipes *pipes;
};

static int proc_start_open_stdio(struct spawn_request *request, struct err *e)
{
	const struct start_stdio *stdio = request->stdio_ctx;
	struct start *s = stdio->s;

	proc_start_close_fds(s); /* of an earlier try */
	if (proc_start_open_files(s, stdio->spec, request->plan, stdio->pipes, e))
		return -1;
	request->stdin_fd = s->in_read < 0 ? s->out_write : s->in_read; /* one that is replaced */
	request->stdout_fd = s->out_write;
	request->stderr_fd = s->err_write;
	return 0;
}

/* ---- the record ---- */

static struct proc_settings *proc_settings_new(const struct proc_env *env,
					       const struct proc_spec *spec,
					       const struct confine_run *run)
{
	size_t cwd = strlen(spec->cwd) + 1;
	struct proc_settings *s = mem_zalloc(sizeof(*s) + cwd);

	s->env = env;
	s->applied = run->applied;
	limits_init(&s->limits, &spec->confine, run);
	memcpy(s->cwd, spec->cwd, cwd);
	return s;
}

/* Padding may differ; then they are not shared, which is right too. */
static bool proc_settings_equal(const struct proc_settings *a, const struct proc_settings *b)
{
	return !memcmp(&a->applied, &b->applied, sizeof(a->applied)) &&
	       !memcmp(&a->limits, &b->limits, sizeof(a->limits)) && !strcmp(a->cwd, b->cwd);
}

/* The settings of the new run, shared with spec->like if they are equal. */
static struct proc_settings *proc_settings_get(const struct proc_env *env,
					       const struct proc_spec *spec,
					       const struct confine_run *run)
{
	struct proc_settings *s = proc_settings_new(env, spec, run);

	if (spec->like && proc_settings_equal(s, spec->like->settings)) {
		free(s);
		s = spec->like->settings;
	}
	s->users++;
	return s;
}

void proc_rare_init(struct proc_rare *r, uint64_t head_bytes, uint64_t tail_bytes)
{
	uint64_t region = (head_bytes + tail_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

	*r = (struct proc_rare){ .kept_bytes = 0 };
	spool_init(&r->spool);
	limits_proof_init(&r->proof);
	r->out = (struct output_range){
		.spool = &r->spool, .head_max = head_bytes, .tail_max = tail_bytes,
	};
	r->err = r->out;
	r->err.base = region;
}

static struct proc *proc_new_record(const struct proc_env *env, const struct proc_spec *spec,
				    const struct confine_run *run)
{
	bool differs = spec->masked && strcmp(spec->masked, spec->command);
	size_t id = strlen(spec->id) + 1, command = strlen(spec->command) + 1;
	size_t masked = differs ? strlen(spec->masked) + 1 : 0;
	/* One allocation per record: a thousand are kept. */
	struct proc *p = mem_zalloc(offsetof(struct proc, id) + id + command + masked);

	memcpy(p->id, spec->id, id);
	memcpy(p->id + id, spec->command, command);
	p->has_masked = differs;
	if (differs)
		memcpy(p->id + id + command, spec->masked, masked);
	p->settings = proc_settings_get(env, spec, run);
	p->rare = mem_zalloc(sizeof(*p->rare));
	proc_rare_init(p->rare, env->head_bytes, env->tail_bytes);
	p->seq = spec->seq;
	p->background = spec->background;
	p->started_mono_us = clock_mono_us();
	p->started_wall_ms = clock_wall_ms();
	output_init(&p->out, &p->rare->out);
	output_init(&p->err, &p->rare->err);
	p->tree_alive = true;
	p->live = proc_live_new(p, spec);
	return p;
}

/* ---- the start ---- */

static void proc_start_log_file(struct proc *p, struct log_file *file)
{
	const struct log_file_streams streams = {
		.output = { &p->out, &p->err }, .arrivals = &p->arrivals,
	};

	p->rare->log_file = file;
	if (file)
		log_file_start(file, &streams, proc_on_log_file_over, p);
}

static void proc_start_feed(struct proc *p, const struct proc_spec *spec, struct start *s)
{
	struct feed *feed = &p->live->feed;
	bool ends = spec->stdin_mode == PROC_STDIN_DATA;

	p->live->stdin_mode = spec->stdin_mode;
	feed->is_terminal = spec->terminal.start.cols;
	if (feed->is_terminal)
		feed_start_ahead(feed, proc_env(p)->loop);
	else
		feed_start(feed, proc_env(p)->loop, s->in_write);
	s->in_write = -1;
	if (feed->is_terminal)
		proc_type(p, spec->stdin_bytes, spec->stdin_len, ends);
	feed_add(feed, spec->stdin_bytes, feed->is_terminal ? 0 : spec->stdin_len, ends);
}

/* In the order in which what was typed is taken: first it waits, then the terminal comes. */
static void proc_start_terminal(struct proc *p, const struct proc_spec *spec, struct start *s)
{
	p->live->out.is_terminal = true;
	p->rare->out.screen = (struct screen_size){ (uint16_t)spec->terminal.start.cols,
					      (uint16_t)spec->terminal.start.rows };
	if (spec->stdin_mode != PROC_STDIN_NULL && !spec->terminal.take)
		proc_start_feed(p, spec, s);
	if (s->terminal >= 0)
		proc_take_terminal(p, &spec->terminal, s->out_read, s->terminal);
	else
		p->live->awaited = spec->terminal;
	s->out_read = s->terminal = -1;
}

static void proc_start_pipes(struct proc *p, const struct proc_spec *spec, struct start *s)
{
	if (s->out_read >= 0) { /* not shared with us */
		pump_start(&p->live->out, proc_env(p)->loop, s->out_read, s->out_write, &p->out);
		pump_start(&p->live->err, proc_env(p)->loop, s->err_read, s->err_write, &p->err);
		s->out_read = s->out_write = s->err_read = s->err_write = -1;
	}
	if (s->in_write >= 0)
		proc_start_feed(p, spec, s);
}

/* The shim runs: start all watchers and timers. */
static void proc_start_watchers(struct proc *p, const struct proc_spec *spec, struct start *s,
				const struct spawn_result *spawned)
{
	struct ev_loop *loop = proc_env(p)->loop;

	p->live->past = spawned->past;
	p->live->pool_kind = spawned->kind;
	p->live->tree.is_init = p->settings->applied.layers & 1u << CONFINE_PID_NS;
	p->live->tree.room = s->room;
	s->room.count = 0;
	tree_start(&p->live->tree, loop, proc_env(p)->reaper, spawned->shim_pid,
		   spawned->control_fd);
	if (spec->terminal.start.cols)
		proc_start_terminal(p, spec, s);
	else
		proc_start_pipes(p, spec, s);
	if (spec->timeout_ms)
		loop_timer_start(loop, &p->live->timeout, (double)spec->timeout_ms);
	p->live->idle_timeout_ms = spec->idle_timeout_ms;
	if (spec->idle_timeout_ms)
		loop_timer_start(loop, &p->live->silence, (double)spec->idle_timeout_ms);
}

static int proc_start_spawn(const struct proc_env *env, const struct proc_spec *spec,
			    struct start *s, struct confine_run *run,
			    struct spawn_result *spawned, struct err *e)
{
	struct start_stdio stdio = { s, spec, env->pipes };
	struct spawn_request request = {
		.path = spec->path,
		.argv = spec->argv,
		.envp = spec->envp,
		.cwd_fd = spec->cwd_fd,
		.cwd = spec->cwd,
		.open_stdio = proc_start_open_stdio,
		.stdio_ctx = &stdio,
		.announce = spec->background,
		.terminal = spec->terminal.start.cols,
	};

	return start_command(env->confine, &spec->confine, spec->seq, env->pool, &request, run,
			     spawned, e);
}

static int proc_start_attempt(const struct proc_env *env, const struct proc_spec *spec,
			      struct start *s, struct confine_run *run,
			      struct spawn_result *spawned, struct err *e)
{
	*s = (struct start){ -1, -1, -1, -1, -1, -1, -1, .room.count = 0 };
	if (!proc_start_spawn(env, spec, s, run, spawned, e))
		return 0;
	proc_start_close_fds(s);
	return -1;
}

bool proc_drop_idle(const struct proc_env *env)
{
	bool any = loop_close_all_late(env->loop) || env->pipes->out[0] >= 0;

	proc_pipes_close(env->pipes);
	return start_drop_idle(env->confine, env->pool, 0) || any;
}

/* While the command's process wakes: close pipes that are over, and make those of the next run. If
 * that fails, or few descriptors are left, the next start makes its own. */
static void proc_start_tidy(const struct proc_env *env)
{
	(void)loop_close_all_late(env->loop);
	if (env->pool && !proc_start_make_pipes(env->pipes) &&
	    loop_is_crowded(env->pipes->err[1]))
		proc_pipes_close(env->pipes);
}

struct proc *proc_new(const struct proc_env *env, const struct proc_spec *spec, struct err *e)
{
	struct start s;
	struct spawn_result spawned;
	struct confine_run run = { 0 };
	struct proc *p = NULL;
	int result = proc_start_attempt(env, spec, &s, &run, &spawned, e);

	if (result && proc_drop_idle(env)) {
		err_release(e);
		result = proc_start_attempt(env, spec, &s, &run, &spawned, e);
	}
	if (!result) {
		p = proc_new_record(env, spec, &run);
		p->live->confine = run;
		limits_watch_start(&p->live->limits, env->loop, &p->rare->proof, run.cgroup,
				   proc_on_limit, p);
		if (run.cgroup)
			cgroup_joined(run.cgroup); /* the shim has its own descriptors */
		proc_start_log_file(p, spec->log_file);
		proc_start_watchers(p, spec, &s, &spawned);
		proc_start_close_fds(&s);
		proc_start_tidy(env);
	}
	return p;
}
