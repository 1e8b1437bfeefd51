/*
 * mcp_text - results as the text that a model reads.
 *
 * The text is complete on its own: many hosts show their model nothing else. It has the verdict in
 * one line, then only unusual facts, then output, and the call for the next step, if there is one:
 *
 *	exit 2 in 47 ms [p3-72cc]
 *	--- stdout
 *	cc -Wall -o app main.c
 *	--- stderr
 *	main.c:2:32: error: expected ';' before '}' token
 *
 * text_run, text_logs, text_session, text_tools and text_options write the texts of their tools;
 * text_members shows any other result member by member.
 *
 * A text has at most MCP_TEXT_MAX bytes, because hosts cut longer ones silently. A longer output
 * loses its middle; a mark there says how much is left out and which call returns it.
 */
#ifndef PROCPEN_MCP_TEXT_H
#define PROCPEN_MCP_TEXT_H

#include <stddef.h>

#include "base/jsonw.h"
#include "mcp/answer.h"

#define MCP_TEXT_MAX 10000

/* Write the text of @a, which has a result, into the open string of @w: at most @max bytes. */
void mcp_text_write(struct jsonw *w, const struct mcp_answer *a, size_t max);

#endif
