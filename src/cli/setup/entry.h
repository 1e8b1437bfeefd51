/* setup_entry - the job of merging an entry into the text of a configuration file, and its
 * outcome. */
#ifndef PROCPEN_CLI_SETUP_ENTRY_H
#define PROCPEN_CLI_SETUP_ENTRY_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/setup/host.h"

#define SETUP_TEXT_MAX (16u << 20) /* of a new text; what is read is smaller, see setup/file.c */

enum setup_merged {
	SETUP_MERGED,  /* the new text is complete */
	SETUP_THERE,   /* the file has the same entry already */
	SETUP_REFUSED, /* the error says why */
};

struct setup_entry {
	const struct setup_host *host;
	const char *text; /* the present text of the file */
	size_t len;
	char *const *command; /* as setup_host_entry() takes it */
};

/* A word of a command line that is shown. */
void setup_entry_add_word(struct buf *out, const char *word);

/* Report that the file has another entry of our name; @starts: the command line in it, empty or
 * NULL if that is not known. Returns SETUP_REFUSED. */
enum setup_merged setup_entry_other(const struct setup_entry *job, const struct buf *starts,
				    struct err *e);

#endif
