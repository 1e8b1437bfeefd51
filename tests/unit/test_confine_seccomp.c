/*
 * The program is run by an interpreter of our own, on every call and argument
 * that the profile speaks of. What is denied is written down here by number.
 */
#include "unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "os/confine_seccomp.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif
#define LAST_REVIEWED 469
#define DENIED(number) (SECCOMP_RET_ERRNO | (number))

static struct sock_filter *program;
static size_t program_len;
static size_t most_steps;

static bool jump_taken(const struct sock_filter *at, uint32_t a)
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
static uint32_t emulate(const struct seccomp_data *data)
{
	uint32_t a = 0;
	size_t pc = 0, steps = 0;

	for (;;) {
		const struct sock_filter *at = program + pc;

		assert_true(pc < program_len);
		pc++;
		steps++;
		if (at->code == (BPF_RET | BPF_K)) {
			most_steps = steps > most_steps ? steps : most_steps;
			return at->k;
		}
		if (at->code == (BPF_LD | BPF_W | BPF_ABS)) {
			assert_true(at->k % 4 == 0 && at->k + 4 <= sizeof(*data));
			memcpy(&a, (const char *)data + at->k, 4);
		} else if (at->code == (BPF_ALU | BPF_AND | BPF_K)) {
			a &= at->k;
		} else if (at->code == (BPF_JMP | BPF_JA)) {
			pc += at->k;
		} else if (BPF_CLASS(at->code) == BPF_JMP && BPF_SRC(at->code) == BPF_K) {
			pc += jump_taken(at, a) ? at->jt : at->jf;
		} else {
			fail_msg("instruction %#x is not known here", at->code);
		}
	}
}

static uint32_t call(uint32_t nr, uint64_t a0, uint64_t a1)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = NATIVE, .args = { a0, a1 } };

	return emulate(&data);
}

static int setup(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	return confine_seccomp_build(&program, &program_len, &e);
}

static int teardown(void **state)
{
	(void)state;
	free(program);
	return 0;
}

#if defined(__x86_64__)
static const int always_denied[] = {
	103, /* syslog */ 134, /* uselib */ 136, /* ustat */ 139, /* sysfs */ 153, /* vhangup */
	155, /* pivot_root */ 156, /* _sysctl */ 161, /* chroot */ 163, /* acct */
	164, /* settimeofday */ 165, /* mount */ 166, /* umount2 */ 167, /* swapon */
	168, /* swapoff */ 169, /* reboot */ 170, /* sethostname */ 171, /* setdomainname */
	172, /* iopl */ 173, /* ioperm */ 174, /* create_module */ 175, /* init_module */
	176, /* delete_module */ 177, /* get_kernel_syms */ 178, /* query_module */
	179, /* quotactl */ 180, /* nfsservctl */ 181, /* getpmsg */ 182, /* putpmsg */
	183, /* afs_syscall */ 184, /* tuxcall */ 185, /* security */ 212, /* lookup_dcookie */
	214, /* epoll_ctl_old */ 215, /* epoll_wait_old */ 227, /* clock_settime */
	236, /* vserver */ 246, /* kexec_load */ 248, /* add_key */ 249, /* request_key */
	250, /* keyctl */ 256, /* migrate_pages */ 272, /* unshare */ 279, /* move_pages */
	298, /* perf_event_open */ 300, /* fanotify_init */ 304, /* open_by_handle_at */
	308, /* setns */ 313, /* finit_module */ 320, /* kexec_file_load */ 321, /* bpf */
	323, /* userfaultfd */ 425, /* io_uring_setup */ 426, /* io_uring_enter */
	427, /* io_uring_register */ 428, /* open_tree */ 429, /* move_mount */ 430, /* fsopen */
	431, /* fsconfig */ 432, /* fsmount */ 433, /* fspick */ 442, /* mount_setattr */
	443, /* quotactl_fd */ 450, /* set_mempolicy_home_node */ 467, /* open_tree_attr */
};

