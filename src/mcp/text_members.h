/*
 * text_members - the text of a tool that has none of its own: one member a line, without those that
 * are null, false or empty. Arrays, objects and strings of several lines are JSON, so that nothing
 * in them passes for a member.
 */
#ifndef PROCPEN_MCP_TEXT_MEMBERS_H
#define PROCPEN_MCP_TEXT_MEMBERS_H

#include "mcp/text_part.h"

void text_members(struct text *t);

#endif
