/*
 * The work of a verdict, counted in steps: what people write costs little for each byte,
 * what multiplies itself is stopped, what is stopped is blocked, and the count is
 * honest: nothing asks for much memory without steps. No clock is asked.
 */
#include "unit.h"

#include "blocklist/command/names.h"
#include "blocklist/evaluate.h"
#include "corpus.h"
#include "everyday.h"

/* What one verdict took. */
struct spent {
	bool blocked;
	const char *rule;
	uint64_t work, left;
	size_t memory; /* bytes that the judge asked for */
};

/* @limit: less than the text may take; 0: as much as it may. */
static struct spent judge_within(const char *text, uint64_t limit)
{
	struct shell_text whole = { .s = text, .len = strlen(text) };
	struct blocklist_input in = { .command = text };
	struct evaluation e;
	struct spent s = { .rule = "" };
	uint64_t work;

	evaluation_init(&e, &in, whole.len);
	if (limit)
		e.budget.work = limit;
	work = e.budget.work;
	s.blocked = evaluate_text(&e, &whole, NULL, 0, NULL);
	if (s.blocked)
		s.rule = strtab_get(e.finding.rule->id);
	s.left = e.budget.work;
	s.work = work - e.budget.work;
	s.memory = e.arena.given;
	evaluation_release(&e);
	return s;
}

static struct spent judge(const char *text)
{
	return judge_within(text, 0);
}

static struct spent judge_shape(const struct shape *shape, size_t size)
{
	char *text = shape_text(shape, size);
	struct spent s = judge(text);

	free(text);
	return s;
}

/* ---- what people write ---- */

/* 10 kB may take 33 steps for each byte; ordinary text keeps well below. */
#define EVERYDAY_STEPS_PER_BYTE 26

static void test_work_everyday(void **state)
{
	(void)state;
	for (size_t i = 0; i < EVERYDAY_COUNT; i++) {
		struct spent s = judge_shape(&everyday[i].shape, 10000);

		if (s.blocked)
			fail_msg("%s: %s", everyday[i].name, s.rule);
		if (s.work > EVERYDAY_STEPS_PER_BYTE * 10000)
			fail_msg("%s: %lu steps", everyday[i].name, (unsigned long)s.work);
	}
}

/* Four times the text is four times the work, and a bit for tables that grow. */
static void test_work_is_linear(void **state)
{
	(void)state;
	for (size_t i = 0; i < EVERYDAY_COUNT; i++) {
		uint64_t one = judge_shape(&everyday[i].shape, 10000).work;
		struct spent four = judge_shape(&everyday[i].shape, 40000);

		if (four.blocked || four.work > one * 9 / 2)
			fail_msg("%s: %lu steps become %lu, %s", everyday[i].name,
				 (unsigned long)one, (unsigned long)four.work, four.rule);
	}
}

/* Small texts whose loops and functions make much of themselves. */
static void test_work_small_texts(void **state)
{
	static const char *const texts[] = {
		"for i in $(seq 1 64); do for j in {1..9}; do echo $i $j; done; done",
		"for a in {1..9}; do for b in {1..9}; do for c in x y; do touch f$a$b$c; done; done; done",
		"for d in a b c d e f g h; do for v in 1 2 3 4; do rm -rf build/$d/$v; done; done",
		"log() { echo \"$@\" >&2; }; run() { log \"$@\"; \"$@\"; }; "
		"for t in {1..40}; do run make test-$t; done",
		"i=0; while [ $i -lt 100 ]; do i=$((i+1)); mkdir -p out/$i; done",
		"mkdir -p {src,test}/{a,b,c,d}/{x,y,z}/{1..9}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct spent s = judge(texts[i]);

		if (s.blocked)
			fail_msg("%s: %s after %lu steps", texts[i], s.rule, (unsigned long)s.work);
	}
}

/*
 * Lists that a loop collects in variables, and counts and texts that a script without a loop does,
 * each item under a condition: 3 kB of items are judged, and four times the items are less than
 * eight times the work.
 */
