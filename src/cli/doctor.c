#include "cli/doctor.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/version.h"
#include "cap/run_limits.h"
#include "cli/doctor_mode.h"
#include "cli/doctor_text.h"
#include "cli/options.h"
#include "cli/say.h"
#include "os/stdio.h"
#include "server/context.h"
#include "server/workspace.h"
#include "server/sandbox.h"

/* A temporary empty workspace, named as mkdtemp(3) wants it: random characters at the end. */
#define SCRATCH_NAME "/tmp/procpen-doctor."
#define SCRATCH_RANDOM 6
#define SCRATCH_SIZE (sizeof(SCRATCH_NAME) + SCRATCH_RANDOM)

#define PROCESS_SHELL "process.shell"
#define PROFILE_NONE "sandbox.profile=none takes the sandbox away"

/* The findings are collected as the JSON that --json prints; the text is made from it. */
static void cli_doctor_add_text(void *list, const char *text)
{
	json_array_append_new(list, say_json_string(text));
}

static json_t *cli_doctor_lack(const char *layer, const char *reason, const char *remedy)
{
	return json_pack("{s:s, s:o, s:o, s:b}", "layer", layer, "reason",
			 say_json_string(reason), "remedy", say_json_string(remedy), "expected",
			 false);
}

static void cli_doctor_add_missing(void *list, const char *layer, const char *reason,
				   const char *remedy)
{
	json_array_append_new(list, cli_doctor_lack(layer, reason, remedy));
}

static json_t *cli_doctor_machine(void)
{
	struct utsname name;

	if (uname(&name))
		return json_object();
	return json_pack("{s:s, s:s, s:i}", "kernel", name.release, "machine", name.machine, "uid",
			 (int)geteuid());
}

/* ---- the report ---- */

struct report {
	json_t *active, *readonly, *hidden, *missing, *gaps; /* as in the JSON */
	bool broken; /* nothing runs, or no server starts */
	bool files_open, unsandboxed, no_shell;
	bool weaker;     /* a layer is missing ... */
	bool unexpected; /* ... that this kind of machine should have */
	const char *warning; /* commands run as root, and nothing confines them: how */
	const struct cli_doctor_mode *mode;
};

static void cli_doctor_report_init(struct report *r)
{
	*r = (struct report){ .active = json_array(), .readonly = json_array(),
			      .hidden = json_array(), .missing = json_array(),
			      .gaps = json_array() };
}

/* Nothing starts, for the reason in @e, which is released. */
static void cli_doctor_report_failure(struct report *r, struct err *e)
{
	r->broken = true;
	cli_doctor_add_missing(r->missing, CLI_DOCTOR_START, e->message,
			       *e->hint ? e->hint : "try again; see docs/security.md");
	err_release(e);
}

/* ---- layers ---- */

static bool cli_doctor_is_missing(const struct report *r, const char *layer)
{
	const json_t *row;
	size_t i;

	json_array_foreach(r->missing, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "layer")), layer))
			return true;
	return false;
}

/* Layers that are active, or why nothing can run. */
static void cli_doctor_look_at_layers(struct context *ctx, struct report *r)
{
	struct confine_request nothing;
	struct confine_applied usual;
	ERR_LOCAL(e);

	confine_probe_all(ctx->confine);
	if (confine_prepare(ctx->confine, &e)) {
		cli_doctor_report_failure(r, &e);
		return;
	}
	run_limits_usual(&ctx->config, &nothing);
	confine_usual(ctx->confine, &nothing, &usual);
	confine_each_applied(ctx->confine, &usual, cli_doctor_add_text, r->active);
	confine_each_readonly(ctx->confine, cli_doctor_add_text, r->readonly);
	confine_each_hidden(ctx->confine, cli_doctor_add_text, r->hidden);
	confine_each_gap(ctx->confine, cli_doctor_add_text, r->gaps);
	r->unsandboxed = usual.profile == CONFINE_NONE;
	r->files_open = r->unsandboxed || confine_open(ctx->confine);
}

/* Compare what is missing with what this kind of machine has. What the operator has switched off is
 * missed: it need not be. */
