/*
 * worktree - recognises a workspace that is a linked git worktree.
 *
 * Its `.git` is a file that names a directory of the main repository, usually outside of what
 * commands may write, so `git commit` fails there. The author of the workspace's files wrote
 * that name too: it is a claim, and becomes part of a hint only if the repository confirms it.
 */
#ifndef PROCPEN_POLICY_WORKTREE_H
#define PROCPEN_POLICY_WORKTREE_H

#include "policy/scope.h"

/*
 * The canonical path of git's common directory, if the workspace of @scope is a linked worktree
 * and that directory is not accessible. Heap; else NULL. It holds only what commands need opened:
 *   - the named directory is COMMON/worktrees/NAME, and its file gitdir names the workspace's .git;
 *   - COMMON holds HEAD, objects and refs, and belongs to our user or the workspace's owner;
 *   - COMMON lies in no system directory, and neither is nor contains the home;
 *   - the path is one word for a shell when it stands in single quotes (utf8_is_shell_word()).
 * See gitrepository-layout(5) and git-worktree(1), "DETAILS".
 */
char *worktree_common_dir(const struct scope *scope);

#endif
