/* sandbox - the operator's options, scope and places as options of os/confine. */
#ifndef PROCPEN_APP_SANDBOX_H
#define PROCPEN_APP_SANDBOX_H

#include <sys/resource.h>

#include "guard/config.h"
#include "guard/scope.h"
#include "os/confine.h"

/* What a server has that the sandbox is made of; all borrowed, the reaper for good. */
struct sandbox_place {
	const struct scope *scope;
	const char *state_dir, *instance;
	struct reaper *reaper;
	struct rlimit nofile; /* the descriptor limits that commands get */
};

/* Names that mean nothing would protect nothing: 0, or -1 with InvalidParams. */
int sandbox_check(const struct config *config, struct err *e);

/* Could a command write the record below @state_dir, or the directories of others there, by what
 * sandbox.writable names? 0 or -1. */
int sandbox_check_record(const struct config *config, const char *state_dir, struct err *e);

/* @config: checked. Never NULL. */
struct confine *sandbox_new(const struct config *config, const struct sandbox_place *place);

#endif
