/*
 * list - words in one string: " -r -R --recursive ".
 *
 * Lookups are frequent and mostly miss, so the first one builds a hash of the list's
 * words, cached by the address of its text. A list must therefore be a string constant,
 * never text built at run time. One thread.
 */
#ifndef PROCPEN_BLOCKLIST_COMMAND_LIST_H
#define PROCPEN_BLOCKLIST_COMMAND_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a list holds. */
struct list_notes {
	const char *text;
	unsigned words;
	unsigned mask;       /* slots - 1 */
	uint16_t *slots;     /* 1 + where a word begins, by its hash; 0: none */
	bool globs;          /* a word has * ? or \\ in it */
	uint64_t letters[2]; /* the first character of each word behind its dashes */
};

/* The notes on @list; good until the next call. */
const struct list_notes *list_notes(const char *list);

/* Is the text of @len bytes in the list @list? NULL is the empty list. */
bool list_has(const char *list, const char *text, size_t len);

/* The characters '-' and '+' (of set +e) that an option begins with, at most two. */
static inline size_t list_dashes(const char *option)
{
	size_t n = 0;

	while (n < 2 && (option[n] == '-' || option[n] == '+'))
		n++;
	return n;
}

/* May a word of the list begin, behind its dashes, with @c? */
static inline bool list_begins(const struct list_notes *notes, char c)
{
	unsigned char u = (unsigned char)c & 0x7f;

	return notes->letters[u >> 6] >> (u & 63) & 1;
}

#endif
