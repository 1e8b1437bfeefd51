/*
 * result - what a call is answered with: a JSON object that is written once, and its outline for
 * dialects that show it as text.
 */
#ifndef PROCPEN_BASE_RESULT_H
#define PROCPEN_BASE_RESULT_H

#include "base/buf.h"
#include "base/jsonw.h"
#include "base/outline.h"

struct result {
	struct buf json;        /* the object, once it has ended */
	struct jsonw w;         /* takes its members */
	struct outline outline; /* empty when none was asked for */
};

/* @max: bytes of JSON. Allocates nothing. */
void result_init(struct result *res, size_t max);
void result_release(struct result *res); /* usable afterwards */

/* Begin a result, forgetting any other in @res: its members go into the writer that is returned. */
struct jsonw *result_begin(struct result *res, bool outlined);
void result_end(struct result *res);

#endif
