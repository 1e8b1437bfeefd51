/*
 * text_logs - the text of process.logs: the bytes of the page unaltered, then a line with the call
 * for the next page. If the page does not end with a newline, that line says so, because the
 * newline before it is not part of the page.
 */
#ifndef PROCPEN_MCP_TEXT_LOGS_H
#define PROCPEN_MCP_TEXT_LOGS_H

#include "mcp/text_part.h"

void text_logs(struct text *t);

#endif
