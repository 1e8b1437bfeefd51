#include "proc/proctab.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ids.h"
#include "base/mem.h"
#include "os/procfs.h"
#include "os/sandbox/start.h"

#define LEFTOVERS_NAMED 64 /* in an error */
#define MEMORY_SHARE 4 /* part of the server's memory limit that the log may take */
#define LARGE_SHARE 16 /* the kernel hardly picks a process below this part of it */
#define LOGS_FROM (1ULL << 40) /* their control groups have other numbers than those of runs */
#define REST_MS 3000 /* without a start: a burst is over, though a request is still open */
#define INDEX_SLOTS 1024 /* power of two; ids count up, so runs spread evenly */

struct proctab {
	struct proc_env env;
	struct proc_rare none; /* of env */
	struct slab live, over; /* likewise */
	struct proc_pipes pipes; /* likewise */
	struct proctab_options options;
	const char *instance;
	uint64_t last_seq, last_log;
	uint64_t rest_seq; /* last_seq when `rest` was started */
	ev_timer rest;
	struct proc *newest, *oldest;
	struct proc *first_finished, *last_finished; /* in the order in which they finished */
	struct proc *index[INDEX_SLOTS]; /* the newest record of each slot; older ones by walking */
	int records, trees;
	int spools; /* finished runs whose log holds a descriptor */
	struct proc *spools_from; /* none that finished before it is one of them */
	uint64_t kept_bytes;
	uint64_t unread_from; /* proctab_usage() has not read runs up to this number */
	int64_t oom_kills; /* cgroup_own_oom_kills() at the last look */
	int64_t large_bytes; /* the memory of a run that may be killed for the server's own limit */
	bool closing;
	proctab_hook hook;
	void *hook_ctx;
};

static bool proc_is_finished(const struct proc *p)
{
	return p->phase == PROC_SETTLED && !p->tree_alive;
}

static void proctab_remove(struct proctab *t, struct proc *p)
{
	struct proc **slot = &t->index[p->seq % INDEX_SLOTS];

	*(p->newer ? &p->newer->older : &t->newest) = p->older;
	*(p->older ? &p->older->newer : &t->oldest) = p->newer;
	if (*slot == p)
		*slot = NULL;
	t->records--;
	t->kept_bytes -= p->rare->kept_bytes;
	t->spools -= p->spool_counted;
	proc_free(p);
}

static void proctab_add_finished(struct proctab *t, struct proc *p)
{
	p->finished_before = t->last_finished;
	*(t->last_finished ? &t->last_finished->finished_after : &t->first_finished) = p;
	t->last_finished = p;
}

/* Remove a finished run. */
static void proctab_forget(struct proctab *t, struct proc *p)
{
	struct proc *before = p->finished_before, *after = p->finished_after;

	if (t->hook)
		t->hook(t->hook_ctx, p, PROC_EVENT_REMOVED);
	*(before ? &before->finished_after : &t->first_finished) = after;
	*(after ? &after->finished_before : &t->last_finished) = before;
	if (t->spools_from == p)
		t->spools_from = after;
	proctab_remove(t, p);
}

/* A small stream is part of its record and costs no budget: the number of records bounds it. */
static uint64_t proctab_spooled_bytes(const struct output *o)
{
	return o->range->spooled ? output_kept(o) : 0;
}

static void proctab_count_kept(struct proctab *t, struct proc *p)
{
	uint64_t kept = proctab_spooled_bytes(&p->out) + proctab_spooled_bytes(&p->err);

	t->kept_bytes += kept - p->rare->kept_bytes;
	p->rare->kept_bytes = kept;
}

static void proctab_drop_logs(struct proctab *t, struct proc *p)
{
	t->spools -= p->spool_counted;
	p->spool_counted = false;
	output_drop(&p->out);
	output_drop(&p->err);
	spool_close(&p->rare->spool);
	proctab_count_kept(t, p);
}

/* Drop the log of the run that finished first of those that have one; there must be one. Records
 * are passed once: nothing here may cost a walk for each read. */
static void proctab_drop_oldest(struct proctab *t)
{
	while (!t->spools_from->spool_counted)
		t->spools_from = t->spools_from->finished_after;
	proctab_drop_logs(t, t->spools_from);
}

/* Drop the logs of finished runs, oldest first. That of @writer is not counted yet: the present
 * event may be its end, and the answer may need its log. If that is not enough, freeze the tails of
 * @writer. */
