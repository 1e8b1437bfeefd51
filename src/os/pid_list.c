#include "os/pid_list.h"

#include <stdbool.h>
#include <unistd.h>

int pid_list_read(int fd, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
	char text[4096];
	bool inside = false;
	pid_t pid = 0;
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				inside = true;
				continue;
			}
			if (inside)
				fn(ctx, pid);
			inside = false;
			pid = 0;
		}
	if (n < 0)
		return -1;
	if (inside)
		fn(ctx, pid);
	return 0;
}
