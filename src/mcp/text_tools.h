/*
 * text_tools - the texts of tools with short results.
 */
#ifndef PROCPEN_MCP_TEXT_TOOLS_H
#define PROCPEN_MCP_TEXT_TOOLS_H

#include "mcp/text_part.h"

void text_monitor(struct text *t);   /* process.monitor */
void text_wait(struct text *t);      /* process.wait */
void text_list(struct text *t);      /* process.list */
void text_kill(struct text *t);      /* process.kill */
void text_delete(struct text *t);    /* process.delete */
void text_input(struct text *t);     /* process.input */
void text_is_blocked(struct text *t);

#endif
