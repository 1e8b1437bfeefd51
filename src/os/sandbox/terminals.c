#include "os/sandbox/terminals.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/major.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"

#define OWN_MAX 4 /* descriptors 0 to 2, and the controlling terminal */

/* The device behind @fd, also if it was opened as /dev/tty or /dev/console; 0: no terminal. */
static dev_t terminals_device(int fd)
{
	unsigned device = 0; /* as new_encode_dev() of the kernel: ioctl_tty(2), TIOCGDEV */

	if (ioctl(fd, TIOCGDEV, &device))
		return 0;
	return makedev((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
}

static int terminals_list_own(dev_t own[OWN_MAX])
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), count = 0;

	for (int i = 0; i < OWN_MAX; i++) {
		dev_t device = terminals_device(i < 3 ? i : fd);

		if (device)
			own[count++] = device;
	}
	if (fd >= 0)
		close(fd);
	return count;
}

static bool terminals_is_pseudo(dev_t device)
{
	return major(device) >= UNIX98_PTY_SLAVE_MAJOR &&
	       major(device) < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT;
}

static bool terminals_is_own(dev_t device, const dev_t *own, int count)
{
	/* The system's console and the virtual one in front may be any but a pseudo-terminal. */
	bool alias = device == makedev(TTYAUX_MAJOR, 1) || device == makedev(TTY_MAJOR, 0);

	for (int i = 0; i < count; i++)
		if (device == own[i] || (alias && !terminals_is_pseudo(own[i])))
			return true;
	return false;
}

char **terminals_find(void)
{
	dev_t own[OWN_MAX];
	int own_count = terminals_list_own(own);
	DIR *directory = own_count ? opendir("/dev") : NULL;
	char **list = mem_zalloc(sizeof(*list));
	struct dirent *entry;
	size_t count = 0;
	struct stat st;

	while (directory && (entry = readdir(directory))) {
		if (fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISCHR(st.st_mode) || !terminals_is_own(st.st_rdev, own, own_count))
			continue;
		list = mem_realloc(list, (count + 2) * sizeof(*list));
		if (asprintf(&list[count++], "/dev/%s", entry->d_name) < 0)
			abort();
		list[count] = NULL;
	}
	if (directory)
		closedir(directory);
	return list;
}
