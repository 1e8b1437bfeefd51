/*
 * writer BYTES SEED [SECONDS] - writes BYTES of text to stdout as fast as it can.
 *
 * BYTES is a multiple of PAGE_BYTES. Ends early after SECONDS, and always after a minute.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "page.h"

#define LIFE_SECONDS 60
#define BLOCK_PAGES 16

static char block[BLOCK_PAGES * PAGE_BYTES];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int write_all(const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t pages, done = 0;
	unsigned int seed;
	double end;

	if (argc < 3) {
		fprintf(stderr, "usage: writer BYTES SEED [SECONDS]\n");
		return 2;
	}
	alarm(LIFE_SECONDS);
	pages = strtoull(argv[1], NULL, 10) / PAGE_BYTES;
	seed = (unsigned int)strtoul(argv[2], NULL, 10);
	end = argc > 3 ? now() + strtod(argv[3], NULL) : 0;
	for (int i = 0; i < BLOCK_PAGES; i++)
		page_fill(block + i * PAGE_BYTES, seed, 0);
	while (done < pages && !(end > 0 && now() > end)) {
		uint64_t n = pages - done < BLOCK_PAGES ? pages - done : BLOCK_PAGES;

		for (uint64_t i = 0; i < n; i++)
			page_head(block + i * PAGE_BYTES, seed, done + i);
		if (write_all(block, n * PAGE_BYTES))
			return 1;
		done += n;
	}
	return 0;
}
