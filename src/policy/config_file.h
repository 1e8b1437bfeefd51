/*
 * config_file - reads a file that decides what commands may do.
 *
 * So it must be the operator's alone: the file, and every directory and link on the way to it,
 * belongs to root or to this user, and nobody else may write it. In a directory with the sticky bit
 * others may make files, but replace none of ours (unlink(2), EPERM), so that one passes. The way
 * is walked name by name, and what is read is the descriptor that was checked: what others rename
 * in between changes nothing.
 */
#ifndef PROCPEN_POLICY_CONFIG_FILE_H
#define PROCPEN_POLICY_CONFIG_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define CONFIG_FILE_MAX (1u << 20)

/* A directory or link on the way, or the file itself. */
struct config_step {
	dev_t dev;
	ino_t ino;
};

struct config_file {
	char *path; /* as it was named; NULL: none was read */
	struct config_step *steps;
	size_t count;
};

/*
 * Append the content of @path to @text, up to CONFIG_FILE_MAX bytes. Returns 1, or 0 if there is no
 * such file and nothing was done, or -1 with InvalidParams: it is not the operator's alone, no
 * regular file, not readable, or too large. @file: all zero; release it in any case.
 */
int config_file_read(struct config_file *file, const char *path, struct buf *text, struct err *e);
void config_file_release(struct config_file *file);

/* @path, absolute, is another name of @file, which was read: what is on the way counts as well. */
void config_file_add_name(struct config_file *file, const char *path);

/* Could who may write in or below the directory (or file) @path change what was read, or which file
 * is read the next time? */
bool config_file_lies_in(const struct config_file *file, const char *path);

#endif
