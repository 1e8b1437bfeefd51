#include "mcp/resources.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cap/run_members.h"
#include "proc/names.h"

#define PAGE 100             /* entries of one page of the list */
#define TAIL_BYTES (64u << 10) /* of each stream; escaped at most 384 KiB (see mcp/call.c) */
#define TEMPLATES_TTL_MS 3600000
#define CURSOR "before-"
#define LINE_NEAR 4096
#define GONE_MARK "[... they are no longer kept ...]\n"

uint64_t mcp_resources_run(struct mcp *m, const char *uri, const char **stream)
{
	static const struct {
		const char *ending, *stream;
	} endings[] = { { "/stdout", "stdout" }, { "/stderr", "stderr" }, { "", "both" } };
	size_t prefix = strlen(MCP_RESOURCE_URI), len = strlen(uri);
	char id[MCP_URI_MAX];

	if (strncmp(uri, MCP_RESOURCE_URI, prefix) || len >= sizeof(id))
		return 0;
	snprintf(id, sizeof(id), "%s", uri + prefix);
	len -= prefix;
	for (size_t i = 0; i < COUNT_OF(endings); i++) {
		size_t ending = strlen(endings[i].ending);
		ERR_LOCAL(e);
		struct proc *p;

		if (len < ending || strcmp(id + len - ending, endings[i].ending))
			continue;
		id[len - ending] = '\0';
		if (stream)
			*stream = endings[i].stream;
		p = proctab_find(m->cap->procs, id, &e);
		err_release(&e);
		return p ? p->seq : 0;
	}
	return 0;
}

bool mcp_resources_open(const struct mcp *m, const char *capability)
{
	return cap_tier(m->cap, cap_find(m->cap, capability)) < TIER_CONFIRM;
}

void mcp_resources_error(struct err *e, const char *uri, const struct mcp_shape *shape)
{
	if (e->type != ERR_PROCESS_NOT_FOUND && e->type != ERR_RESOURCE_NOT_FOUND)
		return;
	err_release(e);
	err_set(e, shape->stateless ? ERR_INVALID_PARAMS : ERR_RESOURCE_NOT_FOUND,
		"there is no resource `%.100s`", uri);
	err_hint(e, "%s", err_rows[ERR_RESOURCE_NOT_FOUND].hint);
	err_detail_text(e, "uri", uri);
}

void mcp_resources_refuse(struct mcp *m, const struct rpc_message *message, const char *uri,
			  const struct mcp_shape *shape)
{
	struct err e = { .type = ERR_RESOURCE_NOT_FOUND };

	mcp_resources_error(&e, uri, shape);
	rpc_refuse(m->reqs, message, &e);
}

/* ---- lists ---- */

/* Sequence number before which a page starts; 0: the first page. Returns -1 for a bad cursor. */
static int mcp_resources_read_cursor(const json_t *params, uint64_t *before)
{
	const json_t *cursor = json_object_get(params, "cursor");
	const char *text = mcp_text(params, "cursor");
	char *end;

	*before = 0;
	if (!cursor || (text && !*text))
		return 0;
	if (!text || strncmp(text, CURSOR, strlen(CURSOR)))
		return -1;
	text += strlen(CURSOR);
	if (*text < '1' || *text > '9')
		return -1;
	*before = strtoull(text, &end, 10);
	return *end || *before == UINT64_MAX ? -1 : 0; /* which stands for all larger ones */
}

static void mcp_resources_write_entry(struct jsonw *w, const struct proc *p,
				      const struct mcp_shape *shape)
{
	const char *command = proc_command(p);
	size_t len = strlen(command),
	       shown = utf8_cut(command, len, RUN_MEMBERS_COMMAND_LIST_MAX);
	char text[MCP_URI_MAX];

	jsonw_object(w, NULL);
	snprintf(text, sizeof(text), MCP_RESOURCE_URI "%s", p->id);
	jsonw_str(w, "uri", text);
	jsonw_str(w, "name", p->id);
	if (shape->structured)
		jsonw_strn(w, "title", command, shown);
	snprintf(text, sizeof(text), "Output of a command; state: %s",
		 p->phase == PROC_SETTLED ? names_state(p->state) : "running");
	jsonw_str(w, "description", text);
	jsonw_str(w, "mimeType", "text/plain");
	jsonw_end_object(w);
}

