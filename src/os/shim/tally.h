/*
 * tally - what the tree below us uses, for the limits that the keeper watches.
 *
 * A look walks the tree and adds up. Between looks tally_quiet() tells at the
 * price of one cheap system call for each process whether anything has run since:
 * if not, the tree is what it was. Nothing is remembered but the last look.
 */
#ifndef PROCPEN_OS_SHIM_TALLY_H
#define PROCPEN_OS_SHIM_TALLY_H

#include <stddef.h>
#include <stdint.h>

/* What a look adds up; a set of bits. */
enum tally_part { TALLY_CPU = 1, TALLY_MEMORY = 2, TALLY_TASKS = 4 };

struct tally {
	uint64_t cpu_ns;   /* used so far by the whole tree, the dead included */
	int forgotten;     /* that is too little: the kernel keeps no time of processes whose
			    * parent ignores SIGCHLD, and there were some */
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
void tally_reset(void);

/* Walk the tree. @parts: enum tally_part. */
void tally_look(unsigned parts, struct tally *t);

/* Has no process run, and none ended, since the last look? */
int tally_quiet(void);

/* Share-aware memory of the whole tree in bytes; takes a millisecond for some 100 MB. */
uint64_t tally_memory_exact(void);

/* The i-th process of the last look, parents before their children; NULL: there are no more. */
struct member *tally_member(size_t i);

/* Nanoseconds of CLOCK_MONOTONIC, and of our own processor time. */
uint64_t tally_now(void);
uint64_t tally_own_cpu(void);

#endif
