/*
 * mcp_text - results as the text that a model reads.
 *
 * The text is complete on its own: hosts show their model nothing else. It is the verdict in one
 * line, then only what is not normal, then output, and where there is a next step, the call that
 * takes it:
 *
 *	exit 2 in 47 ms [p3-72cc]
 *	--- stdout
 *	cc -Wall -o app main.c
 *	--- stderr
 *	main.c:2:32: error: expected ';' before '}' token
 *
 * Each tool has words of its own (text_run, text_logs, text_tools); the result of one that has none
 * is shown member by member (text_members).
 *
 * A text takes at most MCP_TEXT_MAX bytes in all, because hosts cut longer ones without a word.
 * What does not fit is left out in the middle, and the place says how much that is and which call
 * gets it.
 */
#ifndef PROCPEN_MCP_TEXT_H
#define PROCPEN_MCP_TEXT_H

#include <stddef.h>

#include "base/jsonw.h"
#include "mcp/answer.h"

#define MCP_TEXT_MAX 10000

/* Write the text of @a, which has a result, at most @max bytes, into the open string of @w. */
void mcp_text_write(struct jsonw *w, const struct mcp_answer *a, size_t max);

#endif
