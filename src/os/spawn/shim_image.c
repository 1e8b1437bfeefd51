#include "os/spawn/shim_image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3 */
#endif

/* Global, because link-time optimisation may separate this from the code below; hidden, so that
 * the code needs no relocation. */
__asm__(".section .rodata\n"
	".balign 16\n"
	".globl shim_image_start, shim_image_end\n"
	".hidden shim_image_start, shim_image_end\n"
	"shim_image_start:\n"
	".incbin \"" SHIM_IMAGE "\"\n"
	"shim_image_end:\n"
	".byte 0\n"
	".previous\n");
extern const char shim_image_start[] __attribute__((visibility("hidden")));
extern const char shim_image_end[] __attribute__((visibility("hidden")));

static int image_fd = -1;

static int shim_image_write(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Write the image to a memory file and reopen it read-only: the kernel does not execute a file that
 * is open for writing. */
static int shim_image_open_memfd(void)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	AUTO_CLOSE int fd = memfd_create("procpen-shim", flags | MFD_EXEC);
	char path[40];

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("procpen-shim", flags);
	if (fd < 0 || fchmod(fd, 0500) < 0 ||
	    shim_image_write(fd, shim_image_start, (size_t)(shim_image_end - shim_image_start)) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* <bin>/../libexec/procpen-shim, or procpen-shim beside the program (an uninstalled build). */
static int shim_image_open_file(void)
{
	char self[PATH_MAX - 64], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	int fd;

	if (n <= 0)
		return -1;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return -1;
	*slash = '\0';
	snprintf(path, sizeof(path), "%s/../libexec/procpen-shim", self);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(path, sizeof(path), "%s/procpen-shim", self);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

int shim_image_fd(struct err *e)
{
	int sys;

	if (image_fd >= 0)
		return image_fd;
	image_fd = shim_image_open_memfd();
	sys = errno;
	if (image_fd < 0)
		image_fd = shim_image_open_file();
	if (image_fd >= 0)
		return image_fd;
	err_sys(e, ERR_SPAWN_FAILED, sys, "cannot make the shim's program executable");
	err_hint(e, "Allow executable memory files (sysctl vm.memfd_noexec=0 or 1), mount /proc, "
		    "or install libexec/procpen-shim beside the program");
	err_detail(e, "stage", json_string("shim"));
	return -1;
}
