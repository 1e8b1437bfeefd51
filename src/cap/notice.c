#include "cap/notice.h"

#include <string.h>

#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#define TEXT_MAX 8192  /* longest text shown whole */
#define ITEMS_MAX 8192 /* most bytes of all arguments, and of all environment names */
#define ARGS_MAX 512
#define STDIN_MAX 2048
#define VALUE_MAX 1024 /* longest value of a variable or an option */
#define LEFT_OUT " [...] "

/* @text as a value. Repairs ill-formed UTF-8, which stdin and a path may have. */
static json_t *notice_text_value(const char *text, size_t len)
{
	json_t *value = json_stringn(text, len);
	struct buf repaired;
	size_t used;

	if (value)
		return value;
	buf_init(&repaired, 3 * len);
	for (size_t at = 0; at < len; at += used) {
		if (utf8_next(text + at, len - at, &used) == UTF8_VALID)
			buf_add(&repaired, text + at, used);
		else
			buf_adds(&repaired, UTF8_REPLACEMENT);
	}
	value = json_stringn(repaired.data, repaired.len);
	buf_release(&repaired);
	return value;
}

/* @text, or its two ends when it is longer than @max; then sets *@cut. */
static json_t *notice_short_text(const char *text, size_t len, size_t max, bool *cut)
{
	size_t head = utf8_cut(text, len, max / 2), tail;
	struct buf ends;
	json_t *value;

	if (len <= max)
		return notice_text_value(text, len);
	*cut = true;
	tail = len - max / 2;
	tail += utf8_partial_head(text + tail, len - tail);
	buf_init(&ends, max + sizeof(LEFT_OUT));
	buf_add(&ends, text, head);
	buf_adds(&ends, LEFT_OUT);
	buf_add(&ends, text + tail, len - tail);
	value = notice_text_value(ends.data, ends.len);
	buf_release(&ends);
	return value;
}

static void notice_add_text(json_t *notice, const char *key, const char *text, size_t max,
			    bool *cut)
{
	json_object_set_new(notice, key, notice_short_text(text, strlen(text), max, cut));
}

static void notice_add_args(json_t *notice, const char *const *args, bool *cut)
{
	json_t *shown = json_array();
	size_t left = ITEMS_MAX, count = 0;
	bool full = false;

	for (; *args && !full; args++) {
		size_t len = strlen(*args);

		full = ++count > ARGS_MAX;
		if (!full)
			json_array_append_new(shown, notice_short_text(*args, len, left, &full));
		left -= len < left ? len : left;
	}
	*cut |= full;
	json_object_set_new(notice, "args", shown);
}

/* The variables that the request sets, up to ITEMS_MAX bytes. */
static void notice_add_values(json_t *notice, json_t *environment, bool *cut)
{
	json_t *shown = json_object();
	size_t left = ITEMS_MAX;
	const char *name;
	json_t *value;

	json_object_foreach(environment, name, value) {
		size_t len = json_string_length(value), size = strlen(name) + len + 1;

		size = len > VALUE_MAX ? strlen(name) + VALUE_MAX : size;
		if (size > left) {
			*cut = true;
			break;
		}
		left -= size;
		json_object_set_new(shown, name,
				    notice_short_text(json_string_value(value), len, VALUE_MAX,
						      cut));
	}
	json_object_set_new(notice, "environment", shown);
}

/* The other parameters that differ from their defaults, such as user and timeout. Not the place of
 * a page: it does not change what is asked, and a resource's moves with the newest output. */
static void notice_add_options(json_t *notice, const struct schema *input, json_t *params,
			       bool *cut)
{
	static const char *const elsewhere[] = { "command",	"args",	 "stdin",
						 "environment", "intent", "working_directory",
						 "process_id",	"signal", "offset",
						 "stderr_offset", "data", "encoding",
						 "log_file", NULL };
	json_t *options = json_object(), *value;
	const char *name;

	json_object_foreach(params, name, value) {
		if (str_is_listed(name, elsewhere) || schema_is_default(input, name, value))
			continue;
		if (json_is_string(value))
			value = notice_short_text(json_string_value(value),
						  json_string_length(value), VALUE_MAX, cut);
		else
			json_incref(value);
		json_object_set_new(options, name, value);
	}
	if (json_object_size(options))
		json_object_set(notice, "options", options);
	json_decref(options);
}

