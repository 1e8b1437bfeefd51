#include "os/sandbox/start.h"

/* Write the layers of @wanted into @request, whose plan is large: one start at a time uses it. */
static int start_fill(struct confine *confine, const struct confine_request *wanted, uint64_t seq,
		      struct spawn_request *request, struct confine_run *run, struct err *e)
{
	static struct shim_plan plan;

	request->plan = &plan;
	if (confine_enter(confine, wanted, seq, &plan, run, e))
		return -1;
	request->clone_flags = run->clone_flags;
	request->generation = run->generation;
	request->fds = run->fds;
	request->fd_count = run->fd_count;
	request->ruleset = run->ruleset;
	return 0;
}

static int start_once(struct confine *confine, const struct confine_request *wanted, uint64_t seq,
		      struct pool *pool, struct spawn_request *request, struct confine_run *run,
		      struct spawn_result *spawned, struct err *e)
{
	spawned->refused = false;
	if (start_fill(confine, wanted, seq, request, run, e))
		return -1;
	if (!(request->open_stdio && request->open_stdio(request, e)) &&
	    !(pool ? pool_start(pool, request, spawned, e) : spawn_start(request, spawned, e)))
		return 0;
	confine_run_release(run);
	return -1;
}

int start_command(struct confine *confine, const struct confine_request *wanted, uint64_t seq,
		  struct pool *pool, struct spawn_request *request, struct confine_run *run,
		  struct spawn_result *spawned, struct err *e)
{
	struct confine_request changed = *wanted;
	int result;

	result = start_once(confine, wanted, seq, pool, request, run, spawned, e);
	if (result && spawned->refused && !wanted->no_namespaces) {
		err_release(e);
		changed.no_namespaces = true;
		result = start_once(confine, &changed, seq, pool, request, run, spawned, e);
	}
	return result;
}

void start_make_ready(struct confine *confine, const struct confine_request *wanted,
		      struct pool *pool)
{
	struct spawn_request request = { .path = "" };
	struct confine_run run = { 0 };
	ERR_LOCAL(e);

	if (!start_fill(confine, wanted, 1, &request, &run, &e)) {
		pool_make_ready(pool, &request);
		run.left_nothing = true;
		confine_run_release(&run);
	}
	err_release(&e);
}

bool start_drop_idle(struct confine *confine, struct pool *pool, size_t keep)
{
	bool any = pool_drop_idle(pool, keep);

	return confine_drop_idle(confine, keep) || any;
}
