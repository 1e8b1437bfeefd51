#include "server/context.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/version.h"
#include "os/sandbox/mount_alias.h"
#include "policy/env.h"
#include "policy/git_config.h"
#include "policy/worktree.h"
#include "server/sandbox.h"
#include "server/workspace.h"

#define SPOOLS_MIN 16

#define PROCESSES_DOUBTED 64
#define LOOK_FURTHER 16 /* descriptors that a host may have left open to us */

/* Are CONTEXT_DESCRIPTORS_MIN of the lowest numbers free, as at nearly every start? One call tells:
 * poll(2) reports POLLNVAL for them. It fails if it is asked for more numbers than the limit. */
static bool context_has_free(void)
{
	struct pollfd looks[CONTEXT_DESCRIPTORS_MIN + LOOK_FURTHER];
	int count = 0;

	for (size_t i = 0; i < COUNT_OF(looks); i++)
		looks[i] = (struct pollfd){ .fd = (int)i };
	if (poll(looks, COUNT_OF(looks), 0) < 0)
		return false;
	for (size_t i = 0; i < COUNT_OF(looks); i++)
		count += looks[i].revents & POLLNVAL ? 1 : 0;
	return count >= CONTEXT_DESCRIPTORS_MIN;
}

/* How many descriptors does the limit allow yet? Counts up to CONTEXT_DESCRIPTORS_MIN. */
static int context_count_free(void)
{
	int held[CONTEXT_DESCRIPTORS_MIN], count = 0, error = 0;

	for (; count < CONTEXT_DESCRIPTORS_MIN; count++) {
		held[count] = count ? dup(held[0]) : open("/", O_PATH | O_CLOEXEC);
		if (held[count] < 0) {
			error = errno;
			break;
		}
	}
	for (int i = 0; i < count; i++)
		close(held[i]);
	return error && error != EMFILE ? CONTEXT_DESCRIPTORS_MIN : count;
}

static int context_check_descriptors(struct err *e)
{
	struct rlimit limit = { 0 };
	int left = context_has_free() ? CONTEXT_DESCRIPTORS_MIN : context_count_free();

	if (left == CONTEXT_DESCRIPTORS_MIN)
		return 0;
	getrlimit(RLIMIT_NOFILE, &limit);
	err_set(e, ERR_LIMIT_REACHED,
		"too few files may be open at once: the limit is %lu, which leaves %d, and "
		"commands need %d", (unsigned long)limit.rlim_cur, left, CONTEXT_DESCRIPTORS_MIN);
	return err_hint(e, "Raise the limit where procpen is started: `ulimit -n 1024`, or "
			   "LimitNOFILE=1024 in a systemd unit.");
}

int context_check_config(const struct config *config, struct rulebook *book, struct err *e)
{
	const char *shell = *config_names(config, CONFIG_PROCESS_SHELL);
	const char *sink = *config_names(config, CONFIG_AUDIT_SINK);

	if (shell && run_shell_check_name(shell, e) &&
	    config_fault_in(config, CONFIG_PROCESS_SHELL, e))
		return -1;
	if (sink && audit_sink_check(sink, e) && config_fault_in(config, CONFIG_AUDIT_SINK, e))
		return -1;
	if (book ? rulebook_open(book, config, e) : rulebook_check(config, e))
		return -1;
	return sandbox_check(config, e);
}

/* A command could write it by another name: a container may mount a file of the workspace there. */
static void context_add_names(struct config_file *file)
{
	char *path = file->path ? realpath(file->path, NULL) : NULL, *paths[] = { path, NULL };
	char **names = path ? mount_alias_find(paths) : NULL;

	for (char **name = names; name && *name; name++)
		config_file_add_name(file, *name);
	mem_list_free(names);
	free(path);
}

