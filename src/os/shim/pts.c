#include "os/shim/pts.h"

#include <asm/termios.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/stat.h>

#include "os/shim/permit.h"
#include "os/shim/procread.h"
#include "os/shim/report.h"
#include "os/shim/sys.h"

#ifndef MS_NOSUID /* newer headers keep these in linux/mount.h */
#define MS_NOSUID 2
#define MS_NOEXEC 8
#define MS_BIND 4096
#endif
#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif
#define INSTANCE "/dev/pts"
#define MULTIPLEXER INSTANCE "/ptmx"
/* The kernel lends all instances but the host's own 3,072 terminals together (pty(7)). */
#define OPTIONS "newinstance,ptmxmode=0666,mode=0600,max=256"
#define NAMED_MAX 256  /* a terminal of a higher number keeps no name */
#define MNT_DETACH 2
#define RENEWALS_MAX 50 /* each adds two rules to the ruleset */
#define TERMINAL_MAJOR 136 /* Documentation/admin-guide/devices.txt */
#define ENTRY_SIZE 280      /* getdents64(2): the longest entry */
#define ENTRY_LENGTH_AT 16

struct pts_identity {
	uint64_t dev, ino;
	unsigned number; /* of a terminal */
	int is_terminal;
};

/* What stays in an instance: its directory and the multiplexer. */
struct pts_changes {
	struct statx_timestamp directory, multiplexer;
};

static int instance_fd = -1;
static struct pts_changes as_mounted;

static int pts_identify(long fd, struct pts_identity *what)
{
	struct statx st;

	if (sys5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &st) < 0)
		return -1;
	what->dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	what->ino = st.stx_ino;
	what->number = st.stx_rdev_minor;
	what->is_terminal = (st.stx_mode & 0170000) == 0020000 &&
			    st.stx_rdev_major == TERMINAL_MAJOR;
	return 0;
}

static char *pts_name(char *name, unsigned number)
{
	procread_put_number(procread_put(name, INSTANCE "/"), number);
	return name;
}

/* ---- the name of an inherited terminal ---- */

