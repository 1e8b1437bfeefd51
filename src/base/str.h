/* str - helpers for short strings: membership in a list, names, digits, paths by name, a hash. */
#ifndef PROCPEN_BASE_STR_H
#define PROCPEN_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Is @text the same as @other? Most differ in their first two bytes, which needs no call. */
static inline bool str_is(const char *text, const char *other)
{
	return text[0] == other[0] && (!text[0] || (text[1] == other[1] && !strcmp(text, other)));
}

/* Is @text in the NULL-terminated @list? */
static inline bool str_is_listed(const char *text, const char *const *list)
{
	while (*list && !str_is(text, *list))
		list++;
	return *list;
}

/* Is it a letter, a digit or _, of which names of variables are made? */
static inline bool str_is_name_char(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* The value of a hexadecimal digit; -1: it is none. */
static inline int str_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Is @path @directory or below it, by name? Slashes at the end of @directory do not count. */
static inline bool str_path_lies_in(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	while (len && directory[len - 1] == '/')
		len--;
	return !strncmp(path, directory, len) && (!path[len] || path[len] == '/');
}

/* The last part of @path: what is behind its last slash, or all of it. */
static inline const char *str_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Write the path of @len bytes at @s to @out as an absolute one, and a NUL, without "." and empty
 * parts, and with each ".." resolved by name; the root is "". @out has room for @len + 2 bytes, and
 * may be @s if that is absolute. Returns the new length. */
static inline size_t str_fold_path(const char *s, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0, end; i < len; i = end + 1) {
		const char *slash = memchr(s + i, '/', len - i);

		end = slash ? (size_t)(slash - s) : len;
		if (end - i == 2 && !memcmp(s + i, "..", 2)) {
			while (n && out[--n] != '/')
				;
		} else if (end > i && !(end - i == 1 && s[i] == '.')) {
			out[n++] = '/';
			memmove(out + n, s + i, end - i);
			n += end - i;
		}
	}
	out[n] = '\0';
	return n;
}

/* FNV-1a (draft-eastlake-fnv), byte by byte from STR_HASH_INIT on. Outsiders can choose keys that
 * meet in one place of a table: who takes keys from them must bound the search. */
#define STR_HASH_INIT 2166136261u

static inline uint32_t str_hash_byte(uint32_t hash, char c)
{
	return (hash ^ (unsigned char)c) * 16777619u;
}

/* The same of @len bytes. */
static inline uint32_t str_hash(const char *bytes, size_t len)
{
	uint32_t hash = STR_HASH_INIT;

	for (size_t i = 0; i < len; i++)
		hash = str_hash_byte(hash, bytes[i]);
	return hash;
}

#endif
