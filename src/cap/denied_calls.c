#include "cap/denied_calls.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "os/sandbox/seccomp_unotify.h"

/* The filter kills only for a call of a foreign ABI, which has no errno. */
static bool denied_calls_has_named_death(const struct denial *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!list[i].error)
			return true;
	return false;
}

static void denied_calls_write_one(struct jsonw *w, const char *name, uint64_t count,
				   const char *error)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "name", name);
	jsonw_int(w, "count", (int64_t)count);
	jsonw_str(w, "error", error);
	jsonw_end_object(w);
}

void denied_calls_write(struct jsonw *w, const struct proc *p)
{
	size_t count;
	const struct denial *list = seccomp_unotify_list(p->rare->notify, &count);
	bool died = p->reason == PROC_REASON_SECCOMP;

	if (!p->rare->notify && !died)
		return;
	jsonw_array(w, "denied_calls");
	for (size_t i = 0; i < count; i++)
		denied_calls_write_one(w, *list[i].name ? list[i].name : NULL, list[i].count,
				       list[i].error ? err_sys_name(list[i].error) : "SIGSYS");
	if (died && !denied_calls_has_named_death(list, count))
		denied_calls_write_one(w, NULL, 1, "SIGSYS");
	jsonw_end_array(w);
}

static void denied_calls_warn_one(struct jsonw *w, const struct denial *denial)
{
	char text[160], number[32];

	snprintf(number, sizeof(number), "system call %" PRId32, denial->nr);
	snprintf(text, sizeof(text), "the sandbox refused %s (%" PRIu64 " time%s): %s",
		 *denial->name ? denial->name : number, denial->count,
		 denial->count == 1 ? "" : "s",
		 denial->error ? err_sys_name(denial->error) : "SIGSYS, a foreign system call");
	jsonw_str(w, NULL, text);
}

void denied_calls_warn(struct jsonw *w, const struct proc *p, bool asked)
{
	size_t count;
	const struct denial *list = seccomp_unotify_list(p->rare->notify, &count);
	uint64_t others = seccomp_unotify_others(p->rare->notify);
	char text[96];

	for (size_t i = 0; i < count; i++)
		denied_calls_warn_one(w, &list[i]);
	if (others) {
		snprintf(text, sizeof(text), "the sandbox refused other calls %" PRIu64 " time%s",
			 others, others == 1 ? "" : "s");
		jsonw_str(w, NULL, text);
	}
	if (asked && !p->rare->notify)
		jsonw_str(w, NULL, "refused system calls cannot be named: that needs Linux 5.0 "
				   "and a sandbox profile with a filter");
	if (p->reason == PROC_REASON_SECCOMP && !p->rare->notify)
		jsonw_str(w, NULL, "the command died of SIGSYS; which system call it made is "
				   "known only with explain_denials");
	else if (p->reason == PROC_REASON_SECCOMP && !denied_calls_has_named_death(list, count))
		jsonw_str(w, NULL, "the command died of SIGSYS, but not by this sandbox: a filter "
				   "of its own, or a signal");
}
