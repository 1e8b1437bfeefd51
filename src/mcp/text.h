/*
 * mcp_text - results as the text that a model reads.
 *
 * The text is complete on its own, because several hosts show their model
 * nothing else:
 *
 *	exit_code: 1
 *	resource_usage: {"cpu_ms":3}
 *	--- stderr_summary (42 bytes)
 *	cc: error: no input files
 *
 * First everything short, one member a line, then strings that are long or have
 * several lines, each with its size, so that no output can pass for a member.
 *
 * It takes at most MCP_TEXT_MAX bytes in all, because hosts cut longer texts without a
 * word. What does not fit is left out in the middle, and the place says how much
 * that is and which call gets it.
 */
#ifndef PROCPEN_MCP_TEXT_H
#define PROCPEN_MCP_TEXT_H

#include <stddef.h>

#include "base/jsonw.h"
#include "base/result.h"
#include "proc/proc.h"

#define MCP_TEXT_MAX 10000

/*
 * Write @result, which has its outline, into the open string of @w. @run: the run
 * whose process.run result this is, when its output is to be shown by its two ends
 * instead of the summaries; or NULL. @max: bytes that it may take.
 */
void mcp_text_write(struct jsonw *w, const struct result *result, const struct proc *run,
		    size_t max);

#endif
