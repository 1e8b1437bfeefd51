/*
 * json - strict parsing of one JSON text, and typed getters (parse only; writing is jsonw).
 *
 * Source of the rules: RFC 8259. On top of it: limits of nesting and of values, refusal of
 * duplicate member names, and the distinction between text that is malformed and valid JSON that
 * we refuse (docs/protocol.md). The values are jansson's.
 */
#ifndef PROCPEN_BASE_JSON_H
#define PROCPEN_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of 4 MiB can hold two million values, and each takes some 100 bytes of memory. */
#define JSON_VALUES_MAX 50000

/* Seed the hash of member names. Without it jansson opens /dev/urandom at the first object. */
void json_text_seed(void);

enum json_fault {
	JSON_OK,
	JSON_MALFORMED, /* not JSON, invalid UTF-8, or nested deeper than the limit */
	JSON_REFUSED,   /* valid, but with a duplicate member, a NUL in a name, a number out of
			 * range, or a lone surrogate */
	JSON_TOO_MANY,  /* more than JSON_VALUES_MAX values; what follows them was not read */
};

/*
 * Parse @len bytes of @text (a leading UTF-8 BOM is tolerated), nesting at most
 * @depth_max. Returns a new reference, or NULL with *fault and a short reason in
 * @why (at least 160 bytes).
 */
json_t *json_text_parse(const char *text, size_t len, int depth_max, enum json_fault *fault,
			char why[160]);

/* A member as it stands in the text: the tokens of its name, with the quotes, and of its value. */
struct json_raw_member {
	const char *name, *value;
	size_t name_len, value_len;
};

/* Walk the members of the object that starts @text (of text that is no JSON: anything in it). Set
 * *@pos to 0 at first. False at the end. */
bool json_raw_next_member(const char *text, size_t len, size_t *pos, struct json_raw_member *m);

/*
 * The raw token of member @name of the object that starts @text (valid JSON as
 * accepted by json_text_parse): returns its start and sets *@token_len, or NULL.
 * Member names written with escapes are compared unescaped; @name is of letters.
 */
const char *json_raw_member(const char *text, size_t len, const char *name, size_t *token_len);

/* The same of a text that json_text_parse() refuses. NULL also where members of this name differ in
 * their tokens. */
const char *json_raw_sole_member(const char *text, size_t len, const char *name, size_t *token_len);

/* Walk the elements of the array at the start of @text. Set *@pos to 0 at first. Returns the next
 * element's raw text and its length, or NULL at the end. */
const char *json_raw_element(const char *text, size_t len, size_t *pos, size_t *element_len);

/* Typed getters for a checked object: the member's value, or @fallback if it is absent. */
const char *json_get_str(const json_t *object, const char *name, const char *fallback);
/* Truncates a real. */
int64_t json_get_int(const json_t *object, const char *name, int64_t fallback);
double json_get_num(const json_t *object, const char *name, double fallback);
bool json_get_bool(const json_t *object, const char *name, bool fallback);

#endif
