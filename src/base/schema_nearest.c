/* The nearest of several names. Declared in schema.h. */
#include "base/schema.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 64 /* longer names have no near one */
#define EDITS_MAX 3     /* with more it is another word */
#define CUT_MIN 3
#define SEPARATORS "_-."

/* A part of a name. */
struct schema_nearest_part {
	const char *text;
	size_t len;
};

static size_t schema_nearest_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool schema_nearest_ends_word(char c)
{
	return c && strchr(SEPARATORS, c);
}

/* Take the words off that both begin with, then those that both end with. */
static void schema_nearest_strip(struct schema_nearest_part *a, struct schema_nearest_part *b)
{
	size_t shared = 0, max = schema_nearest_min(a->len, b->len);

	for (size_t i = 0; i < max && a->text[i] == b->text[i]; i++)
		if (schema_nearest_ends_word(a->text[i]))
			shared = i + 1;
	a->text += shared;
	b->text += shared;
	a->len -= shared;
	b->len -= shared;
	max -= shared;
	shared = 0;
	for (size_t i = 1; i <= max && a->text[a->len - i] == b->text[b->len - i]; i++)
		if (schema_nearest_ends_word(a->text[a->len - i]))
			shared = i;
	a->len -= shared;
	b->len -= shared;
}

/* How many letters are changed, missing, too many or swapped with the next; both at most
 * NAME_MAX_LEN long. */
static size_t schema_nearest_distance(const struct schema_nearest_part *a,
				      const struct schema_nearest_part *b)
{
	size_t rows[3][NAME_MAX_LEN + 1];

	for (size_t j = 0; j <= b->len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a->len; i++) {
		size_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b->len; j++) {
			size_t change = last[j - 1] + (a->text[i - 1] != b->text[j - 1]);

			row[j] = schema_nearest_min(change,
						    schema_nearest_min(row[j - 1], last[j]) + 1);
			if (i > 1 && j > 1 && a->text[i - 1] == b->text[j - 2] &&
			    a->text[i - 2] == b->text[j - 1])
				row[j] = schema_nearest_min(row[j], before[j - 2] + 1);
		}
	}
	return rows[a->len % 3][b->len];
}

/* Is one the other cut short inside a word, as dir of directory? */
static bool schema_nearest_is_cut(const struct schema_nearest_part *a,
				  const struct schema_nearest_part *b)
{
	const struct schema_nearest_part *whole = a->len > b->len ? a : b;
	size_t len = schema_nearest_min(a->len, b->len);

	return len >= CUT_MIN && !memcmp(a->text, b->text, len) &&
	       strcspn(whole->text + len, SEPARATORS) >= whole->len - len;
}

const char *schema_nearest(const char *name, const char *const *names)
{
	size_t len = strlen(name), best = EDITS_MAX + 1;
	const char *nearest = NULL;

	if (len > NAME_MAX_LEN)
		return NULL;
	for (; *names; names++) {
		struct schema_nearest_part a = { name, len }, b = { *names, strlen(*names) };
		size_t d;

		if (b.len > NAME_MAX_LEN)
			continue;
		schema_nearest_strip(&a, &b);
		d = schema_nearest_is_cut(&a, &b) ? 1 : schema_nearest_distance(&a, &b);
		if (d < best && d <= ((a.len > b.len ? a.len : b.len) + 1) / 3) {
			best = d;
			nearest = *names;
		}
	}
	return nearest;
}

void schema_say_nearest(struct err *e, const char *name, const char *const *names)
{
	const char *near = schema_nearest(name, names);
	size_t len = strlen(e->message);

	if (near)
		snprintf(e->message + len, sizeof(e->message) - len, "; the nearest is \"%s\"",
			 near);
}
