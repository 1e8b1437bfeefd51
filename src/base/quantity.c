#include "base/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>


struct suffix {
	const char *text;
	int64_t factor;
};

/* Each group ends with NULL. quantity_show() takes the last that divides: the largest last. */
static const struct suffix times[] = {
	{ "us", 1 }, { "ms", 1000 }, { "s", 1000000 }, { "m", 60000000 }, { "h", 3600000000 },
	{ NULL, 0 },
};

static const struct suffix sizes[] = {
	{ "", 1 },	       { "KiB", INT64_C(1) << 10 }, { "MiB", INT64_C(1) << 20 },
	{ "GiB", INT64_C(1) << 30 }, { "TiB", INT64_C(1) << 40 }, { "PiB", INT64_C(1) << 50 },
	{ "EiB", INT64_C(1) << 60 }, { "k", INT64_C(1) << 10 },	  { "m", INT64_C(1) << 20 },
	{ "g", INT64_C(1) << 30 },   { "K", INT64_C(1) << 10 },	  { "M", INT64_C(1) << 20 },
	{ "G", INT64_C(1) << 30 },   { "T", INT64_C(1) << 40 },	  { "P", INT64_C(1) << 50 },
	{ "E", INT64_C(1) << 60 },   { NULL, 0 },
};

static const struct suffix counts[] = {
	{ "", 1 },		   { "k", INT64_C(1) << 10 }, { "m", INT64_C(1) << 20 },
	{ "g", INT64_C(1) << 30 }, { "K", INT64_C(1) << 10 }, { "M", INT64_C(1) << 20 },
	{ "G", INT64_C(1) << 30 }, { NULL, 0 },
};

static const struct {
	const struct suffix *suffixes;
	int64_t scale;
	const char *forms;
} units[] = {
	[QUANTITY_COUNT] = { counts, 1,
			     "Give digits, with K, M or G after them for units of 1024." },
	[QUANTITY_BYTES] = { sizes, 1,
			     "Write 64K, 64MiB, 2G or 1T; a number alone is in bytes." },
	[QUANTITY_SECONDS] = { times, 1000000,
			       "Write 500ms, 90s, 5m or 1h; a number alone is in seconds." },
	[QUANTITY_MILLISECONDS] = { times, 1000,
				    "Write 500ms, 90s, 5m or 1h; a number alone is in "
				    "milliseconds." },
};

/* The factor of @suffix, or 0. */
static int64_t quantity_factor(const char *suffix, enum quantity unit)
{
	if (!*suffix)
		return units[unit].scale;
	for (const struct suffix *s = units[unit].suffixes; s->text; s++)
		if (!strcmp(s->text, suffix))
			return s->factor;
	return 0;
}

/* Append the digits at *@at, which moves behind them, to *@number; @digits counts them. -1: there
 * are none, or they are beyond 64 bits. */
static int quantity_digits(const char **at, int64_t *number, int *digits)
{
	for (*digits = 0; **at >= '0' && **at <= '9'; ++*at, ++*digits)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, **at - '0', number))
			return -1;
	return *digits ? 0 : -1;
}

int quantity_parse(const char *text, enum quantity unit, int64_t *value)
{
	int64_t number = 0, divisor = 1, factor;
	int whole, places = 0;
	__int128 product;

	if (quantity_digits(&text, &number, &whole))
		return -1;
	if (*text == '.' && (text++, quantity_digits(&text, &number, &places)))
		return -1;
	factor = quantity_factor(text, unit);
	while (places--)
		if (__builtin_mul_overflow(divisor, 10, &divisor))
			return -1;
	product = (__int128)number * factor;
	if (!factor || product / divisor > INT64_MAX || (factor == 1 && number % divisor))
		return -1;
	*value = (int64_t)(product / divisor);
	return 0;
}

int64_t quantity_scale(enum quantity unit)
{
	return units[unit].scale;
}

void quantity_show(int64_t value, enum quantity unit, char text[QUANTITY_TEXT_SIZE])
{
	const struct suffix *best = units[unit].suffixes;

	for (const struct suffix *s = best; s->text; s++)
		if (value && value % s->factor == 0)
			best = s;
	snprintf(text, QUANTITY_TEXT_SIZE, "%" PRId64 "%s", value / best->factor,
		 value ? best->text : "");
}

const char *quantity_forms(enum quantity unit)
{
	return units[unit].forms;
}
