#include "cli/cli.h"
#include "server/server.h"

int main(int argc, char **argv)
{
	struct cli cli;
	int status = cli_parse(&cli, argc, argv);

	if (status == CLI_SERVE)
		status = server_main(&cli.options);
	cli_release(&cli);
	return status;
}
