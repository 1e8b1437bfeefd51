#include "mcp/tools.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cap/run_limits.h"
#include "mcp/text.h"
#include "mcp/tool_names.h"

#define ERROR_KEY "dev.procpen/error"
#define ERROR_TEXT_ROOM 1500 /* bytes of a text for message and hint */
#define HOST_LIMIT_KEY "anthropic/maxResultSizeChars" /* a host saves longer results to a file */
#define SHOWN_MAX 200000     /* bytes: an escaped page, or a list of records */
#define INPUT_BYTES_MAX (1u << 20) /* never reached: of a schema */
#define PORTS_SHOWN 16       /* the list of tools stays within 9,000 bytes */
#define TOOLS_TTL_MS 3600000 /* the tools of a server never change */

static void tools_begin_content(struct jsonw *w)
{
	jsonw_array(w, "content");
	jsonw_object(w, NULL);
	jsonw_str(w, "type", "text");
	jsonw_open_str(w, "text");
}

/* The text of @a has at most @most bytes, in a batch fewer. */
static void tools_write_text(struct jsonw *w, const struct mcp_answer *a, size_t most)
{
	mcp_text_write(w, a, a->text_max && a->text_max < most ? a->text_max : most);
}

static void tools_end_content(struct jsonw *w)
{
	jsonw_close_str(w);
	jsonw_end_object(w);
	jsonw_end_array(w);
}

/* Do clients of this revision get structured content and its schema? */
static bool tools_is_structured(const struct mcp *m, const struct mcp_shape *shape)
{
	return m->structured && shape->structured;
}

void mcp_tools_write_result(struct jsonw *w, const struct mcp *m, const struct mcp_shape *shape,
			    const struct mcp_answer *a)
{
	const struct buf *json = &a->result->json;

	tools_begin_content(w);
	tools_write_text(w, a, MCP_TEXT_MAX);
	tools_end_content(w);
	if (tools_is_structured(m, shape))
		jsonw_raw(w, "structuredContent", json->data, json->len);
	jsonw_bool(w, "isError", false);
	mcp_open_meta(w, shape);
	if (!tools_is_structured(m, shape))
		jsonw_raw(w, MCP_RESULT_KEY, json->data, json->len);
	jsonw_end_object(w);
}

static void tools_write_hint(struct jsonw *w, const struct err *e)
{
	const char *hint = err_hint_text(e);

	mcp_tool_names_write(w, hint, strlen(hint));
}

static void tools_write_error_text(struct jsonw *w, const struct err *e, const struct mcp_answer *a)
{
	size_t len = strlen(e->message);

	jsonw_piece_str(w, err_rows[e->type].name);
	jsonw_piece_str(w, ": ");
	mcp_tool_names_write(w, e->message, len);
	jsonw_piece_str(w, len && strchr(".?!", e->message[len - 1]) ? " " : ". ");
	tools_write_hint(w, e);
	if (a->result) {
		jsonw_piece_str(w, "\n");
		tools_write_text(w, a, MCP_TEXT_MAX - ERROR_TEXT_ROOM);
	}
}

/* The facts that the text of an error lacks. */
static void tools_write_error_facts(struct jsonw *w, const struct err *e,
				    const struct mcp_answer *a)
{
	jsonw_str(w, "type", err_rows[e->type].name);
	jsonw_int(w, "code", err_rows[e->type].code);
	jsonw_bool(w, "retryable", err_retryable(e));
	rpc_write_actions(w, e, mcp_tool_names_write);
	rpc_write_details(w, e, a->result);
}

