/*
 * stream_part - what judging a part of a stream came to (blocklist/stream.h).
 */
#ifndef PROCPEN_BLOCKLIST_STREAM_PART_H
#define PROCPEN_BLOCKLIST_STREAM_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "blocklist/blocklist.h"

/* stream_part_release() frees it. */
struct stream_part {
	struct blocklist_verdict verdict; /* of the line that is blocked, or of all */
	char *bytes;    /* to write now; with a blocked line: what precedes it */
	size_t len;
	size_t earlier; /* of these, bytes that had waited */
	size_t waiting; /* bytes that wait now: not yet judged, not to be written */
	size_t dropped; /* bytes that are forgotten: with a blocked line, those that had waited;
			 * else those that were not complete when ^C, ^Z or ^\ was typed */
	size_t skipped; /* keys of this part that ^C, ^Z or ^\ dropped */
	bool edited;    /* of the keys, some belong to a line that is not judged */
	char *shown;    /* for records: the lines that were judged, whole and once they are
			 * complete, from the blocked one on if there is one; NULL: the command
			 * takes it for data, or no line is complete */
};

/* The verdict on a key that interrupts or ends a command which is not complete, where that is
 * refused: ^D when it is typed, any of them when all of stdin is typed at the start. */
extern const struct blocklist_verdict stream_part_open_command;

/* Set what is shown, to the start of @text if that is long. */
void stream_part_show(struct stream_part *part, const char *text, size_t len);

/* Add @next, which was judged behind @part. @waited: bytes that had waited before both. */
void stream_part_join(struct stream_part *part, const struct stream_part *next, size_t waited);

void stream_part_release(struct stream_part *part); /* a zeroed one, too */

#endif
