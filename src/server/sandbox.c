#include "server/sandbox.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/schema.h"
#include "base/str.h"
#include "cap/run_user.h"
#include "os/reaper.h"
#include "server/workspace.h"

/* Other users can reach it and only root can write there; the state directory of root is usually
 * below a home that others cannot enter. */
#define USERS_TEMPORARY "/var/lib/procpen"

/* In sandbox.require: landlock or mount_namespace, whichever this machine has. */
#define FILES "files"

/* @a and @b as one list that borrows their strings. */
static const char **sandbox_join(const char *const *a, const char *const *b)
{
	size_t count = 0, i;
	const char **all;

	for (i = 0; a && a[i]; i++)
		count++;
	for (i = 0; b && b[i]; i++)
		count++;
	all = mem_zalloc((count + 1) * sizeof(*all));
	count = 0;
	for (i = 0; a && a[i]; i++)
		all[count++] = a[i];
	for (i = 0; b && b[i]; i++)
		all[count++] = b[i];
	return all;
}

static uint32_t sandbox_layer_bits(char *const *names)
{
	uint32_t bits = 0;

	for (; *names; names++)
		if (confine_layer_find(*names) >= 0)
			bits |= 1u << confine_layer_find(*names);
	return bits;
}

static enum confine_profile sandbox_profile_of(const char *choice)
{
	if (!strcmp(choice, "strict"))
		return CONFINE_STRICT;
	return strcmp(choice, "none") ? CONFINE_DEFAULT : CONFINE_NONE;
}

static bool sandbox_is_profile(const struct config *config, enum confine_profile profile)
{
	return sandbox_profile_of(config_choice(config, CONFIG_SANDBOX_PROFILE)) == profile;
}

static const char *const *sandbox_names_of(const struct config *config, enum config_key key)
{
	return (const char *const *)config_names(config, key);
}

/* sandbox.network, if it lists ports. */
static void sandbox_read_ports(const struct config *config, struct confine_options *options)
{
	char *const *port = config_names(config, CONFIG_SANDBOX_NETWORK);

	for (; *port; port++)
		options->ports[options->port_count++] = (uint16_t)strtol(*port, NULL, 10);
}
_Static_assert(CONFIG_PORTS_MAX <= CONFINE_PORTS_MAX, "each list of ports fits");

/* For who misspells one. */
static const char *const sandbox_required[] = { "seccomp", "landlock", "pid_namespace",
						"mount_namespace", FILES, "capabilities",
						"credentials", "network_off", NULL };

/* cgroup cannot be required: only a run with limits gets one, and its result lists it. Ports are
 * required by their list. */
static int sandbox_check_layer(const char *name, struct err *e)
{
	int layer = confine_layer_find(name);

	if ((layer >= 0 && layer != CONFINE_CGROUP && layer != CONFINE_NETWORK_PORTS) ||
	    !strcmp(name, FILES))
		return 0;
	err_set(e, ERR_INVALID_PARAMS, "\"%.64s\" is not a layer that can be required", name);
	if (layer < 0)
		schema_say_nearest(e, name, sandbox_required);
	return err_hint(e, "Use seccomp, landlock, pid_namespace, mount_namespace, files (landlock "
			   "or mount_namespace), capabilities, credentials or network_off.");
}

/* Does the directory @path hold the state directory, or audit or tmp in it? */
static bool sandbox_holds_record(const char *path, const char *state_dir)
{
	char *const directories[] = { NULL };
	ERR_LOCAL(ignored);
	struct scope *writable = scope_new(path, directories, &ignored);
	bool covers = writable && workspace_covers_state_dir(writable, state_dir);

	scope_free(writable);
	err_release(&ignored); /* a file, or not there: it covers nothing */
	return covers;
}

