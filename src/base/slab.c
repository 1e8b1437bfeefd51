#include "base/slab.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

#ifdef __SANITIZE_ADDRESS__ /* it knows the blocks of malloc only */

void *slab_zalloc(struct slab *s, size_t size)
{
	(void)s;
	BUG_IF(size > SLAB_MAX);
	return mem_zalloc(size);
}

void slab_free(void *block)
{
	free(block);
}

void slab_release(struct slab *s)
{
	(void)s;
}

void slab_trim(void)
{
}

#else

#define ROUND sizeof(uint64_t)
#define SPARES_MAX 32

struct slab_page {
	struct slab *slab; /* that has it open; or NULL */
	struct slab_page *next; /* of the spare ones */
	uint32_t blocks;   /* that are not freed */
	uint32_t used;     /* bytes, this head included */
	bool of_malloc;    /* no page of its own was to be had */
	char bytes[];
};

static size_t slab_page_size(void)
{
	static size_t size;

	if (!size)
		size = (size_t)sysconf(_SC_PAGESIZE);
	return size;
}

/* Of all slabs: in a burst pages come as fast as they go. */
static struct slab_page *spares;
static size_t spare_count;

/* In a shortage malloc may still have what others have freed. */
static struct slab_page *slab_borrow_page(void)
{
	struct slab_page *page = aligned_alloc(slab_page_size(), slab_page_size());

	if (!page)
		mem_exhausted();
	*page = (struct slab_page){ .of_malloc = true };
	return page;
}

static struct slab_page *slab_new_page(void)
{
	struct slab_page *page = spares;

	if (page) {
		spares = page->next;
		spare_count--;
		return page;
	}
	page = mmap(NULL, slab_page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	return page == MAP_FAILED ? slab_borrow_page() : page;
}

static void slab_drop_page(struct slab_page *page)
{
	if (page->of_malloc) {
		free(page);
	} else if (spare_count == SPARES_MAX) {
		munmap(page, slab_page_size());
	} else {
		page->next = spares;
		spares = page;
		spare_count++;
	}
}

void slab_trim(void)
{
	while (spare_count > 1)
		munmap(slab_new_page(), slab_page_size());
}

/* The blocks of the page keep it. */
void slab_release(struct slab *s)
{
	if (!s->open)
		return;
	s->open->slab = NULL;
	if (!s->open->blocks)
		slab_drop_page(s->open);
	s->open = NULL;
}

static void slab_open(struct slab *s)
{
	struct slab_page *page = slab_new_page();

	slab_release(s);
	s->open = page;
	page->slab = s;
	page->used = sizeof(*page);
}

void *slab_zalloc(struct slab *s, size_t size)
{
	size_t room = (size + ROUND - 1) / ROUND * ROUND;
	void *block;

	BUG_IF(size > SLAB_MAX);
	if (!s->open || room > slab_page_size() - s->open->used)
		slab_open(s);
	block = (char *)s->open + s->open->used;
	s->open->used += (uint32_t)room;
	s->open->blocks++;
	return memset(block, 0, size);
}

void slab_free(void *block)
{
	uintptr_t in_page = (uintptr_t)block & (slab_page_size() - 1);
	struct slab_page *page = (struct slab_page *)(void *)((char *)block - in_page);

	if (--page->blocks)
		return;
	if (page->slab)
		page->used = sizeof(*page);
	else
		slab_drop_page(page);
}

#endif
