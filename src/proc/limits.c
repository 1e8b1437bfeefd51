#include "proc/limits.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/mem.h"

/* The kernel compares RLIMIT_CPU with a time that it counts in ticks. On a busy machine the exact
 * sum, which rusage reports, was up to a third less. */
#define CPU_PROOF_PERCENT 50
#define RETRIES_MAX 10 /* reads of the out-of-memory counter, after 1, 2, 4 ... ms */

static const struct shim_rlimit *limits_find_rlimit(const struct confine_request *request,
						    uint32_t resource)
{
	for (size_t i = 0; i < request->rlimit_count; i++)
		if (request->rlimits[i].resource == resource)
			return &request->rlimits[i];
	return NULL;
}

static enum limits_holder limits_holder(int64_t limit, bool watched, bool rlimited)
{
	if (!limit)
		return LIMITS_NONE;
	if (watched)
		return LIMITS_SAMPLED;
	return rlimited ? LIMITS_RLIMIT : LIMITS_GROUP;
}

static int64_t limits_rlimit_or_none(uint64_t value)
{
	return value > INT64_MAX ? -1 : (int64_t)value; /* RLIM_INFINITY is not a limit */
}

void limits_init(struct limits *l, const struct confine_request *request,
		 const struct confine_run *run)
{
	const struct shim_rlimit *cpu = limits_find_rlimit(request, RLIMIT_CPU);
	const struct shim_rlimit *file = limits_find_rlimit(request, RLIMIT_FSIZE);

	*l = (struct limits){
		.memory_bytes = request->memory_bytes,
		.tasks = request->tasks,
		.cpu_seconds = cpu ? limits_rlimit_or_none(cpu->hard) : -1,
		.cpu_soft = cpu ? limits_rlimit_or_none(cpu->soft) : -1,
		.file_bytes = file ? limits_rlimit_or_none(file->soft) : -1,
		.memory = limits_holder(request->memory_bytes, run->watched_memory, false),
		.cpu = limits_holder(request->cpu_permille, run->watched_cpu, false),
		.processes = limits_holder(request->tasks, run->watched_tasks, run->rlimited_tasks),
	};
}

void limits_proof_init(struct limits_proof *proof)
{
	*proof = (struct limits_proof){ .struck = PROC_REASON_RUNNING, .seen = -1 };
}

static void limits_strike(struct limits_proof *proof, enum proc_reason reason, int64_t seen)
{
	if (proof->struck != PROC_REASON_RUNNING)
		return;
	proof->struck = reason;
	proof->seen = seen;
}

void limits_reported(struct limits_proof *proof, const struct shim_report *report)
{
	if (report->value == SHIM_LIMIT_TASKS)
		limits_strike(proof, PROC_REASON_PROCESS_LIMIT, report->live);
	else
		limits_strike(proof, PROC_REASON_MEMORY_LIMIT, (int64_t)report->memory_peak_bytes);
	proof->ending = true;
}

bool limits_check_group(struct limits_proof *proof, struct cgroup *group)
{
	int64_t kills = group ? cgroup_oom_kills(group) : -1;

	if (kills <= 0)
		return false;
	proof->oom_kills = kills;
	limits_strike(proof, PROC_REASON_MEMORY_LIMIT, -1);
	return true;
}

int64_t limits_file_bytes(const struct limits *l)
{
	struct rlimit own;

	if (l->file_bytes >= 0 || getrlimit(RLIMIT_FSIZE, &own))
		return l->file_bytes;
	return limits_rlimit_or_none(own.rlim_cur);
}

enum proc_reason limits_of_status(const struct limits *l, int wait_status,
				  const struct usage *usage)
{
	int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;

	/* The command may have set the limit itself. Kernels before 5.5 take 0 as 1. */
	if (signal == SIGXCPU && (usage->cpu_ms >= 10 * CPU_PROOF_PERCENT || !l->cpu_soft))
		return PROC_REASON_CPU_LIMIT;
	if (signal == SIGXFSZ && limits_file_bytes(l) >= 0)
		return PROC_REASON_FILE_SIZE_LIMIT;
	if (signal == SIGKILL && l->cpu_seconds >= 0 &&
	    usage->cpu_ms / (10 * CPU_PROOF_PERCENT) >= l->cpu_seconds)
		return PROC_REASON_CPU_LIMIT;
	return PROC_REASON_RUNNING;
}

void limits_each(const struct limits *l, void (*fn)(void *ctx, const char *text), void *ctx)
{
	static const char *const texts[][4] = {
		{ NULL, "memory_limit:cgroup", NULL, "memory_limit:sampled" },
		{ NULL, "cpu_limit:cgroup", NULL, "cpu_limit:duty_cycle" },
		{ NULL, "process_limit:cgroup", "process_limit:rlimit", "process_limit:counted" },
	};
	const enum limits_holder holders[] = { l->memory, l->cpu, l->processes };

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (texts[i][holders[i]])
			fn(ctx, texts[i][holders[i]]);
}

void limits_group_usage(const struct cgroup *group, struct usage *u)
{
	struct cgroup_usage counted;

	if (!group)
		return;
	cgroup_usage(group, &counted);
	if (counted.cpu_us >= 0)
		u->cpu_ms = (counted.cpu_us + 500) / 1000;
	if (counted.memory_peak_bytes >= 0)
		u->memory_peak_bytes = counted.memory_peak_bytes;
}

void limits_count_refused(struct limits_proof *proof, struct cgroup *group)
{
	int64_t refused = group && !proof->ending ? cgroup_refused(group) : 0;

	if (refused > 0)
		proof->tasks_refused = refused;
}

void limits_ending(struct limits_proof *proof, struct cgroup *group)
{
	limits_count_refused(proof, group);
	proof->ending = true;
}

/* Version 1 fires the descriptor first and counts the kill a moment later: retry. */
static void limits_watch_check(struct limits_watch *w, struct ev_loop *loop)
{
	if (limits_check_group(w->proof, w->group)) {
		loop_timer_stop(loop, &w->again);
		loop_close(loop, &w->oom); /* report once */
		w->on_struck(w->ctx);
	} else if (w->retries < RETRIES_MAX) {
		loop_timer_start(loop, &w->again, 1 << w->retries++);
	}
}

static void limits_on_retry(struct ev_loop *loop, ev_timer *timer, int revents)
{
	(void)revents;
	limits_watch_check(timer->data, loop);
}

static void limits_on_oom(struct ev_loop *loop, ev_io *io, int revents)
{
	struct limits_watch *w = io->data;

	w->retries = loop_refused(loop, io, revents) ? RETRIES_MAX : 0; /* it comes again */
	limits_watch_check(w, loop);
}

/* Watch a duplicate: if the group closed a watched descriptor, the loop would not notice. */
void limits_watch_start(struct limits_watch *w, struct ev_loop *loop, struct limits_proof *proof,
			struct cgroup *group, void (*on_struck)(void *ctx), void *ctx)
{
	int fd = group ? cgroup_oom_fd(group) : -1;

	if (fd >= 0)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	ev_io_init(&w->oom, limits_on_oom, fd, EV_READ);
	w->oom.data = w;
	loop_timer_init(&w->again, limits_on_retry, w);
	w->retries = 0;
	w->proof = proof;
	w->group = group;
	w->on_struck = on_struck;
	w->ctx = ctx;
	if (fd >= 0)
		ev_io_start(loop, &w->oom);
}

void limits_watch_stop(struct limits_watch *w, struct ev_loop *loop)
{
	if (w->group)
		loop_timer_stop(loop, &w->again);
	loop_close(loop, &w->oom);
}
