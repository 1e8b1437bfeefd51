/*
 * config_load - the operator's options from everywhere: files, then the environment. What the
 * command line has set stays, because its rank is higher.
 *
 *   /etc/procpen/config.json
 *   procpen/config.json in XDG_CONFIG_HOME, or in ~/.config   --config FILE replaces both
 *   PROCPEN_SET_<KEY>, a dot of the key as two underscores
 *
 * Who loads them must also check where they lie, as soon as it is known where commands may write.
 */
#ifndef PROCPEN_POLICY_CONFIG_LOAD_H
#define PROCPEN_POLICY_CONFIG_LOAD_H

#include "policy/config.h"
#include "policy/config_file.h"
#include "policy/scope.h"

#define CONFIG_FILES 2

/* The files that were read, and where the user's own would be. All zero at first. */
struct config_files {
	struct config_file files[CONFIG_FILES];
	char *user_path; /* NULL: none is looked for */
};

/*
 * Read all sources into @c. @named: the file of --config, which must exist; or NULL. Returns 0, or
 * -1 with @e. config_files_release() in either case.
 */
int config_load(struct config *c, const char *named, struct config_files *files, struct err *e);

/* The same of one file alone. */
int config_load_file(struct config *c, const char *path, struct config_files *files,
		     struct err *e);
void config_files_release(struct config_files *files);

/* Could a command write one of @files, or another in its place? @scope, or sandbox.writable in @c,
 * may cover it. 0, or -1 with @e. */
int config_files_check(const struct config_files *files, const struct config *c,
		       const struct scope *scope, struct err *e);

/* Could a command of @scope create the user's file, which is not there? Its path, or NULL. */
const char *config_files_missing_in(const struct config_files *files, const struct scope *scope);

#endif
