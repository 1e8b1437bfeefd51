/*
 * probe_find_usable() finds out which layers are available: it runs a trial with every
 * layer not known to be missing. If the trial fails, it drops the layer that failed, with
 * the reason, and repeats. So a layer counts as usable only after a shim has entered it
 * together with all the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/sandbox/confine.h"
#include "os/sandbox/landlock.h"
#include "os/sandbox/layers.h"
#include "os/sandbox/state.h"
#include "os/sandbox/trial.h"
#include "os/spawn/spawn.h"

#define AGAIN_MS 30000 /* between two trials of a layer that a shortage has taken away */

/* Directories outside the workspace that programs expect to write. */
static const char *const shared_memory[] = { "/dev/shm", "/dev/mqueue" };

static void probe_drop_layer(struct confine *c, enum confine_layer layer, const char *remedy,
			     const char *format, ...) __attribute__((format(printf, 4, 5)));

static void probe_drop_layer(struct confine *c, enum confine_layer layer, const char *remedy,
			     const char *format, ...)
{
	va_list args;

	c->usable &= ~BIT(layer);
	c->layers[layer].remedy = remedy;
	c->layers[layer].shortage = 0;
	va_start(args, format);
	vsnprintf(c->layers[layer].reason, sizeof(c->layers[layer].reason), format, args);
	va_end(args);
}

/* 0, or -1 for lack of memory or descriptors. */
static int probe_landlock(struct confine *c, struct err *e)
{
	static const char outer[] = "leave the outer sandbox that refuses it";
	struct stat root;

	c->landlock_abi = confine_landlock_abi();
	if (!c->landlock_abi && errno != ENOSYS && errno != EOPNOTSUPP) {
		probe_drop_layer(c, CONFINE_LANDLOCK, outer, "something refuses Landlock (%s)",
				 err_sys_name(errno));
		return 0;
	}
	if (!c->landlock_abi) {
		probe_drop_layer(c, CONFINE_LANDLOCK,
				 "boot Linux 5.13 or newer with Landlock on: put landlock first in "
				 "`lsm=` on the kernel's command line",
				 errno == EOPNOTSUPP ? "the kernel has Landlock switched off"
						     : "the kernel has no Landlock (%s)",
				 err_sys_name(errno));
		return 0;
	}
	if (!stat("/", &root))
		c->root_changed = root.st_mtim;
	c->spare_ruleset = layers_make_ruleset(c, e);
	if (e->type && err_is_shortage(e->sys))
		return -1;
	if (e->type)
		probe_drop_layer(c, CONFINE_LANDLOCK, outer, "%s", e->message);
	err_release(e);
	return 0;
}

/* Listed ports take Landlock, which judges connect(2), and the filter, which leaves no other way.
 * Call this when both are known. */
static void probe_ports(struct confine *c)
{
	const enum confine_layer needed[] = { CONFINE_LANDLOCK, CONFINE_SECCOMP };

	if (!c->options.port_count) {
		probe_drop_layer(c, CONFINE_NETWORK_PORTS, NULL, "sandbox.network lists no ports");
		return;
	}
	for (size_t i = 0; i < COUNT_OF(needed); i++)
		if (!(c->usable & BIT(needed[i])))
			probe_drop_layer(c, CONFINE_NETWORK_PORTS, c->layers[needed[i]].remedy,
					 "%s", c->layers[needed[i]].reason);
	if (c->usable & BIT(CONFINE_LANDLOCK) && c->landlock_abi < LANDLOCK_ABI_PORTS)
		probe_drop_layer(c, CONFINE_NETWORK_PORTS, "boot Linux 6.7 or newer",
				 "Landlock has ABI %d, and ports came with ABI %d",
				 c->landlock_abi, LANDLOCK_ABI_PORTS);
}

/* Does the file @path hold the number @value? */
static bool probe_holds(const char *path, int value)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[16] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && atoi(text) == value;
}

/* What keeps an ordinary user from making user namespaces: user_namespaces(7), and the switches
 * that Debian and Ubuntu have added. */
static const struct {
	const char *path;
	int value;
	const char *remedy;
} namespace_switches[] = {
	{ "/proc/sys/user/max_user_namespaces", 0,
	  "allow them: `sudo sysctl -w user.max_user_namespaces=15000`" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", 0,
	  "allow them: `sudo sysctl -w kernel.unprivileged_userns_clone=1`" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1,
	  "allow them: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`" },
};

