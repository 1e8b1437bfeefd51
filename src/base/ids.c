#include "base/ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"

#define TAG_LEN 4

void ids_instance(char out[IDS_INSTANCE_SIZE])
{
	uint64_t value;

	/* GRND_NONBLOCK: early in boot the pool may not be ready, and the server must not wait. */
	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != (ssize_t)sizeof(value)) {
		value = (uint64_t)clock_wall_ms() << 20 ^ (uint64_t)clock_mono_us();
		value = (value ^ (uint64_t)getpid() << 48) * UINT64_C(0x9e3779b97f4a7c15);
	}
	snprintf(out, IDS_INSTANCE_SIZE, "%016" PRIx64, value);
}

bool ids_is_instance(const char *text)
{
	return strlen(text) == IDS_INSTANCE_SIZE - 1 &&
	       strspn(text, "0123456789abcdef") == IDS_INSTANCE_SIZE - 1;
}

/* Without printf: each run has an id. */
void ids_format(char out[IDS_TEXT_SIZE], uint64_t seq, const char *instance)
{
	char digits[20], *at = digits + sizeof(digits);
	size_t len;

	do
		*--at = (char)('0' + seq % 10);
	while (seq /= 10);
	len = (size_t)(digits + sizeof(digits) - at);
	*out++ = 'p';
	memcpy(out, at, len);
	out[len] = '-';
	memcpy(out + len + 1, instance, TAG_LEN);
	out[len + 1 + TAG_LEN] = '\0';
}

uint64_t ids_number(const char *text, const char **tag)
{
	uint64_t seq = 0;
	const char *c;

	if (*text != 'p' || text[1] == '0') /* accept only the spelling of ids_format() */
		return 0;
	for (c = text + 1; *c >= '0' && *c <= '9'; c++) {
		if (seq > (UINT64_MAX - 9) / 10)
			return 0;
		seq = seq * 10 + (uint64_t)(*c - '0');
	}
	if (*c && (*c != '-' || strspn(c + 1, "0123456789abcdef") != TAG_LEN || c[1 + TAG_LEN]))
		return 0;
	*tag = *c ? c + 1 : c;
	return seq;
}

uint64_t ids_parse(const char *text, const char *instance)
{
	const char *tag;
	uint64_t seq = ids_number(text, &tag);

	return seq && *tag && !strncmp(tag, instance, TAG_LEN) ? seq : 0;
}

void ids_host(char out[IDS_HOST_SIZE])
{
	struct utsname names;

	_Static_assert(sizeof(names.nodename) <= IDS_HOST_SIZE, "nodename fits");
	*out = '\0';
	if (!uname(&names))
		strcpy(out, names.nodename);
}