/* Once. Leaves no descriptor open. */
static int context_read_config(struct context *ctx, struct context_options *options, struct err *e)
{
	if (ctx->configured)
		return 0;
	ctx->configured = true;
	ctx->config = options->config;
	options->config = (struct config){ 0 };
	if (config_load(&ctx->config, options->config_file, &ctx->config_files, e))
		return -1;
	for (size_t i = 0; i < CONFIG_FILES; i++)
		context_add_names(&ctx->config_files.files[i]);
	return context_check_config(&ctx->config, &ctx->book, e);
}

static int context_take_sink(struct context *ctx, struct err *e)
{
	char *const *sink = config_names(&ctx->config, CONFIG_AUDIT_SINK);

	if (!*sink)
		return 0;
	ctx->sink = audit_sink_new(*sink, e);
	return ctx->sink ? 0 : config_fault_in(&ctx->config, CONFIG_AUDIT_SINK, e);
}

int context_set_up_process(struct context *ctx, struct context_options *options, struct err *e)
{
	struct rlimit raised;

	if (context_read_config(ctx, options, e) || context_take_sink(ctx, e))
		return -1;
	signal(SIGPIPE, SIG_IGN); /* write(2) returns EPIPE instead */
	signal(SIGTTOU, SIG_IGN); /* a line to our terminal must not stop a background job */
	signal(SIGXFSZ, SIG_IGN); /* write(2) to the audit log returns EFBIG instead */
	umask(077);
	if (!getrlimit(RLIMIT_NOFILE, &ctx->nofile)) {
		raised = ctx->nofile;
		raised.rlim_cur = raised.rlim_max;
		setrlimit(RLIMIT_NOFILE, &raised);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	return context_check_descriptors(e);
}

/* Keep other processes of this user from reading our memory. Leak checkers need to read it. */
static void context_hide_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__)
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

static enum tier context_own_tier(const char *capability)
{
	const struct cap_row *row = cap_rows;

	while (strcmp(row->name, capability))
		row++;
	return row->tier;
}

/* Narrow the options by the file of the project, and name on stderr what of it was ignored. */
static void context_read_project(struct context *ctx)
{
	struct project *p = &ctx->project;

	project_release(p);
	project_read(p, &ctx->config, ctx->scope, context_own_tier);
	ctx->book.project = &p->rules;
	for (char *const *text = p->ignored; *text; text++)
		log_warn("ignored: %s", *text);
	if (p->ignored_count > PROJECT_NOTES_MAX)
		log_warn("ignored: %zu more of " PROJECT_FILE,
			 p->ignored_count - PROJECT_NOTES_MAX);
}

static void context_warn(void *ctx, const char *text)
{
	(void)ctx;
	log_warn("%s", text);
}

static int context_find_state_dir(struct context *ctx, const struct context_options *options,
				  struct err *e)
{
	ctx->state_dir = workspace_find_state_dir(options->state_dir, ctx->scope, e);
	return ctx->state_dir ? sandbox_check_record(&ctx->config, ctx->state_dir, e) : -1;
}

static int context_check_workspace(struct context *ctx, const struct context_options *options,
				   struct err *e)
{
	bool usable = ctx->scope && !workspace_check(ctx->scope, e) &&
		      !config_files_check(&ctx->config_files, &ctx->config, ctx->scope, e);

	if (usable && !context_find_state_dir(ctx, options, e))
		return 0;
	if (!options->only_judges)
		return -1;
	err_release(&ctx->no_workspace);
	ctx->no_workspace = *e;
	err_init(e);
	if (!ctx->state_dir) /* nothing is written there */
		ctx->state_dir = mem_strdup("/nonexistent");
	if (usable) /* a verdict depends on it, such as on its project's rules */
		return 0;
	scope_free(ctx->scope);
	ctx->scope = scope_new(NULL, NULL, e);
	return ctx->scope ? 0 : -1;
}

static int context_open_scope(struct context *ctx, const struct context_options *options,
			      struct err *e)
{
	AUTO_FREE char *workspace = workspace_find(options->workspace, e);

