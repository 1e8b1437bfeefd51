#include "app/setup_merge.h"

#include <string.h>

#include "app/setup_merge_parts.h"

enum setup_merged setup_merge_other(struct err *e)
{
	err_set(e, ERR_INVALID_PARAMS, "the file has another entry named " SETUP_ENTRY_NAME);
	err_hint(e, "Nothing was changed. Edit or remove that entry first.");
	return SETUP_REFUSED;
}

static enum setup_merged refuse_format(const struct setup_merge_job *job, const char *format,
				       struct err *e)
{
	err_set(e, ERR_INVALID_PARAMS, "%s keeps its servers in %s, which is not edited here",
		job->host->title, format);
	err_hint(e, "Paste the snippet into the file yourself.");
	return SETUP_REFUSED;
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\r\n", text[i]) || !text[i])
			return false;
	return true;
}

enum setup_merged setup_merge(const struct setup_host *host, const char *text, size_t len,
			      const char *program, const char *workspace, struct buf *out,
			      struct err *e)
{
	struct setup_merge_job job = { host, text, len, program, workspace };

	if (host->format == SETUP_LISP)
		return refuse_format(&job, "a Lisp program", e);
	if (is_blank(text, len))
		return setup_host_snippet(host, program, workspace, out, e) ? SETUP_REFUSED
									    : SETUP_MERGED;
	if (host->format == SETUP_YAML)
		return refuse_format(&job, "a YAML file", e);
	if (host->format == SETUP_TOML)
		return setup_merge_toml(&job, out, e);
	return setup_merge_json(&job, out, e);
}
