#include "base/outline.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define TEXTS_MAX (64u << 20) /* a guard: each text keeps at most 2 * OUTLINE_KEEP bytes */
#define TRIM_AT (4 * OUTLINE_KEEP)

void outline_clear(struct outline *o)
{
	o->count = 0;
	o->in_text = false;
	buf_clear(&o->texts);
	o->texts.max = TEXTS_MAX;
}

void outline_release(struct outline *o)
{
	free(o->values);
	buf_release(&o->texts);
	*o = (struct outline){ 0 };
}

void outline_open(struct outline *o, int level, const struct outline_value *value)
{
	struct outline_value *v;

	if (level < 1 || level > OUTLINE_LEVELS)
		return;
	if (o->count == o->room)
		o->values = mem_grow(o->values, &o->room, 64, sizeof(*o->values));
	o->open[level] = o->count;
	o->in_text = value->kind == OUTLINE_TEXT;
	v = &o->values[o->count++];
	*v = *value;
	v->level = level;
	v->text = o->texts.len;
}

/* Drop the middle of a long text. */
static void outline_trim(struct outline *o, const struct outline_value *v)
{
	char *text = o->texts.data + v->text;
	size_t kept = o->texts.len - v->text;

	memmove(text + OUTLINE_KEEP, text + kept - OUTLINE_KEEP, OUTLINE_KEEP);
	buf_truncate(&o->texts, v->text + 2 * OUTLINE_KEEP);
}

/* The longest prefix of @s in whole characters that has at most OUTLINE_KEEP bytes. */
static size_t outline_well_formed(const char *s, size_t len)
{
	size_t at = 0, used;

	while (at < len && at < OUTLINE_KEEP) {
		used = 1;
		if ((unsigned char)s[at] >= 0x80 &&
		    utf8_next(s + at, len - at, &used) != UTF8_VALID)
			break;
		at += used;
	}
	return at;
}

static void outline_keep(struct outline *o, const char *bytes, size_t len)
{
	struct outline_value *v = &o->values[o->count - 1];

	buf_add(&o->texts, bytes, len);
	v->text_len += len;
	if (o->texts.len - v->text > TRIM_AT)
		outline_trim(o, v);
}

void outline_add_text(struct outline *o, const char *bytes, size_t len)
{
	size_t at = 0, used;

	if (!o->in_text)
		return;
	while (at < len) {
		used = outline_well_formed(bytes + at, len - at);
		if (used) {
			outline_keep(o, bytes + at, used);
		} else {
			utf8_next(bytes + at, len - at, &used);
			outline_keep(o, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
		}
		at += used;
	}
}

void outline_close(struct outline *o, int level, size_t json_end)
{
	struct outline_value *v;

	if (level < 1 || level > OUTLINE_LEVELS)
		return;
	v = &o->values[o->open[level]];
	v->json_len = json_end - v->json;
	if (o->in_text && o->texts.len - v->text > 2 * OUTLINE_KEEP)
		outline_trim(o, v);
	o->in_text = false;
}

const struct outline_value *outline_next(const struct outline *o, const struct outline_value *of,
					 const struct outline_value *at)
{
	int level = of ? of->level + 1 : 1;
	const struct outline_value *end = o->values + o->count;

	at = at ? at + 1 : of ? of + 1 : o->values;
	while (at < end && at->level > level)
		at++;
	return at < end && at->level == level ? at : NULL;
}

const struct outline_value *outline_find(const struct outline *o, const struct outline_value *of,
					 const char *key)
{
	const struct outline_value *v = NULL;

	while ((v = outline_next(o, of, v)))
		if (!strcmp(v->key, key))
			return v;
	return NULL;
}

const char *outline_text(const struct outline *o, const struct outline_value *v, size_t *kept)
{
	*kept = v->text_len < 2 * OUTLINE_KEEP ? v->text_len : 2 * OUTLINE_KEEP;
	return *kept ? o->texts.data + v->text : "";
}
