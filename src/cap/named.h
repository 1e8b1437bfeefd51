/*
 * named - the capabilities that a text of ours names, and which of them the operator denies.
 *
 * Nobody is sent to a call that would be refused without a word about that.
 */
#ifndef PROCPEN_CAP_NAMED_H
#define PROCPEN_CAP_NAMED_H

#include <stddef.h>

#include "base/buf.h"
#include "cap/cap.h"

/*
 * The next capability that @text names, from *@at on, where its name then stands; or NULL. Longer
 * names that contain one do not count: tier.process.kill, a path; nor does what stands in double
 * quotes or backticks, which repeats what a command or a client said.
 */
const struct cap_row *named_next(const char *text, size_t len, size_t *at);

/*
 * Say which of the capabilities that @text names the operator denies: " The operator denies
 * process.kill." Behind a text that is not a sentence it goes on with that.
 */
void named_add_denied(const struct cap *c, const char *text, size_t len, struct buf *out);

/* The same in the hint of @e; and leave out its actions that are such calls. */
void named_mark_denied(const struct cap *c, struct err *e);

#endif
