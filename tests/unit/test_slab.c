#include "unit.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/slab.h"

#define BLOCKS 1000

static size_t size_of(size_t i)
{
	return i * 37 % SLAB_MAX + 1;
}

static void assert_zeroed(const unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		assert_int_equal(block[i], 0);
}

static void assert_holds(const unsigned char *block, size_t size, unsigned char byte)
{
	for (size_t i = 0; i < size; i++)
		assert_int_equal(block[i], byte);
}

/* Blocks are zeroed, aligned and apart from each other, whatever is freed between. */
static void test_slab_blocks_are_apart(void **state)
{
	static unsigned char *blocks[BLOCKS];
	struct slab s = { 0 };

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < BLOCKS; i++) {
			if (blocks[i])
				continue;
			blocks[i] = slab_zalloc(&s, size_of(i));
			assert_int_equal((uintptr_t)blocks[i] % sizeof(uint64_t), 0);
			assert_zeroed(blocks[i], size_of(i));
			memset(blocks[i], (int)(i % 255 + 1), size_of(i));
		}
		for (size_t i = (size_t)round; i < BLOCKS; i += 2) {
			assert_holds(blocks[i], size_of(i), (unsigned char)(i % 255 + 1));
			slab_free(blocks[i]);
			blocks[i] = NULL;
		}
	}
	slab_release(&s);
	for (size_t i = 0; i < BLOCKS; i++)
		if (blocks[i]) {
			assert_holds(blocks[i], size_of(i), (unsigned char)(i % 255 + 1));
			slab_free(blocks[i]);
		}
}

/* Is the page that had @block no longer mapped? */
static bool page_has_gone(void *block)
{
	uintptr_t page = (uintptr_t)block & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
	unsigned char resident;

	return mincore((void *)page, 1, &resident) && errno == ENOMEM;
}

/* A page is spare after its last block, or after the slab if blocks still come from it. Of spare
 * ones all but one go. */
static void test_slab_gives_pages_back(void **state)
{
	size_t in_page = (size_t)sysconf(_SC_PAGESIZE) / SLAB_MAX;
	struct slab first = { 0 }, s = { 0 };
	void *blocks[64], *other, *one;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* the blocks are malloc's */
#endif
	assert_in_range(in_page, 1, 64);
	slab_trim();
	one = slab_zalloc(&first, 1);
	for (size_t i = 0; i < in_page; i++)
		blocks[i] = slab_zalloc(&s, SLAB_MAX);
	other = slab_zalloc(&s, SLAB_MAX);
	slab_free(one);
	slab_release(&first); /* becomes the spare page */
	for (size_t i = 0; i < in_page; i++) {
		assert_false(page_has_gone(blocks[i]));
		slab_free(blocks[i]);
	}
	assert_false(page_has_gone(blocks[0]));
	slab_trim();
	assert_true(page_has_gone(blocks[0]));
	slab_free(other);
	assert_false(page_has_gone(other));
	assert_ptr_equal(slab_zalloc(&s, 1), other);
	slab_release(&s);
	assert_false(page_has_gone(other));
	slab_free(other);
	slab_trim();
	assert_true(page_has_gone(other));
	assert_ptr_equal(slab_zalloc(&first, 1), one);
	slab_free(one);
	slab_release(&first);
}

static size_t count_gone(void *const *blocks, size_t count)
{
	size_t gone = 0;

	for (size_t i = 0; i < count; i++)
		gone += page_has_gone(blocks[i]);
	return gone;
}

/* What a burst takes is spare for its rest, but no more than so much of it. */
static void test_slab_keeps_pages_of_a_burst(void **state)
{
	const size_t in_page = (size_t)sysconf(_SC_PAGESIZE) / SLAB_MAX, pages = 40;
	static void *blocks[40 * 64];
	struct slab s = { 0 };

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* the blocks are malloc's */
#endif
	assert_in_range(in_page, 1, 64);
	for (size_t i = 0; i < pages * in_page; i++)
		blocks[i] = slab_zalloc(&s, SLAB_MAX);
	for (size_t i = 0; i < pages * in_page; i++)
		slab_free(blocks[i]);
	slab_release(&s);
	assert_int_equal(count_gone(blocks, pages * in_page), 8 * in_page);
	slab_trim();
	assert_int_equal(count_gone(blocks, pages * in_page), (pages - 1) * in_page);
}

/* Where the kernel has no page to give, malloc may have one that was freed. */
static void test_slab_borrows_in_a_shortage(void **state)
{
	struct slab s = { 0 };
	unsigned char *blocks[8], *heap;
	struct rlimit before, none;
	void *page;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* the blocks are malloc's */
#endif
	heap = malloc(100000);
	memset(heap, 0xff, 100000);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	none = (struct rlimit){ 1, before.rlim_max };
	free(heap);
	setrlimit(RLIMIT_AS, &none);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < 8; i++) {
		blocks[i] = slab_zalloc(&s, SLAB_MAX);
		assert_zeroed(blocks[i], SLAB_MAX);
		memset(blocks[i], (int)i + 1, SLAB_MAX);
	}
	setrlimit(RLIMIT_AS, &before);
	slab_release(&s);
	for (size_t i = 0; i < 8; i++) {
		assert_holds(blocks[i], SLAB_MAX, (unsigned char)(i + 1));
		slab_free(blocks[i]);
	}
	if (page != MAP_FAILED) {
		munmap(page, 4096);
		print_message("SKIP: nothing holds RLIMIT_AS here, as in an emulator of programs\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slab_blocks_are_apart),
		cmocka_unit_test(test_slab_gives_pages_back),
		cmocka_unit_test(test_slab_keeps_pages_of_a_burst),
		cmocka_unit_test(test_slab_borrows_in_a_shortage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
