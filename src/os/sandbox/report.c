#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "os/sandbox/confine.h"
#include "os/sandbox/landlock.h"
#include "os/sandbox/layers.h"
#include "os/sandbox/state.h"

/* "network_ports:53,443". Valid until the next call. */
static const char *report_ports(const struct confine *c)
{
	static char text[CONFINE_PORTS_MAX * sizeof("65535,") + 32];
	size_t len = (size_t)sprintf(text, "%s", layers_name(CONFINE_NETWORK_PORTS));

	for (size_t i = 0; i < c->options.port_count; i++)
		len += (size_t)sprintf(text + len, "%c%d", i ? ',' : ':', c->options.ports[i]);
	return text;
}

/* The layer and a number that hardly ever changes; each answer has some. */
struct report_numbered {
	long number; /* that @text is of */
	char text[32];
};

static const char *report_number(struct report_numbered *n, enum confine_layer layer, long number)
{
	if (n->number != number || !*n->text)
		snprintf(n->text, sizeof(n->text), "%s:%ld", layers_name(layer), number);
	n->number = number;
	return n->text;
}

/* Valid until the next call. */
static const char *report_detailed_name(const struct confine *c,
					const struct confine_applied *applied,
					enum confine_layer layer)
{
	static const char filters[][16] = { "seccomp:default", "seccomp:strict", "seccomp:none" };
	static struct report_numbered credentials, landlock;

	switch (layer) {
	case CONFINE_SECCOMP:
		return filters[applied->profile];
	case CONFINE_CREDENTIALS:
		return report_number(&credentials, layer, applied->uid);
	case CONFINE_LANDLOCK:
		return report_number(&landlock, layer, c->landlock_abi);
	case CONFINE_NETWORK_OFF:
		return applied->net_ns ? "network_off:namespace" : "network_off:seccomp";
	case CONFINE_NETWORK_PORTS:
		return report_ports(c);
	case CONFINE_CGROUP:
		return cgroups_version(c->cgroups) == 1 ? "cgroup:v1" : "cgroup:v2";
	default:
		return layers_name(layer);
	}
}

void confine_each_applied(const struct confine *c, const struct confine_applied *applied,
			  confine_text_fn fn, void *ctx)
{
	for (int i = 0; i < CONFINE_LAYER_COUNT; i++)
		if (applied->layers & BIT(i))
			fn(ctx, report_detailed_name(c, applied, (enum confine_layer)i));
	if (applied->profile == CONFINE_NONE)
		fn(ctx, "PROFILE NONE: NOT SANDBOXED");
}

char *confine_temporary(const struct confine *c, const struct confine_request *request)
{
	if (!request->as_user)
		return c->tmpdir ? mem_strdup(tmpdir_path(c->tmpdir)) : NULL;
	return c->users_tmpdir ? mem_printf("%s/%u", tmpdir_path(c->users_tmpdir), request->uid)
			       : NULL;
}

bool confine_is_readonly(const struct confine *c, const char *path)
{
	return c->usable & BIT(CONFINE_MOUNT_NS) && confine_mounts_is_readonly(&c->mounts[0], path);
}

bool confine_can_write_resolved(const struct confine *c, const char *real)
{
	if (!c->prepared || c->failure.type || !(c->usable & FILE_LAYERS))
		return true;
	if (real && confine_is_readonly(c, real))
		return false;
	for (size_t i = 0; real && c->writable && c->writable[i]; i++)
		if (str_path_lies_in(real, c->writable[i]))
			return true;
	return false;
}

bool confine_can_write(const struct confine *c, const char *path)
{
	AUTO_FREE char *real = realpath(path, NULL);

	return confine_can_write_resolved(c, real);
}

void confine_probe_all(struct confine *c)
{
	ERR_LOCAL(e);

	if (!confine_prepare(c, &e))
		confine_probe_network(c);
	err_release(&e);
	cgroups_prepare(c->cgroups);
}

static void report_choose(const struct confine *c, struct confine_applied *applied)
{
	const struct confine_request nothing = { 0 };

	layers_choose(c, &nothing, applied);
}

