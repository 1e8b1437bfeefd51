#include "cli/doctor_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

static const char *cli_doctor_text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* ---- layers ---- */

/* The purpose of layers, by their names without detail. The list of what is missing has the details
 * of the first row that is not active. */
static const struct {
	const char *purpose;
	const char *layers[4];
} purposes[] = {
	{ "ends with all that it started", { "shim", "pid_namespace" } },
	{ "writes only where it may", { "landlock", "mount_namespace" } },
	{ "gains no further rights", { "no_new_privs", "credentials", "capabilities" } },
	{ "reaches a small part of the kernel", { "seccomp" } },
	{ "has no network", { "network_off" } },
	{ "connects to listed ports only", { "network_ports" } },
	{ "has its own session and limits", { "session", "rlimits", "cgroup" } },
};

static bool cli_doctor_is_layer(const char *detailed, const char *layer)
{
	size_t len = strlen(layer);

	return !strncmp(detailed, layer, len) && (!detailed[len] || detailed[len] == ':');
}

/* Index in purposes, or -1. */
static int cli_doctor_find_purpose(const char *detailed)
{
	for (size_t i = 0; i < COUNT_OF(purposes); i++)
		for (size_t k = 0; k < COUNT_OF(purposes[i].layers) && purposes[i].layers[k]; k++)
			if (cli_doctor_is_layer(detailed, purposes[i].layers[k]))
				return (int)i;
	return -1;
}

static void cli_doctor_print_purpose(const json_t *active, int purpose)
{
	const json_t *row;
	size_t i;
	bool any = false;

	json_array_foreach(active, i, row) {
		const char *layer = json_string_value(row);

		if (cli_doctor_find_purpose(layer) != purpose)
			continue;
		if (!any && purpose >= 0)
			printf("  ok  %-36s %s", purposes[purpose].purpose, layer);
		else
			printf("%s%s", any ? ", " : "  !!  ", layer);
		any = true;
	}
	if (any)
		puts("");
}

static void cli_doctor_print_paths(const char *title, const json_t *paths)
{
	const json_t *path;
	size_t i;

	json_array_foreach(paths, i, path)
		printf("  ok  %-36s %s\n", i ? "" : title, json_string_value(path));
}

static void cli_doctor_print_active(const json_t *found)
{
	const json_t *active = json_object_get(found, "active");

	if (!json_array_size(active))
		return;
	puts("\nA command:");
	for (int i = 0; i < (int)COUNT_OF(purposes); i++)
		cli_doctor_print_purpose(active, i);
	cli_doctor_print_purpose(active, -1);
	cli_doctor_print_paths("cannot change", json_object_get(found, "readonly"));
	cli_doctor_print_paths("cannot see", json_object_get(found, "hidden"));
}

/* ---- what is missing ---- */

static const struct {
	const char *layer, *means;
} meanings[] = {
	{ "landlock", "the mount namespace alone keeps commands from writing elsewhere" },
	{ "pid_namespace", "commands see this user's other processes" },
	{ "mount_namespace", "no path can be hidden from commands (sandbox.hide)" },
	{ "capabilities", "root's commands keep rights that a container would not give them" },
	{ "seccomp", "commands reach all of the kernel" },
	{ "cgroup", "limits are watched instead: less exact" },
	{ "network_namespace", "the network is switched off by the filter instead" },
};

/* What it means that @layer is missing; NULL when the reason says it all. */
static const char *cli_doctor_meaning(const json_t *found, const char *layer)
{
	if (json_is_true(json_object_get(found, "files_open")) &&
	    (!strcmp(layer, "landlock") || !strcmp(layer, "mount_namespace")))
		return "commands can write whatever this user can write";
	for (size_t i = 0; i < COUNT_OF(meanings); i++)
		if (!strcmp(layer, meanings[i].layer))
			return meanings[i].means;
	return NULL;
}

/* A lack that needs no action, and no line. */
static bool cli_doctor_is_harmless(const json_t *row)
{
	return !strcmp(cli_doctor_text_of(row, "layer"), "network_namespace");
}

/* Are @a and @b missing for one reason? They share a paragraph. */
static bool cli_doctor_is_same_lack(const json_t *a, const json_t *b)
{
	return a && b && !strcmp(cli_doctor_text_of(a, "reason"), cli_doctor_text_of(b, "reason"));
}

static void cli_doctor_print_meanings(const json_t *found, const json_t *missing, size_t from,
				      size_t to)
{
	const char *before = NULL;

	for (size_t i = from; i < to; i++) {
		const char *means = cli_doctor_meaning(
			found, cli_doctor_text_of(json_array_get(missing, i), "layer"));

		if (!means || (before && !strcmp(means, before)))
			continue;
		printf("%s%s", before ? "; " : "      so:  ", means);
		before = means;
	}
	if (before)
		puts("");
}

