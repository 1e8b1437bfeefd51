/* mcp_answer - what a tools/call is answered with, and what the text of the answer is made from. */
#ifndef PROCPEN_MCP_ANSWER_H
#define PROCPEN_MCP_ANSWER_H

#include <jansson.h>

#include "base/result.h"
#include "cap/cap.h"
#include "cap/run_result.h"
#include "proc/proc.h"

/* All is borrowed. */
struct mcp_answer {
	const struct cap_row *row;
	const struct result *result;  /* has its outline; NULL: the call failed and has none */
	const json_t *params;         /* as the gate has left them; NULL: not known */
	const struct proc *run;       /* that it is about, or NULL */
	const struct run_result_options *options; /* of a process.run, or NULL */
};

#endif
