#include "cap/run_limits.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/schema.h"

/* No program starts with less memory; an operator's lower value counts as this. */
#define MEMORY_MIN (4 * 1024 * 1024)

static const struct {
	const char *name;
	unsigned resource;
} kinds[] = {
	{ "nofile", RLIMIT_NOFILE }, { "cpu", RLIMIT_CPU },
	{ "as", RLIMIT_AS },	     { "nproc", RLIMIT_NPROC },
	{ "fsize", RLIMIT_FSIZE },   { "memlock", RLIMIT_MEMLOCK },
	{ "stack", RLIMIT_STACK },   { "data", RLIMIT_DATA },
	{ "core", RLIMIT_CORE },     { "rss", RLIMIT_RSS },
	{ "locks", RLIMIT_LOCKS },   { "sigpending", RLIMIT_SIGPENDING },
	{ "msgqueue", RLIMIT_MSGQUEUE }, { "nice", RLIMIT_NICE },
	{ "rtprio", RLIMIT_RTPRIO }, { "rttime", RLIMIT_RTTIME },
};

#define KINDS_HINT "Give limits by name: nofile, cpu, as, nproc, fsize, memlock, stack, data, " \
	"core, rss, locks, sigpending, msgqueue, nice, rtprio, rttime; each an integer or " \
	"{\"soft\": integer, \"hard\": integer}."

/* @asked: 0 when the request sets no limit. Returns the limit of the run; 0: none. */
static int64_t run_limits_choose(int64_t asked, int64_t usual, int64_t allowance)
{
	int64_t limit = asked ? asked : usual ? usual : allowance;

	return allowance && limit > allowance ? allowance : limit;
}

int64_t run_limits_usual_seconds(const struct config *config, bool background)
{
	if (background)
		return run_limits_choose(0, config_int(config, CONFIG_PROCESS_BACKGROUND_SECONDS),
					 config_int(config, CONFIG_LIMITS_BACKGROUND_SECONDS));
	return run_limits_choose(0, config_int(config, CONFIG_PROCESS_TIMEOUT_SECONDS),
				 config_int(config, CONFIG_LIMITS_TIMEOUT_SECONDS));
}

/* ---- cpu_limit and memory_limit ---- */

/* Rounded up, but not for the noise of a double. */
static int64_t run_limits_permille(double fraction)
{
	return (int64_t)ceil(fraction * 1000 - 1e-6);
}

static int run_limits_read_cpu(const struct config *config, const json_t *params,
			       struct confine_request *request, struct err *e)
{
	int64_t allowance = config_int(config, CONFIG_LIMITS_CPU_PERCENT) * 10;
	double fraction = json_get_num(params, "cpu_limit", 0);
	int64_t asked = run_limits_permille(fraction);

	request->cpu_permille =
		run_limits_choose(asked, config_int(config, CONFIG_PROCESS_CPU_PERCENT) * 10,
				  allowance);
	if (!allowance || asked <= allowance)
		return 0;
	err_invalid(e, "cpu_limit", "cpu_limit %.15g is above the allowance of %.15g core%s "
		    "(limits.cpu_percent)", fraction, (double)allowance / 1000,
		    allowance == 1000 ? "" : "s");
	err_detail(e, "allowance", json_real((double)allowance / 1000));
	return err_hint(e, "Ask for at most %.15g; agent.session shows the allowances.",
			(double)allowance / 1000);
}

static int64_t run_limits_memory_option(const struct config *config, enum config_key key)
{
	int64_t bytes = config_int(config, key);

	return bytes && bytes < MEMORY_MIN ? MEMORY_MIN : bytes;
}

static int run_limits_read_memory(const struct config *config, const json_t *params,
				  struct confine_request *request, struct err *e)
{
	int64_t allowance = run_limits_memory_option(config, CONFIG_LIMITS_MEMORY_BYTES);
	int64_t asked = json_get_int(params, "memory_limit", 0);

	request->memory_bytes =
		run_limits_choose(asked,
				  run_limits_memory_option(config, CONFIG_PROCESS_MEMORY_BYTES),
				  allowance);
	if (!allowance || asked <= allowance)
		return 0;
	err_invalid(e, "memory_limit", "memory_limit %" PRId64 " is above the allowance of %" PRId64
		    " bytes (limits.memory_bytes)", asked, allowance);
	err_detail(e, "allowance", json_integer(allowance));
	return err_hint(e, "Ask for at most %" PRId64 "; agent.session shows the allowances.",
			allowance);
}

