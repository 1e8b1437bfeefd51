/*
 * filter - builds a variant of the system call filter and runs it on calls, with
 * an interpreter of our own for the instructions that the kernel knows.
 */
#ifndef PROCPEN_TESTS_FILTER_H
#define PROCPEN_TESTS_FILTER_H

#include "unit.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "os/sandbox/seccomp.h"
#include "os/shim/proto.h"

#define DENIED(number) (SECCOMP_RET_ERRNO | (number))
#define HIGH UINT64_C(0xffffffff00000000)

/* Stand-ins for the pids of the doors' rules. */
#define SERVER_PID 1000
#define SERVER_GROUP 900

struct filter {
	struct sock_filter *program;
	size_t len;
	size_t most_steps; /* so far */
};

static inline struct filter filter_make(struct confine_seccomp_options options)
{
	struct filter f = { NULL, 0, 0 };
	ERR_LOCAL(e);

	assert_int_equal(confine_seccomp_build(&options, &f.program, &f.len, &e), 0);
	return f;
}

static inline void filter_free(struct filter *f)
{
	free(f->program);
	f->program = NULL;
}

static inline bool filter_jump_taken(const struct sock_filter *at, uint32_t a)
{
	switch (BPF_OP(at->code)) {
	case BPF_JEQ:
		return a == at->k;
	case BPF_JGE:
		return a >= at->k;
	case BPF_JGT:
		return a > at->k;
	case BPF_JSET:
		return a & at->k;
	default:
		fail_msg("jump %#x is not known here", at->code);
		return false;
	}
}

/* What the kernel would do with @data. */
static inline uint32_t filter_run(struct filter *f, const struct seccomp_data *data)
{
	uint32_t a = 0;
	size_t pc = 0, steps = 0;

	for (;;) {
		const struct sock_filter *at = f->program + pc;

		assert_true(pc < f->len);
		pc++;
		steps++;
		if (at->code == (BPF_RET | BPF_K)) {
			f->most_steps = steps > f->most_steps ? steps : f->most_steps;
			return at->k;
		}
		if (at->code == (BPF_LD | BPF_W | BPF_ABS)) {
			assert_true(at->k % 4 == 0 && at->k + 4 <= sizeof(*data));
			memcpy(&a, (const char *)data + at->k, 4);
		} else if (at->code == (BPF_JMP | BPF_JA)) {
			pc += at->k;
		} else if (BPF_CLASS(at->code) == BPF_JMP && BPF_SRC(at->code) == BPF_K) {
			pc += filter_jump_taken(at, a) ? at->jt : at->jf;
		} else {
			fail_msg("instruction %#x is not known here", at->code);
		}
	}
}

static inline uint32_t filter_call4(struct filter *f, uint32_t nr, const uint64_t args[4])
{
	struct seccomp_data data = { .nr = (int)nr, .arch = SHIM_NATIVE_ARCH };

	memcpy(data.args, args, 4 * sizeof(*args));
	return filter_run(f, &data);
}

static inline uint32_t filter_call(struct filter *f, uint32_t nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	return filter_call4(f, nr, (const uint64_t[]){ a0, a1, a2, 0 });
}

#endif