static const char *probe_namespace_remedy(const struct confine *c)
{
	if (c->privileged)
		return "leave the chroot or outer sandbox that procpen runs in, or give the "
		       "container the right to mount (`docker run --cap-add SYS_ADMIN`), or run "
		       "procpen as an ordinary user";
	for (size_t i = 0; i < COUNT_OF(namespace_switches); i++)
		if (probe_holds(namespace_switches[i].path, namespace_switches[i].value))
			return namespace_switches[i].remedy;
	return "leave the chroot, container or outer sandbox that procpen runs in: the system "
	       "itself allows them";
}

static void probe_again_later(struct confine *c)
{
	if (!c->again_ms)
		c->again_ms = clock_mono_ms() + AGAIN_MS;
}

/*
 * ENOSPC says that the limit of namespaces or mounts is reached (user_namespaces(7), fs.mount-max).
 * It may be 0 for good, so runs go on without these layers; it may be another program that has used
 * it up, so they are tried again.
 */
static void probe_drop_namespaces(struct confine *c, const char *what, int error)
{
	const char *remedy = probe_namespace_remedy(c);
	const char *again = error == ENOSPC ? ", and are tried again every 30 s" : "";

	probe_drop_layer(c, CONFINE_PID_NS, remedy, "%s (%s)%s", what, err_sys_name(error), again);
	probe_drop_layer(c, CONFINE_MOUNT_NS, remedy, "%s (%s)%s", what, err_sys_name(error),
			 again);
	if (error != ENOSPC)
		return;
	c->layers[CONFINE_PID_NS].shortage = c->layers[CONFINE_MOUNT_NS].shortage = error;
	probe_again_later(c);
}

/* Does this errno come from a shortage that may pass, not from the machine's setup? */
static bool probe_is_transient(int sys)
{
	return sys == ETIMEDOUT || err_is_shortage(sys);
}

/* Some machines allow new namespaces and then refuse what a process does in them, even the exec of
 * the shim. */
static bool probe_classify_start_failure(struct confine *c, const struct confine_trial *t)
{
	if (!(c->usable & NAMESPACE_LAYERS))
		return false;
	probe_drop_namespaces(c, "nothing can be started in new namespaces", t->error);
	return true;
}

/* Is it the limit of namespaces or mounts that is reached? See probe_drop_namespaces(). */
static bool probe_lacks_namespaces(const struct confine *c, const struct confine_trial *t)
{
	return t->error == ENOSPC && c->usable & NAMESPACE_LAYERS &&
	       (t->stage == SHIM_STAGE_FORK || t->stage == SHIM_STAGE_MOUNTS ||
		t->stage == SHIM_STAGE_LOCK_MOUNTS || t->stage == SHIM_STAGE_OWN_PTS);
}

/* Drop the layer that made the trial fail. False: no layer did, so nothing can run now. */
static bool probe_classify_failure(struct confine *c, const struct confine_trial *t)
{
	if (probe_is_transient(t->error) && !probe_lacks_namespaces(c, t))
		return false;
	switch (t->stage) {
	case SHIM_STAGE_FORK:
		probe_drop_namespaces(c, "the kernel refuses new namespaces", t->error);
		return true;
	case SHIM_STAGE_USER_NS:
		probe_drop_namespaces(c, "the maps of a user namespace cannot be written",
				      t->error);
		return true;
	case SHIM_STAGE_MOUNTS:
		probe_drop_namespaces(c, "mounts are refused in a new namespace", t->error);
		return true;
	case SHIM_STAGE_LOCK_MOUNTS:
		c->no_user_ns = true; /* a gap of its own: see report.c */
		return true;
	case SHIM_STAGE_OWN_PTS:
		c->no_pts = true; /* likewise */
		if (t->error == ENOSPC)
			probe_again_later(c);
		return true;
	case SHIM_STAGE_PROC:
		probe_drop_layer(c, CONFINE_PID_NS, "give the container an unmasked /proc",
				 "a /proc of its own cannot be mounted (%s)",
				 err_sys_name(t->error));
		return true;
	case SHIM_STAGE_CREDENTIALS:
		if (!(c->usable & BIT(CONFINE_CAPABILITIES)))
			break; /* it was the capabilities of a user namespace */
		probe_drop_layer(c, CONFINE_CAPABILITIES,
				 "give the container `--cap-add SETPCAP`, or "
				 "run procpen as an ordinary user",
				 "the bounding set cannot be cut (%s)", err_sys_name(t->error));
		return true;
	case SHIM_STAGE_LANDLOCK:
		probe_drop_layer(c, CONFINE_LANDLOCK,
				 "allow landlock_restrict_self in the outer sandbox's filter",
				 "the ruleset cannot be entered (%s)", err_sys_name(t->error));
		return true;
	case SHIM_STAGE_SECCOMP:
		probe_drop_layer(c, CONFINE_SECCOMP, "boot a kernel with seccomp filters",
				 "a filter cannot be installed (%s)", err_sys_name(t->error));
		return true;
	}
	return probe_classify_start_failure(c, t);
}

