/*
 * The order of the mounts matters. namespaces_make_mounts() clones the devices that stay devices,
 * takes all others away in one call (MOUNT_ATTR_NODEV), and attaches the clones in their
 * places. It does the same for the trees that stay writable, and then
 * covers the hidden paths, makes some others read-only again, and pins the directories
 * above those that lie below a writable one. The new /proc comes last, because maps and
 * paths are written through the old one.
 *
 * A descriptor from outside (the working directory, the ruleset) belongs to a mount of
 * the old namespace and would bypass all of this. So directories are opened again by
 * name in the new namespace and compared with the descriptor.
 */
#include "os/shim/namespaces.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/if.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <linux/stat.h>
#include <linux/wait.h>

#include "os/shim/permit.h"
#include "os/shim/procread.h"
#include "os/shim/pts.h"
#include "os/shim/sys.h"

#ifndef MS_NOSUID /* newer headers keep these in linux/mount.h */
#define MS_RDONLY 1
#define MS_NOSUID 2
#define MS_NODEV 4
#define MS_NOEXEC 8
#define MS_BIND 4096
#define MS_REC 16384
#define MS_PRIVATE (1 << 18)
#endif
#define OPEN_PATH 010000000 /* O_PATH */
#define OPEN_DIRECTORY (OPEN_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DESCRIPTORS_MAX 64
#define NAME_SIZE 256 /* of a name in a directory, NUL included */
#define WALKED_SIZE 256 /* of the path of a directory that is kept open */
#define REPLACED_MAX 64 /* attempts to cover a path whose file is replaced meanwhile */

/* The clone of a tree that keeps what all others lose, and the place where it is attached. */
struct kept {
	int tree, place;
};

static int queues_fd = -1; /* above the numbers that a command's descriptors take */
static int no_queues;      /* the kernel has none */

static long namespaces_write_file(const char *path, const char *text, unsigned long len)
{
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	long result;

	if (fd < 0)
		return fd;
	result = sys3(__NR_write, fd, text, len);
	sys1(__NR_close, fd);
	return result < 0 ? result : 0;
}

/* "1000 1000 1": map one id to itself. */
static long namespaces_write_map(const char *path, uint32_t id)
{
	char line[24], *end = procread_put_number(line, id);

	*end++ = ' ';
	end = procread_put_number(end, id);
	*end++ = ' ';
	*end++ = '1';
	return namespaces_write_file(path, line, (unsigned long)(end - line));
}

/* user_namespaces(7): setgroups must be given up before an unprivileged gid_map. */
static long namespaces_write_maps(const struct shim_plan *plan)
{
	long result = namespaces_write_map("/proc/self/uid_map", plan->uid);

	if (!result)
		result = namespaces_write_file("/proc/self/setgroups", "deny", 4);
	return result ? result : namespaces_write_map("/proc/self/gid_map", plan->gid);
}

