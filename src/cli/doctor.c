#include "cli/doctor.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/version.h"
#include "cli/options.h"
#include "server/context.h"
#include "server/workspace.h"
#include "server/sandbox.h"

/* A temporary empty workspace, named as mkdtemp(3) wants it: random characters at the end. */
#define SCRATCH_NAME "/tmp/procpen-doctor."
#define SCRATCH_RANDOM 6
#define SCRATCH_SIZE (sizeof(SCRATCH_NAME) + SCRATCH_RANDOM)

#define BROKEN "broken" /* the worst verdict */

/* The findings are collected as the JSON that --json prints; the text is made from it. */
static json_t *cli_doctor_string_of(const char *text)
{
	size_t left = strlen(text), used;
	struct buf repaired; /* a path may have any bytes */
	json_t *string;

	buf_init(&repaired, 64 * 1024);
	for (; left; text += used, left -= used) {
		if (utf8_next(text, left, &used) == UTF8_VALID)
			buf_add(&repaired, text, used);
		else
			buf_adds(&repaired, UTF8_REPLACEMENT);
	}
	string = json_stringn(repaired.len ? repaired.data : "", repaired.len);
	buf_release(&repaired);
	return string;
}

static void cli_doctor_add_text(void *list, const char *text)
{
	json_array_append_new(list, cli_doctor_string_of(text));
}

static void cli_doctor_add_missing(void *list, const char *layer, const char *reason,
				   const char *remedy)
{
	json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "layer", layer, "reason",
					      cli_doctor_string_of(reason), "remedy",
					      cli_doctor_string_of(remedy)));
}

static json_t *cli_doctor_machine(void)
{
	struct utsname name;

	if (uname(&name))
		return json_object();
	return json_pack("{s:s, s:s, s:i}", "kernel", name.release, "machine", name.machine, "uid",
			 (int)geteuid());
}

/* Control groups only make limits more precise; the shim enforces them without. */
static bool cli_doctor_is_whole(const json_t *missing)
{
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)missing, i, row) {
		const char *layer = json_string_value(json_object_get(row, "layer"));

		if (strcmp(layer, "cgroup") && strcmp(layer, "network_namespace"))
			return false;
	}
	return true;
}

/* Layers that are active, or why nothing can run. */
static void cli_doctor_look_at_layers(struct context *ctx, json_t *active, json_t *missing,
				      json_t *gaps)
{
	struct confine_applied usual;
	struct err e = ERR_INIT;

	confine_probe_all(ctx->confine);
	if (confine_prepare(ctx->confine, &e)) {
		cli_doctor_add_missing(missing, "all", e.message, err_hint_text(&e));
		err_release(&e);
		return;
	}
	confine_usual(ctx->confine, &usual);
	confine_each_applied(ctx->confine, &usual, cli_doctor_add_text, active);
	confine_each_gap(ctx->confine, cli_doctor_add_text, gaps);
}

static json_t *cli_doctor_examine(struct context *ctx)
{
	json_t *active = json_array(), *missing = json_array(), *gaps = json_array();
	bool broken;

	cli_doctor_look_at_layers(ctx, active, missing, gaps);
	sandbox_each_unmet(&ctx->config, ctx->confine, cli_doctor_add_missing, missing);
	/* Nothing can run, no server starts, or what runs is root and writes where it likes. */
	broken = json_array_size(missing) || confine_warning(ctx->confine);
	confine_each_missing(ctx->confine, cli_doctor_add_missing, missing);
	return json_pack("{s:s, s:o, s:o, s:o, s:s, s:b, s:o, s:o, s:o}", "version",
			 PROCPEN_VERSION, "machine", cli_doctor_machine(), "workspace",
			 cli_doctor_string_of(scope_workspace(ctx->scope)), "shell",
			 cli_doctor_string_of(ctx->shell.path), "verdict",
			 broken                         ? BROKEN
			 : cli_doctor_is_whole(missing) ? "ok"
							: "weaker",
			 "ok", cli_doctor_is_whole(missing), "active", active, "missing", missing,
			 "gaps", gaps);
}

static const char *cli_doctor_text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static const char *cli_doctor_why_broken(const json_t *found)
{
	const json_t *gap;
	size_t i;

	json_array_foreach(json_object_get(found, "gaps"), i, gap)
		if (!strcmp(json_string_value(gap), CONFINE_OPEN_AS_ROOT))
			return CONFINE_OPEN_AS_ROOT;
	return "no command can run, see above";
}

