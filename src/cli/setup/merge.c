#include "cli/setup/merge.h"

#include <string.h>

#include "cli/setup/json.h"
#include "cli/setup/toml.h"

#define MEMBER_INDENT "    " /* of an entry in YAML */

static enum setup_merged setup_merge_refuse_format(const struct setup_host *host,
						   const char *format, struct err *e)
{
	err_set(e, ERR_INVALID_PARAMS, "%s keeps its servers in %s, which is not edited here",
		host->title, format);
	err_hint(e, "Paste the snippet into the file yourself: " SETUP_PRINTS, host->name);
	return SETUP_REFUSED;
}

/* Are the lines of @snippet in the file, and no member of the entry more? */
static bool setup_merge_has_lines(const struct setup_entry *entry, const struct buf *snippet)
{
	size_t len = snippet->len - 1;
	const char *found = memmem(entry->text, entry->len, snippet->data, len);
	const char *rest = found ? found + len : NULL;

	return found && (found == entry->text || found[-1] == '\n') &&
	       (rest == entry->text + entry->len ||
		(*rest == '\n' && strncmp(rest + 1, MEMBER_INDENT, strlen(MEMBER_INDENT))));
}

/* A file that holds the snippet as it is, such as one that was written here, needs nothing. */
static enum setup_merged setup_merge_yaml(const struct setup_entry *entry, struct buf *out,
					  struct err *e)
{
	if (setup_host_snippet(entry->host, entry->command, out, e))
		return SETUP_REFUSED;
	if (setup_merge_has_lines(entry, out))
		return SETUP_THERE;
	return setup_merge_refuse_format(entry->host, "a YAML file", e);
}

static bool setup_merge_is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\r\n", text[i]) || !text[i])
			return false;
	return true;
}

enum setup_merged setup_merge(const struct setup_host *host, const char *text, size_t len,
			      char *const *command, struct buf *out, struct err *e)
{
	struct setup_entry entry = { host, text, len, command };

	if (host->format == SETUP_LISP)
		return setup_merge_refuse_format(host, "a Lisp program", e);
	if (setup_merge_is_blank(text, len))
		return setup_host_snippet(host, command, out, e) ? SETUP_REFUSED : SETUP_MERGED;
	if (host->format == SETUP_YAML)
		return setup_merge_yaml(&entry, out, e);
	if (host->format == SETUP_TOML)
		return setup_toml_merge(&entry, out, e);
	return setup_json_merge(&entry, out, e);
}
