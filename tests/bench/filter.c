/*
 * filter - procpen's own system call filters.
 *
 *   filter [VARIANT]   writes the program of a variant to stdout, for `floor filter`
 *   filter times [N]   what installing each variant costs: the median of N (300) children,
 *                      the variants in turns
 *
 * VARIANT: plain (default), strict, offline, doors, strict-doors, notify.
 */
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "os/sandbox/seccomp.h"

#define RUNS_MAX 10000

static const struct {
	const char *name;
	struct confine_seccomp_options options;
} variants[] = {
	{ "plain", { 0 } },
	{ "offline", { .no_network = true } },
	{ "doors", { .protect_pid = 1000, .protect_group = 900 } },
	{ "strict", { .strict = true } },
	{ "strict-doors", { .strict = true, .protect_pid = 1000, .protect_group = 900 } },
	{ "notify", { .notify = true } },
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static struct sock_filter *build(size_t variant, size_t *len)
{
	struct sock_filter *code;
	struct err e = { 0 };

	if (confine_seccomp_build(&variants[variant].options, &code, len, &e)) {
		fprintf(stderr, "filter: the filter cannot be built\n");
		exit(1);
	}
	return code;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Microseconds of one seccomp(2) in a child of its own. */
static double install_once(double *shared, struct sock_fprog *program, unsigned flags)
{
	pid_t pid = fork();

	if (!pid) {
		double start;

		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		start = now_us();
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program) < 0)
			_exit(1);
		*shared = now_us() - start;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return *shared;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int times(size_t runs)
{
	static double took[VARIANTS][RUNS_MAX];
	struct sock_fprog programs[VARIANTS];
	double *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			      0);

	for (size_t i = 0; i < VARIANTS; i++) {
		size_t len;

		programs[i].filter = build(i, &len);
		programs[i].len = (unsigned short)len;
	}
	for (size_t run = 0; run < runs; run++)
		for (size_t i = 0; i < VARIANTS; i++)
			took[i][run] = install_once(shared, &programs[i], SECCOMP_FILTER_FLAG_SPEC_ALLOW |
						    (variants[i].options.notify ?
							     SECCOMP_FILTER_FLAG_NEW_LISTENER : 0));
	for (size_t i = 0; i < VARIANTS; i++) {
		qsort(took[i], runs, sizeof(took[i][0]), by_value);
		printf("%-14s %4u instructions %6.1f us (%.1f to %.1f)\n", variants[i].name, programs[i].len,
		       took[i][runs / 2], took[i][runs / 10], took[i][runs * 9 / 10]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "plain";
	size_t runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 300, len;

	if (!strcmp(name, "times"))
		return times(runs && runs <= RUNS_MAX ? runs : 300);
	for (size_t i = 0; i < VARIANTS; i++)
		if (!strcmp(variants[i].name, name)) {
			struct sock_filter *code = build(i, &len);

			return fwrite(code, sizeof(*code), len, stdout) == len ? 0 : 1;
		}
	fprintf(stderr, "usage: filter [VARIANT] | filter times [N]\n");
	return 2;
}
