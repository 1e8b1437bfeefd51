/*
 * Control groups where this machine has none: a tree of ordinary files stands for the
 * file systems, and a few functions for the kernel's rules. No process lives in it.
 */
#include "unit.h"

#include "scratch.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#include "base/mem.h"
#include "os/cgroup/cgroup.c"
#include "os/cgroup/group.h"
#include "os/cgroup/own.c"

/* --- the kernel ---------------------------------------------------------------------- */

static struct scratch scratch;
static char mountinfo[SCRATCH_PATH], self[SCRATCH_PATH], top[SCRATCH_PATH];

static char journal[8192]; /* every write: "FILE=TEXT " */
static const char *refuse_file, *refuse_text; /* this write fails with refuse_errno */
static int refuse_errno;
static bool others_live; /* a stranger is in every group that enables controllers */

/* The files that a new group has; those of version 2 stand for the rest too. */
static const struct {
	const char *name, *text;
} fresh_files[] = {
	{ "cgroup.procs", "" }, { "tasks", "" }, { "cgroup.kill", "" }, { "cgroup.freeze", "0\n" },
	{ "memory.max", "max\n" }, { "memory.swap.max", "max\n" }, { "memory.oom.group", "0\n" },
	{ "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n" },
	{ "memory.peak", "4096\n" }, { "cpu.max", "max 100000\n" },
	{ "cpu.stat", "usage_usec 1234\nuser_usec 1000\n" }, { "pids.max", "max\n" },
	{ "pids.events", "max 3\n" }, { "memory.limit_in_bytes", "9223372036854771712\n" },
	{ "memory.max_usage_in_bytes", "8192\n" }, { "memory.failcnt", "0\n" },
	{ "memory.swappiness", "60\n" }, { "cgroup.event_control", "" },
	{ "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n" },
	{ "cpu.cfs_period_us", "100000\n" }, { "cpu.cfs_quota_us", "-1\n" },
	{ "cpuacct.usage", "5000999\n" }, { "freezer.state", "THAWED\n" },
};

