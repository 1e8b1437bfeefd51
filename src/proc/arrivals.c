#include "proc/arrivals.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ROOM_FIRST 4
#define CHARACTER 8 /* a reader counts a character that two reads cut with the second one: of each
		     * stream less than four bytes */

struct arrivals_index {
	uint64_t served[ARRIVALS_READERS]; /* the last one first; 0: none */
	uint64_t looked;
	uint32_t count, room;
	struct arrival parts[];
};

void arrivals_release(struct arrivals *a)
{
	free(a->index);
	a->index = NULL;
}

/* Room for one more part. */
static void arrivals_grow(struct arrivals *a)
{
	uint32_t room = a->index ? 2 * a->index->room : ROOM_FIRST;

	if (a->index && a->index->count < a->index->room)
		return;
	if (!a->index) {
		a->index = mem_zalloc(sizeof(*a->index) + room * sizeof(*a->index->parts));
		a->index->parts[a->index->count++] =
			(struct arrival){ .ms = a->first_ms, .is_err = a->first_is_err };
	} else {
		a->index = mem_realloc(a->index,
				       sizeof(*a->index) + room * sizeof(*a->index->parts));
	}
	a->index->room = room;
}

/* How many parts from @part on, of @left, become one part of each stream; 1: it stays as it is. */
static size_t arrivals_pair(const struct arrival *part, size_t left)
{
	if (left >= 2 && part[0].is_err == part[1].is_err)
		return 2;
	if (left >= 4 && part[0].is_err == part[2].is_err && part[1].is_err == part[3].is_err)
		return 4;
	return 1;
}

/* The position of part @i: the bytes of both streams before it. */
static uint64_t arrivals_position(const struct arrivals_index *x, size_t i)
{
	uint64_t other = UINT64_MAX / 2; /* not known: beyond every reader */

	for (size_t at = i; at < x->count; at++)
		if (x->parts[at].is_err != x->parts[i].is_err) {
			other = x->parts[at].offset;
			break;
		}
	return x->parts[i].offset + other;
}

/* Does one go on within these parts? Those that were served when there was no index go on within
 * the first part. */
static bool arrivals_has_reader(const struct arrivals_index *x, size_t i, size_t parts)
{
	uint64_t from = arrivals_position(x, i), to = arrivals_position(x, i + parts) + CHARACTER;

	if (!i || (x->looked + CHARACTER > from && x->looked < to))
		return true;
	for (size_t k = 0; k < ARRIVALS_READERS; k++)
		if (x->served[k] + CHARACTER > from && x->served[k] < to)
			return true;
	return false;
}

static void arrivals_thin(struct arrivals_index *x)
{
	size_t half = x->count / 2, kept = 0, i = 0;

	while (i < half) {
		size_t taken = arrivals_pair(x->parts + i, half - i);

		if (taken == 4 && arrivals_has_reader(x, i, taken))
			taken = 1;
		x->parts[kept++] = x->parts[i];
		if (taken == 4)
			x->parts[kept++] = x->parts[i + 1];
		i += taken;
	}
	memmove(x->parts + kept, x->parts + half, (x->count - half) * sizeof(*x->parts));
	x->count -= (uint32_t)(half - kept);
}

void arrivals_note(struct arrivals *a, const struct arrival *next)
{
	struct arrival last;

	if (!a->any) {
		a->any = true;
		a->first_ms = next->ms;
		a->first_is_err = next->is_err;
		return;
	}
	last = arrivals_get(a, arrivals_count(a) - 1);
	if (last.is_err == next->is_err && last.ms == next->ms)
		return;
	if (a->index && a->index->count == ARRIVALS_MAX)
		arrivals_thin(a->index);
	arrivals_grow(a);
	a->index->parts[a->index->count++] = *next;
}

size_t arrivals_count(const struct arrivals *a)
{
	return a->index ? a->index->count : a->any;
}

struct arrival arrivals_get(const struct arrivals *a, size_t i)
{
	if (a->index)
		return a->index->parts[i];
	return (struct arrival){ .ms = a->first_ms, .is_err = a->first_is_err };
}

static size_t arrivals_find_reader(const struct arrivals_index *x, uint64_t position)
{
	size_t k = 0;

	while (k < ARRIVALS_READERS && x->served[k] != position)
		k++;
	return k;
}

/* In this order it takes its own place (of one that begins: a free one), that of another one at
 * @to, which may be the same one that has begun again, or that of the one that has stayed away
 * longest. */
void arrivals_served(struct arrivals *a, uint64_t from, uint64_t to)
{
	struct arrivals_index *x = a->index;
	size_t k;

	if (!x)
		return;
	k = arrivals_find_reader(x, from);
	if (k == ARRIVALS_READERS)
		k = arrivals_find_reader(x, to);
	if (k == ARRIVALS_READERS)
		k--;
	memmove(x->served + 1, x->served, k * sizeof(*x->served));
	x->served[0] = to;
}

void arrivals_looked(struct arrivals *a, uint64_t to)
{
	if (a->index)
		a->index->looked = to;
}