	if (!workspace && !options->may_lack_workspace)
		return -1;
	if (!workspace) {
		ctx->no_workspace = *e;
		err_init(e);
	}
	ctx->directories = options->directories;
	ctx->scope = scope_new(workspace, options->directories, e);
	if (context_check_workspace(ctx, options, e))
		return -1;
	context_read_project(ctx);
	return 0;
}

/* What depends on the workspace beside the scope. */
static void context_build_sandbox(struct context *ctx)
{
	ctx->git_common_dir = scope_workspace(ctx->scope) ? worktree_common_dir(ctx->scope) : NULL;
	ctx->git_config = git_config_new(ctx->scope);
	ctx->env_base = env_base_new(&ctx->config, ctx->shell.path);
	ctx->confine = sandbox_new(&ctx->config, &(struct sandbox_inputs){
		.scope = ctx->scope, .state_dir = ctx->state_dir, .instance = ctx->instance,
		.reaper = ctx->reaper, .loop = ctx->loop, .own = &ctx->own, .nofile = ctx->nofile,
	});
}

int context_open(struct context *ctx, struct context_options *options, struct err *e)
{
	if (context_read_config(ctx, options, e) || context_open_scope(ctx, options, e) ||
	    run_shell_choose(&ctx->shell, &ctx->config, ctx->scope, e))
		return -1;
	rulebook_each_idle(&ctx->book, &ctx->config, context_warn, NULL);
	context_hide_memory();
	json_text_seed();
	ids_instance(ctx->instance);
	ctx->audit = audit_new(ctx->state_dir, ctx->instance);
	audit_set_sink(ctx->audit, ctx->sink);
	ctx->sink = NULL;
	audit_set_bounds(ctx->audit, &(struct audit_bounds){
		.file_bytes = config_int(&ctx->config, CONFIG_AUDIT_FILE_BYTES),
		.keep_days = config_int(&ctx->config, CONFIG_AUDIT_KEEP_DAYS),
		.total_bytes = config_int(&ctx->config, CONFIG_AUDIT_TOTAL_BYTES),
	});
	ctx->loop = loop_new();
	ctx->reaper = reaper_new(ctx->loop);
	ctx->own = (struct cgroup_own)CGROUP_OWN_INIT;
	context_build_sandbox(ctx);
	return 0;
}

/* May this user have so few processes that a trial is worth its milliseconds at every start? The
 * limit counts all processes of the user, so only a trial tells; root is not held to it. */
static bool context_doubts_processes(void)
{
	struct rlimit limit;

	return geteuid() && !getrlimit(RLIMIT_NPROC, &limit) && limit.rlim_cur < PROCESSES_DOUBTED;
}

int context_check(struct context *ctx, struct err *e)
{
	/* The cheapest name there: the scope has looked its descriptors up below it. */
	bool lacks_proc = access("/proc/self/fd", X_OK);

	if ((lacks_proc || context_doubts_processes()) && confine_prepare(ctx->confine, e))
		return -1;
	return sandbox_check_machine(&ctx->config, ctx->confine, e);
}

/* Could @scope be that of a server in its workspace? @shell: of its commands, made here. */
static int context_check_scope(const struct context *ctx, const struct scope *scope,
			       struct run_shell *shell, struct err *e)
{
	AUTO_FREE char *state_dir = NULL;

	if (workspace_is_too_wide(scope_workspace(scope)))
		return err_set(e, ERR_INVALID_PARAMS, "%.400s is too wide to be one",
			       scope_workspace(scope));
	if (workspace_check(scope, e) ||
	    config_files_check(&ctx->config_files, &ctx->config, scope, e))
		return -1;
	state_dir = workspace_find_state_dir(ctx->state_dir, scope, e);
	return state_dir ? run_shell_choose(shell, &ctx->config, scope, e) : -1;
}

