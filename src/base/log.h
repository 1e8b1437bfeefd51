/*
 * log - one line to stderr, the only stream procpen ever logs to.
 *
 * Lines are whole and in order. One that stderr does not take is dropped and
 * counted, and the next one that it takes stands behind a line with that count.
 * Where log_write_with() has named a writer that never waits, no line ever does.
 */
#ifndef PROCPEN_BASE_LOG_H
#define PROCPEN_BASE_LOG_H

#include <stddef.h>
#include <sys/types.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_NOTICE };

/* Hand lines to @writer, which is like write(2) to stderr. Until then they are written to
 * descriptor 2 as it is, and wait for whoever reads there: right for a command line tool. */
void log_write_with(ssize_t (*writer)(const void *bytes, size_t len));

void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)

#endif
