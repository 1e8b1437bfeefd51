#include "mcp/text_part.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "cap/named.h"
#include "mcp/tool_names.h"

#define WARNINGS_MAX 4000 /* bytes of all of them */
#define WARNING_BYTES 100 /* of one, beside its text; of the count of those left out */

/* ---- members ---- */

const struct outline_value *text_member(const struct text *t, const struct outline_value *of,
					const char *key)
{
	return outline_find(&t->a->result->outline, of, key);
}

const char *text_bytes(const struct text *t, const struct outline_value *v, size_t *kept)
{
	*kept = 0;
	return v && v->kind == OUTLINE_TEXT ? outline_text(&t->a->result->outline, v, kept) : "";
}

bool text_is(const struct text *t, const struct outline_value *of, const char *key,
	     const char *value)
{
	size_t kept;
	const char *text = text_bytes(t, text_member(t, of, key), &kept);

	return kept == strlen(value) && !memcmp(text, value, kept);
}

int64_t text_number(const struct text *t, const struct outline_value *of, const char *key)
{
	const struct outline_value *v = text_member(t, of, key);

	return v && v->kind == OUTLINE_INT ? v->number : 0;
}

bool text_has(const struct text *t, const struct outline_value *of, const char *key)
{
	const struct outline_value *v = text_member(t, of, key);

	return v && v->kind != OUTLINE_NULL;
}

bool text_flag(const struct text *t, const char *key)
{
	const struct outline_value *v = text_member(t, NULL, key);

	return v && v->kind == OUTLINE_BOOL && v->number;
}

int64_t text_count(const struct text *t, const struct outline_value *of, const char *key)
{
	const struct outline_value *array = text_member(t, of, key), *v = NULL;
	int64_t n = 0;

	while (array && (v = outline_next(&t->a->result->outline, array, v)))
		n++;
	return n;
}

/* ---- writing ---- */

void text_put(struct text *t, const char *bytes, size_t len)
{
	if (!len)
		return;
	jsonw_piece(t->w, bytes, len);
	t->left -= len < t->left ? len : t->left;
	t->midline = bytes[len - 1] != '\n';
}

void text_add(struct text *t, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	BUG_IF(len < 0 || (size_t)len >= sizeof(text));
	text_put(t, text, (size_t)len);
}

void text_put_member(struct text *t, const struct outline_value *v)
{
	size_t kept;
	const char *text = text_bytes(t, v, &kept);

	text_put(t, text, kept);
}

void text_put_match(struct text *t, const struct outline_value *match)
{
	text_put_member(t, text_member(t, match, "text"));
	if (text_has(t, match, "cut"))
		text_add(t, " [part of a longer line]");
}

void text_put_named(struct text *t, const char *bytes, size_t len)
{
	mcp_tool_names_write(t->w, bytes, len);
	t->left -= len < t->left ? len : t->left;
	t->midline = true;
}

void text_end_line(struct text *t)
{
	if (t->midline)
		text_add(t, "\n");
}

void text_add_count(struct text *t, uint64_t count)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);

	for (int i = 0; i < len; i++)
		text_add(t, "%s%c", i && (len - i) % 3 == 0 ? "," : "", digits[i]);
}

void text_add_plural(struct text *t, int64_t count, const char *one, const char *many)
{
	text_add_count(t, count < 0 ? 0 : (uint64_t)count);
	text_add(t, " %s", count == 1 ? one : many);
}

void text_open_shown(struct text *t, int64_t shown, int64_t total)
{
	text_add(t, "[... ");
	text_add_count(t, (uint64_t)shown);
	text_add(t, " of ");
	text_add_count(t, (uint64_t)total);
	text_add(t, " shown, ");
}

