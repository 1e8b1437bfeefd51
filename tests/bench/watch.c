#include "watch.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file of /proc/PID as text; its length, 0 when it cannot be read. */
static size_t read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, size - 1, f);
	text[n] = 0;
	fclose(f);
	return n;
}

double watch_cpu_us(pid_t pid)
{
	char text[128];

	return read_file(pid, "schedstat", text, sizeof(text)) ? strtod(text, NULL) / 1e3 : 0;
}

/* The number behind "FIELD:" at the start of a line. */
static double field_of(const char *text, const char *field)
{
	char key[32];
	const char *at;

	snprintf(key, sizeof(key), "\n%s:", field);
	at = strstr(text, key);
	return at ? strtod(at + strlen(key), NULL) : 0;
}

double watch_status_kb(pid_t pid, const char *field)
{
	char text[4096];

	return read_file(pid, "status", text, sizeof(text)) ? field_of(text, field) : 0;
}

double watch_pss_kb(pid_t pid)
{
	char text[4096];

	return read_file(pid, "smaps_rollup", text, sizeof(text)) ? field_of(text, "Pss") : NAN;
}

double watch_fds(pid_t pid)
{
	char path[64];
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return NAN;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

/* Call @fn for every process. */
static void each_process(void (*fn)(pid_t pid, void *ctx), void *ctx)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			fn((pid_t)strtol(entry->d_name, NULL, 10), ctx);
	if (dir)
		closedir(dir);
}

struct family {
	pid_t parent;
	int count;
	double *pss_kb;
};

static void on_child(pid_t pid, void *ctx)
{
	struct family *f = ctx;
	char text[4096];

	if (!read_file(pid, "status", text, sizeof(text)) || field_of(text, "PPid") != f->parent)
		return;
	f->count++;
	if (f->pss_kb)
		*f->pss_kb += watch_pss_kb(pid);
}

int watch_children(pid_t pid, double *pss_kb)
{
	struct family f = { .parent = pid, .pss_kb = pss_kb };

	if (pss_kb)
		*pss_kb = 0;
	each_process(on_child, &f);
	return f.count;
}

struct search {
	const char *word;
	int count;
};

static void on_process(pid_t pid, void *ctx)
{
	struct search *s = ctx;
	char text[4096];
	size_t n = read_file(pid, "cmdline", text, sizeof(text));

	s->count += n && memmem(text, n, s->word, strlen(s->word));
}

int watch_count(const char *word)
{
	struct search s = { .word = word };

	each_process(on_process, &s);
	return s.count;
}
