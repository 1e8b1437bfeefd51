/*
 * doors - tries every door that a command might have to the server, its shim and
 * the host, and prints one line for each: "door NAME open" or "door NAME shut ERRNO".
 *
 *     doors SERVER-PID SHIM-PID STATE-DIR OUTSIDE-DIR ABSTRACT-SOCKET
 *
 * Pids are the host's. Nothing it does when a door is open harms anybody: signals
 * are 0 or SIGCONT, limits and priorities are set to what they are, files are made
 * in OUTSIDE-DIR only.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t server, shim;
static const char *state, *outside, *abstract;

static long try_kill(void) { return kill(server, SIGCONT); }
static long try_kill_probe(void) { return kill(server, 0); }
static long try_kill_shim(void) { return kill(shim, SIGCONT); }
static long try_tgkill(void) { return syscall(SYS_tgkill, server, server, SIGCONT); }
static long try_tkill(void) { return syscall(SYS_tkill, server, SIGCONT); }

static long try_sigqueue(void)
{
	siginfo_t info = { .si_code = SI_QUEUE };

	return syscall(SYS_rt_sigqueueinfo, server, SIGCONT, &info);
}

static long try_pidfd(void) { return syscall(SYS_pidfd_open, server, 0); }

static long try_pidfd_getfd(void)
{
	long fd = try_pidfd();

	return fd < 0 ? fd : syscall(SYS_pidfd_getfd, fd, 3, 0);
}

static long try_ptrace(void)
{
	long result = ptrace(PTRACE_SEIZE, server, 0, 0);

	if (!result)
		_exit(99); /* detaches; a traced server must not stop */
	return result;
}

static long try_ptrace_shim(void)
{
	long result = ptrace(PTRACE_SEIZE, shim, 0, 0);

	if (!result)
		_exit(99);
	return result;
}

static long try_vm_read(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };
	long result = process_vm_readv(server, &here, 1, &there, 1, 0);

	return result < 0 && errno == EFAULT ? 0 : result; /* allowed, but nothing lies there */
}

static long try_prlimit_read(void)
{
	struct rlimit old;

	return prlimit(server, RLIMIT_NOFILE, NULL, &old);
}

static long try_prlimit_write(void)
{
	struct rlimit same = { 1024, 1024 };

	if (prlimit(server, RLIMIT_NOFILE, NULL, &same))
		same.rlim_cur = same.rlim_max;
	return prlimit(server, RLIMIT_NOFILE, &same, NULL);
}

/* A shim that can open nothing is blind to the limits that it watches. */
static long try_prlimit_shim(void)
{
	struct rlimit few = { 16, 16 };

	return prlimit(shim, RLIMIT_NOFILE, &few, NULL);
}

static long try_priority_shim(void)
{
	return setpriority(PRIO_PROCESS, (id_t)shim, getpriority(PRIO_PROCESS, (id_t)shim));
}

static long try_priority(void)
{
	int now; /* to better it takes privilege, and it may have been started with any */

	errno = 0;
	now = getpriority(PRIO_PROCESS, (id_t)server);
	return errno ? -1 : setpriority(PRIO_PROCESS, (id_t)server, now);
}

static long set_affinity_of(pid_t pid)
{
	cpu_set_t same;

	return sched_getaffinity(pid, sizeof(same), &same)
		       ? -1
		       : sched_setaffinity(pid, sizeof(same), &same);
}

static long set_scheduler_of(pid_t pid)
{
	struct sched_param parameters = { 0 };

	return sched_setscheduler(pid, SCHED_OTHER, &parameters);
}

static long set_attributes_of(pid_t pid)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t deadline[3];
	} attributes;

	return syscall(SYS_sched_getattr, pid, &attributes, sizeof(attributes), 0)
		       ? -1
		       : syscall(SYS_sched_setattr, pid, &attributes, 0);
}

static long try_affinity(void) { return set_affinity_of(server); }
static long try_affinity_shim(void) { return set_affinity_of(shim); }
static long try_scheduler(void) { return set_scheduler_of(server); }
static long try_scheduler_shim(void) { return set_scheduler_of(shim); }
static long try_attributes(void) { return set_attributes_of(server); }
static long try_attributes_shim(void) { return set_attributes_of(shim); }
static long try_ioprio(void) { return syscall(SYS_ioprio_set, 1, server, 2 << 13 | 4); }
static long try_ioprio_shim(void) { return syscall(SYS_ioprio_set, 1, shim, 2 << 13 | 4); }

static long try_group_priority_shim(void)
{
	return setpriority(PRIO_PGRP, (id_t)shim, getpriority(PRIO_PGRP, (id_t)shim));
}

static long open_of(pid_t pid, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, flags);
}

/* Opening is enough for these; environ opens for anybody and fails at the read. */
static long try_mem(void) { return open_of(server, "mem", O_RDWR); }
static long try_maps(void) { return open_of(server, "maps", O_RDONLY); }
static long try_fd_list(void) { return open_of(server, "fd", O_RDONLY | O_DIRECTORY); }
static long try_root(void) { return open_of(server, "root/etc/hostname", O_RDONLY); }
static long try_exe(void) { return open_of(server, "exe", O_RDONLY); }
static long try_shim_mem(void) { return open_of(shim, "mem", O_RDWR); }
static long try_shim_slack(void) { return open_of(shim, "timerslack_ns", O_WRONLY); }
static long try_shim_oom(void) { return open_of(shim, "oom_score_adj", O_WRONLY); }

