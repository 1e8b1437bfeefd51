/*
 * repeat - counts runs that fail the same way one after the other.
 *
 * A model in a loop sends the same request again and again. The same means: all parameters but
 * intent, the reason of the end, and exit code or signal; any other end of a run between two
 * failures begins a new count. That somebody ended a run is not a failure of it.
 */
#ifndef PROCPEN_CAP_REPEAT_H
#define PROCPEN_CAP_REPEAT_H

#include <jansson.h>

#include "base/digest.h"
#include "base/schema.h"
#include "proc/proc.h"

struct repeat {
	unsigned char digest[DIGEST_SIZE]; /* of the last failure */
	enum proc_reason reason;
	int wait_status; /* if it ended by itself, else 0 */
	unsigned count;
};

/* @p, run with @params, checked against @schema, has answered. Returns how many failures in a row
 * this is, itself included; 0: it is none. Requests above 64 KiB are not compared: each is the
 * first. */
unsigned repeat_note(struct repeat *last, const struct schema *schema, json_t *params,
		     const struct proc *p);

#endif