static uint32_t expected(int nr)
{
	for (size_t i = 0; i < sizeof(always_denied) / sizeof(always_denied[0]); i++)
		if (always_denied[i] == nr)
			return DENIED(EPERM);
	if (nr == 435) /* clone3 */
		return DENIED(ENOSYS);
	if (nr > LAST_REVIEWED)
		return DENIED(ENOSYS);
	return SECCOMP_RET_ALLOW;
}

/* With harmless arguments, and with the largest where these do not matter. */
static void test_confine_seccomp_every_number(void **state)
{
	(void)state;
	for (int nr = 0; nr <= 600; nr++) {
		bool by_argument = nr == SYS_clone || nr == SYS_ioctl || nr == SYS_socket ||
				   nr == SYS_socketpair;

		if (call((uint32_t)nr, AF_INET, 0) != expected(nr))
			print_error("system call %d\n", nr);
		assert_int_equal(call((uint32_t)nr, AF_INET, 0), expected(nr));
		if (!by_argument)
			assert_int_equal(call((uint32_t)nr, UINT64_MAX, UINT64_MAX), expected(nr));
	}
}
#endif

static void test_confine_seccomp_numbers_beyond_the_list(void **state)
{
	(void)state;
	for (uint32_t nr = LAST_REVIEWED + 1; nr < 0x40000000u; nr = nr * 2 + 1)
		assert_int_equal(call(nr, 0, 0), DENIED(ENOSYS));
	assert_int_equal(call(0x3fffffffu, 0, 0), DENIED(ENOSYS));
	assert_int_equal(call(0xffffffffu, 0, 0), DENIED(ENOSYS));
}

