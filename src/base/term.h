/*
 * term - turns terminal output into plain text.
 *
 * Removes escape sequences (ECMA-48: CSI, OSC and other strings, two-byte escapes). Of a line that
 * carriage returns redraw it keeps the last drawing.
 */
#ifndef PROCPEN_BASE_TERM_H
#define PROCPEN_BASE_TERM_H

#include <stdbool.h>
#include <stddef.h>

/* Clean @text in place; the new length (never more than @len). */
size_t term_clean(char *text, size_t len);

/* Is the escape sequence at the start of @text (ESC, @len > 0) complete within @len bytes? */
bool term_escape_ends(const char *text, size_t len);

#endif
