#include "os/pty.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"

/* The terminal of @ours, without a path: /dev/pts may be mounted elsewhere, or not at all. */
static int pty_open_theirs(int ours, const struct termios *wanted)
{
	struct termios settings;
	int fd;

	if (unlockpt(ours))
		return -1;
	fd = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && !tcgetattr(fd, &settings)) {
		settings.c_iflag |= IUTF8; /* one erase takes a whole character away */
		tcsetattr(fd, TCSANOW, wanted ? wanted : &settings);
	}
	return fd;
}

int pty_open(const struct pty_start *start, int *ours, int *theirs)
{
	AUTO_CLOSE int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || pty_resize(fd, start->cols, start->rows))
		return -1;
	*theirs = pty_open_theirs(fd, start->settings);
	if (*theirs < 0)
		return -1;
	*ours = fd;
	fd = -1;
	return 0;
}

/* The C library's struct begins with the kernel's, in which c_cc is shorter (termbits.h). */
void pty_describe(const struct pty_start *start, struct shim_terminal *t)
{
	_Static_assert(offsetof(struct termios, c_cc) + 19 == SHIM_SETTINGS_SIZE,
		       "19 is the kernel's NCCS");
	*t = (struct shim_terminal){
		.cols = (uint16_t)start->cols, .rows = (uint16_t)start->rows,
		.has_settings = start->settings != NULL,
	};
	if (start->settings)
		memcpy(t->settings, start->settings, SHIM_SETTINGS_SIZE);
}

int pty_resize(int fd, unsigned cols, unsigned rows)
{
	const struct winsize size = {
		.ws_col = (unsigned short)cols, .ws_row = (unsigned short)rows,
	};

	return ioctl(fd, TIOCSWINSZ, &size);
}

/* The usual settings if there is no terminal yet. False: they cannot be known. */
static bool pty_settings(int fd, struct termios *settings)
{
	*settings = (struct termios){
		.c_iflag = ICRNL | IUTF8, .c_lflag = ICANON | IEXTEN,
		.c_cc = { [VEOF] = 'D' & 037, [VINTR] = 'C' & 037, [VQUIT] = '\\' & 037,
			  [VSUSP] = 'Z' & 037, [VKILL] = 'U' & 037, [VLNEXT] = 'V' & 037,
			  [VERASE] = 0177 },
	};
	return fd < 0 || !tcgetattr(fd, settings);
}

static bool pty_is_key(const struct termios *settings, int key, char c)
{
	return (cc_t)c == settings->c_cc[key] && (cc_t)c != _POSIX_VDISABLE;
}

/* Is no line open behind @c? The characters of signals drop the line, as VKILL does. */
static bool pty_ends_line(const struct termios *settings, char c)
{
	static const int ends[] = { VEOF, VEOL, VEOL2, VKILL, VINTR, VQUIT, VSUSP };

	if (c == '\n' || (c == '\r' && settings->c_iflag & ICRNL))
		return true;
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		if (pty_is_key(settings, ends[i], c))
			return true;
	return false;
}

/* VWERASE counts as text: few type it. */
static void pty_type_byte(const struct termios *settings, struct pty_line *line, char c)
{
	bool quoted = line->quoted;

	line->quoted = !quoted && settings->c_lflag & IEXTEN && pty_is_key(settings, VLNEXT, c);
	if (line->quoted ||
	    (line->characters && settings->c_iflag & IUTF8 && (c & 0xc0) == 0x80))
		return;
	if (!quoted && pty_ends_line(settings, c))
		line->characters = 0;
	else if (!quoted && pty_is_key(settings, VERASE, c))
		line->characters -= line->characters > 0;
	else
		line->characters++;
}

void pty_type(int fd, struct pty_line *line, const char *bytes, size_t len)
{
	struct termios settings;

	if (!pty_settings(fd, &settings) || !(settings.c_lflag & ICANON))
		*line = (struct pty_line){ 0 };
	else
		for (size_t i = 0; i < len; i++)
			pty_type_byte(&settings, line, bytes[i]);
}

size_t pty_end_of_file(int fd, const struct pty_line *line, char end[PTY_END_MAX])
{
	struct termios settings;

	if (!pty_settings(fd, &settings) || !(settings.c_lflag & ICANON) ||
	    settings.c_cc[VEOF] == _POSIX_VDISABLE)
		return 0;
	memset(end, settings.c_cc[VEOF], PTY_END_MAX);
	return line->quoted ? 3 : line->characters ? 2 : 1;
}

bool pty_echoes(int fd)
{
	struct termios settings;

	return tcgetattr(fd, &settings) || settings.c_lflag & ECHO;
}

bool pty_has_lines(int fd)
{
	struct termios settings;

	return !tcgetattr(fd, &settings) && settings.c_lflag & ICANON;
}
