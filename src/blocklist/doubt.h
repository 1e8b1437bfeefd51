/*
 * doubt - lines that may be commands of their own, typed inside a command behind a line that is
 * not known (blocklist/typed.h).
 *
 * That line may have ended the command: in a here-document up to E, an editor of lines may make
 * just E of the keys E and TAB.
 */
#ifndef PROCPEN_BLOCKLIST_DOUBT_H
#define PROCPEN_BLOCKLIST_DOUBT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "blocklist/pending.h"
#include "blocklist/stream_part.h"
#include "blocklist/transcript.h"

struct doubt {
	bool unknown;    /* a line is not known; else no line is in doubt */
	struct buf text; /* the lines in doubt; the caller releases it */
	size_t keys;     /* that precede the first command with such a line */
};

/* Find the lines in doubt among what @p comes to behind @t, as far as that is judged now: with
 * @end, all of it. @doubted: the command that is open at the end of @t may have an unknown line. */
void doubt_find(const struct transcript *t, struct pending *p, bool doubted, bool end,
		struct doubt *d);

/* Put the lines of @d, if there are any, behind the last complete command of @text, and move *@from
 * there if it lies further on. */
void doubt_insert(const struct doubt *d, struct buf *text, size_t *from);

/* Are the lines of @d blocked behind @t? What is no shell text of them is data. The caller releases
 * @part. */
bool doubt_is_blocked(const struct transcript *t, const struct doubt *d, struct stream_part *part);

#endif