/* The names of the variables that the request sets. */
static void notice_add_names(json_t *notice, json_t *environment, bool *cut)
{
	json_t *shown = json_array();
	size_t left = ITEMS_MAX;
	const char *name;
	json_t *value;

	json_object_foreach(environment, name, value) {
		size_t len = strlen(name);

		if (len > left) {
			*cut = true;
			break;
		}
		json_array_append_new(shown, json_string(name));
		left -= len;
	}
	json_object_set_new(notice, "environment_names", shown);
}

static void notice_add_input(json_t *notice, const char *bytes, size_t len, bool *cut)
{
	json_object_set_new(notice, "stdin", notice_short_text(bytes, len, STDIN_MAX, cut));
	json_object_set_new(notice, "stdin_bytes", json_integer((json_int_t)len));
}

static void notice_add_command(json_t *notice, const struct req *r,
			       const struct blocklist_input *in, bool question, bool *cut)
{
	json_t *environment = json_object_get(r->params, "environment");

	notice_add_text(notice, "command", in->command, TEXT_MAX, cut);
	json_object_set_new(notice, "command_bytes",
			    json_integer((json_int_t)strlen(in->command)));
	if (in->args)
		notice_add_args(notice, in->args, cut);
	if (in->stdin_bytes)
		notice_add_input(notice, in->stdin_bytes, in->stdin_len, cut);
	if (environment)
		notice_add_names(notice, environment, cut);
	if (environment && question)
		notice_add_values(notice, environment, cut);
}

/* The run that the call acts on. */
static void notice_add_target(json_t *notice, const struct req *r, const char *process_id,
			      const char *target, bool *cut)
{
	json_t *signal = json_object_get(r->params, "signal");

	json_object_set_new(notice, "process_id", json_string(process_id));
	if (target)
		notice_add_text(notice, "process_command", target, TEXT_MAX, cut);
	if (signal)
		json_object_set(notice, "signal", signal);
}

json_t *notice_new(const struct req *r, const struct audit_event *event,
		   const struct blocklist_input *in, const struct schema *input,
		   const char *target, bool question)
{
	json_t *notice = json_object();
	bool cut = false;

	json_object_set_new(notice, "capability", json_string(event->capability));
	json_object_set_new(notice, "tier", json_string(event->tier));
	if (in->command)
		notice_add_command(notice, r, in, question, &cut);
	if (event->process_id)
		notice_add_target(notice, r, event->process_id, target, &cut);
	notice_add_options(notice, input, r->params, &cut);
	if (event->input)
		notice_add_input(notice, event->input, event->input_len, &cut);
	if (event->cwd)
		notice_add_text(notice, "working_directory", event->cwd, strlen(event->cwd), &cut);
	if (event->log_file)
		notice_add_text(notice, "log_file", event->log_file, strlen(event->log_file), &cut);
	if (event->intent)
		notice_add_text(notice, "intent", event->intent, TEXT_MAX, &cut);
	json_object_set_new(notice, "truncated", json_boolean(cut));
	return notice;
}

static void notice_write_masked(struct jsonw *w, const char *key, const char *text)
{
	AUTO_FREE char *shown = text ? audit_redact(text, NULL) : NULL;

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
	if (event->masked)
		jsonw_str(&w, "command", event->masked);
	else
		notice_write_masked(&w, "command", event->command);
	if (event->process_id)
		jsonw_str(&w, "process_id", event->process_id);
	if (target)
		jsonw_str(&w, "process_command", target);
	if (event->cwd)
		jsonw_str(&w, "working_directory", event->cwd);
	if (event->log_file)
		jsonw_str(&w, "log_file", event->log_file);
	notice_write_masked(&w, "intent", event->intent);
	jsonw_end_object(&w);
	BUG_IF(json->full);
}
