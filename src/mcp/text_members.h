/*
 * text_members - the text of any other result, agent.session's for example: one member a line.
 * Omits null, false and empty members, and limits that are at their default. A list with
 * sentences has each on a line of its own. Strings that are long or have several lines come last,
 * each under a heading, so that none passes for a member.
 */
#ifndef PROCPEN_MCP_TEXT_MEMBERS_H
#define PROCPEN_MCP_TEXT_MEMBERS_H

#include "mcp/text_part.h"

void text_members(struct text *t);

#endif
