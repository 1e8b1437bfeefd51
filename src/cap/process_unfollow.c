/* process.unfollow: ends a follow. Its events precede the answer in the one queue to the client. */
#include "base/json.h"
#include "cap/cap.h"

static enum cap_outcome process_unfollow_start(struct cap_call *call)
{
	struct req *r = call->r;
	const char *id = json_get_str(r->params, "follow_id", "");

	jsonw_bool(req_result(r), "closed", follow_remove(&call->c->follows, id));
	return CAP_DONE;
}

const struct cap_ops cap_process_unfollow = {
	.start = process_unfollow_start,
};
