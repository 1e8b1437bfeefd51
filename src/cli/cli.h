/* cli - the command line: what to do, and with which options. */
#ifndef PROCPEN_CLI_CLI_H
#define PROCPEN_CLI_CLI_H

#include "cli/options.h"

#define CLI_SERVE CLI_GO_ON

/*
 * Returns CLI_SERVE when @cli->options say how to serve, or the exit status when
 * everything is done already (another command, help, a mistake reported on
 * stderr). cli_release() afterwards in any case.
 */
int cli_parse(struct cli *cli, int argc, char **argv);

#endif
