#include "os/shim/cpu_throttle.h"

#include <asm/signal.h>

#include "os/shim/proctree.h"
#include "os/shim/sys.h"

#define TICK_NS 10000000
#define QUIET_NS 100000000  /* between samples of a sleeping tree */
#define WINDOW_NS 100000000 /* keep unused time for so long, like the kernel's own period */
#define PASSES_MAX 8        /* over a tree that forks while it is being stopped */
#define ROUNDING_NS 1000
#define CPU_SET_BYTES 1024

static int64_t permille, balance_ns, processors;
static uint64_t last_ns, last_cpu_ns;
static int whole_namespace, stopped;

static int64_t cpu_throttle_count_processors(void)
{
	static unsigned char set[CPU_SET_BYTES] SHIM_LARGE;
	long n = sys3(__NR_sched_getaffinity, 0, sizeof(set), set);
	int64_t count = 0;

	for (long i = 0; i < n; i++)
		for (unsigned bits = set[i]; bits; bits &= bits - 1)
			count++;
	return count ? count : 1;
}

void cpu_throttle_start(uint32_t limit, int reaches_all)
{
	/* Without SA_NOCLDSTOP each stop of a child would wake the shim. */
	struct sigaction quiet = { .sa_flags = SA_NOCLDSTOP };

	permille = limit;
	whole_namespace = reaches_all;
	processors = cpu_throttle_count_processors();
	balance_ns = 0;
	stopped = 0;
	last_ns = sampler_now_ns();
	last_cpu_ns = 0;
	sys4(__NR_rt_sigaction, SIGCHLD, &quiet, 0, sizeof(quiet.sa_mask));
}

/* Stop the running members of the last sample. Returns how many. If a SIGSTOP is already pending,
 * another process sent it: count the member as halted, but not by us. */
static int cpu_throttle_stop_members(void)
{
	struct member *m;
	int count = 0;

	for (size_t i = 0; (m = sampler_member(i)); i++) {
		if (!m->halted && !m->ours)
			m->halted = proctree_stop_pending(m->pid) != 0;
		if (m->halted)
			continue;
		if (!whole_namespace)
			sys2(__NR_kill, m->pid, SIGSTOP);
		m->halted = m->ours = 1;
		count++;
	}
	return count;
}

/* Sample and stop until no new process shows up: then all that could fork are stopped. */
static void cpu_throttle_stop_until_quiet(void)
{
	struct sample ignored;
	struct member *m;
	int more = 1;

	for (int pass = 0; more && pass < PASSES_MAX; pass++) {
		sampler_take(SAMPLE_CPU, &ignored);
		for (size_t i = 0; (m = sampler_member(i)); i++)
			m->halted |= m->ours; /* our SIGSTOP may not have taken effect yet */
		more = cpu_throttle_stop_members();
	}
}

/* A process that turns up while the namespace is stopped was stopped with it: the kernel also stops
 * children whose fork was under way. */
static void cpu_throttle_adopt_new(void)
{
	struct member *m;

	for (size_t i = 0; (m = sampler_member(i)); i++)
		m->ours |= m->is_new;
}

/* One kill(-1) stops all processes at once. */
static void cpu_throttle_stop_namespace(void)
{
	struct sample ignored;

	sys2(__NR_kill, -1, SIGSTOP);
	sampler_take(SAMPLE_CPU, &ignored);
	cpu_throttle_adopt_new();
}

static void cpu_throttle_stop_tree(void)
{
	cpu_throttle_stop_members();
	stopped = 1;
	if (whole_namespace)
		cpu_throttle_stop_namespace();
	else
		cpu_throttle_stop_until_quiet();
}

void cpu_throttle_resume(void)
{
	struct sample ignored;
	struct member *m;
	size_t count = 0;
	int foreign = 0; /* stopped by the command itself */

	if (!stopped)
		return;
	if (whole_namespace) {
		sampler_take(SAMPLE_CPU, &ignored);
		cpu_throttle_adopt_new();
	}
	for (; (m = sampler_member(count)); count++)
		foreign |= m->halted && !m->ours;
	while (count--) {
		m = sampler_member(count);
		if (m->ours)
			sys2(__NR_kill, m->pid, SIGCONT);
		m->ours = m->halted = 0;
	}
	if (whole_namespace && !foreign) /* also to a child that is still being forked */
		sys2(__NR_kill, -1, SIGCONT);
	stopped = 0;
}

/* Processor time used in the last @span_ns. If cpu_ns is only a lower bound, count wall-clock time
 * for each process that was running, if that is more. */
static int64_t cpu_throttle_used_ns(int64_t span_ns, const struct sample *t, int quiet)
{
	int64_t known = (int64_t)(t->cpu_ns - last_cpu_ns), by_clock;

	if (!t->forgotten || quiet || stopped)
		return known;
	by_clock = t->running > processors ? processors : t->running ? t->running : 1;
	by_clock *= span_ns;
	return by_clock > known ? by_clock : known;
}

void cpu_throttle_account(uint64_t now_ns, const struct sample *t, int quiet)
{
	const int64_t most = WINDOW_NS / 1000 * permille;
	int64_t span_ns = (int64_t)(now_ns - last_ns);

	balance_ns += span_ns * permille / 1000 - cpu_throttle_used_ns(span_ns, t, quiet);
	if (balance_ns > most)
		balance_ns = most;
	last_ns = now_ns;
	last_cpu_ns = t->cpu_ns;
	if (stopped && whole_namespace && !quiet)
		cpu_throttle_adopt_new();
	if (balance_ns >= 0 && stopped)
		cpu_throttle_resume();
	else if (balance_ns < 0 && !(stopped && quiet)) /* others may have continued some */
		cpu_throttle_stop_tree();
}

uint64_t cpu_throttle_wait(unsigned quiet)
{
	int64_t wait = (int64_t)TICK_NS << (quiet < 4 ? quiet : 4), until;

	if (wait > QUIET_NS)
		wait = QUIET_NS;
	if (stopped) {
		until = -balance_ns * 1000 / permille + ROUNDING_NS;
		return (uint64_t)(until < wait ? until : wait);
	}
	if (permille >= processors * 1000)
		return QUIET_NS;
	until = balance_ns * 1000 / (processors * 1000 - permille); /* no debt before */
	return (uint64_t)(until > wait ? until : wait);
}
