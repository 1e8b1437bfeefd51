#include "os/sandbox/landlock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/sandbox/mounts.h"

#define LISTED_BYTES 2048 /* of a directory, read at once */

/* Defined here, because the build's headers may be older than the running kernel
 * (linux/landlock.h, landlock(7)). */
#define FS_EXECUTE (1ULL << 0)
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_MAKE_CHAR (1ULL << 6)
#define FS_MAKE_BLOCK (1ULL << 11)
#define FS_FIRST_ABI ((1ULL << 13) - 1)
#define FS_REFER (1ULL << 13)     /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define FS_ON_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define NET_CONNECT_TCP (1ULL << 1) /* ABI 4 */
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)
#define CREATE_RULESET_VERSION 1U
#define RULE_PATH_BENEATH 1
#define RULE_NET_PORT 2

struct ruleset_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

struct path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

struct net_port_attr {
	uint64_t allowed_access;
	uint64_t port;
};

int confine_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static uint64_t landlock_rights_of_abi(int abi)
{
	uint64_t rights = FS_FIRST_ABI;

	if (abi >= 2)
		rights |= FS_REFER;
	if (abi >= LANDLOCK_ABI_TRUNCATE)
		rights |= FS_TRUNCATE;
	if (abi >= LANDLOCK_ABI_IOCTL)
		rights |= FS_IOCTL_DEV;
	return rights;
}

uint64_t confine_landlock_device_rights(int abi)
{
	return landlock_rights_of_abi(abi) &
	       (FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV);
}

uint64_t confine_landlock_read_rights(void)
{
	return FS_EXECUTE | FS_READ_FILE | FS_READ_DIR;
}

static int landlock_create_ruleset(int abi, bool ports)
{
	struct ruleset_attr attr = {
		.handled_access_fs = landlock_rights_of_abi(abi),
		.handled_access_net = ports ? NET_CONNECT_TCP : 0,
		.scoped = abi >= LANDLOCK_ABI_SCOPE ? SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL : 0,
	};
	/* Older kernels have a shorter struct and refuse a longer one if the rest is not zero. */
	size_t size = abi >= LANDLOCK_ABI_SCOPE ? sizeof(attr)
		      : abi >= LANDLOCK_ABI_PORTS ? offsetof(struct ruleset_attr, scoped)
						  : sizeof(attr.handled_access_fs);

	return (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
}

/* Is @path the canonical path of @fd? A command may have made a link of a part of it. */
static bool landlock_is_at(int fd, const char *path)
{
	char link[32], name[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name));
	return len == (ssize_t)strlen(path) && !memcmp(name, path, (size_t)len);
}

/* Permit @rights to the file @fd, or below the directory. 0, or -1 with errno. */
static int landlock_add_rule(int ruleset, int fd, bool is_directory, uint64_t rights)
{
	const struct path_beneath_attr rule = {
		.parent_fd = fd,
		.allowed_access = is_directory ? rights : rights & FS_ON_FILES,
	};

	return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
}

/* Permit @rights below @path; @exact: only if that is a canonical path. 0, also if nothing is
 * there, or -1 with errno. */
static int landlock_allow(int ruleset, const char *path, bool exact, uint64_t rights)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_is_shortage(errno) ? -1 : 0;
	if (exact && !landlock_is_at(fd, path))
		return 0;
	return landlock_add_rule(ruleset, fd, S_ISDIR(st.st_mode), rights);
}

/* DT_UNKNOWN also for what is gone. */
static unsigned char landlock_entry_type(int at, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN) /* some file systems never tell */
		return entry->d_type;
	return fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ? DT_UNKNOWN
								    : IFTODT(st.st_mode);
}

/* Permit @rights below what getdents64(2) calls @entry, in the directory @at. For each shim: with
 * as few system calls as it takes. */
