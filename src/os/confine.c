#include "os/confine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/confine_seccomp.h"

struct confine {
	struct confine_options options;
	bool prepared;
	struct sock_filter *filter;
	size_t filter_len;
};

/* One layer: prepared once, then written into every plan. */
struct confine_step {
	const char *name; /* as reported */
	int (*prepare)(struct confine *c, struct err *e); /* NULL: nothing to prepare */
	void (*fill)(const struct confine *c, struct shim_plan *plan);
};

/* The keeper finds what a command leaves behind in /proc: nothing can be promised without. */
static int prepare_keeper(struct confine *c, struct err *e)
{
	(void)c;
	if (access("/proc/self/task", R_OK | X_OK) == 0)
		return 0;
	err_sys(e, ERR_SANDBOX_UNAVAILABLE, errno,
		"/proc cannot be read: processes that a command leaves behind could not be found");
	return err_hint(e, "the operator must mount /proc where the server runs");
}

static void fill_keeper(const struct confine *c, struct shim_plan *plan)
{
	(void)c;
	(void)plan; /* it is there whatever the plan says */
}

static void fill_session(const struct confine *c, struct shim_plan *plan)
{
	plan->umask = c->options.umask; /* setsid is the shim's own first step */
}

static void add_rlimit(struct shim_plan *plan, unsigned resource, rlim_t soft, rlim_t hard)
{
	BUG_IF(plan->rlimit_count >= SHIM_RLIMITS_MAX);
	plan->rlimits[plan->rlimit_count++] = (struct shim_rlimit){
		.resource = resource,
		.soft = soft,
		.hard = hard,
	};
}

/* The server raises its own descriptor limit; a command gets what the server was given. Core
 * files would put a command's memory, secrets included, into the workspace. */
static void fill_rlimits(const struct confine *c, struct shim_plan *plan)
{
	add_rlimit(plan, RLIMIT_CORE, 0, 0);
	add_rlimit(plan, RLIMIT_NOFILE, c->options.nofile.rlim_cur, c->options.nofile.rlim_max);
}

static void fill_no_new_privs(const struct confine *c, struct shim_plan *plan)
{
	(void)c;
	plan->flags |= SHIM_NO_NEW_PRIVS;
}

static int prepare_seccomp(struct confine *c, struct err *e)
{
	if (confine_seccomp_build(&c->filter, &c->filter_len, e))
		return -1;
	if (c->filter_len <= SHIM_FILTER_MAX)
		return 0;
	free(c->filter);
	c->filter = NULL;
	return err_set(e, ERR_SANDBOX_UNAVAILABLE,
		       "the system call filter has %zu instructions, the keeper takes %d",
		       c->filter_len, SHIM_FILTER_MAX);
}

static void fill_seccomp(const struct confine *c, struct shim_plan *plan)
{
	plan->flags |= SHIM_SECCOMP;
	plan->filter_len = (uint32_t)c->filter_len;
	memcpy(plan->tail, c->filter, c->filter_len * sizeof(*c->filter));
}

/* In the order in which the command's process enters them. */
static const struct confine_step steps[] = {
	{ "keeper", prepare_keeper, fill_keeper },
	{ "session", NULL, fill_session },
	{ "rlimits", NULL, fill_rlimits },
	{ "no_new_privs", NULL, fill_no_new_privs },
	{ "seccomp:default", prepare_seccomp, fill_seccomp },
};

static const char *const active_names[] = {
	"keeper", "session", "rlimits", "no_new_privs", "seccomp:default", NULL,
};

/* Layers of the design that this version does not have; said in every agent.session. */
static const struct {
	const char *layer, *reason;
} missing_layers[] = {
	{ "landlock", "not part of this version: only the user's permissions limit file access" },
	{ "namespaces", "not part of this version: commands see the host's processes and network" },
	{ "cgroup", "not part of this version: memory and cpu limits cannot be set" },
};

struct confine *confine_new(const struct confine_options *options)
{
	struct confine *c = mem_zalloc(sizeof(*c));

	c->options = *options;
	return c;
}

void confine_free(struct confine *c)
{
	if (!c)
		return;
	free(c->filter);
	free(c);
}

int confine_prepare(struct confine *c, struct err *e)
{
	if (c->prepared)
		return 0;
	for (size_t i = 0; i < COUNT_OF(steps); i++)
		if (steps[i].prepare && steps[i].prepare(c, e))
			return -1;
	c->prepared = true;
	return 0;
}

int confine_fill(struct confine *c, struct shim_plan *plan, struct err *e)
{
	if (confine_prepare(c, e))
		return -1;
	plan->flags = 0;
	plan->rlimit_count = 0;
	plan->filter_len = 0;
	for (size_t i = 0; i < COUNT_OF(steps); i++)
		steps[i].fill(c, plan);
	return 0;
}

const char *const *confine_active(const struct confine *c)
{
	(void)c;
	return active_names;
}

void confine_each_missing(const struct confine *c,
			  void (*fn)(void *ctx, const char *layer, const char *reason), void *ctx)
{
	(void)c;
	for (size_t i = 0; i < COUNT_OF(missing_layers); i++)
		fn(ctx, missing_layers[i].layer, missing_layers[i].reason);
}
