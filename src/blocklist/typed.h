/*
 * typed - the lines that keys typed on a terminal make.
 *
 * Erase (DEL, ^H), ^U and ^C are applied, and CR and LF end a line. ^D, ^Z and ^\ leave an empty
 * line as it is. A line with any other editing key (arrows, ^W, TAB, history ...), or one of those
 * three behind text, is not known: only the program that edits it knows what it becomes.
 *
 * Between the marks of a bracketed paste (xterm(1)) an editor of lines takes keys as they are, and
 * drops the marks; to some a mark is text that begins a paste in a paste, or ends none; to other
 * readers all marks are. So there are three readings. A line with an editing key in a paste is
 * known in none, except what stands behind a ^C.
 */
#ifndef PROCPEN_BLOCKLIST_TYPED_H
#define PROCPEN_BLOCKLIST_TYPED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define TYPED_MARK_LEN 6 /* of a mark of a paste */

enum typed_reading {
	TYPED_WITHOUT_MARKS,    /* of an editor of lines */
	TYPED_WITH_STRAY_MARKS, /* of bash and zsh: a mark is text that begins a paste in a paste,
				 * or ends none */
	TYPED_WITH_MARKS,       /* of any other reader */
	TYPED_READINGS,
};

/* The line that is open, in one reading. typed_release() frees it. */
struct typed {
	enum typed_reading reading;
	struct buf line;
	bool edited; /* it is not known */
	bool paste;  /* a paste has begun and not ended */
	char mark[TYPED_MARK_LEN]; /* what came last: the start of a mark, ... */
	size_t mark_len;           /* ... of so many bytes */
};

/* Where a line ends: in the text that was made, and behind its last key. */
struct typed_end {
	size_t text, keys;
	bool paste;   /* a paste is open there */
	bool edited;  /* the line that follows is not known */
	bool unknown; /* the line that ends here is not known */
	enum {
		TYPED_LINE,
		TYPED_FILE,      /* ^D on an empty line */
		TYPED_INTERRUPT, /* ^C outside a paste */
		TYPED_STOP,      /* ^Z or ^\ outside a paste */
	} by;
};

/* What keys came to. typed_text_release() frees it. */
struct typed_text {
	size_t kept;     /* bytes of the open line before that stay; the rest of it was erased */
	struct buf text; /* follows them, up to the next open line; nothing of lines not known */
	struct typed_end *ends;
	size_t end_count;
	struct typed rest; /* the line that is open now */
	bool edited;       /* a line is not known */
};

/* Start with an empty line, outside a paste. */
void typed_init(struct typed *t, enum typed_reading reading);
void typed_release(struct typed *t);

/* A copy of @t, without what @to was. */
void typed_copy(struct typed *to, const struct typed *t);

/* @to is as @t, which is empty then. */
void typed_move(struct typed *to, struct typed *t);

/* May there be other ends than of lines? */
bool typed_may_end(const char *keys, size_t len);

/* May the readings of @len @keys differ, or may they begin a mark? */
bool typed_may_have_marks(const char *keys, size_t len);

/* Where the last end mark of a paste begins in @keys; @len: there is none. */
size_t typed_find_paste_end(const char *keys, size_t len);

/* Read @len @keys, which the caller bounds, behind the open line @t, which stays as it is. */
void typed_read(const struct typed *t, const char *keys, size_t len, struct typed_text *out);

/* The keys of @out end in the start of a mark: take it for an editing key. If the rest of the mark
 * follows, only the line is not known. */
void typed_give_up_mark(struct typed_text *out);
void typed_text_release(struct typed_text *text);

#endif
