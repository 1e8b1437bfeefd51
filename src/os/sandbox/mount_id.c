/* statx(2) as the kernel has it: not every C library has a function for it, and <linux/stat.h> does
 * not get on with <sys/stat.h> of all of them, which is why this is a file of its own. */
#include "os/sandbox/mount_id.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As a kernel before 5.8 tells it, which has no STATX_MNT_ID (proc_pid_fdinfo(5)). */
static int mount_id_from_fdinfo(int fd, uint64_t *id)
{
	char path[48], text[512];
	const char *line;
	ssize_t len = -1;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info >= 0) {
		len = read(info, text, sizeof(text) - 1);
		close(info);
	}
	text[len > 0 ? len : 0] = '\0';
	line = strstr(text, "mnt_id:");
	if (!line)
		return -1;
	*id = strtoull(line + strlen("mnt_id:"), NULL, 10);
	return 0;
}

/* DONT_SYNC: whoever serves a foreign file system is not waited for. */
int mount_id(int fd, uint64_t *id)
{
	const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
	struct statx st;

	if (syscall(SYS_statx, fd, "", flags, STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return mount_id_from_fdinfo(fd, id);
	*id = st.stx_mnt_id;
	return 0;
}
