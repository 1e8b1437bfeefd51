/*
 * mem - allocation that cannot fail, and cleanup attributes for locals.
 *
 * For: small structs and strings of bounded size. Running out of memory for
 * these aborts with a message (a supervisor that cannot track its children is
 * worse than none; every shim then kills its tree, see docs/security.md).
 */
#ifndef PROCPEN_BASE_MEM_H
#define PROCPEN_BASE_MEM_H

#include <stddef.h>

void *mem_zalloc(size_t size);              /* zeroed; never NULL */
void *mem_realloc(void *old, size_t size);  /* never NULL */
/* An array that is full, twice as large: *@room elements of @size bytes, at first @first. */
void *mem_grow(void *old, size_t *room, size_t first, size_t size);
char *mem_strdup(const char *text);         /* NULL stays NULL */
char *mem_strndup(const char *bytes, size_t len); /* adds the NUL */
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* never NULL */
char **mem_list_copy(const char *const *list); /* NULL-terminated; NULL stays NULL */
void mem_list_add(char ***list, char *item); /* at its end; NULL is empty; takes @item */
void mem_list_free(char **list); /* a NULL-terminated heap array of heap strings, or NULL */

/* Say that memory has run out, and abort. */
_Noreturn void mem_exhausted(void);

/* Print where and what, and abort. For states that only a bug in procpen can reach. */
_Noreturn void mem_bug(const char *file, int line, const char *what);
#define BUG_IF(cond) do { if (cond) mem_bug(__FILE__, __LINE__, #cond); } while (0)

/* Locals that clean up after themselves: `AUTO_FREE char *s`, `AUTO_CLOSE int fd = -1`.
 * mem_cleanup_close() may also be called: it closes what is not -1 and sets it to -1. */
void mem_cleanup_free(void *pointer_to_pointer);
void mem_cleanup_close(int *fd);
#define AUTO_FREE __attribute__((cleanup(mem_cleanup_free)))
#define AUTO_CLOSE __attribute__((cleanup(mem_cleanup_close)))

/* Number of elements of an array. */
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

#endif