/* Rows @from up to @to have one reason. What keeps everything from running is no layer. */
static void cli_doctor_print_lack(const json_t *found, const json_t *missing, size_t from,
				  size_t to)
{
	const json_t *row = json_array_get(missing, from);

	for (size_t i = from; i < to; i++) {
		const char *layer = cli_doctor_text_of(json_array_get(missing, i), "layer");

		if (strcmp(layer, CLI_DOCTOR_START))
			printf("%s%s", i > from ? ", " : "  ", layer);
	}
	printf("%s%s\n", strcmp(cli_doctor_text_of(row, "layer"), CLI_DOCTOR_START) ? ": " : "  ",
	       cli_doctor_text_of(row, "reason"));
	cli_doctor_print_meanings(found, missing, from, to);
	printf("      do:  %s\n", cli_doctor_text_of(row, "remedy"));
}

static void cli_doctor_print_missing(const json_t *found)
{
	const json_t *missing = json_object_get(found, "missing");
	size_t count = json_array_size(missing), to;

	while (count && cli_doctor_is_harmless(json_array_get(missing, count - 1)))
		count--; /* the last one, see confine_each_missing() */
	if (count)
		puts("\nMissing:");
	for (size_t from = 0; from < count; from = to) {
		for (to = from + 1; to < count; to++)
			if (!cli_doctor_is_same_lack(json_array_get(missing, from),
						     json_array_get(missing, to)))
				break;
		cli_doctor_print_lack(found, missing, from, to);
	}
}

/* ---- the rest ---- */

static void cli_doctor_print_verdict(const json_t *found)
{
	printf("%s: %s\n", cli_doctor_text_of(found, "verdict"),
	       cli_doctor_text_of(found, "summary"));
}

static void cli_doctor_print_place(const json_t *found, const char *title, const char *member)
{
	if (*cli_doctor_text_of(found, member))
		printf("%-12s %s\n", title, cli_doctor_text_of(found, member));
}

static void cli_doctor_print_places(const json_t *found)
{
	const json_t *files = json_object_get(found, "descriptors");
	const char *git = cli_doctor_text_of(found, "git_common_directory");

	cli_doctor_print_place(found, "workspace", "workspace");
	if (*cli_doctor_text_of(found, "workspace_problem"))
		printf("             (empty, made for this; no command runs here: %s)\n",
		       cli_doctor_text_of(found, "workspace_problem"));
	if (*git)
		printf("             a linked git worktree: to commit, add --allow-dir '%s'\n",
		       git);
	cli_doctor_print_place(found, "state", "state_directory");
	cli_doctor_print_place(found, "shell", "shell");
	printf("%-12s at most %lld (%lld are needed)\n", "open files",
	       (long long)json_integer_value(json_object_get(files, "limit")),
	       (long long)json_integer_value(json_object_get(files, "needed")));
}

/* Bytes of the word before ": " in @gap, which says what it is about; 0: none. */
static size_t cli_doctor_subject_len(const char *gap)
{
	size_t len = strcspn(gap, " ");

	return len && gap[len - 1] == ':' ? len : 0;
}

/* Gaps that follow each other share a line if they are about the same. */
static void cli_doctor_print_gaps(const json_t *gaps)
{
	const char *before = "";
	const json_t *row;
	size_t i;

	if (json_array_size(gaps))
		fputs("\nWhat stays open:", stdout);
	json_array_foreach(gaps, i, row) {
		const char *gap = json_string_value(row);
		size_t len = cli_doctor_subject_len(gap);

		if (len && !strncmp(before, gap, len))
			printf(";%s", gap + len);
		else
			printf("\n  - %s", gap);
		before = gap;
	}
	if (*before)
		puts("");
}

/* ---- what may be shown ---- */

static void cli_doctor_show_string(json_t *string)
{
	size_t len = json_string_length(string), size = 6 * len + 1;
	char *shown = mem_zalloc(size);

	json_string_setn(string, shown, utf8_show(shown, size, json_string_value(string), len));
	free(shown);
}

/* Show hidden characters in all strings of @found by code: paths, and the reasons that quote them,
 * are names that others gave to files. */
static void cli_doctor_show(json_t *found)
{
	const char *name;
	json_t *below;
	size_t i;

	if (json_is_string(found))
		cli_doctor_show_string(found);
	json_array_foreach(found, i, below)
		cli_doctor_show(below);
	json_object_foreach(found, name, below)
		cli_doctor_show(below);
}

static void cli_doctor_print_found(const json_t *found)
{
	const json_t *machine = json_object_get(found, "machine");
	const char *environment = cli_doctor_text_of(found, "environment");

	printf("procpen %s on Linux %s (%s), uid %d%s%s\n\n", cli_doctor_text_of(found, "version"),
	       cli_doctor_text_of(machine, "kernel"), cli_doctor_text_of(machine, "machine"),
	       (int)json_integer_value(json_object_get(machine, "uid")), *environment ? ": " : "",
	       environment);
	cli_doctor_print_verdict(found);
	puts("");
	cli_doctor_print_places(found);
	cli_doctor_print_active(found);
	cli_doctor_print_missing(found);
	cli_doctor_print_gaps(json_object_get(found, "gaps"));
}

void cli_doctor_print_text(const json_t *found)
{
	json_t *shown = json_deep_copy(found);

	cli_doctor_show(shown);
	cli_doctor_print_found(shown);
	json_decref(shown);
}