static const struct confine_request ask_nothing;

/* Try all layers still in c->usable, also those that the operator's profile leaves out. Returns 0,
 * 1 with the failure in @t, or -1: the plan could not be built. */
static int probe_try_all(struct confine *c, bool net_ns, struct confine_trial *t, struct err *e)
{
	static struct shim_plan plan;
	struct confine_run run;
	struct layers_entry entry = { c, &ask_nothing, &plan, &run };

	layers_clear(&plan, &run);
	run.applied = (struct confine_applied){
		.layers = c->usable & ~(BIT(CONFINE_CGROUP) | BIT(CONFINE_CREDENTIALS)),
	};
	if (net_ns) {
		run.applied.net_ns = true;
		run.applied.layers |= BIT(CONFINE_NETWORK_OFF);
	} else {
		run.applied.layers &= ~BIT(CONFINE_NETWORK_OFF);
	}
	if (layers_fill(&entry, e))
		return -1;
	return confine_trial_run(&plan, &run, t) ? 1 : 0;
}

/* The process of the trial was killed, or came to no end in time. Both pass. Returns -1. */
static int probe_fail_unfinished(bool late, struct err *e)
{
	if (late)
		err_set(e, ERR_SANDBOX_UNAVAILABLE, "no command can be started: a trial of the "
			"sandbox has not ended within %d s", TRIAL_SECONDS);
	else
		err_set(e, ERR_SANDBOX_UNAVAILABLE, "no command can be started: the process that "
			"tries the sandbox was killed from outside");
	e->sys = EAGAIN;
	return err_hint(e, late ? "The machine is busy: try again"
				: "Try again; the kernel kills processes when memory runs out");
}

/* No trial works, for a reason that is no layer's. Returns -1. */
static int probe_fail(const struct confine_trial *t, struct err *e)
{
	/* Locking the mounts takes a process for a moment, too. */
	bool forks = t->stage == SHIM_STAGE_FORK || t->stage == SHIM_STAGE_LOCK_MOUNTS;

	if (t->stage == SHIM_STAGE_PLAN && (t->error == EAGAIN || t->error == ETIMEDOUT))
		return probe_fail_unfinished(t->error == ETIMEDOUT, e);
	if (!forks || t->error != EAGAIN) {
		err_sys(e, ERR_SANDBOX_UNAVAILABLE, t->error,
			"no command can be started: a trial failed in its stage %s",
			spawn_stage_name(t->stage));
		if (err_is_shortage(t->error))
			return -1; /* the error itself says what ran out */
		return err_hint(e, "Look for an outer sandbox that refuses this");
	}
	err_sys(e, ERR_SANDBOX_UNAVAILABLE, t->error,
		"no command can be started: no further processes may be made, by a limit of this "
		"user, of the control group or of the machine");
	return err_hint(e, "Raise the limit where procpen is started: `ulimit -u 4096`, or "
			   "LimitNPROC=4096 and TasksMax=4096 in a systemd unit");
}

static int probe_find_usable(struct confine *c, struct err *e)
{
	struct confine_trial t = { 0 };
	uint32_t before;
	int less, result;

	do { /* stop when a failed trial changes nothing */
		before = c->usable;
		less = c->no_user_ns + c->no_pts;
		result = probe_try_all(c, false, &t, e);
	} while (result > 0 && probe_classify_failure(c, &t) &&
		 (c->usable != before || less != c->no_user_ns + c->no_pts));
	return result > 0 ? probe_fail(&t, e) : result;
}

