#include "cap/notice.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/str.h"
#include "base/utf8.h"

#define TEXT_MAX 8192  /* longest text shown whole */
#define ITEMS_MAX 8192 /* most bytes of all arguments, and of all environment names */
#define ARGS_MAX 512
#define STDIN_MAX 2048
#define VALUE_MAX 1024 /* longest value of a variable or an option */
#define LEFT_OUT " [...] "

/* The two ends that are shown of a text longer than @max. */
struct notice_ends {
	size_t head;      /* bytes */
	const char *tail;
	size_t tail_len;
};

static struct notice_ends notice_cut(const char *text, size_t len, size_t max)
{
	size_t at = len - max / 2;

	at += utf8_partial_head(text + at, len - at);
	return (struct notice_ends){ .head = utf8_cut(text, len, max / 2), .tail = text + at,
				     .tail_len = len - at };
}

/* Write @text, or its two ends when it is longer than @max; then sets *@cut. */
static void notice_write_short(struct jsonw *w, const char *key, const char *text, size_t len,
			       size_t max, bool *cut)
{
	struct notice_ends ends;

	if (len <= max) {
		jsonw_strn(w, key, text, len);
		return;
	}
	*cut = true;
	ends = notice_cut(text, len, max);
	jsonw_open_str(w, key);
	jsonw_piece(w, text, ends.head);
	jsonw_piece_str(w, LEFT_OUT);
	jsonw_piece(w, ends.tail, ends.tail_len);
	jsonw_close_str(w);
}

static void notice_write_text(struct jsonw *w, const char *key, const char *text, bool *cut)
{
	notice_write_short(w, key, text, strlen(text), TEXT_MAX, cut);
}

static void notice_write_args(struct jsonw *w, const char *const *args, bool *cut)
{
	size_t left = ITEMS_MAX, count = 0;
	bool full = false;

	jsonw_array(w, "args");
	for (; *args && !full; args++) {
		size_t len = strlen(*args);

		full = ++count > ARGS_MAX;
		if (!full)
			notice_write_short(w, NULL, *args, len, left, &full);
		left -= len < left ? len : left;
	}
	*cut |= full;
	jsonw_end_array(w);
}

/* The string @value of a variable. */
static json_t *notice_new_value(json_t *value, bool *cut)
{
	const char *text = json_string_value(value);
	struct notice_ends ends;

	if (json_string_length(value) <= VALUE_MAX)
		return json_incref(value);
	*cut = true;
	ends = notice_cut(text, json_string_length(value), VALUE_MAX);
	return json_sprintf("%.*s" LEFT_OUT "%s", (int)ends.head, text, ends.tail);
}

/* The variables that the request sets, up to ITEMS_MAX bytes. As a tree: their names are not keys
 * that a jsonw takes. */
static void notice_write_values(struct jsonw *w, json_t *environment, bool *cut)
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
		json_object_set_new(shown, name, notice_new_value(value, cut));
	}
	jsonw_json(w, "environment", shown);
	json_decref(shown);
}

/* Is parameter @name no member of its own elsewhere? Nor the place of a page: it does not change
 * what is asked, and a resource's moves with the newest output. */
static bool notice_is_option(const char *name)
{
	static const char *const elsewhere[] = { "command",	"args",	 "stdin",
						 "environment", "intent", "working_directory",
						 "process_id",	"signal", "offset",
						 "stderr_offset", "data", "encoding",
						 "log_file", NULL };

	return !str_is_listed(name, elsewhere);
}

/* The other parameters that differ from their defaults, such as user and timeout. */
static void notice_write_options(struct jsonw *w, const struct schema *input, json_t *params,
				 bool *cut)
{
	bool any = false;
	const char *name;
	json_t *value;

	json_object_foreach(params, name, value) {
		if (schema_is_default(input, name, value) || !notice_is_option(name))
			continue;
		if (!any)
			jsonw_object(w, "options");
		any = true;
		if (json_is_string(value))
			notice_write_short(w, name, json_string_value(value),
					   json_string_length(value), VALUE_MAX, cut);
		else
			jsonw_json(w, name, value);
	}
	if (any)
		jsonw_end_object(w);
}

