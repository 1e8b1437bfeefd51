/*
 * Texts that are made to hurt the judge, not to pass it: shapes that nest and
 * multiply, broken characters, halves of commands, changed bytes. There is always a
 * verdict, whole and printable, and the sanitizers find nothing.
 */
#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>

#include "corpus.h"
#include "shapes.h"
#include "verdict.h"

static const char *const sh[] = { NULL };

/* @text as a string, as an argument, and as the stdin of a shell. */
static void judge_everywhere(const char *text, size_t len)
{
	const char *const args[] = { "-c", text, NULL };
	const struct blocklist_input inputs[] = {
		{ .command = text, .shell = true },
		{ .command = "sh", .args = args },
		{ .command = "sh", .args = sh, .stdin_bytes = text, .stdin_len = len },
	};
	struct blocklist_verdict v;

	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
		blocklist_judge(&inputs[i], &v);
		verdict_check(&v, strlen(text) + sizeof("sh -c "));
	}
}

static void judge_shape(const struct shape *shape, size_t size, bool everywhere)
{
	char *text = shape_text(shape, size);
	struct blocklist_verdict v;

	if (everywhere) {
		judge_everywhere(text, strlen(text));
	} else {
		corpus_judge(text, &v);
		verdict_check(&v, strlen(text));
	}
	free(text);
}

/* More words than a script may have, and a string of Perl behind them. */
static void test_hostile_long_script(void **state)
{
	const char start[] = "perl -e '", tail[] = "q{x} y'";
	size_t len = 60000;
	char *text = malloc(len + sizeof(tail));

	(void)state;
	memset(text, ';', len);
	memcpy(text, start, strlen(start));
	memcpy(text + len, tail, sizeof(tail));
	judge_everywhere(text, strlen(text));
	free(text);
}

static void test_hostile_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPE_COUNT; i++) {
		judge_shape(&shapes[i], 10, true);
		judge_shape(&shapes[i], 1000, true);
		judge_shape(&shapes[i], 20000, unit_stress());
		if (unit_stress()) {
			judge_shape(&shapes[i], 131071, true);
			judge_shape(&shapes[i], 1u << 20, false);
		}
	}
}

/* What is too long, too deep, too much, or no shell is blocked, never let through. */
static void test_hostile_beyond_bounds(void **state)
{
	static const struct shape beyond[] = {
		{ "", "true;", "", NULL },	{ "", "$(", "true", ")" },
		{ "", "sh -c ", "true", NULL }, { "", "(", "true", ")" },
		{ "", "eval ", "true", NULL },	{ "echo ", "{a,b}", "", NULL },
	};
	struct blocklist_verdict v;

	(void)state;
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		char *text = shape_text(&beyond[i], (1u << 20) + 100);

		if (!corpus_judge(text, &v))
			fail_msg("%s... is allowed", beyond[i].piece);
		assert_int_not_equal(v.suggestion[0], 0);
		free(text);
	}
}

static void prefixes_of(void *ctx, const struct corpus_row *row)
{
	size_t len = strlen(row->command);
	char *text = strdup(row->command);

	(void)ctx;
	if (row->line % 3 && !unit_stress()) {
		free(text);
		return;
	}
	for (size_t cut = len; cut > 0; cut -= 1 + (len > 40 && cut > 3 && !unit_stress() ? 3 : 0)) {
		struct blocklist_verdict v;

		text[cut] = '\0';

		corpus_judge(text, &v);
		verdict_check(&v, cut);
	}
	free(text);
}

static void test_hostile_prefixes(void **state)
{
	(void)state;
	assert_true(corpus_tricks(prefixes_of, NULL) > 1000);
}

/* Change, insert, remove, or copy bytes of @text, which has room for @room. */
static void mutate(char *text, size_t room, uint64_t *seed)
{
	static const char bytes[] = "'\"`$(){}[];&|<>\\#~*?! \n\t=:/-0ae\x80\xff\x01";
	size_t len = strlen(text);

	for (uint32_t n = 1 + unit_random(seed) % 4; n > 0 && len > 0; n--) {
		size_t at = unit_random(seed) % len;
		char byte = bytes[unit_random(seed) % (sizeof(bytes) - 1)];

		switch (unit_random(seed) % 3) {
		case 0:
			text[at] = byte;
			break;
		case 1:
			memmove(text + at, text + at + 1, len - at);
			len--;
			break;
		default:
			if (len + 2 > room)
				break;
			memmove(text + at + 1, text + at, len - at + 1);
			text[at] = byte;
			len++;
		}
	}
}

