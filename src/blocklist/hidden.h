/*
 * blocklist_hidden - shell text in the options of programs that are no wrappers.
 *
 * tar --to-command, git -c alias.x='!...', vim -c ':!...', ssh -o ProxyCommand, find
 * the text, not what it does.
 */
#ifndef PROCPEN_BLOCKLIST_BLOCKLIST_HIDDEN_H
#define PROCPEN_BLOCKLIST_BLOCKLIST_HIDDEN_H

#include <stddef.h>

#include "blocklist/table.h"
#include "shell/arena.h"
#include "shell/script.h"

/*
 * Texts that the program @name would have a shell run. Returns how many. More than there is
 * @room for, or work for in @budget: @arena is exhausted.
 */
size_t blocklist_hidden_texts(const struct blocklist_name *name, const struct shell_word *words,
			      size_t count, struct shell_arena *arena,
			      struct shell_budget *budget, struct shell_word *texts, size_t room);

#endif
