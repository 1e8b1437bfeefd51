#include "base/result.h"

void result_init(struct result *res, size_t max)
{
	*res = (struct result){ 0 };
	buf_init(&res->json, max);
}

void result_release(struct result *res)
{
	buf_release(&res->json);
	outline_release(&res->outline);
}

struct jsonw *result_begin(struct result *res, bool outlined)
{
	buf_clear(&res->json);
	outline_clear(&res->outline);
	jsonw_init(&res->w, &res->json);
	jsonw_object(&res->w, NULL);
	res->w.outline = outlined ? &res->outline : NULL;
	return &res->w;
}

void result_end(struct result *res)
{
	res->w.outline = NULL;
	jsonw_end_object(&res->w);
}
