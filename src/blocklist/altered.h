/*
 * altered - may the text around a simple command change what the same words would do alone?
 *
 * Whoever excepts `git push origin dev` from a rule (policy/ruling.h) means the program that these
 * words find, with the variables, the input and the output that procpen gives it. So a text alters
 * nothing only if each command of it, before and behind, is a program with a known name, or a
 * builtin that changes nothing but the directory; if it defines no function; and if no redirection
 * of a group writes a file or gives input. Of wrappers only ionice, nice, timeout, env with
 * assignments alone and the -c of a shell alter nothing. A more exact answer would have to know
 * which commands run first, and how often.
 */
#ifndef PROCPEN_BLOCKLIST_ALTERED_H
#define PROCPEN_BLOCKLIST_ALTERED_H

#include "blocklist/command/action.h"

/* Does @r write a file other than /dev/null? Does it set standard input? */
bool altered_writes(const struct shell_redirect *r);
bool altered_feeds(const struct shell_redirect *r);

/* By a command of its script, wherever that stands? Takes time for each command. */
bool altered_by_script(const struct shell_script *script);

/* By @cmd, a wrapper that runs it as @a says? */
bool altered_by_wrapper(const struct command *cmd, const struct action *a);

/* By what stands with the command at @at, whose text it is: its variables, its redirections? */
bool altered_by_place(const struct place *at);

#endif
