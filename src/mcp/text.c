#include "mcp/text.h"

#include <string.h>

#include "base/mem.h"
#include "mcp/text_logs.h"
#include "mcp/text_members.h"
#include "mcp/text_options.h"
#include "mcp/text_run.h"
#include "mcp/text_session.h"
#include "mcp/text_tools.h"

_Static_assert(MCP_TEXT_MAX <= OUTLINE_KEEP, "what is shown of a text is kept of it");

static const struct {
	const char *name;
	void (*write)(struct text *t);
	bool of_run; /* needs the run */
} tools[] = {
	{ "process.run", text_run, true },      { "process.logs", text_logs, false },
	{ "process.monitor", text_monitor, false }, { "process.list", text_list, false },
	{ "process.kill", text_kill, false },   { "process.delete", text_delete, false },
	{ "process.wait", text_wait, false },   { "process.input", text_input, false },
	{ "is_blocked", text_is_blocked, false }, { "config.get", text_options, false },
	{ "agent.session", text_session, false },
};

void mcp_text_write(struct jsonw *w, const struct mcp_answer *a, size_t max)
{
	struct text t = { .w = w, .a = a, .begin = w->out->len, .left = max };
	void (*write)(struct text *t) = text_members;

	for (size_t i = 0; a->row && i < COUNT_OF(tools); i++)
		if (!strcmp(tools[i].name, a->row->name) && (a->run || !tools[i].of_run))
			write = tools[i].write;
	write(&t);
}