const char *confine_unwritable(const struct confine *c)
{
	int room = CONFINE_MOUNTS_WRITABLE_MAX;

	for (int i = 0; c->writable_option[i]; i++)
		if (access(c->writable_option[i], F_OK) == 0 && room-- == 0)
			return c->writable_option[i];
	return NULL;
}

const char *confine_visible(const struct confine *c)
{
	const struct confine_mounts *m = &c->mounts[0];

	return *c->hidden_option && m->unhidden ? m->visible : NULL;
}

static void report_changeable_path(void *ctx, const char *path, enum confine_mounts_hold hold)
{
	static const char *const reasons[] = {
		[CONFINE_MOUNTS_LINK] = "a part of it is a link, which commands can replace",
		[CONFINE_MOUNTS_WRITABLE] = "it, or a path in it, is the workspace, or one that "
					    "sandbox.writable or --allow-dir names",
		[CONFINE_MOUNTS_NO_ROOM] = "there is no room for it",
	};
	char *text = ctx;

	if (!*text && hold != CONFINE_MOUNTS_HELD && hold != CONFINE_MOUNTS_ABSENT)
		snprintf(text, CONFINE_CHANGEABLE_SIZE, "%.256s can be changed: %s", path,
			 reasons[hold]);
}

bool confine_changeable(const struct confine *c, char text[CONFINE_CHANGEABLE_SIZE])
{
	*text = '\0';
	if (c->usable & BIT(CONFINE_MOUNT_NS))
		confine_mounts_each_readonly(&c->mounts[0], report_changeable_path, text);
	return *text;
}

struct report_held {
	enum confine_mounts_hold hold;
	confine_text_fn fn;
	void *ctx;
};

static void report_path_of(void *ctx, const char *path, enum confine_mounts_hold hold)
{
	const struct report_held *wanted = ctx;

	if (hold == wanted->hold)
		wanted->fn(wanted->ctx, path);
}

static void report_each_path(const struct confine *c, enum confine_mounts_hold hold,
			     confine_text_fn fn, void *ctx)
{
	struct report_held wanted = { hold, fn, ctx };

	if (c->usable & BIT(CONFINE_MOUNT_NS) && c->options.profile != CONFINE_NONE)
		confine_mounts_each_readonly(&c->mounts[0], report_path_of, &wanted);
}

void confine_each_hidden(const struct confine *c, confine_text_fn fn, void *ctx)
{
	if (!(c->usable & BIT(CONFINE_MOUNT_NS)) || c->options.profile == CONFINE_NONE ||
	    confine_visible(c))
		return;
	for (char *const *path = c->hidden_option; *path; path++)
		fn(ctx, *path);
}

void confine_each_readonly(const struct confine *c, confine_text_fn fn, void *ctx)
{
	report_each_path(c, CONFINE_MOUNTS_HELD, fn, ctx);
}

void confine_each_absent(const struct confine *c, confine_text_fn fn, void *ctx)
{
	report_each_path(c, CONFINE_MOUNTS_ABSENT, fn, ctx);
}

const char *confine_open(const struct confine *c)
{
	if (c->usable & FILE_LAYERS)
		return NULL;
	return c->options.as_root ? CONFINE_OPEN_AS_ROOT : CONFINE_OPEN;
}

const char *confine_warning(struct confine *c, const struct confine_request *request)
{
	ERR_LOCAL(e);

	if (c->warned_open || confine_profile(c, request) == CONFINE_NONE ||
	    (!c->prepared && confine_landlock_abi()))
		return NULL;
	if (confine_prepare(c, &e)) {
		err_release(&e); /* nothing can run */
		return NULL;
	}
	c->warned_open = confine_open(c) != NULL;
	return confine_open(c);
}

const char *confine_lacks(const struct confine *c, enum confine_layer layer, const char **remedy)
{
	const enum confine_layer by = layer == CONFINE_NETWORK_OFF ? CONFINE_SECCOMP : layer;
	struct confine_applied usual;

	*remedy = c->layers[by].remedy;
	if (!(c->usable & BIT(by)))
		return c->layers[by].reason;
	report_choose(c, &usual);
	if (usual.layers & BIT(layer) || BIT(layer) & ASKED_FOR_LAYERS)
		return NULL;
	*remedy = "remove --set sandbox.profile=none";
	return "the profile none is without it";
}