void mcp_resources_list(struct mcp *m, const struct rpc_message *message,
			enum mcp_revision revision)
{
	const struct mcp_shape *shape = &mcp_shapes[revision];
	struct mcp_reply reply;
	const struct proc *p = NULL;
	uint64_t before, last = 0;
	char cursor[40];
	int shown = 0;

	if (mcp_resources_read_cursor(message->params, &before)) {
		mcp_refuse(m, message, "no such cursor: pass on `nextCursor` as it came");
		return;
	}
	mcp_reply_begin(&reply, message, shape);
	jsonw_array(&reply.w, "resources");
	if (mcp_resources_open(m, "process.list"))
		p = proctab_next(m->cap->procs, NULL);
	for (; p && shown < PAGE; p = proctab_next(m->cap->procs, p)) {
		if (before && p->seq >= before)
			continue;
		mcp_resources_write_entry(&reply.w, p, shape);
		last = p->seq;
		shown++;
	}
	jsonw_end_array(&reply.w);
	if (p) {
		snprintf(cursor, sizeof(cursor), CURSOR "%" PRIu64, last);
		jsonw_str(&reply.w, "nextCursor", cursor);
	}
	mcp_write_cache(&reply.w, shape, 0, false);
	mcp_reply_send(m, &reply);
}

void mcp_resources_templates(struct mcp *m, const struct rpc_message *message,
			     enum mcp_revision revision)
{
	const struct mcp_shape *shape = &mcp_shapes[revision];
	const json_t *cursor = json_object_get(message->params, "cursor");
	struct mcp_reply reply;

	if (cursor && (!json_is_string(cursor) || json_string_length(cursor))) {
		mcp_refuse(m, message, "no such cursor: all templates are on the first page");
		return;
	}
	mcp_reply_begin(&reply, message, shape);
	jsonw_array(&reply.w, "resourceTemplates");
	jsonw_object(&reply.w, NULL);
	jsonw_str(&reply.w, "uriTemplate", MCP_RESOURCE_URI "{process_id}");
	jsonw_str(&reply.w, "name", "process-output");
	if (shape->structured)
		jsonw_str(&reply.w, "title", "Output of a process");
	jsonw_str(&reply.w, "description",
		  "The newest output of a process started by process_run. Append /stdout or "
		  "/stderr for one stream alone.");
	jsonw_str(&reply.w, "mimeType", "text/plain");
	jsonw_end_object(&reply.w);
	jsonw_end_array(&reply.w);
	mcp_write_cache(&reply.w, shape, TEMPLATES_TTL_MS, true);
	mcp_reply_send(m, &reply);
}

/* ---- reading ---- */

/* The offset of the newest part of @o, behind what is no longer kept, at the start of a character;
 * of a terminal at a line, where no escape sequence is cut. */
static json_t *mcp_resources_tail_start(const struct output *o)
{
	uint64_t start = o->total > TAIL_BYTES ? o->total - TAIL_BYTES : 0, from, kept, at;
	char bytes[LINE_NEAR];
	const char *newline;
	ssize_t got;

	if (output_evicted(o, &from, &kept) && start < kept && (from <= start || kept < o->total))
		start = kept;
	at = start;
	got = start ? output_read(o, &at, bytes, o->range->screen.cols ? LINE_NEAR : 4) : 0;
	newline = got > 4 ? memchr(bytes, '\n', (size_t)got) : NULL;
	if (newline && at == start)
		start += (uint64_t)(newline + 1 - bytes);
	else if (got > 0 && at == start)
		start += utf8_partial_head(bytes, (size_t)got);
	return json_integer((json_int_t)start);
}

