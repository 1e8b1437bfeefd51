#include "os/shim/permit.h"

#include <linux/fcntl.h>

#include "os/shim/sys.h"

#define RULE_PATH_BENEATH 1 /* landlock(7); the build's headers may be older than that */
#define OPEN_PATH 010000000 /* O_PATH */

struct permit_rule {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

long permit_fd(uint64_t rights, int ruleset, long fd)
{
	const struct permit_rule rule = { .allowed_access = rights, .parent_fd = (int)fd };

	if (ruleset < 0)
		return 0;
	return sys4(__NR_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
}

long permit_path(uint64_t rights, int ruleset, const char *path)
{
	long fd, result;

	if (ruleset < 0)
		return 0;
	fd = sys4(__NR_openat, AT_FDCWD, path, OPEN_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	result = permit_fd(rights, ruleset, fd);
	sys1(__NR_close, fd);
	return result;
}