void confine_probe_network(struct confine *c)
{
	struct confine_trial t = { 0 };
	ERR_LOCAL(e);

	if (c->net_probed)
		return;
	c->net_ns_usable = c->options.namespaces && !probe_try_all(c, true, &t, &e);
	c->net_probed = !probe_is_transient(t.error) || t.error == ENOSPC;
	if (t.error == ENOSPC)
		probe_again_later(c);
	if (!c->net_ns_usable && c->options.namespaces && !e.type)
		snprintf(c->net_reason, sizeof(c->net_reason), "the kernel refuses one (%s)",
			 err_sys_name(t.error));
	err_release(&e);
}

/* The shim finds the processes of a tree in /proc: without it no kill is complete. */
static int probe_shim(struct err *e)
{
	if (access("/proc/self/task", R_OK | X_OK) == 0)
		return 0;
	err_sys(e, ERR_SANDBOX_UNAVAILABLE, errno,
		"/proc cannot be read: processes that a command leaves behind could not be found");
	return err_hint(e, "Mount it where procpen runs: `mount -t proc proc /proc`");
}

/* Once, before the first command: later a command could have put a link in the way. Leaves out what
 * does not exist. */
static void probe_resolve_writable(struct confine *c)
{
	size_t kept = 0;

	if (c->resolved)
		return;
	c->resolved = true;
	for (size_t i = 0; c->writable_option[i]; i++) {
		char *real = realpath(c->writable_option[i], NULL);

		free(c->writable_option[i]);
		c->writable_option[i] = NULL;
		if (real)
			c->writable_option[kept++] = real;
	}
	c->found = mem_zalloc((kept + 1) * sizeof(*c->found));
}

/* Is another directory at the canonical @path than @before? Not if none is there. */
static bool probe_is_replaced(const char *path, const struct place *before)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) &&
	       (st.st_dev != before->dev || st.st_ino != before->ino);
}

static void probe_note_places(struct confine *c)
{
	struct stat st;

	for (size_t i = 0; c->writable_option[i]; i++) {
		c->found[i] = (struct place){ 0 };
		if (!lstat(c->writable_option[i], &st))
			c->found[i] = (struct place){ st.st_dev, st.st_ino };
	}
	c->generation++;
}

/* Have directories that the layers name been removed and made again, or replaced? The layers hold
 * on to the old ones. */
static bool probe_is_outdated(struct confine *c)
{
	struct tmpdir *const places[] = { c->tmpdir, c->users_tmpdir };
	bool outdated = false;

	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (places[i] && tmpdir_is_gone(places[i])) {
			tmpdir_forget(places[i]);
			outdated = true;
		}
	for (size_t i = 0; c->writable_option[i] && !outdated; i++)
		outdated = probe_is_replaced(c->writable_option[i], &c->found[i]);
	return outdated;
}

/* Add the canonical path of @path, where no command can have put a link, to c->writable. */
static void probe_add_real(struct confine *c, const char *path)
{
	char *real = realpath(path, NULL);

	if (real)
		mem_list_add(&c->writable, real);
}

static void probe_add_shared_memory(struct confine *c)
{
	for (size_t i = 0; i < COUNT_OF(shared_memory); i++)
		probe_add_real(c, shared_memory[i]);
}

/* The directory of this session that commands find at /dev/shm, or NULL: they find the host's. */
static char *probe_shared_memory(struct confine *c)
{
	AUTO_FREE char *path = NULL;
	char *real;

	c->own_shm = false;
	if (!c->tmpdir || !confine_mounts_can_cover_shm(c->options.writable))
		return NULL;
	path = mem_printf("%s/" TMPDIR_SHARED_MEMORY, tmpdir_path(c->tmpdir));
	real = realpath(path, NULL);
	c->own_shm = real != NULL;
	return real;
}

/* What is hidden in the default profile, or with @strict in that one. Heap. */
static char **probe_hidden(const struct confine *c, bool strict)
{
	/* Directories with sockets of other programs and files of all users. */
	static const char *const places[] = { "/run", "/tmp", "/var/tmp" };
	char **hidden = mem_list_copy(c->options.hidden);

	if (c->options.record)
		mem_list_add(&hidden, mem_strdup(c->options.record));
	for (size_t i = 0; strict && i < COUNT_OF(places); i++)
		mem_list_add(&hidden, mem_strdup(places[i]));
	return hidden;
}

