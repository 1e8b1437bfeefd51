/*
 * log - one line to stderr, the only stream procpen ever logs to.
 *
 * Lines are whole and in order. A line that stderr does not accept is dropped and
 * counted; the next accepted line follows a line with that count. With a writer that
 * never waits (log_write_with()), no line waits.
 */
#ifndef PROCPEN_BASE_LOG_H
#define PROCPEN_BASE_LOG_H

#include <stddef.h>
#include <sys/types.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_NOTICE };

/* Pass lines to @writer, which works like write(2) to stderr. Without it log lines go to descriptor
 * 2 and wait until it accepts them, which suits a command line tool. */
void log_write_with(ssize_t (*writer)(const void *bytes, size_t len));

/* Drop lines of less weight than @level. Before, all are written. */
void log_from(enum log_level level);

void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for @len bytes as they are. */
void log_text(enum log_level level, const char *text, size_t len);

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)

#endif
