#include "cli/setup.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/answer.h"
#include "cli/cmdline.h"
#include "cli/over.h"
#include "cli/say.h"
#include "cli/setup/file.h"
#include "cli/setup/host.h"
#include "cli/setup/merge.h"
#include "policy/dir.h"
#include "server/workspace.h"

#define STATUS_FAILED 1

struct setup {
	const struct cli_command *command;
	const struct setup_host *host;
	const char *workspace_option, *file_option, *over;
	bool write, json;
	bool changed; /* the host's file */
	char **argv;  /* the command in the entry; heap */
};

void cli_setup_list_hosts(void)
{
	puts("Hosts:");
	for (const struct setup_host *host = setup_hosts; host->name; host++)
		printf("  %-16s %s\n", host->name, host->title);
}

static json_t *setup_hosts_as_json(void)
{
	json_t *hosts = json_array();

	for (const struct setup_host *host = setup_hosts; host->name; host++)
		json_array_append_new(hosts, json_pack("{s:s, s:s}", "host", host->name, "title",
						       host->title));
	return json_pack("{s:o}", "hosts", hosts);
}

static void setup_print_json(json_t *document)
{
	say_json(document);
	json_decref(document);
}

static int setup_say_unknown_host(const struct setup *s, const char *name)
{
	const char *names[32];
	size_t count = 0;

	for (const struct setup_host *host = setup_hosts; host->name; host++) {
		BUG_IF(count + 1 == COUNT_OF(names));
		names[count++] = host->name;
	}
	names[count] = NULL;
	return say_unknown(s->command, "host", name, names);
}

static int setup_take_option(void *setup, const struct cli_option *option,
			     const struct cmdline_value *value)
{
	struct setup *s = setup;

	switch (option->id) {
	case OPTION_WRITE:
		s->write = true;
		break;
	case OPTION_JSON:
		s->json = true;
		break;
	case OPTION_OVER:
		s->over = value->text;
		break;
	case OPTION_FILE:
		s->file_option = value->text;
		break;
	default:
		s->workspace_option = value->text;
	}
	return CMDLINE_GO_ON;
}

/* CMDLINE_GO_ON when there is a host to set up. Without one the hosts are shown, unless an option
 * says that one was meant: a script's variable may be empty. */
static int setup_take_host(struct setup *s, char **words)
{
	if (!words[0] && (s->write || s->file_option || s->over || s->workspace_option))
		return say_mistake(s->command, "no host is given: procpen setup HOST");
	if (!words[0] && s->json)
		setup_print_json(setup_hosts_as_json());
	else if (!words[0])
		cli_setup_list_hosts();
	if (!words[0])
		return say_flush(s->command) ? STATUS_FAILED : 0;
	if (words[1])
		return say_mistake(s->command, "one host at a time, not %s and %s", words[0],
				   words[1]);
	s->host = setup_host_find(words[0]);
	return s->host ? CMDLINE_GO_ON : setup_say_unknown_host(s, words[0]);
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

	if (path && !stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return path;
		errno = ENOTDIR;
	}
	err_sys(e, ERR_INVALID_PARAMS, errno, "cannot use the workspace %.400s", option);
	err_hint(e, "Name a directory that exists: --workspace DIR.");
	free(path);
	return NULL;
}

