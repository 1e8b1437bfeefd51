/*
 * How much of what does harm is blocked, and how much of what does not. The rates
 * of the public lists are held against the bars of docs/blocklist.md; of our own
 * list every row counts. Run it by hand to see each miss and each false alarm.
 */
#include "unit.h"

#include "corpus.h"
#include "verdict.h"

enum { MUST, SHOULD, BENIGN, SEED, REAL, TRICK_BLOCK, TRICK_SHOULD, TRICK_ALLOW, CLASSES };

struct rates {
	struct corpus_rate rate[CLASSES];
};

static const struct corpus_rate none[CLASSES] = {
	{ .name = "must" },
	{ .name = "should" },
	{ .name = "benign" },
	{ .name = "seed-literal" },
	{ .name = "nl2bash" },
	{ .name = "tricks, block" },
	{ .name = "tricks, should" },
	{ .name = "tricks, allow" },
};

static void rates_init(struct rates *r)
{
	memset(r, 0, sizeof(*r));
	memcpy(r->rate, none, sizeof(none));
}

static int class_of(const struct corpus_row *row)
{
	static const struct {
		const char *label;
		int class;
	} labels[] = {
		{ "benign", BENIGN },	  { "seed-literal", SEED },   { "real", REAL },
		{ "block", TRICK_BLOCK }, { "should", TRICK_SHOULD }, { "allow", TRICK_ALLOW },
	};

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (!strcmp(row->label, labels[i].label))
			return labels[i].class;
	assert_string_equal(row->label, "dangerous");
	return strstr(row->remark, "tier=must") ? MUST : SHOULD;
}

static void print_row(const char *class, const struct corpus_row *row,
		      const struct blocklist_verdict *v)
{
	json_t *text = json_string_nocheck(row->command);
	char *line = json_dumps(text, JSON_ENCODE_ANY);

	printf("# %s, %s, %s:%d: %s   [%s]\n", class, v->blocked ? "blocked" : "missed",
	       row->file, row->line, line ? line : "?", v->blocked ? v->rule : row->remark);
	free(line);
	json_decref(text);
}

/* What only the plain search through the whole text finds: most of these rows are data. */
static bool anywhere(const char *command, struct blocklist_verdict *v)
{
	const struct blocklist_input in = { .command = command, .shell = true,
					    .literal_anywhere = true };

	blocklist_judge(&in, v);
	return v->blocked;
}

static void count(void *ctx, const struct corpus_row *row)
{
	struct rates *r = ctx;
	int class = class_of(row);
	bool harmless = class == BENIGN || class == REAL || class == TRICK_ALLOW;
	struct blocklist_verdict v;
	bool blocked = class == SEED ? anywhere(row->command, &v) : corpus_judge(row->command, &v);

	verdict_check(&v, strlen(row->command));
	r->rate[class].rows++;
	r->rate[class].blocked += blocked;
	if (blocked == harmless)
		print_row(r->rate[class].name, row, &v);
}

static void print_rate(const struct corpus_rate *r)
{
	printf("# %-16s %5d of %5d blocked, %6.2f %%\n", r->name, r->blocked, r->rows,
	       corpus_percent(r));
}

static void expect_at_least(const struct corpus_rate *r, double percent)
{
	assert_true(r->rows > 0);
	if (corpus_percent(r) < percent)
		fail_msg("%s: %.2f %% blocked, the bar is %.1f %%", r->name, corpus_percent(r), percent);
}

static void expect_at_most(const struct corpus_rate *r, double percent)
{
	assert_true(r->rows > 0);
	if (corpus_percent(r) > percent)
		fail_msg("%s: %.2f %% blocked, the bar is %.1f %%", r->name, corpus_percent(r), percent);
}

