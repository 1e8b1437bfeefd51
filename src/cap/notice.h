/*
 * notice - what the host is told before a start, or asked to confirm.
 *
 * A human decides by it, so it shows what will happen and never hides that
 * something is left out: a long text keeps its head and its tail with a mark
 * between them, its full size is given, and `truncated` is true.
 */
#ifndef PROCPEN_CAP_NOTICE_H
#define PROCPEN_CAP_NOTICE_H

#include "base/schema.h"
#include "blocklist/blocklist.h"
#include "policy/audit.h"
#include "rpc/req.h"

#define NOTICE_MAX (512 * 1024) /* every text below at its bound, every byte escaped, fits */

/*
 * The notice for @r, a new object without the request's id. @event: what is recorded of it; @in:
 * command, args and stdin as the blocklist sees them (all zero when the capability
 * has no command), @input: what parameters it takes; @target: the command of the run
 * that it names, or NULL. @question: for who decides, who also sees the values of
 * variables, which may be secrets.
 */
json_t *notice_new(const struct req *r, const struct audit_event *event,
		   const struct blocklist_input *in, const struct schema *input,
		   const char *target, bool question);

/*
 * What stderr says of @event, which hosts keep in files: command and intent masked
 * as in the audit log, and no input. @target as above.
 */
void notice_write_log(struct buf *json, const struct audit_event *event, const char *target);

#endif
