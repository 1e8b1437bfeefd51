/*
 * over - the command that starts procpen on another machine, in a container or in a job.
 *
 * procpen speaks on stdin and stdout, so an engine elsewhere is a prefix of its command. A preset
 * is a prefix of a known kind and what it needs: docs/remote.md.
 */
#ifndef PROCPEN_CLI_OVER_H
#define PROCPEN_CLI_OVER_H

#include "base/err.h"

/*
 * The command for @over: KIND:TARGET, or a prefix, split as the shell splits words. @workspace: an
 * absolute path as the engine has it; NULL is an error. Returns heap words, NULL-terminated, for
 * mem_list_free(), or NULL with InvalidParams.
 */
char **over_command(const char *over, const char *workspace, struct err *e);

#endif
