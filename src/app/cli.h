/* cli - the command line: what to do, and with which options. */
#ifndef PROCPEN_APP_CLI_H
#define PROCPEN_APP_CLI_H

#include "app/server.h"

#define CLI_SERVE (-1)

struct cli {
	struct server_options options;
	char **directories; /* behind options.directories; owned */
	size_t directory_count;
};

/*
 * Returns CLI_SERVE when @cli->options say how to serve, or the exit status when
 * all is said already (help, version, a mistake explained on stderr). cli_release()
 * afterwards in any case.
 */
int cli_parse(struct cli *cli, int argc, char **argv);
void cli_release(struct cli *cli);

#endif
