/*
 * parse BYTES N - what jansson alone takes for the message of `drive request BYTES N`.
 *
 * The yardstick for long requests: parse the text and free the values, N times. Prints the
 * processor time of each.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "message.h"
#include "stats.h"

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	char *text = n ? message_make(strtoul(argv[1], NULL, 10)) : NULL;
	double begin = cpu_ms();

	if (!text) {
		fprintf(stderr, "usage: parse BYTES N\n");
		return 2;
	}
	for (size_t i = 0; i < n; i++) {
		json_t *value = json_loadb(text, strlen(text), JSON_REJECT_DUPLICATES, NULL);

		if (!value) {
			fprintf(stderr, "parse: the message is no JSON\n");
			return 1;
		}
		json_decref(value);
	}
	stats_print("cpu_ms", (cpu_ms() - begin) / (double)n, NULL);
	free(text);
	return 0;
}