/* x86_64's second set of numbers would get around a list of the first. */
static void test_confine_seccomp_x32_dies(void **state)
{
	(void)state;
	for (uint32_t nr = 0; nr <= 600; nr++)
		assert_int_equal(call(0x40000000u + nr, 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(call(0x80000000u, 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(call(0xfffffffeu, 0, 0), SECCOMP_RET_KILL_PROCESS);
}

static void test_confine_seccomp_foreign_architectures_die(void **state)
{
	static const uint32_t foreign[] = {
		AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64, AUDIT_ARCH_PPC64LE, 0, 0xffffffffu,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		for (int nr = -1; nr <= 600; nr++) {
			struct seccomp_data data = { .nr = nr, .arch = foreign[i] };

			assert_int_equal(emulate(&data), SECCOMP_RET_KILL_PROCESS);
		}
}

static void test_confine_seccomp_what_every_program_needs(void **state)
{
	static const int needed[] = {
		SYS_exit_group, SYS_exit, SYS_execve, SYS_rt_sigreturn, SYS_read, SYS_write,
		SYS_close, SYS_mmap, SYS_brk, SYS_futex, SYS_wait4, SYS_kill, SYS_ptrace, SYS_openat,
		SYS_dup3, SYS_pipe2, SYS_connect, SYS_bind, SYS_prctl, SYS_seccomp,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		assert_int_equal(call((uint32_t)needed[i], 0, 0), SECCOMP_RET_ALLOW);
}

static void test_confine_seccomp_clone(void **state)
{
	static const uint64_t namespaces[] = {
		CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
		CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET,
	};
	const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
				CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
				CLONE_CHILD_CLEARTID;
	const uint64_t high = UINT64_C(0xffffffff00000000);

	(void)state;
	assert_int_equal(call(SYS_clone, 17, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(call(SYS_clone, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(call(SYS_clone, thread, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(call(SYS_clone, CLONE_VM | CLONE_VFORK | 17, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(call(SYS_clone, high | 17, 0), SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		assert_int_equal(call(SYS_clone, namespaces[i], 0), DENIED(EPERM));
		assert_int_equal(call(SYS_clone, namespaces[i] | 17, 0), DENIED(EPERM));
		assert_int_equal(call(SYS_clone, namespaces[i] | thread, 0), DENIED(EPERM));
		assert_int_equal(call(SYS_clone, namespaces[i] | high, 0), DENIED(EPERM));
		for (int bit = 32; bit < 64; bit++)
			assert_int_equal(call(SYS_clone, namespaces[i] | UINT64_C(1) << bit, 0),
					 DENIED(EPERM));
	}
	assert_int_equal(call(435, 0, 0), DENIED(ENOSYS)); /* clone3 */
}

/* Every single flag: only those of namespaces are denied. */
static void test_confine_seccomp_clone_bit_by_bit(void **state)
{
	const uint32_t denied = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
				CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

	(void)state;
	for (int bit = 0; bit < 64; bit++) {
		uint64_t flags = UINT64_C(1) << bit;

		assert_int_equal(call(SYS_clone, flags, 0),
				 flags & denied ? DENIED(EPERM) : SECCOMP_RET_ALLOW);
	}
}

static void test_confine_seccomp_ioctl(void **state)
{
	static const uint64_t denied[] = { 0x5412, 0x541c, 0x5423, 0x541d };

	(void)state;
	for (uint64_t request = 0x5400; request <= 0x54ff; request++) {
		bool is_denied = false;

		for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
			is_denied = is_denied || denied[i] == request;
		assert_int_equal(call(SYS_ioctl, 0, request),
				 is_denied ? DENIED(EPERM) : SECCOMP_RET_ALLOW);
		assert_int_equal(call(SYS_ioctl, UINT64_MAX, request),
				 is_denied ? DENIED(EPERM) : SECCOMP_RET_ALLOW);
	}
	/* the kernel looks at 32 bits of it */
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		for (int bit = 32; bit < 64; bit++)
			assert_int_equal(call(SYS_ioctl, 0, denied[i] | UINT64_C(1) << bit),
					 DENIED(EPERM));
	assert_int_equal(call(SYS_ioctl, 0, 0x80045412), SECCOMP_RET_ALLOW);
	assert_int_equal(call(SYS_ioctl, 0x5412, 0), SECCOMP_RET_ALLOW);
}

static void test_confine_seccomp_socket_families(void **state)
{
	(void)state;
	for (uint64_t family = 0; family <= 64; family++) {
		bool good = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
			    family == AF_NETLINK;
		uint32_t want = good ? SECCOMP_RET_ALLOW : DENIED(EAFNOSUPPORT);

		assert_int_equal(call(SYS_socket, family, 0), want);
		assert_int_equal(call(SYS_socketpair, family, 0), want);
		assert_int_equal(call(SYS_socket, family, UINT64_MAX), want);
		for (int bit = 32; bit < 64; bit++)
			assert_int_equal(call(SYS_socket, family | UINT64_C(1) << bit, 0), want);
	}
	assert_int_equal(call(SYS_socket, 0xffffffff, 0), DENIED(EAFNOSUPPORT));
	assert_int_equal(call(SYS_socket, 0x80000001, 0), DENIED(EAFNOSUPPORT));
	assert_int_equal(call(SYS_socketpair, AF_UNIX, 0), SECCOMP_RET_ALLOW);
}

/* Small and shallow: it is run at every call of a command. */
static void test_confine_seccomp_size(void **state)
{
	(void)state;
	for (uint32_t nr = 0; nr <= 600; nr++)
		call(nr, 0, 0);
	assert_true(program_len <= 400);
	assert_true(most_steps <= 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(test_confine_seccomp_every_number),
#endif
		cmocka_unit_test(test_confine_seccomp_numbers_beyond_the_list),
		cmocka_unit_test(test_confine_seccomp_x32_dies),
		cmocka_unit_test(test_confine_seccomp_foreign_architectures_die),
		cmocka_unit_test(test_confine_seccomp_what_every_program_needs),
		cmocka_unit_test(test_confine_seccomp_clone),
		cmocka_unit_test(test_confine_seccomp_clone_bit_by_bit),
		cmocka_unit_test(test_confine_seccomp_ioctl),
		cmocka_unit_test(test_confine_seccomp_socket_families),
		cmocka_unit_test(test_confine_seccomp_size),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
