/*
 * pending - keys that wait on a terminal, and the text that they come to.
 */
#ifndef PROCPEN_BLOCKLIST_PENDING_H
#define PROCPEN_BLOCKLIST_PENDING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "blocklist/transcript.h"
#include "blocklist/typed.h"

/* pending_release() frees it. */
struct pending {
	const char *keys;        /* borrowed */
	size_t len;
	bool paste;              /* a paste is open before the first of them */
	struct typed_text typed; /* what they come to, ... */
	struct buf text;         /* ... behind the text that was judged, ... */
	size_t from;             /* ... which is so long */
};

/* Read @keys behind the open line @line, with which @t ends. */
void pending_read(struct pending *p, const struct transcript *t, const struct typed *line,
		  const struct buf *keys);
void pending_release(struct pending *p);

/* How many keys make the lines that end up to @to? *@paste: is a paste open behind them? */
size_t pending_keys_to(const struct pending *p, size_t to, bool *paste);

/* What is left of the keys that wait. The caller releases the buffer. */
struct pending_left {
	struct buf keys;
	size_t earlier; /* of them, keys that had waited before this part */
	size_t refused; /* so many precede the first ^D inside a command; SIZE_MAX: there is none */
	size_t dropped; /* the text that was judged is dropped from here on; SIZE_MAX: it is not */
};

/*
 * What ^C, ^Z and ^\ drop, typed inside a command of a shell. @had: keys that had waited before
 * this part.
 *
 * The terminal drops what nobody has read then. What waits here is not even written, so it goes
 * the same way, and the key is written: it is for the program in front. At ^C the shell drops what
 * it has read of a command, too. At ^D bash and dash end a here-document and run it, zsh goes on
 * reading it, and only some drop an open quote: nobody knows what the shell takes the next line
 * for.
 */
void pending_drop(const struct pending *p, size_t had, struct pending_left *left);

#endif