void text_add_duration(struct text *t, int64_t ms)
{
	int64_t s = (ms + 500) / 1000;

	if (ms < 1000)
		text_add(t, "%" PRId64 " ms", ms);
	else if (ms < 59950 && (ms + 50) / 100 % 10)
		text_add(t, "%" PRId64 ".%" PRId64 " s", (ms + 50) / 1000, (ms + 50) / 100 % 10);
	else if (s < 60)
		text_add(t, "%" PRId64 " s", s);
	else if (s < 3600 && s % 60)
		text_add(t, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
	else if (s < 3600)
		text_add(t, "%" PRId64 " min", s / 60);
	else
		text_add(t, "%" PRId64 " h %" PRId64 " min", s / 3600, s / 60 % 60);
}

void text_add_id(struct text *t)
{
	text_add(t, " [");
	text_put_member(t, text_member(t, NULL, "process_id"));
	text_add(t, "]");
}

void text_add_one_line(struct text *t, const struct outline_value *v, size_t max)
{
	size_t kept, len;
	const char *text = text_bytes(t, v, &kept), *newline = memchr(text, '\n', kept);

	len = utf8_cut(text, newline ? (size_t)(newline - text) : kept, max);
	text_put(t, text, len);
	if (v && len < v->text_len)
		text_add(t, "…");
}

void text_add_json(struct text *t, const struct outline_value *v, size_t max)
{
	const char *json = t->a->result->json.data + v->json;

	text_put(t, json, utf8_cut(json, v->json_len, max));
	if (v->json_len > max)
		text_add(t, " [... cut ...]");
}

void text_add_value(struct text *t, const struct outline_value *v, size_t max)
{
	size_t kept;
	const char *text = text_bytes(t, v, &kept);

	if (v->kind == OUTLINE_TEXT && v->text_len <= max && !memchr(text, '\n', kept) &&
	    !memchr(text, '\r', kept))
		text_put(t, text, kept);
	else
		text_add_json(t, v, max);
}

void text_add_elements(struct text *t, const struct outline_value *array, const char *glue)
{
	const struct outline_value *v = NULL;
	size_t shown = 0, left_out = 0;

	while ((v = outline_next(&t->a->result->outline, array, v))) {
		if (v->json_len + TEXT_MARK_BYTES > t->left) {
			left_out++;
			continue;
		}
		text_add(t, "%s", shown++ ? glue : "");
		text_add_value(t, v, t->left);
	}
	if (left_out)
		text_add(t, "%s[... %zu more left out ...]", shown ? glue : "", left_out);
}

bool text_may_call(const struct text *t, const char *tool)
{
	const struct cap *c = t->a->cap;

	return !c || cap_tier(c, cap_find(c, tool)) != TIER_DENY;
}

static void text_part_open_call(struct text *t, const char *tool, const struct outline_value *id)
{
	text_add(t, "%s {\"process_id\":\"", tool);
	text_put_member(t, id);
	text_add(t, "\"");
}

void text_open_call(struct text *t, const char *tool)
{
	text_part_open_call(t, tool, text_member(t, NULL, "process_id"));
}

void text_add_input(struct text *t, const struct outline_value *id)
{
	bool may_write = text_may_call(t, "process_input");

	if (may_write) {
		text_part_open_call(t, "process_input", id);
		text_add(t, ",\"data\":\"...\\n\"} answers it");
	} else {
		text_add(t, "the operator denies process_input");
	}
	if (text_may_call(t, "process_kill"))
		text_add(t, "%s process_kill stops it", may_write ? "," : ";");
}

bool text_has_terminal(const struct text *t)
{
	return t->a->run && t->a->run->out.range->screen.cols;
}

void text_add_place(struct text *t, bool out, bool err, int64_t next_out, int64_t next_err)
{
	if (!out || !err)
		text_add(t, ",\"stream\":\"%s\"", out ? "stdout" : "stderr");
	text_add(t, ",\"offset\":%" PRId64, out ? next_out : next_err);
	if (out && err && next_out != next_err && !text_has_terminal(t))
		text_add(t, ",\"stderr_offset\":%" PRId64, next_err);
}

bool text_has_replaced(const struct text *t)
{
	const struct buf *out = t->w->out;

	return t->left >= TEXT_REPLACED_BYTES && text_may_call(t, "process_logs") &&
	       memmem(out->data + t->begin, out->len - t->begin, UTF8_REPLACEMENT,
		      strlen(UTF8_REPLACEMENT));
}

void text_add_replaced(struct text *t)
{
	if (!text_has_replaced(t))
		return;
	text_end_line(t);
	text_add(t, "[" TEXT_REPLACED);
	text_open_call(t, "process_logs");
	text_add(t, ",\"encoding\":\"base64\"} returns them]\n");
}

void text_put_ends(struct text *t, const struct outline_value *v, size_t max)
{
	size_t kept, head, start;
	const char *text = text_bytes(t, v, &kept);

	if (v->text_len <= max) {
		text_put(t, text, kept);
		return;
	}
	head = utf8_cut(text, kept, max / 3);
	start = utf8_cut(text, kept, kept - (max - max / 3) + 3);
	text_put(t, text, head);
	text_end_line(t);
	text_add(t, "[... ");
	text_add_count(t, v->text_len - kept + start - head);
	text_add(t, " bytes left out: ask for less at once ...]\n");
	text_put(t, text + start, kept - start);
}

size_t text_warnings_size(const struct text *t)
{
	const struct outline_value *warnings = text_member(t, NULL, "warnings"), *v = NULL;
	size_t size = 0;

	while (warnings && (v = outline_next(&t->a->result->outline, warnings, v)))
		size += v->text_len + WARNING_BYTES;
	return size < WARNINGS_MAX ? size : WARNINGS_MAX;
}

static void text_part_add_denied(struct text *t, const char *warning, size_t len)
{
	struct buf denied;

	if (!t->a->cap)
		return;
	buf_init(&denied, WARNINGS_MAX);
	named_add_denied(t->a->cap, warning, len, &denied);
	if (denied.len)
		text_put_named(t, denied.data, denied.len);
	buf_release(&denied);
}

void text_add_warnings(struct text *t)
{
	const struct outline_value *warnings = text_member(t, NULL, "warnings"), *v = NULL;
	size_t size = WARNING_BYTES, left_out = 0;

	while (warnings && (v = outline_next(&t->a->result->outline, warnings, v))) {
		size_t kept;
		const char *text = text_bytes(t, v, &kept);

		if (size + kept + WARNING_BYTES > WARNINGS_MAX) {
			left_out++;
			continue;
		}
		size += kept + WARNING_BYTES;
		text_end_line(t);
		text_add(t, "warning: ");
		text_put_named(t, text, kept);
		text_part_add_denied(t, text, kept);
		text_add(t, "\n");
	}
	if (left_out)
		text_add(t, "warning: [... %zu more left out ...]\n", left_out);
}
