#include <stddef.h>

/* The compiler may emit calls of these even in freestanding code. */
void *memset(void *to, int byte, size_t len);
void *memcpy(void *restrict to, const void *restrict from, size_t len);

void *memset(void *to, int byte, size_t len)
{
	volatile char *p = to;

	while (len--)
		*p++ = (char)byte;
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	volatile char *p = to;
	const char *q = from;

	while (len--)
		*p++ = *q++;
	return to;
}
