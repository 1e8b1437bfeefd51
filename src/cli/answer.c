#include "cli/answer.h"

#include <stdio.h>

void answer_print_json(const char *json, size_t len)
{
	fwrite(json, 1, len, stdout);
	putchar('\n');
}

void answer_print_json_error(const char *json, size_t len)
{
	printf("{\"error\":%.*s}\n", (int)len, json);
}
