/*
 * text_run - the text of process.run: how the command ended, and its output, whole or both ends.
 * Needs the run.
 */
#ifndef PROCPEN_MCP_TEXT_RUN_H
#define PROCPEN_MCP_TEXT_RUN_H

#include "mcp/text_part.h"

void text_run(struct text *t);

#endif