int sandbox_check_record(const struct config *config, const char *state_dir, struct err *e)
{
	static const char shared[] = "/dev/shm"; /* os/sandbox */

	if (sandbox_holds_record(shared, state_dir)) {
		err_set(e, ERR_INVALID_PARAMS,
			"the state directory %.256s, or audit or tmp in it, lies in %s, where "
			"commands may write: a command could rewrite its own audit log",
			state_dir, shared);
		return err_hint(e, "Set another state directory with --state-dir DIR.");
	}
	for (char *const *path = config_names(config, CONFIG_SANDBOX_WRITABLE); *path; path++) {
		if (!sandbox_holds_record(*path, state_dir))
			continue;
		err_set(e, ERR_INVALID_PARAMS,
			"sandbox.writable: %.256s contains the state directory, or audit or tmp in "
			"it: a command could rewrite its own audit log", *path);
		err_hint(e, "Set another state directory with --state-dir DIR.");
		return config_fault_in(config, CONFIG_SANDBOX_WRITABLE, e);
	}
	return 0;
}

static bool sandbox_has_parent_part(const char *path)
{
	for (path = strstr(path, "/.."); path; path = strstr(path + 1, "/.."))
		if (!path[3] || path[3] == '/')
			return true;
	return false;
}

/* The meaning of a path with ".." changes when the part before it is created. */
static int sandbox_check_parts(const char *path, struct err *e)
{
	if (!sandbox_has_parent_part(path) && strncmp(path, "..", 2))
		return 0;
	err_set(e, ERR_INVALID_PARAMS, "\"%.256s\" contains \"..\"", path);
	return err_hint(e, "Write the path without \"..\".");
}

static int sandbox_check_absolute(const char *path, struct err *e)
{
	if (path[0] == '/')
		return 0;
	err_set(e, ERR_INVALID_PARAMS, "\"%.256s\" is not an absolute path", path);
	return err_hint(e, "Start the path with a slash; ~ is not expanded.");
}

int sandbox_check(const struct config *config, struct err *e)
{
	static const struct {
		enum config_key key;
		int (*check)(const char *name, struct err *e);
	} checks[] = {
		{ CONFIG_SANDBOX_REQUIRE, sandbox_check_layer },
		{ CONFIG_SANDBOX_WRITABLE, sandbox_check_absolute },
		{ CONFIG_SANDBOX_HIDE, sandbox_check_absolute },
		{ CONFIG_SANDBOX_HIDE, sandbox_check_parts },
		{ CONFIG_SANDBOX_READONLY, sandbox_check_parts },
	};

	for (size_t i = 0; i < COUNT_OF(checks); i++)
		for (char *const *name = config_names(config, checks[i].key); *name; name++)
			if (checks[i].check(*name, e)) {
				err_prefix(e, "option %s: ", config_rows[checks[i].key].name);
				if (config_fault_in(config, checks[i].key, e))
					return -1;
			}
	return 0;
}

static bool sandbox_changes_user(const struct config *config)
{
	return geteuid() == 0 && (*config_names(config, CONFIG_SANDBOX_USER) ||
				  *config_names(config, CONFIG_SANDBOX_USERS));
}

static bool sandbox_requires_files(const struct config *config)
{
	char *const *names = config_names(config, CONFIG_SANDBOX_REQUIRE);

	return str_is_listed(FILES, (const char *const *)names);
}

bool sandbox_runs_as_root(const struct config *config)
{
	struct confine_request request = { 0 };
	ERR_LOCAL(ignored); /* nothing can run then, and the start reports it */
	struct user user;
	bool found = !run_user_read(config, NULL, &user, &request, &ignored);

	users_release(&user);
	err_release(&ignored);
	return found && geteuid() == 0 && !(request.as_user && request.uid);
}

/* ---- read-only paths ---- */

/* Has the operator named the paths, or are they the default? */
static bool sandbox_wants_readonly(const struct config *config)
{
	return config->values[CONFIG_SANDBOX_READONLY].rank > CONFIG_BY_DEFAULT &&
	       *config_names(config, CONFIG_SANDBOX_READONLY);
}