static void proctab_keep_budget(struct proctab *t, struct proc *writer)
{
	while (t->spools && t->kept_bytes > t->options.budget_bytes)
		proctab_drop_oldest(t);
	if (t->kept_bytes > t->options.budget_bytes) {
		output_freeze(&writer->out);
		output_freeze(&writer->err);
	}
}

/* Remove the oldest finished records beyond finished_max. */
static void proctab_retire_records(struct proctab *t)
{
	while (t->records - t->trees > t->options.finished_max)
		proctab_forget(t, t->first_finished);
}

/* @p has finished: count its log if that holds a descriptor, and drop the oldest beyond spools_max.
 * Survivors of a kill may make one later, when others have finished. */
static void proctab_limit_spools(struct proctab *t, struct proc *p)
{
	if (p->rare->spool.fd < 0 || p->spool_counted)
		return;
	p->spool_counted = true;
	if (!t->spools++)
		t->spools_from = p;
	else if (p->finished_after)
		t->spools_from = t->first_finished;
	while (t->spools > t->options.spools_max)
		proctab_drop_oldest(t);
}

/* A run is over: did the kernel kill a process because the server's own memory limit is reached?
 * The kept output counts against that limit, and without room every later command would be killed
 * too. Looking costs a read, so not after each small run that went well. */
static void proctab_check_memory(struct proctab *t, struct proc *p)
{
	int64_t kills;

	if (!t->options.own || (!proc_exit_code(p) && p->usage.memory_peak_bytes < t->large_bytes))
		return;
	kills = cgroup_own_oom_kills(t->options.own);
	if (kills <= t->oom_kills)
		return;
	t->oom_kills = kills;
	p->out_of_memory = true;
	for (; t->spools; p->rare->dropped_logs++)
		proctab_drop_oldest(t);
}

/* @p is over, and in no other list yet. It may move; returns where it is. */
static struct proc *proctab_shrink(struct proctab *t, struct proc *p)
{
	struct proc **slot = &t->index[p->seq % INDEX_SLOTS];
	bool in_slot = *slot == p;

	p = proc_shrink(p);
	*(p->newer ? &p->newer->older : &t->newest) = p;
	*(p->older ? &p->older->newer : &t->oldest) = p;
	if (in_slot)
		*slot = p;
	return p;
}

static void proctab_await_rest(struct proctab *t)
{
	t->rest_seq = t->last_seq;
	loop_timer_start(t->env.loop, &t->rest, REST_MS);
}

static void proctab_on_rest(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct proctab *t = w->data;

	(void)loop;
	(void)revents;
	if (t->rest_seq == t->last_seq)
		proctab_rest(t);
	else
		proctab_await_rest(t);
}

/* A run has ended. Beside others it may belong to a burst. */
static void proctab_count_end(struct proctab *t)
{
	if (--t->trees && !loop_timer_is_set(&t->rest))
		proctab_await_rest(t);
}

static void proctab_on_event(void *ctx, struct proc *p, unsigned events)
{
	struct proctab *t = ctx;

	proctab_count_kept(t, p);
	if (t->kept_bytes > t->options.budget_bytes)
		proctab_keep_budget(t, p);
	if (events & PROC_EVENT_SETTLED)
		proctab_check_memory(t, p);
	if (events & (PROC_EVENT_EMPTY | PROC_EVENT_FAILED))
		proctab_count_end(t);
	if (t->hook)
		t->hook(t->hook_ctx, p, events);
	if (events & PROC_EVENT_FAILED) {
		proctab_remove(t, p);
		return;
	}
	if (events & PROC_EVENT_EMPTY) {
		p = proctab_shrink(t, p);
		proctab_add_finished(t, p);
	}
	if (events & (PROC_EVENT_EMPTY | PROC_EVENT_OUTPUT) && proc_is_finished(p))
		proctab_limit_spools(t, p);
	if (events & PROC_EVENT_EMPTY)
		proctab_retire_records(t); /* may free p */
}

