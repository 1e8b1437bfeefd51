/*
 * quantity - numbers with a unit, as people write them in options: 500ms, 1.5h, 64K, 2GiB.
 *
 * Exact in 64 bits; what a suffix leaves below one byte or microsecond is dropped. Refuses
 * MB, which is 1,000,000 for some and 1,048,576 for others.
 */
#ifndef PROCPEN_BASE_QUANTITY_H
#define PROCPEN_BASE_QUANTITY_H

#include <stdint.h>

/* What a number without a suffix counts. */
enum quantity { QUANTITY_COUNT, QUANTITY_BYTES, QUANTITY_SECONDS, QUANTITY_MILLISECONDS };

#define QUANTITY_TEXT_SIZE 32

/*
 * Read @text: digits, with a decimal fraction if wanted, and a suffix: ms, s, m, h for a time; K,
 * M, G, T, P, E, each also with iB, for bytes; K, M, G for a count (units of 1024). No sign and no
 * blank.
 * *@value: the count, the bytes, or for a time the microseconds. Returns 0, or -1 with *@value
 * unchanged.
 */
int quantity_parse(const char *text, enum quantity unit, int64_t *value);

/* How many of what quantity_parse() counts are one of @unit: 1,000,000 for seconds. */
int64_t quantity_scale(enum quantity unit);

/* "1h", "4M", "90s": @value, as quantity_parse() has it, in the largest unit that keeps it whole.
 * @value: not negative. */
void quantity_show(int64_t value, enum quantity unit, char text[QUANTITY_TEXT_SIZE]);

/* A sentence that names the forms that are accepted. */
const char *quantity_forms(enum quantity unit);

#endif