/* What is left of the relative @name in a directory that is called like its first component:
 * hooks of .git/hooks, where the .git of a linked worktree's repository is accessible. Or NULL. */
static const char *sandbox_rest_below(const char *directory, const char *name)
{
	const char *own = strrchr(directory, '/') + 1;
	size_t len = strlen(own);

	return len && !strncmp(name, own, len) && name[len] == '/' ? name + len + 1 : NULL;
}

static void sandbox_add_path(char ***paths, const char *directory, const char *name)
{
	mem_list_add(paths, mem_printf("%s/%s", strcmp(directory, "/") ? directory : "", name));
}

/* sandbox.readonly as absolute paths: a relative one is meant in each accessible directory. */
static char **sandbox_readonly_paths(const struct config *config, const struct scope *scope)
{
	char **paths = NULL;

	for (char *const *name = config_names(config, CONFIG_SANDBOX_READONLY); *name; name++) {
		const char *const *directory = scope_directories(scope);

		if (**name == '/')
			sandbox_add_path(&paths, "/", *name + 1);
		for (; **name != '/' && *directory; directory++) {
			const char *rest = sandbox_rest_below(*directory, *name);

			sandbox_add_path(&paths, *directory, *name);
			if (rest)
				sandbox_add_path(&paths, *directory, rest);
		}
	}
	return paths;
}

struct confine *sandbox_new(const struct config *config, const struct sandbox_inputs *in)
{
	AUTO_FREE char *record = NULL;
	char **readonly = sandbox_readonly_paths(config, in->scope);
	AUTO_FREE const char **writable =
		sandbox_join(scope_directories(in->scope),
			     sandbox_names_of(config, CONFIG_SANDBOX_WRITABLE));
	struct confine_options options = {
		.instance = in->instance,
		.temporary = in->state_dir,
		.users_temporary = sandbox_changes_user(config) ? USERS_TEMPORARY : NULL,
		.profile = sandbox_profile_of(config_choice(config, CONFIG_SANDBOX_PROFILE)),
		.network = config_bool(config, CONFIG_SANDBOX_NETWORK),
		.namespaces = config_bool(config, CONFIG_SANDBOX_NAMESPACES),
		.required = sandbox_layer_bits(config_names(config, CONFIG_SANDBOX_REQUIRE)),
		.files = sandbox_requires_files(config),
		.as_root = sandbox_runs_as_root(config),
		.writable = writable,
		.hidden = sandbox_names_of(config, CONFIG_SANDBOX_HIDE),
		.readonly = (const char *const *)readonly,
		.readonly_required = sandbox_wants_readonly(config),
		.umask = (uint32_t)config_int(config, CONFIG_PROCESS_UMASK),
		.tasks = config_int(config, CONFIG_LIMITS_TASKS_PER_RUN),
		.nofile = in->nofile,
		.reaper = in->reaper,
		.loop = in->loop,
		.own = in->own,
	};
	struct confine *c;

	/* No command may read or write the audit log. */
	record = mem_printf("%s/audit", in->state_dir);
	options.record = record;
	sandbox_read_ports(config, &options);
	if (in->reaper && options.profile != CONFINE_NONE)
		reaper_spare_privileged(in->reaper);
	c = confine_new(&options);
	mem_list_free(readonly);
	return c;
}

/* ---- options that this machine cannot satisfy ---- */
struct search {
	const struct config *config;
	struct confine *c;
	struct err failure; /* of confine_prepare(): nothing can run at all */
	sandbox_unmet_fn *fn;
	void *ctx;
};

static void sandbox_report_unmet(struct search *s, const char *option, const char *reason,
				 const char *remedy)
{
	s->fn(s->ctx, option, reason, remedy ? remedy : "start procpen as root");
}

