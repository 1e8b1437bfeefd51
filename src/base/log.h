/*
 * log - one line to stderr. stderr is the only stream procpen ever logs to;
 * a write that would fail or block for good is dropped (stderr is the host's).
 */
#ifndef PROCPEN_BASE_LOG_H
#define PROCPEN_BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_NOTICE, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level); /* default: notice */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