static long try_environ(void)
{
	char byte;
	long fd = open_of(server, "environ", O_RDONLY);

	return fd < 0 ? fd : read((int)fd, &byte, 1) == 1 ? 0 : -1;
}

static long try_own_descriptor(void)
{
	for (int fd = 3; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 0;
	errno = EBADF;
	return -1;
}

static long make_in(const char *dir, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, O_WRONLY | O_CREAT, 0600);
}

static long try_state(void) { return make_in(state, "written-by-a-command"); }
static long try_audit(void) { return make_in(state, "audit/written-by-a-command"); }
static long try_audit_read(void)
{
	char path[4096], byte;
	long fd;

	/* "first" is a file that the test put there. */
	snprintf(path, sizeof(path), "%s/audit/first", state);
	fd = open(path, O_RDONLY);
	return fd < 0 ? fd : read((int)fd, &byte, 1);
}

static long try_outside(void) { return make_in(outside, "made"); }
static const char *there(void)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/there", outside);
	return path;
}

static long try_outside_chmod(void) { return chmod(there(), 0644); }
static long try_outside_times(void) { return utimes(there(), NULL); }
/* The flags that the file has anyway. */
static long try_outside_flags(void)
{
	int fd = open(there(), O_RDONLY), flags;

	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags))
		return -1;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static long try_outside_truncate(void) { return truncate(there(), 3); }
static long try_outside_rename(void) { return rename(there(), "taken"); }
static long try_abstract(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	size_t len = strlen(abstract);

	if (fd < 0)
		return -1;
	memcpy(to.sun_path + 1, abstract, len);
	return connect(fd, (struct sockaddr *)&to,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
}

static long try_sysctl(void) { return open("/proc/sys/kernel/hostname", O_WRONLY); }

static long try_device(void)
{
	return mknod("device", S_IFBLK | 0600, 0x0700) ? -1 : unlink("device");
}

static long try_mount(void)
{
	return syscall(SYS_mount, "none", "/", NULL, 1 << 18, NULL); /* MS_PRIVATE: changes nothing */
}

static const struct {
	const char *name;
	long (*try)(void);
} doors[] = {
	{ "kill", try_kill }, { "kill_probe", try_kill_probe }, { "kill_shim", try_kill_shim },
	{ "tgkill", try_tgkill }, { "tkill", try_tkill }, { "sigqueue", try_sigqueue },
	{ "pidfd", try_pidfd }, { "pidfd_getfd", try_pidfd_getfd }, { "ptrace", try_ptrace },
	{ "ptrace_shim", try_ptrace_shim }, { "vm_read", try_vm_read },
	{ "prlimit_read", try_prlimit_read }, { "prlimit_write", try_prlimit_write },
	{ "prlimit_shim", try_prlimit_shim }, { "priority_shim", try_priority_shim },
	{ "priority", try_priority }, { "affinity", try_affinity },
	{ "affinity_shim", try_affinity_shim }, { "scheduler", try_scheduler },
	{ "scheduler_shim", try_scheduler_shim }, { "attributes", try_attributes },
	{ "attributes_shim", try_attributes_shim }, { "ioprio", try_ioprio },
	{ "ioprio_shim", try_ioprio_shim }, { "group_priority_shim", try_group_priority_shim },
	{ "shim_slack", try_shim_slack }, { "shim_oom", try_shim_oom }, { "mem", try_mem },
	{ "maps", try_maps }, { "environ", try_environ }, { "fd_list", try_fd_list },
	{ "root", try_root }, { "exe", try_exe }, { "shim_mem", try_shim_mem },
	{ "own_descriptor", try_own_descriptor }, { "state", try_state }, { "audit", try_audit },
	{ "audit_read", try_audit_read }, { "outside", try_outside },
	{ "outside_chmod", try_outside_chmod }, { "outside_times", try_outside_times },
	{ "outside_flags", try_outside_flags },
	{ "outside_truncate", try_outside_truncate }, { "outside_rename", try_outside_rename },
	{ "abstract", try_abstract }, { "sysctl", try_sysctl }, { "device", try_device },
	{ "mount", try_mount },
};

/* Each in a process of its own: what one opens the next must not have. */
static void walk(const char *name, long (*try)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		errno = 0;
		_exit(try() >= 0 ? 99 : errno & 0x7f);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 99)
		printf("door %s open\n", name);
	else
		printf("door %s shut %s\n", name,
		       WIFEXITED(status) ? strerrorname_np(WEXITSTATUS(status)) : "signal");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	server = atoi(argv[1]);
	shim = atoi(argv[2]) ? atoi(argv[2]) : getppid();
	state = argv[3];
	outside = argv[4];
	abstract = argv[5];
	for (size_t i = 0; i < sizeof(doors) / sizeof(*doors); i++)
		walk(doors[i].name, doors[i].try);
	return 0;
}