struct proctab *proctab_new(struct ev_loop *loop, struct reaper *reaper, struct confine *confine,
			    const char *instance, const struct proctab_options *options)
{
	struct proctab *t = mem_zalloc(sizeof(*t));

	t->options = *options;
	t->instance = instance;
	t->pipes = (struct proc_pipes)PROC_NO_PIPES;
	proc_rare_init(&t->none, options->head_bytes, options->tail_bytes);
	t->env = (struct proc_env){
		.loop = loop,
		.reaper = reaper,
		.confine = confine,
		.head_bytes = options->head_bytes,
		.tail_bytes = options->tail_bytes,
		.none = &t->none,
		.live = &t->live,
		.over = &t->over,
		.pipes = &t->pipes,
		.stdin_max = options->stdin_max,
		.drain_ms = options->drain_ms,
		.on_event = proctab_on_event,
		.ctx = t,
	};
	if (options->ahead)
		t->env.pool = pool_new(loop, reaper);
	loop_timer_init(&t->rest, proctab_on_rest, t);
	return t;
}

void proctab_free(struct proctab *t)
{
	if (!t)
		return;
	while (t->oldest)
		proctab_remove(t, t->oldest);
	loop_timer_stop(t->env.loop, &t->rest);
	pool_free(t->env.pool);
	slab_release(&t->live);
	slab_release(&t->over);
	proc_pipes_close(&t->pipes);
	free(t);
}

void proctab_set_hook(struct proctab *t, proctab_hook hook, void *ctx)
{
	t->hook = hook;
	t->hook_ctx = ctx;
}

/* As many runs live as may. Finished ones that left processes behind count too, and no list of
 * running ones shows them: name them. */
static void proctab_fail_full(const struct proctab *t, struct err *e)
{
	json_t *leftovers = json_array();
	const char *one = "";

	for (const struct proc *p = t->newest; p; p = p->older) {
		if (!p->tree_alive || p->phase != PROC_SETTLED)
			continue;
		one = p->id; /* the oldest */
		if (json_array_size(leftovers) < LEFTOVERS_NAMED)
			json_array_append_new(leftovers, json_string(p->id));
	}
	err_set(e, ERR_LIMIT_REACHED, "%d run%s live processes, the limit is %d", t->trees,
		t->trees == 1 ? " has" : "s have", t->options.running_max);
	err_detail(e, "limit", json_string("limits.running_processes"));
	err_detail(e, "limit_value", json_integer(t->options.running_max));
	err_detail(e, "leftovers", leftovers);
	if (*one)
		err_hint(e, "Finished runs have left processes behind, such as %s: process.kill "
			    "ends them; process.list shows `alive` of each run. Or wait for one to "
			    "end; the operator can raise limits.running_processes.", one);
	else
		err_hint(e, "Wait for one to end or stop one with process.kill; the operator can "
			    "raise limits.running_processes.");
}

/* With the first run, because a server should answer before it has read all of this. The output is
 * kept in memory that counts against the server's own limit, and commands need the rest. */
static void proctab_read_limits(struct proctab *t)
{
	int64_t limit;

	t->oom_kills = -1;
	if (!t->options.own)
		return;
	t->oom_kills = cgroup_own_oom_kills(t->options.own);
	limit = cgroup_own_memory_limit(t->options.own);
	t->large_bytes = limit / LARGE_SHARE;
	if ((uint64_t)limit / MEMORY_SHARE < t->options.budget_bytes)
		t->options.budget_bytes = (uint64_t)limit / MEMORY_SHARE;
}

/* May one more run start? */
static int proctab_check_room(const struct proctab *t, struct err *e)
{
	if (t->closing) {
		err_set(e, ERR_LIMIT_REACHED, "the server is shutting down");
		e->lasting = true;
		return err_hint(e, "Start a new server.");
	}
	if (t->trees < t->options.running_max)
		return 0;
	proctab_fail_full(t, e);
	return -1;
}

struct proc *proctab_start(struct proctab *t, const struct proc_spec *spec, struct err *e)
{
	struct proc_spec numbered = *spec;
	char id[IDS_TEXT_SIZE];
	struct proc *p;

	if (proctab_check_room(t, e))
		return NULL;
	numbered.seq = t->last_seq + 1;
	ids_format(id, numbered.seq, t->instance);
	numbered.id = id;
	numbered.like = t->newest;
	p = proc_new(&t->env, &numbered, e);
	if (!p)
		return NULL;
	if (!t->last_seq++)
		proctab_read_limits(t);
	p->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = p;
	t->newest = p;
	t->index[p->seq % INDEX_SLOTS] = p;
	t->records++;
	t->trees++;
	return p;
}

