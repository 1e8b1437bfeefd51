#include "server/context.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/version.h"
#include "policy/worktree.h"
#include "server/sandbox.h"
#include "server/workspace.h"

void context_set_up_process(struct context *ctx)
{
	struct rlimit raised;

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
}

/* Keep other processes of this user from reading our memory. Leak checkers need to read it. */
static void context_hide_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__)
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

static int context_open_scope(struct context *ctx, const struct context_options *options,
			      struct err *e)
{
	AUTO_FREE char *workspace = workspace_find(options->workspace, e);

	if (!workspace)
		return -1;
	ctx->scope = scope_new(workspace, options->directories, e);
	if (!ctx->scope)
		return -1;
	ctx->state_dir = workspace_find_state_dir(options->state_dir, ctx->scope, e);
	return ctx->state_dir ? 0 : -1;
}

int context_open(struct context *ctx, struct context_options *options, struct err *e)
{
	ctx->config = options->config;
	options->config = (struct config){ 0 };
	if (sandbox_check(&ctx->config, e) || context_open_scope(ctx, options, e) ||
	    sandbox_check_record(&ctx->config, ctx->state_dir, e) ||
	    run_shell_choose(&ctx->shell, &ctx->config, ctx->scope, e))
		return -1;
	context_hide_memory();
	ctx->git_common_dir = worktree_common_dir(ctx->scope);
	ids_instance(ctx->instance);
	ctx->audit = audit_new(ctx->state_dir, ctx->instance);
	ctx->loop = loop_new();
	ctx->reaper = reaper_new(ctx->loop);
	ctx->confine = sandbox_new(&ctx->config, &(struct sandbox_inputs){
		.scope = ctx->scope, .state_dir = ctx->state_dir, .instance = ctx->instance,
		.reaper = ctx->reaper, .nofile = ctx->nofile,
	});
	return 0;
}

int context_check(struct context *ctx, struct err *e)
{
	return sandbox_check_machine(&ctx->config, ctx->confine, e);
}

struct cap context_cap(const struct context *ctx, struct proctab *procs, struct reqtab *reqs)
{
	return (struct cap){
		.loop = ctx->loop,
		.config = &ctx->config,
		.scope = ctx->scope,
		.git_common_dir = ctx->git_common_dir,
		.shell = &ctx->shell,
		.audit = ctx->audit,
		.procs = procs,
		.confine = ctx->confine,
		.reqs = reqs,
		.rows = cap_rows,
		.instance = ctx->instance,
		.version = PROCPEN_VERSION,
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
	if (ctx->loop)
		loop_free(ctx->loop);
	audit_free(ctx->audit);
	free(ctx->state_dir);
	run_shell_release(&ctx->shell);
	free(ctx->git_common_dir);
	scope_free(ctx->scope);
	config_release(&ctx->config);
	ctx->loop = NULL;
}
