#include "os/mountinfo.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* Undo the octal escapes, in place. */
static char *mountinfo_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return text;
}

/* "36 35 0:30 ROOT POINT rw,... [optional ...] - TYPE SOURCE OPTIONS" */
int mountinfo_parse(char *line, struct mountinfo *m)
{
	char *tail = strstr(line, " - "), *save, *field[5];

	line[strcspn(line, "\n")] = '\0';
	if (!tail)
		return -1;
	*tail = '\0';
	m->type = strtok_r(tail + 3, " ", &save);
	m->options = m->type && strtok_r(NULL, " ", &save) ? strtok_r(NULL, " ", &save) : NULL;
	for (int i = 0; i < 5; i++) {
		field[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!field[i])
			return -1;
	}
	m->id = strtoull(field[0], NULL, 10);
	m->device = field[2];
	m->root = mountinfo_unescape(field[3]);
	m->point = mountinfo_unescape(field[4]);
	return m->options ? 0 : -1;
}

int mountinfo_watch(void)
{
	return open(MOUNTINFO_PATH, O_RDONLY | O_CLOEXEC);
}

/* poll(2) reports each change once (proc(5)). */
bool mountinfo_changed(int fd)
{
	struct pollfd look = { .fd = fd, .events = POLLPRI };

	return fd < 0 || poll(&look, 1, 0) != 0;
}
