/*
 * outline - the values of a JSON object as they were before they became JSON.
 *
 * For: showing a result in another form without parsing JSON. A jsonw that has an outline records
 * in it what it writes: key, kind, number or text, and the position of the value's JSON. It records
 * OUTLINE_LEVELS levels, the members of the object, their members or elements, and so on; deeper
 * values are part of the JSON above them.
 * Refuses to: hold a second copy of a long text. Of one longer than 2 * OUTLINE_KEEP bytes it keeps
 * the two ends, OUTLINE_KEEP bytes each.
 *
 * Texts in it are well-formed UTF-8 except at the inner edges of such ends; ill-formed bytes are
 * repaired as in base/utf8.h.
 *
 * Ownership: keys are borrowed, the JSON is in the writer's buffer; the rest is the outline's.
 */
#ifndef PROCPEN_BASE_OUTLINE_H
#define PROCPEN_BASE_OUTLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define OUTLINE_KEEP 10000
#define OUTLINE_LEVELS 4

enum outline_kind {
	OUTLINE_NULL,
	OUTLINE_BOOL,
	OUTLINE_INT,
	OUTLINE_TEXT,
	OUTLINE_ARRAY,
	OUTLINE_OBJECT,
	OUTLINE_OTHER, /* a real, or JSON from elsewhere (jsonw_raw) */
};

struct outline_value {
	const char *key;  /* NULL in an array */
	enum outline_kind kind;
	int level;        /* 1: member of the object, 2: inside one, ... */
	int64_t number;   /* value of an INT; 0 or 1 of a BOOL */
	size_t json, json_len; /* position of its JSON in the writer's buffer */
	size_t text;      /* TEXT: offset of the kept bytes in the outline's texts */
	size_t text_len;  /* TEXT: its full length */
};

/* Zero it before the first outline_clear(). */
struct outline {
	struct outline_value *values; /* depth first: a member, its contents, the next member */
	size_t count, room;
	size_t open[OUTLINE_LEVELS + 1]; /* the value that is being written, by level */
	bool in_text;
	struct buf texts;
};

void outline_clear(struct outline *o); /* empty the outline, keep its memory */
void outline_release(struct outline *o);

/*
 * For jsonw: open, add text to, and close a value at @level (@value: key, kind, number, start of
 * its JSON). Ignored below OUTLINE_LEVELS.
 */
void outline_open(struct outline *o, int level, const struct outline_value *value);
void outline_add_text(struct outline *o, const char *bytes, size_t len);
void outline_close(struct outline *o, int level, size_t json_end);

/* Iterate over the contents of @of (NULL: the object itself). @at is NULL at first; returns NULL at
 * the end. */
const struct outline_value *outline_next(const struct outline *o, const struct outline_value *of,
					 const struct outline_value *at);

/* The member @key of the object @of (NULL: the object itself), or NULL. */
const struct outline_value *outline_find(const struct outline *o, const struct outline_value *of,
					 const char *key);

/* The kept bytes of the text @v and their number: the whole text, or its two ends joined. */
const char *outline_text(const struct outline *o, const struct outline_value *v, size_t *kept);

#endif
