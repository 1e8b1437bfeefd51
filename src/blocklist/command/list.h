/*
 * list - words in one string: " -r -R --recursive ".
 *
 * Lookups are frequent and mostly miss, so the first one builds a hash table of the list's
 * words and caches it by the list's address. A list must therefore be a string constant,
 * never text built at run time. Not thread-safe.
 */
#ifndef PROCPEN_BLOCKLIST_COMMAND_LIST_H
#define PROCPEN_BLOCKLIST_COMMAND_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The hash table of a list. */
struct list_notes {
	const char *text;
	unsigned words;
	unsigned mask;       /* slots - 1 */
	uint16_t *slots;     /* 1 + offset of a word in @text, by its hash; 0: none */
	bool globs;          /* a word has * ? or \\ in it */
	uint64_t letters[2]; /* bits: first characters of the words, after dashes */
};

/* The notes on @list; valid until the next call. */
const struct list_notes *list_notes(const char *list);

/* Is the text of @len bytes in the list @list? NULL is the empty list. */
bool list_has(const char *list, const char *text, size_t len);

/* How many - and + (of set +e) @option begins with, at most two. */
static inline size_t list_dashes(const char *option)
{
	size_t n = 0;

	while (n < 2 && (option[n] == '-' || option[n] == '+'))
		n++;
	return n;
}

/* May a word of the list begin with @c after its dashes? */
static inline bool list_begins(const struct list_notes *notes, char c)
{
	unsigned char u = (unsigned char)c & 0x7f;

	return notes->letters[u >> 6] >> (u & 63) & 1;
}

#endif
