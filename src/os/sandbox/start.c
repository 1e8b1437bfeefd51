#include "os/sandbox/start.h"

static int start_once(struct confine *confine, const struct confine_request *wanted, uint64_t seq,
		      struct pool *pool, struct spawn_request *request, struct confine_run *run,
		      struct spawn_result *spawned, struct err *e)
{
	spawned->refused = false;
	if (confine_enter(confine, wanted, seq, request->plan, run, e))
		return -1;
	request->clone_flags = run->clone_flags;
	request->generation = run->generation;
	request->fds = run->fds;
	request->fd_count = run->fd_count;
	request->ruleset = run->ruleset;
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
	static struct shim_plan plan; /* large; one start at a time uses it */
	struct confine_request changed = *wanted;
	int result;

	request->plan = &plan;
	result = start_once(confine, wanted, seq, pool, request, run, spawned, e);
	if (result && spawned->refused && !wanted->no_namespaces) {
		err_release(e);
		changed.no_namespaces = true;
		result = start_once(confine, &changed, seq, pool, request, run, spawned, e);
	}
	return result;
}

bool start_drop_idle(struct confine *confine, struct pool *pool)
{
	bool any = pool_drop_idle(pool);

	return confine_drop_idle(confine) || any;
}
