/* The nearest of several names. Declared in schema.h. */
#include "base/schema.h"

#include <string.h>

/* Longer names have no near one. */
#define NAME_MAX_LEN 64

static size_t schema_nearest_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein's distance; both at most NAME_MAX_LEN long. */
static size_t schema_nearest_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[NAME_MAX_LEN + 1];

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = schema_nearest_min(change,
						    schema_nearest_min(row[j], row[j - 1]) + 1);
		}
	}
	return row[b_len];
}

const char *schema_nearest(const char *name, const char *const *names)
{
	size_t len = strlen(name), best = NAME_MAX_LEN + 1;
	const char *nearest = NULL;

	if (len > NAME_MAX_LEN)
		return NULL;
	for (; *names; names++) {
		size_t other = strlen(*names), d;

		if (other > NAME_MAX_LEN)
			continue;
		d = schema_nearest_distance(name, len, *names, other);
		if (d < best && d <= ((len > other ? len : other) + 2) / 3) {
			best = d;
			nearest = *names;
		}
	}
	return nearest;
}
