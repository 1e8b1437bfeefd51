/*
 * mcp - shared by all revisions of MCP: the server's state, the features of each
 * revision, and the envelope of results.
 *
 * One connection serves two eras, distinguished message by message: the handshake
 * (mcp/legacy.h), where initialize chooses the revision of all later messages, and the
 * stateless one (mcp/modern.h), where each request names its revision.
 */
#ifndef PROCPEN_MCP_MCP_H
#define PROCPEN_MCP_MCP_H

#include <stdbool.h>

#include "cap/cap.h"
#include "rpc/ask.h"
#include "rpc/rpc.h"

enum mcp_revision {
	MCP_2024_11_05,
	MCP_2025_03_26,
	MCP_2025_06_18,
	MCP_2025_11_25,
	MCP_2026_07_28,
	MCP_REVISIONS
};
#define MCP_NEWEST_HANDSHAKE MCP_2025_11_25

/* The features of a revision. */
struct mcp_shape {
	const char *name;
	bool batches;          /* 2025-03-26 only */
	bool annotations;      /* and progress messages: since 2025-03-26 */
	bool structured;       /* title; outputSchema, structuredContent (mcp.structured): since
				* 2025-06-18 */
	bool elicitation;      /* as a request to the client: 2025-06-18 to 2025-11-25 */
	bool elicitation_mode; /* its `mode`: since 2025-11-25 */
	bool stateless;        /* resultType, cache hints, server info in _meta: 2026-07-28 */
};
extern const struct mcp_shape mcp_shapes[MCP_REVISIONS];

/* A host that closes our input waits about this long before it sends signals. */
#define MCP_EOF_MS 2000

#define MCP_META "io.modelcontextprotocol/"
#define MCP_TASKS "io.modelcontextprotocol/tasks" /* the extension */

struct approval;
struct mcp_progress;
struct mcp_subs;
struct mcp_tasks;

/* The MCP state of the server; there is one. */
#define MCP_LEVEL_DEFAULT 6 /* info */

struct mcp {
	struct cap *cap;
	struct reqtab *reqs;
	struct ask *ask;
	struct approval *approvals;
	struct mcp_progress *progress;
	struct mcp_subs *subs;
	struct mcp_tasks *tasks;
	bool structured;     /* mcp.structured: results as structured content too */
	bool all_parameters; /* mcp.tools=all: tools/list has every parameter */

	/* Dialects for tools/call and resources/read; their ctx is this struct. */
	struct dialect tools[MCP_REVISIONS], reads[MCP_REVISIONS];

	/* The handshake's session. */
	enum mcp_revision revision; /* 2025-11-25 before any */
	bool initialized;
	bool elicits;               /* the client can show a form */
	bool has_roots;             /* ... and has roots (mcp/roots.h) */
	bool asked_roots;
	int log_level;              /* of mcp_log_level(); notices are 5 */
};

/* A method of one or both eras, other than initialize and the like. */
struct mcp_method {
	const char *name; /* NULL ends a table */
	void (*call)(struct mcp *m, const struct rpc_message *message, enum mcp_revision revision);
	bool handshake, stateless;
};

/* A list that can change while the server runs, with the names of its filter and notification. */
struct mcp_list {
	const char *filter, *method;
	uint64_t key; /* for mcp_subs_changed(); not that of any run */
};

/* What a server offers; the protocol code serves it. */
struct mcp_offer {
	const char *name, *title;
	const char *instructions;           /* for models; less than 2 KB */
	const char *handshake, *stateless;  /* the capabilities of each era, as JSON */
	const struct mcp_method *methods;   /* precede those of methods.c; NULL: none */
	const struct mcp_list *lists;       /* ended by filter == NULL; NULL: none changes */
};
extern const struct mcp_offer mcp_offer; /* mcp/offer.c */

/* Member @name of @object, a string without NUL; NULL if it is anything else. */
const char *mcp_text(const json_t *object, const char *name);

/* The number of the log level @name in syslog's order, 0 emergency ... 7 debug; -1: it is none. */
int mcp_log_level(const char *name);

/*
 * Take null members out of @params, and of its objects _meta and notifications: some clients write
 * every optional member, with null for none. Those of `arguments` are base/schema's to drop.
 */
void mcp_drop_nulls(json_t *params);

/* Keep for the audit log what the client calls itself in @info, an Implementation. */
void mcp_note_client(struct mcp *m, const json_t *info);

/* The _meta object of a message, or NULL. */
const json_t *mcp_meta(const json_t *root);

/* The client capability ("elicitation", ...) that a stateless request declares, or NULL. */
const json_t *mcp_declared(const json_t *root, const char *capability);

/* Does it declare the tasks extension? */
bool mcp_declares_tasks(const json_t *root);

/* Can a client with this elicitation capability show a form? */
bool mcp_shows_forms(const json_t *elicitation);

/*
 * One result as a line: begin opens "result" (and writes resultType @type in a
 * stateless revision), the caller adds members, end writes _meta and closes all.
 * mcp_open_meta() opens _meta for a caller who has members of its own for it; it is
 * then closed with jsonw_end_object(), and the rest with mcp_close_result().
 */
void mcp_begin_result(struct jsonw *w, struct buf *line, const char *id, size_t id_len,
		      const struct mcp_shape *shape, const char *type);
void mcp_end_result(struct jsonw *w, const struct mcp_shape *shape);
void mcp_open_meta(struct jsonw *w, const struct mcp_shape *shape);
void mcp_close_result(struct jsonw *w);

/* How long a client may keep a list, and whether others may see it; stateless only. */
void mcp_write_cache(struct jsonw *w, const struct mcp_shape *shape, int64_t ttl_ms, bool shared);

/* The answer to a message that does not go through the gate. */
struct mcp_reply {
	const struct rpc_message *message;
	const struct mcp_shape *shape;
	struct buf line;
	struct jsonw w;
};

void mcp_reply_begin(struct mcp_reply *reply, const struct rpc_message *message,
		     const struct mcp_shape *shape);
void mcp_reply_send(struct mcp *m, struct mcp_reply *reply);

/* A result without members. */
void mcp_reply_empty(struct mcp *m, const struct rpc_message *message,
		     const struct mcp_shape *shape);

/* InvalidParams: "<method>: <what>". */
void mcp_refuse(struct mcp *m, const struct rpc_message *message, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* MissingClientCapability: the tasks extension is not declared. */
void mcp_refuse_without_tasks(struct mcp *m, const struct rpc_message *message);

/*
 * Queue a notification. Returns false, and drops it, if the client is too far behind.
 */
bool mcp_notify(struct mcp *m, const struct buf *line);

#endif