/* The names of the variables that the request sets. */
static void notice_write_names(struct jsonw *w, json_t *environment, bool *cut)
{
	size_t left = ITEMS_MAX;
	const char *name;
	json_t *value;

	jsonw_array(w, "environment_names");
	json_object_foreach(environment, name, value) {
		size_t len = strlen(name);

		if (len > left) {
			*cut = true;
			break;
		}
		jsonw_strn(w, NULL, name, len);
		left -= len;
	}
	jsonw_end_array(w);
}

static void notice_write_input(struct jsonw *w, const char *bytes, size_t len, bool *cut)
{
	notice_write_short(w, "stdin", bytes, len, STDIN_MAX, cut);
	jsonw_int(w, "stdin_bytes", (int64_t)len);
}

static void notice_write_command(struct jsonw *w, const struct req *r,
				 const struct blocklist_input *in, bool question, bool *cut)
{
	json_t *environment = json_object_get(r->params, "environment");

	notice_write_text(w, "command", in->command, cut);
	jsonw_int(w, "command_bytes", (int64_t)strlen(in->command));
	if (in->args)
		notice_write_args(w, in->args, cut);
	if (in->stdin_bytes)
		notice_write_input(w, in->stdin_bytes, in->stdin_len, cut);
	if (environment)
		notice_write_names(w, environment, cut);
	if (environment && question)
		notice_write_values(w, environment, cut);
}

/* The run that the call acts on. */
static void notice_write_target(struct jsonw *w, const struct req *r, const char *process_id,
				const char *target, bool *cut)
{
	const json_t *signal = json_object_get(r->params, "signal");

	jsonw_str(w, "process_id", process_id);
	if (target)
		notice_write_text(w, "process_command", target, cut);
	if (signal)
		jsonw_json(w, "signal", signal);
}

bool notice_write(struct jsonw *w, const struct req *r, const struct audit_event *event,
		  const struct blocklist_input *in, const struct schema *input,
		  const char *target, bool question)
{
	bool cut = false;

	jsonw_str(w, "capability", event->capability);
	jsonw_str(w, "tier", event->tier);
	if (in->command)
		notice_write_command(w, r, in, question, &cut);
	if (event->process_id)
		notice_write_target(w, r, event->process_id, target, &cut);
	notice_write_options(w, input, r->params, &cut);
	if (event->input)
		notice_write_input(w, event->input, event->input_len, &cut);
	if (event->cwd)
		jsonw_str(w, "working_directory", event->cwd);
	if (event->log_file)
		jsonw_str(w, "log_file", event->log_file);
	if (event->intent)
		notice_write_text(w, "intent", event->intent, &cut);
	return cut;
}

void notice_write_log(struct buf *json, const struct audit_event *event, const char *target)
{
	struct jsonw w;

	jsonw_init(&w, json);
	jsonw_object(&w, NULL);
	jsonw_str(&w, "capability", event->capability);
	jsonw_str(&w, "tier", event->tier);
	audit_add_request_id(&w, event->request_id);
	if (event->masked)
		jsonw_str(&w, "command", event->masked);
	else
		audit_add_client_text(&w, "command", event->command, AUDIT_TEXT_MAX);
	audit_add_client_text(&w, "process_id", event->process_id, AUDIT_TEXT_MAX);
	if (target)
		jsonw_str(&w, "process_command", target);
	audit_add_client_text(&w, "working_directory", event->cwd, AUDIT_PATH_MAX);
	audit_add_client_text(&w, "log_file", event->log_file, AUDIT_PATH_MAX);
	audit_add_client_text(&w, "intent", event->intent, AUDIT_TEXT_MAX);
	jsonw_end_object(&w);
}