static void cli_doctor_print_text(json_t *found)
{
	const json_t *machine = json_object_get(found, "machine"), *row;
	size_t i;

	printf("procpen %s on Linux %s (%s), uid %d\nworkspace %s\nshell %s\n\n",
	       cli_doctor_text_of(found, "version"), cli_doctor_text_of(machine, "kernel"),
	       cli_doctor_text_of(machine, "machine"),
	       (int)json_integer_value(json_object_get(machine, "uid")),
	       cli_doctor_text_of(found, "workspace"), cli_doctor_text_of(found, "shell"));
	puts("Layers around every command:");
	json_array_foreach(json_object_get(found, "active"), i, row)
		printf("  ok       %s\n", json_string_value(row));
	json_array_foreach(json_object_get(found, "missing"), i, row)
		printf("  missing  %s: %s\n           do: %s\n", cli_doctor_text_of(row, "layer"),
		       cli_doctor_text_of(row, "reason"), cli_doctor_text_of(row, "remedy"));
	puts("\nWhat stays open:");
	json_array_foreach(json_object_get(found, "gaps"), i, row)
		printf("  - %s\n", json_string_value(row));
	if (!strcmp(cli_doctor_text_of(found, "verdict"), BROKEN))
		printf("\n" BROKEN ": %s\n", cli_doctor_why_broken(found));
	else if (json_is_true(json_object_get(found, "ok")))
		puts("\nok: every layer of the profile is active.");
	else
		puts("\nweaker: layers of the profile are missing; commands run without them "
		     "unless sandbox.require names them.");
}

/* CLI_GO_ON: go on; else the exit status. */
static int cli_doctor_read_options(struct cli *cli, bool *json, int argc, char **argv)
{
	static const char *const own[] = { "--json", NULL };

	config_init(&cli->options.config);
	cli->own = own;
	for (int at = 1; at < argc; at++) {
		int status;

		if (!strcmp(argv[at], "--json")) {
			*json = true;
			continue;
		}
		status = cli_take_option(cli, argv, &at);
		if (status != CLI_GO_ON)
			return status;
	}
	return CLI_GO_ON;
}

/* Could a server with these options start in the working directory? */
static bool cli_doctor_can_serve_here(const struct context_options *options)
{
	struct err ignored = ERR_INIT;
	AUTO_FREE char *workspace = workspace_find(NULL, &ignored);
	AUTO_FREE char *state_dir = NULL;
	struct scope *scope = NULL;

	if (workspace)
		scope = scope_new(workspace, options->directories, &ignored);
	if (scope)
		state_dir = workspace_find_state_dir(options->state_dir, scope, &ignored);
	scope_free(scope);
	err_release(&ignored);
	return state_dir != NULL;
}

/* Where no server could start, in the home above all, examine an empty directory made for it. */
static void cli_doctor_choose_workspace(struct cli *cli, char scratch[SCRATCH_SIZE])
{
	memset(stpcpy(scratch, SCRATCH_NAME), 'X', SCRATCH_RANDOM);
	scratch[SCRATCH_SIZE - 1] = '\0';
	if (!cli->options.workspace && !cli_doctor_can_serve_here(&cli->options) &&
	    mkdtemp(scratch))
		cli->options.workspace = scratch;
	else
		*scratch = '\0';
}

static int cli_doctor_print(json_t *found, bool json)
{
	if (json) {
		json_dumpf(found, stdout, JSON_INDENT(2));
		puts("");
	} else {
		cli_doctor_print_text(found);
	}
	if (fflush(stdout) || ferror(stdout))
		return 1;
	return json_is_true(json_object_get(found, "ok")) ? 0 : 1;
}

int cli_doctor(int argc, char **argv)
{
	struct context ctx = { 0 };
	struct cli cli = { 0 };
	struct err e = ERR_INIT;
	char scratch[SCRATCH_SIZE] = "";
	bool json = false;
	int status = cli_doctor_read_options(&cli, &json, argc, argv);
	json_t *found;

	if (status == CLI_GO_ON) {
		cli_doctor_choose_workspace(&cli, scratch);
		if (context_set_up_process(&ctx, &e) || context_open(&ctx, &cli.options, &e)) {
			fprintf(stderr, "procpen doctor: %s. %s\n", e.message, err_hint_text(&e));
			err_release(&e);
			status = 1;
		} else {
			found = cli_doctor_examine(&ctx);
			status = cli_doctor_print(found, json);
			json_decref(found);
		}
		context_close(&ctx);
		if (*scratch)
			rmdir(scratch);
	}
	cli_release(&cli);
	return status;
}
