#include "os/shim/limit.h"

#include "os/shim/sampler.h"
#include "os/shim/cpu_throttle.h"

#define MS 1000000u
#define LOOK_MIN (20u * MS)
#define LOOK_MAX (200u * MS)
#define GROWTH_BYTES_PER_MS (4u << 20) /* fastest growth of a tree, measured with two hogs */
#define GROWTH_TASKS_PER_MS 20
#define COST_SHARE 20 /* a sample may take 1/20 of the time until the next */

static const struct shim_limits *limits;
static unsigned parts;      /* enum sample_part; 0: there is no limit */
static unsigned quiet;      /* turns since a process ran */
static uint64_t due;
static uint64_t peak;
static struct sample last;

/* The last expensive measurement of memory (sampler_memory_exact()). */
static struct {
	uint64_t used, resident; /* exact, and the cheap upper bound of the same moment */
	uint64_t due;            /* not before this, unless the tree may have reached the limit */
	int wanted;              /* the last sample used this older value */
} exact;

void limit_start(const struct shim_plan *plan)
{
	limits = &plan->limits;
	parts = (limits->memory_bytes ? SAMPLE_MEMORY : 0) | (limits->tasks ? SAMPLE_TASKS : 0) |
		(limits->cpu_permille ? SAMPLE_CPU : 0);
	quiet = 0;
	peak = 0;
	last = (struct sample){ 0 };
	exact.used = exact.resident = exact.due = 0;
	exact.wanted = 0;
	if (!parts)
		return;
	sampler_reset();
	if (limits->cpu_permille)
		cpu_throttle_start(limits->cpu_permille, (plan->flags & SHIM_PID_NS) != 0);
	due = sampler_now_ns() + (limits->cpu_permille ? LOOK_MIN / 2 : LOOK_MIN);
}

int64_t limit_wait(void)
{
	uint64_t now;

	if (!parts)
		return -1;
	now = sampler_now_ns();
	return due > now ? (int64_t)(due - now) : 0;
}

/*
 * The sum of resident memory is an upper bound of what the tree has in memory, the private memory
 * of its largest process a lower bound. Take the exact measurement only if the limit is between the
 * two, and not before exact.due unless the growth since could reach the limit. Only that counts
 * swap: where the sum is below the limit, what was swapped out is left to the machine.
 */
static uint64_t limit_memory_used(uint64_t now)
{
	const uint64_t limit = limits->memory_bytes;
	uint64_t before;

	exact.wanted = 0;
	if (last.resident <= limit)
		return last.private;
	if (last.largest > limit)
		return last.largest;
	if (now < exact.due && last.resident + exact.used <= exact.resident + limit) {
		exact.wanted = 1;
		return exact.used;
	}
	before = sampler_own_cpu_ns();
	exact.used = sampler_memory_exact();
	exact.resident = last.resident;
	exact.due = now + (sampler_own_cpu_ns() - before) * COST_SHARE;
	return exact.used;
}

static uint64_t limit_clamp_wait(uint64_t value, uint64_t most)
{
	return value < LOOK_MIN ? LOOK_MIN : value < most ? value : most;
}

/* How long the tree probably cannot reach a limit. @cost: processor time of the last sample. */
static uint64_t limit_next_wait(uint64_t cost)
{
	uint64_t wait = LOOK_MAX, share;

	if (limits->memory_bytes) {
		const uint64_t limit = limits->memory_bytes;
		uint64_t used = last.resident <= limit ? last.resident : exact.used;
		uint64_t left = limit > used ? limit - used : 0;

		wait = limit_clamp_wait(left / GROWTH_BYTES_PER_MS * MS, wait);
	}
	if (limits->tasks) {
		uint64_t left = limits->tasks > last.tasks ? limits->tasks - last.tasks : 0;

		wait = limit_clamp_wait(left / GROWTH_TASKS_PER_MS * MS, wait);
	}
	if (limits->cpu_permille) {
		share = cpu_throttle_wait(quiet);
		wait = share < wait ? share : wait;
	}
	return cost * COST_SHARE > wait ? cost * COST_SHARE : wait;
}

/* Nothing has run since the last sample, so nothing has grown: only account processor time. */
static void limit_account_idle(uint64_t now)
{
	quiet++;
	if (limits->cpu_permille)
		cpu_throttle_account(now, &last, 1);
	due = now + limit_next_wait(0);
}

enum shim_limit limit_check(void)
{
	uint64_t now = parts ? sampler_now_ns() : 0, used, before;

	if (!parts || now < due)
		return 0;
	if (!exact.wanted && sampler_quiet()) {
		limit_account_idle(now);
		return 0;
	}
	quiet = 0;
	before = sampler_own_cpu_ns();
	sampler_take(parts, &last);
	used = parts & SAMPLE_MEMORY ? limit_memory_used(now) : 0;
	if (used > peak)
		peak = used;
	if (limits->memory_bytes && used > limits->memory_bytes)
		return SHIM_LIMIT_MEMORY;
	if (limits->tasks && last.tasks > limits->tasks)
		return SHIM_LIMIT_TASKS;
	if (limits->cpu_permille)
		cpu_throttle_account(now, &last, 0);
	due = now + limit_next_wait(sampler_own_cpu_ns() - before);
	return 0;
}

uint64_t limit_memory_peak(void)
{
	return peak;
}

uint32_t limit_tasks(void)
{
	return last.tasks;
}

void limit_before_signal(void)
{
	if (parts & SAMPLE_CPU)
		cpu_throttle_resume();
}
