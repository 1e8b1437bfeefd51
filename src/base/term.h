/*
 * term - makes terminal output readable as plain text.
 *
 * Removes escape sequences (ECMA-48: CSI, OSC and other strings, two-byte
 * escapes) and keeps of a line that was redrawn by carriage returns only what
 * was drawn last.
 */
#ifndef PROCPEN_BASE_TERM_H
#define PROCPEN_BASE_TERM_H

#include <stdbool.h>
#include <stddef.h>

/* Clean @text in place; the new length (never more than @len). */
size_t term_clean(char *text, size_t len);

/* Does the escape sequence that starts @text (with ESC, @len > 0) end before the text does? */
bool term_escape_ends(const char *text, size_t len);

#endif
