/*
 * mcp_resources - the output of runs as MCP resources.
 *
 *	proc://logs/{process_id}          both streams, each with a heading
 *	proc://logs/{process_id}/stdout   one stream, nothing else
 *	proc://logs/{process_id}/stderr
 *
 * A read is a call of process.logs through the gate, so tiers and audit apply to it.
 * It returns the newest part of each stream and names the part before it, which
 * process_logs returns. The list shows the runs that process.list shows.
 */
#ifndef PROCPEN_MCP_RESOURCES_H
#define PROCPEN_MCP_RESOURCES_H

#include "mcp/mcp.h"

#define MCP_RESOURCE_URI "proc://logs/"
#define MCP_URI_MAX 128

/*
 * The run that @uri names: its sequence number, 0 when there is none. *@stream
 * (may be NULL): "both", "stdout" or "stderr".
 */
uint64_t mcp_resources_run(struct mcp *m, const char *uri, const char **stream);

/* Are resources available, or is process.@capability denied or subject to confirmation? */
bool mcp_resources_open(const struct mcp *m, const char *capability);

/* The methods resources/list and resources/templates/list. */
void mcp_resources_list(struct mcp *m, const struct rpc_message *message,
			enum mcp_revision revision);
void mcp_resources_templates(struct mcp *m, const struct rpc_message *message,
			     enum mcp_revision revision);

/* The arguments of process.logs for a read of @uri (a new reference), or NULL: no such URI. */
json_t *mcp_resources_arguments(struct mcp *m, const char *uri);

/* Write the members of a read's result. @result: that of process.logs for @asked, for @uri. */
void mcp_resources_write(struct jsonw *w, const char *uri, const json_t *asked,
			 const struct result *result, const struct mcp_shape *shape);

/* Make @e, a failure of process.logs, the error of a read of @uri. */
void mcp_resources_error(struct err *e, const char *uri, const struct mcp_shape *shape);

/* Refuse a message that names a resource that does not exist. */
void mcp_resources_refuse(struct mcp *m, const struct rpc_message *message, const char *uri,
			  const struct mcp_shape *shape);

#endif
