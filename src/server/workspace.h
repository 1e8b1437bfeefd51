/* place - where the server works: its workspace, and where it keeps its record. */
#ifndef PROCPEN_SERVER_WORKSPACE_H
#define PROCPEN_SERVER_WORKSPACE_H

#include "base/err.h"
#include "policy/scope.h"

/*
 * The workspace: @option, PROCPEN_WORKSPACE, CLAUDE_PROJECT_DIR, or the working
 * directory unless that is the root or the home. Heap; NULL with @e when none of
 * these names one. Whether it is a directory is scope_new()'s to find out.
 */
char *workspace_find(const char *option, struct err *e);

/*
 * The absolute path of the state directory: @option or audit_default_dir(). Heap;
 * NULL with @e when there is none, or when a command could write there. Makes nothing.
 */
char *workspace_find_state_dir(const char *option, const struct scope *scope, struct err *e);

/* Could a command that may write in @scope change what is ours in @state_dir (which need not exist
 * yet): the record, or the place of the temporary directories? */
bool workspace_covers_state_dir(const struct scope *scope, const char *state_dir);

#endif
