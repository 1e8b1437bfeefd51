/* unit - what every unit test includes before the header of its module. */
#ifndef PROCPEN_TESTS_UNIT_UNIT_H
#define PROCPEN_TESTS_UNIT_UNIT_H

/* cmocka wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The public corpora, if they are there. */
static inline const char *unit_corpora(void)
{
	const char *dir = getenv("PROCPEN_CORPORA");

	return dir ? dir : "../shared/corpora";
}

/* Is this `make stress`, which takes its time? */
static inline bool unit_stress(void)
{
	const char *stress = getenv("STRESS");

	return stress && !strcmp(stress, "1");
}

/* A small generator of pseudo-random numbers, the same in every run. */
static inline uint32_t unit_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

#endif