static void sandbox_probe_layer(struct search *s, const char *option, const char *layer)
{
	const char *remedy, *lack;
	char reason[512];

	if (s->failure.type) {
		sandbox_report_unmet(s, option, s->failure.message, err_hint_text(&s->failure));
		return;
	}
	lack = confine_lacks(s->c, (enum confine_layer)confine_layer_find(layer), &remedy);
	snprintf(reason, sizeof(reason), "the layer %s is missing: %s", layer, lack ? lack : "");
	if (lack)
		sandbox_report_unmet(s, option, reason, remedy);
}

/* Landlock or a mount namespace can protect other files from a command. */
static void sandbox_probe_files(struct search *s, const char *option)
{
	if (s->failure.type)
		sandbox_report_unmet(s, option, s->failure.message, err_hint_text(&s->failure));
	else if (sandbox_is_profile(s->config, CONFINE_NONE))
		sandbox_report_unmet(s, option, "the profile none confines nothing",
				     "remove --set sandbox.profile=none");
	else if (confine_open(s->c))
		sandbox_report_unmet(s, option, confine_open(s->c),
				     "boot Linux 5.13 or newer with Landlock on, or let procpen "
				     "make namespaces");
}

static void sandbox_probe_required(struct search *s)
{
	char *const *name = config_names(s->config, CONFIG_SANDBOX_REQUIRE);

	for (; *name; name++) {
		char option[64];

		snprintf(option, sizeof(option), "sandbox.require=%s", *name);
		if (strcmp(*name, FILES))
			sandbox_probe_layer(s, option, *name);
		else
			sandbox_probe_files(s, option);
	}
}

static void sandbox_count_writable(struct search *s)
{
	const char *path = confine_unwritable(s->c);
	bool named = *config_names(s->config, CONFIG_SANDBOX_WRITABLE);
	char reason[512];

	if (!path)
		return;
	snprintf(reason, sizeof(reason),
		 "there is no room for %.256s: commands may write so many places already, the "
		 "workspace among them", path);
	sandbox_report_unmet(s, named ? "sandbox.writable" : "--allow-dir", reason,
			     "name fewer, or a directory that holds several");
}

static void sandbox_probe_hide(struct search *s)
{
	const char *visible = s->failure.type ? NULL : confine_visible(s->c);

	if (!*config_names(s->config, CONFIG_SANDBOX_HIDE))
		return;
	sandbox_probe_layer(s, "sandbox.hide", "mount_namespace");
	if (visible)
		sandbox_report_unmet(s, "sandbox.hide", visible,
				     "name fewer paths, or others");
}

static void sandbox_probe_readonly(struct search *s)
{
	char changeable[CONFINE_CHANGEABLE_SIZE];

	if (!sandbox_wants_readonly(s->config))
		return;
	sandbox_probe_layer(s, "sandbox.readonly", "mount_namespace");
	if (!s->failure.type && confine_changeable(s->c, changeable))
		sandbox_report_unmet(s, "sandbox.readonly", changeable,
				     "name fewer paths, or others");
}

static void sandbox_probe_user(struct search *s)
{
	struct confine_request unused = { 0 };
	/* `procpen run` has an option of its own for it, whose name is the origin then. */
	bool short_form = !strcmp(config_origin(s->config, CONFIG_SANDBOX_USER), "--user");
	const char *remedy = short_form ? "name an account: `--user nobody`"
					: "name an account: `--set sandbox.user=nobody`";
	struct user user;
	ERR_LOCAL(e);

	if (run_user_read(s->config, NULL, &user, &unused, &e))
		sandbox_report_unmet(s, short_form ? "--user" : "sandbox.user",
				     e.message + strlen("user: "), geteuid() ? NULL : remedy);
	users_release(&user);
	err_release(&e);
}

/* Is there an option that needs a probe of the layers? */
static bool sandbox_asks_for_layers(const struct config *config)
{
	return *config_names(config, CONFIG_SANDBOX_HIDE) || sandbox_wants_readonly(config) ||
	       *config_names(config, CONFIG_SANDBOX_REQUIRE) ||
	       !config_bool(config, CONFIG_SANDBOX_NETWORK) ||
	       *config_names(config, CONFIG_SANDBOX_NETWORK) ||
	       sandbox_is_profile(config, CONFINE_STRICT);
}