static void test_work_collected_lists(void **state)
{
	static const struct shape lists[] = {
		{ "bad=; for f in ", "src/dialogs/Part.tsx ",
		  "; do npx eslint $f || bad=\"$bad $f\"; done; echo $bad", NULL },
		{ "bad=; for f in ", "src/dialogs/Part.tsx ",
		  "; do npx eslint $f || bad+=\" $f\"; done; echo $bad", NULL },
		{ "ok=; bad=; for f in ", "src/dialogs/Part.tsx ",
		  "; do if npx eslint $f; then ok=\"$ok $f\"; else bad=\"$bad $f\"; fi; done", NULL },
		{ "all=; for f in ", "src/dialogs/Part.tsx ",
		  "; do npx eslint $f; all=\"$all $f\"; done; echo $all", NULL },
		{ "all=; for f in ", "src/dialogs/Part.tsx ",
		  "; do npx eslint $f; all+=\" $f\"; done; echo $all", NULL },
		{ "bad=; c() { for f; do npx eslint $f || bad=\"$bad $f\"; done; }; c ",
		  "src/dialogs/Part.tsx ", "; echo $bad", NULL },
		{ "bad=\n", "npx eslint a/Part.tsx || bad=\"$bad a/Part.tsx\"\n", "echo $bad", NULL },
		{ "ok=0; bad=0\n", "if ./a; then ok=$((ok+1)); else bad=$((bad+1)); fi\n",
		  "echo $ok $bad", NULL },
		{ "n=0; t() { if [ \"$1\" = \"$2\" ]; then n=$((n+1)); else x=$((x+1)); fi; }\n",
		  "t \"$(./prog -a)\" \"value of a\"\n", "echo $n", NULL },
		{ "s=\n", "if ./part; then s=\"$s\\nPASS part\"; else s=\"$s\\nFAIL part\"; fi\n",
		  "echo $s", NULL },
		{ "s={\n", "if ./part; then s=\"$s,\\\"a\\\":1\"; else s=\"$s,\\\"b\\\":0\"; fi\n",
		  "echo $s", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct spent one = judge_shape(&lists[i], 750), four = judge_shape(&lists[i], 3000);

		if (four.blocked || four.work > 8 * one.work)
			fail_msg("%s: %lu steps become %lu, %s", lists[i].after,
				 (unsigned long)one.work, (unsigned long)four.work, four.rule);
	}
}

/* Generated makefiles have hundreds and thousands of rules, and of variables. A # in @rule is a
 * number, another in each. */
static void check_makefile(const char *rule)
{
	for (size_t size = 1000; size < 60000; size += size / 4) {
		char text[61000];
		size_t len = (size_t)sprintf(text, "cat > Makefile <<'E'\nall:\n\tcc a.c\n");
		struct spent s;

		for (unsigned i = 1000; len < size; i++)
			for (const char *c = rule; *c; c++)
				len += *c == '#' ? (size_t)sprintf(text + len, "%u", i)
						 : (size_t)sprintf(text + len, "%c", *c);
		sprintf(text + len, "E\nmake");
		s = judge(text);
		if (s.blocked)
			fail_msg("%zu bytes of %s: %s after %lu steps", size, rule, s.rule,
				 (unsigned long)s.work);
	}
}

static void test_work_makefile(void **state)
{
	(void)state;
	check_makefile("t#:\n\tcc b#.c\n");
	check_makefile("f# = -O2\nall: t#\nt#: b#.o \\\n\t\tc.o\n\tcc $(CFLAGS) $(f#) -o $@ $^\n");
	check_makefile("SRCS += src/f#.c\nOBJS := $(OBJS) f#.o\n");
	check_makefile("v# := $(shell git describe a#)\nall: t#\nt#:\n\tcc -D$(v#) a.c\n");
}

/* What is read of a value again and again costs steps each time: of references in references more
 * than their bytes. */
static void test_work_makefile_value(void **state)
{
	char text[40000];
	size_t len = (size_t)sprintf(text, "make -f - <<'E'\n#%030000d\nv=-", 0);
	struct spent s;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		len += (size_t)sprintf(text + len, "$(shell -");
	for (unsigned i = 0; i < 300; i++)
		text[len++] = ')';
	for (unsigned i = 0; i < 100; i++)
		len += (size_t)sprintf(text + len, "\nx:-$v");
	sprintf(text + len, "\nE\n");
	s = judge(text);
	if (s.left)
		fail_msg("%lu steps for %zu bytes", (unsigned long)s.work, len);
}

/* ---- what multiplies itself ---- */

/* Bytes that a step, or a byte of the text, may ask for. */
#define STEP_BYTES 32
#define TEXT_BYTES 64

static void check(const char *name, size_t size, const struct spent *s)
{
	if (!s->left && !s->blocked)
		fail_msg("%s (%zu): allowed without an end", name, size);
	if (s->memory > STEP_BYTES * s->work + TEXT_BYTES * size)
		fail_msg("%s (%zu): %zu bytes for %lu steps", name, size, s->memory,
			 (unsigned long)s->work);
}

static void test_work_hostile(void **state)
{
	static const size_t sizes[] = { 300, 2000, 10000, 50000 };
	size_t stopped = 0, count = unit_stress() ? 4 : 3;

	(void)state;
	for (size_t i = 0; i < SHAPE_COUNT; i++)
		for (size_t k = 0; k < count; k++) {
			struct spent s = judge_shape(&shapes[i], sizes[k]);

			check(shapes[i].piece, sizes[k], &s);
			stopped += !strcmp(s.rule, "text.too_complex");
		}
	assert_true(stopped > 20); /* or nothing was tried */
}

/* Where little work is left, little is done. */
static void test_work_ends_in_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPE_COUNT; i++) {
		char *text = shape_text(&shapes[i], 10000);
		struct spent s = judge_within(text, 60000);

		check(shapes[i].piece, 10000, &s);
		free(text);
	}
}

