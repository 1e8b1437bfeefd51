#include "os/sandbox/seccomp_table.h"

#include <errno.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define ROW(name, group, set, check, error) \
	{ name, FILTER_##group, FILTER_##set, FILTER_##check, error }
#define DENY(name, group) ROW(name, group, ALWAYS, ALL, EPERM)
#define STRICT(name, group) ROW(name, group, STRICT, ALL, EPERM)
#define DOOR(name, group, check) ROW(name, group, DOORS, check, EPERM)
/* Calls refused to a command whose shim is init of a PID namespace, too: signals do not reach an
 * init, these do. */
#define ATTRIBUTE(name, check) \
	{ name, FILTER_ATTRIBUTES, FILTER_DOORS | FILTER_INIT, FILTER_##check, EPERM }

const struct filter_row filter_rows[] = {
	DENY("kexec_load", BOOT),
	DENY("kexec_file_load", BOOT),
	DENY("reboot", BOOT),
	DENY("init_module", BOOT),
	DENY("finit_module", BOOT),
	DENY("delete_module", BOOT),
	DENY("create_module", BOOT),
	DENY("query_module", BOOT),
	DENY("get_kernel_syms", BOOT),

	DENY("swapon", HOST),
	DENY("swapoff", HOST),
	DENY("acct", HOST),
	DENY("quotactl", HOST),
	DENY("quotactl_fd", HOST),
	DENY("nfsservctl", HOST),
	DENY("sethostname", HOST),
	DENY("setdomainname", HOST),
	DENY("syslog", HOST),
	DENY("vhangup", HOST),
	DENY("iopl", HOST),
	DENY("ioperm", HOST),
	DENY("settimeofday", HOST),
	DENY("clock_settime", HOST),
	DENY("stime", HOST),
	DENY("lookup_dcookie", HOST),
	DENY("vm86", HOST),
	DENY("vm86old", HOST),
	DENY("pciconfig_iobase", HOST),
	DENY("pciconfig_read", HOST),
	DENY("pciconfig_write", HOST),
	DENY("_sysctl", HOST),

	DENY("mount", MOUNTS),
	DENY("umount", MOUNTS),
	DENY("umount2", MOUNTS),
	DENY("pivot_root", MOUNTS),
	DENY("chroot", MOUNTS),
	DENY("open_tree", MOUNTS),
	DENY("open_tree_attr", MOUNTS),
	DENY("move_mount", MOUNTS),
	DENY("fsopen", MOUNTS),
	DENY("fsconfig", MOUNTS),
	DENY("fsmount", MOUNTS),
	DENY("fspick", MOUNTS),
	DENY("mount_setattr", MOUNTS),

	DENY("unshare", NAMESPACES),
	DENY("setns", NAMESPACES),
	DENY("listns", NAMESPACES),
	ROW("clone", NAMESPACES, ALWAYS, CLONE_FLAGS, EPERM),
	ROW("clone3", POINTER, ALWAYS, ALL, ENOSYS),

	DENY("bpf", SURFACE),
	DENY("perf_event_open", SURFACE),
	DENY("userfaultfd", SURFACE),
	DENY("add_key", SURFACE),
	DENY("request_key", SURFACE),
	DENY("keyctl", SURFACE),
	DENY("io_uring_setup", SURFACE),
	DENY("io_uring_enter", SURFACE),
	DENY("io_uring_register", SURFACE),
	DENY("fanotify_init", SURFACE),
	DENY("open_by_handle_at", SURFACE),
	DENY("migrate_pages", SURFACE),
	DENY("move_pages", SURFACE),
	DENY("set_mempolicy_home_node", SURFACE),
	DENY("uselib", SURFACE),
	DENY("ustat", SURFACE),
	DENY("sysfs", SURFACE),

	DENY("afs_syscall", NEVER),
	DENY("getpmsg", NEVER),
	DENY("putpmsg", NEVER),
	DENY("security", NEVER),
	DENY("tuxcall", NEVER),
	DENY("vserver", NEVER),
	DENY("epoll_ctl_old", NEVER),
	DENY("epoll_wait_old", NEVER),

	ROW("ioctl", TTY, ALWAYS, TERMINAL, EPERM),
	/* A right to read is enough for a lease, and Landlock does not know it. */
	ROW("fcntl", LEASES, ALWAYS, FCNTL_LEASE, EPERM),

	/* Not mkdir, whose mode the kernel cuts itself (mkdir(2)): cp -a passes it these bits. */
	ROW("chmod", SET_ID, ALWAYS, MODE_SECOND, EPERM),
	ROW("fchmod", SET_ID, ALWAYS, MODE_SECOND, EPERM),
	ROW("creat", SET_ID, ALWAYS, MODE_SECOND, EPERM),
	ROW("mknod", SET_ID, ALWAYS, MODE_SECOND, EPERM),
	ROW("fchmodat", SET_ID, ALWAYS, MODE_THIRD, EPERM),
	ROW("fchmodat2", SET_ID, ALWAYS, MODE_THIRD, EPERM),
	ROW("mknodat", SET_ID, ALWAYS, MODE_THIRD, EPERM),
	ROW("open", OPENING, ALWAYS, OPEN_MODE, EPERM),
	ROW("openat", OPENING, ALWAYS, OPENAT_MODE, EPERM),
	ROW("openat2", POINTER, ALWAYS, ALL, ENOSYS),

	/* After this errno tools give up at once: with EPERM wget retries for minutes. */
	ROW("socket", FAMILIES, ALWAYS, FAMILY_RARE, EAFNOSUPPORT),
	ROW("socketpair", FAMILIES, ALWAYS, FAMILY_RARE, EAFNOSUPPORT),
	/* Landlock judges connect(2) of TCP sockets, and nothing else of IP. */
	ROW("socket", PORTS, LISTED, TCP_ONLY, EAFNOSUPPORT),
	ROW("sendmsg", PORTS, LISTED, FASTOPEN_THIRD, EPERM),
	ROW("sendto", PORTS, LISTED, FASTOPEN_FOURTH, EPERM),
	ROW("sendmmsg", PORTS, LISTED, FASTOPEN_FOURTH, EPERM),
	ROW("setsockopt", PORTS, LISTED, TCP_OPTION, EPERM),
	ROW("socket", NETWORK, OFFLINE, FAMILY_REMOTE, EAFNOSUPPORT),
	ROW("socketpair", NETWORK, OFFLINE, FAMILY_REMOTE, EAFNOSUPPORT),

	/* Ways to the server and to the run's shim. Calls that the strict profile refuses
	 * altogether are here too: FILTER_ALL wins. */
	DOOR("kill", SIGNALS, PID_FIRST),
	DOOR("tkill", SIGNALS, PID_FIRST),
	DOOR("tgkill", SIGNALS, PID_FIRST),
	DOOR("rt_sigqueueinfo", SIGNALS, PID_FIRST),
	DOOR("rt_tgsigqueueinfo", SIGNALS, PID_FIRST),
	DOOR("pidfd_open", PIDFDS, PID_FIRST),
	/* It also takes a directory of /proc as a process, which no filter can recognise. */
	ROW("pidfd_send_signal", PIDFDS, DOORS, ALL, ENOSYS),
	/* Any other process may be the shim of another run, which watches its limits. */
	DOOR("prlimit64", ATTRIBUTES, PID_OTHER),
	ROW("prlimit64", ATTRIBUTES, INIT, PID_FIRST, EPERM),
	ATTRIBUTE("sched_setparam", PID_FIRST),
	ATTRIBUTE("sched_setscheduler", PID_FIRST),
	ATTRIBUTE("sched_setattr", PID_FIRST),
	ATTRIBUTE("sched_setaffinity", PID_FIRST),
	ATTRIBUTE("setpriority", PRIORITY),
	ATTRIBUTE("ioprio_set", IOPRIO),
	DOOR("process_vm_readv", TRACING, PID_FIRST),
	DOOR("process_vm_writev", TRACING, PID_FIRST),
	DOOR("ptrace", TRACING, PID_SECOND),
	DOOR("fcntl", OWNERS, FCNTL_OWNER),
	DOOR("ioctl", OWNERS, IOCTL_OWNER),

	STRICT("ptrace", TRACING),
	STRICT("process_vm_readv", TRACING),
	STRICT("process_vm_writev", TRACING),
	STRICT("process_madvise", TRACING),
	STRICT("pidfd_getfd", TRACING),
	STRICT("kcmp", TRACING),

	STRICT("name_to_handle_at", RARE),
	STRICT("fanotify_mark", RARE),
	STRICT("modify_ldt", RARE),
	STRICT("adjtimex", RARE),
	STRICT("clock_adjtime", RARE),
	STRICT("vmsplice", RARE),
	STRICT("memfd_secret", RARE),
	STRICT("mlockall", RARE),
	STRICT("msgget", RARE),
	STRICT("semget", RARE),
	STRICT("shmget", RARE),
	STRICT("mq_open", RARE),
	ROW("personality", RARE, STRICT, PERSONALITY, EPERM),
};
const size_t filter_row_count = COUNT_OF(filter_rows);

const char *const filter_reasons[FILTER_GROUP_COUNT] = {
	[FILTER_BOOT] = "kernel and boot",
	[FILTER_HOST] = "host state, for when the server is root",
	[FILTER_MOUNTS] = "they undo confinement by mounts, and are much kernel surface",
	[FILTER_NAMESPACES] = "the usual way to kernel bugs",
	[FILTER_SURFACE] = "attack surface that development commands do without; io_uring also "
			   "gets around filters",
	[FILTER_NEVER] = "never implemented, or long removed",
	[FILTER_TTY] = "typing into, or taking over, a terminal",
	[FILTER_POINTER] = "flags and mode lie behind a pointer; programs fall back to clone and "
			   "openat",
	[FILTER_FAMILIES] = "rarely used protocols are where many kernel bugs are; "
			    "NETLINK_CONNECTOR tells what all processes of the machine do",
	[FILTER_NETWORK] = "no network; with this answer tools give up at once",
	[FILTER_PORTS] = "ports are judged by Landlock, and only when connect(2) is called for TCP",
	[FILTER_TRACING] = "reading and changing other processes",
	[FILTER_RARE] = "least privilege: rarely used calls, and IPC that outlives the run",
	[FILTER_SIGNALS] = "signals to the server and the shim",
	[FILTER_ATTRIBUTES] = "limits and priority of the server and the shim, which watches "
			      "limits itself",
	[FILTER_LEASES] = "whoever then opens the file, outside too, waits for the command",
	[FILTER_OWNERS] = "the kernel would send them a descriptor's signals",
	[FILTER_SET_ID] = "a set-uid program that stays behind lends its owner to other users",
	[FILTER_OPENING] = "a set-uid program that stays behind lends its owner to other users; "
			   "access mode 3 is for ioctl alone, and Landlock asks no right for it",
	[FILTER_PIDFDS] = "a descriptor of them is a way around all of this; tools fall back to "
			  "kill",
};

const char *const filter_check_texts[FILTER_CHECK_COUNT] = {
	[FILTER_ALL] = "",
	[FILTER_CLONE_FLAGS] = "with a namespace flag",
	[FILTER_TERMINAL] = "TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS",
	[FILTER_IOCTL_OWNER] = "FIOSETOWN, SIOCSPGRP",
	[FILTER_FAMILY_RARE] = "of a family other than UNIX, INET, INET6, NETLINK; "
			       "NETLINK_CONNECTOR",
	[FILTER_FAMILY_REMOTE] = "of a family other than UNIX",
	[FILTER_PERSONALITY] = "other than PER_LINUX, PER_LINUX32 (with UNAME26), or a query",
	[FILTER_PID_OTHER] = "of another process than itself",
	[FILTER_PID_FIRST] = "of the server or the shim, their process groups, or -1",
	[FILTER_PID_SECOND] = "of the server or the shim",
	[FILTER_PRIORITY] = "of the server, its process group, the shim, or a user",
	[FILTER_IOPRIO] = "of the server, its process group, the shim, or a user",
	[FILTER_FCNTL_LEASE] = "F_SETLEASE, F_SETDELEG",
	[FILTER_FCNTL_OWNER] = "F_SETOWN with these, F_SETOWN_EX",
	[FILTER_MODE_SECOND] = "with S_ISUID; as root and in strict also S_ISGID",
	[FILTER_MODE_THIRD] = "with S_ISUID; as root and in strict also S_ISGID",
	[FILTER_OPEN_MODE] = "with O_CREAT or O_TMPFILE and such a mode; with access mode 3",
	[FILTER_TCP_ONLY] = ("of INET and INET6 other than SOCK_STREAM with protocol 0 or TCP; "
			     "of a family other than these, UNIX, NETLINK; NETLINK_CONNECTOR"),
	[FILTER_FASTOPEN_THIRD] = "with MSG_FASTOPEN",
	[FILTER_FASTOPEN_FOURTH] = "with MSG_FASTOPEN",
	[FILTER_TCP_OPTION] = "TCP_FASTOPEN_CONNECT",
	[FILTER_OPENAT_MODE] = "with O_CREAT or O_TMPFILE and such a mode; with access mode 3",
};

/* Calls that are newer than the library's table; from 424 on all machines number alike. */
static const struct {
	char name[32];
	int number;
} newer_calls[] = {
#if defined(__x86_64__)
	{ "uretprobe", 335 },
	{ "uprobe", 336 },
#endif
	{ "set_mempolicy_home_node", 450 },
	{ "cachestat", 451 },
	{ "fchmodat2", 452 },
	{ "map_shadow_stack", 453 },
	{ "futex_wake", 454 },
	{ "futex_wait", 455 },
	{ "futex_requeue", 456 },
	{ "statmount", 457 },
	{ "listmount", 458 },
	{ "lsm_get_self_attr", 459 },
	{ "lsm_set_self_attr", 460 },
	{ "lsm_list_modules", 461 },
	{ "mseal", 462 },
	{ "setxattrat", 463 },
	{ "getxattrat", 464 },
	{ "listxattrat", 465 },
	{ "removexattrat", 466 },
	{ "open_tree_attr", 467 },
	{ "file_getattr", 468 },
	{ "file_setattr", 469 },
	{ "listns", 470 },
	{ "rseq_slice_yield", 471 },
};

#if defined(__x86_64__)
const int filter_unassigned[2] = { 337, 423 };
#else
const int filter_unassigned[2] = { 295, 423 };
#endif

int filter_number(const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	if (nr >= 0)
		return nr;
	for (size_t i = 0; i < COUNT_OF(newer_calls); i++)
		if (!strcmp(newer_calls[i].name, name))
			return newer_calls[i].number;
	return -1; /* libseccomp's negative pseudo numbers: not a call of this machine */
}

bool filter_name(uint32_t arch, int nr, char *text, size_t size)
{
	bool x32 = arch == AUDIT_ARCH_X86_64 && ((uint32_t)nr & FILTER_X32_BIT);
	AUTO_FREE char *found =
		nr < 0 ? NULL : seccomp_syscall_resolve_num_arch(x32 ? SCMP_ARCH_X32 : arch, nr);

	snprintf(text, size, "%s", found ? found : "");
	for (size_t i = 0; !found && i < COUNT_OF(newer_calls); i++)
		if (newer_calls[i].number == nr && arch == seccomp_arch_native())
			snprintf(text, size, "%s", newer_calls[i].name);
	return *text != '\0';
}

int filter_error(int nr)
{
	static uint8_t errors[FILTER_LAST_REVIEWED + 1];
	static bool known; /* cached: a listener asks for every refused call */

	for (size_t i = 0; !known && i < filter_row_count; i++) {
		int number = filter_number(filter_rows[i].name);

		if (number >= 0 && number <= FILTER_LAST_REVIEWED)
			errors[number] = filter_rows[i].error;
	}
	known = true;
	return nr >= 0 && nr <= FILTER_LAST_REVIEWED ? errors[nr] : 0;
}
