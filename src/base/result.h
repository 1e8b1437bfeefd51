/*
 * result - the result of a call: a JSON object that is written once, and its outline for dialects
 * that show it as text.
 */
#ifndef PROCPEN_BASE_RESULT_H
#define PROCPEN_BASE_RESULT_H

#include "base/buf.h"
#include "base/jsonw.h"
#include "base/outline.h"

struct result {
	struct buf json;        /* the object, complete after result_end() */
	struct jsonw w;         /* writes its members */
	struct outline outline; /* empty if none was asked for */
};

/* @max: maximum size of the JSON. Allocates nothing. */
void result_init(struct result *res, size_t max);
void result_release(struct result *res); /* @res may be used again */

/* Begin a result and drop the last one in @res. Returns the writer for its members. */
struct jsonw *result_begin(struct result *res, bool outlined);
void result_end(struct result *res);

#endif
