#include "blocklist/budget.h"


/* Bytes that readers may build. */
#define MEMORY_MAX (16u << 20)
/*
 * A text of up to WORK_SHORT bytes may take about a millisecond, loops and functions included.
 * A longer one is a program, and gets more for each byte, up to the most for any verdict.
 */
#define WORK_BASE 330000u
#define WORK_SHORT 10000u
#define WORK_BYTE 240u
#define WORK_MAX 4800000u
/* Steps for a word, and for a letter of a cluster of options. */
#define WORK_READ 4u
#define WORK_LETTER 6u

void budget_init(struct shell_budget *b, struct shell_arena *arena, size_t bytes)
{
	size_t more = bytes > WORK_SHORT ? bytes - WORK_SHORT : 0;
	uint64_t work = WORK_BASE + WORK_BYTE * (uint64_t)more;

	shell_arena_init(arena, MEMORY_MAX);
	*b = (struct shell_budget)SHELL_BUDGET_INIT;
	b->work = work < WORK_MAX ? work : WORK_MAX;
}

size_t budget_of_words(const struct shell_word *words, size_t count)
{
	size_t letters = 0;

	for (size_t i = 1; i < count; i++)
		if (words[i].text.s[0] == '-' && words[i].text.s[1] != '-')
			letters += words[i].text.len;
	return WORK_READ * count + WORK_LETTER * letters;
}
