/*
 * text_session - the text of agent.session: where commands run, what a call may ask for, how free
 * each tool is, and what the sandbox does and does not.
 */
#ifndef PROCPEN_MCP_TEXT_SESSION_H
#define PROCPEN_MCP_TEXT_SESSION_H

#include "mcp/text_part.h"

void text_session(struct text *t);

#endif
