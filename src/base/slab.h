/*
 * slab - small blocks of bytes, side by side in pages of their own.
 *
 * For: what stays while much else comes and goes, and what comes in bursts and goes together. Among
 * the blocks of malloc the first would keep memory around it from larger use, and malloc would keep
 * what a burst took.
 *
 * A page without blocks is spare for all slabs, up to 32 of them; slab_trim() leaves one. The place
 * of a freed block stays empty until its page has no block any more, so one block may hold a page.
 */
#ifndef PROCPEN_BASE_SLAB_H
#define PROCPEN_BASE_SLAB_H

#include <stddef.h>

#define SLAB_MAX 2032 /* bytes of a block: two fill a page of 4 KiB */

struct slab_page;

/* Zeroed: no block. */
struct slab {
	struct slab_page *open; /* the one that new blocks come from; or NULL */
};

/* A zeroed block for @size bytes, at most SLAB_MAX, aligned for pointers and 64-bit numbers. Never
 * NULL. */
void *slab_zalloc(struct slab *s, size_t size);

void slab_free(void *block);

/* Let go of the page that new blocks come from; its blocks stay valid, and take it with them. */
void slab_release(struct slab *s);

/* Give the kernel back what a burst took. */
void slab_trim(void);

#endif