void confine_each_missing(const struct confine *c,
			  void (*fn)(void *ctx, const char *layer, const char *reason,
				     const char *remedy),
			  void *ctx)
{
	unsigned can = cgroups_prepare(c->cgroups);
	const unsigned limits = CGROUP_MEMORY | CGROUP_CPU | CGROUP_TASKS;

	for (int i = 0; i < CONFINE_LAYER_COUNT; i++)
		if (!(c->usable & BIT(i)) && c->layers[i].remedy)
			fn(ctx, layers_name((enum confine_layer)i), c->layers[i].reason,
			   c->layers[i].remedy);
	if ((can & limits) != limits)
		fn(ctx, "cgroup", cgroups_reason(c->cgroups), cgroups_remedy(c->cgroups));
	if (c->net_probed && !c->net_ns_usable && c->options.namespaces && c->net_reason[0])
		fn(ctx, "network_namespace", c->net_reason,
		   "nothing: the filter switches the network off instead");
}

/* ---- what stays open ---- */

/* Mounts leave the usual devices only, Landlock without mounts those in /dev. */
static void report_device_gaps(bool landlock, bool mounts, confine_text_fn fn, void *ctx)
{
	if (!mounts && !landlock)
		fn(ctx, "devices: all that the user may open, disks included, can be read and "
			"written");
	else if (!mounts)
		fn(ctx, "devices: those outside /dev that the user may open can be read, and a "
			"terminal that is no session's yet taken over");
}

static void report_terminal_gap(const struct confine *c, const struct confine_applied *applied,
				confine_text_fn fn, void *ctx)
{
	const bool mounts = applied->layers & BIT(CONFINE_MOUNT_NS);

	if (mounts && !c->no_pts)
		return; /* the run has its own on /dev/pts */
	if (applied->profile == CONFINE_NONE || confine_can_write(c, "/dev/pts")) {
		fn(ctx, "terminals: other terminals of the user can be read and written");
		return;
	}
	if (!mounts && c->landlock_abi < LANDLOCK_ABI_IOCTL &&
		 !(applied->layers & BIT(CONFINE_SECCOMP)))
		fn(ctx, "terminals: the settings of other terminals of the user can be changed: "
			"Landlock is below ABI 5 (Linux 6.10)");
	fn(ctx, "terminals: programs cannot make any (script, tmux, expect)");
}

struct report_gap {
	confine_text_fn fn;
	void *ctx;
};

static void report_readonly_gap(void *ctx, const char *path, enum confine_mounts_hold hold)
{
	const struct report_gap *gap = ctx;
	char text[CONFINE_CHANGEABLE_SIZE + 16] = "files: ";

	if (hold == CONFINE_MOUNTS_HELD)
		return;
	if (hold == CONFINE_MOUNTS_ABSENT)
		snprintf(text, sizeof(text), "files: %.256s does not exist yet: it is read-only "
			 "for commands that start once it does", path);
	else
		report_changeable_path(text + strlen(text), path, hold);
	gap->fn(gap->ctx, text);
}

/* What sandbox.readonly, or its default, does not hold. */
static void report_readonly_gaps(const struct confine *c, bool mounts,
				 confine_text_fn fn, void *ctx)
{
	struct report_gap gap = { fn, ctx };

	if (mounts)
		confine_mounts_each_readonly(&c->mounts[0], report_readonly_gap, &gap);
	else if (*c->readonly_option)
		fn(ctx, "files: no path in a writable directory can be read-only, so commands can "
			"change what sandbox.readonly names by default: git's hooks");
}

