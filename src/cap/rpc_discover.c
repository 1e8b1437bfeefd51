/* rpc.discover: the OpenRPC document that describes all capabilities. */
#include <string.h>

#include "base/jsonw.h"
#include "gen/caps.h"

static enum cap_outcome rpc_discover_start(struct cap_call *call)
{
	struct jsonw *w = req_result(call->r);

	for (const struct cap_text *member = cap_openrpc; member->name; member++)
		jsonw_raw(w, member->name, member->json, strlen(member->json));
	return CAP_DONE;
}

const struct cap_ops cap_rpc_discover = {
	.start = rpc_discover_start,
};
