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

static bool repeat_is_failure(const struct proc *p)
{
	switch (p->reason) {
	case PROC_REASON_EXITED:
		return proc_exit_code(p) > 0;
	case PROC_REASON_SIGNALED:
	case PROC_REASON_TIMEOUT:
	case PROC_REASON_IDLE:
	case PROC_REASON_MEMORY_LIMIT:
	case PROC_REASON_CPU_LIMIT:
	case PROC_REASON_FILE_SIZE_LIMIT:
	case PROC_REASON_PROCESS_LIMIT:
	case PROC_REASON_SECCOMP:
		return true;
	case PROC_REASON_RUNNING:
	case PROC_REASON_KILLED_BY_REQUEST:
	case PROC_REASON_CANCELLED:
	case PROC_REASON_SERVER_SHUTDOWN:
	case PROC_REASON_SUPERVISOR_LOST:
		break;
	}
	return false;
}

static bool repeat_is_same(const struct repeat *last, const struct repeat *now)
{
	return last->count && last->reason == now->reason &&
	       last->wait_status == now->wait_status &&
	       !memcmp(last->digest, now->digest, sizeof(now->digest));
}

unsigned repeat_note(struct repeat *last, const struct schema *schema, json_t *params,
		     const struct proc *p)
{
	struct repeat now = { .reason = p->reason, .count = 1 };

	if (p->reason == PROC_REASON_EXITED || p->reason == PROC_REASON_SIGNALED)
		now.wait_status = p->wait_status;
	if (!repeat_is_failure(p)) {
		last->count = 0;
		return 0;
	}
	if (repeat_digest(schema, params, now.digest))
		last->count = 0;
	else if (repeat_is_same(last, &now))
		now.count = last->count + 1;
	*last = now;
	return now.count;
}
