/*
 * setup_merge - puts procpen's entry into the text of a host's configuration file.
 *
 * Changes nothing else: comments, order and spacing of the file stay as they are. Refuses
 * whatever it does not understand in full; a text that is merged is parsed again and compared
 * with what it must mean. Works on text only: files are setup_file's.
 */
#ifndef PROCPEN_CLI_SETUP_MERGE_H
#define PROCPEN_CLI_SETUP_MERGE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/setup/entry.h"

/* The configuration file @text with the entry for @command (cli/setup/host.h). */
enum setup_merged setup_merge(const struct setup_host *host, const char *text, size_t len,
			      char *const *command, struct buf *out, struct err *e);

#endif