static void put(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static const char *missing_file; /* not in new groups */

static int fake_make(int dir, const char *name)
{
	int group;

	if (mkdirat(dir, name, 0700))
		return -1;
	group = cgroup_open_dir(dir, name);
	for (size_t i = 0; i < COUNT_OF(fresh_files); i++)
		if (!missing_file || strcmp(fresh_files[i].name, missing_file) != 0)
			put(group, fresh_files[i].name, fresh_files[i].text);
	close(group);
	return 0;
}

static int fake_remove(int dir, const char *name)
{
	int group = cgroup_open_dir(dir, name);

	if (group < 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(fresh_files); i++)
		unlinkat(group, fresh_files[i].name, 0);
	close(group);
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return 0;
	errno = errno == ENOTEMPTY ? EBUSY : errno;
	return -1;
}

static int fake_write(int dir, const char *file, const char *text)
{
	size_t len = strlen(journal);
	char old[256], all[512];

	snprintf(journal + len, sizeof(journal) - len, "%s=%s ", file, text);
	if (refuse_file && strcmp(file, refuse_file) == 0 &&
	    (!refuse_text || strcmp(text, refuse_text) == 0)) {
		errno = refuse_errno;
		return -1;
	}
	if (faccessat(dir, file, F_OK, 0))
		return -1;
	if (strcmp(file, "cgroup.subtree_control") == 0) {
		cgroup_read(dir, file, old, sizeof(old));
		if (*text == '+')
			snprintf(all, sizeof(all), "%s%s%s", old, *old ? " " : "", text + 1);
		put(dir, file, *text == '+' ? all : "");
		return 0;
	}
	put(dir, file, text);
	return 0;
}

static bool genuine_answer;

static bool fake_genuine(int dir, int version)
{
	(void)dir;
	(void)version;
	return genuine_answer;
}

static struct cgroup_fs fake = {
	.mountinfo = mountinfo, .self = self, .make = fake_make, .remove = fake_remove,
	.write = fake_write, .genuine = fake_genuine,
};

static int setup(void **state)
{
	(void)state;
	scratch_init(&scratch);
	scratch_copy(&scratch, "mountinfo", mountinfo);
	scratch_copy(&scratch, "self", self);
	scratch_copy(&scratch, "top", top);
	scratch_mkdir(&scratch, "top");
	journal[0] = '\0';
	refuse_file = refuse_text = missing_file = NULL;
	genuine_answer = true;
	others_live = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_release(&scratch);
	return 0;
}

/* Write mountinfo; "@" in @lines is where our tree lies. */
static void mounts(const char *lines)
{
	char text[2048] = "";
	size_t len = 0;

	for (; *lines; lines++) {
		const char piece[2] = { *lines };

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", *lines == '@' ? top : piece);
		assert_true(len < sizeof(text));
	}
	scratch_file(&scratch, "mountinfo", text, 0600);
}

/* A group of version 2 at top/@name in which we live. */
static void home_v2(const char *name, const char *type, const char *controllers)
{
	char procs[64], path[128];

	snprintf(path, sizeof(path), "top/%s", name);
	if (*name)
		scratch_mkdir(&scratch, path);
	snprintf(procs, sizeof(procs), "%s%d\n", others_live ? "1\n" : "", (int)getpid());
	snprintf(path, sizeof(path), "top/%s/cgroup.procs", name);
	scratch_file(&scratch, path, procs, 0600);
	snprintf(path, sizeof(path), "top/%s/cgroup.controllers", name);
	scratch_file(&scratch, path, controllers, 0600);
	snprintf(path, sizeof(path), "top/%s/cgroup.subtree_control", name);
	scratch_file(&scratch, path, "", 0600);
	snprintf(path, sizeof(path), "top/%s/cgroup.type", name);
	if (type)
		scratch_file(&scratch, path, type, 0600);
}

#define V2_MOUNT "31 23 0:28 / @ rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

static struct cgroups *v2_alone(const char *controllers)
{
	mounts(V2_MOUNT);
	scratch_file(&scratch, "self", "0::/own.scope\n", 0600);
	home_v2("own.scope", "domain\n", controllers);
	return cgroup_all_new_at("fake", &fake);
}

static bool there(const char *name)
{
	return access(scratch_path(&scratch, name), F_OK) == 0;
}

static void assert_holds(const struct cgroup *g, const char *file, const char *text)
{
	char found[256];

	assert_true(cgroup_read(g->dirs[0], file, found, sizeof(found)) >= 0);
	assert_string_equal(found, text);
}

/* --- version 2 ------------------------------------------------------------------------ */

static void test_cgroup_v2_delegated(void **state)
{
	const struct cgroup_limits limits = {
		.memory_bytes = 1 << 26, .cpu_permille = 500, .tasks = 32,
	};
	struct cgroups *all = v2_alone("cpuset cpu io memory pids\n");
	ERR_LOCAL(e);
	struct cgroup_usage u;
	struct cgroup *g;
	int fds[CGROUP_JOIN_FDS_MAX];

	(void)state;
	assert_int_equal(cgroups_prepare(all), 31);
	assert_int_equal(cgroups_version(all), 2);
	assert_string_equal(cgroups_reason(all), "");
	assert_string_equal(cgroups_remedy(all), "");
	assert_true(there("top/own.scope/procpen-fake-server"));
	/* The server moves first, then each controller is enabled. */
	assert_non_null(strstr(journal, "cgroup.procs=0 cgroup.subtree_control=+memory "
					"cgroup.subtree_control=+cpu cgroup.subtree_control=+pids "));
	g = cgroup_new(all, 7, &limits, &e);
	assert_non_null(g);
	assert_true(there("top/own.scope/procpen-fake-7"));
	assert_holds(g, "memory.max", "67108864");
	assert_holds(g, "memory.swap.max", "0");
	assert_holds(g, "memory.oom.group", "1");
	assert_holds(g, "cpu.max", "50000 100000");
	assert_holds(g, "pids.max", "32");
	assert_int_equal(cgroup_join_fds(g, fds), 1);
	assert_true(cgroup_clone_fd(g) >= 0);
	cgroup_joined(g);
	assert_int_equal(cgroup_join_fds(g, fds), 0);
	cgroup_usage(g, &u);
	assert_int_equal(u.cpu_us, 1234);
	assert_int_equal(u.memory_peak_bytes, 4096);
	assert_int_equal(cgroup_refused(g), 3);
	assert_int_equal(cgroup_kill(g), 0);
	assert_holds(g, "cgroup.kill", "1");
	cgroup_free(g);
	assert_false(there("top/own.scope/procpen-fake-7"));
	journal[0] = '\0';
	cgroups_free(all);
	/* And back: a group with controllers takes no process. */
	assert_string_equal(journal, "cgroup.subtree_control=-memory cgroup.subtree_control=-cpu "
				     "cgroup.subtree_control=-pids cgroup.procs=0 ");
	assert_false(there("top/own.scope/procpen-fake-server"));
}

static pid_t cleaner;
static int cleaner_goes_on; /* closing it lets the cleaner remove the group */

/* The group was made, and before we lock it, another server takes it for a dead one's: it locks it,
 * and removes what has its name when it has the processor again. */
static int make_before_cleaner(int dir, const char *name)
{
	int result = fake_make(dir, name), locked[2], wait[2];
	char byte;

	if (result || cleaner)
		return result;
	assert_int_equal(pipe(locked), 0);
	assert_int_equal(pipe(wait), 0);
	cleaner = fork();
	assert_true(cleaner >= 0);
	if (!cleaner) {
		int group = cgroup_open_locked(dir, name);

		close(wait[1]);
		if (group >= 0 && write(locked[1], "", 1) == 1 && read(wait[0], &byte, 1) != 0)
			_exit(1);
		_exit(group < 0 || fake_remove(dir, name));
	}
	close(locked[1]);
	close(wait[0]);
	assert_int_equal(read(locked[0], &byte, 1), 1);
	close(locked[0]);
	cleaner_goes_on = wait[1];
	return 0;
}

static void test_cgroup_cleaned_while_made(void **state)
{
	const struct cgroup_limits limits = { .tasks = 32 };
	struct cgroups *all = v2_alone("memory pids\n");
	ERR_LOCAL(e);
	char path[CGROUP_NAME_SIZE + 16];
	struct cgroup *g;
	int status;

	(void)state;
	assert_true(cgroups_prepare(all));
	fake.make = make_before_cleaner;
	g = cgroup_new(all, 7, &limits, &e);
	fake.make = fake_make;
	close(cleaner_goes_on);
	assert_int_equal(waitpid(cleaner, &status, 0), cleaner);
	assert_int_equal(status, 0);
	assert_non_null(g);
	snprintf(path, sizeof(path), "top/own.scope/%s", g->name);
	assert_true(there(path));
	assert_holds(g, "pids.max", "32");
	cgroup_free(g);
	assert_false(there(path));
	assert_false(there("top/own.scope/procpen-fake-7"));
	cgroups_free(all);
}

/* Only a strike of our own limit counts. */
static void test_cgroup_v2_oom_evidence(void **state)
{
	const struct cgroup_limits limits = { .memory_bytes = 1 << 26 };
	struct cgroups *all = v2_alone("memory\n");
	ERR_LOCAL(e);
	struct cgroup *g = cgroup_new(all, 1, &limits, &e);

	(void)state;
	assert_non_null(g);
	assert_int_equal(cgroup_oom_kills(g), 0);
	put(g->dirs[0], "memory.events", "max 9\noom 0\noom_kill 2\n");
	assert_int_equal(cgroup_oom_kills(g), 0);
	put(g->dirs[0], "memory.events", "max 9\noom 1\noom_kill 2\noom_group_kill 1\n");
	assert_int_equal(cgroup_oom_kills(g), 2);
	cgroup_free(g);
	cgroups_free(all);
}

static void assert_not_moved(struct cgroups *all, const char *why)
{
	unsigned bits = cgroups_prepare(all);

	assert_int_equal(bits, CGROUP_KILL | CGROUP_CPU_USAGE);
	assert_non_null(strstr(cgroups_reason(all), why));
	assert_non_null(strstr(cgroups_remedy(all), "Delegate=yes"));
	/* Root may have no service manager of its own: "Failed to connect to bus". */
	assert_int_equal(!strstr(cgroups_remedy(all), "--user"), geteuid() == 0);
	assert_false(there("top/own.scope/procpen-fake-server"));
	cgroups_free(all);
}

static void test_cgroup_v2_not_alone(void **state)
{
	(void)state;
	others_live = true;
	assert_not_moved(v2_alone("memory cpu pids\n"), "other processes live in");
	assert_null(strstr(journal, "subtree_control"));
}

/* Another process joined meanwhile: undo every step. */
static void test_cgroup_v2_busy(void **state)
{
	(void)state;
	refuse_file = "cgroup.subtree_control";
	refuse_errno = EBUSY;
	assert_not_moved(v2_alone("memory cpu pids\n"), "EBUSY");
	assert_non_null(strstr(journal, "=+pids cgroup.procs=0 "));
}

static void test_cgroup_v2_cannot_move(void **state)
{
	(void)state;
	refuse_file = "cgroup.procs";
	refuse_errno = EACCES;
	assert_not_moved(v2_alone("memory cpu pids\n"), "EACCES");
	assert_null(strstr(journal, "subtree_control"));
}

static void test_cgroup_v2_threaded(void **state)
{
	struct cgroups *all = v2_alone("cpu pids\n");

	(void)state;
	scratch_file(&scratch, "top/own.scope/cgroup.type", "threaded\n", 0600);
	assert_not_moved(all, "\"threaded\"");
}

static void test_cgroup_v2_without_controllers(void **state)
{
	(void)state;
	assert_not_moved(v2_alone("hugetlb rdma\n"), "no memory, cpu or pids controller");
}

static void test_cgroup_v2_some_controllers(void **state)
{
	const struct cgroup_limits tasks = { .tasks = 8 }, memory = { .memory_bytes = 1 << 26 };
	struct cgroups *all = v2_alone("pids\n");
	ERR_LOCAL(e);
	struct cgroup *g;

	(void)state;
	assert_int_equal(cgroups_prepare(all), CGROUP_TASKS | CGROUP_KILL | CGROUP_CPU_USAGE);
	assert_non_null(strstr(cgroups_reason(all), "memory: the server's control group does not"));
	assert_null(cgroup_new(all, 1, &memory, &e));
	assert_int_equal(e.type, ERR_SANDBOX_UNAVAILABLE);
	assert_non_null(strstr(e.message, "memory"));
	assert_false(there("top/own.scope/procpen-fake-1"));
	g = cgroup_new(all, 2, &tasks, &e);
	assert_non_null(g);
	assert_int_equal(cgroup_oom_kills(g), -1);
	cgroup_free(g);
	cgroups_free(all);
}

/* One controller is refused, the others serve. */
static void test_cgroup_v2_one_controller_refused(void **state)
{
	struct cgroups *all = v2_alone("memory cpu pids\n");

	(void)state;
	refuse_file = "cgroup.subtree_control";
	refuse_text = "+cpu";
	refuse_errno = ENOENT;
	assert_int_equal(cgroups_prepare(all), 31 & ~CGROUP_CPU);
	assert_non_null(strstr(cgroups_reason(all), "not all controllers"));
	cgroups_free(all);
	assert_null(strstr(journal, "-cpu"));
}

/* The root group may hold processes beside groups: no process moves, and enabled controllers stay
 * enabled. */
static void test_cgroup_v2_at_the_root(void **state)
{
	struct cgroups *all;

	(void)state;
	mounts(V2_MOUNT);
	scratch_file(&scratch, "self", "0::/\n", 0600);
	others_live = true;
	home_v2("", NULL, "memory cpu pids\n");
	all = cgroup_all_new_at("fake", &fake);
	assert_int_equal(cgroups_prepare(all), 31);
	assert_false(there("top/procpen-fake-server"));
	journal[0] = '\0';
	cgroups_free(all);
	assert_string_equal(journal, "");
}

/* Before Linux 5.14 there is no cgroup.kill, before 4.19 no memory.oom.group. */
static void test_cgroup_v2_old_kernel(void **state)
{
	const struct cgroup_limits limits = { .memory_bytes = 1 << 26 };
	struct cgroups *all = v2_alone("memory\n");
	ERR_LOCAL(e);
	struct cgroup *g;

	(void)state;
	missing_file = "cgroup.kill";
	g = cgroup_new(all, 1, &limits, &e);
	assert_non_null(g);
	journal[0] = '\0';
	assert_int_equal(cgroup_kill(g), 0);
	assert_string_equal(journal, "cgroup.kill=1 cgroup.freeze=1 cgroup.freeze=0 ");
	cgroup_free(g);
	missing_file = "memory.oom.group";
	g = cgroup_new(all, 2, &limits, &e);
	assert_non_null(g);
	cgroup_free(g);
	cgroups_free(all);
}

/* --- version 1 ------------------------------------------------------------------------ */

#define V1_MOUNT                                                                                   \
	"32 31 0:29 /box @/cpu,cpuacct rw,relatime shared:4 - cgroup cgroup rw,cpu,cpuacct\n"     \
	"33 31 0:30 / @/mem\\040ory rw - cgroup cgroup rw,memory\n"                               \
	"34 31 0:31 / @/freezer rw - cgroup none rw,freezer\n"                                    \
	"35 31 0:32 / @/systemd rw - cgroup none rw,xattr,name=systemd\n"
#define V1_SELF                                                                                    \
	"4:cpu,cpuacct:/box/inner\n3:memory:/a/b\n2:freezer:/\n1:name=systemd:/x\n0::/x\n"

static struct cgroups *v1(void)
{
	static const char *const dirs[] = { "top/cpu,cpuacct", "top/cpu,cpuacct/inner",
		"top/mem ory", "top/mem ory/a", "top/mem ory/a/b", "top/freezer", "top/systemd" };

	for (size_t i = 0; i < COUNT_OF(dirs); i++)
		scratch_mkdir(&scratch, dirs[i]);
	mounts(V1_MOUNT);
	scratch_file(&scratch, "self", V1_SELF, 0600);
	scratch_file(&scratch, "top/cpu,cpuacct/inner/cpu.cfs_quota_us", "30000\n", 0600);
	scratch_file(&scratch, "top/cpu,cpuacct/inner/cpu.cfs_period_us", "100000\n", 0600);
	return cgroup_all_new_at("fake", &fake);
}

/* Controllers in one hierarchy, in a container's mount, behind a blank; no swap accounting; no
 * pids controller, so that the freezer has to do. */
static void test_cgroup_v1_places(void **state)
{
	const struct cgroup_limits limits = {
		.memory_bytes = 1 << 26, .cpu_permille = 250, .count = CGROUP_CPU_USAGE,
	};
	struct cgroups *all = v1();
	ERR_LOCAL(e);
	struct cgroup_usage u;
	struct cgroup *g;
	int fds[CGROUP_JOIN_FDS_MAX];

	(void)state;
	assert_int_equal(cgroups_prepare(all), 31 & ~CGROUP_TASKS);
	assert_int_equal(cgroups_version(all), 1);
	assert_string_equal(cgroups_reason(all), "pids: no such controller is mounted");
	journal[0] = '\0';
	g = cgroup_new(all, 3, &limits, &e);
	assert_non_null(g);
	assert_true(there("top/cpu,cpuacct/inner/procpen-fake-3/tasks"));
	assert_true(there("top/mem ory/a/b/procpen-fake-3/tasks"));
	assert_true(there("top/freezer/procpen-fake-3/tasks"));
	assert_non_null(strstr(journal, "memory.limit_in_bytes=67108864 memory.swappiness=0 "
					"cpu.cfs_period_us=100000 cpu.cfs_quota_us=25000 "));
	assert_int_equal(cgroup_join_fds(g, fds), 3);
	assert_int_equal(cgroup_clone_fd(g), -1);
	cgroup_usage(g, &u);
	assert_int_equal(u.cpu_us, 5000);
	assert_int_equal(u.memory_peak_bytes, 8192);
	assert_int_equal(cgroup_refused(g), -1);
	journal[0] = '\0';
	assert_int_equal(cgroup_kill(g), 0);
	assert_string_equal(journal, "freezer.state=FROZEN freezer.state=THAWED ");
	cgroup_free(g);
	assert_false(there("top/mem ory/a/b/procpen-fake-3"));
	cgroups_free(all);
}

/* The kernel refuses more than the group above has: then that one holds. */
static void test_cgroup_v1_tighter_above(void **state)
{
	struct cgroup_limits limits = { .cpu_permille = 500 };
	struct cgroups *all = v1();
	ERR_LOCAL(e);
	struct cgroup *g;

	(void)state;
	assert_true(cgroups_prepare(all) & CGROUP_CPU);
	refuse_file = "cpu.cfs_quota_us";
	refuse_errno = EINVAL;
	g = cgroup_new(all, 1, &limits, &e);
	assert_non_null(g);
	cgroup_free(g);
	limits.cpu_permille = 200; /* the group above has 300: this must hold by itself */
	assert_null(cgroup_new(all, 2, &limits, &e));
	assert_non_null(strstr(e.message, "cpu limit"));
	assert_non_null(strstr(e.message, "EINVAL"));
	assert_false(there("top/cpu,cpuacct/inner/procpen-fake-2"));
	cgroups_free(all);
}

static void test_cgroup_v1_oom_evidence(void **state)
{
	const struct cgroup_limits limits = { .memory_bytes = 1 << 26 };
	struct cgroups *all = v1();
	ERR_LOCAL(e);
	struct cgroup *g = cgroup_new(all, 1, &limits, &e);
	int memory;

	(void)state;
	assert_non_null(g);
	memory = cgroup_group_dir(g, CGROUP_ROLE_MEMORY);
	assert_int_equal(cgroup_oom_kills(g), 0);
	put(memory, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	assert_int_equal(cgroup_oom_kills(g), 0); /* the machine ran out, not we */
	put(memory, "memory.max_usage_in_bytes", "67104768\n");
	assert_int_equal(cgroup_oom_kills(g), 2);
	put(memory, "memory.max_usage_in_bytes", "8192\n");
	put(memory, "memory.failcnt", "1\n");
	assert_int_equal(cgroup_oom_kills(g), 2);
	put(memory, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n"); /* before 4.13 */
	assert_int_equal(cgroup_oom_kills(g), -1);
	cgroup_free(g);
	cgroups_free(all);
}

/* --- places --------------------------------------------------------------------------- */

static void assert_no_place(const char *mount, const char *own, const char *why)
{
	struct cgroups *all;

	mounts(mount);
	scratch_file(&scratch, "self", own, 0600);
	all = cgroup_all_new_at("fake", &fake);
	assert_int_equal(cgroups_prepare(all), 0);
	assert_int_equal(cgroups_version(all), 0);
	if (!strstr(cgroups_reason(all), why))
		fail_msg("\"%s\" is not in \"%s\"", why, cgroups_reason(all));
	cgroups_free(all);
	assert_string_equal(journal, "");
}

static void test_cgroup_out_of_reach(void **state)
{
	(void)state;
	assert_no_place("", "", "no control groups of version 2 are mounted");
	assert_no_place("nonsense\n31 23 - cgroup2\n1 2 3 4 5 6\n", "0::/\n", "are mounted");
	assert_no_place("31 23 0:28 /box @ rw - cgroup2 none rw\n", "0::/boxer\n", "lies outside");
	assert_no_place("31 23 0:28 /box @ rw - cgroup2 none rw\n", "0::/\n", "lies outside");
	assert_no_place(V2_MOUNT, "0::/../other\n", "lies outside");
	assert_no_place(V2_MOUNT, "0::/gone\n", "ENOENT");
	assert_no_place(V2_MOUNT, "", "are mounted");
	genuine_answer = false;
	assert_no_place(V2_MOUNT, "0::/\n", "something else is mounted over it");
}

/* A link where our group should be is not followed. */
static void test_cgroup_link_is_not_followed(void **state)
{
	(void)state;
	scratch_mkdir(&scratch, "elsewhere");
	scratch_link(&scratch, "../elsewhere", "top/own");
	assert_no_place(V2_MOUNT, "0::/own\n", "cannot be opened");
}

/* A group may list the server, and processes of other PID namespaces as 0. */
static void test_cgroup_kill_spares_the_server(void **state)
{
	char procs[64];
	pid_t child = fork();
	int dir, status;

	(void)state;
	if (!child)
		for (;;)
			pause();
	snprintf(procs, sizeof(procs), "0\n%d\n%d\n", (int)getpid(), (int)child);
	scratch_mkdir(&scratch, "listed");
	scratch_file(&scratch, "listed/cgroup.procs", procs, 0600);
	dir = open(scratch_path(&scratch, "listed"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(cgroup_kill_listed(dir), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(dir);
}

static void test_cgroup_texts(void **state)
{
	(void)state;
	assert_int_equal(cgroup_find_number("12\n", NULL), 12);
	assert_int_equal(cgroup_find_number("max\n", NULL), -1);
	assert_int_equal(cgroup_find_number("", NULL), -1);
	assert_int_equal(cgroup_find_number("-1\n", NULL), -1);
	assert_int_equal(cgroup_find_number("99999999999999999999\n", NULL), -1);
	assert_int_equal(cgroup_find_number("oom_kill 5\noom 7\n", "oom"), 7);
	assert_int_equal(cgroup_find_number("xoom 7\n", "oom"), -1);
	assert_int_equal(cgroup_find_number("oom", "oom"), -1);
	assert_true(cgroup_has_word("cpuset cpu io", "cpu"));
	assert_true(cgroup_has_word("cpu", "cpu"));
	assert_false(cgroup_has_word("cpuset cpuacct", "cpu"));
	assert_false(cgroup_has_word("", "cpu"));
}

/* What another server has just taken away is made again; what is ours alone is not given up. */
static int cleaned; /* how often the new directory vanishes before it can be opened */

static int make_and_lose(int dir, const char *name)
{
	if (fake_make(dir, name))
		return -1;
	return cleaned-- > 0 ? fake_remove(dir, name) : 0;
}

static void test_cgroup_lost_to_a_cleaner(void **state)
{
	const struct cgroup_limits limits = { .tasks = 8 };
	struct cgroups *all = v2_alone("pids\n");
	ERR_LOCAL(e);
	struct cgroup *g;

	(void)state;
	assert_true(cgroups_prepare(all) & CGROUP_TASKS);
	fake.make = make_and_lose;
	cleaned = 2;
	g = cgroup_new(all, 1, &limits, &e);
	assert_non_null(g);
	cgroup_free(g);
	cleaned = 99;
	assert_null(cgroup_new(all, 2, &limits, &e));
	assert_non_null(strstr(e.message, "cannot create"));
	fake.make = fake_make;
	cgroups_free(all);
}

static int made;

static int make_and_lose_second(int dir, const char *name)
{
	if (fake_make(dir, name))
		return -1;
	return ++made == 2 ? fake_remove(dir, name) : 0;
}

/* A group has one name in all places: what was made under the first one is removed. */
static void test_cgroup_lost_in_one_place(void **state)
{
	const struct cgroup_limits limits = { .memory_bytes = 1 << 26, .cpu_permille = 250 };
	struct cgroups *all = v1();
	ERR_LOCAL(e);
	struct cgroup *g;

	(void)state;
	assert_true(cgroups_prepare(all) & CGROUP_CPU);
	fake.make = make_and_lose_second;
	g = cgroup_new(all, 3, &limits, &e);
	fake.make = fake_make;
	assert_non_null(g);
	assert_int_equal(made, 5); /* memory, cpu; memory, cpu, freezer */
	assert_false(there("top/mem ory/a/b/procpen-fake-3"));
	assert_true(there("top/mem ory/a/b/procpen-fake-3-1/tasks"));
	assert_true(there("top/cpu,cpuacct/inner/procpen-fake-3-1/tasks"));
	assert_true(there("top/freezer/procpen-fake-3-1/tasks"));
	cgroup_free(g);
	assert_false(there("top/mem ory/a/b/procpen-fake-3-1"));
	cgroups_free(all);
}

static int make_no_more(int dir, const char *name)
{
	(void)dir;
	(void)name;
	errno = ENOMEM;
	return -1;
}

/* A shortage at the first probe does not take the groups away for the server's life. */
static void test_cgroup_shortage_is_probed_again(void **state)
{
	struct cgroups *all = v1();

	(void)state;
	fake.make = make_no_more;
	assert_int_equal(cgroups_prepare(all), 0);
	fake.make = fake_make;
	assert_int_equal(cgroups_prepare(all), 0);
	all->again_ms = 1; /* long ago */
	assert_int_equal(cgroups_prepare(all), 31 & ~CGROUP_TASKS);
	assert_int_equal(all->again_ms, 0);
	cgroups_free(all);
}

/* --- the server's own limit ------------------------------------------------------------ */

/* Version 1 sums up the groups above; the server's group is found without any trial. */
static void test_cgroup_own_v1(void **state)
{
	struct cgroups *all = v1();
	struct cgroup_own own;

	(void)state;
	own_open_at(&own, &fake);
	assert_int_equal(own.version, 1);
	assert_int_equal(cgroup_own_memory_limit(&own), INT64_MAX);
	assert_int_equal(cgroup_own_oom_kills(&own), -1);
	scratch_file(&scratch, "top/mem ory/a/b/memory.stat",
		     "cache 0\nhierarchical_memory_limit 104857600\ntotal_cache 1\n", 0600);
	scratch_file(&scratch, "top/mem ory/a/b/memory.oom_control",
		     "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", 0600);
	assert_int_equal(cgroup_own_memory_limit(&own), 104857600);
	assert_int_equal(cgroup_own_oom_kills(&own), 3);
	scratch_file(&scratch, "top/mem ory/a/b/memory.stat",
		     "hierarchical_memory_limit 9223372036854771712\n", 0600);
	assert_int_equal(cgroup_own_memory_limit(&own), INT64_MAX);
	assert_string_equal(journal, "");
	cgroup_own_close(&own);
	cgroups_free(all);
}

/* In version 2 the lowest limit on the way up holds. */
static void test_cgroup_own_v2(void **state)
{
	struct cgroups *all = v2_alone("memory\n");
	struct cgroup_own own;

	(void)state;
	own_open_at(&own, &fake);
	assert_int_equal(own.version, 2);
	assert_int_equal(cgroup_own_memory_limit(&own), INT64_MAX);
	scratch_file(&scratch, "top/own.scope/memory.max", "max\n", 0600);
	assert_int_equal(cgroup_own_memory_limit(&own), INT64_MAX);
	scratch_file(&scratch, "top/memory.max", "268435456\n", 0600);
	assert_int_equal(cgroup_own_memory_limit(&own), 268435456);
	scratch_file(&scratch, "top/own.scope/memory.max", "100\n", 0600);
	scratch_file(&scratch, "top/own.scope/memory.events", "oom 1\noom_kill 2\n", 0600);
	assert_int_equal(cgroup_own_memory_limit(&own), 100);
	assert_int_equal(cgroup_own_oom_kills(&own), 2);
	cgroup_own_close(&own);
	cgroups_free(all);
}

static void test_cgroup_own_without_groups(void **state)
{
	struct cgroup_own own;

	(void)state;
	mounts("23 1 0:1 / / rw - ext4 none rw\n");
	scratch_file(&scratch, "self", "0::/\n", 0600);
	own_open_at(&own, &fake);
	assert_int_equal(cgroup_own_memory_limit(&own), INT64_MAX);
	assert_int_equal(cgroup_own_oom_kills(&own), -1);
	cgroup_own_close(&own);
}

#define fake_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		fake_test(test_cgroup_v2_delegated),
		fake_test(test_cgroup_cleaned_while_made),
		fake_test(test_cgroup_v2_oom_evidence),
		fake_test(test_cgroup_v2_not_alone),
		fake_test(test_cgroup_v2_busy),
		fake_test(test_cgroup_v2_cannot_move),
		fake_test(test_cgroup_v2_threaded),
		fake_test(test_cgroup_v2_without_controllers),
		fake_test(test_cgroup_v2_some_controllers),
		fake_test(test_cgroup_v2_one_controller_refused),
		fake_test(test_cgroup_v2_at_the_root),
		fake_test(test_cgroup_v2_old_kernel),
		fake_test(test_cgroup_v1_places),
		fake_test(test_cgroup_v1_tighter_above),
		fake_test(test_cgroup_v1_oom_evidence),
		fake_test(test_cgroup_out_of_reach),
		fake_test(test_cgroup_link_is_not_followed),
		fake_test(test_cgroup_kill_spares_the_server),
		fake_test(test_cgroup_texts),
		fake_test(test_cgroup_lost_to_a_cleaner),
		fake_test(test_cgroup_lost_in_one_place),
		fake_test(test_cgroup_shortage_is_probed_again),
		fake_test(test_cgroup_own_v1),
		fake_test(test_cgroup_own_v2),
		fake_test(test_cgroup_own_without_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