static long namespaces_open_path(const char *path)
{
	struct open_how how = {
		.flags = OPEN_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};

	return sys4(__NR_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static long namespaces_stat_identity(int fd, uint64_t *dev, uint64_t *ino)
{
	struct statx st;
	long result = sys5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_INO | STATX_TYPE, &st);

	*dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	*ino = st.stx_ino;
	return result;
}

/* Open the directory @path; @nearest: or the first one above it that may not be searched. Follows
 * no link: one to a descriptor of the shim would lead out of the namespace. Not by openat2(2),
 * because a pooled shim has the filter, which refuses that. */
static long namespaces_open_directory(const char *path, int nearest)
{
	char name[NAME_SIZE];
	long dir = sys4(__NR_openat, AT_FDCWD, "/", OPEN_DIRECTORY, 0), next;
	unsigned len;

	for (; dir >= 0 && *path; path += *path == '/') {
		for (len = 0; len < sizeof(name) && *path && *path != '/'; path++)
			name[len++] = *path;
		if (!len)
			continue;
		next = -ENAMETOOLONG;
		if (len < sizeof(name)) {
			name[len] = '\0';
			next = sys4(__NR_openat, dir, name, OPEN_DIRECTORY, 0);
		}
		if (nearest && next == -EACCES)
			return dir;
		sys1(__NR_close, dir);
		dir = next;
	}
	return dir;
}

/* The directory of the last commands, as long as it is the same. */
static struct {
	char path[WALKED_SIZE];
	int fd; /* 0: not opened */
	uint64_t dev, ino;
} walked;

static int namespaces_walked_to(const char *path)
{
	unsigned i = 0;

	while (path[i] && path[i] == walked.path[i])
		i++;
	return path[i] == walked.path[i];
}

long namespaces_open_same(const char *path, int same)
{
	uint64_t dev, ino, want_dev, want_ino;
	long result = namespaces_stat_identity(same, &want_dev, &want_ino), fd;

	if (result)
		return result;
	if (walked.fd && namespaces_walked_to(path)) {
		if (walked.dev == want_dev && walked.ino == want_ino)
			return walked.fd;
		walked.path[0] = '\0'; /* another has that name: the shim lets go of this one */
	}
	fd = namespaces_open_directory(path, 0);
	if (fd < 0)
		return fd;
	result = namespaces_stat_identity((int)fd, &dev, &ino);
	if (!result && (dev != want_dev || ino != want_ino))
		result = -ESTALE;
	if (!result)
		return fd;
	sys1(__NR_close, fd);
	return result;
}

static void namespaces_keep_open(const char *path)
{
	long fd = namespaces_open_directory(path, 0);

	if (fd < 0)
		return;
	if (!namespaces_stat_identity((int)fd, &walked.dev, &walked.ino))
		walked.fd = (int)sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC,
				    SHIM_FD_EXTRA + SHIM_EXTRA_FDS_MAX);
	sys1(__NR_close, fd);
	if (walked.fd < 0)
		walked.fd = 0;
}

void namespaces_keep_directory(const char *path)
{
	unsigned len = 0;

	if (namespaces_walked_to(path)) {
		if (!walked.fd)
			namespaces_keep_open(path);
		return;
	}
	if (walked.fd)
		sys1(__NR_close, walked.fd);
	walked.fd = 0;
	while (path[len] && len < WALKED_SIZE - 1)
		len++;
	for (unsigned i = 0; i < len; i++)
		walked.path[i] = path[i];
	walked.path[path[len] ? 0 : len] = '\0'; /* too long: none */
}

/* Open the path of an entry if it still is the file that the plan names. 0: gone or another file:
 * skip it. A hidden or read-only path may lie in a directory that may not be searched now, and that
 * a command can open again, if it belongs to the user: then that one is hidden, or read-only. */
static long namespaces_open_entry(const struct shim_mount *entry)
{
	uint64_t dev, ino;
	long fd = namespaces_open_path(entry->path);

	if (fd == -EACCES &&
	    (entry->kind == SHIM_MOUNT_HIDE || entry->kind == SHIM_MOUNT_READONLY)) {
		fd = namespaces_open_directory(entry->path, 1);
		if (fd < 0) /* it was opened meanwhile */
			return -EAGAIN;
	}
	if (fd < 0)
		return fd == -ENOENT || fd == -ELOOP || fd == -ENOTDIR || fd == -EACCES ? 0 : fd;
	if (!entry->ino || (!namespaces_stat_identity((int)fd, &dev, &ino) && dev == entry->dev &&
			    ino == entry->ino))
		return fd;
	sys1(__NR_close, fd);
	return 0;
}

static long namespaces_clone_entry(const struct shim_mount *entry, struct kept *kept)
{
	long place = namespaces_open_entry(entry), tree;

	if (place <= 0)
		return place;
	tree = sys3(__NR_open_tree, place, "",
		    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
	if (tree < 0) {
		sys1(__NR_close, place);
		return tree == -ENOENT ? 0 : tree;
	}
	kept->place = (int)place;
	kept->tree = (int)tree;
	return 1;
}

static long namespaces_is_directory(int fd)
{
	struct statx st;

	return !sys5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) &&
	       (st.stx_mode & 0170000) == 0040000;
}

/* mount(2) takes a path: this one names an open descriptor. */
static char *namespaces_descriptor_path(char *path, int fd)
{
	procread_put_number(procread_put(path, "/proc/self/fd/"), (unsigned)fd);
	return path;
}

