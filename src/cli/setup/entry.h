/* setup_entry - the job of merging an entry into the text of a configuration file, and its
 * outcome. */
#ifndef PROCPEN_CLI_SETUP_ENTRY_H
#define PROCPEN_CLI_SETUP_ENTRY_H

#include <stddef.h>

#include "base/err.h"
#include "cli/setup/host.h"

#define SETUP_TEXT_MAX (16u << 20) /* largest configuration file */

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

/* Report that the file has another entry of our name. Returns SETUP_REFUSED. */
enum setup_merged setup_entry_other(struct err *e);

#endif
