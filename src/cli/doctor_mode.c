#include "cli/doctor_mode.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "os/sandbox/landlock.h"

#define NAMESPACES "pid_namespace", "mount_namespace"

struct cli_doctor_mode {
	const char *name;
	const char *lacks[4]; /* layers; NULL-terminated */
};

enum { ROOT, USER, USER_GROUP, USER_PLAIN, CONTAINER, NO_LANDLOCK, NEITHER };

/* docs/security.md has a row for each. */
static const struct cli_doctor_mode modes[] = {
	[ROOT] = { "root on a host or in a VM", { NULL } },
	[USER] = { "user, user namespaces allowed", { NULL } },
	[USER_GROUP] = { "user with a delegated control group", { NULL } },
	[USER_PLAIN] = { "user, no user namespaces", { NAMESPACES, NULL } },
	[CONTAINER] = { "container, root without CAP_SYS_ADMIN", { NAMESPACES, NULL } },
	[NO_LANDLOCK] = { "no Landlock", { "landlock", NULL } },
	[NEITHER] = { "neither Landlock nor namespaces", { "landlock", NAMESPACES, NULL } },
};

/* capabilities(7): making namespaces and mounting need it, for root too. */
static bool cli_doctor_mode_is_admin(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capget, &header, data) &&
	       data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

static int cli_doctor_mode_of_user(const struct cli_doctor_trial *trial)
{
	if (!geteuid())
		return cli_doctor_mode_is_admin() ? ROOT : CONTAINER;
	if (trial->no_namespaces)
		return USER_PLAIN;
	return trial->control_groups ? USER_GROUP : USER;
}

const struct cli_doctor_mode *cli_doctor_mode_find(const struct cli_doctor_trial *trial)
{
	const struct cli_doctor_mode *mode = &modes[cli_doctor_mode_of_user(trial)];

	if (confine_landlock_abi())
		return mode;
	return &modes[mode->lacks[0] || trial->no_namespaces ? NEITHER : NO_LANDLOCK];
}

const char *cli_doctor_mode_name(const struct cli_doctor_mode *mode)
{
	return mode->name;
}

bool cli_doctor_mode_counts(const char *layer)
{
	static const char *const replaced[] = { "cgroup", "network_namespace", NULL };

	return !str_is_listed(layer, replaced);
}

bool cli_doctor_mode_lacks(const struct cli_doctor_mode *mode, const char *layer)
{
	return str_is_listed(layer, mode->lacks);
}
