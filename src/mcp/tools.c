#include "mcp/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/text.h"

#define ERROR_KEY "dev.procpen/error"
#define ERROR_TEXT_ROOM 1500 /* of a text, for message and hint */
#define HOST_LIMIT_KEY "anthropic/maxResultSizeChars" /* one host puts longer results aside */
#define SHOWN_MAX 200000     /* two pages of 32 KiB, escaped, and a list of records */
#define TOOLS_TTL_MS 3600000 /* the tools of a server never change */

static void begin_content(struct jsonw *w)
{
	jsonw_array(w, "content");
	jsonw_object(w, NULL);
	jsonw_str(w, "type", "text");
	jsonw_open_str(w, "text");
}

static void end_content(struct jsonw *w)
{
	jsonw_close_str(w);
	jsonw_end_object(w);
	jsonw_end_array(w);
}

void mcp_tools_write_result(struct jsonw *w, const struct result *result,
			    const struct mcp_shape *shape, const struct proc *run)
{
	begin_content(w);
	mcp_text_write(w, result, run, MCP_TEXT_MAX);
	end_content(w);
	if (shape->structured)
		jsonw_raw(w, "structuredContent", result->json.data, result->json.len);
	jsonw_bool(w, "isError", false);
}

static void add_text(struct jsonw *w, const char *text)
{
	jsonw_piece(w, text, strlen(text));
}

static void write_error_text(struct jsonw *w, const struct err *e, const struct result *partial)
{
	size_t len = strlen(e->message);

	add_text(w, err_rows[e->type].name);
	add_text(w, ": ");
	add_text(w, e->message);
	add_text(w, len && strchr(".?!", e->message[len - 1]) ? " " : ". ");
	add_text(w, err_hint_text(e));
	if (partial) {
		add_text(w, "\n");
		mcp_text_write(w, partial, NULL, MCP_TEXT_MAX - ERROR_TEXT_ROOM);
	}
}

static void write_error_object(struct jsonw *w, const char *key, const struct err *e,
			       const struct result *partial)
{
	const struct err_row *row = &err_rows[e->type];

	jsonw_object(w, key);
	jsonw_str(w, "type", row->name);
	jsonw_int(w, "code", row->code);
	jsonw_str(w, "message", e->message);
	jsonw_str(w, "hint", err_hint_text(e));
	jsonw_bool(w, "retryable", row->retryable);
	rpc_write_details(w, e, partial);
	jsonw_end_object(w);
}

void mcp_tools_write_error(struct jsonw *w, const struct err *e, const struct result *partial,
			   const struct mcp_shape *shape)
{
	begin_content(w);
	write_error_text(w, e, partial);
	end_content(w);
	if (shape->structured) {
		jsonw_object(w, "structuredContent");
		write_error_object(w, "error", e, partial);
		jsonw_end_object(w);
	}
	jsonw_bool(w, "isError", true);
	mcp_open_meta(w, shape);
	write_error_object(w, ERROR_KEY, e, partial);
	jsonw_end_object(w);
}

static void write_tool(struct jsonw *w, const struct cap_row *row,
		       const struct mcp_shape *shape)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "name", row->tool_name);
	if (shape->structured)
		jsonw_str(w, "title", row->title);
	jsonw_str(w, "description", row->description);
	jsonw_raw(w, "inputSchema", row->input_json, strlen(row->input_json));
	if (shape->structured)
		jsonw_raw(w, "outputSchema", row->output_json, strlen(row->output_json));
	if (shape->annotations)
		jsonw_raw(w, "annotations", row->annotations_json, strlen(row->annotations_json));
	if (shape->structured && row->flags & CAP_LONG) {
		jsonw_object(w, "_meta");
		jsonw_int(w, HOST_LIMIT_KEY, SHOWN_MAX);
		jsonw_end_object(w);
	}
	jsonw_end_object(w);
}

void mcp_tools_write_list(struct jsonw *w, const struct mcp_shape *shape)
{
	jsonw_array(w, "tools");
	for (const struct cap_row *row = cap_rows; row->name; row++)
		write_tool(w, row, shape);
	jsonw_end_array(w);
	mcp_write_cache(w, shape, TOOLS_TTL_MS, true);
}

const struct cap_row *mcp_tools_nearest(const char *name)
{
	AUTO_FREE const char **names = NULL;
	const struct cap_row *row = cap_rows;
	const char *nearest;
	size_t rows = 0;

	while (cap_rows[rows].name)
		rows++;
	names = mem_zalloc((2 * rows + 1) * sizeof(*names));
	for (size_t i = 0; i < rows; i++) {
		names[2 * i] = cap_rows[i].name;
		names[2 * i + 1] = cap_rows[i].tool_name;
	}
	nearest = schema_nearest(name, names);
	while (nearest && row->name != nearest && row->tool_name != nearest)
		row++;
	return nearest ? row : NULL;
}
