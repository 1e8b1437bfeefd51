#include "mcp/roots.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/audit.h"

#define ANSWER_MS 30000
#define HOLD_MS 2000 /* hosts answer in milliseconds */

/* The path of a file URI of this machine (RFC 8089, RFC 3986 section 2.1), on the heap; or NULL. */
static char *mcp_roots_path(const char *uri)
{
	static const char *const starts[] = { "file://localhost/", "file:///" };
	char *path, *out;
	size_t i = 0;

	while (i < COUNT_OF(starts) && strncasecmp(uri, starts[i], strlen(starts[i])))
		i++;
	if (i == COUNT_OF(starts))
		return NULL;
	uri += strlen(starts[i]) - 1;
	path = out = mem_zalloc(strlen(uri) + 1);
	for (; *uri; uri++) {
		int high = *uri == '%' ? str_hex_digit(uri[1]) : 0;
		int low = *uri == '%' && high >= 0 ? str_hex_digit(uri[2]) : 0;

		if (high < 0 || low < 0 || (*uri == '%' && !(high | low))) {
			free(path);
			return NULL;
		}
		*out++ = *uri == '%' ? (char)(high << 4 | low) : *uri;
		uri += *uri == '%' ? 2 : 0;
	}
	return path;
}

/* Make @root the workspace, or say on stderr why it cannot be. */
static void mcp_roots_take(struct cap *c, const json_t *root)
{
	const char *uri = mcp_text(root, "uri");
	AUTO_FREE char *path = uri ? mcp_roots_path(uri) : NULL;
	ERR_LOCAL(e);

	if (!path) {
		AUTO_FREE char *shown = uri ? audit_redact(uri, NULL) : NULL;

		log_warn("a root of the client is not a directory of this machine: %.200s",
			 shown ? shown : "it has no URI");
		return;
	}
	if (c->set_workspace(c->set_workspace_ctx, path, &e))
		log_warn("a root of the client cannot be the workspace: %s", e.message);
	err_release(&e);
}

static void mcp_roots_on_answer(void *ctx, uint64_t handle, const json_t *result, const char *why)
{
	struct mcp *m = ctx;
	const json_t *roots = json_object_get(result, "roots");

	(void)handle;
	if (!result)
		log_warn("the client did not tell its roots: %s", why);
	for (size_t i = 0; i < json_array_size(roots) && m->cap->no_workspace; i++)
		mcp_roots_take(m->cap, json_array_get(roots, i));
	if (result && m->cap->no_workspace)
		log_warn("no root of the client can be the workspace, of %zu",
			 json_array_size(roots));
	cap_let_go(m->cap);
}

void mcp_roots_ask(struct mcp *m)
{
	struct buf params;

	if (!m->cap->no_workspace || !m->has_roots || m->asked_roots)
		return;
	m->asked_roots = true;
	buf_init(&params, 16);
	buf_adds(&params, "{}");
	if (ask_send_mcp(m->ask, "roots/list", &params, ANSWER_MS, mcp_roots_on_answer, m, 0))
		log_warn("the client cannot be asked for its roots");
	else
		cap_hold(m->cap, HOLD_MS);
	buf_release(&params);
}
