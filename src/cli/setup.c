#include "cli/setup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/schema.h"
#include "cli/setup/file.h"
#include "cli/setup/host.h"
#include "cli/setup/merge.h"

#define STATUS_USAGE 2
#define TEXT_MAX (16u << 20)

struct setup {
	const struct setup_host *host;
	const char *workspace_option, *file_option;
	bool write;
	char *program, *workspace; /* as they stand in the entry */
};

static const char usage[] =
	"Usage: procpen setup HOST [OPTION]...\n"
	"\n"
	"Prints the configuration that makes an agent host start this procpen.\n"
	"\n"
	"  --workspace DIR    where commands work; default: the host's project directory, or\n"
	"                     the working directory unless that is / or the home\n"
	"  --file FILE        the host's configuration file; default: the user's\n"
	"  --write            put it into that file; keeps a copy of the old file next to it\n"
	"\n"
	"Hosts:\n";

static int setup_say_usage(FILE *to)
{
	fputs(usage, to);
	for (const struct setup_host *host = setup_hosts; host->name; host++)
		fprintf(to, "  %-16s %s\n", host->name, host->title);
	return to == stdout ? 0 : STATUS_USAGE;
}

static int setup_say_error(struct err *e)
{
	fprintf(stderr, "procpen setup: %s.%s%s\n", e->message, *e->hint ? " " : "", e->hint);
	err_release(e);
	return 1;
}

static int setup_say_unknown(const char *what, const char *name, const char *nearest)
{
	fprintf(stderr, "procpen setup: unknown %s %s", what, name);
	if (nearest)
		fprintf(stderr, "; did you mean %s?", nearest);
	fputs("\nMore: procpen setup --help\n", stderr);
	return STATUS_USAGE;
}

static int setup_unknown_host(const char *name)
{
	const char *names[32];
	size_t count = 0;

	for (const struct setup_host *host = setup_hosts; host->name; host++) {
		BUG_IF(count + 1 == COUNT_OF(names));
		names[count++] = host->name;
	}
	names[count] = NULL;
	return setup_say_unknown("host", name, schema_nearest(name, names));
}

/* The value of option @name at argv[*at], given as --name value or --name=value; else NULL. */
static const char *setup_option_value(char **argv, int *at, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(argv[*at], name, len))
		return NULL;
	if (argv[*at][len] == '=')
		return argv[*at] + len + 1;
	if (argv[*at][len])
		return NULL;
	if (!argv[*at + 1])
		return "";
	return argv[++*at];
}

/* Returns -1 when all is well so far, else the exit status. */
static int setup_take_option(struct setup *s, char **argv, int *at)
{
	static const char *const known[] = { "--workspace", "--file", "--write", "--help", NULL };
	const char *word = argv[*at], *value;

	if (!strcmp(word, "--write")) {
		s->write = true;
		return -1;
	}
	if ((value = setup_option_value(argv, at, "--workspace")))
		s->workspace_option = value;
	else if ((value = setup_option_value(argv, at, "--file")))
		s->file_option = value;
	else
		return setup_say_unknown("option", word, schema_nearest(word, known));
	if (*value)
		return -1;
	fprintf(stderr, "procpen setup: %s needs a value\n", word);
	return STATUS_USAGE;
}

static int setup_take_host(struct setup *s, const char *name)
{
	if (s->host) {
		fprintf(stderr, "procpen setup: one host at a time, not %s and %s\n",
			s->host->name, name);
		return STATUS_USAGE;
	}
	s->host = setup_host_find(name);
	return s->host ? -1 : setup_unknown_host(name);
}

