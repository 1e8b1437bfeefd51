#include "cli/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/cmdline.h"
#include "cli/say.h"
#include "policy/audit.h"
#include "policy/audit_dir.h"
#include "policy/audit_lines.h"
#include "policy/audit_verify.h"

enum { STATUS_OK = 0, STATUS_BAD = 1 };

#define LAST_COUNT 10
#define LAST_COUNT_MAX 1000000
#define POLL_MS 200
#define LINE_MAX_BYTES (8 * AUDIT_LINES_MAX)

struct audit_view {
	const struct cli_command *command;
	bool json, follow;
	bool counts; /* how many records to begin with was said */
	size_t last_count;
	bool waits; /* for a log, which is said */
	const char *state_dir, *decision, *process, *rule;
	char since[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE]; /* prefixes of a time; or "" */
	char *path; /* of the directory */
};

/* ---- the command line ---- */

/* How long ago @text means; days too, which no option that takes a time has. 0 or -1. */
static int cli_audit_read_ago(const char *text, int64_t *ago_ms)
{
	AUTO_FREE char *copy = mem_strdup(text);
	char *unit = copy + strcspn(copy, "d");
	bool days = *unit && !unit[1];

	if (days)
		*unit = 'h';
	if (quantity_parse(copy, QUANTITY_SECONDS, ago_ms) ||
	    __builtin_mul_overflow(*ago_ms, days ? 24 : 1, ago_ms))
		return -1;
	*ago_ms /= quantity_scale(QUANTITY_SECONDS) / 1000;
	return 0;
}

/* Write @text, a time or how long ago, to @out. 0 or -1. */
static int cli_audit_read_time(const char *text, char out[CLOCK_TEXT_SIZE])
{
	int64_t ago_ms, now_ms = clock_wall_ms();
	size_t len = strlen(text);

	if (!cli_audit_read_ago(text, &ago_ms)) {
		clock_wall_text(ago_ms < now_ms ? now_ms - ago_ms : 0, out);
		return 0;
	}
	if (len >= CLOCK_TEXT_SIZE)
		return -1;
	strcpy(out, text);
	if (strchr(out, 'T') && out[len - 1] == 'Z') /* as `date -u +%FT%TZ` prints it */
		out[len - 1] = '\0';
	return clock_is_time(out) ? 0 : -1;
}

static int cli_audit_take_time(struct audit_view *v, const struct cli_option *option,
			       const char *text, char out[CLOCK_TEXT_SIZE])
{
	if (!cli_audit_read_time(text, out))
		return CMDLINE_GO_ON;
	return say_mistake(v->command, "%s %s is not a time. Write 2026-11-21, 2026-11-21T08:00, "
				       "or how long ago: 30m, 2h, 7d.", option->name, text);
}

static int cli_audit_take_count(struct audit_view *v, const struct cli_option *option,
				const struct cmdline_value *value)
{
	if (value->number > LAST_COUNT_MAX)
		return say_mistake(v->command, "%s %s must be at most %d; show prints all records",
				   option->name, value->text, LAST_COUNT_MAX);
	v->counts = true;
	v->last_count = (size_t)value->number;
	return CMDLINE_GO_ON;
}

static int cli_audit_take_option(void *view, const struct cli_option *option,
				 const struct cmdline_value *value)
{
	struct audit_view *v = view;

	switch (option->id) {
	case OPTION_JSON:
		v->json = true;
		break;
	case OPTION_FOLLOW:
		v->follow = true;
		break;
	case OPTION_LAST:
		return cli_audit_take_count(v, option, value);
	case OPTION_SINCE:
		return cli_audit_take_time(v, option, value->text, v->since);
	case OPTION_UNTIL:
		return cli_audit_take_time(v, option, value->text, v->until);
	case OPTION_DECISION:
		v->decision = value->text;
		break;
	case OPTION_PROCESS:
		v->process = value->text;
		break;
	case OPTION_RULE:
		v->rule = value->text;
		break;
	default:
		v->state_dir = value->text;
	}
	return CMDLINE_GO_ON;
}

