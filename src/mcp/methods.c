#include "mcp/methods.h"

#include <string.h>

#include "mcp/call.h"
#include "mcp/resources.h"
#include "mcp/subs.h"
#include "mcp/tasks.h"

static const struct mcp_method methods[] = {
	{ "tools/call", mcp_call_tool, .handshake = true, .stateless = true },
	{ "tools/list", mcp_call_list, .handshake = true, .stateless = true },
	{ "resources/list", mcp_resources_list, .handshake = true, .stateless = true },
	{ "resources/templates/list", mcp_resources_templates, .handshake = true,
	  .stateless = true },
	{ "resources/read", mcp_call_read, .handshake = true, .stateless = true },
	{ "resources/subscribe", mcp_subs_subscribe, .handshake = true },
	{ "resources/unsubscribe", mcp_subs_unsubscribe, .handshake = true },
	{ "subscriptions/listen", mcp_subs_listen, .stateless = true },
	{ "tasks/get", mcp_tasks_get, .stateless = true },
	{ "tasks/update", mcp_tasks_update, .stateless = true },
	{ "tasks/cancel", mcp_tasks_cancel, .stateless = true },
	{ .name = NULL },
};

/* The method called @name in @table (NULL: an empty one), or NULL. */
static const struct mcp_method *mcp_find_method(const struct mcp_method *table, const char *name)
{
	for (; table && table->name; table++)
		if (!strcmp(name, table->name))
			return table;
	return NULL;
}

bool mcp_serve(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision)
{
	const struct mcp_method *method = mcp_find_method(mcp_offer.methods, message->method);

	if (!method)
		method = mcp_find_method(methods, message->method);
	if (!method || !(mcp_shapes[revision].stateless ? method->stateless : method->handshake))
		return false;
	method->call(m, message, revision);
	return true;
}
