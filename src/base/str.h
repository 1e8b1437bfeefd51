/* str - helpers for short strings: membership in a list, paths by name, and a hash. */
#ifndef PROCPEN_BASE_STR_H
#define PROCPEN_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Is @text in the NULL-terminated @list? */
static inline bool str_is_listed(const char *text, const char *const *list)
{
	while (*list && (**list != *text || strcmp(*list, text)))
		list++;
	return *list;
}

/* Is @path @directory or below it, by name? Slashes at the end of @directory do not count. */
static inline bool str_path_lies_in(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	while (len && directory[len - 1] == '/')
		len--;
	return !strncmp(path, directory, len) && (!path[len] || path[len] == '/');
}

/* FNV-1a of @len bytes (draft-eastlake-fnv). For tables whose keys no outsider chooses. */
static inline uint32_t str_hash(const char *bytes, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
	return hash;
}

#endif
