/*
 * sampler - samples what the tree uses, for the limits that the shim enforces itself.
 *
 * sampler_take() walks the tree and adds up. sampler_quiet() costs one cheap system call
 * for each process and reports whether any process has run since; if none has, the last
 * sample is still valid. Only the last sample is kept.
 */
#ifndef PROCPEN_OS_SHIM_SAMPLER_H
#define PROCPEN_OS_SHIM_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

/* What sampler_take() adds up; a set of bits. */
enum sample_part { SAMPLE_CPU = 1, SAMPLE_MEMORY = 2, SAMPLE_TASKS = 4 };

struct sample {
	uint64_t cpu_ns;   /* used so far by the whole tree, dead processes included */
	int forgotten;     /* cpu_ns is a lower bound: children of a parent that ignores SIGCHLD
			    * were reaped by the kernel */
	uint32_t running;  /* processes in state R */
	uint64_t resident; /* summed; pages that processes share count for each of them */
	uint64_t private;  /* the same without files and shared memory */
	uint64_t largest;  /* the highest `private` of one process */
	uint32_t tasks;    /* processes and their threads */
};

/* One process of the last sample. */
struct member {
	int pid;
	uint16_t sample;     /* number of the last sample that saw it */
	uint16_t is_new : 1; /* it was not in the previous sample */
	uint16_t halted : 1; /* it is stopped, by us or by others */
	uint16_t ours : 1;   /* we have stopped it */
	uint64_t cpu_ns; /* its own clock */
};

/* Another tree begins: drop all samples. */
void sampler_reset(void);

/* Walk the tree. @parts: enum sample_part. */
void sampler_take(unsigned parts, struct sample *t);

/* True if no process has run or ended since the last sample. */
int sampler_quiet(void);

/* Share-aware memory of the whole tree in bytes; takes a millisecond for some 100 MB. */
uint64_t sampler_memory_exact(void);

/* The i-th process of the last sample, parents before their children; NULL: there are no more. */
struct member *sampler_member(size_t i);

/* Nanoseconds of CLOCK_MONOTONIC, and of our own processor time. */
uint64_t sampler_now_ns(void);
uint64_t sampler_own_cpu_ns(void);

#endif