/* Find the directory. 0 or -1, which is reported. */
static int cli_audit_find_path(struct audit_view *v)
{
	AUTO_FREE char *by_default = v->state_dir ? NULL : audit_default_dir();
	const char *state = v->state_dir ? v->state_dir : by_default;

	if (!state) {
		say_mistake(v->command, "neither HOME nor XDG_STATE_HOME says where the log is: "
					"name it with --state-dir");
		return -1;
	}
	v->path = mem_printf("%s/audit", state);
	return 0;
}

/* Say that the log @name cannot be read, for errno. */
static int cli_audit_fail(const struct audit_view *v, const char *name)
{
	ERR_LOCAL(e);

	err_sys(&e, ERR_PERMISSION_DENIED, errno, "cannot read \"%.256s/%.96s\"", v->path, name);
	err_hint(&e, "Name the state directory with --state-dir.");
	say_error(v->command, &e);
	err_release(&e);
	return STATUS_BAD;
}

/* ---- one record ---- */

static bool cli_audit_is(const json_t *record, const char *name, const char *wanted)
{
	return !wanted || !strcmp(json_get_str(record, name, ""), wanted);
}

static bool cli_audit_is_of_rule(const json_t *record, const char *wanted)
{
	const char *rule = json_get_str(record, "rule", "");
	size_t len = wanted ? strlen(wanted) : 0;

	if (len && wanted[len - 1] == '*')
		return *rule && !strncmp(rule, wanted, len - 1);
	return cli_audit_is(record, "rule", wanted);
}

/* Is @record one of those that are asked for? A time of which only the start is given is all that
 * begins so. */
static bool cli_audit_matches(const struct audit_view *v, const json_t *record)
{
	const char *when = json_get_str(record, "time", "");

	return strcmp(when, v->since) >= 0 &&
	       (!*v->until || strncmp(when, v->until, strlen(v->until)) <= 0) &&
	       cli_audit_is(record, "decision", v->decision) &&
	       cli_audit_is(record, "process_id", v->process) &&
	       cli_audit_is_of_rule(record, v->rule);
}

/* @name and the number that is its value, if it has one. */
static void cli_audit_add_number(struct buf *out, const json_t *record, const char *name,
				 const char *before, const char *after)
{
	const json_t *value = json_object_get(record, name);

	if (json_is_integer(value))
		buf_addf(out, " %s%" JSON_INTEGER_FORMAT "%s", before, json_integer_value(value),
			 after);
}

static void cli_audit_add_word(struct buf *out, const json_t *record, const char *name)
{
	const char *text = json_get_str(record, name, NULL);

	if (text)
		buf_addf(out, " %s", text);
}

/* Who asked, if it is known: the name of the object @who. */
static void cli_audit_add_who(struct buf *out, const json_t *record, const char *who,
			      const char *before)
{
	const char *name = json_get_str(json_object_get(record, who), "name", NULL);

	if (name)
		buf_addf(out, ", %s %s", before, name);
}

/* With what a run ended: "exit status 2", "timeout SIGKILL". The outcomes of `procpen run` and of a
 * server are not written alike. */
static void cli_audit_add_end(struct buf *out, const json_t *record)
{
	if (json_object_get(record, "exit_code"))
		cli_audit_add_number(out, record, "exit_code", "exit status ", "");
	else
		cli_audit_add_word(out, record, "reason");
	cli_audit_add_word(out, record, "signal");
}

/* What was to run, as a command or as input of one. */
static void cli_audit_add_text(struct buf *out, const json_t *record)
{
	const char *input = json_get_str(record, "input", "");
	const char *text = json_get_str(record, "command", input);
	size_t len = strlen(text);

	if (len && text[len - 1] == '\n')
		len--;
	if (len)
		buf_addf(out, ": %.*s", (int)len, text);
}

