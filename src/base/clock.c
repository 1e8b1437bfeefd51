#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t clock_now_us(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_mono_ms(void)
{
	return clock_now_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_mono_us(void)
{
	return clock_now_us(CLOCK_MONOTONIC);
}

int64_t clock_wall_ms(void)
{
	return clock_now_us(CLOCK_REALTIME) / 1000;
}

void clock_wall_text(int64_t wall_ms, char out[CLOCK_TEXT_SIZE])
{
	int64_t seconds = wall_ms / 1000, ms = wall_ms % 1000;
	char date[24];
	time_t whole;
	struct tm t;

	if (ms < 0) {
		ms += 1000;
		seconds--;
	}
	whole = (time_t)seconds;
	gmtime_r(&whole, &t);
	if (!strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &t))
		date[0] = '\0'; /* a year of more than 8 digits */
	snprintf(out, CLOCK_TEXT_SIZE, "%s.%03uZ", date, (unsigned)ms % 1000);
}
