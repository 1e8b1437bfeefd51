/*
 * PCRE2's match limit starts anew at each position where a match may begin, so it does not bound a
 * line. This module counts automatic callouts (pcre2callout(3)), which come before every item of
 * the pattern. A callout does not say how far an item with a repeat count went before it failed, so
 * each step of a pattern with a large repeat count costs more.
 */
#include "base/pattern.h"

#include <string.h>

#include "base/mem.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define DEPTH_MAX 1000
#define HEAP_KIB 1024
#define BYTES_PER_STEP 16
#define OPTIONS (PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT | \
		 PCRE2_MULTILINE)

struct pattern {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *context;
	size_t step_cost;     /* of one callout */
	size_t steps, max;    /* steps in this line, and their maximum */
	size_t left;          /* steps left for all lines, beyond the free ones */
	size_t position;      /* of the last callout */
};

/* The largest number in @text that is, or looks like, a repeat count. */
static size_t pattern_largest_count(const char *text)
{
	size_t largest = 0;

	for (; (text = strchr(text, '{')); text++)
		for (const char *at = text + 1; (*at >= '0' && *at <= '9') || *at == ','; at++) {
			size_t count = 0;

			while (*at >= '0' && *at <= '9' && count < PATTERN_STEPS)
				count = count * 10 + (size_t)(*at++ - '0');
			largest = count > largest ? count : largest;
			if (*at != ',')
				break;
		}
	return largest;
}

/* Count one step. A result other than 0 ends the match. */
static int pattern_on_callout(pcre2_callout_block *at, void *pattern)
{
	struct pattern *p = pattern;

	p->steps += p->step_cost;
	if (at->current_position > p->position)
		p->steps += (at->current_position - p->position) / BYTES_PER_STEP;
	p->position = at->current_position;
	return p->steps > p->max ? PCRE2_ERROR_CALLOUT : 0;
}

static int pattern_refuse(int number, size_t position, struct err *e)
{
	char why[160];

	pcre2_get_error_message(number, (PCRE2_UCHAR *)why, sizeof(why));
	err_set(e, ERR_INVALID_PARAMS, "the pattern is not a regular expression (PCRE2): %s, at "
		"byte %zu", why, position);
	err_detail(e, "position", json_integer((json_int_t)position));
	return err_hint(e, "Correct it there. To match one of . * + ? ( ) [ ] { } | ^ $ \\ "
			   "literally, put a backslash before it.");
}

static void pattern_allow(struct pattern *p)
{
	p->context = pcre2_match_context_create(NULL);
	p->match = pcre2_match_data_create_from_pattern(p->code, NULL);
	BUG_IF(!p->context || !p->match); /* out of memory */
	pcre2_set_match_limit(p->context, PATTERN_LINE_STEPS);
	pcre2_set_depth_limit(p->context, DEPTH_MAX);
	pcre2_set_heap_limit(p->context, HEAP_KIB);
	pcre2_set_callout(p->context, pattern_on_callout, p);
}

struct pattern *pattern_new(const char *text, bool ignore_case, struct err *e)
{
	struct pattern *p;
	pcre2_code *code;
	PCRE2_SIZE position;
	size_t len = strlen(text);
	int number;

	if (len > PATTERN_BYTES) {
		pattern_refuse(PCRE2_ERROR_PATTERN_TOO_LARGE, PATTERN_BYTES, e);
		return NULL;
	}
	code = pcre2_compile((PCRE2_SPTR)text, len, OPTIONS | (ignore_case ? PCRE2_CASELESS : 0),
			     &number, &position, NULL);
	if (!code) {
		pattern_refuse(number, position, e);
		return NULL;
	}
	p = mem_zalloc(sizeof(*p));
	p->code = code;
	p->left = PATTERN_STEPS;
	p->step_cost = 1 + pattern_largest_count(text) / BYTES_PER_STEP;
	pattern_allow(p);
	return p;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	pcre2_match_data_free(p->match);
	pcre2_match_context_free(p->context);
	pcre2_code_free(p->code);
	mem_cleanup_free(&p);
}

enum pattern_found pattern_find(struct pattern *p, const char *line, size_t len, unsigned part,
				size_t *at)
{
	uint32_t options = PCRE2_NO_UTF_CHECK | (part & PATTERN_NO_HEAD ? PCRE2_NOTBOL : 0) |
			   (part & PATTERN_NO_TAIL ? PCRE2_NOTEOL : 0);
	int result;

	p->steps = p->position = 0;
	p->max = len + (p->left < PATTERN_LINE_STEPS ? p->left : PATTERN_LINE_STEPS);
	result = pcre2_match(p->code, (PCRE2_SPTR)line, len, 0, options, p->match, p->context);
	if (p->steps > len)
		p->left -= p->steps - len < p->left ? p->steps - len : p->left;
	if (result == PCRE2_ERROR_NOMATCH)
		return PATTERN_ABSENT;
	if (result < 0)
		return PATTERN_LIMIT;
	*at = pcre2_get_ovector_pointer(p->match)[0];
	return PATTERN_PRESENT;
}

size_t pattern_groups(const struct pattern *p)
{
	return pcre2_get_ovector_count(p->match) - 1;
}

bool pattern_group(const struct pattern *p, size_t group, size_t *at, size_t *len)
{
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(p->match) + 2 * group;

	if (ends[0] == PCRE2_UNSET)
		return false;
	*at = ends[0];
	*len = ends[1] - ends[0];
	return true;
}
