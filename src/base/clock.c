#include "base/clock.h"

#include <stdio.h>
#include <string.h>
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

#define WORK_FREE_US 1000

struct clock_work clock_work_begin(void)
{
	return (struct clock_work){ .begin_us = clock_mono_us() };
}

int64_t clock_work_used_us(struct clock_work *w)
{
	int64_t used;

	if (!w->begin_used_us && clock_mono_us() - w->begin_us < WORK_FREE_US)
		return 0;
	used = clock_now_us(CLOCK_THREAD_CPUTIME_ID);
	if (!w->begin_used_us)
		w->begin_used_us = used;
	return used - w->begin_used_us;
}

/* A date of the Gregorian calendar. */
struct clock_date {
	int year;
	uint8_t month, day;
};

/*
 * The date @days after 1970-01-01. By hand, because gmtime_r() first reads the local time zone,
 * which costs each start of a server seven system calls. Counts in years that begin on 1 March, so
 * that a leap day is the last day of its year, from 0000-03-01 on, in eras of 400 years.
 */
static struct clock_date clock_date_of(int64_t days)
{
	const int era_days = 146097, before_1970 = 719468;
	int64_t shifted = days + before_1970;
	int64_t era = (shifted >= 0 ? shifted : shifted - era_days + 1) / era_days;
	int day = (int)(shifted - era * era_days);
	int year = (day - day / 1460 + day / 36524 - day / (era_days - 1)) / 365;
	int month;

	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153; /* 0 is March: five months have 153 days */
	return (struct clock_date){
		.year = (int)(era * 400) + year + (month >= 10),
		.month = (uint8_t)(month < 10 ? month + 3 : month - 9),
		.day = (uint8_t)(day - (153 * month + 2) / 5 + 1),
	};
}

/* Write @value in @digits digits, then @after; returns the end. */
static char *clock_put(char *to, int value, int digits, char after)
{
	for (int i = digits; i--; value /= 10)
		to[i] = (char)('0' + value % 10);
	to[digits] = after;
	return to + digits + 1;
}

/* Write the text of a second up to its "."; returns the end. Without printf for the years of four
 * digits: each line of the audit log has a time. */
static char *clock_put_second(char *out, int64_t second)
{
	const int day_s = 24 * 3600;
	int s = (int)(second % day_s);
	struct clock_date date = clock_date_of(second / day_s - (s < 0));

	s += s < 0 ? day_s : 0;
	if (date.year >= 0 && date.year <= 9999)
		out = clock_put(out, date.year, 4, '-');
	else
		out += snprintf(out, CLOCK_TEXT_SIZE, "%04d-", date.year);
	out = clock_put(out, date.month, 2, '-');
	out = clock_put(out, date.day, 2, 'T');
	out = clock_put(out, s / 3600, 2, ':');
	out = clock_put(out, s / 60 % 60, 2, ':');
	return clock_put(out, s % 60, 2, '.');
}

/* A request writes its time several times, so the text of the last second is kept. */
void clock_wall_text(int64_t wall_ms, char out[CLOCK_TEXT_SIZE])
{
	static char text[CLOCK_TEXT_SIZE], *end;
	static int64_t known = INT64_MIN; /* no second */
	int ms = (int)(wall_ms % 1000);
	int64_t second = wall_ms / 1000 - (ms < 0);

	if (second != known)
		end = clock_put_second(text, known = second);
	memcpy(out, text, sizeof(text));
	*clock_put(out + (end - text), ms < 0 ? ms + 1000 : ms, 3, 'Z') = '\0';
}

bool clock_is_time(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
	char whole[] = "2000-01-01T00:00:00";
	size_t len = strlen(text), max = strlen(whole);
	struct tm given = { 0 }, real;

	if (len < strlen("2026-11-21") || len > strlen(form))
		return false;
	for (size_t i = 0; i < len; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	memcpy(whole, text, len < max ? len : max);
	if (!strptime(whole, "%Y-%m-%dT%H:%M:%S", &given))
		return false;
	real = given;
	timegm(&real); /* makes 30 February a day of March */
	return real.tm_mday == given.tm_mday;
}
