#include "os/shim/sampler.h"

#include <linux/time.h>

#include "os/shim/proctree.h"
#include "os/shim/sys.h"
#include "os/shim/rusage.h"

#define MEMBERS_MAX 8192 /* TREE_MAX of proctree.c */
#define PROBES 32
#define AGE_MAX 64 /* samples; one may miss a process whose parent changes meanwhile */
#define TICK_NS 10000000u /* of the times in /proc: USER_HZ is 100 everywhere */
#define CLOCK_OF_PROCESS(pid) (((long)~(pid) << 3) | 2) /* its scheduler clock, clock_getres(2) */

static struct member table[MEMBERS_MAX] SHIM_LARGE; /* hashed by pid */
static uint16_t orders[2][MEMBERS_MAX] SHIM_LARGE;  /* slots in the order of the last two walks */
static uint16_t *order = orders[0], *order_before = orders[1];
static size_t member_count, count_before;
static uint16_t last_sample; /* its number */
static uint64_t seen_ns; /* sum of all increases of all clocks that we saw */
static uint64_t gone_ns; /* last value of the clocks of dead processes */
static uint64_t most_ns; /* highest cpu_ns so far */
static uint64_t reaped_us; /* time of all processes that the shim itself reaped */
static int ignored; /* some process ignores SIGCHLD ... */
static int dropped; /* ... and a process has ended since: time may be missing from now on */

static uint64_t sampler_clock_ns(long id)
{
	struct __kernel_timespec t;

	if (sys2(__NR_clock_gettime, id, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t sampler_now_ns(void)
{
	return sampler_clock_ns(CLOCK_MONOTONIC);
}

uint64_t sampler_own_cpu_ns(void)
{
	return sampler_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static struct member *sampler_member_mark_seen(unsigned slot)
{
	order[member_count++] = (uint16_t)slot;
	table[slot].sample = last_sample;
	return &table[slot];
}

/*
 * Find or create the entry of @pid and mark it as seen in this sample. *@m is NULL if the table has
 * no room for it. Returns 0 if this walk has already seen @pid (its parent changed meanwhile).
 */
static int sampler_member_enter(int pid, struct member **m)
{
	unsigned vacant = MEMBERS_MAX;

	*m = 0;
	for (unsigned i = 0; i < PROBES; i++) {
		unsigned slot = ((unsigned)pid + i) % MEMBERS_MAX;
		int is_this = table[slot].pid == pid;
		int age = (uint16_t)(last_sample - table[slot].sample);

		if (is_this && age == 0)
			return 0;
		if (is_this && age <= AGE_MAX) {
			*m = sampler_member_mark_seen(slot);
			(*m)->is_new = 0;
			return 1;
		}
		if (vacant == MEMBERS_MAX && (age > AGE_MAX || !table[slot].pid))
			vacant = slot;
	}
	if (vacant < MEMBERS_MAX) {
		table[vacant] = (struct member){ .pid = pid, .is_new = 1 };
		*m = sampler_member_mark_seen(vacant);
	}
	return 1;
}

static uint64_t sampler_add_cpu(struct member *m, int pid)
{
	uint64_t now = sampler_clock_ns(CLOCK_OF_PROCESS(pid));

	if (!m)
		return now;
	if (now > m->cpu_ns)
		seen_ns += now - m->cpu_ns;
	if (now)
		m->cpu_ns = now;
	return now;
}

static void sampler_add_memory(int pid, struct sample *t)
{
	struct proctree_memory memory;

	if (proctree_memory(pid, &memory))
		return;
	t->resident += memory.resident;
	t->private += memory.private;
	if (memory.private > t->largest)
		t->largest = memory.private;
}

/* Returns the time of children that @pid has waited for. */
static uint64_t sampler_add_stat(struct member *m, int pid, struct sample *t)
{
	struct procread_stat stat;

	if (proctree_stat(pid, &stat))
		return 0;
	t->tasks += stat.threads;
	t->running += stat.state == 'R';
	ignored |= stat.ignores_children ? 1 : 0;
	if (m)
		m->halted = stat.state == 'T' || stat.state == 't';
	return stat.child_ticks * TICK_NS;
}

/* Account for the processes that were in the last sample and are dead now. */
static void sampler_count_gone(void)
{
	for (size_t i = 0; i < count_before; i++) {
		struct member *m = &table[order_before[i]];

		if (m->sample == last_sample || sampler_clock_ns(CLOCK_OF_PROCESS(m->pid)))
			continue;
		gone_ns += m->cpu_ns;
		dropped |= ignored;
		m->pid = 0;
	}
}

static void sampler_begin_pass(void)
{
	uint16_t *before = order;

	order = order_before;
	order_before = before;
	count_before = member_count;
	member_count = 0;
	last_sample++;
	reaped_us = rusage_cpu_us();
}

/*
 * There are two figures of the time used: @living (clocks of live processes) plus
 * @collected (reaped ones), and seen_ns. The first is exact unless the kernel dropped the
 * time of a dead process. That is so if @collected is less than the dead had shown, or
 * if a process ended while one in the tree ignores SIGCHLD.
 */
static void sampler_sum_cpu(uint64_t living, uint64_t collected, struct sample *t)
{
	collected += reaped_us * 1000;
	/* A process that ends between two readings is missed once: never decrease. */
	if (living + collected > most_ns)
		most_ns = living + collected;
	t->cpu_ns = most_ns > seen_ns ? most_ns : seen_ns;
	/* The kernel rounds the two sums of each live parent down to whole ticks. */
	t->forgotten = dropped || gone_ns > collected + (member_count + 1) * 2 * TICK_NS;
}

void sampler_reset(void)
{
	last_sample += AGE_MAX + 1; /* makes every entry too old */
	member_count = count_before = 0;
	seen_ns = gone_ns = most_ns = reaped_us = 0;
	ignored = dropped = 0;
}

void sampler_take(unsigned parts, struct sample *t)
{
	const int *tree;
	int count = proctree_list(&tree);
	uint64_t living = 0, collected = 0;

	*t = (struct sample){ 0 };
	sampler_begin_pass();
	for (int i = 0; i < count; i++) {
		struct member *m;

		if (!sampler_member_enter(tree[i], &m))
			continue;
		living += sampler_add_cpu(m, tree[i]);
		if (parts & SAMPLE_MEMORY)
			sampler_add_memory(tree[i], t);
		if (parts & (SAMPLE_CPU | SAMPLE_TASKS))
			collected += sampler_add_stat(m, tree[i], t);
	}
	if (!(parts & SAMPLE_CPU))
		return;
	sampler_count_gone();
	sampler_sum_cpu(living, collected, t);
}

int sampler_quiet(void)
{
	if (!member_count || rusage_cpu_us() != reaped_us)
		return 0;
	for (size_t i = 0; i < member_count; i++) {
		const struct member *m = &table[order[i]];

		if (sampler_clock_ns(CLOCK_OF_PROCESS(m->pid)) != m->cpu_ns)
			return 0;
	}
	return 1;
}

uint64_t sampler_memory_exact(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < member_count; i++) {
		int pid = table[order[i]].pid;
		int64_t share = proctree_proportional(pid);
		struct proctree_memory memory;

		if (share >= 0)
			sum += (uint64_t)share;
		else if (!proctree_memory(pid, &memory))
			sum += memory.private;
	}
	return sum;
}

struct member *sampler_member(size_t i)
{
	return i < member_count ? &table[order[i]] : 0;
}
