#include "stats.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double stats_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double stats_at(double *values, size_t n, double share)
{
	size_t at = (size_t)(share * (double)n);

	if (!n)
		return 0;
	qsort(values, n, sizeof(*values), compare);
	return values[at < n ? at : n - 1];
}

static void print_pair(const char *name, double value)
{
	if (isnan(value))
		printf("\"%s\": null", name);
	else
		printf("\"%s\": %.3f", name, value);
}

void stats_print(const char *name, double value, ...)
{
	va_list more;

	va_start(more, value);
	putchar('{');
	print_pair(name, value);
	while ((name = va_arg(more, const char *))) {
		printf(", ");
		print_pair(name, va_arg(more, double));
	}
	printf("}\n");
	va_end(more);
}
