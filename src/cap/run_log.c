#include "cap/run_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

bool run_log_wanted(const json_t *params)
{
	return json_object_get(params, "log_file");
}

static bool run_log_truncates(const json_t *params)
{
	return !strcmp(json_get_str(params, "log_mode", ""), "truncate");
}

int run_log_check(const json_t *params, struct err *e)
{
	if (run_log_wanted(params) || !run_log_truncates(params))
		return 0;
	err_invalid(e, "log_mode", "log_mode says how log_file is written, and there is none");
	return err_hint(e, "Add log_file, or leave log_mode out.");
}

int run_log_resolve(const struct cap *c, const json_t *params, const char *cwd, char **name,
		    struct err *e)
{
	const char *dir = cwd, *path;
	int fd;

	if (!run_log_wanted(params))
		return 0;
	if (scope_beneath(c->scope, json_get_str(params, "log_file", ""), &fd, &dir, &path, e))
		return -1;
	*name = mem_zalloc(strlen(dir) + strlen(path) + 2);
	str_fold_path(path, strlen(path), stpcpy(*name, strcmp(dir, "/") ? dir : ""));
	return 0;
}

struct log_file *run_log_open(const struct cap *c, const json_t *params, const char *name,
			      const struct run_log *run, struct err *e)
{
	struct log_file_spec spec = {
		.name = name,
		.dir_fd = run->cwd_fd,
		.dir = run->cwd,
		.truncate = run_log_truncates(params),
		.max_bytes = (uint64_t)config_int(c->config, CONFIG_LOG_FILE_BYTES),
		.confine = run->confine,
		.on_open = run->on_open,
		.ctx = run->ctx,
	};

	if (scope_beneath(c->scope, json_get_str(params, "log_file", ""), &spec.dir_fd, &spec.dir,
			  &spec.path, e))
		return NULL;
	spec.path += strspn(spec.path, "/");
	return proctab_open_log(c->procs, &spec, e);
}

void run_log_members(struct jsonw *w, const struct proc *p)
{
	const struct log_file *f = p->rare->log_file;

	if (!f)
		return;
	jsonw_str(w, "log_file", f->name);
	jsonw_int_or_null(w, "log_file_bytes", f->phase == LOG_FILE_OVER && f->known,
			  (int64_t)f->bytes);
}

bool run_log_warning(const struct cap *c, const struct proc *p, char *text, size_t size)
{
	const struct log_file *f = p->rare->log_file;

	if (!f || f->phase != LOG_FILE_OVER)
		return false;
	if (!f->known)
		snprintf(text, size,
			 "log_file is not complete: %s; how much of it was written is unknown",
			 f->error == ETIMEDOUT
				 ? "its disk was too slow, and its writer was killed"
				 : "its writer was killed from outside");
	else if (f->error == SHIM_LOG_FULL)
		snprintf(text, size,
			 "log_file is not complete: it stopped growing at the size that the "
			 "operator allows, %" PRId64 " bytes (log.file_bytes)",
			 config_int(c->config, CONFIG_LOG_FILE_BYTES));
	else if (f->error)
		snprintf(text, size, "log_file is not complete: writing it failed after %" PRIu64
			 " bytes: %s (%s)", f->bytes, strerror(f->error), err_sys_name(f->error));
	else if (f->missing)
		snprintf(text, size, "log_file is not complete: %" PRIu64 " bytes of output were "
			 "not kept until they could be written; lines in it say where", f->missing);
	else if (f->kept)
		snprintf(text, size, "log_file keeps what it held: it was written to as the "
			 "command began, perhaps by the command itself");
	else
		return false;
	return true;
}