void proctab_make_ready(struct proctab *t, const struct confine_request *usual)
{
	if (t->env.pool && !t->last_seq)
		start_make_ready(t->env.confine, usual, t->env.pool);
}

struct log_file *proctab_open_log(struct proctab *t, const struct log_file_spec *spec,
				  struct err *e)
{
	struct log_file_spec numbered = *spec;
	struct log_file *f;

	if (proctab_check_room(t, e)) /* no file must be made for a run that cannot start */
		return NULL;
	numbered.seq = LOGS_FROM + t->last_log++;
	f = log_file_new(t->env.loop, t->env.reaper, t->env.confine, &numbered, e);
	if (f || !proc_drop_idle(&t->env))
		return f;
	err_release(e);
	return log_file_new(t->env.loop, t->env.reaper, t->env.confine, &numbered, e);
}

struct proc *proctab_get(struct proctab *t, uint64_t seq)
{
	struct proc *p = t->index[seq % INDEX_SLOTS];

	if (p && p->seq == seq)
		return p;
	for (p = t->newest; p && p->seq > seq; p = p->older)
		;
	return p && p->seq == seq ? p : NULL;
}

/* Models keep ids for longer than a server lives, and leave the tag out. @seq: of an id of this
 * server; or 0. */
static void proctab_fail_find(struct proctab *t, const char *id, uint64_t seq, struct err *e)
{
	const char *tag = "";
	uint64_t number = ids_number(id, &tag);
	const struct proc *meant = number && !*tag ? proctab_get(t, number) : NULL;

	if (seq && seq <= t->last_seq) {
		err_set(e, ERR_PROCESS_NOT_FOUND, "the record of %s is no longer kept", id);
		err_hint(e, "Call process.list for the known process ids; a run whose command "
			    "could not be executed leaves no record.");
	} else if (*tag && !seq) {
		err_set(e, ERR_PROCESS_NOT_FOUND, "%s is not a process of this server", id);
		err_hint(e, "A process ends with the server that started it. process.list has what "
			    "this server started; start the command again if it is not there.");
	} else {
		err_set(e, ERR_PROCESS_NOT_FOUND, "no process is called %.64s", id);
		if (meant)
			err_hint(e, "Did you mean %s?", meant->id);
	}
}

struct proc *proctab_look_up(struct proctab *t, const char *id)
{
	uint64_t seq = ids_parse(id, t->instance);

	return seq ? proctab_get(t, seq) : NULL;
}

struct proc *proctab_find(struct proctab *t, const char *id, struct err *e)
{
	struct proc *p = proctab_look_up(t, id);

	if (!p)
		proctab_fail_find(t, id, ids_parse(id, t->instance), e);
	return p;
}

struct proc *proctab_next(struct proctab *t, const struct proc *after)
{
	return after ? after->older : t->newest;
}

int proctab_trees(const struct proctab *t)
{
	return t->trees;
}

/* Add the usage of @p, a live run, as last read or, with @read, as it is now. */
static void proctab_add_usage(struct proctab_usage *u, struct proc *p, bool read)
{
	const struct usage *usage = read ? proc_usage(p) : &p->usage;
	const struct proc_live *live = p->live;

	u->cpu_us += usage->cpu_ms * 1000 + (int64_t)live->past.cpu_us;
	u->io_read_bytes += usage->io_read_bytes + (int64_t)live->past.io_read_bytes;
	u->io_write_bytes += usage->io_write_bytes + (int64_t)live->past.io_write_bytes;
	u->memory_bytes += live->resident_bytes;
	if (read && live->tree.shim_pid)
		u->cpu_us += (int64_t)procfs_own_us(live->tree.shim_pid);
}

/* One that has not may still turn out to be no run at all, because it cannot be executed. */
static bool proc_has_begun(const struct proc *p)
{
	return p->ended_mono_ms || (p->live && p->live->reported);
}

static void proctab_count_run(struct proctab_usage *u, const struct proc *p)
{
	if (p->phase != PROC_SETTLED)
		++*(proc_has_begun(p) ? &u->running : &u->starting);
	u->bytes_written += p->out.total + p->err.total;
	u->bytes_kept += output_kept(&p->out) + output_kept(&p->err);
}

