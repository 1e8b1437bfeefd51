/*
 * text_part - the state of a text, and functions that all texts use: members of the result, and
 * writing.
 *
 * @of is the object in which a member is looked up; NULL is the result itself.
 */
#ifndef PROCPEN_MCP_TEXT_PART_H
#define PROCPEN_MCP_TEXT_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/jsonw.h"
#include "mcp/answer.h"

#define TEXT_MARK_BYTES 300 /* for a heading, and the mark for bytes left out */
#define TEXT_REPLACED_BYTES 130 /* for the words about U+FFFD */

struct text {
	struct jsonw *w;
	const struct mcp_answer *a;
	size_t begin; /* of the text, in the buffer of @w */
	size_t left;  /* bytes that may still be written */
	bool midline; /* the last byte written is not a newline */
};

/* A member that is missing or of another kind is "", 0 or false. */
const struct outline_value *text_member(const struct text *t, const struct outline_value *of,
					const char *key);
const char *text_bytes(const struct text *t, const struct outline_value *v, size_t *kept);
bool text_is(const struct text *t, const struct outline_value *of, const char *key,
	     const char *value);
int64_t text_number(const struct text *t, const struct outline_value *of, const char *key);
bool text_has(const struct text *t, const struct outline_value *of, const char *key); /* not null */
bool text_flag(const struct text *t, const char *key);

/* Elements of an array; 0: it is missing. */
int64_t text_count(const struct text *t, const struct outline_value *of, const char *key);

/* Writing. */
void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_put(struct text *t, const char *bytes, size_t len);
void text_put_member(struct text *t, const struct outline_value *v); /* a whole string */
void text_put_named(struct text *t, const char *bytes, size_t len);   /* see mcp/tool_names.h */
void text_put_match(struct text *t, const struct outline_value *match); /* its line */
void text_end_line(struct text *t);                 /* unless at the start of a line */
void text_add_count(struct text *t, uint64_t count); /* 108,915 */
void text_add_plural(struct text *t, int64_t count, const char *one, const char *many);
void text_open_shown(struct text *t, int64_t shown, int64_t total); /* "[... 2 of 9 shown, " */
void text_add_duration(struct text *t, int64_t ms);  /* 4 ms, 1.2 s, 2 min 5 s, 1 h 2 min */
void text_add_id(struct text *t);                   /* " [p1]" */

/* The first line of a string, at most @max bytes, and "…" for the rest. */
void text_add_one_line(struct text *t, const struct outline_value *v, size_t max);

/* The JSON of @v, at most @max bytes. */
void text_add_json(struct text *t, const struct outline_value *v, size_t max);

/* A string of one line as it is; of any other value the JSON. At most @max bytes. */
void text_add_value(struct text *t, const struct outline_value *v, size_t max);

/* The elements of @array that there is room for, with @glue in between, and how many there are
 * beside these. */
void text_add_elements(struct text *t, const struct outline_value *array, const char *glue);

/* May @tool be called? Else no text sends a model there. */
bool text_may_call(const struct text *t, const char *tool);

/* process_logs {"process_id":"p1-72cc"; the caller adds members and the closing brace. */
void text_open_call(struct text *t, const char *tool);

/* For the run @id, which waits for input: what answers it, or that this is denied, and what stops
 * it. */
void text_add_input(struct text *t, const struct outline_value *id);

/* Has the run of the call a terminal? Its stderr stays empty. */
bool text_has_terminal(const struct text *t);

/* ,"offset":4000 ,"stderr_offset":20 of that call; of the streams that it is to read on. */
void text_add_place(struct text *t, bool out, bool err, int64_t next_out, int64_t next_err);

/* Has the text a U+FFFD, of the output or in place of bytes that are not UTF-8, and room for words
 * about it? Then TEXT_REPLACED says what it is, before how to get the bytes. */
bool text_has_replaced(const struct text *t);
#define TEXT_REPLACED "U+FFFD may stand for bytes that are not UTF-8: "

/* These words and the call, in a line of their own, if there is reason for them. */
void text_add_replaced(struct text *t);

/* A string of at most @max bytes, or both ends of a longer one and how much is left out. */
void text_put_ends(struct text *t, const struct outline_value *v, size_t max);

/* A line for each of the result's warnings that there is room for, and how many there are beside
 * these; at most so many bytes. */
void text_add_warnings(struct text *t);
size_t text_warnings_size(const struct text *t);

#endif