static long namespaces_cover_by_empty(const char *place)
{
	return sys5(__NR_mount, "procpen", place, "tmpfs",
		    MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=555");
}

/* Put the entry's directory on /dev/shm. A command may have removed it, or put something else in
 * its place; then the host's stays covered all the same. */
static long namespaces_cover_shared_memory(const struct shim_mount *entry)
{
	char path[32], source[32];
	long place = namespaces_open_path("/dev/shm"), fd, result;

	if (place < 0)
		return place == -ENOENT ? 0 : place;
	namespaces_descriptor_path(path, (int)place);
	fd = namespaces_open_entry(entry);
	if (fd > 0)
		result = sys5(__NR_mount, namespaces_descriptor_path(source, (int)fd), path, 0,
			      MS_BIND, 0);
	else
		result = fd ? fd : namespaces_cover_by_empty(path);
	if (fd > 0)
		sys1(__NR_close, fd);
	sys1(__NR_close, place);
	return result;
}

/* Put a read-only clone of the tree at @place there. */
static long namespaces_make_readonly(int place)
{
	struct mount_attr set = { .attr_set = MOUNT_ATTR_RDONLY };
	const unsigned whole = AT_RECURSIVE | AT_EMPTY_PATH;
	long tree = sys3(__NR_open_tree, place, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | whole);
	long result;

	if (tree < 0)
		return tree;
	result = sys5(__NR_mount_setattr, tree, "", whole, &set, sizeof(set));
	if (!result)
		result = sys5(__NR_move_mount, tree, "", place, "",
			      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	sys1(__NR_close, tree);
	return result;
}

/* Hide the entry's path below an empty directory or file, or mount it on itself, to pin it or
 * to make it read-only: a mount point cannot be renamed or removed (rename(2), EBUSY). */
static long namespaces_cover_found(const struct shim_mount *entry)
{
	char path[32];
	long fd = namespaces_open_entry(entry), directory, result;

	if (fd <= 0)
		return fd;
	namespaces_descriptor_path(path, (int)fd);
	directory = namespaces_is_directory((int)fd);
	if (entry->kind == SHIM_MOUNT_READONLY || (entry->kind == SHIM_MOUNT_PIN && !directory))
		result = namespaces_make_readonly((int)fd);
	else if (entry->kind == SHIM_MOUNT_PIN)
		result = sys5(__NR_mount, path, path, 0, MS_BIND | MS_REC, 0);
	else if (directory)
		result = namespaces_cover_by_empty(path);
	else
		result = sys5(__NR_mount, "/dev/null", path, 0, MS_BIND, 0);
	sys1(__NR_close, fd);
	return result;
}

/* Nothing can be mounted on a file that was removed or replaced after it was opened (ENOENT), as
 * programs do that write by rename(2): then cover the one that is there now. The next replacement
 * uncovers the name all the same (docs/security.md, hidden paths). */
static long namespaces_cover_entry(const struct shim_mount *entry)
{
	long result = -ENOENT;

	for (int i = 0; i < REPLACED_MAX && result == -ENOENT; i++)
		result = namespaces_cover_found(entry);
	return result;
}

static const struct shim_mount *namespaces_next_entry(const struct shim_plan *plan, uint32_t *at)
{
	const uint8_t *entries = plan->tail + plan->filter_len * 8UL;
	const struct shim_mount *entry = (const void *)(entries + *at);

	if (*at + sizeof(*entry) >= plan->mounts_size || entry->size < sizeof(*entry) ||
	    entry->size > plan->mounts_size - *at)
		return 0;
	*at += entry->size;
	return entry;
}

static long namespaces_attach_clones(const struct kept *kept, int count)
{
	long result = 0;

	for (int i = 0; i < count; i++) {
		if (!result)
			result = sys5(__NR_move_mount, kept[i].tree, "", kept[i].place, "",
				      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
		sys1(__NR_close, kept[i].tree);
		sys1(__NR_close, kept[i].place);
	}
	return result;
}

static long namespaces_cover_entries(const struct shim_plan *plan)
{
	const struct shim_mount *entry;
	long result = 0;

	for (uint32_t at = 0; !result && (entry = namespaces_next_entry(plan, &at));)
		if (entry->kind == SHIM_MOUNT_SHARED_MEMORY)
			result = namespaces_cover_shared_memory(entry);
		else if (entry->kind == SHIM_MOUNT_HIDE || entry->kind == SHIM_MOUNT_PIN ||
			 entry->kind == SHIM_MOUNT_READONLY)
			result = namespaces_cover_entry(entry);
	return result;
}

/* Mount the queues of the new IPC namespace where the host's are, and keep a descriptor of them. */
static void namespaces_mount_queues(void)
{
	long type = sys2(__NR_fsopen, "mqueue", FSOPEN_CLOEXEC), tree = type;

	no_queues = type == -ENODEV;
	if (type < 0)
		return;
	sys5(__NR_fsconfig, type, FSCONFIG_CMD_CREATE, 0, 0, 0);
	tree = sys3(__NR_fsmount, type, FSMOUNT_CLOEXEC,
		    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	sys1(__NR_close, type);
	if (tree < 0)
		return;
	sys5(__NR_move_mount, tree, "", AT_FDCWD, "/dev/mqueue", MOVE_MOUNT_F_EMPTY_PATH);
	queues_fd = (int)sys3(__NR_fcntl, tree, F_DUPFD_CLOEXEC,
			      SHIM_FD_EXTRA + SHIM_EXTRA_FDS_MAX);
	sys1(__NR_close, tree);
}

int64_t namespaces_queues_size(void)
{
	struct statx st;

	if (no_queues)
		return 0;
	if (sys5(__NR_statx, queues_fd, "", AT_EMPTY_PATH, STATX_SIZE, &st) < 0)
		return -1;
	return (int64_t)st.stx_size;
}

/* Give all mounts the @attribute, except the trees of the entries that are devices, or writable. */
static long namespaces_set_attribute(const struct shim_plan *plan, uint64_t attribute, int devices)
{
	struct mount_attr set = { .attr_set = attribute };
	struct kept kept[DESCRIPTORS_MAX];
	const struct shim_mount *entry;
	long result = 0;
	int count = 0;

	for (uint32_t at = 0; result >= 0 && (entry = namespaces_next_entry(plan, &at));)
		if (entry->kind == (devices ? SHIM_MOUNT_DEVICE : SHIM_MOUNT_WRITABLE)) {
			result = count < DESCRIPTORS_MAX
					 ? namespaces_clone_entry(entry, &kept[count])
					 : -E2BIG;
			count += result > 0;
		}
	if (result >= 0)
		result = sys5(__NR_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &set, sizeof(set));
	return result ? result : namespaces_attach_clones(kept, count);
}

static long namespaces_make_mounts(const struct shim_plan *plan)
{
	long result = sys5(__NR_mount, 0, "/", 0, MS_REC | MS_PRIVATE, 0);

	if (!result)
		result = namespaces_set_attribute(plan, MOUNT_ATTR_NODEV, 1);
	if (!result)
		result = namespaces_set_attribute(plan, MOUNT_ATTR_RDONLY, 0);
	return result ? result : namespaces_cover_entries(plan);
}

/* A /proc that shows this PID namespace only, read-only as it also holds kernel settings. */
static long namespaces_mount_proc(const char *options)
{
	return sys5(__NR_mount, "proc", "/proc", "proc",
		    MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
}

/* These show what all processes do in the namespaces of whoever opened them, or those of the /proc
 * that they are in: through a descriptor that was kept, what a later run does. */
static long namespaces_cover_lists(void)
{
	long result = sys5(__NR_mount, "/dev/null", "/proc/locks", 0, MS_BIND, 0);

	if (!result || result == -ENOENT) /* the kernel may lack either */
		result = namespaces_cover_by_empty("/proc/sysvipc");
	return result == -ENOENT ? 0 : result;
}

/*
 * A descriptor of /proc can leave the run and outlive it. So the /proc of the commands shows each
 * process only to those that may trace it (proc(5), hidepid): with Landlock, the processes of the
 * same run. Not even the shim may trace all of them. It reads another /proc, which lies below as
 * its current directory and which no command can reach.
 */
static long namespaces_mount_both_procs(const struct shim_plan *plan)
{
	long result = namespaces_mount_proc(0);

	if (!result)
		result = sys1(__NR_chdir, "/proc");
	if (result)
		return result;
	procread_from_here();
	result = namespaces_mount_proc("hidepid=ptraceable");
	if (!result)
		result = permit_path(plan->proc_rights, plan->landlock_fd, "/proc");
	return result ? result : namespaces_cover_lists();
}

/* Shares our memory and our descriptors. */
static int namespaces_open_own_mounts(void *fd)
{
	*(long *)fd = sys4(__NR_openat, AT_FDCWD, "/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC, 0);
	return 0;
}

/*
 * When a mount namespace ends, its mounts come apart, and a descriptor of a directory that was kept
 * shows what they covered. Locked mounts stay together, and those that a new user namespace gets
 * a copy of are locked (mount_namespaces(7)). So enter such a copy, but not the user namespace.
 */
static long namespaces_lock_mounts(void)
{
	char stack[1024] __attribute__((aligned(16)));
	long fd = -ENOENT, here, result;
	long pid =
		sys_clone_call(CLONE_NEWUSER | CLONE_NEWNS | CLONE_VM | CLONE_VFORK | CLONE_FILES,
			       stack + sizeof(stack), 0, namespaces_open_own_mounts, &fd);

	if (pid < 0)
		return pid;
	sys4(__NR_wait4, pid, 0, __WALL, 0);
	if (fd < 0)
		return fd;
	here = sys4(__NR_openat, AT_FDCWD, ".", OPEN_PATH | O_CLOEXEC, 0);
	result = sys2(__NR_setns, fd, CLONE_NEWNS); /* changes the current directory */
	if (!result)
		result = sys1(__NR_fchdir, here);
	sys1(__NR_close, here);
	sys1(__NR_close, fd);
	return result;
}

static long namespaces_loopback_up(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	long fd = sys3(__NR_socket, 2 /* AF_INET */, 2 /* SOCK_DGRAM */ | O_CLOEXEC, 0), result;

	if (fd < 0)
		return fd;
	result = sys3(__NR_ioctl, fd, SIOCGIFFLAGS, &lo);
	lo.ifr_flags |= IFF_UP;
	if (!result)
		result = sys3(__NR_ioctl, fd, SIOCSIFFLAGS, &lo);
	sys1(__NR_close, fd);
	return result;
}

long namespaces_renew_network(void)
{
	long result = sys1(__NR_unshare, CLONE_NEWNET);

	return result ? result : namespaces_loopback_up();
}

/* Has the clone that made us dropped its flags, as emulators and tools that stand between do? Then
 * the mounts are the host's. */
static int namespaces_are_missing(const struct shim_plan *plan)
{
	return (plan->flags & SHIM_PID_NS) && sys0(__NR_getpid) != 1;
}

long namespaces_enter(const struct shim_plan *plan, enum shim_stage *stage)
{
	long result = 0;

	*stage = SHIM_STAGE_USER_NS;
	if (plan->flags & SHIM_USER_NS)
		result = namespaces_write_maps(plan);
	if (!result && (plan->flags & SHIM_NET_NS)) {
		*stage = SHIM_STAGE_NET_NS;
		result = namespaces_loopback_up();
	}
	if (!result && (plan->flags & SHIM_MOUNTS)) {
		*stage = SHIM_STAGE_MOUNTS;
		result = namespaces_are_missing(plan) ? -EPERM : namespaces_make_mounts(plan);
	}
	if (!result && (plan->flags & SHIM_OWN_PTS)) {
		*stage = SHIM_STAGE_OWN_PTS;
		result = pts_mount(plan);
	}
	if (!result && (plan->flags & SHIM_MOUNTS) && (plan->flags & SHIM_IPC_NS))
		namespaces_mount_queues();
	if (!result && (plan->flags & SHIM_MOUNTS) && (plan->flags & SHIM_PID_NS)) {
		*stage = SHIM_STAGE_PROC;
		result = namespaces_mount_both_procs(plan);
	}
	if (!result && (plan->flags & SHIM_LOCK_MOUNTS)) {
		*stage = SHIM_STAGE_LOCK_MOUNTS;
		result = namespaces_lock_mounts();
	}
	return result;
}
