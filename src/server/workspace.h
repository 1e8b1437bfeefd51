/* workspace - finds the workspace, and the state directory with the audit log. */
#ifndef PROCPEN_SERVER_WORKSPACE_H
#define PROCPEN_SERVER_WORKSPACE_H

#include "base/err.h"
#include "policy/scope.h"

/*
 * The workspace: @option, PROCPEN_WORKSPACE, CLAUDE_PROJECT_DIR, or the working
 * directory unless that is the root or the home. Heap; NULL with @e when none of
 * these names one. Does not check that it is a directory; scope_new() does.
 */
char *workspace_find(const char *option, struct err *e);

/*
 * The absolute path of the state directory: @option or audit_default_dir(). Heap;
 * NULL with @e when there is none, or when a command could write there. Creates nothing.
 */
char *workspace_find_state_dir(const char *option, const struct scope *scope, struct err *e);

/* Could a command that may write in @scope change the audit log or the temporary directories below
 * @state_dir, which need not exist yet? */
bool workspace_covers_state_dir(const struct scope *scope, const char *state_dir);

#endif