void run_limits_usual(const struct config *config, struct confine_request *request)
{
	ERR_LOCAL(none); /* only what is asked for can be too much */

	*request = (struct confine_request){ 0 };
	(void)run_limits_read_cpu(config, NULL, request, &none);
	(void)run_limits_read_memory(config, NULL, request, &none);
}

void run_limits_drop_usual(const struct config *config, json_t *params)
{
	struct confine_request asked = { 0 }, usual;
	ERR_LOCAL(e);

	run_limits_usual(config, &usual);
	if (!run_limits_read_cpu(config, params, &asked, &e) &&
	    asked.cpu_permille == usual.cpu_permille)
		json_object_del(params, "cpu_limit");
	if (!run_limits_read_memory(config, params, &asked, &e) &&
	    asked.memory_bytes == usual.memory_bytes)
		json_object_del(params, "memory_limit");
	err_release(&e);
}

/* ---- limits ---- */

static int run_limits_bad(struct err *e, const char *name, const char *problem)
{
	err_invalid(e, "limits", "limits.%.64s %s", name, problem);
	return err_hint(e, KINDS_HINT);
}

/* setrlimit(2) and the libraries of most languages write RLIMIT_NOFILE. */
static int run_limits_unknown_kind(const char *name, struct err *e)
{
	const char *names[COUNT_OF(kinds) + 1] = { NULL };
	const char *start = name + (strncasecmp(name, "rlimit_", 7) ? 0 : 7);
	char bare[32];
	size_t len = 0;

	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		names[i] = kinds[i].name;
	for (; start[len] && len < sizeof(bare) - 1; len++)
		bare[len] = (char)tolower((unsigned char)start[len]);
	bare[len] = '\0';
	run_limits_bad(e, name, "is not a limit");
	schema_say_nearest(e, bare, names);
	err_detail(e, "nearest", json_string(schema_nearest(bare, names)));
	return -1;
}

/* One bound of limits.@name: 0 with *@out untouched when it is absent. */
static int run_limits_read_bound(const char *name, const json_t *value, uint64_t *out,
				 struct err *e)
{
	if (!value)
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return run_limits_bad(e, name, "must be an integer of at least 0, or an object "
					       "{\"soft\": ..., \"hard\": ...} of such integers");
	*out = (uint64_t)json_integer_value(value);
	return 0;
}

static int run_limits_check_members(const char *name, const json_t *object, struct err *e)
{
	size_t known = (json_object_get(object, "soft") != NULL) +
		       (json_object_get(object, "hard") != NULL);

	if (known && known == json_object_size(object))
		return 0;
	return run_limits_bad(e, name, "must have \"soft\" or \"hard\" or both, and nothing else");
}

static int run_limits_above(const char *name, uint64_t asked, uint64_t most, struct err *e)
{
	err_invalid(e, "limits", "limits.%s %" PRIu64 " is above the server's hard limit of %"
		    PRIu64, name, asked, most);
	return err_hint(e, "Ask for at most %" PRIu64 "; agent.session shows the allowances.",
			most);
}

/* A bound that the request leaves out is the server's own; the soft one is at most the hard one. */
static int run_limits_read_pair(const char *name, json_t *value, const struct rlimit *own,
				struct shim_rlimit *l, struct err *e)
{
	bool both = !json_is_object(value);
	const json_t *soft = both ? value : json_object_get(value, "soft");
	const json_t *hard = both ? value : json_object_get(value, "hard");

	if (!both && run_limits_check_members(name, value, e))
		return -1;
	l->hard = own->rlim_max;
	if (run_limits_read_bound(name, hard, &l->hard, e))
		return -1;
	l->soft = own->rlim_cur < l->hard ? own->rlim_cur : l->hard;
	if (run_limits_read_bound(name, soft, &l->soft, e))
		return -1;
	if (l->hard > own->rlim_max || (soft && l->soft > own->rlim_max))
		return run_limits_above(name, l->hard > own->rlim_max ? l->hard : l->soft,
					own->rlim_max, e);
	/* For a single number, leave room for SIGXCPU: it names the cause, SIGKILL does not. */
	if (both && l->resource == RLIMIT_CPU && l->hard < own->rlim_max)
		l->hard++;
	return l->soft <= l->hard ? 0
				  : run_limits_bad(e, name, "has a soft limit above its hard one");
}

static int run_limits_read_rlimits(json_t *limits, struct shim_rlimit *rlimits,
				   struct confine_request *request, struct err *e)
{
	const char *name;
	json_t *value;

