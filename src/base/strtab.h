/*
 * strtab - the texts of the generated tables, one after the other.
 *
 * A row names a text by its offset. A pointer would be relocated at every start of procpen, which
 * makes a page of the file private memory and takes longer than all else that a start does with
 * the tables; an offset stays in the file, unread until someone asks.
 */
#ifndef PROCPEN_BASE_STRTAB_H
#define PROCPEN_BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A text. All zero: there is none. */
struct strtab_text {
	uint32_t offset;
};

/* Texts, none of which is empty. All zero: there is none. */
struct strtab_list {
	uint32_t offset;
};

/* Each text with its NUL; another NUL ends a list. Written by src/gen. */
extern const char strtab[];

/* NULL: there is none. */
static inline const char *strtab_get(struct strtab_text text)
{
	return text.offset ? strtab + text.offset : NULL;
}

/* for (const char *one = strtab_first(list); one; one = strtab_next(one)) */
static inline const char *strtab_first(struct strtab_list list)
{
	return list.offset ? strtab + list.offset : NULL;
}

static inline const char *strtab_next(const char *text)
{
	text += strlen(text) + 1;
	return *text ? text : NULL;
}

#endif
