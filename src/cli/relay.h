/*
 * relay - moves bytes between the caller's terminal and the terminal of a run (`run --tty`).
 *
 * The caller's terminal is raw, so every key goes to the run's terminal, whose settings
 * say what it means; those begin as a copy of the caller's. What the caller's terminal
 * does not take is not read from the run, so a slow one slows the command down and loses
 * nothing. Nothing is kept, and nothing of what is typed is judged or recorded: the one
 * who types is the operator.
 *
 * SIGWINCH passes the size on. SIGTSTP restores the terminal and stops procpen; when it
 * continues, after SIGSTOP too, the terminal is raw again and the programs are told to
 * redraw by SIGWINCH. The command itself does not stop with procpen.
 */
#ifndef PROCPEN_CLI_RELAY_H
#define PROCPEN_CLI_RELAY_H

#include <stdbool.h>
#include <sys/ioctl.h>

#include "base/err.h"
#include "os/loop.h"
#include "os/stdio.h"
#include "os/tty.h"

#define RELAY_BYTES 16384

/* One direction. It reads when it holds nothing, and writes when it holds something. */
struct relay_way {
	struct relay *relay;
	ev_io from, to; /* fd -1: not started, or over */
	size_t start, len;
	char bytes[RELAY_BYTES];
};

struct relay {
	struct tty tty; /* the caller's */
	struct stdio stdio;
	struct ev_loop *loop;
	int terminal; /* our end of the run's; -1: there is none yet, or it is closed */
	struct relay_way in, out;
	ev_signal signals[3];
	ev_timer patience;
	bool run_is_over;
	void (*on_hang_up)(void *ctx); /* the caller's terminal is gone; called once */
	void *ctx;
};

/* Are stdin and stdout terminals? Fills @missing with the name of the first that is none. */
bool relay_is_possible(const char **missing);

/* @r: zeroed. Take the caller's terminal as tty_open() does, and its @size. Release it by
 * relay_close(). 0 or -1. */
int relay_open(struct relay *r, struct winsize *size, struct err *e);

/* Read and write the caller's terminal through descriptors of our own from now on. 0 or -1. */
int relay_prepare(struct relay *r, struct ev_loop *loop, struct err *e);

/* Relay to and from @terminal, which the relay owns from now on. */
void relay_start(struct relay *r, int terminal);

/* No process of the run is left: write what it has written, and no more. */
void relay_end(struct relay *r);

/* Do not wait long for a caller's terminal that takes nothing. After relay_prepare(). */
void relay_hurry(struct relay *r);

/* Is there anything to wait for? */
bool relay_is_busy(const struct relay *r);

/* Put the caller's terminal back as it was, also after a relay_open() that failed. */
void relay_close(struct relay *r);

#endif