/* Wherever the work ends: there is a verdict, and it is not "allowed". */
static void cut_short(const char *text, uint64_t *seed, size_t times)
{
	uint64_t most = judge(text).work;

	for (size_t i = 0; i < times && most > 1; i++) {
		uint64_t limit = 1 + unit_random(seed) % (most - 1);
		struct spent s = judge_within(text, limit);

		if (!s.blocked)
			fail_msg("%.60s: allowed after %lu of %lu steps", text,
				 (unsigned long)limit, (unsigned long)most);
	}
}

static void cut_row(void *ctx, const struct corpus_row *row)
{
	cut_short(row->command, ctx, unit_stress() ? 3 : 1);
}

static void test_work_ends_anywhere(void **state)
{
	uint64_t seed = 20261122;

	(void)state;
	for (size_t i = 0; i < EVERYDAY_COUNT + SHAPE_COUNT; i++) {
		const struct shape *shape = i < EVERYDAY_COUNT ? &everyday[i].shape
							      : &shapes[i - EVERYDAY_COUNT];
		char *text = shape_text(shape, 600);

		cut_short(text, &seed, unit_stress() ? 40 : 15);
		free(text);
	}
	assert_true(corpus_tricks(cut_row, &seed) > 1000);
}

/* The words of each program of the table are read in ways of their own. */
static void test_work_of_programs(void **state)
{
	static const char *const pieces[] = { "-x ", "a ", "--xyz=a ", "/srv/a " };
	char before[128];

	(void)state;
	for (unsigned i = 0; i < blocklist_name_count; i++)
		for (size_t k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++) {
			struct shape shape = { before, pieces[k], "x", NULL };
			struct spent s;

			snprintf(before, sizeof(before), "%s ", blocklist_names[i].name);
			s = judge_shape(&shape, 3000);
			check(before, 3000, &s);
		}
}

/* All options that hold a text for a shell are read, or none of it is run. */
static void test_work_hidden_texts(void **state)
{
	static const struct shape many = { "tar cf x ", "--to-command=true ", "y", NULL };
	static const struct shape mounts = { "docker run ", "-v a:/b ", "-v /:/host i rm -rf /b", NULL };
	static const struct shape rests = { "git ", "-x a ", "b", NULL };
	struct spent s = judge_shape(&many, 400);

	(void)state;
	assert_false(s.blocked);
	s = judge_shape(&many, 4000);
	assert_string_equal(s.rule, "text.too_complex");
	s = judge_shape(&rests, 10000);
	assert_string_equal(s.rule, "text.too_complex");
	s = judge_shape(&mounts, 2000);
	assert_string_equal(s.rule, "text.too_complex");
}

