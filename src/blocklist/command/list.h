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

/*
 * The hash of a word of @len bytes, at least one. Three bytes and the length: most lookups end at
 * an empty slot, and str_hash() over the whole word would be the larger part of them.
 */
static inline unsigned list_hash(const char *word, size_t len)
{
	return (unsigned char)word[0] * 37u + (unsigned char)word[len - 1] * 11u +
	       (unsigned char)word[len / 2] * 5u + (unsigned)len * 101u;
}

/* Is the text of @len bytes in the list @list? NULL is the empty list. */
bool list_has(const char *list, const char *text, size_t len);

/* The same of a text that is looked up in many lists, none of them NULL; @hash: list_hash(). */
bool list_has_hashed(const char *list, const char *text, size_t len, unsigned hash);

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