void sandbox_each_unmet(const struct config *config, struct confine *c, sandbox_unmet_fn *fn,
			void *ctx)
{
	struct search s = { .config = config, .c = c, .fn = fn, .ctx = ctx };

	sandbox_probe_user(&s);
	sandbox_count_writable(&s);
	if (!sandbox_asks_for_layers(config))
		return;
	confine_prepare(c, &s.failure);
	sandbox_probe_hide(&s);
	sandbox_probe_readonly(&s);
	sandbox_probe_required(&s);
	if (!config_bool(config, CONFIG_SANDBOX_NETWORK))
		sandbox_probe_layer(&s, "sandbox.network=false", "network_off");
	else if (*config_names(config, CONFIG_SANDBOX_NETWORK))
		sandbox_probe_layer(&s, "sandbox.network with ports", "network_ports");
	if (sandbox_is_profile(config, CONFINE_STRICT))
		sandbox_probe_files(&s, "sandbox.profile=strict");
	err_release(&s.failure);
}

struct refusal {
	const struct config *config;
	struct err *e;
};

/* The first of them as an error. */
static void sandbox_refuse(void *ctx, const char *option, const char *reason, const char *remedy)
{
	const struct refusal *r = ctx;
	AUTO_FREE char *name = mem_strndup(option, strcspn(option, "= "));
	struct err *e = r->e;

	if (e->type)
		return;
	err_set(e, ERR_SANDBOX_UNAVAILABLE, "%s is not available: %s", option, reason);
	err_hint(e, "%c%s, or remove %s; `procpen doctor` shows all layers.",
		 toupper((unsigned char)*remedy), remedy + 1, option);
	if (config_find(name) >= 0)
		config_fault_in(r->config, (enum config_key)config_find(name), e);
}

/* Does @path exist? Ignores slashes at its end, which only a directory may have. */
static bool sandbox_path_exists(const char *path)
{
	AUTO_FREE char *copy = mem_strdup(path);
	size_t len = strlen(copy);
	struct stat st;

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	return !lstat(copy, &st);
}

static void sandbox_warn_not_readonly(void *ctx, const char *path)
{
	(void)ctx;
	log_warn("sandbox.readonly: %s does not exist yet; it is read-only for every command that "
		 "starts after it is created", path);
}

/* Warn of options that are valid but have no effect yet. */
static void sandbox_warn_absent(const struct config *config, const struct confine *c)
{
	char *const *name;

	if (sandbox_wants_readonly(config))
		confine_each_absent(c, sandbox_warn_not_readonly, NULL);

	for (name = config_names(config, CONFIG_SANDBOX_HIDE); *name; name++)
		if (!sandbox_path_exists(*name))
			log_warn("sandbox.hide: %s does not exist yet; it is hidden from every "
				 "command that starts after it is created", *name);
	for (name = config_names(config, CONFIG_SANDBOX_WRITABLE); *name; name++)
		if (!sandbox_path_exists(*name))
			log_warn("sandbox.writable: %s does not exist and is left out", *name);
	for (name = config_names(config, CONFIG_SANDBOX_USERS); *name; name++) {
		struct user user;
		ERR_LOCAL(e);

		if (geteuid() || users_find(*name, &user, &e))
			log_warn("sandbox.users: no command can run as %s: %s", *name,
				 geteuid() ? "the server is not root" : e.message);
		users_release(&user);
		err_release(&e);
	}
}

int sandbox_check_machine(const struct config *config, struct confine *c, struct err *e)
{
	const struct confine_request usual = { 0 };
	const char *warning;

	sandbox_each_unmet(config, c, sandbox_refuse, &(struct refusal){ config, e });
	if (e->type)
		return -1;
	sandbox_warn_absent(config, c);
	warning = confine_warning(c, &usual);
	if (warning)
		log_warn("%s", warning);
	return 0;
}
