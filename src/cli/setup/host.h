/*
 * setup_host - the agent hosts that procpen knows, and the configuration each wants.
 *
 * One table row per host: where its file is, what the entry looks like there, whether the
 * host names the project by itself, and its usual pitfall (more in docs/hosts.md).
 * Knows nothing of the files' present content; that is setup_merge's.
 */
#ifndef PROCPEN_CLI_SETUP_HOST_H
#define PROCPEN_CLI_SETUP_HOST_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

#define SETUP_ENTRY_NAME "procpen"
#define SETUP_PRINTS "`procpen setup %s` prints it." /* the snippet; takes the host's name */

enum setup_format {
	SETUP_JSON,
	SETUP_JSONC, /* JSON with comments and trailing commas */
	SETUP_TOML,
	SETUP_YAML,
	SETUP_LISP,
};

struct setup_host {
	const char *name, *title;
	enum setup_format format;
	const char *folder_env; /* environment variable of the host's folder, or NULL */
	const char *folder;     /* the default, below the home */
	const char *file;       /* below the folder; NULL: the host has no file to write */
	const char *parent;     /* the member that holds all servers */
	const char *type;       /* value of `type` in the entry, or NULL */
	bool joined;            /* command and arguments are one list */
	const char *workspace;  /* the host's variable for the project; "": procpen finds it by
				 * itself; NULL: the user must name it */
	bool no_last_comma;     /* of SETUP_JSONC: it takes no comma behind the last member */
	bool dollar_names;      /* it replaces $NAME, not only ${NAME} */
	bool brace_names;       /* it replaces {env:NAME} and {file:NAME} */
	const char *named_by;   /* how it names the project where the entry does not, or NULL */
	const char *note;       /* the usual pitfall of this host */
};

extern const struct setup_host setup_hosts[]; /* ended by name == NULL */

/* Begin a line indented by @level times @unit. */
void setup_host_new_line(struct buf *out, int level, const char *unit);

/* The row of @name, or NULL. */
const struct setup_host *setup_host_find(const char *name);

/* The host's own file as an absolute path (heap), or NULL with @e. */
char *setup_host_file(const struct setup_host *host, struct err *e);

/*
 * The entry as text into @out: what stands behind its name in JSON, the whole table in TOML, the
 * whole snippet in the other formats. @command: the program and its arguments, NULL-terminated.
 * JSON is indented by @level units of @unit. Returns 0, or -1 with @e when one of the words cannot
 * stand in a configuration file.
 */
int setup_host_entry(const struct setup_host *host, char *const *command, int level,
		     const char *unit, struct buf *out, struct err *e);

/* A complete file, or a snippet to paste into one. */
int setup_host_snippet(const struct setup_host *host, char *const *command, struct buf *out,
		       struct err *e);

#endif
