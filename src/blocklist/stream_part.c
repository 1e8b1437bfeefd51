#include "blocklist/stream_part.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SHOWN_MAX 4096

const struct blocklist_verdict stream_part_open_command = {
	.blocked = true,
	.unparsable = true,
	.rule = "text.unparsable",
	.reason = "The stdin has a key that interrupts or ends the input inside a command that is "
		  "not complete (rule text.unparsable).",
	.suggestion = "Complete that command before the key, or leave it out.",
};

void stream_part_show(struct stream_part *part, const char *text, size_t len)
{
	if (len > SHOWN_MAX)
		len = SHOWN_MAX;
	part->shown = mem_strndup(text, len);
	for (size_t i = 0; i < len; i++)
		if (!part->shown[i])
			part->shown[i] = ' ';
}

static void stream_part_join_shown(struct stream_part *part, const struct stream_part *next)
{
	size_t len = part->shown ? strlen(part->shown) : 0;
	size_t more = next->shown ? strlen(next->shown) : 0;

	if (!more || (len == SHOWN_MAX && !next->verdict.blocked))
		return;
	if (next->verdict.blocked)
		len = 0;
	if (len + more > SHOWN_MAX)
		more = SHOWN_MAX - len;
	part->shown = mem_realloc(part->shown, len + more + 1);
	memcpy(part->shown + len, next->shown, more);
	part->shown[len + more] = '\0';
}

void stream_part_join(struct stream_part *part, const struct stream_part *next, size_t waited)
{
	stream_part_join_shown(part, next);
	part->bytes = mem_realloc(part->bytes, part->len + next->len + 1);
	memcpy(part->bytes + part->len, next->bytes, next->len);
	part->len += next->len;
	part->earlier = part->len < waited ? part->len : waited;
	part->dropped = next->verdict.blocked ? waited - part->earlier
					      : part->dropped + next->dropped;
	part->skipped += next->skipped;
	part->waiting = next->waiting;
	part->edited |= next->edited;
	part->verdict = next->verdict;
}

void stream_part_release(struct stream_part *part)
{
	free(part->bytes);
	free(part->shown);
}