int context_set_workspace(struct context *ctx, const char *path, struct err *e)
{
	struct scope *scope = scope_new(path, ctx->directories, e);
	struct run_shell shell = { 0 };

	if (!scope)
		return -1;
	if (context_check_scope(ctx, scope, &shell, e)) {
		scope_free(scope);
		return -1;
	}
	confine_free(ctx->confine);
	run_shell_release(&ctx->shell);
	free(ctx->git_common_dir);
	git_config_free(ctx->git_config);
	free(ctx->env_base);
	scope_free(ctx->scope);
	ctx->scope = scope;
	ctx->shell = shell;
	context_read_project(ctx);
	context_build_sandbox(ctx);
	if (context_check(ctx, e))
		return -1;
	err_release(&ctx->no_workspace);
	err_init(&ctx->no_workspace);
	return 0;
}

struct cap context_cap(const struct context *ctx, struct proctab *procs, struct reqtab *reqs)
{
	return (struct cap){
		.no_workspace = ctx->no_workspace.type ? &ctx->no_workspace : NULL,
		.loop = ctx->loop,
		.config = &ctx->config,
		.project = &ctx->project,
		.book = &ctx->book,
		.scope = ctx->scope,
		.git_common_dir = ctx->git_common_dir,
		.git_config = ctx->git_config,
		.shell = &ctx->shell,
		.env_base = ctx->env_base,
		.audit = ctx->audit,
		.procs = procs,
		.confine = ctx->confine,
		.reqs = reqs,
		.rows = cap_rows,
		.instance = ctx->instance,
		.version = PROCPEN_VERSION,
		.metrics.start_ms = clock_mono_ms(),
	};
}

/* Descriptors for the logs of finished runs: all but ours and eight for each running one, which are
 * three pipes, a socket, three of a control group that has served others, and one to start. */
static int context_spools_max(const struct context *ctx)
{
	int64_t running = config_int(&ctx->config, CONFIG_LIMITS_RUNNING_PROCESSES);
	rlim_t hard = ctx->nofile.rlim_max;
	int64_t left = (hard < INT32_MAX ? (int64_t)hard : INT32_MAX) - 8 * running - 64;

	return left < SPOOLS_MIN ? SPOOLS_MIN : (int)left;
}

struct proctab_options context_runs(const struct context *ctx)
{
	const struct config *c = &ctx->config;

	return (struct proctab_options){
		.running_max = (int)config_int(c, CONFIG_LIMITS_RUNNING_PROCESSES),
		.finished_max = (int)config_int(c, CONFIG_LIMITS_FINISHED_RECORDS),
		.head_bytes = (uint64_t)config_int(c, CONFIG_LOG_HEAD_BYTES),
		.tail_bytes = (uint64_t)config_int(c, CONFIG_LOG_TAIL_BYTES),
		.budget_bytes = (uint64_t)config_int(c, CONFIG_LOG_BUDGET_BYTES),
		.own = &ctx->own,
		.stdin_max = (size_t)config_int(c, CONFIG_LIMITS_STDIN_BYTES),
		.drain_ms = (int)config_int(c, CONFIG_PROCESS_DRAIN_MS),
		.spools_max = context_spools_max(ctx),
		.ahead = config_bool(c, CONFIG_SANDBOX_AHEAD),
	};
}

void context_stop(struct context *ctx)
{
	if (!ctx->loop)
		return;
	confine_free(ctx->confine); /* may have to wait for a child, so before the reaper */
	reaper_free(ctx->reaper);
	ctx->reaper = NULL;
	ctx->confine = NULL;
}

void context_close(struct context *ctx)
{
	context_stop(ctx);
	if (ctx->loop) {
		cgroup_own_close(&ctx->own);
		loop_free(ctx->loop);
	}
	audit_sink_free(ctx->sink);
	audit_free(ctx->audit);
	free(ctx->state_dir);
	run_shell_release(&ctx->shell);
	free(ctx->git_common_dir);
	git_config_free(ctx->git_config);
	free(ctx->env_base);
	scope_free(ctx->scope);
	err_release(&ctx->no_workspace);
	rulebook_release(&ctx->book);
	project_release(&ctx->project);
	config_files_release(&ctx->config_files);
	config_release(&ctx->config);
	ctx->loop = NULL;
}
