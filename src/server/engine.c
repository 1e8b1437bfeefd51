#include "server/engine.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/version.h"
#include "server/place.h"
#include "server/sandbox.h"

void engine_set_up_process(struct engine *n)
{
	struct rlimit raised;

	signal(SIGPIPE, SIG_IGN); /* a reader that is gone is an error code */
	signal(SIGTTOU, SIG_IGN); /* a line to our terminal must not stop a background job */
	signal(SIGXFSZ, SIG_IGN); /* a file size limit of ours likewise, in the audit log */
	umask(077);
	if (!getrlimit(RLIMIT_NOFILE, &n->nofile)) {
		raised = n->nofile;
		raised.rlim_cur = raised.rlim_max;
		setrlimit(RLIMIT_NOFILE, &raised);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* Memory of ours is nobody else's business; leak checkers must look at it, though. */
static void hide_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__)
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

static int open_place(struct engine *n, const struct engine_options *options, struct err *e)
{
	AUTO_FREE char *workspace = place_workspace(options->workspace, e);

	if (!workspace)
		return -1;
	n->scope = scope_new(workspace, options->directories, e);
	if (!n->scope)
		return -1;
	n->state_dir = place_state_dir(options->state_dir, n->scope, e);
	return n->state_dir ? 0 : -1;
}

int engine_open(struct engine *n, struct engine_options *options, struct err *e)
{
	n->config = options->config;
	options->config = (struct config){ 0 };
	if (sandbox_check(&n->config, e) || open_place(n, options, e) ||
	    sandbox_check_record(&n->config, n->state_dir, e))
		return -1;
	hide_memory();
	ids_instance(n->instance);
	n->audit = audit_new(n->state_dir, n->instance);
	n->loop = loop_new();
	n->reaper = reaper_new(n->loop);
	n->confine = sandbox_new(&n->config, &(struct sandbox_place){
		.scope = n->scope, .state_dir = n->state_dir, .instance = n->instance,
		.reaper = n->reaper, .nofile = n->nofile,
	});
	return 0;
}

int engine_check(struct engine *n, struct err *e)
{
	return sandbox_check_machine(&n->config, n->confine, e);
}

struct cap engine_cap(const struct engine *n, struct proctab *procs, struct reqtab *reqs)
{
	return (struct cap){
		.rows = cap_rows,
		.loop = n->loop,
		.config = &n->config,
		.scope = n->scope,
		.audit = n->audit,
		.procs = procs,
		.confine = n->confine,
		.reqs = reqs,
		.instance = n->instance,
		.version = PROCPEN_VERSION,
	};
}

void engine_stop(struct engine *n)
{
	if (!n->loop)
		return;
	confine_free(n->confine); /* it may have a child to be waited for */
	reaper_free(n->reaper);
	n->reaper = NULL;
	n->confine = NULL;
}

void engine_close(struct engine *n)
{
	engine_stop(n);
	if (n->loop)
		loop_free(n->loop);
	audit_free(n->audit);
	free(n->state_dir);
	scope_free(n->scope);
	config_release(&n->config);
	n->loop = NULL;
}
