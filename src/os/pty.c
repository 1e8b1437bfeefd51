#include "os/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"

/* The terminal of @ours, without a path: /dev/pts may be mounted elsewhere, or not at all. */
static int pty_open_theirs(int ours)
{
	struct termios settings;
	int fd;

	if (unlockpt(ours))
		return -1;
	fd = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && !tcgetattr(fd, &settings)) {
		settings.c_iflag |= IUTF8; /* one erase takes a whole character away */
		tcsetattr(fd, TCSANOW, &settings);
	}
	return fd;
}

int pty_open(unsigned cols, unsigned rows, int *ours, int *theirs)
{
	AUTO_CLOSE int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || pty_resize(fd, cols, rows))
		return -1;
	*theirs = pty_open_theirs(fd);
	if (*theirs < 0)
		return -1;
	*ours = fd;
	fd = -1;
	return 0;
}

int pty_resize(int fd, unsigned cols, unsigned rows)
{
	const struct winsize size = {
		.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows,
	};

	return ioctl(fd, TIOCSWINSZ, &size);
}

/* Is a line open behind @last? The characters of signals drop the line, as VKILL does. */
static bool pty_line_is_open(const struct termios *settings, char last)
{
	static const int ends[] = { VEOF, VEOL, VEOL2, VKILL, VINTR, VQUIT, VSUSP };

	if (!last || last == '\n' || (last == '\r' && settings->c_iflag & ICRNL))
		return false;
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		if ((cc_t)last == settings->c_cc[ends[i]])
			return false;
	return true;
}

size_t pty_end_of_file(int fd, char last, char end[PTY_END_MAX])
{
	struct termios settings;

	if (tcgetattr(fd, &settings) || !(settings.c_lflag & ICANON) ||
	    settings.c_cc[VEOF] == _POSIX_VDISABLE)
		return 0;
	memset(end, settings.c_cc[VEOF], PTY_END_MAX);
	return pty_line_is_open(&settings, last) ? 2 : 1;
}

bool pty_echoes(int fd)
{
	struct termios settings;

	return tcgetattr(fd, &settings) || settings.c_lflag & ECHO;
}
