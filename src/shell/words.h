/*
 * shell_words - one simple command of plain words, split as the shell would.
 *
 * For `shell: false` without args, and to recognise a shell string that is one simple
 * command. Source: POSIX.1-2017 XCU 2.2 (quoting), 2.3 (tokens), 2.6 (expansions).
 * Refuses all that a shell, dash or bash, would do besides splitting and unquoting: operators,
 * expansions, globs, comments, assignments, reserved words.
 */
#ifndef PROCPEN_SHELL_WORDS_H
#define PROCPEN_SHELL_WORDS_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Split @text. *@words: NULL-terminated array, freed with mem_list_free().
 * Returns 0, or -1 with InvalidParams: which character, where, what to use instead.
 */
int shell_words_split(const char *text, char ***words, struct err *e);

/*
 * The first word of @text if it is one simple command (assignments before it, and
 * behind it expansions in words, redirections other than here-documents, and a comment
 * allowed) and that word is plain text, not a reserved word and not a builtin of
 * POSIX sh (dash). Heap string, or NULL when @text is anything else. Used to answer
 * CommandNotFound before a shell is started.
 */
char *shell_words_program(const char *text);

/* Is @name a builtin of dash, bash or busybox? */
bool shell_words_is_builtin(const char *name);

/* Is @name one of those that change nothing but the directory, whatever their words are? */
bool shell_words_is_plain_builtin(const char *name);

#endif
