#include "cap/repeat.h"

#include <string.h>

#define COMPARED_MAX (64u << 10)

/* The parameters in one spelling; -1 if they are too large. */
static int repeat_digest(const struct schema *schema, json_t *params,
			 unsigned char digest[DIGEST_SIZE])
{
	json_t *compared = json_copy(params);
	int result;

	json_object_del(compared, "intent");
	json_object_del(compared, "idempotency_key");
	schema_drop_defaults(schema, compared);
	result = digest_json(compared, COMPARED_MAX, digest);
	json_decref(compared);
	return result;
}

unsigned repeat_note(struct repeat *last, const struct schema *schema, json_t *params,
		     int exit_code)
{
	struct repeat now = { .exit_code = exit_code, .count = 1 };

	if (exit_code <= 0) {
		last->count = 0;
		return 0;
	}
	if (repeat_digest(schema, params, now.digest))
		last->count = 0;
	else if (last->count && last->exit_code == exit_code &&
		 !memcmp(last->digest, now.digest, sizeof(now.digest)))
		now.count = last->count + 1;
	*last = now;
	return now.count;
}