static int setup_parse(struct setup *s, int argc, char **argv)
{
	for (int at = 1; at < argc; at++) { /* after the command's name */
		int status;

		if (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-h"))
			return setup_say_usage(stdout);
		status = argv[at][0] == '-' ? setup_take_option(s, argv, &at)
					    : setup_take_host(s, argv[at]);
		if (status >= 0)
			return status;
	}
	return s->host ? -1 : setup_say_usage(stderr);
}

/* This program's own file. */
static char *setup_own_path(struct err *e)
{
	char *path = realpath("/proc/self/exe", NULL);

	if (path)
		return path;
	err_sys(e, ERR_INVALID_PARAMS, errno, "cannot find the file of this program");
	err_hint(e, "It may have been replaced or removed since it started: start it again.");
	return NULL;
}

static char *setup_named_workspace(const char *option, struct err *e)
{
	char *path = realpath(option, NULL);
	struct stat st;

	if (!path || stat(path, &st)) {
		err_sys(e, ERR_INVALID_PARAMS, errno, "there is no workspace %.400s", option);
		free(path);
		return NULL;
	}
	if (S_ISDIR(st.st_mode))
		return path;
	err_set(e, ERR_INVALID_PARAMS, "the workspace %.400s is not a directory", option);
	free(path);
	return NULL;
}

/* The working directory, for a host that does not pass the project's directory to servers. */
static char *setup_here(const struct setup_host *host, struct err *e)
{
	const char *home = getenv("HOME");
	AUTO_FREE char *home_path = home ? realpath(home, NULL) : NULL;
	char *path = getcwd(NULL, 0);

	if (path && strcmp(path, "/") && (!home_path || strcmp(path, home_path)))
		return path;
	err_set(e, ERR_INVALID_PARAMS, "%s does not tell servers where the project is, and the "
		"working directory %s is too wide to be the workspace", host->title,
		path ? path : "(none)");
	err_hint(e, "Set the workspace: procpen setup %s --workspace DIR.", host->name);
	free(path);
	return NULL;
}

static char *setup_find_workspace(const struct setup *s, struct err *e)
{
	if (s->workspace_option)
		return setup_named_workspace(s->workspace_option, e);
	if (s->host->workspace)
		return mem_strdup(s->host->workspace);
	return setup_here(s->host, e);
}

static char *setup_absolute(const char *path)
{
	AUTO_FREE char *folder = getcwd(NULL, 0);
	char *whole;

	if (*path == '/')
		return mem_strdup(path);
	return folder && asprintf(&whole, "%s/%s", folder, path) >= 0 ? whole : NULL;
}

static char *setup_find_file(const struct setup *s, struct err *e)
{
	char *path;

	if (!s->file_option)
		return setup_host_file(s->host, e);
	path = setup_absolute(s->file_option);
	if (!path)
		err_set(e, ERR_INVALID_PARAMS, "cannot find the working directory");
	return path;
}

static int setup_print(const struct setup *s, struct err *e)
{
	AUTO_FREE char *path = setup_find_file(s, &(struct err)ERR_INIT);
	struct buf text;

	buf_init(&text, TEXT_MAX);
	if (setup_host_snippet(s->host, s->program, s->workspace, &text, e)) {
		buf_release(&text);
		return -1;
	}
	fwrite(text.data, 1, text.len, stdout);
	buf_release(&text);
	if (path)
		fprintf(stderr, "For %s; put it into %s\n", s->host->title, path);
	fprintf(stderr, "Note: %s\n", s->host->note);
	return fflush(stdout) ? err_sys(e, ERR_INVALID_PARAMS, errno, "cannot write to stdout") : 0;
}

static int setup_write_merged(const struct setup *s, struct setup_file *file, struct err *e)
{
	AUTO_FREE char *backup = NULL;
	struct buf out;
	int result = 0;

	buf_init(&out, TEXT_MAX);
	switch (setup_merge(s->host, file->text.data ? file->text.data : "", file->text.len,
			    s->program, s->workspace, &out, e)) {
	case SETUP_THERE:
		fprintf(stderr, "%s has this entry already: nothing was changed\n", file->path);
		break;
	case SETUP_REFUSED:
		result = -1;
		break;
	case SETUP_MERGED:
		result = setup_file_replace(file, &out, &backup, e);
		if (!result)
			fprintf(stderr, "Written to %s\n", file->path);
		if (backup)
			fprintf(stderr, "%s %s\n", result ? "Unchanged; a copy is in"
							  : "As it was before:", backup);
		break;
	}
	buf_release(&out);
	return result;
}

static int setup_write_entry(const struct setup *s, struct err *e)
{
	AUTO_FREE char *path = setup_find_file(s, e);
	struct setup_file file;
	int result;

	if (!path)
		return -1;
	result = setup_file_read(&file, path, e);
	if (!result)
		result = setup_write_merged(s, &file, e);
	if (!result)
		fprintf(stderr, "Note: %s\n", s->host->note);
	setup_file_release(&file);
	return result;
}

int cli_setup(int argc, char **argv)
{
	struct setup s = { .host = NULL };
	struct err e = ERR_INIT;
	int status = setup_parse(&s, argc, argv);

	if (status >= 0)
		return status;
	s.program = setup_own_path(&e);
	s.workspace = s.program ? setup_find_workspace(&s, &e) : NULL;
	status = !s.workspace || (s.write ? setup_write_entry(&s, &e) : setup_print(&s, &e));
	free(s.program);
	free(s.workspace);
	return status ? setup_say_error(&e) : 0;
}
