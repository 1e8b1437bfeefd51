#include "cap/notice.h"

#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/utf8.h"

#define TEXT_MAX 8192  /* bytes of one text that are shown whole */
#define ITEMS_MAX 8192 /* bytes of all arguments, and of all environment names, that are shown */
#define ARGS_MAX 512
#define STDIN_MAX 2048

/* @text whole, or its two ends. Returns true when something was left out. */
static bool write_text(struct jsonw *w, const char *key, const char *text, size_t len, size_t max)
{
	size_t head = utf8_cut(text, len, max / 2), tail;

	if (len <= max) {
		jsonw_strn(w, key, text, len);
		return false;
	}
	tail = len - max / 2;
	tail += utf8_partial_head(text + tail, len - tail);
	jsonw_open_str(w, key);
	jsonw_piece(w, text, head);
	jsonw_piece(w, " [...] ", strlen(" [...] "));
	jsonw_piece(w, text + tail, len - tail);
	jsonw_close_str(w);
	return true;
}

static bool write_args(struct jsonw *w, const char *const *args)
{
	size_t left = ITEMS_MAX, count = 0;
	bool cut = false;

	jsonw_array(w, "args");
	for (; *args && !cut; args++) {
		size_t len = strlen(*args);

		cut = ++count > ARGS_MAX;
		if (!cut)
			cut = write_text(w, NULL, *args, len, left);
		left -= len < left ? len : left;
	}
	jsonw_end_array(w);
	return cut;
}

/* Which variables the request sets; their values may be secrets. */
static bool write_environment(struct jsonw *w, json_t *environment)
{
	size_t left = ITEMS_MAX;
	bool cut = false;
	const char *name;
	json_t *value;

	jsonw_array(w, "environment_names");
	json_object_foreach(environment, name, value) {
		size_t len = strlen(name);

		cut = len > left;
		if (cut)
			break;
		jsonw_strn(w, NULL, name, len);
		left -= len;
	}
	jsonw_end_array(w);
	return cut;
}

static bool write_command(struct jsonw *w, const struct req *r, const struct blocklist_input *in)
{
	json_t *environment = json_object_get(r->params, "environment");
	size_t len = strlen(in->command);
	bool cut = write_text(w, "command", in->command, len, TEXT_MAX);

	jsonw_int(w, "command_bytes", (int64_t)len);
	if (in->args)
		cut |= write_args(w, in->args);
	if (in->stdin_bytes) {
		cut |= write_text(w, "stdin", in->stdin_bytes, in->stdin_len, STDIN_MAX);
		jsonw_int(w, "stdin_bytes", (int64_t)in->stdin_len);
	}
	if (environment)
		cut |= write_environment(w, environment);
	return cut;
}

/* What happens to which run. */
static bool write_target(struct jsonw *w, const struct req *r, const char *process_id,
			 const char *target)
{
	const json_t *signal = json_object_get(r->params, "signal");
	bool cut = false;

	jsonw_str(w, "process_id", process_id);
	if (target)
		cut = write_text(w, "process_command", target, strlen(target), TEXT_MAX);
	if (signal)
		jsonw_json(w, "signal", signal);
	return cut;
}

void notice_write(struct buf *json, const struct req *r, const struct audit_event *event,
		  const struct blocklist_input *in, const char *target)
{
	bool cut = false;
	struct jsonw w;

	jsonw_init(&w, json);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "capability", event->capability);
	jsonw_str(&w, "tier", event->tier);
	jsonw_raw(&w, "request_id", r->id, strlen(r->id));
	if (in->command)
		cut = write_command(&w, r, in);
	if (event->process_id)
		cut |= write_target(&w, r, event->process_id, target);
	if (event->cwd)
		jsonw_str(&w, "working_directory", event->cwd);
	if (event->intent)
		cut |= write_text(&w, "intent", event->intent, strlen(event->intent), TEXT_MAX);
	jsonw_bool(&w, "truncated", cut);
	jsonw_end_object(&w);
	BUG_IF(json->full);
}
