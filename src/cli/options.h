/* options - the options that most commands share: where commands work, and --set. */
#ifndef PROCPEN_CLI_OPTIONS_H
#define PROCPEN_CLI_OPTIONS_H

#include "cli/cmdline.h"
#include "server/context.h"

struct options {
	struct context_options context;
	char **directories; /* the strings of context.directories; owned */
	size_t directory_count;
};

/* All defaults; release them in any case. */
void options_init(struct options *o);
void options_release(struct options *o);

/* An cmdline_take_fn for one of them; @o: struct options. */
int options_take(void *o, const struct cli_option *option, const struct cmdline_value *value);

#endif
