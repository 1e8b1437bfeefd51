#include "cap/denied_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "os/sandbox/seccomp_unotify.h"

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

	if (!p->rare->notify)
		return;
	jsonw_array(w, "denied_calls");
	for (size_t i = 0; i < count; i++)
		denied_calls_write_one(w, *list[i].name ? list[i].name : NULL, list[i].count,
				       list[i].error ? err_sys_name(list[i].error) : "SIGSYS");
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

/* By SIGSYS, which nothing shows to be the sandbox's. Without a filter it cannot be. */
static bool denied_calls_has_unknown_death(const struct proc *p)
{
	const char *signal = proc_signal_name(p);

	return p->reason == PROC_REASON_SIGNALED && signal && !strcmp(signal, "SIGSYS") &&
	       p->settings->applied.layers & 1u << CONFINE_SECCOMP;
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
	if (denied_calls_has_unknown_death(p))
		jsonw_str(w, NULL, p->rare->notify
			  ? "the command died of SIGSYS, but not by this sandbox: a filter of its "
			    "own, or a signal"
			  : "the command died of SIGSYS: by the sandbox, for a system call of "
			    "another architecture, by a filter of its own, or by a signal; only "
			    "explain_denials can tell");
}