static void cli_doctor_judge_layers(struct context *ctx, struct report *r)
{
	bool chosen = !config_bool(&ctx->config, CONFIG_SANDBOX_NAMESPACES);
	struct cli_doctor_trial trial;
	json_t *row;
	size_t i;

	trial = (struct cli_doctor_trial){
		.no_namespaces = !chosen && cli_doctor_is_missing(r, "pid_namespace") &&
				 cli_doctor_is_missing(r, "mount_namespace"),
		.control_groups = !cli_doctor_is_missing(r, "cgroup"),
	};
	r->mode = cli_doctor_mode_find(&trial);
	json_array_foreach(r->missing, i, row) {
		const char *layer = json_string_value(json_object_get(row, "layer"));
		bool counts = cli_doctor_mode_counts(layer);
		bool expected = !counts || (cli_doctor_mode_lacks(r->mode, layer) &&
					    !(chosen && strstr(layer, "_namespace")));

		json_object_set_new(row, "expected", json_boolean(expected));
		r->weaker |= counts;
		r->unexpected |= !expected;
	}
}

/* A server starts with such a shell, because programs with their arguments need none. Its row comes
 * first: the text may leave out the last one, see cli_doctor_print_missing(). */
static void cli_doctor_look_at_shell(const struct context *ctx, struct report *r)
{
	AUTO_FREE char *doubt = run_shell_new_doubt(&ctx->shell, &ctx->config, ctx->scope);

	r->no_shell = doubt;
	if (doubt)
		json_array_insert_new(r->missing, 0,
				      cli_doctor_lack(PROCESS_SHELL, doubt,
						      "name another shell with " PROCESS_SHELL));
}

/* Options that cannot be followed stop a server; so may the machine, see confine_warning(). */
static void cli_doctor_look_at(struct context *ctx, struct report *r)
{
	const struct confine_request usual = { 0 };

	cli_doctor_look_at_layers(ctx, r);
	sandbox_each_unmet(&ctx->config, ctx->confine, cli_doctor_add_missing, r->missing);
	r->broken = json_array_size(r->missing);
	if (sandbox_runs_as_root(&ctx->config))
		r->warning = r->unsandboxed ? PROFILE_NONE ", and commands run as root"
					    : confine_warning(ctx->confine, &usual);
	confine_each_missing(ctx->confine, cli_doctor_add_missing, r->missing);
	if (json_array_size(r->active))
		cli_doctor_judge_layers(ctx, r);
	cli_doctor_look_at_shell(ctx, r);
}

/* ---- verdict ---- */

static const char *cli_doctor_verdict(const struct report *r)
{
	if (r->broken || r->warning)
		return "broken";
	return r->weaker || r->unsandboxed || r->no_shell ? "weaker" : "ok";
}

static bool cli_doctor_is_satisfied(const struct report *r)
{
	return !r->broken && !r->warning && !r->unexpected && !r->unsandboxed && !r->files_open &&
	       !r->no_shell;
}

static const char *cli_doctor_summary(const struct report *r)
{
	if (r->broken)
		return "no server starts and no command runs until this is repaired";
	if (r->warning)
		return r->warning;
	if (r->unsandboxed)
		return PROFILE_NONE;
	if (r->files_open)
		return CONFINE_OPEN;
	if (r->unexpected)
		return "commands run without layers that this kind of machine should have";
	if (r->no_shell)
		return "the shell for command lines is missing, or commands could replace it";
	if (r->weaker)
		return "commands run with the layers that this kind of machine can have";
	return json_array_size(r->missing) ? "commands get every layer of the profile, or what "
					     "stands in for it"
					   : "commands get every layer of the profile";
}

/* ---- as JSON ---- */

static json_t *cli_doctor_path(const char *path)
{
	return path ? say_json_string(path) : json_null();
}

static json_t *cli_doctor_places(const struct context *ctx, const char *problem)
{
	struct rlimit now = { 0 };

	getrlimit(RLIMIT_NOFILE, &now);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:{s:I, s:i}}", "workspace",
			 cli_doctor_path(ctx->scope ? scope_workspace(ctx->scope) : NULL),
			 "workspace_problem", cli_doctor_path(problem), "state_directory",
			 cli_doctor_path(ctx->state_dir), "git_common_directory",
			 cli_doctor_path(ctx->git_common_dir), "shell",
			 cli_doctor_path(ctx->shell.path), "descriptors", "limit",
			 (json_int_t)(now.rlim_cur == RLIM_INFINITY ? INT64_MAX
								    : (int64_t)now.rlim_cur),
			 "needed", CONTEXT_DESCRIPTORS_MIN);
}

