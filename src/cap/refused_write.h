/*
 * refused_write - the paths that a failed command reports as not writable, and where the sandbox
 * lets no command write.
 *
 * The kernel tells nobody which access Landlock or a read-only mount has refused; there is only
 * what the command says. That is a claim, so its path stands in quotes, with hidden
 * characters by their code, and no option takes a path from it: ready options open only git's
 * directory of a linked worktree (policy/worktree.h) and well-known caches in the home.
 */
#ifndef PROCPEN_CAP_REFUSED_WRITE_H
#define PROCPEN_CAP_REFUSED_WRITE_H

#include "base/jsonw.h"
#include "cap/cap.h"

/* Write at most three sentences, one a path, into the open array of warnings. Nothing unless @p
 * exited with a failure. Reads the last 16 KiB of stderr, then of stdout, where `2>&1`, terminals
 * and test runners put errors. */
void refused_write_warn(struct jsonw *w, const struct cap *c, const struct proc *p);

#endif
