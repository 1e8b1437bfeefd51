/* cli - finds the command that the command line names, and runs it. */
#ifndef PROCPEN_CLI_CLI_H
#define PROCPEN_CLI_CLI_H

/* Returns the exit status of the program. */
int cli_main(int argc, char **argv);

#endif
