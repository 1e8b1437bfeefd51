#include "cli/setup/entry.h"

enum setup_merged setup_entry_other(struct err *e)
{
	err_set(e, ERR_INVALID_PARAMS, "the file has another entry named " SETUP_ENTRY_NAME);
	err_hint(e, "Nothing was changed. Edit or remove that entry first.");
	return SETUP_REFUSED;
}
