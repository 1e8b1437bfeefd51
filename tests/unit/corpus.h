/*
 * corpus - lists of commands to judge, and what became of them.
 *
 * For the unit tests and the bench. A list is a file of rows: label, command as a
 * JSON string and, in the public lists, a remark, separated by tabs; or one command
 * a line. Our own lists are the families in fixtures/blocklist, a file each. The
 * commands are text. Nothing here runs one.
 */
#ifndef PROCPEN_TESTS_UNIT_CORPUS_H
#define PROCPEN_TESTS_UNIT_CORPUS_H

#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocklist/blocklist.h"

struct corpus_row {
	const char *label, *command, *remark;
	const char *file; /* its name below fixtures/blocklist, or "" */
	int line;
};

/* Rows that should be blocked and are not; see docs/blocklist.md. */
#define CORPUS_MISSES "known-misses.tsv"

typedef void corpus_fn(void *ctx, const struct corpus_row *row);

/* Of one class of rows: how many there are, and how many were blocked. */
struct corpus_rate {
	const char *name;
	int rows, blocked;
};

static inline double corpus_percent(const struct corpus_rate *r)
{
	return r->rows ? 100.0 * r->blocked / r->rows : 0;
}

/* A list from the public corpora, if they are there. */
static inline FILE *corpus_open(const char *name)
{
	const char *dir = getenv("PROCPEN_CORPORA");
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "../shared/corpora", name);
	return fopen(path, "r");
}

/* A list of our own: the tests and the bench run in the root of the tree. */
static inline FILE *corpus_fixture(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "fixtures/%s", name);
	return fopen(path, "r");
}

/* The rows of a family; comments and the heading are left out. Their number. */
static inline int corpus_rows(FILE *file, const char *name, corpus_fn *fn, void *ctx)
{
	char *text = NULL;
	size_t size = 0;
	int rows = 0;

	for (int line = 1; getline(&text, &size, file) > 0; line++) {
		char *save, *label = strtok_r(text, "\t\n", &save);
		char *quoted = strtok_r(NULL, "\t\n", &save);
		char *remark = strtok_r(NULL, "\t\n", &save);
		json_t *command;

		if (!label || label[0] == '#' || !quoted || quoted[0] != '"')
			continue;
		command = json_loads(quoted, JSON_DECODE_ANY, NULL);
		if (!command)
			abort(); /* a broken list is no list */
		fn(ctx, &(struct corpus_row){ label, json_string_value(command), remark ? remark : "",
					      name, line });
		json_decref(command);
		rows++;
	}
	free(text);
	return rows;
}

static inline int corpus_table(FILE *file, corpus_fn *fn, void *ctx)
{
	return corpus_rows(file, "", fn, ctx);
}

static inline int corpus_is_family(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".tsv") && strcmp(entry->d_name, CORPUS_MISSES);
}

/* The rows of every family of our own, known misses apart. Their number; 0 without the lists. */
static inline int corpus_tricks(corpus_fn *fn, void *ctx)
{
	struct dirent **entries;
	int count = scandir("fixtures/blocklist", &entries, corpus_is_family, alphasort);
	int rows = 0;

	for (int i = 0; i < count; i++) {
		char name[300];
		FILE *file;

		snprintf(name, sizeof(name), "blocklist/%s", entries[i]->d_name);
		file = corpus_fixture(name);
		if (!file)
			abort();
		rows += corpus_rows(file, entries[i]->d_name, fn, ctx);
		fclose(file);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return rows;
}

/* One command a line. */
static inline int corpus_lines(FILE *file, const char *label, corpus_fn *fn, void *ctx)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t len;
	int rows = 0;

	while ((len = getline(&text, &size, file)) > 0) {
		if (text[len - 1] == '\n')
			text[len - 1] = '\0';
		fn(ctx, &(struct corpus_row){ label, text, "", "", ++rows });
	}
	free(text);
	return rows;
}

static inline bool corpus_judge(const char *command, struct blocklist_verdict *v)
{
	struct blocklist_input in = { .command = command, .shell = true };

	blocklist_judge(&in, v);
	return v->blocked;
}

#endif
