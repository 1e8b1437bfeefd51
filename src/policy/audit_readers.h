/*
 * audit_readers - which commands of a pipeline read a secret from their stdin.
 *
 * echo X | sudo -S true, passwd me <<< X: what they are fed is the secret, though nothing near it
 * says so. One walk through a pipeline finds its last reader; the words of the pipeline that ask
 * then get what is known. What they are fed, and how far that goes, is not its business
 * (policy/audit_redact.c).
 */
#ifndef PROCPEN_POLICY_AUDIT_READERS_H
#define PROCPEN_POLICY_AUDIT_READERS_H

#include <stdbool.h>

#include "policy/audit_mask.h"

struct audit_pipeline {
	const char *end;           /* up to here it is known */
	const char *reader, *stop; /* its last command that reads a secret, if any */
	bool file;                 /* it is a file that its last command writes */
	bool line;                 /* none of its commands reads more than a line of one */
};

/* Of one text; all zero at its start. */
struct audit_readers {
	struct audit_pipeline pipelines[AUDIT_QUOTE_LEVELS + 1]; /* by the quotes around them */
	size_t searched; /* bytes, for the groups around them */
};

/* Is there anything from @text to @end that reads a secret? */
bool audit_readers_are_possible(const char *text, const char *end);

/* Does what is before @p, which is not the start of the text, end a command? A backslash continues
 * the line. */
bool audit_readers_ends_before(const struct audit_mask *m, const char *p);

/* Go to the end of the command at @at, behind the groups that begin in it: to a separator, to the
 * ")" of a group around it, or to @limit or the end. */
void audit_readers_skip_command(struct audit_place *at, const char *limit);

/*
 * What is known of the pipeline at m->at. The word at @value, if any, reads nothing: it is that of
 * a <<<. Looks AUDIT_MASK_NEAR bytes ahead and back. The result is valid until the next call.
 */
const struct audit_pipeline *audit_readers_look(struct audit_readers *k, const struct audit_mask *m,
						const char *value);

#endif
