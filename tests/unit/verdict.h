/* verdict - what every verdict of the blocklist keeps, whatever it says. Behind unit.h. */
#ifndef PROCPEN_TESTS_UNIT_VERDICT_H
#define PROCPEN_TESTS_UNIT_VERDICT_H

#include "blocklist/blocklist.h"

/* @len: of the text that a span may point into. */
static inline void verdict_check(const struct blocklist_verdict *v, size_t len)
{
	if (!v->blocked) {
		assert_null(v->rule);
		assert_int_equal(v->suggestion[0], 0);
		assert_false(v->has_span);
		return;
	}
	assert_non_null(v->rule);
	assert_non_null(strchr(v->rule, '.'));
	assert_int_not_equal(v->suggestion[0], 0);
	assert_int_not_equal(v->reason[0], 0);
	for (const char *p = v->reason; *p; p++)
		assert_true((unsigned char)*p >= ' ' && *p != 0x7f);
	if (v->has_span) {
		assert_true(v->start <= v->end);
		assert_true(v->end <= len);
	}
}

#endif
