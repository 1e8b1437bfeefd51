/*
 * setup_file - reads and replaces a configuration file of another program.
 *
 * A file is replaced as a whole or not at all (new file, then rename), keeps its mode and owner,
 * and its old content is kept under another name. A symbolic link stays: its target is replaced.
 * Refuses a file that is not regular, and one that another process has changed since it was read.
 */
#ifndef PROCPEN_CLI_SETUP_FILE_H
#define PROCPEN_CLI_SETUP_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"

struct setup_file {
	char *path;     /* absolute, without symbolic links when it exists */
	bool exists;
	struct stat st; /* as it was read */
	struct buf text;
};

/* Read @path, which need not exist. Returns 0, or -1 with @e. setup_file_release() in any case. */
int setup_file_read(struct setup_file *file, const char *path, struct err *e);

/*
 * Replace the file's content by @text. *@backup: the path of the old content (heap), NULL if there
 * was no file. Returns 0, or -1 with @e and the file unchanged. Signals that end the program wait
 * until it is done.
 */
int setup_file_replace(struct setup_file *file, const struct buf *text, char **backup,
		       struct err *e);

void setup_file_release(struct setup_file *file);

#endif
