/*
 * text_members - the text of a tool that has none of its own: one member a line, without those that
 * are null, false or empty. The members of an object of one level are pairs, or a line each if
 * they are sentences. Arrays, other objects and strings of several lines are JSON, so that nothing
 * in them passes for a member.
 */
#ifndef PROCPEN_MCP_TEXT_MEMBERS_H
#define PROCPEN_MCP_TEXT_MEMBERS_H

#include "mcp/text_part.h"

void text_members(struct text *t);

#endif
