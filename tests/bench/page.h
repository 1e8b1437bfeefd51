/* page - the text that writer produces: every page of it is different. */
#ifndef PROCPEN_BENCH_PAGE_H
#define PROCPEN_BENCH_PAGE_H

#include <stdint.h>
#include <string.h>

#define PAGE_BYTES 4096
#define PAGE_HEAD 14

/* "SSSS IIIIIIII " : which writer, which page. */
static inline void page_head(char *page, unsigned int seed, uint64_t index)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 4; i++)
		page[i] = digits[(seed >> (12 - 4 * i)) & 15];
	page[4] = ' ';
	for (int i = 0; i < 8; i++)
		page[5 + i] = digits[(index >> (28 - 4 * i)) & 15];
	page[13] = ' ';
}

/*
 * Lines as a build prints them; every sixteenth has a quotation and characters of
 * two to four bytes. None crosses the end of the page.
 */
static inline void page_fill(char *page, unsigned int seed, uint64_t index)
{
	static const char plain[] = "cc -std=c11 -O2 -Wall -Wextra -c src/module.c -o module.o\n";
	static const char rich[] = "a warning: \"na\xc3\xafve\" \xe6\xbc\xa2\xe5\xad\x97 "
				   "\xf0\x9f\x99\x82 in line 7 of it\n";
	size_t at = PAGE_HEAD;

	page_head(page, seed, index);
	for (int i = 1; at + sizeof(plain) < PAGE_BYTES; i++) {
		const char *line = i % 16 ? plain : rich;

		memcpy(page + at, line, strlen(line));
		at += strlen(line);
	}
	memset(page + at, '.', PAGE_BYTES - 1 - at);
	page[PAGE_BYTES - 1] = '\n';
}

#endif
