/*
 * sampler - samples what the tree uses, for the limits that the shim enforces itself.
 *
 * sampler_look() walks the tree and adds up. sampler_quiet() costs one cheap system call
 * for each process and says whether anything has run since; if not, the last sample still
 * holds. Only the last sample is kept.
 */
#ifndef PROCPEN_OS_SHIM_SAMPLER_H
#define PROCPEN_OS_SHIM_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

/* What a look adds up; a set of bits. */
enum sample_part { SAMPLE_CPU = 1, SAMPLE_MEMORY = 2, SAMPLE_TASKS = 4 };

struct sample {
	uint64_t cpu_ns;   /* used so far by the whole tree, the dead included */
	int forgotten;     /* cpu_ns is a lower bound: children of a parent that ignores SIGCHLD
			    * were reaped by the kernel */
	uint32_t running;  /* processes that run or want to */
	uint64_t resident; /* summed; pages that processes share count for each of them */
	uint64_t private;  /* the same without files and shared memory */
	uint64_t largest;  /* the most that one process has of that */
	uint32_t tasks;    /* processes and their threads */
};

/* One process of the last look. */
struct member {
	int pid;
	uint16_t look;
	uint16_t is_new : 1; /* it was not there in the look before */
	uint16_t halted : 1; /* it was stopped, by us or by others */
	uint16_t ours : 1;   /* we have stopped it */
	uint64_t cpu_ns; /* its own clock */
};

/* Another tree: forget what was seen. */
void sampler_reset(void);

/* Walk the tree. @parts: enum sample_part. */
void sampler_look(unsigned parts, struct sample *t);

/* Has no process run, and none ended, since the last look? */
int sampler_quiet(void);

/* Share-aware memory of the whole tree in bytes; takes a millisecond for some 100 MB. */
uint64_t sampler_memory_exact(void);

/* The i-th process of the last look, parents before their children; NULL: there are no more. */
struct member *sampler_member(size_t i);

/* Nanoseconds of CLOCK_MONOTONIC, and of our own processor time. */
uint64_t sampler_now_ns(void);
uint64_t sampler_own_cpu_ns(void);

#endif
