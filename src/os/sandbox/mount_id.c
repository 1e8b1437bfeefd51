/* statx(2) by the raw system call: not every C library wraps it. A separate file, because
 * <linux/stat.h> conflicts with <sys/stat.h> of some libraries. */
#include "os/sandbox/mount_id.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For kernels before 5.8, which lack STATX_MNT_ID (proc_pid_fdinfo(5)). */
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

/* AT_STATX_DONT_SYNC: do not wait for the server of a network or FUSE file system. */
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
