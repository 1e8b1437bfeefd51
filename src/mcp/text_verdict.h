/* text_verdict - how a run ended, or for how long it has run: "exit 2 in 47 ms". */
#ifndef PROCPEN_MCP_TEXT_VERDICT_H
#define PROCPEN_MCP_TEXT_VERDICT_H

#include "mcp/text_part.h"

/* How a run ended that did not exit: "timed out", "killed by SIGSEGV". */
void text_add_end(struct text *t, const struct outline_value *of);

/* @of: the object with state, reason, exit_code, signal and duration_ms of the run. */
void text_add_verdict(struct text *t, const struct outline_value *of);

#endif
