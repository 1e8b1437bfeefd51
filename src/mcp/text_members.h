/*
 * text_members - the text of a result that has no words of its own, agent.session's among them:
 * what says something, one member a line. Null, false and what is empty say nothing. Strings that
 * are long or have several lines come last, each under a heading, so that none passes for a member.
 */
#ifndef PROCPEN_MCP_TEXT_MEMBERS_H
#define PROCPEN_MCP_TEXT_MEMBERS_H

#include "mcp/text_part.h"

void text_members(struct text *t);

#endif