static int probe_build_lists(struct confine *c, struct err *e)
{
	AUTO_FREE char *shm = NULL;
	struct confine_mounts_wish wish = { .readonly = c->options.readonly };
	char *const *option;

	probe_resolve_writable(c);
	option = c->writable_option;
	probe_note_places(c);
	if ((c->tmpdir && tmpdir_make(c->tmpdir, e)) ||
	    (c->users_tmpdir && tmpdir_make(c->users_tmpdir, e)))
		return -1;
	shm = probe_shared_memory(c);
	/* Those that every command needs come first, while there is room: the workspace, and
	 * procpen's own. */
	if (*option)
		mem_list_add(&c->writable, mem_strdup(*option++));
	if (c->tmpdir)
		probe_add_real(c, tmpdir_path(c->tmpdir));
	if (c->users_tmpdir)
		probe_add_real(c, tmpdir_path(c->users_tmpdir));
	if (!shm)
		probe_add_shared_memory(c);
	while (*option)
		mem_list_add(&c->writable, mem_strdup(*option++));
	wish.writable = (const char *const *)c->writable;
	wish.shared_memory = shm;
	for (int strict = 0; strict < 2; strict++) {
		char **hidden = probe_hidden(c, strict);

		wish.hidden = (const char *const *)hidden;
		confine_mounts_build(&c->mounts[strict], &wish);
		mem_list_free(hidden);
	}
	/* Landlock knows the covered directory too, for when there is no mount namespace. */
	if (shm) {
		probe_add_shared_memory(c);
		probe_add_real(c, shm);
	}
	return 0;
}

static int probe_prepare(struct confine *c, struct err *e)
{
	static const char switch_on[] = "give --set sandbox.namespaces=on";

	c->usable = (1u << CONFINE_LAYER_COUNT) - 1;
	c->tried = false;
	if (probe_shim(e))
		return -1;
	c->own_ipc = access("/proc/self/ns/ipc", F_OK) == 0;
	if (c->options.own)
		cgroup_own_open(c->options.own); /* while the server is in the group of its start */
	cgroups_prepare(c->cgroups); /* first: the server must be alone in its group */
	if (probe_build_lists(c, e))
		return -1;
	if (probe_landlock(c, e))
		return -1;
	if (!c->privileged) {
		probe_drop_layer(c, CONFINE_CREDENTIALS, NULL,
				 "only root can run commands as another user");
		probe_drop_layer(c, CONFINE_CAPABILITIES, NULL,
				 "the server has no capabilities to drop");
	}
	if (!c->options.namespaces) {
		probe_drop_layer(c, CONFINE_PID_NS, switch_on, "switched off by the operator");
		probe_drop_layer(c, CONFINE_MOUNT_NS, switch_on, "switched off by the operator");
	}
	probe_ports(c);
	c->tried = true;
	if (probe_find_usable(c, e))
		return -1;
	probe_ports(c);
	return 0;
}

static void probe_reset(struct confine *c)
{
	for (size_t i = 0; i < COUNT_OF(c->mounts); i++)
		confine_mounts_release(&c->mounts[i]);
	mem_list_free(c->writable);
	c->writable = NULL;
	mem_cleanup_close(&c->ruleset);
	mem_cleanup_close(&c->spare_ruleset);
	err_release(&c->failure);
	c->prepared = c->net_probed = c->no_user_ns = c->no_pts = false;
	c->again_ms = 0;
}

void confine_renew(struct confine *c)
{
	if (c->prepared && probe_is_outdated(c))
		probe_reset(c);
}

int confine_prepare(struct confine *c, struct err *e)
{
	if (c->prepared && c->again_ms && clock_mono_ms() >= c->again_ms)
		probe_reset(c);
	if (!c->prepared) {
		c->prepared = true;
		probe_prepare(c, &c->failure);
	}
	if (!c->failure.type)
		return 0;
	*e = c->failure;
	json_incref(e->details);
	/* What a trial has shown stays; a place can be put right, and looking costs little. */
	if (!c->tried || probe_is_transient(e->sys))
		probe_reset(c);
	return -1;
}
