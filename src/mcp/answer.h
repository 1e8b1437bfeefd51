/* mcp_answer - the call and result that the answer to a tools/call is written from. */
#ifndef PROCPEN_MCP_ANSWER_H
#define PROCPEN_MCP_ANSWER_H

#include <jansson.h>

#include "base/result.h"
#include "cap/cap.h"
#include "cap/run_result.h"
#include "proc/proc.h"

/* All pointers are borrowed. */
struct mcp_answer {
	const struct cap *cap;        /* whose tiers say what may be called; NULL: all may */
	const struct cap_row *row;
	const struct result *result;  /* with its outline; NULL: the call failed */
	const json_t *params;         /* after the gate; NULL: unknown */
	const struct proc *run;       /* the run of the call, or NULL */
	const struct run_result_options *options; /* of a process.run, or NULL */
	size_t text_max;              /* bytes of its text, in a batch; 0: MCP_TEXT_MAX */
};

#endif
