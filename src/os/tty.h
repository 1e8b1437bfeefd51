/*
 * tty - the terminal that procpen was started on: raw mode, and back in every kind of end.
 *
 * A terminal keeps its settings when a process dies, so a program that leaves raw mode
 * only by itself leaves a terminal that shows nothing typed after SIGKILL or a crash.
 * tty_open() therefore forks a keeper, which holds the settings and one end of a pipe.
 * When the pipe closes without a word it puts them back, unless the terminal is no longer
 * raw: a shell with job control restores its own settings, and would be disturbed. The
 * keeper blocks every signal, holds no other descriptor, and ends with the process that
 * made it.
 *
 * Settings are changed as a program in the foreground: in the background the kernel stops
 * the job first (SIGTTOU), as it does with any program that sets its terminal.
 */
#ifndef PROCPEN_OS_TTY_H
#define PROCPEN_OS_TTY_H

#include <stdbool.h>
#include <termios.h>

#include "base/err.h"

struct tty {
	int fd;                  /* the terminal; borrowed */
	struct termios settings; /* as they were */
	int flags;               /* of its open file, as they were: os/stdio may change them */
	int keeper;              /* our end of the pipe to it; -1: not open */
	bool is_raw;
};

/*
 * Remember the settings of the terminal @fd and fork the keeper. Call it before the reaper is
 * there, which spares children that are older. In the background of a shell this returns when the
 * job is in the foreground. Returns 0, or -1: the job cannot come to the foreground (EIO, in an
 * orphaned process group), or there is no process or pipe.
 */
int tty_open(struct tty *t, int fd, struct err *e);

/* Set raw mode, again if need be: after a stop the shell has changed it. 0, or -1 with errno. */
int tty_set_raw(struct tty *t);

/* Put the settings back. Does nothing if they are not raw. */
void tty_restore(struct tty *t);

/* tty_restore(), and dismiss the keeper. */
void tty_close(struct tty *t);

#endif