static void test_rates_of_the_sample(void **state)
{
	FILE *file = corpus_open("blocklist_dev.tsv");
	struct rates r;

	(void)state;
	if (!file)
		skip();
	rates_init(&r);
	assert_true(corpus_table(file, count, &r) > 400);
	fclose(file);
	for (int i = MUST; i <= SEED; i++)
		print_rate(&r.rate[i]);
	expect_at_least(&r.rate[MUST], 97);
	expect_at_least(&r.rate[SHOULD], 75);
	expect_at_most(&r.rate[BENIGN], 0.5);
	expect_at_least(&r.rate[SEED], 100);
}

/* ---- commands that people asked for ---- */

/*
 * Rows of nl2bash that do destroy something (fixtures/blocklist_nl2bash.tsv): they
 * are known by a hash of their text, so that the list itself stays where it is.
 */
struct known {
	uint64_t hash[256];
	size_t count;
	struct rates rates;
	int destructive, destructive_blocked, unparsable;
};

static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return hash;
}

static void read_known(struct known *known)
{
	FILE *file = corpus_fixture("blocklist_nl2bash.tsv");
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			continue;
		assert_true(known->count < 256);
		known->hash[known->count++] = strtoull(line, NULL, 16);
	}
	fclose(file);
}

static void count_real(void *ctx, const struct corpus_row *row)
{
	struct known *known = ctx;
	uint64_t hash = hash_of(row->command);
	struct blocklist_verdict v;

	for (size_t i = 0; i < known->count; i++)
		if (known->hash[i] == hash) {
			known->destructive++;
			known->destructive_blocked += corpus_judge(row->command, &v);
			return;
		}
	/* Copied with half a quote or with <placeholders>: no shell would run it, and the rule says so. */
	if (corpus_judge(row->command, &v) && !strcmp(v.rule, "text.unparsable"))
		known->unparsable++;
	else
		count(&known->rates, row);
}

static void test_rate_of_real_commands(void **state)
{
	FILE *file = corpus_open("nl2bash_benign.txt");
	struct known known = { .count = 0 };

	(void)state;
	if (!file)
		skip();
	rates_init(&known.rates);
	read_known(&known);
	assert_true(corpus_lines(file, "real", count_real, &known) > 5000);
	fclose(file);
	printf("# of %d that do destroy something %d are blocked; %d are no shell text\n",
	       known.destructive, known.destructive_blocked, known.unparsable);
	print_rate(&known.rates.rate[REAL]);
	expect_at_most(&known.rates.rate[REAL], 0.2);
	assert_true(known.unparsable < 60); /* 45 are refused by bash -n and dash -n, too */
}

/* ---- our own ---- */

static void test_rates_of_the_tricks(void **state)
{
	struct rates r;

	(void)state;
	rates_init(&r);
	assert_true(corpus_tricks(count, &r) > 1500);
	for (int i = TRICK_BLOCK; i <= TRICK_ALLOW; i++)
		print_rate(&r.rate[i]);
	expect_at_least(&r.rate[TRICK_BLOCK], 100);
	expect_at_least(&r.rate[TRICK_SHOULD], 100);
	expect_at_most(&r.rate[TRICK_ALLOW], 0);
}

/* A known miss that is blocked now belongs to its family again. */
static void expect_missed(void *ctx, const struct corpus_row *row)
{
	struct corpus_rate *r = ctx;
	struct blocklist_verdict v;

	r->rows++;
	if (!corpus_judge(row->command, &v))
		return;
	r->blocked++;
	print_row("no miss any more", row, &v);
}

static void test_known_misses(void **state)
{
	FILE *file = corpus_fixture("blocklist/" CORPUS_MISSES);
	struct corpus_rate r = { .name = "known misses" };

	(void)state;
	assert_non_null(file);
	corpus_rows(file, CORPUS_MISSES, expect_missed, &r);
	fclose(file);
	print_rate(&r);
	assert_int_equal(r.blocked, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates_of_the_sample),
		cmocka_unit_test(test_rate_of_real_commands),
		cmocka_unit_test(test_rates_of_the_tricks),
		cmocka_unit_test(test_known_misses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
