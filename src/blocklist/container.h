/*
 * blocklist_container - what a command in a container does to this machine.
 *
 * docker run and podman run with folders of this machine mounted: the command's
 * paths are turned back into paths outside. Without such a folder, and without
 * the machine's own processes, what happens in the container is not our concern.
 */
#ifndef PROCPEN_BLOCKLIST_CONTAINER_H
#define PROCPEN_BLOCKLIST_CONTAINER_H

#include <stddef.h>

#include "shell/arena.h"
#include "shell/script.h"

struct blocklist_container {
	struct shell_word *words;
	size_t count; /* 0: nothing to judge */
};

struct blocklist_container blocklist_container_open(const struct shell_word *words, size_t count,
						    struct shell_arena *arena);

#endif
