/* stats - time, order statistics, and output of one result line. */
#ifndef PROCPEN_BENCH_STATS_H
#define PROCPEN_BENCH_STATS_H

#include <stddef.h>

double stats_now_us(void);

/* The value at @share (0 ... 1) of @n values; sorts them. */
double stats_at(double *values, size_t n, double share);

/* One JSON object on stdout: "name", value pairs, ended by NULL. NAN is written as null. */
void stats_print(const char *name, double value, ...);

#endif
