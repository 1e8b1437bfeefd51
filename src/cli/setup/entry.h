/* setup_entry - an entry for the text of a configuration file, and what came of it. */
#ifndef PROCPEN_CLI_SETUP_ENTRY_H
#define PROCPEN_CLI_SETUP_ENTRY_H

#include <stddef.h>

#include "base/err.h"
#include "cli/setup/host.h"

#define SETUP_TEXT_MAX (16u << 20) /* of a configuration file */

enum setup_merged {
	SETUP_MERGED,  /* the new text is there */
	SETUP_THERE,   /* the very same entry is in the file already */
	SETUP_REFUSED, /* the error says why */
};

struct setup_entry {
	const struct setup_host *host;
	const char *text; /* of the file as it is */
	size_t len;
	const char *program, *workspace; /* as setup_host_entry() takes them */
};

/* The file has an entry of our name that says something else. Returns SETUP_REFUSED. */
enum setup_merged setup_entry_other(struct err *e);

#endif
