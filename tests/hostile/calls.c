/*
 * calls - makes the system calls that its arguments name, raw, and prints the result of each.
 *
 *   calls NUMBER[:ARGUMENT]...     one call; prints 0 or the errno
 *   calls xCOUNT:NUMBER[:...]      so many times; prints the last outcome
 *   calls i386:NUMBER              by int 0x80 (x86_64 only)
 *   calls self-filter              a filter of its own that kills at getppid, then getppid
 *
 * An argument is a number, or P or -P: the parent's pid (the run's shim).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static long number(const char *text)
{
	if (!strcmp(text, "P"))
		return getppid();
	if (!strcmp(text, "-P"))
		return -getppid();
	return (long)strtoull(text, NULL, 0);
}

static void make_call(char *text)
{
	long args[7] = { 0 }, times = 1, result = 0;
	int error = 0;
	char *part;

	if (*text == 'x') {
		times = atol(text + 1);
		text = strchr(text, ':') + 1;
	}
	part = strtok(text, ":");
	for (int i = 0; i < 7 && part; i++, part = strtok(NULL, ":"))
		args[i] = number(part);
	for (long i = 0; i < times; i++) {
		errno = 0;
		result = syscall(args[0], args[1], args[2], args[3], args[4], args[5], args[6]);
		error = result == -1 ? errno : 0;
	}
	printf("%d\n", error);
	fflush(stdout);
}

static void call_i386(long nr)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(nr), "b"(0L), "c"(0L), "d"(0L) : "memory");
	printf("%ld\n", result < 0 ? -result : 0L);
#else
	printf("none %ld\n", nr);
#endif
}

static void filter_itself(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	syscall(SYS_getppid);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "i386:", 5))
			call_i386(number(argv[i] + 5));
		else if (!strcmp(argv[i], "self-filter"))
			filter_itself();
		else
			make_call(argv[i]);
	}
	return 0;
}
