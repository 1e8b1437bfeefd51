/* options - the options that most commands share: where commands work, --config, --set, --json. */
#ifndef PROCPEN_CLI_OPTIONS_H
#define PROCPEN_CLI_OPTIONS_H

#include "cli/cmdline.h"
#include "server/context.h"

struct options {
	struct context_options context;
	char **directories; /* the strings of context.directories; owned */
	bool json;
};

/* All defaults; release them in any case. */
void options_init(struct options *o);
void options_release(struct options *o);

/* Read the other sources of options, for a command that opens no context. CMDLINE_GO_ON, or the
 * exit status and the reason on stderr. */
int options_load(struct options *o, const struct cli_command *command);

/* A cmdline_take_fn for one of them; @o: struct options. */
int options_take(void *o, const struct cli_option *option, const struct cmdline_value *value);

#endif
