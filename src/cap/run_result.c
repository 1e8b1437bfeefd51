#include "cap/run_result.h"

#include <string.h>

#include "base/json.h"
#include "cap/denied_calls.h"
#include "cap/run_limits.h"
#include "cap/run_log.h"
#include "cap/run_members.h"
#include "cap/run_warnings.h"
#include "proc/input_wait.h"

static bool run_result_is_given(const struct req *r, const char *name)
{
	return json_object_get(r->params, name);
}

#define ONLY_TIGHTEN ", and a request can only tighten"

/* What was asked for by name and would loosen. Neither parameter has a default in its schema, so no
 * host fills these in. */
static void run_result_read_ignored(struct run_result_options *v, const struct req *r)
{
	const struct config *config = r->call->c->config;
	bool strict = !strcmp(config_choice(config, CONFIG_SANDBOX_PROFILE), "strict");
	const char *profile = json_get_str(r->params, "profile", "");

	v->profile_ignored = strict && !strcmp(profile, "default");
	if (!json_get_bool(r->params, "network", false))
		return;
	if (strict)
		v->network_ignored = "here sandbox.profile is strict" ONLY_TIGHTEN;
	else if (!config_bool(config, CONFIG_SANDBOX_NETWORK))
		v->network_ignored = "here sandbox.network is false" ONLY_TIGHTEN;
	else if (!strcmp(profile, "strict"))
		v->network_ignored = "profile: strict has no network";
}

void run_result_options_read(struct run_result_options *v, const struct req *r)
{
	const struct config *config = r->call->c->config;
	int64_t most = (int64_t)r->dialect->summary_bytes;
	int64_t bytes = config_int(config, CONFIG_PROCESS_MAX_OUTPUT_BYTES);
	int64_t lines = json_get_int(r->params, "stdout_lines",
				     config_int(config, CONFIG_PROCESS_STDOUT_LINES));

	bytes = json_get_int(r->params, "max_output_bytes", bytes < most ? bytes : most);

	v->out.lines = (uint64_t)lines;
	v->err.lines = (uint64_t)json_get_int(r->params, "stderr_lines", lines);
	v->out.max_bytes = v->err.max_bytes = (size_t)bytes;
	v->out.max_encoded = v->err.max_encoded = req_text_bytes(r) / 2;
	v->cleans = r->dialect->cleans;
	v->explain = json_get_bool(r->params, "explain_denials", false);
	v->by_default = !run_result_is_given(r, "stdout_lines") &&
			!run_result_is_given(r, "stderr_lines") &&
			!run_result_is_given(r, "max_output_bytes");
	run_result_read_ignored(v, r);
}

static void run_result_write_layer(void *ctx, const char *layer)
{
	jsonw_str(ctx, NULL, layer);
}

static void run_result_write_sandbox(struct jsonw *w, const struct cap *c, const struct proc *p)
{
	jsonw_array(w, "sandbox");
	confine_each_applied(c->confine, &p->settings->applied, run_result_write_layer, w);
	limits_each(&p->settings->limits, run_result_write_layer, w);
	jsonw_end_array(w);
}

static void run_result_write_output(struct jsonw *w, const struct proc *p,
				    struct run_result_options *v)
{
	bool final = p->phase == PROC_SETTLED, out_cut, err_cut;

	v->out.final = v->err.final = final;
	v->out.clean = v->cleans && p->out.range->screen.cols;
	out_cut = output_write_tail(&p->out, w, "stdout_summary", &v->out);
	err_cut = output_write_tail(&p->err, w, "stderr_summary", &v->err);
	jsonw_int(w, "stdout_size", (int64_t)p->out.total);
	jsonw_int(w, "stderr_size", (int64_t)p->err.total);
	jsonw_bool(w, "stdout_truncated", out_cut);
	jsonw_bool(w, "stderr_truncated", err_cut);
}

static void run_result_look_at_input(struct proc *p, struct run_result_options *v)
{
	v->input_open = proc_takes_input(p);
	v->input_awaited = v->input_open && input_wait_of(p, proc_usage(p)) == INPUT_WAIT_YES;
}

void run_result_write(struct jsonw *w, const struct cap *c, struct proc *p,
		      struct run_result_options *v)
{
	run_members_head(w, p, RUN_MEMBERS_COMMAND_MAX);
	jsonw_bool(w, "success", proc_exit_code(p) == 0);
	jsonw_bool(w, "timed_out", p->state == PROC_STATE_TIMED_OUT);
	run_result_write_output(w, p, v);
	run_result_look_at_input(p, v);
	run_members_times(w, p);
	run_members_usage(w, proc_usage(p));
	run_members_pid(w, p);
	run_members_tree(w, p);
	if (v->keyed)
		jsonw_bool(w, "replayed", v->replayed);
	if (p->rare->stdin_unread)
		jsonw_int(w, "stdin_unread", (int64_t)p->rare->stdin_unread);
	run_log_members(w, p);
	run_result_write_sandbox(w, c, p);
	run_warnings_write(w, c, p, v);
	denied_calls_write(w, p);
}

bool run_result_is_failure(const struct proc *p, struct err *e)
{
	if (p->phase != PROC_SETTLED || !run_limits_struck(p))
		return false;
	run_limits_error(p, e);
	return true;
}

void run_result_error(const struct proc *p, struct err *e)
{
	*e = *p->rare->failure;
	json_incref(e->details);
	if (p->replaced)
		err_set(e, ERR_PROCESS_NOT_FOUND, "%s never began, and its command was started "
						  "once more, under another id", p->id);
}

void run_result_fail(struct req *r, const struct proc *p)
{
	struct err e;

	run_result_error(p, &e);
	req_fail(r, &e);
}
