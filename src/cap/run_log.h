/*
 * run_log - the parameters log_file and log_mode of process.run, and what a result says of it.
 *
 * proc/log_file.h writes the file.
 */
#ifndef PROCPEN_CAP_RUN_LOG_H
#define PROCPEN_CAP_RUN_LOG_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/jsonw.h"
#include "cap/cap.h"
#include "proc/log_file.h"

/* The run that is to start. */
struct run_log {
	int cwd_fd;      /* a relative path lies beneath its working directory */
	const char *cwd;
	const struct confine_request *confine;
	void (*on_open)(void *ctx); /* as in struct log_file_spec */
	void *ctx;
};

bool run_log_wanted(const json_t *params);

/* Returns 0, or -1 with InvalidParams: there is a mode for no file. */
int run_log_check(const json_t *params, struct err *e);

/* Set *@name (free it) to the whole path of the file that @params want, if any, of a run in @cwd,
 * without "." parts and doubled slashes; one with ".." is refused, not folded. Returns 0, or -1
 * with PathOutOfScope. Touches no file. */
int run_log_resolve(const struct cap *c, const json_t *params, const char *cwd, char **name,
		    struct err *e);

/* Begin to open the file that @params want, which run_log_resolve() has called @name. NULL with @e
 * as log_file_new(). */
struct log_file *run_log_open(const struct cap *c, const json_t *params, const char *name,
			      const struct run_log *run, struct err *e);

/* Write the members log_file and log_file_bytes, if @p has a log file. */
void run_log_members(struct jsonw *w, const struct proc *p);

/* The text of the warning about the log file of @p; false: there is none. */
bool run_log_warning(const struct cap *c, const struct proc *p, char *text, size_t size);

#endif
