/*
 * The profile has two parts. libseccomp turns the table of denied calls into a
 * binary tree (cheap to install: the kernel runs the program once for every
 * system call number when it is loaded). In front of it stands a prologue of our
 * own for what such a table cannot say: a foreign architecture dies before
 * anything else is looked at, numbers that this list has never heard of are
 * unknown, and socket(2) and
 * socketpair(2) take four families and no other. BPF loads 32 bits of
 * an argument here, as the kernel itself does for these; in the table argument
 * rules are masked to 32 bits for the same reason.
 */
#include "os/confine_seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "name this machine's AUDIT_ARCH_* value"
#endif

/* The last system call that was reviewed for this list: file_setattr (Linux 6.17). From 424 on
 * all architectures number alike. */
#define LAST_REVIEWED_CALL 469
#define X32_BIT 0x40000000u /* x86_64's second set of numbers */

/* Denied whatever the arguments: EPERM. */
static const char *const denied[] = {
	/* kernel and boot */
	"kexec_load", "kexec_file_load", "reboot", "init_module", "finit_module",
	"delete_module", "create_module", "query_module", "get_kernel_syms",
	/* host state, for when the server is root */
	"swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "nfsservctl", "sethostname",
	"setdomainname", "syslog", "vhangup", "iopl", "ioperm", "settimeofday", "clock_settime",
	"stime", "lookup_dcookie", "vm86", "vm86old", "pciconfig_iobase", "pciconfig_read",
	"pciconfig_write", "_sysctl",
	/* mounts: they undo confinement by mounts, and are much kernel surface */
	"mount", "umount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen",
	"fsconfig", "fsmount", "fspick", "mount_setattr",
	/* namespaces: the usual way to kernel bugs (clone is looked at by flags) */
	"unshare", "setns",
	/* attack surface that development commands do without; io_uring also gets around filters */
	"bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl",
	"io_uring_setup", "io_uring_enter", "io_uring_register", "fanotify_init",
	"open_by_handle_at", "migrate_pages", "move_pages", "uselib", "ustat", "sysfs",
	/* never implemented, or long removed */
	"afs_syscall", "getpmsg", "putpmsg", "security", "tuxcall", "vserver", "epoll_ctl_old",
	"epoll_wait_old",
};

/* The same for calls that are newer than the library's table. */
static const int denied_numbers[] = {
	450, /* set_mempolicy_home_node */
	467, /* open_tree_attr */
};

/* Input injection and line disciplines (tty_ioctl(4)): EPERM. */
static const uint32_t denied_ioctls[] = {
	0x5412, /* TIOCSTI */
	0x541c, /* TIOCLINUX */
	0x5423, /* TIOCSETD */
	0x541d, /* TIOCCONS */
};

static const uint32_t denied_clone_flags[] = {
	CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
	CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET,
};

static int failed(struct err *e, int result, const char *what)
{
	return err_sys(e, ERR_SANDBOX_UNAVAILABLE, -result,
		       "the system call filter cannot be built: %s", what);
}

static int deny_calls(scmp_filter_ctx ctx, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(denied); i++) {
		int nr = seccomp_syscall_resolve_name(denied[i]);
		int result = nr < 0 ? 0 : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), nr, 0);

		if (result < 0) /* negative numbers: the call does not exist on this machine */
			return failed(e, result, denied[i]);
	}
	for (size_t i = 0; i < COUNT_OF(denied_numbers); i++) {
		int result =
			seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), denied_numbers[i], 0);

		if (result < 0)
			return failed(e, result, "a call by number");
	}
	return 0;
}

/* clone3 passes its flags by pointer, where no filter can look: libc then falls back to clone. */
static int deny_arguments(scmp_filter_ctx ctx, struct err *e)
{
	int result = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	for (size_t i = 0; result >= 0 && i < COUNT_OF(denied_clone_flags); i++)
		result = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
					  SCMP_A0(SCMP_CMP_MASKED_EQ, denied_clone_flags[i],
						  denied_clone_flags[i]));
	for (size_t i = 0; result >= 0 && i < COUNT_OF(denied_ioctls); i++)
		result = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
					  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu,
						  denied_ioctls[i]));
	return result < 0 ? failed(e, result, "an argument rule") : 0;
}

/* A balanced tree: cheaper to install than the default list. What the library does with a foreign
 * architecture does not matter: the prologue has ended such a process before. */
static int set_attributes(scmp_filter_ctx ctx, struct err *e)
{
	int result = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);

	return result < 0 ? failed(e, result, "binary tree") : 0;
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define IF_AT_LEAST(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, yes, no)

/* args[0] starts with its low half on the little-endian machines we know. */
static const struct sock_filter prologue[] = {
	LOAD(arch),
	IF_EQUAL(NATIVE_ARCH, 1, 0),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),
	IF_EQUAL(0xffffffffu, 3, 0), /* what a tracer sets to skip a call: unknown, not foreign */
	IF_AT_LEAST(X32_BIT, 0, 1),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	IF_AT_LEAST(LAST_REVIEWED_CALL + 1, 0, 1),
	RETURN(SECCOMP_RET_ERRNO | ENOSYS),
	IF_EQUAL(SYS_socket, 1, 0),
	IF_EQUAL(SYS_socketpair, 0, 7), /* 7: to the end of the prologue */
	LOAD(args[0]),
	IF_EQUAL(AF_UNIX, 4, 0),
	IF_EQUAL(AF_INET, 3, 0),
	IF_EQUAL(AF_INET6, 2, 0),
	IF_EQUAL(AF_NETLINK, 1, 0),
	RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
	RETURN(SECCOMP_RET_ALLOW),
};

/* Export the library's program behind the prologue. */
static int export_program(scmp_filter_ctx ctx, struct sock_filter **program, size_t *len,
			  struct err *e)
{
	AUTO_CLOSE int fd = memfd_create("procpen-filter", MFD_CLOEXEC);
	struct sock_filter *all;
	struct stat st;
	int result;

	if (fd < 0)
		return failed(e, -errno, "no memory file for it");
	result = seccomp_export_bpf(ctx, fd);
	if (result < 0 || fstat(fd, &st) < 0)
		return failed(e, result < 0 ? result : -errno, "export");
	all = mem_zalloc(sizeof(prologue) + (size_t)st.st_size);
	memcpy(all, prologue, sizeof(prologue));
	if (pread(fd, all + COUNT_OF(prologue), (size_t)st.st_size, 0) != st.st_size) {
		free(all);
		return failed(e, -EIO, "it cannot be read back");
	}
	*program = all;
	*len = COUNT_OF(prologue) + (size_t)st.st_size / sizeof(*all);
	return 0;
}

int confine_seccomp_build(struct sock_filter **program, size_t *len, struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int result = -1;

	if (!ctx)
		return failed(e, -ENOMEM, "no memory");
	if (!set_attributes(ctx, e) && !deny_calls(ctx, e) && !deny_arguments(ctx, e))
		result = export_program(ctx, program, len, e);
	seccomp_release(ctx);
	return result;
}
