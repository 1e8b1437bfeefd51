/* proc_life - the part of a run's life (proc.c) that its start (proc_start.c) uses. */
#ifndef PROCPEN_PROC_PROC_LIFE_H
#define PROCPEN_PROC_PROC_LIFE_H

#include <stdbool.h>
#include <stddef.h>

#include "proc/proc.h"

static inline const struct proc_env *proc_env(const struct proc *p)
{
	return p->settings->env;
}

/* Create the watchers of @p, which watch nothing yet; every callback leads to @p. */
struct proc_live *proc_live_new(struct proc *p, const struct proc_spec *spec);

/* Called when the log file of the run @ctx is written. */
void proc_on_log_file_over(void *ctx);

/* Called when a limit is proven to have struck: ends the whole run @ctx. */
void proc_on_limit(void *ctx);

/* The run's terminal is here: from now on output comes from @ours and goes to it. Owns both. */
void proc_take_terminal(struct proc *p, const struct proc_terminal *terminal, int ours, int theirs);

/* Type @len bytes on the terminal of @p, whose feed is open, and with @close an end of file behind
 * them. Returns whether that was typed. */
bool proc_type(struct proc *p, const void *bytes, size_t len, bool close);

#endif
