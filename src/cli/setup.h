/* cli_setup - `procpen setup HOST`: the configuration that makes an agent host start procpen. */
#ifndef PROCPEN_CLI_SETUP_H
#define PROCPEN_CLI_SETUP_H

/*
 * Run the command; @argv starts after the word `setup` and ends with NULL. Prints the snippet
 * to stdout and what to do with it to stderr. Writes a file only with --write.
 * Returns the exit status: 0, 1 (it could not be done), 2 (a mistake in the arguments).
 */
int cli_setup(int argc, char **argv);

#endif