json_t *mcp_resources_arguments(struct mcp *m, const char *uri)
{
	const char *stream;
	uint64_t seq = mcp_resources_run(m, uri, &stream);
	const struct proc *p = seq ? proctab_get(m->cap->procs, seq) : NULL;

	if (!p)
		return NULL;
	return json_pack("{s:s, s:s, s:o, s:o, s:i}", "process_id", p->id, "stream", stream,
			 "offset", mcp_resources_tail_start(&p->out), "stderr_offset",
			 mcp_resources_tail_start(&p->err), "limit", (int)TAIL_BYTES);
}

/* "[... N bytes ... are not shown here: process_logs {...} ...]" */
static void mcp_resources_write_mark(struct jsonw *w, const char *id, const char *stream,
				     const char *which, int64_t bytes, int64_t offset)
{
	char mark[200];

	snprintf(mark, sizeof(mark),
		 "[... the %s %" PRId64 " bytes are not shown here: process_logs "
		 "{\"process_id\":\"%.32s\",\"stream\":\"%s\",\"offset\":%" PRId64 "} ...]\n",
		 which, bytes, id, stream, offset);
	jsonw_piece_str(w, mark);
}

static int64_t mcp_resources_number_of(const struct result *logs, const char *stream,
				       const char *what)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_%s", stream, what);
	return outline_find(&logs->outline, NULL, name)->number;
}

/* Is nothing of a stream of @size bytes kept? */
static bool mcp_resources_is_gone(const struct result *logs, const char *stream, int64_t size)
{
	const struct outline_value *evicted, *from;
	char name[32];

	snprintf(name, sizeof(name), "%s_evicted", stream);
	evicted = outline_find(&logs->outline, NULL, name);
	if (evicted->kind != OUTLINE_ARRAY)
		return false;
	from = outline_next(&logs->outline, evicted, NULL);
	return !from->number && outline_next(&logs->outline, evicted, from)->number == size;
}

/* One stream under its heading. @asked: the arguments of the read, @offset: which begins it. */
static void mcp_resources_write_stream(struct jsonw *w, const struct result *logs,
				       const char *stream, const json_t *asked, const char *offset)
{
	const struct outline_value *value = outline_find(&logs->outline, NULL, stream);
	const char *id = json_get_str(asked, "process_id", "");
	int64_t size = mcp_resources_number_of(logs, stream, "size");
	int64_t next = mcp_resources_number_of(logs, stream, "next_offset");
	int64_t start = json_get_int(asked, offset, 0);
	char heading[64];
	const char *text;
	size_t kept;

	snprintf(heading, sizeof(heading), "--- %s (%" PRId64 " bytes)\n", stream, size);
	jsonw_piece_str(w, heading);
	if (mcp_resources_is_gone(logs, stream, size)) {
		jsonw_piece_str(w, GONE_MARK);
		return;
	}
	if (start)
		mcp_resources_write_mark(w, id, stream, "first", start, 0);
	jsonw_piece_json(w, logs->json.data + value->json, value->json_len);
	text = outline_text(&logs->outline, value, &kept);
	if (kept && text[kept - 1] != '\n')
		jsonw_piece_str(w, "\n");
	/* The output may have grown since. Ignore a part of a character at its end. */
	if (size - next > 3)
		mcp_resources_write_mark(w, id, stream, "newest", size - next, next);
}

void mcp_resources_write(struct jsonw *w, const char *uri, const json_t *asked,
			 const struct result *result, const struct mcp_shape *shape)
{
	const struct outline_value *value;
	const char *stream = strrchr(uri, '/') + 1;
	bool one = !strcmp(stream, "stdout") || !strcmp(stream, "stderr");

	jsonw_array(w, "contents");
	jsonw_object(w, NULL);
	jsonw_str(w, "uri", uri);
	jsonw_str(w, "mimeType", "text/plain");
	if (one) {
		value = outline_find(&result->outline, NULL, stream);
		jsonw_raw(w, "text", result->json.data + value->json, value->json_len);
	} else {
		jsonw_open_str(w, "text");
		mcp_resources_write_stream(w, result, "stdout", asked, "offset");
		mcp_resources_write_stream(w, result, "stderr", asked, "stderr_offset");
		jsonw_close_str(w);
	}
	jsonw_end_object(w);
	jsonw_end_array(w);
	mcp_write_cache(w, shape, 0, false);
}
