/* text_verdict - how a run ended, or that it runs, in words: "exit 2 in 47 ms". */
#ifndef PROCPEN_MCP_TEXT_VERDICT_H
#define PROCPEN_MCP_TEXT_VERDICT_H

#include "mcp/text_part.h"

/* Of the run of which the object @of tells. */
void text_add_verdict(struct text *t, const struct outline_value *of);

#endif
