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

/* Is the directory @path the root or the home, where no workspace is unless it is named? */
bool workspace_is_too_wide(const char *path);

/*
 * The absolute path of the state directory: @option or audit_default_dir(). Heap;
 * NULL with @e when there is none, when it would be below a home that does not exist, when a
 * command could write there, or when a directory of @scope lies in it. Creates nothing.
 */
char *workspace_find_state_dir(const char *option, const struct scope *scope, struct err *e);

/* May this process enter all directories of @scope? 0, or -1 with the first that it may not. */
int workspace_check(const struct scope *scope, struct err *e);

/* Name on stderr what will fail later: directories of @scope that cannot be written, which may be
 * wanted, and an audit log that cannot be made at @audit_path, which may be repaired (NULL: it is
 * not required). Creates nothing. */
void workspace_warn(const struct scope *scope, const char *audit_path);

/* Could a command that may write in @scope change the audit log or the temporary directories below
 * @state_dir, which need not exist yet? */
bool workspace_covers_state_dir(const struct scope *scope, const char *state_dir);

#endif