/* "2026-11-21T08:00:00.123Z end process.run p1-72cc exit status 0 4 ms: make"
 * "2026-11-21T08:00:00.123Z attempt process.run allowed uid 1000, from bash: make" */
static void cli_audit_print_text(const json_t *record)
{
	static const char *const words[] = { "capability", "process_id", "decision", "rule" };
	struct buf out;

	buf_init(&out, LINE_MAX_BYTES);
	buf_addf(&out, "%s %s", json_get_str(record, "time", "?"),
		 json_get_str(record, "event", "?"));
	for (size_t i = 0; i < COUNT_OF(words); i++)
		cli_audit_add_word(&out, record, words[i]);
	if (json_object_get(record, "reason"))
		cli_audit_add_end(&out, record);
	else
		cli_audit_add_word(&out, record, "outcome");
	cli_audit_add_number(&out, record, "grant", "grant ", "");
	cli_audit_add_number(&out, record, "duration_ms", "", " ms");
	cli_audit_add_number(&out, record, "count", "", "");
	cli_audit_add_number(&out, record, "uid", "uid ", "");
	cli_audit_add_who(&out, record, "client", "for");
	cli_audit_add_who(&out, record, "peer", "from");
	cli_audit_add_text(&out, record);
	say_text(stdout, out.data);
	putchar('\n');
	buf_release(&out);
}

/* The line as it is, but with what is invisible escaped as JSON does it: the value is the same.
 * Tabs and carriage returns of an editor stand between values, where no escape may. */
static void cli_audit_print_json(const char *line, size_t len)
{
	AUTO_FREE char *shown = mem_realloc(NULL, 6 * len + 1), *plain = mem_strndup(line, len);

	for (char *c = plain; *c; c++)
		*c = strchr("\t\r", *c) ? ' ' : *c;
	fwrite(shown, 1, utf8_show(shown, 6 * len, plain, len), stdout);
	putchar('\n');
}

/* A new reference to the record @line, or NULL. An id that a client gave may have a NUL in it. */
static json_t *cli_audit_parse(const char *line, size_t len)
{
	return json_loadb(line, len, JSON_ALLOW_NUL, NULL);
}

static void cli_audit_print(const struct audit_view *v, const char *line, size_t len)
{
	json_t *record = cli_audit_parse(line, len);

	if (v->json)
		cli_audit_print_json(line, len);
	else
		cli_audit_print_text(record);
	json_decref(record);
}

/* ---- show ---- */

/* What to do with each record that is asked for. */
typedef void (*audit_each_fn)(struct audit_view *v, void *ctx, const struct audit_text *line);

static void cli_audit_offer(struct audit_view *v, audit_each_fn each, void *ctx,
			    const struct audit_text *line)
{
	json_t *record = line->cut ? NULL : cli_audit_parse(line->bytes, line->len);

	if (json_is_object(record) && cli_audit_matches(v, record))
		each(v, ctx, line);
	json_decref(record);
}

