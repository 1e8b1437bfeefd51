#include "app/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/place.h"
#include "base/mem.h"

/* Where other users get through, and nobody but root can write; the state directory of root is
 * mostly below a home that nobody may enter. */
#define USERS_TEMPORARY "/var/lib/procpen"

/* @a and @b as one list that borrows their strings. */
static const char **join(const char *const *a, const char *const *b, const char *one)
{
	size_t count = 0, i;
	const char **all;

	for (i = 0; a && a[i]; i++)
		count++;
	for (i = 0; b && b[i]; i++)
		count++;
	all = mem_zalloc((count + 2) * sizeof(*all));
	count = 0;
	for (i = 0; a && a[i]; i++)
		all[count++] = a[i];
	for (i = 0; b && b[i]; i++)
		all[count++] = b[i];
	all[count] = one;
	return all;
}

static uint32_t layer_bits(char *const *names)
{
	uint32_t bits = 0;

	for (; *names; names++)
		if (confine_layer_find(*names) >= 0)
			bits |= 1u << confine_layer_find(*names);
	return bits;
}

static enum confine_profile profile_of(const char *choice)
{
	if (!strcmp(choice, "strict"))
		return CONFINE_STRICT;
	return strcmp(choice, "none") ? CONFINE_DEFAULT : CONFINE_NONE;
}

static const char *const *names_of(const struct config *config, enum config_key key)
{
	return (const char *const *)config_names(config, key);
}

/* A control group is there when a limit needs one; then the run's own list tells. */
static int check_layers(char *const *names, struct err *e)
{
	for (; *names; names++) {
		int layer = confine_layer_find(*names);

		if (layer >= 0 && layer != CONFINE_CGROUP)
			continue;
		err_set(e, ERR_INVALID_PARAMS,
			"sandbox.require: there is no layer \"%.64s\" to require", *names);
		return err_hint(e, "landlock, pid_namespace, mount_namespace, capabilities, "
				   "credentials and network_off can be required");
	}
	return 0;
}

int sandbox_check_record(const struct config *config, const char *state_dir, struct err *e)
{
	for (char *const *path = config_names(config, CONFIG_SANDBOX_WRITABLE); *path; path++) {
		char *const directories[] = { NULL };
		struct err ignored = ERR_INIT;
		struct scope *place = scope_new(*path, directories, &ignored);
		bool covers = place && place_covers_state(place, state_dir);

		scope_free(place);
		err_release(&ignored); /* a file, or not there: it covers nothing */
		if (!covers)
			continue;
		err_set(e, ERR_INVALID_PARAMS,
			"sandbox.writable: %.256s holds the state directory, or audit or tmp in "
			"it: a command could rewrite its own record", *path);
		return err_hint(e, "Name another place with --state-dir DIR.");
	}
	return 0;
}

static int check_paths(const struct config *config, enum config_key key, struct err *e)
{
	for (char *const *path = config_names(config, key); *path; path++)
		if ((*path)[0] != '/' || strchr(*path, '*')) {
			err_set(e, ERR_INVALID_PARAMS, "%s: \"%.256s\" is not an absolute path",
				config_rows[key].name, *path);
			return err_hint(e, "paths begin with a slash, and patterns are not taken");
		}
	return 0;
}

int sandbox_check(const struct config *config, struct err *e)
{
	if (check_layers(config_names(config, CONFIG_SANDBOX_REQUIRE), e) ||
	    check_paths(config, CONFIG_SANDBOX_WRITABLE, e))
		return -1;
	return check_paths(config, CONFIG_SANDBOX_HIDE, e);
}

static bool changes_user(const struct config *config)
{
	return geteuid() == 0 && (*config_names(config, CONFIG_SANDBOX_USER) ||
				  *config_names(config, CONFIG_SANDBOX_USERS));
}

struct confine *sandbox_new(const struct config *config, const struct sandbox_place *place)
{
	AUTO_FREE char *record = NULL;
	AUTO_FREE const char **writable = join(scope_directories(place->scope),
					       names_of(config, CONFIG_SANDBOX_WRITABLE), NULL);
	AUTO_FREE const char **hidden = NULL;
	struct confine_options options = {
		.instance = place->instance,
		.temporary = place->state_dir,
		.users_temporary = changes_user(config) ? USERS_TEMPORARY : NULL,
		.profile = profile_of(config_choice(config, CONFIG_SANDBOX_PROFILE)),
		.network = config_bool(config, CONFIG_SANDBOX_NETWORK),
		.namespaces = config_bool(config, CONFIG_SANDBOX_NAMESPACES),
		.required = layer_bits(config_names(config, CONFIG_SANDBOX_REQUIRE)),
		.writable = writable,
		.umask = (uint32_t)config_int(config, CONFIG_PROCESS_UMASK),
		.tasks = config_int(config, CONFIG_LIMITS_TASKS_PER_RUN),
		.nofile = place->nofile,
		.reaper = place->reaper,
	};

	/* A command has no business in the record of what it did. */
	if (asprintf(&record, "%s/audit", place->state_dir) < 0)
		abort();
	hidden = join(names_of(config, CONFIG_SANDBOX_HIDE), NULL, record);
	options.hidden = hidden;
	return confine_new(&options);
}
