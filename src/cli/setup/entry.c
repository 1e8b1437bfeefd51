#include "cli/setup/entry.h"

#define SHOWN_MAX 300

void setup_entry_add_word(struct buf *out, const char *word)
{
	buf_addf(out, "%s%s", out->len ? " " : "", word);
}

enum setup_merged setup_entry_other(const struct setup_entry *job, const struct buf *starts,
				    struct err *e)
{
	bool shown = starts && starts->len;
	struct buf ours;

	buf_init(&ours, SHOWN_MAX);
	for (char *const *word = job->command; *word; word++)
		setup_entry_add_word(&ours, *word);
	err_set(e, ERR_INVALID_PARAMS, "the file has another entry named " SETUP_ENTRY_NAME
		"%s%.*s%s", shown ? ", which starts `" : "", shown ? (int)starts->len : 0,
		shown ? starts->data : "", shown ? "`" : "");
	err_hint(e, "Nothing was changed. Edit or remove that entry first: setup writes one that "
		    "starts `%.*s`.", (int)ours.len, ours.data);
	buf_release(&ours);
	return SETUP_REFUSED;
}