void proctab_usage(struct proctab *t, int64_t until_us, struct proctab_usage *u)
{
	struct reaper_usage leaving = { 0 };
	struct spawn_past idle = { 0 };
	uint64_t from = t->unread_from ? t->unread_from : UINT64_MAX;
	bool read = true;

	*u = (struct proctab_usage){ 0 };
	if (t->last_seq)
		u->memory_limit = t->options.own ? cgroup_own_memory_limit(t->options.own)
						 : INT64_MAX;
	pool_add_usage(t->env.pool, &idle);
	reaper_add_unwatched(t->env.reaper, &leaving);
	u->cpu_us = leaving.cpu_us + (int64_t)idle.cpu_us;
	u->io_read_bytes = leaving.io_read_bytes + (int64_t)idle.io_read_bytes;
	u->io_write_bytes = leaving.io_write_bytes + (int64_t)idle.io_write_bytes;
	t->unread_from = 0;
	for (int pass = 0; pass < 2; pass++) /* those up to @from, then the newer ones */
		for (struct proc *p = t->newest; p; p = p->older) {
			if ((p->seq > from) != pass)
				continue;
			proctab_count_run(u, p);
			if (!p->tree_alive)
				continue;
			if (!read && !t->unread_from)
				t->unread_from = p->seq;
			proctab_add_usage(u, p, read);
			read = clock_mono_us() < until_us;
		}
}

/* Do survivors of a kill still live? Yes while their shim lives. After that they are our children,
 * unless the shim was an init, whose death proves theirs. */
static bool proc_has_survivors(const struct proctab *t, const struct proc *p)
{
	const struct tree *tree = p->live ? &p->live->tree : NULL;

	if (!p->rare->survivors || !tree)
		return p->rare->survivors;
	return tree->shim_pid || (!tree->is_init && reaper_has_orphans(t->env.reaper));
}

/* Processes of @p that may be alive: at least 1 until the tree was seen empty. */
static int proctab_count_alive(const struct proctab *t, struct proc *p)
{
	int alive = p->tree_alive ? proc_usage(p)->alive : 0;

	if (!p->tree_alive)
		return proc_has_survivors(t, p) ? (int)p->rare->survivors : 0;
	return alive < 1 ? 1 : alive;
}

int proctab_check_over(const struct proctab *t, const struct proc *p, struct err *e)
{
	if (proc_is_finished(p) && !proc_has_survivors(t, p))
		return 0;
	if (p->phase == PROC_SETTLED) {
		err_set(e, ERR_PROCESS_RUNNING, "processes that %s has started still live", p->id);
		return err_hint(e, "End them with process.kill, then delete it; process.monitor "
				   "shows how many are alive.");
	}
	err_set(e, ERR_PROCESS_RUNNING, "%s still runs", p->id);
	return err_hint(e, "End it with process.kill, or wait for its end with process.monitor, "
			   "then delete it.");
}

int proctab_delete(struct proctab *t, struct proc *p, uint64_t *bytes, struct err *e)
{
	if (proctab_check_over(t, p, e))
		return -1;
	*bytes = output_kept(&p->out) + output_kept(&p->err);
	proctab_forget(t, p);
	return 0;
}

int proctab_alive(const struct proctab *t, int *bare)
{
	const uint32_t ends_forks = 1u << CONFINE_PID_NS | 1u << CONFINE_CGROUP;
	int all = 0;

	*bare = 0;
	for (struct proc *p = t->newest; p; p = p->older) {
		int alive = proctab_count_alive(t, p);

		all += alive;
		*bare += p->settings->applied.layers & ends_forks ? 0 : alive;
	}
	return all;
}

void proctab_rest(struct proctab *t)
{
	loop_timer_stop(t->env.loop, &t->rest);
	(void)start_drop_idle(t->env.confine, t->env.pool, POOL_RESTING);
}

void proctab_shutdown(struct proctab *t)
{
	t->closing = true;
	pool_free(t->env.pool);
	t->env.pool = NULL;
	for (struct proc *p = t->newest, *older; p; p = older) {
		older = p->older;
		proc_kill_tree(p, PROC_REASON_SERVER_SHUTDOWN);
		if (p->rare->log_file)
			log_file_hurry(p->rare->log_file);
	}
}

/* True: one was ended, and any record may be gone. */
static bool proctab_give_up_file(struct proctab *t)
{
	for (struct proc *p = t->newest; p; p = p->older)
		if (p->rare->log_file && log_file_give_up(p->rare->log_file))
			return true;
	return false;
}

void proctab_give_up_files(struct proctab *t)
{
	while (proctab_give_up_file(t))
		;
}
