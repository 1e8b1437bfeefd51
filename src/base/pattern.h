/*
 * pattern - a regular expression that a client gave, tried on one line at a time.
 *
 * The one place that knows PCRE2 (pcre2api(3)) and its bounds. Text is UTF-8; \C is refused, since
 * it would split a character.
 * Refuses to: run away. A step is one item of the pattern tried at one place, and one more for
 * every 16 bytes that an item passes or may have to pass. One step for each byte of a line is what
 * any search takes; beyond that a line has PATTERN_LINE_STEPS and a pattern PATTERN_STEPS in all.
 * Depth and memory of a match are bounded too. A line that reaches a bound takes milliseconds.
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

/* NULL with InvalidParams when @text is no pattern; details.position is the byte that shows it. */
struct pattern *pattern_new(const char *text, bool ignore_case, struct err *e);
void pattern_free(struct pattern *p); /* accepts NULL */

enum pattern_found { PATTERN_ABSENT, PATTERN_PRESENT, PATTERN_LIMIT };

/*
 * Does @line, @len bytes of valid UTF-8 without its newline, hold the pattern? *@at: where, when it
 * does. PATTERN_LIMIT: a bound was reached first; the answer is not known.
 */
enum pattern_found pattern_find(struct pattern *p, const char *line, size_t len, size_t *at);

#endif
