#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define CACHED_MAX 1024 /* bytes of a block that the C library's cache keeps */

void mem_exhausted(void)
{
	log_error("out of memory for its own bookkeeping; giving up");
	abort();
}

/* calloc(3) of the C library takes no block from the cache of recently freed ones (before glibc
 * 2.41), malloc(3) does. A large block comes zeroed from the kernel. */
void *mem_zalloc(size_t size)
{
	bool cached = size <= CACHED_MAX;
	void *p = cached ? malloc(size ? size : 1) : calloc(1, size);

	if (!p)
		mem_exhausted();
	return cached ? memset(p, 0, size) : p;
}

void *mem_realloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		mem_exhausted();
	return p;
}

void *mem_grow(void *old, size_t *room, size_t first, size_t size)
{
	*room = *room ? 2 * *room : first;
	return mem_realloc(old, *room * size);
}

char *mem_strdup(const char *text)
{
	return text ? mem_strndup(text, strlen(text)) : NULL;
}

char *mem_strndup(const char *bytes, size_t len)
{
	char *copy = mem_zalloc(len + 1);

	if (len)
		memcpy(copy, bytes, len);
	return copy;
}

char *mem_printf(const char *fmt, ...)
{
	char *text;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		mem_exhausted();
	va_end(args);
	return text;
}

char **mem_list_copy(const char *const *list)
{
	size_t count = 0;
	char **copy;

	if (!list)
		return NULL;
	while (list[count])
		count++;
	copy = mem_zalloc((count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = mem_strdup(list[i]);
	return copy;
}

void mem_list_add(char ***list, char *item)
{
	size_t count = 0;

	while (*list && (*list)[count])
		count++;
	*list = mem_realloc(*list, (count + 2) * sizeof(**list));
	(*list)[count] = item;
	(*list)[count + 1] = NULL;
}

void mem_list_free(char **list)
{
	for (char **item = list; item && *item; item++)
		free(*item);
	free(list);
}

_Noreturn void mem_bug(const char *file, int line, const char *what)
{
	log_error("bug: %s:%d: %s", file, line, what);
	abort();
}

void mem_cleanup_free(void *pointer_to_pointer)
{
	void *p;

	/* The argument points to a pointer of any type: read it without aliasing it. */
	memcpy(&p, pointer_to_pointer, sizeof(p));
	free(p);
}

void mem_cleanup_close(int *fd)
{
	int saved;

	if (*fd >= 0) {
		saved = errno;
		close(*fd);
		errno = saved;
	}
	*fd = -1;
}
