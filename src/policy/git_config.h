/*
 * git_config - notices that a run has changed what git runs.
 *
 * Commands may write .git/config, and git executes what some of its keys name: hooks from another
 * directory (core.hooksPath), a monitor, an ssh of its own, filters, aliases, and whatever an
 * included file says. The user's next git command runs that, outside of the sandbox. So these keys
 * are compared from run to run, and a difference is told: nothing is prevented. So are the files
 * that make git take hooks and settings from another directory.
 *
 * The files are untrusted text: never read through a link below the accessible directory, and up
 * to 256 KiB. Settings are read as git reads them (git-config(1), "CONFIGURATION FILE"); what git
 * would refuse, a link and a file that is too large count as differences. Their text is compared,
 * because a command can change it and leave the times: through a mapping, or by moving a whole .git
 * there. Of what is not read the time of its change has to do; what a link leads to is not watched.
 */
#ifndef PROCPEN_POLICY_GIT_CONFIG_H
#define PROCPEN_POLICY_GIT_CONFIG_H

#include <stdint.h>

#include "policy/scope.h"

struct git_config;

/* For the accessible directories of @scope: .git/config in each, or config in one that is called
 * .git. Reads nothing yet. */
struct git_config *git_config_new(const struct scope *scope);
void git_config_free(struct git_config *g);

/* Before a run, to take note of what is there, unless the last look was just now: a look takes some
 * 7 us. */
void git_config_begin(struct git_config *g);

/* After a run, to find changes. */
void git_config_look(struct git_config *g);

/*
 * What was found after @start_us (clock_mono_us()), the start of a run:
 * "/ws/.git/config: alias.st, core.hookspath". Hidden characters are shown by code, secrets in URLs
 * are masked, and a few keys at most. Heap, or NULL.
 */
char *git_config_changes(const struct git_config *g, int64_t start_us);

#endif