static int landlock_allow_entry(int ruleset, int at, const struct dirent *entry, uint64_t rights)
{
	const unsigned char type = landlock_entry_type(at, entry);
	const bool is_directory = type == DT_DIR;
	AUTO_CLOSE int fd = -1;

	if (!is_directory && type != DT_REG)
		return 0;
	/* O_DIRECTORY would have an automount point mounted, and wait for that. */
	fd = openat(at, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_is_shortage(errno) ? -1 : 0;
	if (!landlock_add_rule(ruleset, fd, is_directory, rights))
		return 0;
	return errno == EINVAL ? 0 : -1; /* a file has taken its place */
}

/*
 * Permit @rights below each directory and to each file in / except /dev: a rule for / would allow
 * to open every device. A mount that comes later at one of these names is not covered, because
 * Landlock judges by what is mounted now (landlock(7)). opendir(3) would take 32 KiB of the heap
 * for each shim, and malloc would keep it.
 */
static int landlock_allow_all_but_devices(int ruleset, uint64_t rights)
{
	static _Alignas(struct dirent) char entries[LISTED_BYTES];
	AUTO_CLOSE int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long listed = 1;

	while (root >= 0 && (listed = syscall(SYS_getdents64, root, entries, sizeof(entries))) > 0)
		for (long at = 0; at < listed;) {
			const struct dirent *entry = (const void *)(entries + at);

			at += entry->d_reclen;
			if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
			    strcmp(entry->d_name, "dev") &&
			    landlock_allow_entry(ruleset, root, entry, rights))
				return -1;
		}
	return root < 0 || listed < 0 ? -1 : 0;
}

static int landlock_add_devices(int ruleset, int abi)
{
	const uint64_t device = confine_landlock_device_rights(abi);
	int result = 0;

	for (size_t i = 0; confine_mounts_usual[i] && !result; i++)
		result = landlock_allow(ruleset, confine_mounts_usual[i], false, device);
	return result;
}

static int landlock_add_rules(int ruleset, int abi, const struct confine_landlock_rules *rules)
{
	const char *const *writable = rules->writable;
	/* Root could reach any device through a device file created in the workspace. */
	const uint64_t all = landlock_rights_of_abi(abi) & ~(FS_MAKE_CHAR | FS_MAKE_BLOCK);
	int result = landlock_allow(ruleset, "/", false, FS_READ_DIR);

	if (!result)
		result = landlock_allow_all_but_devices(ruleset, confine_landlock_read_rights());
	if (!result)
		result = landlock_add_devices(ruleset, abi);
	for (; writable && *writable && !result; writable++)
		result = landlock_allow(ruleset, *writable, true, all);
	for (size_t i = 0; i < rules->port_count && !result; i++) {
		const struct net_port_attr port = { NET_CONNECT_TCP, rules->ports[i] };

		result = (int)syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &port, 0);
	}
	return result;
}

int confine_landlock_build(int abi, const struct confine_landlock_rules *rules, struct err *e)
{
	int ruleset = landlock_create_ruleset(abi, rules->port_count), sys;

	if (ruleset >= 0 && !landlock_add_rules(ruleset, abi, rules))
		return ruleset;
	sys = errno;
	if (ruleset >= 0)
		close(ruleset);
	return err_sys(e, ERR_SANDBOX_UNAVAILABLE, sys, "cannot create the Landlock ruleset");
}

void confine_landlock_gaps(int abi, confine_text_fn fn, void *ctx)
{
	if (abi < 2)
		fn(ctx, "Landlock ABI 1: files cannot be renamed or linked between directories, "
			"even inside the workspace");
	if (abi < LANDLOCK_ABI_TRUNCATE)
		fn(ctx, "Landlock below ABI 3 (Linux 6.2): files outside the workspace can be "
			"truncated where the user may write them");
	if (abi < LANDLOCK_ABI_IOCTL)
		fn(ctx, "Landlock below ABI 5 (Linux 6.10): device files outside /dev that the "
			"user may open can be given orders (ioctl)");
	if (abi < LANDLOCK_ABI_SCOPE)
		fn(ctx, "Landlock below ABI 6 (Linux 6.12): signals and abstract sockets of other "
			"processes of the user can be reached");
}