static void tools_write_structured_error(struct jsonw *w, const struct err *e,
					 const struct mcp_answer *a)
{
	jsonw_object(w, "structuredContent");
	jsonw_object(w, "error");
	jsonw_open_str(w, "message");
	mcp_tool_names_write(w, e->message, strlen(e->message));
	jsonw_close_str(w);
	jsonw_open_str(w, "hint");
	tools_write_hint(w, e);
	jsonw_close_str(w);
	tools_write_error_facts(w, e, a);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

void mcp_tools_write_error(struct jsonw *w, const struct mcp *m, const struct mcp_shape *shape,
			   const struct err *e, const struct mcp_answer *a)
{
	tools_begin_content(w);
	tools_write_error_text(w, e, a);
	tools_end_content(w);
	if (tools_is_structured(m, shape))
		tools_write_structured_error(w, e, a);
	jsonw_bool(w, "isError", true);
	mcp_open_meta(w, shape);
	jsonw_object(w, ERROR_KEY);
	tools_write_error_facts(w, e, a);
	jsonw_end_object(w);
	jsonw_end_object(w);
}

/* Where a description has these words, a model reads the path, because what a shell understands
 * depends on which one it is, and what the operator has taken from every command. */
#define SHELL_WORDS "the operator's shell."

/* Without this a model takes the network for broken and tries again. */
static void tools_write_network(struct jsonw *w, const struct config *config)
{
	bool strict = !strcmp(config_choice(config, CONFIG_SANDBOX_PROFILE), "strict");
	char *const *ports = config_names(config, CONFIG_SANDBOX_NETWORK);
	size_t count = 0;
	char more[32];

	while (ports[count])
		count++;

	if (strict || !config_bool(config, CONFIG_SANDBOX_NETWORK)) {
		jsonw_piece_str(w, " Commands have no network.");
	} else if (count) {
		jsonw_piece_str(w, " Commands can only connect to TCP port");
		jsonw_piece_str(w, count > 1 ? "s " : " ");
		for (size_t i = 0; i < count && i < PORTS_SHOWN; i++) {
			jsonw_piece_str(w, i ? ", " : "");
			jsonw_piece_str(w, ports[i]);
		}
		if (count > PORTS_SHOWN) {
			snprintf(more, sizeof(more), " and %zu more", count - PORTS_SHOWN);
			jsonw_piece_str(w, more);
		}
		jsonw_piece_str(w, ".");
	}
}

/* In place of what a tool does, where it does nothing. */
#define DENIED "The operator denies this tool: every call is refused."

static void tools_write_description(struct jsonw *w, const struct mcp *m, const struct cap_row *row)
{
	bool denied = cap_tier(m->cap, row) == TIER_DENY;
	const char *text = denied ? DENIED : row->description;
	const char *words = strstr(text, SHELL_WORDS);

	jsonw_open_str(w, "description");
	if (words) {
		jsonw_piece(w, text, (size_t)(words - text));
		jsonw_piece_str(w, m->cap->shell->path);
		jsonw_piece_str(w, ".");
		tools_write_network(w, m->cap->config);
		text = words + strlen(SHELL_WORDS);
	}
	jsonw_piece_str(w, text);
	jsonw_close_str(w);
}

/* Where a schema has these words, a model reads what the operator has set: it plans by that. */
#define TIMEOUT_WORDS "\"maximum\":3600,\"description\":\"Seconds (300)"
#define BACKGROUND_WORDS "goes on until it ends or is killed"

/* Copy @input to @text up to @words. Returns what follows these; NULL, and copies nothing, if they
 * are not in it. */
static const char *tools_copy_until(struct buf *text, const char *input, const char *words)
{
	const char *at = strstr(input, words);

	if (!at)
		return NULL;
	buf_add(text, input, (size_t)(at - input));
	return at + strlen(words);
}

/* With what a call gets that asks for nothing, and what it may ask for. */
static void tools_write_input(struct jsonw *w, const struct mcp *m, const char *input)
{
	const struct config *config = m->cap->config;
	int64_t background = run_limits_usual_seconds(config, true);
	const char *rest;
	struct buf text;

	buf_init(&text, INPUT_BYTES_MAX);
	rest = tools_copy_until(&text, input, TIMEOUT_WORDS);
	if (rest) {
		buf_addf(&text, "\"maximum\":%" PRId64 ",\"description\":\"Seconds (%" PRId64 ")",
			 config_int(config, CONFIG_LIMITS_TIMEOUT_SECONDS),
			 run_limits_usual_seconds(config, false));
		input = rest;
	}
	rest = background ? tools_copy_until(&text, input, BACKGROUND_WORDS) : NULL;
	if (rest) {
		buf_addf(&text, BACKGROUND_WORDS ", at most %" PRId64 " s", background);
		input = rest;
	}
	buf_adds(&text, input);
	jsonw_raw(w, "inputSchema", text.data, text.len);
	buf_release(&text);
}

static void tools_write_tool(struct jsonw *w, const struct mcp *m, const struct mcp_shape *shape,
			     const struct cap_row *row)
{
	const char *input = m->all_parameters ? row->input_all_json : row->input_json;

	jsonw_object(w, NULL);
	jsonw_str(w, "name", row->tool_name);
	if (shape->structured)
		jsonw_str(w, "title", row->title);
	tools_write_description(w, m, row);
	tools_write_input(w, m, input);
	if (tools_is_structured(m, shape))
		jsonw_raw(w, "outputSchema", row->output_json, strlen(row->output_json));
	if (shape->annotations)
		jsonw_raw(w, "annotations", row->annotations_json, strlen(row->annotations_json));
	if (tools_is_structured(m, shape) && row->flags & CAP_LONG) {
		jsonw_object(w, "_meta");
		jsonw_int(w, HOST_LIMIT_KEY, SHOWN_MAX);
		jsonw_end_object(w);
	}
	jsonw_end_object(w);
}

void mcp_tools_write_list(struct jsonw *w, const struct mcp *m, const struct mcp_shape *shape)
{
	jsonw_array(w, "tools");
	for (const struct cap_row *row = cap_rows; row->name; row++)
		if (!(row->flags & CAP_PLAIN) &&
		    (m->all_parameters || !(row->flags & CAP_UNLISTED)))
			tools_write_tool(w, m, shape, row);
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