	request->rlimits = rlimits;
	request->rlimit_count = 0;
	json_object_foreach(limits, name, value) {
		struct shim_rlimit *one = &rlimits[request->rlimit_count];
		struct rlimit own;
		size_t i = 0;

		while (i < COUNT_OF(kinds) && strcmp(kinds[i].name, name) != 0)
			i++;
		if (i == COUNT_OF(kinds))
			return run_limits_unknown_kind(name, e);
		one->resource = kinds[i].resource;
		if (getrlimit(kinds[i].resource, &own))
			return run_limits_bad(e, name, "is not known to this kernel");
		if (run_limits_read_pair(name, value, &own, one, e))
			return -1;
		request->rlimit_count++;
	}
	return 0;
}

int run_limits_read(const struct config *config, const json_t *params, struct shim_rlimit **rlimits,
		    struct confine_request *request, struct err *e)
{
	json_t *limits = json_object_get(params, "limits");
	size_t count = json_object_size(limits);

	*rlimits = count ? mem_zalloc(count * sizeof(**rlimits)) : NULL;
	request->tasks = config_int(config, CONFIG_LIMITS_TASKS_PER_RUN);
	if (run_limits_read_cpu(config, params, request, e) ||
	    run_limits_read_memory(config, params, request, e))
		return -1;
	return run_limits_read_rlimits(limits, *rlimits, request, e);
}

/* The root of a user namespace is another user of the machine, whom the kernel does hold to it. */
static bool run_limits_is_root(const struct confine_request *request)
{
	bool as_other = request->as_user && request->uid;
	FILE *map = !as_other && !geteuid() ? fopen("/proc/self/uid_map", "re") : NULL;
	unsigned inside, outside;
	bool is_root;

	if (!map)
		return false;
	is_root = fscanf(map, "%u %u", &inside, &outside) == 2 && !inside && !outside;
	fclose(map);
	return is_root;
}

static const struct {
	const char *name, *reason;
	bool of_root; /* binds other users */
} idle_kinds[] = {
	{ "nproc", "the kernel holds root, as whom the command runs, to none", true },
	{ "rss", "Linux holds no process to one; memory_limit bounds the run", false },
	{ "locks", "Linux holds no process to one", false },
};

unsigned run_limits_find_idle(const json_t *params, const struct confine_request *request)
{
	const json_t *limits = json_object_get(params, "limits");
	unsigned idle = 0;

	for (size_t i = 0; i < COUNT_OF(idle_kinds); i++)
		if (json_object_get(limits, idle_kinds[i].name) &&
		    (!idle_kinds[i].of_root || run_limits_is_root(request)))
			idle |= 1u << i;
	return idle;
}

void run_limits_warn_idle(struct jsonw *w, unsigned idle)
{
	char text[128];

	for (size_t i = 0; i < COUNT_OF(idle_kinds); i++)
		if (idle & 1u << i) {
			snprintf(text, sizeof(text), "limits.%s has no effect: %s",
				 idle_kinds[i].name, idle_kinds[i].reason);
			jsonw_str(w, NULL, text);
		}
}

/* ---- results and errors ---- */

void run_limits_write(struct jsonw *w, const struct config *config)
{
	int64_t cpu = config_int(config, CONFIG_LIMITS_CPU_PERCENT);
	int64_t memory = run_limits_memory_option(config, CONFIG_LIMITS_MEMORY_BYTES);
	int64_t background = config_int(config, CONFIG_LIMITS_BACKGROUND_SECONDS);
	struct rlimit own;

	jsonw_object(w, "allowances");
	if (cpu)
		jsonw_double(w, "cpu_limit", (double)cpu / 100);
	else
		jsonw_null(w, "cpu_limit");
	jsonw_int_or_null(w, "memory_limit", memory, memory);
	jsonw_int(w, "timeout", config_int(config, CONFIG_LIMITS_TIMEOUT_SECONDS));
	jsonw_int_or_null(w, "max_runtime", background, background);
	jsonw_object(w, "limits");
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		if (getrlimit(kinds[i].resource, &own) || own.rlim_max > INT64_MAX)
			jsonw_null(w, kinds[i].name);
		else
			jsonw_int(w, kinds[i].name, (int64_t)own.rlim_max);
	}
	jsonw_end_object(w);
	jsonw_end_object(w);
}

bool run_limits_struck(const struct proc *p)
{
	return p->reason == PROC_REASON_MEMORY_LIMIT || p->reason == PROC_REASON_CPU_LIMIT ||
	       p->reason == PROC_REASON_FILE_SIZE_LIMIT || p->reason == PROC_REASON_PROCESS_LIMIT;
}

