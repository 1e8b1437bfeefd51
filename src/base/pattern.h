/*
 * pattern - a client's regular expression, matched against one line at a time.
 *
 * The one place that knows PCRE2 (pcre2api(3)) and its bounds. Text is UTF-8; \C, which would split
 * a character, is refused.
 *
 * Refuses to: run away. A step is one item of the pattern tried at one position, plus one for every
 * 16 bytes that the item consumes or may consume. One step for each byte of a line is free; beyond
 * that a line has PATTERN_LINE_STEPS and a pattern PATTERN_STEPS in all. Depth and memory of a
 * match are bounded too. A line that reaches a bound takes milliseconds.
 *
 * Ownership: the pattern is the caller's, freed by pattern_free(); it keeps no line.
 */
#ifndef PROCPEN_BASE_PATTERN_H
#define PROCPEN_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define PATTERN_BYTES 1024
#define PATTERN_LINE_STEPS 10000
#define PATTERN_STEPS 5000000

struct pattern;

/* Compile @text. NULL with InvalidParams if it is none; details.position is the byte where it
 * fails. */
struct pattern *pattern_new(const char *text, bool ignore_case, struct err *e);
void pattern_free(struct pattern *p); /* accepts NULL */

enum pattern_found { PATTERN_ABSENT, PATTERN_PRESENT, PATTERN_LIMIT };

/* What of a line is missing: there ^ or $ does not match (pcre2api(3), PCRE2_NOTBOL, PCRE2_NOTEOL).
 */
enum pattern_part { PATTERN_NO_HEAD = 1, PATTERN_NO_TAIL = 2 };

/*
 * Match @line, @len bytes of valid UTF-8 without its newline; @part: a set of enum pattern_part.
 * *@at: offset of the match, if there is one. PATTERN_LIMIT: a bound was reached, so the answer is
 * unknown.
 */
enum pattern_found pattern_find(struct pattern *p, const char *line, size_t len, unsigned part,
				size_t *at);

/* The capture groups of the pattern, numbered from 1. pattern_group(): where @group is in the line
 * that was matched last; false if it had no part in the match. */
size_t pattern_groups(const struct pattern *p);
bool pattern_group(const struct pattern *p, size_t group, size_t *at, size_t *len);

#endif
