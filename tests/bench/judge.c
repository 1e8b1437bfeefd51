/*
 * judge - how long verdicts take, and how many of the listed commands are blocked.
 *
 *     judge CORPORA        the folder of the public lists; what is not there counts as null
 *
 * Times are processor time of this process, the median of several verdicts each; of the
 * everyday texts of tests/unit/everyday.h, and of the hostile shapes of tests/unit/shapes.h,
 * the worst one counts, and the figures name it. Each name is a text in the figures.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../unit/corpus.h"
#include "../unit/everyday.h"

#define REPEATS 7

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double verdict_ms(const char *text)
{
	struct blocklist_verdict v;
	double took[REPEATS];

	for (int i = 0; i < REPEATS; i++) {
		double begin = now_ms();

		corpus_judge(text, &v);
		took[i] = now_ms() - begin;
	}
	qsort(took, REPEATS, sizeof(took[0]), compare);
	return took[REPEATS / 2];
}

struct worst {
	double ms;
	char name[80]; /* of a shape: how it begins */
};

static void measure(const struct shape *shape, const char *name, size_t size, struct worst *w)
{
	char *text = shape_text(shape, size);
	double ms = verdict_ms(text);

	if (ms > w->ms) {
		w->ms = ms;
		snprintf(w->name, sizeof(w->name), "%.60s", name ? name : text);
	}
	free(text);
}

static void print_worst(const char *name, const struct worst *w)
{
	json_t *text = json_string(w->name);
	char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	printf("\"%s_ms\":%.4f,\"%s_name\":%s,", name, w->ms, name, quoted ? quoted : "\"\"");
	free(quoted);
	json_decref(text);
}

/* The slowest everyday text and the slowest hostile shape of @size bytes. */
static void print_size(const char *everyday_name, const char *hostile_name, size_t size)
{
	struct worst calm = { 0 }, hostile = { 0 };

	for (size_t i = 0; i < EVERYDAY_COUNT; i++)
		measure(&everyday[i].shape, everyday[i].name, size, &calm);
	for (size_t i = 0; i < SHAPE_COUNT; i++)
		measure(&shapes[i], NULL, size, &hostile);
	print_worst(everyday_name, &calm);
	print_worst(hostile_name, &hostile);
}

/* The slowest of the shapes with loops over lists in loops. */
static void print_loops(const char *name, size_t size)
{
	struct worst loops = { 0 };

	for (size_t i = 0; i < SHAPE_COUNT; i++)
		if (strstr(shapes[i].piece, "while read"))
			measure(&shapes[i], NULL, size, &loops);
	print_worst(name, &loops);
}

/* @count small commands. */
static void print_many(const char *name, const char *piece, size_t count)
{
	size_t len = strlen(piece);
	char *text = malloc(len * count + 1);

	if (!text)
		abort();
	for (size_t i = 0; i < count; i++)
		memcpy(text + i * len, piece, len);
	text[len * count] = '\0';
	printf("\"%s\":%.4f,", name, verdict_ms(text));
	free(text);
}

/* ---- rates ---- */

struct counts {
	struct corpus_rate must, should, benign, seed, real, block, allow;
};

static void count(void *ctx, const struct corpus_row *row)
{
	struct counts *c = ctx;
	struct corpus_rate *r = NULL;
	struct blocklist_verdict v;

	if (!strcmp(row->label, "dangerous"))
		r = strstr(row->remark, "tier=must") ? &c->must : &c->should;
	else if (!strcmp(row->label, "benign"))
		r = &c->benign;
	else if (!strcmp(row->label, "seed-literal"))
		r = &c->seed;
	else if (!strcmp(row->label, "real"))
		r = &c->real;
	else if (!strcmp(row->label, "block"))
		r = &c->block;
	else if (!strcmp(row->label, "allow"))
		r = &c->allow;
	if (!r)
		return;
	r->rows++;
	/* The rows of the plain search count where the operator asked for it. */
	blocklist_judge(&(struct blocklist_input){ .command = row->command, .shell = true,
						   .literal_anywhere = r == &c->seed }, &v);
	r->blocked += v.blocked;
}

static void print_rate(const char *name, const struct corpus_rate *r)
{
	if (r->rows)
		printf("\"%s_percent\":%.3f,", name, corpus_percent(r));
	else
		printf("\"%s_percent\":null,", name);
}

static void print_rates(void)
{
	FILE *sample = corpus_open("blocklist_dev.tsv");
	FILE *real = corpus_open("nl2bash_benign.txt");
	struct counts c = { .must.rows = 0 };

	if (sample)
		corpus_table(sample, count, &c);
	corpus_tricks(count, &c);
	double begin = now_ms();
	int rows = real ? corpus_lines(real, "real", count, &c) : 0;

	if (rows)
		printf("\"real_us\":%.3f,", (now_ms() - begin) * 1e3 / rows);
	else
		printf("\"real_us\":null,");
	print_rate("must", &c.must);
	print_rate("should", &c.should);
	print_rate("benign", &c.benign);
	print_rate("seed", &c.seed);
	print_rate("real", &c.real);
	print_rate("block", &c.block);
	print_rate("allow", &c.allow);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: judge CORPORA\n", stderr);
		return 2;
	}
	setenv("PROCPEN_CORPORA", argv[1], 1);
	putchar('{');
	print_size("everyday", "small", 10000);
	print_size("everyday_large", "large", 1u << 20);
	print_loops("loops", 10000);
	print_many("many_ms", "rm a b;x\n", 50000);
	print_rates();
	puts("\"left\":0}");
	return 0;
}
