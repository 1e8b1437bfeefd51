/* The methods that MCP has for what this server can do, in one table for both eras. */
#include "mcp/call.h"
#include "mcp/mcp.h"
#include "mcp/resources.h"
#include "mcp/subs.h"
#include "mcp/tasks.h"

const struct mcp_method mcp_methods[] = {
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
