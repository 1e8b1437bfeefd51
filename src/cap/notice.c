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
#define VALUE_MAX 1024 /* bytes of one variable's value or one option */

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

/* @text as a JSON string, whole or its two ends. Sets *@cut when something was left out. */
static json_t *short_text(const char *text, size_t len, bool *cut)
{
	struct buf quoted;
	struct jsonw w;
	json_t *value;

	buf_init(&quoted, 8 * VALUE_MAX);
	jsonw_init(&w, &quoted);
	*cut |= write_text(&w, NULL, text, len, VALUE_MAX);
	value = json_loadb(quoted.data, quoted.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	buf_release(&quoted);
	return value;
}

/* The variables that the request sets, as far as there is room. */
static bool write_values(struct jsonw *w, json_t *environment)
{
	json_t *shown = json_object();
	size_t left = ITEMS_MAX;
	bool cut = false;
	const char *name;
	json_t *value;

	json_object_foreach(environment, name, value) {
		size_t len = json_string_length(value), size = strlen(name) + len + 1;

		size = len > VALUE_MAX ? strlen(name) + VALUE_MAX : size;
		if (size > left) {
			cut = true;
			break;
		}
		left -= size;
		json_object_set_new(shown, name, short_text(json_string_value(value), len, &cut));
	}
	jsonw_json(w, "environment", shown);
	json_decref(shown);
	return cut;
}

/* Whatever else the request says that is not usual: how it runs, as whom, for how long. */
static bool write_options(struct jsonw *w, const struct schema *input, json_t *params)
{
	static const char *const elsewhere[] = { "command",	"args",	 "stdin",
						 "environment", "intent", "working_directory",
						 "process_id",	"signal" };
	json_t *options = json_object(), *value;
	bool cut = false, known;
	const char *name;

	json_object_foreach(params, name, value) {
		known = schema_is_default(input, name, value);
		for (size_t i = 0; i < COUNT_OF(elsewhere); i++)
			known |= !strcmp(name, elsewhere[i]);
		if (known)
			continue;
		if (json_is_string(value))
			value = short_text(json_string_value(value), json_string_length(value),
					   &cut);
		else
			json_incref(value);
		json_object_set_new(options, name, value);
	}
	if (json_object_size(options))
		jsonw_json(w, "options", options);
	json_decref(options);
	return cut;
}

/* Which variables the request sets. */
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

static bool write_command(struct jsonw *w, const struct req *r, const struct blocklist_input *in,
			  const struct schema *input, bool question)
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
	if (environment && question)
		cut |= write_values(w, environment);
	cut |= write_options(w, input, r->params);
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
		  const struct blocklist_input *in, const struct schema *input, const char *target,
		  bool question)
{
	bool cut = false;
	struct jsonw w;

	jsonw_init(&w, json);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "capability", event->capability);
	jsonw_str(&w, "tier", event->tier);
	jsonw_raw(&w, "request_id", r->id, strlen(r->id));
	if (in->command)
		cut = write_command(&w, r, in, input, question);
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

static void write_masked(struct jsonw *w, const char *key, const char *text)
{
	AUTO_FREE char *shown = text ? audit_redact(text) : NULL;

	if (shown)
		jsonw_str(w, key, shown);
}

void notice_write_log(struct buf *json, const struct audit_event *event, const char *target)
{
	struct jsonw w;

	jsonw_init(&w, json);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "capability", event->capability);
	jsonw_str(&w, "tier", event->tier);
	jsonw_raw(&w, "request_id", event->request_id, strlen(event->request_id));
	write_masked(&w, "command", event->command);
	if (event->process_id)
		jsonw_str(&w, "process_id", event->process_id);
	write_masked(&w, "process_command", target);
	if (event->cwd)
		jsonw_str(&w, "working_directory", event->cwd);
	write_masked(&w, "intent", event->intent);
	jsonw_end_object(&w);
	BUG_IF(json->full);
}
