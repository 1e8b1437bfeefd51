/* cgroup/types - abilities, limits and usage of a control group: see cgroup.h. */
#ifndef PROCPEN_OS_CGROUP_TYPES_H
#define PROCPEN_OS_CGROUP_TYPES_H

#include <stdint.h>

/* What a group can do on this machine; a set of bits. */
enum cgroup_can {
	CGROUP_MEMORY = 1, /* limit, peak, proof of an out-of-memory kill */
	CGROUP_CPU = 2,    /* limit */
	CGROUP_TASKS = 4,  /* limit */
	CGROUP_KILL = 8,   /* kill every process, including those forked meanwhile */
	CGROUP_CPU_USAGE = 16,
};

struct cgroup_limits {
	int64_t memory_bytes; /* resident memory, swap included; 0: none */
	int64_t cpu_permille; /* of one processor; 0: none */
	int64_t tasks;        /* processes and threads at once; 0: none */
	/* CGROUP_MEMORY for the peak without a limit, CGROUP_CPU_USAGE for exact time. Under
	 * version 1 each costs one more directory per run; those not available are left out. */
	unsigned count;
};

struct cgroup_usage {
	int64_t cpu_us;            /* -1: not counted here */
	int64_t memory_peak_bytes; /* -1: not counted here */
};

#endif
