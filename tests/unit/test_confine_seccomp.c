/*
 * The program is run by an interpreter of our own (filter.h), on every call and
 * argument that the profiles speak of. What is denied is written down here by
 * number; tests/golden holds the same by name.
 */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LAST_REVIEWED 471
#define NUMBER_MAX 600

/* Every variant there is. */
enum { PLAIN, STRICT = 1, OFFLINE = 2, DOORS = 4, ROOT = 8, VARIANTS = 16 };
static struct filter filters[VARIANTS];

static uint32_t call3(int variant, uint32_t nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	return filter_call(&filters[variant], nr, a0, a1, a2);
}

static uint32_t call(uint32_t nr, uint64_t a0, uint64_t a1)
{
	return call3(PLAIN, nr, a0, a1, 0);
}

static int setup(void **state)
{
	(void)state;
	for (int variant = 0; variant < VARIANTS; variant++)
		filters[variant] = filter_make((struct confine_seccomp_options){
			.strict = variant & STRICT,
			.no_network = variant & OFFLINE,
			.as_root = variant & ROOT,
			.protect_pid = variant & DOORS ? SERVER_PID : 0,
			.protect_group = variant & DOORS ? SERVER_GROUP : 0,
		});
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int variant = 0; variant < VARIANTS; variant++)
		filter_free(&filters[variant]);
	return 0;
}

/* Calls with a file mode, and which argument it is; those with a place for flags use it only when
 * they create a file. */
static const struct {
	int nr, flags, mode;
} mode_calls[] = {
	{ SYS_fchmod, -1, 1 }, { SYS_fchmodat, -1, 2 }, { 452 /* fchmodat2 */, -1, 2 },
	{ SYS_mknodat, -1, 2 }, { SYS_openat, 2, 3 },
#if defined(__x86_64__)
	{ SYS_chmod, -1, 1 }, { SYS_creat, -1, 1 }, { SYS_mknod, -1, 1 }, { SYS_open, 1, 2 },
#endif
};
#define MODE_CALLS (sizeof(mode_calls) / sizeof(mode_calls[0]))

/* @flags: for a call that has flags. */
static uint32_t mode_call(int variant, size_t i, uint64_t mode, uint64_t flags)
{
	uint64_t args[4] = { 0 };

	if (mode_calls[i].flags >= 0)
		args[mode_calls[i].flags] = flags;
	args[mode_calls[i].mode] = mode;
	return filter_call4(&filters[variant], (uint32_t)mode_calls[i].nr, args);
}

/* Each of the 64 bits: set-uid is refused, as root and in strict set-gid as well, and no other. */
static void test_confine_seccomp_modes(void **state)
{
	(void)state;
	for (size_t i = 0; i < MODE_CALLS; i++)
		for (int k = 0; k < VARIANTS * 64; k++) {
			int variant = k / 64;
			uint64_t mode = UINT64_C(1) << k % 64;
			bool refused = mode == S_ISUID ||
				       (mode == S_ISGID && variant & (STRICT | ROOT));
			uint32_t want = refused ? DENIED(EPERM) : SECCOMP_RET_ALLOW;

			assert_int_equal(mode_call(variant, i, mode, O_CREAT), want);
			assert_int_equal(mode_call(variant, i, mode | 0755, O_TMPFILE | O_RDWR), want);
		}
}

/* Without such a flag open(2) ignores the mode, whatever is in the register. */
static void test_confine_seccomp_modes_of_files_that_exist(void **state)
{
	(void)state;
	for (size_t i = 0; i < MODE_CALLS; i++)
		if (mode_calls[i].flags >= 0) {
			assert_int_equal(mode_call(ROOT, i, UINT64_MAX, O_RDWR | O_TRUNC),
					 SECCOMP_RET_ALLOW);
			assert_int_equal(mode_call(ROOT, i, UINT64_MAX, O_DIRECTORY),
					 SECCOMP_RET_ALLOW);
		}
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
	443, /* quotactl_fd */ 450, /* set_mempolicy_home_node */ 467, /* open_tree_attr */ 470, /* listns */
};