static void mutants_of(void *ctx, const struct corpus_row *row)
{
	size_t room = strlen(row->command) + 64;
	char *text = malloc(room);

	assert_non_null(text);
	for (int i = unit_stress() ? 200 : 2; i > 0; i--) {
		struct blocklist_verdict v;

		strcpy(text, row->command);
		mutate(text, room, ctx);
		corpus_judge(text, &v);
		verdict_check(&v, strlen(text));
	}
	free(text);
}

static void test_hostile_mutants(void **state)
{
	uint64_t seed = 20261121;

	(void)state;
	assert_true(corpus_tricks(mutants_of, &seed) > 1000);
}

/* ---- the public texts: JSON files, naughty strings, broken UTF-8 ---- */

static void judge_text(void *ctx, const struct corpus_row *row)
{
	(void)ctx;
	judge_everywhere(row->command, strlen(row->command));
}

static bool judge_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *whole = NULL;
	size_t size = 0;
	ssize_t len;

	if (!file)
		return false;
	corpus_lines(file, "", judge_text, NULL);
	rewind(file);
	len = getdelim(&whole, &size, EOF, file);
	if (len > 0)
		judge_everywhere(whole, (size_t)len); /* a NUL ends the string, not the stdin */
	free(whole);
	fclose(file);
	return true;
}

static void test_hostile_public_texts(void **state)
{
	static const char *const names[] = { "UTF-8-test.txt", "blns.json", "blns.LICENSE" };
	char path[4096];
	struct dirent *entry;
	DIR *dir;

	(void)state;
	snprintf(path, sizeof(path), "%s/JSONTestSuite/test_parsing", unit_corpora());
	dir = opendir(path);
	if (!dir)
		skip();
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/JSONTestSuite/test_parsing/%s", unit_corpora(),
			 entry->d_name);
		if (entry->d_name[0] != '.')
			assert_true(judge_file(path));
	}
	closedir(dir);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", unit_corpora(), names[i]);
		assert_true(judge_file(path));
	}
}

/* ---- nesting ---- */

#define STACK_BYTES (1u << 20)
#define STACK_PAINT 0xa5
/* What the deepest call of a verdict may differ in from one text to the next. */
#define STACK_SLACK 2048

struct nested {
	char *text;
	struct blocklist_verdict v;
};

static void *judge_nested(void *nested)
{
	struct nested *n = nested;

	corpus_judge(n->text, &n->v);
	return NULL;
}

/* The bytes of stack that the verdict on @times @piece before a command takes; by @rule. */
static size_t stack_of(const char *piece, size_t times, const char *rule)
{
	struct shape shape = { "", piece, "poweroff", NULL };
	struct nested n = { .text = shape_text(&shape, times * strlen(piece) + strlen("poweroff")) };
	unsigned char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;
	size_t unused = 0;

	assert_ptr_not_equal(stack, MAP_FAILED);
	memset(stack, STACK_PAINT, STACK_BYTES);
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstack(&attr, stack, STACK_BYTES), 0);
	assert_int_equal(pthread_create(&thread, &attr, judge_nested, &n), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
	while (unused < STACK_BYTES && stack[unused] == STACK_PAINT)
		unused++;
	munmap(stack, STACK_BYTES);
	free(n.text);
	if (!n.v.rule || strcmp(n.v.rule, rule) != 0)
		fail_msg("%zu times %s: %s", times, piece, n.v.rule ? n.v.rule : "allowed");
	return STACK_BYTES - unused;
}

/* Up to the limit and beyond it, a text in a text takes no more stack than one alone. */
static void test_hostile_nesting_takes_no_stack(void **state)
{
	static const struct {
		const char *piece; /* what makes the rest of the text a text, or words, of its own */
		size_t most;       /* of them, before the text is too deep */
	} cases[] = {
		{ "ssh h ", 19 }, { "watch ", 19 }, { "sudo ", 39 }, { "env A=1 ", 39 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *piece = cases[i].piece;
		size_t one = stack_of(piece, 1, "power.command");
		size_t most = stack_of(piece, cases[i].most, "power.command");
		size_t beyond = stack_of(piece, cases[i].most + 1, "text.too_complex");

		if (most > one + STACK_SLACK || beyond > one + STACK_SLACK)
			fail_msg("%s: %zu bytes of stack become %zu and %zu", piece, one, most,
				 beyond);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_long_script),
		cmocka_unit_test(test_hostile_shapes),
		cmocka_unit_test(test_hostile_beyond_bounds),
		cmocka_unit_test(test_hostile_prefixes),
		cmocka_unit_test(test_hostile_mutants),
		cmocka_unit_test(test_hostile_public_texts),
		cmocka_unit_test(test_hostile_nesting_takes_no_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
