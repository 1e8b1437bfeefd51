/* message - the parameters of a long call: strings of 8 KiB, as files in a call are. */
#ifndef PROCPEN_BENCH_MESSAGE_H
#define PROCPEN_BENCH_MESSAGE_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* About @bytes of JSON text on the heap; NULL: no memory. */
static inline char *message_make(size_t bytes)
{
	static const char word[] = "static int count; ";
	char *text = malloc(bytes + 100);
	size_t at = 0;

	if (!text)
		return NULL;
	at += (size_t)sprintf(text, "{\"files\":[\"");
	for (size_t piece = 0; at < bytes; piece++) {
		if (piece % 455 == 454)
			at += (size_t)sprintf(text + at, "\",\"");
		at += (size_t)sprintf(text + at, "%s%s", word, piece % 3 ? "" : "\\n");
	}
	sprintf(text + at, "\"]}");
	return text;
}

#endif
