#include "base/term.h"

#include <string.h>

#define ESC '\x1b'
#define BEL '\a'

/* End of a string sequence (OSC, DCS, SOS, PM, APC): after BEL or ESC \; else the end of text. */
static size_t term_skip_string(const char *text, size_t len, size_t at)
{
	for (; at < len; at++) {
		if (text[at] == BEL)
			return at + 1;
		if (text[at] == ESC && at + 1 < len && text[at + 1] == '\\')
			return at + 2;
	}
	return len;
}

/* CSI: parameters 0x30-0x3f, intermediates 0x20-0x2f, one final 0x40-0x7e. */
static size_t term_skip_csi(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] >= 0x20 && text[at] <= 0x3f)
		at++;
	return at < len && text[at] >= 0x40 && text[at] <= 0x7e ? at + 1 : at;
}

/* The end of the escape sequence at @at, where text[at] is ESC. */
static size_t term_skip_escape(const char *text, size_t len, size_t at)
{
	if (++at >= len)
		return at;
	if (text[at] == '[')
		return term_skip_csi(text, len, at + 1);
	if (memchr("]PX^_", text[at], 5))
		return term_skip_string(text, len, at + 1);
	while (at < len && text[at] >= 0x20 && text[at] <= 0x2f)
		at++; /* intermediates: charset selection and the like */
	return at < len && text[at] >= 0x30 && text[at] <= 0x7e ? at + 1 : at;
}

bool term_escape_ends(const char *text, size_t len)
{
	return term_skip_escape(text, len, 0) < len;
}

size_t term_clean(char *text, size_t len)
{
	size_t to = 0, line = 0; /* where the current line starts in the result */
	bool returned = false;   /* the next drawn character starts the line over */

	for (size_t at = 0; at < len;) {
		char c = text[at];

		if (c == ESC) {
			at = term_skip_escape(text, len, at);
			continue;
		}
		at++;
		if (c == '\r') {
			returned = true; /* draws nothing by itself: a newline may follow */
			continue;
		}
		if (returned && c != '\n')
			to = line;
		returned = false;
		text[to++] = c;
		if (c == '\n')
			line = to;
	}
	return to;
}