/* The working directory, for a host that does not pass the project's directory to servers. */
static char *setup_here(const struct setup_host *host, struct err *e)
{
	char *path = getcwd(NULL, 0);

	if (path && !workspace_is_too_wide(path))
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

static char *setup_find_file(const struct setup *s, struct err *e)
{
	char *path;

	if (!s->file_option)
		return setup_host_file(s->host, e);
	path = dir_absolute(s->file_option);
	if (!path)
		err_set(e, ERR_INVALID_PARAMS, "cannot find the working directory");
	return path;
}

static char *setup_note(const struct setup *s)
{
	const char *by = s->over || s->workspace_option ? NULL : s->host->named_by;

	return mem_printf("%s%s%s%s", by ? "It names the project by " : "", by ? by : "",
			  by ? ". " : "", s->host->note);
}

static int setup_print_document(const struct setup *s, const char *path, struct err *e)
{
	AUTO_FREE char *note = setup_note(s);
	struct buf text;
	int failed;

	buf_init(&text, SETUP_TEXT_MAX);
	failed = setup_host_snippet(s->host, s->argv, &text, e);
	if (!failed)
		setup_print_json(json_pack("{s:s, s:s, s:o, s:s%, s:s, s:b}", "host",
					   s->host->name, "title", s->host->title, "file",
					   path ? say_json_string(path) : json_null(),
					   "text", text.data, text.len, "note", note,
					   "changed", s->changed));
	buf_release(&text);
	return failed;
}

static void setup_say_note(const struct setup *s)
{
	AUTO_FREE char *note = setup_note(s);

	fprintf(stderr, "Note: %s\n", note);
}

static int setup_print(struct setup *s, struct err *e)
{
	AUTO_FREE char *path = setup_find_file(s, &(struct err){ .type = ERR_NONE });
	struct buf text;
	int failed;

	if (s->json)
		return setup_print_document(s, path, e);
	buf_init(&text, SETUP_TEXT_MAX);
	failed = setup_host_snippet(s->host, s->argv, &text, e);
	if (!failed) {
		fwrite(text.data, 1, text.len, stdout);
		if (path)
			fprintf(stderr, "For %s; put it into %s\n", s->host->title, path);
		setup_say_note(s);
	}
	buf_release(&text);
	return failed;
}

static int setup_write_merged(struct setup *s, struct setup_file *file, struct err *e)
{
	AUTO_FREE char *backup = NULL;
	struct buf out;
	int result = 0;

	buf_init(&out, SETUP_TEXT_MAX);
	switch (setup_merge(s->host, file->text.data ? file->text.data : "", file->text.len,
			    s->argv, &out, e)) {
	case SETUP_THERE:
		fprintf(stderr, "%s has this entry already: nothing was changed\n", file->path);
		break;
	case SETUP_REFUSED:
		result = err_prefix(e, "%.400s: ", file->path);
		break;
	case SETUP_MERGED:
		result = setup_file_replace(file, &out, &backup, e);
		s->changed = !result;
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

static int setup_write_entry(struct setup *s, struct err *e)
{
	AUTO_FREE char *path = setup_find_file(s, e);
	struct setup_file file;
	int result;

	if (!path)
		return -1;
	result = setup_file_read(&file, path, e);
	if (!result)
		result = setup_write_merged(s, &file, e);
	if (!result && s->json)
		result = setup_print_document(s, path, e);
	else if (!result)
		setup_say_note(s);
	setup_file_release(&file);
	return result;
}

/* The command that starts this program here. */
static char **setup_local_command(const struct setup *s, struct err *e)
{
	char *program = setup_own_path(e);
	char *workspace = program ? setup_find_workspace(s, e) : NULL;
	char **argv = mem_zalloc(5 * sizeof(*argv));

	argv[0] = program;
	if (!workspace) {
		mem_list_free(argv);
		return NULL;
	}
	argv[1] = mem_strdup("serve");
	if (*workspace) {
		argv[2] = mem_strdup("--workspace");
		argv[3] = workspace;
	} else {
		free(workspace);
	}
	return argv;
}

/* The exit status, with all reported. What --over does not take is a mistake of usage. */
static int setup_carry_out(struct setup *s)
{
	ERR_LOCAL(e);
	int status = 0;

	s->argv = s->over ? over_command(s->over, s->workspace_option, &e)
			  : setup_local_command(s, &e);
	if (!s->argv)
		status = s->over ? SAY_STATUS_USAGE : STATUS_FAILED;
	else if (s->write ? setup_write_entry(s, &e) : setup_print(s, &e))
		status = STATUS_FAILED;
	if (status)
		answer_fail(s->command, s->json, &e);
	err_release(&e);
	mem_list_free(s->argv);
	return say_flush(s->command) ? STATUS_FAILED : status;
}

int cli_setup(const struct cli_command *command, char **argv)
{
	struct setup s = { .command = command };
	struct cmdline args;
	int status = cmdline_read(&args, command, argv, setup_take_option, &s);

	if (status == CMDLINE_GO_ON)
		status = setup_take_host(&s, args.words);
	return status == CMDLINE_GO_ON ? setup_carry_out(&s) : status;
}
