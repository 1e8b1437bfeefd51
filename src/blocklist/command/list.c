#include "blocklist/command/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Lists cached at a time: 2 to this power. A list whose place is taken has the one beside it. */
#define PLACES_LOG 11
/* Slots for each word of a list: most lookups end at an empty one. */
#define SLOTS_EACH 4

static struct list_notes places[1u << PLACES_LOG];

static void list_note_word(struct list_notes *notes, const char *word, size_t len)
{
	unsigned at = list_hash(word, len);
	unsigned char c = (unsigned char)word[list_dashes(word)] & 0x7f;

	notes->letters[c >> 6] |= 1ull << (c & 63);
	notes->words++;
	notes->globs |= memchr(word, '*', len) || memchr(word, '?', len) ||
			memchr(word, '\\', len);
	while (notes->slots[at & notes->mask])
		at++;
	notes->slots[at & notes->mask] = (uint16_t)(word - notes->text + 1);
}

__attribute__((noinline)) static void list_note(struct list_notes *notes, const char *list)
{
	size_t words = 1, slots = 8;

	for (const char *p = list; *p; p++)
		words += *p == ' ';
	BUG_IF(strlen(list) >= UINT16_MAX);
	while (slots < words * SLOTS_EACH)
		slots *= 2;
	free(notes->slots);
	*notes = (struct list_notes){ .text = list, .mask = (unsigned)slots - 1 };
	notes->slots = mem_zalloc(slots * sizeof(*notes->slots));
	while (*list) {
		size_t len;

		list += *list == ' ';
		len = strcspn(list, " ");
		if (len)
			list_note_word(notes, list, len);
		list += len;
	}
}

const struct list_notes *list_notes(const char *list)
{
	uint64_t key = (uint64_t)(uintptr_t)list * 0x9e3779b97f4a7c15u;
	uint64_t place = key >> (64 - PLACES_LOG);
	struct list_notes *notes = &places[place];

	if (notes->text == list)
		return notes;
	if (notes->text)
		notes = &places[place ^ 1];
	if (notes->text != list)
		list_note(notes, list);
	return notes;
}

/* Is it in the slots from @at on, the first of which is taken? Apart from the rest, which would
 * have to save the registers of this loop. */
__attribute__((noinline)) static bool list_is_in_slot(const struct list_notes *notes, unsigned at,
						      const char *text, size_t len)
{
	for (; notes->slots[at & notes->mask]; at++) {
		const char *word = notes->text + notes->slots[at & notes->mask] - 1;

		if (*word == *text && strncmp(word, text, len) == 0 &&
		    (word[len] == ' ' || !word[len]) && !memchr(text, ' ', len))
			return true;
	}
	return false;
}

bool list_has_hashed(const char *list, const char *text, size_t len, unsigned hash)
{
	const struct list_notes *notes = list_notes(list);

	return notes->slots[hash & notes->mask] && list_is_in_slot(notes, hash, text, len);
}

bool list_has(const char *list, const char *text, size_t len)
{
	return list && len && list_has_hashed(list, text, len, list_hash(text, len));
}
