/*
 * notice - a call as the host shows it before a start or in a confirmation.
 *
 * A human decides by it, so it never hides an omission: a long text keeps its head and its tail
 * with a mark between them, the notice has its full size, and `truncated` is true.
 */
#ifndef PROCPEN_CAP_NOTICE_H
#define PROCPEN_CAP_NOTICE_H

#include "base/jsonw.h"
#include "base/schema.h"
#include "blocklist/blocklist.h"
#include "policy/audit.h"
#include "rpc/req.h"

#define NOTICE_USUAL 600 /* bytes that most have room in */

/*
 * Write what @r asks for, as members of the open object, without the request's id. @event: its
 * audit record; @in: command, args and stdin as the blocklist sees them (all zero when the
 * capability has no command); @input: its parameters; @target: the command of the run that it
 * names, or NULL. @question: for a confirmation, which also shows the values of
 * variables although they may be secrets. Returns whether something is left out.
 */
bool notice_write(struct jsonw *w, const struct req *r, const struct audit_event *event,
		  const struct blocklist_input *in, const struct schema *input,
		  const char *target, bool question);

/*
 * The notice for a line on stderr, which hosts keep in files: what the client
 * wrote masked as in the audit log, and no input. @target as above, but masked.
 */
void notice_write_log(struct buf *json, const struct audit_event *event, const char *target);

#endif