/* A clone of the host's file, if @fd is a terminal of it that still has its name. */
static long pts_clone_inherited(int fd)
{
	struct pts_identity inherited, named;
	char name[32];
	long tree;

	if (pts_identify(fd, &inherited) || !inherited.is_terminal || inherited.number >= NAMED_MAX)
		return -1;
	tree = sys3(__NR_open_tree, AT_FDCWD, pts_name(name, inherited.number),
		    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return tree;
	if (!pts_identify(tree, &named) && named.dev == inherited.dev && named.ino == inherited.ino)
		return tree;
	sys1(__NR_close, tree);
	return -1;
}

/*
 * Only a terminal makes a name in the instance, and the kernel takes the lowest free number: open
 * them up to @number, and close the others. That one lives as long as the shim. 0: it cannot be
 * had, or it is taken, by a terminal that is inherited twice.
 */
static int pts_make_name(unsigned number)
{
	short fds[NAMED_MAX + 1];
	unsigned got = 0, count = 0;
	long fd, result = 0;

	do {
		fd = sys4(__NR_openat, AT_FDCWD, MULTIPLEXER, O_RDWR | O_NOCTTY | O_CLOEXEC, 0);
		if (fd >= 0)
			result = sys3(__NR_ioctl, fd, TIOCGPTN, &got);
		if (fd >= 0 && got != number)
			fds[count++] = (short)fd;
	} while (fd >= 0 && !result && got < number);
	while (count)
		sys1(__NR_close, fds[--count]);
	return fd >= 0 && !result && got == number;
}

/* Put the host's file @tree at its old name, which @fd has. As root it is no device any more, as
 * nothing in /dev. */
static void pts_name_inherited(int fd, long tree)
{
	struct mount_attr again = { .attr_clr = MOUNT_ATTR_NODEV };
	struct pts_identity inherited;
	char name[32];

	if (tree < 0)
		return;
	sys5(__NR_mount_setattr, tree, "", AT_EMPTY_PATH, &again, sizeof(again));
	if (!pts_identify(fd, &inherited) && pts_make_name(inherited.number))
		sys5(__NR_move_mount, tree, "", AT_FDCWD, pts_name(name, inherited.number),
		     MOVE_MOUNT_F_EMPTY_PATH);
	sys1(__NR_close, tree);
}

/* ---- the instance ---- */

long pts_permit_inherited(uint64_t rights, int ruleset)
{
	struct pts_identity what;
	long result = 0;

	for (int fd = 0; fd < 3 && !result; fd++)
		if (!pts_identify(fd, &what) && what.is_terminal)
			result = permit_fd(rights, ruleset, fd);
	return result;
}

/* Not read-only: sudo, for one, gives the terminal that it makes an owner (chown(2)). */
static long pts_mount_instance(uint64_t rights, int ruleset)
{
	long result = sys5(__NR_mount, "devpts", INSTANCE, "devpts",
			   MS_NOSUID | MS_NOEXEC, OPTIONS);

	if (!result)
		result = sys5(__NR_mount, MULTIPLEXER, "/dev/ptmx", 0, MS_BIND, 0);
	if (!result)
		result = permit_path(rights, ruleset, INSTANCE);
	return result ? result : permit_path(rights, ruleset, "/dev/ptmx");
}

/* When modes and owners changed last. */
static int pts_read_changes(struct pts_changes *c)
{
	struct statx st;

	if (sys5(__NR_statx, instance_fd, "", AT_EMPTY_PATH, STATX_CTIME, &st) < 0)
		return -1;
	c->directory = st.stx_ctime;
	if (sys5(__NR_statx, instance_fd, "ptmx", 0, STATX_CTIME, &st) < 0)
		return -1;
	c->multiplexer = st.stx_ctime;
	return 0;
}

static int pts_is_same_time(const struct statx_timestamp *a, const struct statx_timestamp *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int pts_is_unchanged(void)
{
	struct pts_changes now;

	return !pts_read_changes(&now) &&
	       pts_is_same_time(&now.directory, &as_mounted.directory) &&
	       pts_is_same_time(&now.multiplexer, &as_mounted.multiplexer);
}

/* Above the numbers that a command's descriptors take. */
static void pts_keep_instance(void)
{
	long fd = sys4(__NR_openat, AT_FDCWD, INSTANCE, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	instance_fd = (int)sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC,
				SHIM_FD_EXTRA + SHIM_EXTRA_FDS_MAX);
	sys1(__NR_close, fd);
	pts_read_changes(&as_mounted);
}

long pts_mount(const struct shim_plan *plan)
{
	const int inherits = !(plan->flags & SHIM_POOLED);
	long result, trees[3];

	for (int fd = 0; fd < 3 && inherits; fd++)
		trees[fd] = pts_clone_inherited(fd);
	result = pts_mount_instance(plan->pts_rights, plan->landlock_fd);
	for (int fd = 0; fd < 3 && inherits; fd++)
		pts_name_inherited(fd, trees[fd]);
	if (!result && !inherits)
		pts_keep_instance();
	return result;
}

/* The first instance is locked, if the mounts are (mount_namespaces(7)): it stays below. */
long pts_renew(uint64_t rights, int ruleset)
{
	static int count;
	long result;

	if (count && (sys2(__NR_umount2, "/dev/ptmx", MNT_DETACH) < 0 ||
		      sys2(__NR_umount2, INSTANCE, MNT_DETACH) < 0))
		return -EBUSY;
	sys1(__NR_close, instance_fd);
	if (count++ == RENEWALS_MAX)
		return -E2BIG;
	result = pts_mount_instance(rights, ruleset);
	if (!result)
		pts_keep_instance();
	return result;
}

/* "." and ".." and "ptmx" are always there. */
static int pts_is_empty(void)
{
	char entries[4 * ENTRY_SIZE] __attribute__((aligned(8)));
	long size, at = 0;
	int count = 0;

	sys3(__NR_lseek, instance_fd, 0, 0 /* SEEK_SET */);
	size = sys3(__NR_getdents64, instance_fd, entries, sizeof(entries));
	for (; at < size; count++)
		at += *(unsigned short *)(void *)(entries + at + ENTRY_LENGTH_AT);
	return count == 3;
}

int pts_is_untouched(void)
{
	return pts_is_empty() && pts_is_unchanged();
}

/* ---- the run's terminal ---- */

static void pts_set_up(int fd, const struct shim_terminal *t)
{
	const struct winsize size = { .ws_col = t->cols, .ws_row = t->rows };
	struct termios settings;

	_Static_assert(sizeof(settings) == SHIM_SETTINGS_SIZE, "the kernel's struct");
	sys3(__NR_ioctl, fd, TIOCSWINSZ, &size);
	if (sys3(__NR_ioctl, fd, TCGETS, &settings))
		return;
	settings.c_iflag |= IUTF8; /* one erase takes a whole character away */
	sys3(__NR_ioctl, fd, TCSETS, t->has_settings ? (const void *)t->settings : &settings);
}

/* Put @theirs on the command's descriptors, and let it control the session. */
static long pts_take(int theirs, int typed_stdin)
{
	long result = 0;

	for (int fd = !typed_stdin; fd < 3 && result >= 0; fd++)
		result = sys3(__NR_dup3, theirs, fd, 0);
	return result < 0 ? result : sys3(__NR_ioctl, theirs, TIOCSCTTY, 0);
}

long pts_open(const struct shim_terminal *t, int typed_stdin)
{
	const struct shim_report report = { .event = SHIM_TYPING };
	int ends[2], unlocked = 0;
	long result;

	ends[0] = (int)sys4(__NR_openat, AT_FDCWD, MULTIPLEXER,
			    O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK, 0);
	if (ends[0] < 0)
		return ends[0];
	result = sys3(__NR_ioctl, ends[0], TIOCSPTLCK, &unlocked);
	if (result < 0)
		return result;
	ends[1] = (int)sys3(__NR_ioctl, ends[0], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ends[1] < 0)
		return ends[1];
	pts_set_up(ends[1], t);
	result = pts_take(ends[1], typed_stdin);
	if (result >= 0)
		result = report_send_with(&report, ends, 2);
	sys1(__NR_close, ends[0]);
	sys1(__NR_close, ends[1]);
	return result < 0 ? result : 0;
}
