/*
 * audit_sink - a copy of every line of the audit log to a descriptor that the operator opened.
 *
 * Never waits: a line that the other side cannot take at once is counted and left out; the numbers
 * of the lines show where. What was taken in part is completed before the next line. A file is
 * written as it is, like the log itself.
 */
#ifndef PROCPEN_POLICY_AUDIT_SINK_H
#define PROCPEN_POLICY_AUDIT_SINK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct audit_sink;

/* Is @text "fd:N" with none of 0, 1 and 2? 0, or -1 with InvalidParams. */
int audit_sink_check(const char *text, struct err *e);

/*
 * Take over the descriptor that @text, "fd:N", names, which must be open for writing and none of 0,
 * 1 and 2. Call it before anything else is opened. NULL and InvalidParams if it is not so.
 */
struct audit_sink *audit_sink_new(const char *text, struct err *e);
void audit_sink_free(struct audit_sink *s); /* NULL: no effect */

/* Copy @line, which ends in a newline. */
void audit_sink_write(struct audit_sink *s, const struct buf *line);

/* How many lines it did not take. */
uint64_t audit_sink_lost(const struct audit_sink *s);

#endif