static uint32_t expected(int nr)
{
	for (size_t i = 0; i < sizeof(always_denied) / sizeof(always_denied[0]); i++)
		if (always_denied[i] == nr)
			return DENIED(EPERM);
	if (nr == 435 || nr == 437) /* clone3, openat2 */
		return DENIED(ENOSYS);
	if ((nr >= 337 && nr <= 423) || nr > LAST_REVIEWED) /* unassigned */
		return DENIED(ENOSYS);
	return SECCOMP_RET_ALLOW;
}

static bool sets_mode(int nr)
{
	for (size_t i = 0; i < MODE_CALLS; i++)
		if (mode_calls[i].nr == nr)
			return true;
	return false;
}

/* With harmless arguments, and with the largest where these do not matter. */
static void test_confine_seccomp_every_number(void **state)
{
	(void)state;
	for (int nr = 0; nr <= NUMBER_MAX; nr++) {
		bool by_argument = nr == SYS_clone || nr == SYS_ioctl || nr == SYS_socket ||
				   nr == SYS_socketpair || sets_mode(nr);

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
	for (uint32_t nr = 0; nr <= NUMBER_MAX; nr++)
		for (int variant = 0; variant < VARIANTS; variant++)
			assert_int_equal(call3(variant, 0x40000000u + nr, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
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
		for (int nr = -1; nr <= NUMBER_MAX; nr++) {
			struct seccomp_data data = { .nr = nr, .arch = foreign[i] };

			for (int variant = 0; variant < VARIANTS; variant++)
				assert_int_equal(filter_run(&filters[variant], &data),
						 SECCOMP_RET_KILL_PROCESS);
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
		for (int variant = 0; variant < VARIANTS; variant++)
			if (needed[i] != SYS_ptrace || !(variant & STRICT))
				assert_int_equal(call3(variant, (uint32_t)needed[i], 0, 0, 0),
						 SECCOMP_RET_ALLOW);
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
	/* the kernel uses 32 bits of it */
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
	for (uint64_t protocol = 0; protocol < 40; protocol++) {
		bool connector = protocol == 11;
		uint32_t want = connector ? DENIED(EAFNOSUPPORT) : SECCOMP_RET_ALLOW;

		assert_int_equal(call3(PLAIN, SYS_socket, AF_NETLINK, 2, protocol), want);
		assert_int_equal(call3(DOORS, SYS_socket, AF_NETLINK, 3, HIGH | protocol), want);
		assert_int_equal(call3(PLAIN, SYS_socket, AF_UNIX, 2, protocol), SECCOMP_RET_ALLOW);
	}
}

/* ---- strict ---- */

static void test_confine_seccomp_strict_denies_more(void **state)
{
	static const int more[] = {
		SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, 440 /* process_madvise */,
		438 /* pidfd_getfd */, SYS_kcmp, SYS_name_to_handle_at, SYS_fanotify_mark, SYS_adjtimex,
		SYS_clock_adjtime, SYS_vmsplice, 447 /* memfd_secret */, SYS_mlockall, SYS_msgget,
		SYS_semget, SYS_shmget, SYS_mq_open,
#if defined(__x86_64__)
		SYS_modify_ldt,
#endif
	};

	(void)state;
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		assert_int_equal(call((uint32_t)more[i], 0, 0), SECCOMP_RET_ALLOW);
		assert_int_equal(call3(STRICT, (uint32_t)more[i], 0, 0, 0), DENIED(EPERM));
		assert_int_equal(call3(STRICT, (uint32_t)more[i], UINT64_MAX, UINT64_MAX, UINT64_MAX),
				 DENIED(EPERM));
		assert_int_equal(call3(STRICT | DOORS, (uint32_t)more[i], 0, 0, 0), DENIED(EPERM));
	}
}

/* Whatever the default profile refuses, each tighter variant refuses too, in the same way. */
static void test_confine_seccomp_variants_only_tighten(void **state)
{
	static const uint64_t values[] = { 0, 1, 2, 8, 15, 16, 17, SERVER_PID, UINT64_MAX, 0x5412,
					   0x8901, CLONE_NEWUSER };
	const size_t count = sizeof(values) / sizeof(values[0]);

	(void)state;
	for (uint32_t nr = 0; nr <= NUMBER_MAX; nr++)
		for (size_t i = 0; i < count * count; i++) {
			uint64_t a0 = values[i / count], a1 = values[i % count];
			uint32_t plain = call3(PLAIN, nr, a0, a1, SERVER_PID);

			for (int variant = 1; variant < VARIANTS && plain != SECCOMP_RET_ALLOW; variant++)
				assert_int_equal(call3(variant, nr, a0, a1, SERVER_PID), plain);
		}
}

static void test_confine_seccomp_personality(void **state)
{
	static const uint32_t harmless[] = { 0, 8, 0x20000, 0x20008, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		assert_int_equal(call3(STRICT, SYS_personality, harmless[i], 0, 0), SECCOMP_RET_ALLOW);
		assert_int_equal(call3(STRICT, SYS_personality, HIGH | harmless[i], 0, 0),
				 SECCOMP_RET_ALLOW);
	}
	for (int bit = 0; bit < 32; bit++) {
		uint32_t value = UINT32_C(1) << bit;

		if (value == 8 || value == 0x20000)
			continue;
		assert_int_equal(call3(STRICT, SYS_personality, value, 0, 0), DENIED(EPERM));
		assert_int_equal(call3(STRICT, SYS_personality, value | 8, 0, 0), DENIED(EPERM));
		assert_int_equal(call3(STRICT, SYS_personality, HIGH | value, 0, 0), DENIED(EPERM));
		assert_int_equal(call3(PLAIN, SYS_personality, value, 0, 0), SECCOMP_RET_ALLOW);
	}
}

/* ---- no network without a namespace ---- */

static void test_confine_seccomp_only_local_sockets(void **state)
{
	static const int variants[] = { OFFLINE, STRICT, STRICT | OFFLINE, OFFLINE | DOORS };

	(void)state;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		for (uint64_t family = 0; family <= 64; family++) {
			uint32_t want = family == AF_UNIX ? SECCOMP_RET_ALLOW : DENIED(EAFNOSUPPORT);

			assert_int_equal(call3(variants[i], SYS_socket, family, 1, 0), want);
			assert_int_equal(call3(variants[i], SYS_socketpair, family, 1, 0), want);
			for (int bit = 32; bit < 64; bit++)
				assert_int_equal(call3(variants[i], SYS_socket, family | UINT64_C(1) << bit,
						       1, 0), want);
		}
	assert_int_equal(call3(OFFLINE, SYS_socket, 0x80000001, 1, 0), DENIED(EAFNOSUPPORT));
}

/* ---- the server's doors ---- */

/* Pids that must be refused, and others that must not. */
static const uint64_t shut[] = {
	SERVER_PID, SERVER_GROUP, (uint32_t)-SERVER_GROUP, UINT64_MAX - SERVER_GROUP + 1, SHIM_OWN_PID,
	UINT32_MAX, UINT64_MAX, HIGH | SERVER_PID, UINT64_C(1) << 32 | SERVER_PID, HIGH | SHIM_OWN_PID,
	UINT64_C(1) << 63 | UINT32_MAX, (uint32_t)-SHIM_OWN_PID, UINT64_MAX - SHIM_OWN_PID + 1,
};
static const uint64_t open_pids[] = {
	0, 1, 2, SERVER_PID - 1, SERVER_PID + 1, (uint32_t)-SERVER_PID, SERVER_GROUP + 1, 4194304, 0x7fffffff,
	0x80000000, HIGH, HIGH | 77, UINT32_MAX - 1, (uint64_t)SERVER_PID << 32, SHIM_OWN_PID + 1,
};

static void check_pid(uint32_t nr, unsigned argument, uint64_t other)
{
	for (size_t i = 0; i < sizeof(shut) / sizeof(shut[0]); i++) {
		uint64_t args[3] = { other, other, other };

		args[argument] = shut[i];
		assert_int_equal(call3(DOORS, nr, args[0], args[1], args[2]), DENIED(EPERM));
		assert_int_equal(call3(PLAIN, nr, args[0], args[1], args[2]), SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < sizeof(open_pids) / sizeof(open_pids[0]); i++) {
		uint64_t args[3] = { other, other, other };

		args[argument] = open_pids[i];
		assert_int_equal(call3(DOORS, nr, args[0], args[1], args[2]), SECCOMP_RET_ALLOW);
	}
}

static void test_confine_seccomp_doors_first_argument(void **state)
{
	static const int calls[] = {
		SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
		SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setattr, SYS_sched_setaffinity,
		SYS_process_vm_readv, SYS_process_vm_writev, 434 /* pidfd_open */,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		check_pid((uint32_t)calls[i], 0, 0);
		check_pid((uint32_t)calls[i], 0, SERVER_PID); /* the others do not matter */
	}
}

/* Any other process may be the shim of another run; with the shim as init it is number 1. */
static void test_confine_seccomp_doors_limits(void **state)
{
	struct filter init = filter_make((struct confine_seccomp_options){ .shim_is_init = true });

	(void)state;
	assert_int_equal(call3(DOORS, SYS_prlimit64, 0, RLIMIT_NOFILE, 1), SECCOMP_RET_ALLOW);
	assert_int_equal(call3(DOORS, SYS_prlimit64, HIGH, RLIMIT_NOFILE, 1), SECCOMP_RET_ALLOW);
	assert_int_equal(call3(DOORS, SYS_prlimit64, 1, RLIMIT_NOFILE, 1), DENIED(EPERM));
	assert_int_equal(call3(DOORS, SYS_prlimit64, 4711, RLIMIT_NOFILE, 0), DENIED(EPERM));
	assert_int_equal(call3(PLAIN, SYS_prlimit64, 4711, RLIMIT_NOFILE, 1), SECCOMP_RET_ALLOW);
	assert_int_equal(filter_call(&init, SYS_prlimit64, 1, RLIMIT_NOFILE, 1), DENIED(EPERM));
	assert_int_equal(filter_call(&init, SYS_prlimit64, HIGH | 1, RLIMIT_NOFILE, 1), DENIED(EPERM));
	assert_int_equal(filter_call(&init, SYS_prlimit64, 2, RLIMIT_NOFILE, 1), SECCOMP_RET_ALLOW);
	assert_int_equal(filter_call(&init, SYS_setpriority, PRIO_PROCESS, 1, 19), DENIED(EPERM));
	assert_int_equal(filter_call(&init, SYS_kill, 1, 9, 0), SECCOMP_RET_ALLOW);
	filter_free(&init);
}

static void test_confine_seccomp_doors_ptrace(void **state)
{
	(void)state;
	for (uint64_t request = 0; request < 40; request++)
		check_pid(SYS_ptrace, 1, request);
	assert_int_equal(call3(DOORS, SYS_ptrace, 0x4206, SERVER_PID, 0), DENIED(EPERM));
}

/* PRIO_PROCESS 0, PRIO_PGRP 1, PRIO_USER 2; ioprio_set counts from 1. */
static void test_confine_seccomp_doors_priority(void **state)
{
	static const struct {
		int nr;
		uint64_t user;
	} calls[] = { { SYS_setpriority, 2 }, { SYS_ioprio_set, 3 } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint32_t nr = (uint32_t)calls[i].nr;

		for (uint64_t which = 0; which < calls[i].user; which++)
			check_pid(nr, 1, which);
		for (uint64_t who = 0; who < 70000; who = who * 2 + 1) {
			assert_int_equal(call3(DOORS, nr, calls[i].user, who, 0), DENIED(EPERM));
			assert_int_equal(call3(DOORS, nr, HIGH | calls[i].user, who, 0), DENIED(EPERM));
			assert_int_equal(call3(PLAIN, nr, calls[i].user, who, 0), SECCOMP_RET_ALLOW);
		}
	}
}

static void test_confine_seccomp_doors_owner(void **state)
{
	(void)state;
	for (uint64_t command = 0; command < 1100; command++) {
		bool lease = command == 1024 || command == 1040; /* F_SETLEASE, F_SETDELEG */
		uint32_t always = lease ? DENIED(EPERM) : SECCOMP_RET_ALLOW;
		uint32_t want = command == 15 /* F_SETOWN_EX */ ? DENIED(EPERM) : always;

		assert_int_equal(call3(DOORS, SYS_fcntl, 3, command, 0), want);
		assert_int_equal(call3(DOORS, SYS_fcntl, SERVER_PID, HIGH | command, 1), want);
		for (size_t i = 0; i < sizeof(shut) / sizeof(shut[0]); i++)
			assert_int_equal(call3(DOORS, SYS_fcntl, 3, command, shut[i]),
					 command == 8 /* F_SETOWN */ ? DENIED(EPERM) : want);
		assert_int_equal(call3(PLAIN, SYS_fcntl, 3, command, SERVER_PID), always);
	}
	for (uint64_t request = 0x8900; request < 0x8910; request++) {
		bool owner = request == 0x8901 || request == 0x8902; /* FIOSETOWN, SIOCSPGRP */

		assert_int_equal(call3(DOORS, SYS_ioctl, 3, request, 0),
				 owner ? DENIED(EPERM) : SECCOMP_RET_ALLOW);
		assert_int_equal(call3(DOORS, SYS_ioctl, 3, HIGH | request, 0),
				 owner ? DENIED(EPERM) : SECCOMP_RET_ALLOW);
		assert_int_equal(call3(PLAIN, SYS_ioctl, 3, request, 0), SECCOMP_RET_ALLOW);
	}
	assert_int_equal(call3(DOORS, SYS_ioctl, 3, 0x5412, 0), DENIED(EPERM));
}

/* It takes a directory of /proc for a process: no argument tells. */
static void test_confine_seccomp_doors_pidfd_signal(void **state)
{
	(void)state;
	assert_int_equal(call3(DOORS, 424, 3, 9, 0), DENIED(ENOSYS));
	assert_int_equal(call3(PLAIN, 424, 3, 9, 0), SECCOMP_RET_ALLOW);
}

/* A server that leads its group, and one whose group is outside its PID namespace. */
static void test_confine_seccomp_doors_groups(void **state)
{
	struct filter leads = filter_make((struct confine_seccomp_options){
		.protect_pid = SERVER_PID, .protect_group = SERVER_PID });
	struct filter none = filter_make((struct confine_seccomp_options){ .protect_pid = SERVER_PID });

	(void)state;
	assert_int_equal(filter_call(&leads, SYS_kill, (uint32_t)-SERVER_PID, 9, 0), DENIED(EPERM));
	assert_int_equal(filter_call(&leads, SYS_kill, SERVER_PID, 9, 0), DENIED(EPERM));
	assert_int_equal(filter_call(&leads, SYS_kill, SERVER_GROUP, 9, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(filter_call(&none, SYS_kill, SERVER_PID, 9, 0), DENIED(EPERM));
	assert_int_equal(filter_call(&none, SYS_kill, 0, 9, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(filter_call(&none, SYS_kill, (uint32_t)-SERVER_GROUP, 9, 0), SECCOMP_RET_ALLOW);
	filter_free(&leads);
	filter_free(&none);
}

/* ---- a listener ---- */

/* The listener gets exactly the refused calls, except those with ENOSYS; allowed calls never
 * wait. */
static void test_confine_seccomp_notify(void **state)
{
	static const uint64_t values[] = { 0, 1, 2, 8, 15, 16, 17, SERVER_PID, UINT64_MAX, 0x5412,
					   CLONE_NEWUSER };
	const size_t count = sizeof(values) / sizeof(values[0]);

	(void)state;
	for (int variant = 0; variant < VARIANTS; variant++) {
		struct filter notifying = filter_make((struct confine_seccomp_options){
			.strict = variant & STRICT,
			.no_network = variant & OFFLINE,
			.as_root = variant & ROOT,
			.notify = true,
			.protect_pid = variant & DOORS ? SERVER_PID : 0,
			.protect_group = variant & DOORS ? SERVER_GROUP : 0,
		});

		for (uint32_t nr = 0; nr <= NUMBER_MAX; nr++)
			for (size_t i = 0; i < count * count; i++) {
				uint64_t a0 = values[i / count], a1 = values[i % count];
				uint32_t plain = call3(variant, nr, a0, a1, SERVER_PID);
				bool silent = plain == SECCOMP_RET_ALLOW || plain == DENIED(ENOSYS);

				assert_int_equal(filter_call(&notifying, nr, a0, a1, SERVER_PID),
						 silent ? plain : SECCOMP_RET_USER_NOTIF);
			}
		assert_int_equal(filter_call(&notifying, 0x40000000u, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
		filter_free(&notifying);
	}
}

/* ---- listed ports ---- */

/* IP is TCP by connect(2); all else is as without the list. */
static void test_confine_seccomp_ports(void **state)
{
	static const uint64_t values[] = { 0, 1, 2, 3, 6, 8, 10, 16, 30, 262, SERVER_PID, 0x5412,
					   0x20000000, UINT64_MAX };
	const size_t count = sizeof(values) / sizeof(values[0]);

	(void)state;
	for (int variant = 0; variant < VARIANTS; variant += 3) {
		struct filter f = filter_make((struct confine_seccomp_options){
			.strict = variant & STRICT,
			.no_network = variant & OFFLINE,
			.tcp_only = true,
			.as_root = variant & ROOT,
			.protect_pid = variant & DOORS ? SERVER_PID : 0,
			.protect_group = variant & DOORS ? SERVER_GROUP : 0,
		});

		for (uint32_t nr = 0; nr <= NUMBER_MAX; nr++)
			for (size_t i = 0; i < count * count * count; i++) {
				const uint64_t args[4] = { values[i % count], values[i / count % count],
							   values[i / count / count], 0 };
				uint32_t want = filter_call4(&filters[variant], nr, args);

				if (nr == SYS_socket && want == SECCOMP_RET_ALLOW &&
				    (args[0] == AF_INET || args[0] == AF_INET6) &&
				    (args[1] != SOCK_STREAM || (args[2] != 0 && args[2] != 6)))
					want = DENIED(EAFNOSUPPORT);
				if ((nr == SYS_sendmsg && args[2] & 0x20000000) ||
				    (nr == SYS_setsockopt && args[1] == 6 && args[2] == 30))
					want = DENIED(EPERM);
				assert_int_equal(filter_call4(&f, nr, args), want);
			}
		for (int high = 0; high < 2; high++) {
			const uint64_t args[4] = { 3, 0, 0, 0x20004000 | (high ? HIGH : 0) };

			assert_int_equal(filter_call4(&f, SYS_sendto, args), DENIED(EPERM));
			assert_int_equal(filter_call4(&f, SYS_sendmmsg, args), DENIED(EPERM));
		}
		assert_in_range(f.most_steps, 1, 24);
		filter_free(&f);
	}
}

/* Small and shallow: every command pays for its length, every number for its depth. */
static void test_confine_seccomp_size(void **state)
{
	static const size_t longest[ROOT] = {
		[PLAIN] = 104, [STRICT] = 117, [OFFLINE] = 102, [STRICT | OFFLINE] = 117,
		[DOORS] = 144, [STRICT | DOORS] = 152, [OFFLINE | DOORS] = 142,
		[STRICT | OFFLINE | DOORS] = 152,
	};

	(void)state;
	for (int variant = 0; variant < VARIANTS; variant++) {
		for (uint32_t nr = 0; nr <= NUMBER_MAX; nr++)
			call3(variant, nr, 0, 0, 0);
		assert_in_range(filters[variant].len, 1, longest[variant % ROOT]);
		assert_in_range(filters[variant].most_steps, 1, 22);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(test_confine_seccomp_every_number),
#endif
		cmocka_unit_test(test_confine_seccomp_ports),
		cmocka_unit_test(test_confine_seccomp_modes),
		cmocka_unit_test(test_confine_seccomp_modes_of_files_that_exist),
		cmocka_unit_test(test_confine_seccomp_numbers_beyond_the_list),
		cmocka_unit_test(test_confine_seccomp_x32_dies),
		cmocka_unit_test(test_confine_seccomp_foreign_architectures_die),
		cmocka_unit_test(test_confine_seccomp_what_every_program_needs),
		cmocka_unit_test(test_confine_seccomp_clone),
		cmocka_unit_test(test_confine_seccomp_clone_bit_by_bit),
		cmocka_unit_test(test_confine_seccomp_ioctl),
		cmocka_unit_test(test_confine_seccomp_socket_families),
		cmocka_unit_test(test_confine_seccomp_strict_denies_more),
		cmocka_unit_test(test_confine_seccomp_variants_only_tighten),
		cmocka_unit_test(test_confine_seccomp_personality),
		cmocka_unit_test(test_confine_seccomp_only_local_sockets),
		cmocka_unit_test(test_confine_seccomp_doors_first_argument),
		cmocka_unit_test(test_confine_seccomp_doors_limits),
		cmocka_unit_test(test_confine_seccomp_doors_ptrace),
		cmocka_unit_test(test_confine_seccomp_doors_priority),
		cmocka_unit_test(test_confine_seccomp_doors_owner),
		cmocka_unit_test(test_confine_seccomp_doors_pidfd_signal),
		cmocka_unit_test(test_confine_seccomp_doors_groups),
		cmocka_unit_test(test_confine_seccomp_notify),
		cmocka_unit_test(test_confine_seccomp_size),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
