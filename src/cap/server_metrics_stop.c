/* server.metrics.stop: ends the stream of server.metrics. */
#include "cap/cap.h"

static enum cap_outcome server_metrics_stop_start(struct cap_call *call)
{
	bool stopped = metrics_stop(call->c);

	jsonw_bool(req_result(call->r), "stopped", stopped);
	return CAP_DONE;
}

const struct cap_ops cap_server_metrics_stop = {
	.start = server_metrics_stop_start,
};