/* Takes over what @r holds. */
static json_t *cli_doctor_found(const struct context *ctx, const struct report *r,
				const char *problem)
{
	const char *mode = r->mode ? cli_doctor_mode_name(r->mode) : NULL;
	json_t *places = cli_doctor_places(ctx, problem), *found;

	found = json_pack("{s:s, s:o, s:o, s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o}", "version",
			  PROCPEN_VERSION, "machine", cli_doctor_machine(), "environment",
			  cli_doctor_path(mode), "verdict", cli_doctor_verdict(r), "summary",
			  cli_doctor_summary(r), "ok", cli_doctor_is_satisfied(r), "files_open",
			  r->files_open, "active", r->active, "readonly", r->readonly, "hidden",
			  r->hidden, "missing", r->missing, "gaps", r->gaps);
	json_object_update(found, places);
	json_decref(places);
	return found;
}

/* Why no command could run in the working directory with these options, in @e: -1; else 0. */
static int cli_doctor_try_here(const struct context_options *options, struct err *e)
{
	AUTO_FREE char *workspace = workspace_find(NULL, e);
	AUTO_FREE char *state_dir = NULL;
	struct scope *scope = NULL;

	if (workspace)
		scope = scope_new(workspace, options->directories, e);
	if (scope)
		state_dir = workspace_find_state_dir(options->state_dir, scope, e);
	scope_free(scope);
	return state_dir ? 0 : -1;
}

/* Where no command could run, in the home above all, examine an empty directory made for it, and
 * keep the reason in @problem. */
static int cli_doctor_open(struct context *ctx, struct context_options *options,
			   char scratch[SCRATCH_SIZE], struct err *problem, struct err *e)
{
	memset(stpcpy(scratch, SCRATCH_NAME), 'X', SCRATCH_RANDOM);
	scratch[SCRATCH_SIZE - 1] = '\0';
	if (!options->workspace && cli_doctor_try_here(options, problem) && mkdtemp(scratch))
		options->workspace = scratch;
	else
		*scratch = '\0';
	return context_open(ctx, options, e);
}

/* What is not there in @scratch is missing nowhere. */
static void cli_doctor_drop_gaps_in(const char *scratch, json_t *gaps)
{
	for (size_t i = json_array_size(gaps); i--;)
		if (strstr(json_string_value(json_array_get(gaps, i)), scratch))
			json_array_remove(gaps, i);
}

static json_t *cli_doctor_examine(struct context *ctx, struct context_options *options)
{
	ERR_LOCAL(e);
	ERR_LOCAL(problem);
	char scratch[SCRATCH_SIZE] = "";
	AUTO_FREE char *text = NULL;
	struct report r;
	json_t *found;

	cli_doctor_report_init(&r);
	if (context_set_up_process(ctx, options, &e) || stdio_guard(&e) ||
	    cli_doctor_open(ctx, options, scratch, &problem, &e))
		cli_doctor_report_failure(&r, &e);
	else
		cli_doctor_look_at(ctx, &r);
	if (*scratch)
		cli_doctor_drop_gaps_in(scratch, r.gaps);
	if (problem.type && !r.broken)
		text = mem_printf("%s. %s", problem.message, problem.hint);
	found = cli_doctor_found(ctx, &r, text);
	if (*scratch && r.broken) /* nothing was seen there, and it is removed */
		json_object_set_new(found, "workspace", json_null());
	context_close(ctx);
	if (*scratch)
		rmdir(scratch);
	err_release(&problem);
	return found;
}

static int cli_doctor_print(const struct cli_command *command, const json_t *found, bool json)
{
	if (json)
		say_json(found);
	else
		cli_doctor_print_text(found);
	if (say_flush(command))
		return 1;
	return json_is_true(json_object_get(found, "ok")) ? 0 : 1;
}

static int cli_doctor_carry_out(const struct cli_command *command, struct options *o)
{
	struct context ctx = { 0 };
	json_t *found;
	int status;

	if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
		fputs("procpen doctor: stdout is closed, so nobody can read the report\n", stderr);
		return 1;
	}
	found = cli_doctor_examine(&ctx, &o->context);
	status = cli_doctor_print(command, found, o->json);
	json_decref(found);
	return status;
}

int cli_doctor(const struct cli_command *command, char **argv)
{
	struct cmdline given;
	struct options o;
	int status;

	options_init(&o);
	status = cmdline_read(&given, command, argv, options_take, &o);
	if (status == CMDLINE_GO_ON && given.words[0])
		status = say_mistake(command, "takes no word, only options: %s", given.words[0]);
	if (status == CMDLINE_GO_ON)
		status = cli_doctor_carry_out(command, &o);
	options_release(&o);
	return status;
}