static void run_limits_memory_error(const struct proc *p, struct err *e)
{
	const struct limits *l = &p->settings->limits;
	const struct limits_proof *proof = &p->rare->proof;

	if (proof->oom_kills > 0)
		err_set(e, ERR_RESOURCE_LIMIT_EXCEEDED,
			"the run was ended by its memory limit of %" PRId64
			" bytes: the kernel killed at least one process of it",
			l->memory_bytes);
	else
		err_set(e, ERR_RESOURCE_LIMIT_EXCEEDED,
			"the run was ended by its memory limit of %" PRId64
			" bytes: it had %" PRId64,
			l->memory_bytes, proof->seen);
	err_hint(e, "Use less memory, or ask for a higher memory_limit within the allowance that "
		    "agent.session shows.");
	err_detail(e, "limit", json_string("memory_limit"));
	err_detail(e, "limit_value", json_integer(l->memory_bytes));
	err_detail(e, "seen", proof->seen >= 0 ? json_integer(proof->seen) : NULL);
}

static void run_limits_process_error(const struct proc *p, struct err *e)
{
	err_set(e, ERR_RESOURCE_LIMIT_EXCEEDED,
		"the run was ended by its limit of %" PRId64
		" processes and threads: it had %" PRId64,
		p->settings->limits.tasks, p->rare->proof.seen);
	err_hint(e, "Start fewer at once; the operator can raise limits.tasks_per_run.");
	err_detail(e, "limit", json_string("limits.tasks_per_run"));
	err_detail(e, "limit_value", json_integer(p->settings->limits.tasks));
	err_detail(e, "seen", json_integer(p->rare->proof.seen));
}

/* The rlimit that struck: SIGXCPU comes at the soft one, SIGKILL at the hard one (setrlimit(2)). */
static int64_t run_limits_struck_value(const struct proc *p)
{
	if (p->reason != PROC_REASON_CPU_LIMIT)
		return limits_file_bytes(&p->settings->limits);
	return WTERMSIG(p->wait_status) == SIGXCPU ? p->settings->limits.cpu_soft
						   : p->settings->limits.cpu_seconds;
}

/* An rlimit: the request's, the server's, or one of processor time that the command has set. */
static void run_limits_rlimit_error(const struct proc *p, struct err *e)
{
	bool cpu = p->reason == PROC_REASON_CPU_LIMIT;
	int64_t value = run_limits_struck_value(p);

	err_set(e, ERR_RESOURCE_LIMIT_EXCEEDED, "the run was ended by its %s limit (signal %s)",
		cpu ? "cpu time" : "file size", proc_signal_name(p));
	err_hint(e, "Use less, or ask for a higher limits.%s; agent.session shows how much is "
		    "allowed.", cpu ? "cpu" : "fsize");
	err_detail(e, "limit", json_string(cpu ? "limits.cpu" : "limits.fsize"));
	err_detail(e, "limit_value", value >= 0 ? json_integer(value) : json_null());
	err_detail(e, "signal", json_string(proc_signal_name(p)));
}

void run_limits_error(const struct proc *p, struct err *e)
{
	if (p->reason == PROC_REASON_MEMORY_LIMIT)
		run_limits_memory_error(p, e);
	else if (p->reason == PROC_REASON_PROCESS_LIMIT)
		run_limits_process_error(p, e);
	else
		run_limits_rlimit_error(p, e);
}

/* Was a sampled limit exceeded between two samples? */
static bool run_limits_was_passed(const struct proc *p)
{
	return p->settings->limits.memory == LIMITS_SAMPLED && p->state == PROC_STATE_COMPLETED &&
	       p->usage.memory_peak_bytes > p->settings->limits.memory_bytes;
}

void run_limits_warn(struct jsonw *w, struct proc *p)
{
	int64_t refused = proc_tasks_refused(p);
	char text[256];

	if (refused > 0) {
		snprintf(text, sizeof(text),
			 "%" PRId64 " times the kernel refused a new process or thread: the run "
			 "may have %" PRId64 " at once (limits.tasks_per_run), fewer where the "
			 "control group of procpen itself is full",
			 refused, p->settings->limits.tasks);
		jsonw_str(w, NULL, text);
	}
	if (run_limits_was_passed(p)) {
		snprintf(text, sizeof(text),
			 "the peak of %" PRId64 " bytes is above memory_limit %" PRId64
			 ": it was over, or was memory of files, before it could be acted on",
			 p->usage.memory_peak_bytes, p->settings->limits.memory_bytes);
		jsonw_str(w, NULL, text);
	}
}
