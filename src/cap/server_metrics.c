/* server.metrics: a snapshot, and with interval_ms a stream of them. */
#include "base/json.h"
#include "cap/cap.h"

static int server_metrics_prepare(struct cap_call *call, struct err *e)
{
	if (!json_object_get(call->r->params, "interval_ms") || call->r->dialect->events)
		return 0;
	err_invalid(e, "interval_ms",
		    "interval_ms asks for notifications, which MCP has no form for");
	return err_hint(e, "Leave it out and call again for newer figures.");
}

static enum cap_outcome server_metrics_start(struct cap_call *call)
{
	double interval_ms = json_get_num(call->r->params, "interval_ms", 0);

	metrics_write(call->c, req_result(call->r));
	if (interval_ms > 0)
		metrics_stream(call->c, interval_ms);
	return CAP_DONE;
}

const struct cap_ops cap_server_metrics = {
	.prepare = server_metrics_prepare,
	.start = server_metrics_start,
};
