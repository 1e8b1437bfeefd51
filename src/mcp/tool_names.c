#include "mcp/tool_names.h"

#include <string.h>

#include "cap/named.h"

bool mcp_tool_names_is_plain(const char *text, size_t len)
{
	for (const struct cap_row *row = cap_rows; row->name; row++)
		if (strlen(row->name) == len && !memcmp(row->name, text, len))
			return row->flags & CAP_PLAIN;
	return false;
}

void mcp_tool_names_write(struct jsonw *w, const char *text, size_t len)
{
	const struct cap_row *row;
	size_t from = 0;

	for (size_t at = 0; (row = named_next(text, len, &at)); at = from) {
		const char *name = row->flags & CAP_PLAIN ? row->name : row->tool_name;

		jsonw_piece(w, text + from, at - from);
		jsonw_piece_str(w, name);
		from = at + strlen(row->name);
	}
	jsonw_piece(w, text + from, len - from);
}
