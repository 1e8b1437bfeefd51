/*
 * text_logs - the text of process.logs: the bytes of the page unaltered, then a line that names the
 * call for what comes next. Of a page that does not end at a line's end that line says so, because
 * it then begins with a newline that the page does not have.
 */
#ifndef PROCPEN_MCP_TEXT_LOGS_H
#define PROCPEN_MCP_TEXT_LOGS_H

#include "mcp/text_part.h"

void text_logs(struct text *t);

#endif
