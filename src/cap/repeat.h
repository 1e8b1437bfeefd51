/*
 * repeat - counts runs that fail the same way one after the other.
 *
 * A model in a loop sends the same request again and again. The same means: all parameters but
 * intent, and the exit code; any other end of a run between two failures begins a new count.
 */
#ifndef PROCPEN_CAP_REPEAT_H
#define PROCPEN_CAP_REPEAT_H

#include <jansson.h>

#include "base/digest.h"
#include "base/schema.h"

struct repeat {
	unsigned char digest[DIGEST_SIZE]; /* of the last failure */
	int exit_code;
	unsigned count;
};

/* A run with @params, checked against @schema, has answered. @exit_code: -1 if it did not exit by
 * itself. Returns how many failures in a row this is, itself included; 0: it is none. Requests
 * above 64 KiB are not compared: each is the first. */
unsigned repeat_note(struct repeat *last, const struct schema *schema, json_t *params,
		     int exit_code);

#endif