static void report_file_gaps(const struct confine *c, const struct confine_applied *applied,
			     confine_text_fn fn, void *ctx)
{
	bool landlock = applied->layers & BIT(CONFINE_LANDLOCK);
	bool mounts = applied->layers & BIT(CONFINE_MOUNT_NS);
	char text[192];

	if (!landlock && !mounts)
		fn(ctx, c->options.as_root && applied->profile != CONFINE_NONE
				? CONFINE_OPEN_AS_ROOT
				: "files: commands can write whatever the user can write");
	if (landlock && !mounts)
		fn(ctx, "files: mode, owner, times, flags (chattr) and extended attributes of "
			"files outside the workspace can be changed where the user may");
	if (!mounts)
		fn(ctx, "files: no path can be hidden, so with sandbox.hide no server starts");
	if (mounts && c->mounts[0].unhidden) {
		snprintf(text, sizeof(text),
			 "files: %d paths of sandbox.hide stay visible: a writable path lies "
			 "inside, they are in /proc, or there are too many",
			 c->mounts[0].unhidden);
		fn(ctx, text);
	}
	report_readonly_gaps(c, mounts, fn, ctx);
	if (mounts && c->privileged && !landlock && !(applied->layers & BIT(CONFINE_PID_NS)))
		fn(ctx, "files: /proc/PID/root of other processes of the user leads around the "
			"mounts, to hidden files too: no PID namespace and no Landlock");
	if (mounts && c->no_user_ns)
		fn(ctx, "files: what is hidden from a run shows in a directory that it hands to "
			"another one, because the kernel refuses user namespaces");
	report_device_gaps(landlock, mounts, fn, ctx);
	if (landlock && !mounts)
		confine_landlock_gaps(c->landlock_abi, fn, ctx);
	fn(ctx, "files: everything else the user may read can be read");
}

/* Landlock keeps signals and abstract sockets inside the run. */
static bool report_landlock_is_scoped(const struct confine *c,
				      const struct confine_applied *applied)
{
	return applied->layers & BIT(CONFINE_LANDLOCK) && c->landlock_abi >= LANDLOCK_ABI_SCOPE;
}

/* IPC namespace and mount namespace are entered together. */
static void report_shared_memory_gap(const struct confine *c, const struct confine_applied *applied,
				     confine_text_fn fn, void *ctx)
{
	bool mounts = applied->layers & BIT(CONFINE_MOUNT_NS), shm = !mounts || !c->own_shm;
	bool ipc = (!mounts || !c->own_ipc) && applied->profile != CONFINE_STRICT;
	char text[160];

	if (!shm && !ipc)
		return;
	snprintf(text, sizeof(text),
		 "shared_memory: %s%s%s shared with the user's other programs, and what commands "
		 "leave there stays", shm ? "/dev/shm" : "", shm && ipc ? " and " : "",
		 !ipc ? " is" : shm ? "System V IPC are" : "System V IPC is");
	fn(ctx, text);
}

static void report_process_gaps(const struct confine *c, const struct confine_applied *applied,
				confine_text_fn fn, void *ctx)
{
	if (applied->layers & BIT(CONFINE_PID_NS))
		return;
	fn(ctx, "processes: other processes of the user can be seen, and inspected where the "
		"system allows that");
	if (!report_landlock_is_scoped(c, applied))
		fn(ctx, "processes: other processes of the user can be sent signals and have their "
			"limits changed, all but the server, its group and the shim");
	if (!(cgroups_prepare(c->cgroups) & CGROUP_KILL))
		fn(ctx, "fork_chains: without a PID namespace and a control group, hundreds of "
			"processes that only fork and exit can outlive a kill");
}

void confine_each_gap(const struct confine *c, confine_text_fn fn, void *ctx)
{
	struct confine_applied applied;

	report_choose(c, &applied);
	if (c->options.as_root)
		fn(ctx, "root: commands run as root; with sandbox.user=NAME they run as that "
			"account");
	if (applied.profile == CONFINE_NONE)
		fn(ctx, "everything: the operator runs this server without a sandbox");
	report_file_gaps(c, &applied, fn, ctx);
	report_process_gaps(c, &applied, fn, ctx);
	report_shared_memory_gap(c, &applied, fn, ctx);
	if (applied.layers & BIT(CONFINE_NETWORK_PORTS))
		fn(ctx, "network: TCP to the listed ports of any host, loopback included, and "
			"connections that others make to what commands listen on");
	else if (!(applied.layers & BIT(CONFINE_NETWORK_OFF)))
		fn(ctx, "network: all of it, loopback services and cloud metadata included");
	if (!report_landlock_is_scoped(c, &applied) && !applied.net_ns)
		fn(ctx, "sockets: abstract sockets of other programs can be reached");
	report_terminal_gap(c, &applied, fn, ctx);
	fn(ctx, "sockets: services of the user that listen in the file system (a container "
		"engine, D-Bus, an SSH agent) can be asked to act");
}
