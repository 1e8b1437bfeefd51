/*
 * pty - a pseudo-terminal: the pair, its size, and what the settings of the terminal say.
 *
 * "Ours" is the end of pty(7) that a terminal emulator holds (the master), "theirs" the terminal
 * itself. All settings can be read from either end.
 */
#ifndef PROCPEN_OS_PTY_H
#define PROCPEN_OS_PTY_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "os/shim/proto.h"

#define PTY_END_MAX 3     /* characters that type an end of file */
#define PTY_LINE_MAX 4095 /* of a line in canonical mode the kernel drops the rest (termios(3)) */

/* What a terminal is at its start. */
struct pty_start {
	unsigned cols, rows;
	const struct termios *settings; /* borrowed; NULL: the usual ones, with UTF-8 */
};

/* Open a pair. @ours is non-blocking; both are close-on-exec, and the terminal becomes nobody's
 * controlling one. Returns 0, or -1 with errno. */
int pty_open(const struct pty_start *start, int *ours, int *theirs);

/* The same in a plan, for the shim, which opens one in the run's mount namespace. */
void pty_describe(const struct pty_start *start, struct shim_terminal *t);

/* Change the size; the foreground process group gets SIGWINCH if it differs (ioctl_tty(2)).
 * Returns 0, or -1 with errno. */
int pty_resize(int fd, unsigned cols, unsigned rows);

/* What was typed of the line that is open, in canonical mode (termios(3)). */
struct pty_line {
	size_t characters; /* without those that were erased */
	bool quoted;       /* VLNEXT was the last: the next one is text */
};

/* Bring @line behind @len typed @bytes, as the settings are now. @fd -1: a terminal that is still
 * to be opened, in the usual settings. */
void pty_type(int fd, struct pty_line *line, const char *bytes, size_t len);

/*
 * The characters that end a file behind @line, with @fd as above: VEOF, twice if the line is open,
 * because the first then only hands it over, and once more behind VLNEXT, which makes one text.
 * Returns how many; 0: the terminal is not in canonical mode, where there is no such character.
 */
size_t pty_end_of_file(int fd, const struct pty_line *line, char end[PTY_END_MAX]);

/* Does the terminal show what is typed? True also if that cannot be known. */
bool pty_echoes(int fd);

/* Is it in canonical mode? False also if that cannot be known. */
bool pty_has_lines(int fd);

#endif