/* A descriptor of the log @name, or -1 with errno. */
static int cli_audit_open(const struct audit_view *v, const char *name)
{
	AUTO_FREE char *path = mem_printf("%s/%s", v->path, name);

	return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Read the log @name from *@offset on; @offset moves behind its last whole line. 0 or -1 with
 * errno. */
static int cli_audit_read_file(struct audit_view *v, const char *name, off_t *offset,
			       audit_each_fn each, void *ctx)
{
	AUTO_CLOSE int fd = cli_audit_open(v, name);
	struct audit_lines lines;
	struct audit_text line;
	int status;

	if (fd < 0 && errno == ENOENT)
		return 0; /* removed since it was listed */
	if (fd < 0 || lseek(fd, *offset, SEEK_SET) < 0)
		return -1;
	audit_lines_init(&lines, fd);
	while ((status = audit_lines_next(&lines, &line)) > 0 && !line.torn) {
		cli_audit_offer(v, each, ctx, &line);
		*offset = lseek(fd, 0, SEEK_CUR) - (off_t)(lines.to - lines.from);
	}
	audit_lines_release(&lines);
	return status < 0 ? -1 : 0;
}

/* Who follows may have come before the first record, and waits for it. */
static int cli_audit_list(struct audit_view *v, struct audit_dir_names *list)
{
	ERR_LOCAL(e);
	AUTO_CLOSE int dir = audit_dir_open(v->path, list, &e);
	bool waits = v->follow && e.type == ERR_BAD_DIRECTORY;

	if (waits && !v->waits)
		err_hint(&e, "Waiting for its first record.");
	if (dir < 0 && !(waits && v->waits))
		say_error(v->command, &e);
	v->waits = waits;
	err_release(&e);
	return dir < 0 && !waits ? STATUS_BAD : STATUS_OK;
}

static void cli_audit_show_line(struct audit_view *v, void *ctx, const struct audit_text *line)
{
	(void)ctx;
	cli_audit_print(v, line->bytes, line->len);
}

/* A log, and when its first record was written ("": unknown). */
struct audit_begun {
	const char *name;
	char time[CLOCK_TEXT_SIZE];
};

static void cli_audit_find_begin(const struct audit_view *v, struct audit_begun *file)
{
	AUTO_CLOSE int fd = cli_audit_open(v, file->name);
	struct audit_lines lines;
	struct audit_text line;
	json_t *record = NULL;

	audit_lines_init(&lines, fd);
	if (audit_lines_next(&lines, &line) > 0)
		record = cli_audit_parse(line.bytes, line.len);
	snprintf(file->time, sizeof(file->time), "%s", json_get_str(record, "time", ""));
	json_decref(record);
	audit_lines_release(&lines);
}

/* The log of a day of `procpen run` has a name before those of the servers of that day. */
static int cli_audit_order_begun(const void *a, const void *b)
{
	const struct audit_begun *x = a, *y = b;
	int by_time = strcmp(x->time, y->time);

	return by_time ? by_time : audit_dir_compare(x->name, y->name);
}

static int cli_audit_show(struct audit_view *v)
{
	struct audit_dir_names list;
	int status = cli_audit_list(v, &list);
	AUTO_FREE struct audit_begun *files = mem_zalloc((list.count + 1) * sizeof(*files));

	for (size_t i = 0; i < list.count; i++) {
		files[i].name = list.names[i];
		cli_audit_find_begin(v, &files[i]);
	}
	qsort(files, list.count, sizeof(*files), cli_audit_order_begun);
	for (size_t i = 0; i < list.count && !ferror(stdout); i++) {
		off_t offset = 0;

		if (cli_audit_read_file(v, files[i].name, &offset, cli_audit_show_line, NULL))
			status = cli_audit_fail(v, files[i].name);
	}
	audit_dir_release(&list);
	return status;
}

/* ---- tail ---- */

/* The last records of one log, in a ring of last_count; the next one's place is @next. */
struct audit_last {
	char **lines;
	size_t next, held;
};

/* A log that is followed. */
struct audit_followed {
	char name[AUDIT_DIR_NAME_MAX];
	off_t offset;
	struct timespec written;
};

struct audit_tail {
	struct audit_followed *files;
	size_t count;
};

static void cli_audit_keep_line(struct audit_view *v, void *ctx, const struct audit_text *line)
{
	struct audit_last *last = ctx;

	free(last->lines[last->next]);
	last->lines[last->next] = mem_strndup(line->bytes, line->len);
	last->next = (last->next + 1) % v->last_count;
	last->held += last->held < v->last_count;
}

static int cli_audit_order_written(const void *a, const void *b)
{
	const struct audit_followed *x = a, *y = b;

	if (x->written.tv_sec != y->written.tv_sec)
		return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
	return (x->written.tv_nsec > y->written.tv_nsec) -
	       (x->written.tv_nsec < y->written.tv_nsec);
}

static struct audit_followed *cli_audit_find_followed(struct audit_tail *t, const char *name)
{
	for (size_t i = 0; i < t->count; i++)
		if (!strcmp(t->files[i].name, name))
			return t->files + i;
	return NULL;
}

/* Add the logs that are new; they are read from their start on, or with @from_end from there. */
static int cli_audit_find_new(struct audit_view *v, struct audit_tail *t, bool from_end)
{
	struct audit_dir_names list;
	int status = cli_audit_list(v, &list);

	for (size_t i = 0; i < list.count; i++) {
		AUTO_FREE char *path = NULL;
		struct stat st;

		if (cli_audit_find_followed(t, list.names[i]))
			continue;
		path = mem_printf("%s/%s", v->path, list.names[i]);
		if (stat(path, &st))
			continue;
		t->files = mem_realloc(t->files, (t->count + 1) * sizeof(*t->files));
		t->files[t->count] = (struct audit_followed){
			.offset = from_end ? st.st_size : 0,
			.written = st.st_mtim,
		};
		strcpy(t->files[t->count++].name, list.names[i]);
	}
	audit_dir_release(&list);
	return status;
}

/* Move the records of @last before those that @lines has from @at on; what finds no place is freed.
 * Returns the new @at. */
static size_t cli_audit_prepend(const struct audit_view *v, char **lines, size_t at,
				struct audit_last *last)
{
	for (; last->held; last->held--) {
		char **line;

		last->next = (last->next ? last->next : v->last_count) - 1;
		line = &last->lines[last->next];
		if (at)
			lines[--at] = *line;
		else
			free(*line);
		*line = NULL;
	}
	return at;
}

/* Print the last records; the log that was written last has the last of them. */
static int cli_audit_print_last(struct audit_view *v, struct audit_tail *t)
{
	AUTO_FREE char **lines = mem_zalloc((v->last_count + 1) * sizeof(*lines));
	AUTO_FREE char **ring = mem_zalloc((v->last_count + 1) * sizeof(*ring));
	struct audit_last last = { .lines = ring };
	size_t at = v->last_count;
	int status = STATUS_OK;

	if (t->count)
		qsort(t->files, t->count, sizeof(*t->files), cli_audit_order_written);
	for (size_t i = t->count; i-- > 0 && at;) {
		t->files[i].offset = 0;
		if (cli_audit_read_file(v, t->files[i].name, &t->files[i].offset,
					cli_audit_keep_line, &last))
			status = cli_audit_fail(v, t->files[i].name);
		at = cli_audit_prepend(v, lines, at, &last);
	}
	for (; at < v->last_count; at++) {
		cli_audit_print(v, lines[at], strlen(lines[at]));
		free(lines[at]);
	}
	return status;
}

/* Print what was added since, until nobody reads stdout. */
static int cli_audit_follow(struct audit_view *v, struct audit_tail *t)
{
	struct pollfd reader = { .fd = STDOUT_FILENO }; /* reported when it is gone */

	while (!say_push() && poll(&reader, 1, POLL_MS) <= 0) {
		if (cli_audit_find_new(v, t, false))
			return STATUS_BAD;
		for (size_t i = 0; i < t->count; i++)
			cli_audit_read_file(v, t->files[i].name, &t->files[i].offset,
					    cli_audit_show_line, NULL);
	}
	return STATUS_BAD;
}

static int cli_audit_tail(struct audit_view *v)
{
	struct audit_tail t = { 0 };
	int status = cli_audit_find_new(v, &t, true);

	if (!status)
		status = cli_audit_print_last(v, &t);
	if (v->follow)
		status = cli_audit_follow(v, &t);
	free(t.files);
	return status;
}

/* ---- verify ---- */

static void cli_audit_print_problem(void *ctx, const struct audit_problem *p)
{
	(void)ctx;
	say_text(stdout, p->file);
	if (p->line)
		printf(":%" PRIu64, p->line);
	fputs(": ", stdout);
	say_text(stdout, p->text);
	putchar('\n');
}

static void cli_audit_write_problem(void *ctx, const struct audit_problem *p)
{
	struct jsonw *w = ctx;

	jsonw_object(w, NULL);
	jsonw_str(w, "kind", p->kind);
	jsonw_str(w, "file", p->file);
	if (p->line)
		jsonw_int(w, "line", (int64_t)p->line);
	jsonw_str(w, "text", p->text);
	jsonw_end_object(w);
}

static int cli_audit_verify_json(const char *path, struct audit_verdict *verdict, struct err *e)
{
	struct jsonw w;
	struct buf out;
	int status;

	buf_init(&out, 1u << 30);
	jsonw_init(&w, &out);
	jsonw_object(&w, NULL);
	jsonw_array(&w, "problems");
	status = audit_verify(path, cli_audit_write_problem, &w, verdict, e);
	jsonw_end_array(&w);
	jsonw_int(&w, "files", (int64_t)verdict->files);
	jsonw_int(&w, "lines", (int64_t)verdict->lines);
	jsonw_int(&w, "running", (int64_t)verdict->running);
	jsonw_bool(&w, "whole", !status && !verdict->problems);
	jsonw_end_object(&w);
	buf_addc(&out, '\n');
	if (!status)
		fwrite(out.data, 1, out.len, stdout);
	buf_release(&out);
	return status;
}

static int cli_audit_verify_text(const char *path, struct audit_verdict *verdict, struct err *e)
{
	if (audit_verify(path, cli_audit_print_problem, NULL, verdict, e))
		return -1;
	if (verdict->problems)
		printf("NOT whole: %" PRIu64 " problem%s", verdict->problems,
		       verdict->problems == 1 ? "" : "s");
	else
		fputs("whole", stdout);
	printf(", %" PRIu64 " lines in %" PRIu64 " files, %" PRIu64 " in use\n", verdict->lines,
	       verdict->files, verdict->running);
	return 0;
}

static int cli_audit_check(struct audit_view *v)
{
	struct audit_verdict verdict;
	ERR_LOCAL(e);
	int status = v->json ? cli_audit_verify_json(v->path, &verdict, &e)
			     : cli_audit_verify_text(v->path, &verdict, &e);

	if (status)
		answer_fail(v->command, v->json, &e);
	err_release(&e);
	return status || verdict.problems ? STATUS_BAD : STATUS_OK;
}

/* ---- the command ---- */

static bool cli_audit_has_filter(const struct audit_view *v)
{
	return *v->since || *v->until || v->decision || v->process || v->rule;
}

static int cli_audit_carry_out(struct audit_view *v, const char *what)
{
	static const struct {
		const char *name;
		int (*run)(struct audit_view *v);
		bool filters, follows;
	} parts[] = {
		{ "verify", cli_audit_check, false, false },
		{ "show", cli_audit_show, true, false },
		{ "tail", cli_audit_tail, true, true },
	};
	static const char *const names[] = { "verify", "show", "tail", NULL };

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (strcmp(parts[i].name, what))
			continue;
		if ((v->follow || v->counts) && !parts[i].follows)
			return say_mistake(v->command, "%s belongs to tail, not to %s",
					   v->follow ? "--follow" : "--last", what);
		if (cli_audit_has_filter(v) && !parts[i].filters)
			return say_mistake(v->command, "%s reads all records: no filter", what);
		return cli_audit_find_path(v) ? SAY_STATUS_USAGE : parts[i].run(v);
	}
	return say_unknown(v->command, "word", what, names);
}

int cli_audit(const struct cli_command *command, char **argv)
{
	struct audit_view v = { .command = command, .last_count = LAST_COUNT };
	struct cmdline a;
	int status = cmdline_read(&a, command, argv, cli_audit_take_option, &v);

	if (status != CMDLINE_GO_ON)
		return status;
	if (!a.words[0])
		return say_mistake(command, "say what to do: verify, show or tail");
	if (a.words[1])
		return say_mistake(command, "takes one word, not %s too", a.words[1]);
	status = cli_audit_carry_out(&v, a.words[0]);
	free(v.path);
	return say_flush(command) ? STATUS_BAD : status;
}