/* What a command gets from elsewhere is read to its end: the harm may stand there. */
static void test_work_items(void **state)
{
	static const struct shape harmless[] = {
		{ "echo ", "f ", "g | xargs rm -rf", NULL },
		{ "crontab - <<E\n", "0 0 * * * true\n", "E\n", NULL },
		{ "nft -f - <<E\n", "list ruleset\n", "E\n", NULL },
		{ "docker run ", "-v a:/b ", "-v /:/host image rm -rf /b", NULL },
	};
	static const struct shape harmful[] = {
		{ "echo ", "f ", "/ | xargs rm -rf", NULL },
		{ "crontab - <<E\n", "0 0 * * * true\n", "0 0 * * * rm -rf /etc\nE\n", NULL },
		{ "nft -f - <<E\n", "list ruleset\n", "flush ruleset\nE\n", NULL },
		{ "docker run ", "-v a:/b ", "-v /:/host image rm -rf /host/etc", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(harmful) / sizeof(harmful[0]); i++) {
		size_t size = i == 3 ? 250 : 2000; /* up to 32 mounts are held apart */
		struct spent s = judge_shape(&harmless[i], size);

		if (s.blocked)
			fail_msg("%s: %s", harmless[i].before, s.rule);
		s = judge_shape(&harmful[i], size);
		if (!s.blocked || !strncmp(s.rule, "text.", 5))
			fail_msg("%s: %s", harmful[i].before, s.rule);
	}
}

/* The values of a variable after branches are compared: long ones take more work. */
static void test_work_of_values(void **state)
{
	static const char branch[] = "if a;then x=%.*s%d;fi\n";
	static const char filler[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	char same[8192], different[8192];
	size_t a = 0, b = 0;

	(void)state;
	for (int i = 0; i < 80; i++) {
		a += (size_t)sprintf(same + a, branch, 40, filler, 10 + i);
		b += (size_t)sprintf(different + b, branch, 36 + i % 9, filler, 10 + i);
	}
	assert_true(judge(same).work > judge(different).work + 80 * 40);
}

/* A turn of a loop in a loop costs more than its commands do, and a loop over numbers goes through
 * them all the same. */
static void test_work_of_turns(void **state)
{
	static const char turns[] = "while a; do b=$c; done; while a; do b=$c; done; ";
	char numbers[400];
	uint64_t group, loop;

	(void)state;
	group = judge("while a; do { read b; x; }; done").work;
	loop = judge("while a; do while read b; do x; done; done").work;
	assert_true(loop > group + 200);
	snprintf(numbers, sizeof(numbers), "for i in 9 8 7 6 2 1; do %s%s kill -9 -$i; done", turns,
		 turns);
	assert_string_equal(judge(numbers).rule, "process.kill_all");
}

/* Each variable of a script is looked for in each text that it runs, in each form. */
static void test_work_of_names(void **state)
{
	static const char run[] = "exec(\"d\");";
	char named[4096], other[4096];
	size_t a, b;

	(void)state;
	a = (size_t)sprintf(named, "node -e 'q=1;");
	b = (size_t)sprintf(other, "node -e 'q=1;");
	for (int i = 0; i < 30; i++) {
		a += (size_t)sprintf(named + a, "d=\"a\";");
		b += (size_t)sprintf(other + b, "e=\"a\";");
	}
	for (int i = 0; i < 30; i++) {
		a += (size_t)sprintf(named + a, "%s", run);
		b += (size_t)sprintf(other + b, "%s", run);
	}
	strcpy(named + a, "'");
	strcpy(other + b, "'");
	assert_true(judge(named).work > judge(other).work + 30 * 30 * 40);
}

/*
 * What is asked of a tree without a walk takes work as well: the ends of lists behind ||, and the
 * words of a test for each variable that its branches assign. And so do elements that are counted.
 */
static void test_work_of_trees(void **state)
{
	static const struct shape ends = { "f(){ a", "||f", ";}", NULL };
	static char test[16384], array[16384];
	size_t a = (size_t)sprintf(test, "if [ "), b = (size_t)sprintf(array, "a=(");
	uint64_t before;

	(void)state;
	before = judge_shape(&ends, 300).work;
	assert_true(judge_shape(&ends, 600).work > 2 * before + 100 * 100);
	for (int i = 0; i < 1000; i++)
		a += (size_t)sprintf(test + a, "$a");
	a += (size_t)sprintf(test + a, " ]; then ");
	for (int i = 100; i < 200; i++)
		a += (size_t)sprintf(test + a, "x%d=;", i);
	sprintf(test + a, "fi");
	assert_true(judge(test).work > 100 * 1000);
	for (int i = 0; i < 2000; i++)
		b += (size_t)sprintf(array + b, "a ");
	b += (size_t)sprintf(array + b, ")");
	before = judge(array).work;
	b += (size_t)sprintf(array + b, ";echo");
	for (int i = 0; i < 500; i++)
		b += (size_t)sprintf(array + b, " ${#a[@]}");
	assert_true(judge(array).work > before + 500 * 2000 / 8);
}

/* More text may take more work, up to the most. */
static void test_work_allowance(void **state)
{
	static const size_t sizes[] = { 0, 10000, 20000, 1u << 20 };
	struct blocklist_input in = { .command = "" };
	uint64_t before = 0;
	struct evaluation e;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		evaluation_init(&e, &in, sizes[i]);
		assert_true(i == 1 ? e.budget.work == before : e.budget.work > before);
		before = e.budget.work;
		evaluation_release(&e);
	}
}

/* ---- the lists that are asked ---- */

static void test_work_lists(void **state)
{
	static const char list[] = " -a --bc de f* +g ";
	const struct list_notes *notes = list_notes(list);

	(void)state;
	assert_true(notes->globs);
	assert_int_equal(notes->words, 5);
	assert_true(list_begins(notes, 'a') && list_begins(notes, 'b') &&
		    list_begins(notes, 'd') && list_begins(notes, 'g'));
	assert_false(list_begins(notes, 'e'));
	assert_true(list_has(list, "--bc", 4));
	assert_true(list_has(list, "de", 2));
	assert_false(list_has(list, "--b", 3));
	assert_false(list_has(list, "d", 1));
	assert_false(list_has(list, "e", 1));
	assert_false(list_has("", "a", 1));
	assert_false(list_has(" a b ", "a b", 3)); /* their hashes meet */
}

/* Every word of @list is in it, and none of them with a letter less or more. */
static size_t check_list(const char *list)
{
	size_t words = 0;

	for (const char *at = list; at && *at; words++) {
		char word[80];
		size_t len;

		at += strspn(at, " ");
		len = strcspn(at, " ");
		if (!len || len + 2 > sizeof(word))
			break;
		memcpy(word, at, len);
		memcpy(word + len, "\x7f", 2);
		if (!list_has(list, word, len))
			fail_msg("%.*s is not found in %s", (int)len, word, list);
		assert_false(list_has(list, word, len + 1));
		at += len;
	}
	return words;
}

static void test_work_lists_of_the_table(void **state)
{
	size_t words = 0;

	(void)state;
	for (unsigned i = 0; i < blocklist_name_count; i++) {
		const struct blocklist_name *name = &blocklist_names[i];

		const struct blocklist_program *program = name_program(name);
		const struct blocklist_wrapper *wrapper = name_wrapper(name);

		if (program)
			words += check_list(strtab_get(program->values)) +
				 check_list(strtab_get(program->inert));
		if (wrapper)
			words += check_list(strtab_get(wrapper->values)) +
				 check_list(strtab_get(wrapper->text));
	}
	for (unsigned i = 0; i < blocklist_rule_count; i++) {
		const char *group = strtab_first(blocklist_rules[i].words);

		for (; group; group = strtab_next(group))
			words += check_list(group);
	}
	assert_true(words > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_everyday),
		cmocka_unit_test(test_work_is_linear),
		cmocka_unit_test(test_work_small_texts),
		cmocka_unit_test(test_work_collected_lists),
		cmocka_unit_test(test_work_makefile),
		cmocka_unit_test(test_work_makefile_value),
		cmocka_unit_test(test_work_hostile),
		cmocka_unit_test(test_work_ends_in_time),
		cmocka_unit_test(test_work_ends_anywhere),
		cmocka_unit_test(test_work_of_programs),
		cmocka_unit_test(test_work_hidden_texts),
		cmocka_unit_test(test_work_items),
		cmocka_unit_test(test_work_of_values),
		cmocka_unit_test(test_work_of_turns),
		cmocka_unit_test(test_work_of_names),
		cmocka_unit_test(test_work_of_trees),
		cmocka_unit_test(test_work_allowance),
		cmocka_unit_test(test_work_lists),
		cmocka_unit_test(test_work_lists_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
