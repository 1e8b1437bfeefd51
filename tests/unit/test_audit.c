#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>


#include <cmocka.h>
#include <jansson.h>

#include "scratch.h"

#include "base/digest.h"
#include "policy/audit.h"

#define INSTANCE "0123456789abcdef"
#define OLD "a/b/audit/20200101T000000Z-0.jsonl" /* below the scratch directory */
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

struct fixture {
	struct scratch tmp;
	char state[SCRATCH_PATH]; /* two components below it are missing */
	struct audit *audit;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	scratch_init(&f->tmp);
	scratch_copy(&f->tmp, "a/b", f->state);
	f->audit = audit_new(f->state, INSTANCE);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	audit_free(f->audit);
	scratch_release(&f->tmp);
	free(f);
	return 0;
}

static void write_ok(struct audit *a, const struct audit_event *event)
{
	ERR_LOCAL(e);

	if (audit_write(a, event, &e) != 0)
		fail_msg("%s", e.message);
}

static void write_refused(struct audit *a, const char *part)
{
	struct audit_event event = { .event = "attempt", .capability = "process.run" };
	ERR_LOCAL(e);

	assert_int_equal(audit_write(a, &event, &e), -1);
	assert_int_equal(e.type, ERR_PERMISSION_DENIED);
	if (!strstr(e.message, part))
		fail_msg("\"%s\" is not in \"%s\"", part, e.message);
	assert_non_null(strstr(e.hint, "--state-dir"));
	assert_string_equal(json_string_value(json_object_get(e.details, "audit_log")),
			    audit_path(a));
	err_release(&e);
}

/* The whole file; *@lines: how many. Checks that the chain holds. */
static char *read_chain(const struct audit *a, int *lines)
{
	FILE *file = fopen(audit_path(a), "r");
	char prev[DIGEST_TEXT_SIZE] = ZEROS;
	char *text = NULL, *line;
	size_t size = 0;

	*lines = 0;
	assert_non_null(file);
	if (getdelim(&text, &size, '\0', file) < 0)
		text = strdup("");
	fclose(file);
	for (line = text; *line;) {
		char *end = strchr(line, '\n');

		assert_non_null(end); /* no torn line */
		json_t *root = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, NULL);

		assert_non_null(root);
		assert_int_equal(json_integer_value(json_object_get(root, "seq")), ++*lines);
		assert_string_equal(json_string_value(json_object_get(root, "prev")), prev);
		digest_text(line, (size_t)(end - line), prev);
		json_decref(root);
		line = end + 1;
	}
	return text;
}

static void assert_lines(const struct audit *a, int expected)
{
	int lines;

	free(read_chain(a, &lines));
	assert_int_equal(lines, expected);
}

/* The last line, parsed. */
static json_t *last_line(const struct audit *a)
{
	int lines;
	char *text = read_chain(a, &lines);

	text[strlen(text) - 1] = '\0';
	char *line = strrchr(text, '\n');
	json_t *root = json_loads(line ? line + 1 : text, 0, NULL);

	free(text);
	assert_non_null(root);
	return root;
}

static const char *member(const json_t *line, const char *name)
{
	return json_string_value(json_object_get(line, name));
}

static void test_audit_nothing_before_the_first_event(void **state)
{
	struct fixture *f = *state;
	char parent[SCRATCH_PATH];

	scratch_copy(&f->tmp, "a", parent);
	assert_int_equal(access(parent, F_OK), -1);
	assert_memory_equal(audit_path(f->audit), f->state, strlen(f->state));
	assert_non_null(strstr(audit_path(f->audit), "Z-" INSTANCE ".jsonl"));
}

static void test_audit_modes(void **state)
{
	static const char *const dirs[] = { "a", "a/b", "a/b/audit" };
	struct audit_event event = { .event = "attempt", .capability = "process.list" };
	struct fixture *f = *state;
	mode_t old = umask(0);
	struct stat st;

	write_ok(f->audit, &event);
	umask(old);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		assert_int_equal(stat(scratch_path(&f->tmp, dirs[i]), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0700);
	}
	assert_int_equal(stat(audit_path(f->audit), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void test_audit_all_members(void **state)
{
	static const char *const argv[] = { "ls", "-l", "", NULL }, *const runs[] = { "p1", NULL };
	static const char *const names[] = {
		"time", "seq", "instance", "event", "request_id", "process_id", "capability",
		"tier", "decision", "rule", "pack", "grant", "remember", "command", "argv_sha256",
		"cwd", "log_file", "user", "intent", "input_bytes", "input_sha256", "input",
		"close", "state_filter", "process_ids", "outcome", "prev", "uid", "host", "peer",
		"client", "exit_code", "signal", "reason", "duration_ms", "stdout_size",
		"stderr_size", "leftover", "survivors", "git_config",
	};
	static const struct audit_end end = { 1, "SIGHUP", "none", 2, 3, 4, 5, 6, "x: y" };
	struct audit_event event = {
		"attempt", "\"r\\u0031\"", "p1-0123", "process.run", "notify", "allowed", "tier",
		"git", 1, "session", "ls -l ''", NULL,
		argv, "/ws", "/ws/log", "nobody", "look", "a\0b", 3,
		"echo --password=x", true, "all", runs, "running/none", &end,
	};
	char hash[DIGEST_TEXT_SIZE];
	struct fixture *f = *state;

	audit_set_client(f->audit, "editor", "1");
	write_ok(f->audit, &event);
	json_t *line = last_line(f->audit);

	assert_int_equal(json_object_size(line), sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_non_null(json_object_get(line, names[i]));
	assert_string_equal(member(line, "instance"), INSTANCE);
	assert_string_equal(member(line, "request_id"), "r1");
	assert_string_equal(member(line, "command"), "ls -l ''");
	assert_string_equal(member(line, "prev"), ZEROS);
	assert_int_equal(strlen(member(line, "time")), strlen("2026-11-21T08:00:00.123Z"));
	digest_text("ls\0-l\0\0", 7, hash);
	assert_string_equal(member(line, "argv_sha256"), hash);
	assert_int_equal(json_integer_value(json_object_get(line, "input_bytes")), 3);
	digest_text("a\0b", 3, hash);
	assert_string_equal(member(line, "input_sha256"), hash);
	assert_string_equal(member(line, "input"), "echo --password=***");
	json_decref(line);
}

/* A server's record has its start and its end; nothing is written for one that did nothing. */
static void test_audit_of_a_server(void **state)
{
	struct fixture *f = *state;
	const struct audit_event event = { .event = "attempt", .capability = "process.list" };
	const struct audit_stop stop = { .survivors = 2, .gap = "fork_chains" };
	ERR_LOCAL(e);
	json_t *line;

	audit_serves(f->audit);
	assert_int_equal(audit_stopped(f->audit, &stop, &e), 0);
	assert_int_equal(access(audit_path(f->audit), F_OK), -1);
	write_ok(f->audit, &event);
	write_ok(f->audit, &event);
	assert_int_equal(audit_stopped(f->audit, &stop, &e), 0);
	assert_lines(f->audit, 4);
	line = last_line(f->audit);
	assert_string_equal(json_string_value(json_object_get(line, "event")), "server_stop");
	assert_int_equal(json_integer_value(json_object_get(line, "survivors")), 2);
	assert_string_equal(json_string_value(json_array_get(json_object_get(line, "gaps"), 0)),
			    "fork_chains");
	json_decref(line);
}

static int64_t allocated(const struct audit *a)
{
	struct stat st;

	assert_int_equal(stat(audit_path(a), &st), 0);
	return (int64_t)st.st_blocks * 512;
}

/* A server's file has room for what follows on a full disk, and gives it back at the end. */
static void test_audit_reserve(void **state)
{
	struct fixture *f = *state;
	const struct audit_event event = { .event = "attempt", .capability = "process.run" };
	char path[SCRATCH_PATH];
	struct stat st;
	int fd;

	write_ok(f->audit, &event);
	assert_true(allocated(f->audit) < 1 << 20); /* `procpen run` has none */
	fd = open(audit_path(f->audit), O_WRONLY);
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 20) != 0 || allocated(f->audit) < 1 << 20) {
		print_message("SKIP: this file system cannot allocate ahead\n");
		skip();
	}
	close(fd);
	audit_free(f->audit);
	f->audit = audit_new(f->state, "fedcba9876543210");
	audit_serves(f->audit);
	for (int i = 0; i < 3000; i++) /* more than one step of it */
		write_ok(f->audit, &event);
	assert_int_equal(stat(audit_path(f->audit), &st), 0);
	assert_true(allocated(f->audit) >= st.st_size + (1 << 20));
	assert_lines(f->audit, 3001);
	strcpy(path, audit_path(f->audit));
	audit_free(f->audit);
	f->audit = audit_new(f->state, INSTANCE);
	assert_int_equal(stat(path, &st), 0);
	assert_true((int64_t)st.st_blocks * 512 < st.st_size + (1 << 20));
}

/* Room for no further byte in @a's file. */
static void fill_disk(const struct audit *a, struct rlimit *old)
{
	struct rlimit low;
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(stat(audit_path(a), &st), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, old), 0);
	low = (struct rlimit){ (rlim_t)st.st_size, old->rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
}

/* Ends that could not be written come before the next line; what is not kept is counted. */
static void test_audit_late_ends(void **state)
{
	struct fixture *f = *state;
	const struct audit_event attempt = { .event = "attempt", .capability = "process.run" };
	struct audit_event end = { .event = "end", .outcome = "completed/exited" };
	ERR_LOCAL(e);
	struct rlimit old;
	char id[16], *text;
	json_t *line;
	int lines;

	write_ok(f->audit, &attempt);
	fill_disk(f->audit, &old);
	for (int i = 0; i < 300; i++) {
		snprintf(id, sizeof(id), "p%d", i);
		end.process_id = id;
		assert_int_equal(audit_write(f->audit, &end, &e), -1);
	}
	assert_int_equal(audit_write(f->audit, &attempt, &e), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	err_release(&e);
	write_ok(f->audit, &attempt);
	assert_lines(f->audit, 1 + 256 + 1 + 1);
	text = read_chain(f->audit, &lines);
	/* Behind the attempt and what was lost. */
	line = json_loads(strchr(strchr(text, '\n') + 1, '\n') + 1, JSON_DISABLE_EOF_CHECK, NULL);
	assert_string_equal(member(line, "event"), "end");
	assert_string_equal(member(line, "process_id"), "p0");
	assert_string_equal(member(line, "outcome"), "completed/exited");
	assert_non_null(member(line, "happened_at"));
	json_decref(line);
	assert_non_null(strstr(text, "\"event\":\"lost\",\"count\":45,"));
	free(text);
	write_ok(f->audit, &attempt);
	assert_lines(f->audit, 260); /* nothing twice */
}

/* What a server still owes is written with its last line. */
static void test_audit_late_ends_at_the_stop(void **state)
{
	struct fixture *f = *state;
	const struct audit_event attempt = { .event = "attempt", .capability = "process.run" };
	const struct audit_event end = { .event = "end", .process_id = "p1" };
	const struct audit_stop stop = { 0 };
	ERR_LOCAL(e);
	struct rlimit old;

	audit_serves(f->audit);
	write_ok(f->audit, &attempt);
	fill_disk(f->audit, &old);
	assert_int_equal(audit_write(f->audit, &end, &e), -1);
	assert_int_equal(audit_stopped(f->audit, &stop, &e), -1);
	err_release(&e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(audit_stopped(f->audit, &stop, &e), 0);
	assert_lines(f->audit, 4);
}

/* An old log stays until its removal is on record. */
static void test_audit_prunes_what_is_on_record(void **state)
{
	struct fixture *f = *state;
	const struct audit_bounds bounds = { .file_bytes = INT64_MAX, .total_bytes = 1 };
	const struct audit_event attempt = { .event = "attempt", .decision = "allowed" };
	const struct audit_event end = { .event = "end" };
	ERR_LOCAL(e);
	struct rlimit old;
	char *text;
	int lines;

	audit_set_bounds(f->audit, &bounds);
	audit_serves(f->audit);
	write_ok(f->audit, &attempt);
	scratch_file(&f->tmp, OLD, "x\n", 0600);
	fill_disk(f->audit, &old);
	assert_int_equal(audit_write(f->audit, &end, &e), -1);
	err_release(&e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(access(scratch_path(&f->tmp, OLD), F_OK), 0);
	write_ok(f->audit, &end);
	assert_int_equal(access(scratch_path(&f->tmp, OLD), F_OK), -1);
	text = read_chain(f->audit, &lines);
	assert_non_null(strstr(text, "\"pruned\":1,\"pruned_to\":\"20200101T000000Z-0.jsonl\""));
	free(text);
}

/* Nor is it forgotten where nothing could be written before. */
static void test_audit_late_end_is_all_there_is(void **state)
{
	struct fixture *f = *state;
	const struct audit_event end = { .event = "end", .process_id = "p1" };
	const struct audit_stop stop = { 0 };
	ERR_LOCAL(e);
	struct rlimit old, none;
	char *text;
	int lines;

	audit_serves(f->audit);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	none = (struct rlimit){ 0, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(audit_write(f->audit, &end, &e), -1);
	err_release(&e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(audit_stopped(f->audit, &stop, &e), 0);
	assert_lines(f->audit, 3);
	text = read_chain(f->audit, &lines);
	assert_non_null(strstr(text, "\"process_id\":\"p1\""));
	free(text);
}

/* Reads are one line, with the end of the server at the latest. */
static void test_audit_reads(void **state)
{
	static const char *const kinds[] = { "process.list", "process.logs" };
	struct fixture *f = *state;
	const struct audit_stop stop = { 0 };
	ERR_LOCAL(e);
	char *text;
	int lines;

	audit_serves(f->audit);
	for (int i = 0; i < 5; i++)
		audit_count_read(f->audit, kinds[i % 2]);
	assert_int_equal(access(audit_path(f->audit), F_OK), -1);
	assert_int_equal(audit_stopped(f->audit, &stop, &e), 0);
	text = read_chain(f->audit, &lines);
	assert_int_equal(lines, 3);
	assert_non_null(strstr(text, "\"event\":\"reads\",\"reads\":{\"process.list\":3,"
				     "\"process.logs\":2},\"count\":5,"));
	free(text);
}

/* The text of the present file; heap. */
static char *read_present(const struct audit *a)
{
	FILE *file = fopen(audit_path(a), "re");
	char *text = NULL;
	size_t size = 0;

	assert_non_null(file);
	assert_true(getdelim(&text, &size, '\0', file) > 0);
	fclose(file);
	return text;
}

/* With the whole directory gone the chain goes on in a new file, which says how much is missing. */
static void test_audit_directory_removed(void **state)
{
	struct fixture *f = *state;
	const struct audit_event event = { .event = "attempt", .capability = "process.run" };
	char dir[SCRATCH_PATH], *text;

	for (int i = 0; i < 3; i++)
		write_ok(f->audit, &event);
	assert_false(audit_has_moved(f->audit));
	scratch_copy(&f->tmp, "a/b/audit", dir);
	assert_int_equal(unlink(audit_path(f->audit)), 0);
	assert_int_equal(rmdir(dir), 0);
	write_ok(f->audit, &event);
	assert_true(audit_has_moved(f->audit));
	assert_false(audit_has_moved(f->audit));
	text = read_present(f->audit);
	assert_non_null(strstr(text, "\"seq\":4,"));
	assert_non_null(strstr(text, "\"event\":\"lost\",\"count\":3,"));
	assert_non_null(strstr(text, "\"seq\":5,"));
	free(text);
	assert_int_equal(rename(dir, scratch_path(&f->tmp, "a/moved")), 0);
	write_ok(f->audit, &event); /* not where nobody looks for it */
	assert_true(audit_has_moved(f->audit));
	assert_int_equal(access(audit_path(f->audit), F_OK), 0);
	assert_int_equal(rename(dir, scratch_path(&f->tmp, "a/again")), 0);
	scratch_mkdir(&f->tmp, "a/b/audit");
	assert_int_equal(chmod(dir, 0700), 0);
	write_ok(f->audit, &event);
	assert_true(audit_has_moved(f->audit));
	assert_int_equal(access(audit_path(f->audit), F_OK), 0);
	text = read_present(f->audit);
	assert_non_null(strstr(text, "\"previous_file\":"));
	assert_null(strstr(text, "lost")); /* what was moved is there still */
	free(text);
	assert_int_equal(unlink(audit_path(f->audit)), 0);
	assert_int_equal(rmdir(dir), 0);
	write_ok(f->audit, &event);
	text = read_present(f->audit);
	assert_non_null(strstr(text, "\"event\":\"lost\",\"count\":1,")); /* of this directory */
	free(text);
}

static void test_audit_absent_members_are_left_out(void **state)
{
	struct audit_event event = {
		.event = "attempt", .capability = "process.run", .decision = "allowed", .command = "ls"
	};
	char hash[DIGEST_TEXT_SIZE];
	struct fixture *f = *state;

	write_ok(f->audit, &event);
	json_t *line = last_line(f->audit);

	assert_int_equal(json_object_size(line), 12); /* uid, host and peer too */
	digest_text("ls", 2, hash);
	assert_string_equal(member(line, "argv_sha256"), hash);
	json_decref(line);
	event.event = "end"; /* joined to its attempt by request_id, not by a second hash */
	event.decision = NULL;
	write_ok(f->audit, &event);
	line = last_line(f->audit);
	assert_int_equal(json_object_size(line), 7);
	assert_null(json_object_get(line, "argv_sha256"));
	json_decref(line);
}

static void test_audit_chain(void **state)
{
	struct audit_event event = { .event = "attempt", .capability = "process.run" };
	struct fixture *f = *state;
	char text[32];

	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "echo %d", i);
		event.command = text;
		write_ok(f->audit, &event);
	}
	assert_lines(f->audit, 50);
}

static void test_audit_request_ids(void **state)
{
	struct audit_event event = { .event = "attempt", .capability = "is_blocked" };
	struct fixture *f = *state;
	char token[4096];
	json_t *line;

	event.request_id = "9007199254740993";
	write_ok(f->audit, &event);
	line = last_line(f->audit);
	assert_int_equal(json_integer_value(json_object_get(line, "request_id")), 9007199254740993);
	json_decref(line);

	memset(token, 'x', sizeof(token));
	strcpy(token + 256 - 2, "\""); /* 255 bytes: goes in as it is */
	token[0] = '"';
	event.request_id = token;
	write_ok(f->audit, &event);
	line = last_line(f->audit);
	assert_int_equal(strlen(member(line, "request_id")), 253);
	json_decref(line);

	memset(token, 'x', 3000);
	strcpy(token + 3000, "\"");
	token[0] = '"';
	memcpy(token + 252, "\xe2\x82\xac", 3); /* is cut before this character, and "..." added */
	write_ok(f->audit, &event);
	line = last_line(f->audit);
	assert_int_equal(strlen(member(line, "request_id")), 255);
	json_decref(line);
}

/* Whatever a client may write its secrets into. */
static void test_audit_masks_what_clients_name(void **state)
{
	struct audit_event event = {
		.event = "attempt", .capability = "process.run", .command = "--password hunter2",
		.process_id = "password=hunter2",
		.cwd = "/ws/token=hunter2", .log_file = "/ws/ghp_hunter2hunter2hunter2.log",
		.user = "secret:hunter2", .intent = "https://me:hunter2@h", .input = "x",
		.input_len = 1, .input_text = "API_KEY=hunter2",
	};
	struct fixture *f = *state;
	int lines;
	char *text;

	audit_set_client(f->audit, "x?token=hunter2", "secret=hunter2");
	event.request_id = "\"t\\u006fken=hunter2\"";
	write_ok(f->audit, &event);
	event.request_id = "\"token=hunter2\"";
	write_ok(f->audit, &event);
	text = read_chain(f->audit, &lines);
	if (strstr(text, "hunter2"))
		fail_msg("%s", text);
	free(text);
	json_t *line = last_line(f->audit);

	assert_string_equal(member(line, "request_id"), "\"token=***\"");
	assert_string_equal(member(line, "process_id"), "password=***");
	assert_string_equal(member(line, "cwd"), "/ws/token=***");
	assert_string_equal(member(line, "log_file"), "/ws/ghp_***");
	json_decref(line);
}

static void test_audit_hostile_text_stays_one_line(void **state)
{
	static char huge[1 << 20];
	struct audit_event event = {
		.event = "attempt",
		.capability = "process.run",
		.command = "a\nb\"\\\x01\xff\xe2\x82",
		.cwd = "/a\nb",
		.intent = "\n}\n{",
	};
	struct fixture *f = *state;

	write_ok(f->audit, &event);
	memset(huge, '\x01', sizeof(huge) - 1);
	event.command = event.cwd = event.intent = event.rule = event.outcome = huge;
	write_ok(f->audit, &event);
	json_t *line = last_line(f->audit);

	assert_int_equal(strlen(member(line, "command")), 1024);
	assert_int_equal(strlen(member(line, "intent")), 1024);
	assert_int_equal(strlen(member(line, "cwd")), 4096);
	json_decref(line);
	assert_lines(f->audit, 2);
}

static void test_audit_survives_a_full_disk(void **state)
{
	struct audit_event event = { .event = "attempt",
				     .capability = "process.run",
				     .command = "ls" };
	struct fixture *f = *state;
	struct rlimit old, low;
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	write_ok(f->audit, &event);
	assert_int_equal(stat(audit_path(f->audit), &st), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	for (int room = 0; room < 40; room += 13) {
		/* With no room nothing is written, otherwise a part of the line. */
		low = (struct rlimit){ (rlim_t)st.st_size + (rlim_t)room, old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
		write_refused(f->audit, audit_path(f->audit));
		write_refused(f->audit, "EFBIG");
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		assert_lines(f->audit, 1);
	}
	write_ok(f->audit, &event);
	assert_lines(f->audit, 3); /* and one that counts what was lost */
	signal(SIGXFSZ, SIG_DFL);
}

static void append(const char *path, const char *bytes)
{
	FILE *file = fopen(path, "ae");

	assert_non_null(file);
	assert_true(fputs(bytes, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* What is written into a file without a name, or behind the bytes of others, proves nothing. */
static void test_audit_refuses_a_file_that_others_change(void **state)
{
	struct audit_event event = { .event = "attempt", .capability = "process.run" };
	struct fixture *f = *state;
	off_t size;

	write_ok(f->audit, &event);
	size = size_of(audit_path(f->audit));
	append(audit_path(f->audit), "x");
	write_refused(f->audit, "removed or changed by another process");
	assert_int_equal(truncate(audit_path(f->audit), size - 1), 0);
	write_refused(f->audit, "removed or changed by another process");
	append(audit_path(f->audit), "\n");
	write_ok(f->audit, &event); /* as it was */
	assert_int_equal(unlink(audit_path(f->audit)), 0);
	write_refused(f->audit, "removed or changed by another process");
	assert_int_equal(access(audit_path(f->audit), F_OK), -1);
}

/* The end of the file, and of the server, leaves what shows it, though both give back what was
 * reserved behind the last line. */
static void test_audit_keeps_what_others_have_added(void **state)
{
	const struct audit_bounds bounds = { .file_bytes = 1 };
	struct audit_event event = { .event = "attempt", .capability = "process.run" };
	struct fixture *f = *state;
	char path[SCRATCH_PATH];
	off_t size;

	audit_serves(f->audit);
	write_ok(f->audit, &event);
	snprintf(path, sizeof(path), "%s", audit_path(f->audit));
	append(path, "added\n");
	size = size_of(path);
	audit_set_bounds(f->audit, &bounds);
	write_refused(f->audit, "removed or changed by another process");
	assert_string_equal(audit_path(f->audit), path);
	assert_int_equal(size_of(path), size);
	audit_free(f->audit);
	f->audit = NULL;
	assert_int_equal(size_of(path), size);
}

static void test_audit_refuses_a_directory_that_others_can_write(void **state)
{
	static const mode_t modes[] = { 0770, 0702, 01777 };
	struct fixture *f = *state;
	struct audit_event event = { .event = "attempt", .capability = "process.run" };

	scratch_mkdir(&f->tmp, "a");
	scratch_mkdir(&f->tmp, "a/b");
	scratch_mkdir(&f->tmp, "a/b/audit");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(scratch_path(&f->tmp, "a/b/audit"), modes[i]), 0);
		write_refused(f->audit, "is writable by other users");
	}
	assert_int_equal(access(audit_path(f->audit), F_OK), -1);
	/* Repaired, the same object goes on. */
	assert_int_equal(chmod(scratch_path(&f->tmp, "a/b/audit"), 0755), 0);
	write_ok(f->audit, &event);
	assert_lines(f->audit, 2); /* the first counts the refused ones */
}

static void test_audit_refuses_another_users_directory(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0) {
		print_message("# skipped: only root can give a directory away\n");
		skip();
	}
	scratch_mkdir(&f->tmp, "a");
	scratch_mkdir(&f->tmp, "a/b");
	scratch_mkdir(&f->tmp, "a/b/audit");
	assert_int_equal(chown(scratch_path(&f->tmp, "a/b/audit"), 12345, 12345), 0);
	write_refused(f->audit, "belongs to another user");
}

static void test_audit_follows_no_link(void **state)
{
	struct fixture *f = *state;

	scratch_mkdir(&f->tmp, "a");
	scratch_mkdir(&f->tmp, "a/b");
	scratch_mkdir(&f->tmp, "real");
	scratch_link(&f->tmp, "../../real", "a/b/audit");
	write_refused(f->audit, "cannot open");
	assert_int_equal(unlink(scratch_path(&f->tmp, "a/b/audit")), 0);
	scratch_mkdir(&f->tmp, "a/b/audit");
	scratch_file(&f->tmp, "victim", "", 0600);
	assert_int_equal(symlink(scratch_path(&f->tmp, "victim"), audit_path(f->audit)), 0);
	write_refused(f->audit, "cannot create");
	assert_int_equal(unlink(audit_path(f->audit)), 0);
	/* Nor does it write into a file that was there before. */
	assert_int_equal(link(scratch_path(&f->tmp, "victim"), audit_path(f->audit)), 0);
	write_refused(f->audit, "EEXIST");
}

static void test_audit_cannot_create(void **state)
{
	struct fixture *f = *state;

	scratch_file(&f->tmp, "a", "", 0600);
	write_refused(f->audit, "ENOTDIR");
	assert_int_equal(unlink(scratch_path(&f->tmp, "a")), 0);
	scratch_link(&f->tmp, "nowhere", "a");
	write_refused(f->audit, "cannot create");
}

static void test_audit_default_dir(void **state)
{
	char *dir;

	(void)state;
	setenv("XDG_STATE_HOME", "/xdg", 1);
	setenv("HOME", "/home/me", 1);
	dir = audit_default_dir();
	assert_string_equal(dir, "/xdg/procpen");
	free(dir);
	setenv("XDG_STATE_HOME", "relative", 1);
	dir = audit_default_dir();
	assert_string_equal(dir, "/home/me/.local/state/procpen");
	free(dir);
	setenv("HOME", "/", 1);
	dir = audit_default_dir();
	assert_string_equal(dir, "/.local/state/procpen");
	free(dir);
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	assert_null(audit_default_dir());
}

/* ---- masking ---- */

struct masked {
	const char *text, *shown;
};

static void assert_masked(const struct masked *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *shown = audit_redact(cases[i].text, NULL);

		assert_string_equal(shown, cases[i].shown);
		free(shown);
	}
}

static void test_audit_redact_masks_secrets(void **state)
{
	static const struct masked cases[] = {
		{ "mysql --password=hunter2 db", "mysql --password=*** db" },
		{ "mysql --password hunter2 db", "mysql --password *** db" },
		{ "PGPASSWORD=x psql", "PGPASSWORD=*** psql" },
		{ "DB_PASS='a b' run", "DB_PASS='***' run" },
		{ "MYSQL_PWD=x y", "MYSQL_PWD=*** y" },
		{ "export GITHUB_TOKEN=abc; ls", "export GITHUB_TOKEN=***; ls" },
		{ "export API-KEY=\"a\\\"b\" c", "export API-KEY=\"***\" c" },
		{ "x --api_key=abc&y=1", "x --api_key=***&y=1" },
		{ "curl 'https://h/?token=abc&x=1'", "curl 'https://h/?token=***&x=1'" },
		{ "AWS_SECRET_ACCESS_KEY=a/b+c= aws", "AWS_SECRET_ACCESS_KEY=*** aws" },
		{ "curl -H 'Authorization: Basic abc def' h", "curl -H 'Authorization: ***' h" },
		{ "curl -H \"authorization:Bearer abc\" h", "curl -H \"authorization:***\" h" },
		{ "curl -H 'Cookie: a=b; c=d'", "curl -H 'Cookie: ***'" },
		{ "curl -H 'X-Api-Key: abc'", "curl -H 'X-Api-Key: ***'" },
		{ "use Bearer abcdefghijklmnop now", "use Bearer *** now" },
		{ "curl -u me:secret h", "curl -u me:*** h" },
		{ "curl --user=me:secret h", "curl --user=me:*** h" },
		{ "git clone https://me:secret@h/x", "git clone https://me:***@h/x" },
		{ "git clone https://ghp_0123456789abcdefghij@h", "git clone https://ghp_***@h" },
		{ "echo ghp_0123456789abcdefghij", "echo ghp_***" },
		{ "key sk-0123456789abcdefghij.", "key sk-***" },
		{ "-d '{\"password\": \"a b\", \"x\": 1}'",
		  "-d '{\"password\": \"***\", \"x\": 1}'" },
		{ "-d \"{\\\"secret\\\":\\\"abc\\\"}\"", "-d \"{\\\"secret\\\":\\\"***\\\"}\"" },
		{ "-d '{\"Authorization\": \"x y\"}'", "-d '{\"Authorization\": \"***\"}'" },
		{ "password: hunter2\nnext", "password: ***\nnext" },
		{ "echo '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----'",
		  "echo '-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----'" },
		{ "password='never closed", "password=***" },
		{ "PASSWORD=$'hunter2' x", "PASSWORD=$'***' x" },
		{ "PASSWORD=two\\ words\\;x; ls", "PASSWORD=***; ls" },
		{ "password := hunter2", "password := ***" },
		{ "if password == hunter2", "if password == ***" },
		{ "X-Authorization: Bearer short", "X-Authorization: ***" },
		{ "x --authorization basic hunter2 y", "x --authorization *** y" },
		{ "api_key: Token hunter2, z", "api_key: *** z" },
		{ "--token token", "--token ***" },
		{ "curl -ume:secret h", "curl -ume:*** h" },
		{ "curl -u 'me:two words' h", "curl -u 'me:***' h" },
		{ "curl -u me:\"two words\" h", "curl -u me:\"***\" h" },
		{ "mysql -phunter2 db", "mysql -p*** db" },
		{ "/usr/bin/mysqldump -u me -p'a b' db", "/usr/bin/mysqldump -u me -p'***' db" },
		{ "mysql -u root -pmy-secret-pw db", "mysql -u root -p*** db" },
		{ "mysqldump -uroot -pdbpassword app", "mysqldump -uroot -p*** app" },
		{ "mysql \\\n -phunter2 db", "mysql \\\n -p*** db" },
		{ "mysql db\ncp -phunter2 x", "mysql db\ncp -phunter2 x" },
		{ "sshpass -psecret ssh h", "sshpass -p*** ssh h" },
		{ "sshpass -ppassword=\"a b\" ssh h", "sshpass -p*** ssh h" },
		{ "mysql -psecret=\"abc\" db", "mysql -p*** db" },
		{ "mysql -p'a b'\"c d\"e db", "mysql -p*** db" },
		{ "mysql -p\"open", "mysql -p***" },
		{ "sh -c \"mysql -ppw\"; ls \"x y\"", "sh -c \"mysql -p***\"; ls \"x y\"" },
		{ "sh -c 'sshpass -ppw ssh h'; ls", "sh -c 'sshpass -p*** ssh h'; ls" },
		{ "docker login -password \"my secret\" h", "docker login -p*** \"***\" h" },
		{ "unzip -Ppassword \"a b\"", "unzip -P*** \"a b\"" },
		{ "vault login -method=userpass password='hunter2'",
		  "vault login -method=userpass password='***'" },
		{ "vault login token=\"s.abcdef\"", "vault login token=\"***\"" },
		{ "mysql \\\\\ncp -phunter2 x", "mysql \\\\\ncp -phunter2 x" },
		{ "docker login -u me -psecret host", "docker login -u me -p*** host" },
		{ "zip -Psecret a.zip f", "zip -P*** a.zip f" },
		{ "ldapsearch -x -wsecret dc=x", "ldapsearch -x -w*** dc=x" },
		{ "docker login -u me -p hunter2 h", "docker login -u me -p *** h" },
		{ "sudo podman login -p=hunter2 h", "sudo podman login -p=*** h" },
		{ "sshpass -p hunter2 ssh h", "sshpass -p *** ssh h" },
		{ "sshpass -phunter2 ssh h", "sshpass -p*** ssh h" },
		{ "openssl enc -aes-256-cbc -k hunter2 -in f",
		  "openssl enc -aes-256-cbc -k *** -in f" },
		{ "curl --oauth2-bearer hunter2 h", "curl --oauth2-bearer *** h" },
		{ "redis-cli -h h -a hunter2 ping", "redis-cli -h h -a *** ping" },
		{ "ldapsearch -D cn=me -w hunter2 -b dc=x", "ldapsearch -D cn=me -w *** -b dc=x" },
		{ "curl -b 'session=hunter2; x=y' h", "curl -b '***' h" },
		{ "curl --cookie session=hunter2 h", "curl --cookie *** h" },
		{ "zip -P hunter2 a.zip f", "zip -P *** a.zip f" },
		{ "vault login hunter2 && ls", "vault login *** && ls" },
		{ "vault login -no-print hunter2", "vault login -no-print ***" },
		{ "VAULT_ADDR=x; vault login s.hunter2", "VAULT_ADDR=x; vault login ***" },
	};

	(void)state;
	assert_masked(cases, sizeof(cases) / sizeof(cases[0]));
}

/* Words that only the program tells from others: behind a name, in a place, of its own options. */
static void test_audit_redact_knows_programs(void **state)
{
	static const struct masked cases[] = {
		{ "aws configure set default.aws_secret_access_key S3CRET --profile x",
		  "aws configure set default.aws_secret_access_key *** --profile x" },
		{ "npm config set //h/:_authToken S3CRET && ls", "npm config set //h/:_authToken *** && ls" },
		{ "yarn config set 'npmRegistries[\"//h\"].npmAuthToken' S3CRET",
		  "yarn config set 'npmRegistries[\"//h\"].npmAuthToken' ***" },
		{ "git config --global github.token S3CRET", "git config --global github.token ***" },
		{ "dotnet user-secrets set \"Db:Password\" \"S3CRET\"",
		  "dotnet user-secrets set \"Db:Password\" \"***\"" },
		{ "pulumi config set --secret dbPassword S3CRET",
		  "pulumi config set --secret dbPassword ***" },
		{ "rclone config create r s3 --s3-secret-access-key S3CRET -v",
		  "rclone config create r s3 --s3-secret-access-key *** -v" },
		{ "nmcli d wifi connect x --password S3CRET", "nmcli d wifi connect x --password ***" },
		{ "mysql -u git -pS3CRET db", "mysql -u git -p*** db" },
		{ "docker login -u git -p S3CRET h", "docker login -u git -p *** h" },
		{ "az login -u secret -p S3CRET", "az login -u secret -p ***" },
		{ "setenv API_KEY S3CRET", "setenv API_KEY ***" },
		{ "gh secret set X --body \"a S3CRET\"", "gh secret set X --body \"***\"" },
		{ "gh secret set X -bS3CRET", "gh secret set X -b***" },
		{ "kubectl create secret generic x --from-literal=a=S3CRET",
		  "kubectl create secret generic x --from-literal=***" },
		{ "az login -u a -p S3CRET --tenant t", "az login -u a -p *** --tenant t" },
		{ "az keyvault secret set --name n --value S3CRET",
		  "az keyvault secret set --name n --value ***" },
		{ "helm registry login h -u u -p S3CRET", "helm registry login h -u u -p ***" },
		{ "vault operator unseal S3CRET", "vault operator unseal ***" },
		{ "htpasswd -bc f u S3CRET; ls a b", "htpasswd -bc f *** ***; ls a b" },
		{ "htpasswd -nb u S3CRET", "htpasswd -nb u ***" },
		{ "openssl dgst -macopt key:S3CRET f", "openssl dgst -macopt *** f" },
		{ "ssh-keygen -t rsa -N \"a S3CRET\" -f k", "ssh-keygen -t rsa -N \"***\" -f k" },
		{ "7z a -pS3CRET a.7z b", "7z a -p*** a.7z b" },
		{ "curl --cert c.pem:S3CRET h", "curl --cert c.pem:*** h" },
		{ "ldapsearch -xwS3CRET -b dc=x", "ldapsearch -xw*** -b dc=x" },
		{ "ldapmodify -xZZw 'a S3CRET' -f x", "ldapmodify -xZZw '***' -f x" },
		{ "ldapmodify -axwS3CRET", "ldapmodify -axw***" },
		{ "ldapdelete -rxwS3CRET cn=a", "ldapdelete -rxw*** cn=a" },
		{ "ldappasswd -xSwS3CRET", "ldappasswd -xSw***" },
		{ "ldappasswd -xaS3CRET -swS3CRET", "ldappasswd -xa*** -s***" },
		{ "ldappasswd -xs S3CRET -a S3CRET -Dcn=a", "ldappasswd -xs *** -a *** -Dcn=a" },
		{ "mysql -BNpS3CRET db", "mysql -BNp*** db" },
		{ "mariadb-dump -AEpS3CRET", "mariadb-dump -AEp***" },
		{ "useradd -mp S3CRET me", "useradd -mp *** me" },
		{ "usermod -aLpS3CRET me", "usermod -aLp*** me" },
		{ "sshpass -vp S3CRET ssh h", "sshpass -vp *** ssh h" },
		{ "ssh-keygen -qN S3CRET -f k", "ssh-keygen -qN *** -f k" },
		{ "ssh-keygen -ypP S3CRET -f k", "ssh-keygen -ypP *** -f k" },
		{ "twine upload -sp S3CRET d", "twine upload -sp *** d" },
		{ "echo S3CRET | sudo -S ls; echo a | cat", "echo *** | sudo -S ls; echo a | cat" },
		{ "echo -n 'a;S3CRET'|gh auth login --with-token", "echo -n ***|gh auth login --with-token" },
		{ "printf '%s' \"S3CRET\" \\\n | docker login -u me --password-stdin h",
		  "printf *** | docker login -u me --password-stdin h" },
		{ "ssh h \"echo 'root:a S3CRET' | sudo chpasswd\"; ls",
		  "ssh h \"echo *** | sudo chpasswd\"; ls" },
		{ "sh -c 'echo '\"'\"'a S3CRET'\"'\"' | sudo -S ls'; ls",
		  "sh -c 'echo *** | sudo -S ls'; ls" },
		{ "cat <<E\ndon't\necho 'S3CRET' | sudo -S ls\nE",
		  "cat <<E\ndon't\necho *** | sudo -S ls\nE" },
		{ "echo -e \"S3CRET\\nS3CRET\" | passwd me", "echo -e *** | passwd me" },
		{ "echo S3CRET|passwd me", "echo ***|passwd me" },
		{ "echo -n 'S3CRET' | gh secret set X", "echo -n *** | gh secret set X" },
		{ "printf %s S3CRET | docker secret create x -",
		  "printf *** | docker secret create x -" },
		{ "wrangler secret put X <<< S3CRET", "wrangler secret put X <<< ***" },
		{ "echo S3CRET | gcloud secrets versions add x --data-file=-",
		  "echo *** | gcloud secrets versions add x --data-file=-" },
		{ "echo S3CRET | sudo cryptsetup open /dev/x y -",
		  "echo *** | sudo cryptsetup open /dev/x y -" },
		{ "echo S3CRET |& /usr/bin/passwd me", "echo *** |& /usr/bin/passwd me" },
		{ "echo S3CRET | openssl passwd -stdin", "echo *** | openssl passwd -stdin" },
		{ "echo S3CRET | sudo -kS ls", "echo *** | sudo -kS ls" },
		{ "echo S3CRET | mkpasswd --stdin", "echo *** | mkpasswd --stdin" },
		{ "echo S3CRET | mkpasswd -R 5 -s", "echo *** | mkpasswd -R 5 -s" },
		{ "printf 'S3CRET\\n' | smbpasswd -as me", "printf *** | smbpasswd -as me" },
		{ "echo S3CRET | htpasswd -i f", "echo *** | htpasswd -i f" },
		{ "echo S3CRET | gpg --passphrase-fd=0 -d f", "echo *** | gpg --passphrase-fd=0 -d f" },
		{ "yes S3CRET | passwd me", "yes *** | passwd me" },
		{ "echo S3CRET | \"sudo\" -S ls", "echo *** | \"sudo\" -S ls" },
		{ "echo S3CRET | /usr/bin/'sudo' '-S' ls", "echo *** | /usr/bin/'sudo' '-S' ls" },
		{ "echo S3CRET | sudo -p '' \\-S ls", "echo *** | sudo -p '' \\-S ls" },
		{ "echo S3CRET | tr a b | sudo -S ls; echo a | tr a b",
		  "echo *** | tr a b | sudo -S ls; echo a | tr a b" },
		{ "echo S3CRET | base64 -d |& tee f | gh auth login --with-token",
		  "echo *** | base64 -d |& tee f | gh auth login --with-token" },
		{ "cat <<< S3CRET | sudo -S ls", "cat <<< *** | sudo -S ls" },
		{ "sudo -S mysql -pS3CRET <<E\nS3CRET\nE\nls", "sudo -S mysql -p*** <<E\n***\nE\nls" },
		{ "chpasswd <<-'E' && ls\n\tme:it's S3CRET\n\tyou:S3CRET\n\tE\nls 'a b'",
		  "chpasswd <<-'E' && ls\n***\n\tE\nls 'a b'" },
		{ "cat << \\E | docker login --password-stdin\nS3CRET\nE\nls",
		  "cat << \\E | docker login --password-stdin\n***\nE\nls" },
		{ "ssh h 'passwd me <<E\nS3CRET\nS3CRET\nE'; ls", "ssh h 'passwd me <<E\n***\nE'; ls" },
		{ "chpasswd <<E\nS3CRET\nEX", "chpasswd <<E\n***" },
		{ "chpasswd <<'!'\nme:S3CRET\n!\nls", "chpasswd <<'!'\n***\n!\nls" },
		{ "chpasswd <<E && \\\n ls a \\\n b\nme:S3CRET\nE",
		  "chpasswd <<E && \\\n ls a \\\n b\n***\nE" },
		{ "echo S3CRET | \\sudo -S ls", "echo *** | \\sudo -S ls" },
		{ "echo S3CRET | ./sudo -S ls", "echo *** | ./sudo -S ls" },
		{ "echo S3CRET | passwd>/dev/null", "echo *** | passwd>/dev/null" },
		{ "echo S3CRET | sudo -u me -S ls", "echo *** | sudo -u me -S ls" },
		{ "echo S3CRET | sudo -p 'a b' -S ls", "echo *** | sudo -p 'a b' -S ls" },
		{ "echo S3CRET | sudo -p \"\" -Sk ls", "echo *** | sudo -p \"\" -Sk ls" },
		{ "echo S3CRET|/bin/sudo --user me --stdin ls",
		  "echo ***|/bin/sudo --user me --stdin ls" },
		{ "nmcli c modify x wifi-sec.psk S3CRET", "nmcli c modify x wifi-sec.psk ***" },
		{ "npm set //h/:_authToken S3CRET", "npm set //h/:_authToken ***" },
		{ "mysqladmin -u root password S3CRET", "mysqladmin -u root password ***" },
		{ "redis-cli -h h AUTH S3CRET", "redis-cli -h h AUTH ***" },
		{ "conan remote login -p S3CRET r me", "conan remote login -p *** r me" },
		{ "cqlsh -u me -pS3CRET h", "cqlsh -u me -p*** h" },
		{ "cypher-shell -u me -p S3CRET q", "cypher-shell -u me -p *** q" },
		{ "couchbase-cli x -u me -p 'a S3CRET'", "couchbase-cli x -u me -p '***'" },
		{ "doctl auth init -t S3CRET", "doctl auth init -t ***" },
		{ "codecov -t S3CRET -f x", "codecov -t *** -f x" },
		{ "mosquitto_pub -u me -P S3CRET -t x", "mosquitto_pub -u me -P *** -t x" },
		{ "ipmitool -H h -PS3CRET sol", "ipmitool -H h -P*** sol" },
		{ "bcp t out f -U me -P S3CRET", "bcp t out f -U me -P ***" },
		{ "tsql -U me -PS3CRET", "tsql -U me -P***" },
		{ "snyk auth S3CRET", "snyk auth ***" },
		{ "bw unlock 'a S3CRET' --raw", "bw unlock '***' --raw" },
		{ "cloudflared service install S3CRET", "cloudflared service install ***" },
		{ "composer config -g github-oauth-token S3CRET",
		  "composer config -g github-oauth-token ***" },
		{ "sudo -S ls <<< S3CRET; ls a", "sudo -S ls <<< ***; ls a" },
		{ "x; <<<'a S3CRET' sudo -S ls", "x; <<<'***' sudo -S ls" },
		{ "chpasswd <<<\"me:!S3CRET\"", "chpasswd <<<\"***\"" },
		{ "cd x && passwd me <<< S3CRET", "cd x && passwd me <<< ***" },
		{ "sh -c 'passwd <<<S3CRET'; ls", "sh -c 'passwd <<<***'; ls" },
		{ "sh -c \"sudo -S ls <<< S3CRET\"; ls", "sh -c \"sudo -S ls <<< ***\"; ls" },
		{ "bash <<< 'sudo -S ls <<< S3CRET'; ls", "bash <<< 'sudo -S ls <<< ***'; ls" },
		{ "cat <<< a; sudo -S ls <<< b <<< S3CRET", "cat <<< a; sudo -S ls <<< *** <<< ***" },
		{ "x <<< a 'b; sudo -S <<< c'; cat <<< d", "x <<< *** 'b; sudo -S <<< ***'; cat <<< d" },
		{ "redis-cli config set requirepass S3CRET", "redis-cli config set requirepass ***" },
		{ "ngrok config add-authtoken S3CRET", "ngrok config add-authtoken ***" },
		{ "wp config set DB_PASSWORD S3CRET --quiet", "wp config set DB_PASSWORD *** --quiet" },
		{ "cat <<E\nENV API_KEY S3CRET\nRUN x\nE", "cat <<E\nENV API_KEY ***\nRUN x\nE" },
		{ "ENV=prod gh secret set X --body S3CRET", "ENV=prod gh secret set X --body ***" },
		{ "x -e ENV i f \"SET PASSWORD FOR me = 'S3CRET'\"",
		  "x -e ENV i f \"SET PASSWORD FOR me = '***'\"" },
		{ "ENV=x f \"SET PASSWORD FOR me = 'S3CRET'\"",
		  "ENV=x f \"SET PASSWORD FOR me = '***'\"" },
		{ "wandb login S3CRET; wandb sync x", "wandb login ***; wandb sync x" },
		{ "openssl passwd -6 S3CRET", "openssl passwd -6 ***" },
		{ "smbclient //h/s -U u%S3CRET -c ls", "smbclient //h/s -U u%*** -c ls" },
		{ "smbclient -Uu%S3CRET //h/s", "smbclient -Uu%*** //h/s" },
		{ "rpcclient -U u%S3CRET h", "rpcclient -U u%*** h" },
		{ "smbclient \"--user=d\\u%a S3CRET\" //h/s", "smbclient \"--user=d\\u%***\" //h/s" },
		{ "net rpc user -U 'u%a S3CRET' -S h", "net rpc user -U 'u%***' -S h" },
		{ "mount -t cifs -o user=u%S3CRET,ro //h/s /m", "mount -t cifs -o user=u%*** //h/s /m" },
		{ "sqlplus -s u/S3CRET@h @f", "sqlplus -s u/*** @f" },
		{ "sqlplus \"u/S3CRET@h as sysdba\"", "sqlplus \"u/***\"" },
		{ "rman target u/S3CRET@h", "rman target u/***" },
		{ "sqlldr userid=u/S3CRET control=x", "sqlldr userid=u/*** control=x" },
		{ "http -a u:S3CRET h", "http -a u:*** h" },
		{ "lftp -u u,S3CRET h", "lftp -u u,*** h" },
		{ "mycli -u u -pS3CRET db", "mycli -u u -p*** db" },
		{ "influx write -t S3CRET -b b", "influx write -t *** -b b" },
		{ "unrar x -pS3CRET a.rar", "unrar x -p*** a.rar" },
		{ "rar a -hpS3CRET a.rar b", "rar a -hp*** a.rar b" },
		{ "slappasswd -s S3CRET", "slappasswd -s ***" },
		{ "rclone obscure S3CRET", "rclone obscure ***" },
		{ "ansible-vault encrypt_string --vault-password-file f 'S3CRET'",
		  "ansible-vault encrypt_string --vault-password-file *** '***'" },
		{ "az sql server create -u a -p S3CRET -n x", "az sql server create -u a -p *** -n x" },
		{ "aws ssm put-parameter --name x --value S3CRET --type SecureString",
		  "aws ssm put-parameter --name x --value *** --type SecureString" },
		{ "gcloud config set auth/access_token S3CRET",
		  "gcloud config set auth/access_token ***" },
		{ "vault kv put secret/x a=S3CRET b=S3CRET", "vault kv put secret/x a=*** b=***" },
		{ "fly secrets set A=S3CRET B=S3CRET", "fly secrets set A=*** B=***" },
		{ "crane auth login h -u u -p S3CRET", "crane auth login h -u u -p ***" },
		{ "skopeo copy --src-creds u:S3CRET docker://a docker://b",
		  "skopeo copy --src-creds u:*** docker://a docker://b" },
		{ "xfreerdp /u:u /p:S3CRET /v:h", "xfreerdp /u:u /p:*** /v:h" },
		{ "evil-winrm -i h -u u -p S3CRET", "evil-winrm -i h -u u -p ***" },
		{ "snmpwalk -v2c -c S3CRET h", "snmpwalk -v2c -c *** h" },
		{ "snmpget -v3 -u u -A S3CRET -X S3CRET h oid", "snmpget -v3 -u u -A *** -X *** h oid" },
		{ "rabbitmqctl change_password u S3CRET", "rabbitmqctl change_password *** ***" },
		{ "wpa_passphrase ssid S3CRET", "wpa_passphrase ssid ***" },
		{ "wpa_cli set_network 0 psk '\"S3CRET\"'", "wpa_cli set_network 0 psk '***'" },
		{ "set -gx GITHUB_TOKEN S3CRET", "set -gx GITHUB_TOKEN ***" },
		{ "jq --arg password S3CRET '.p = $q' f", "jq --arg password *** '.p = $q' f" },
		{ "grafana-cli admin reset-admin-password S3CRET",
		  "grafana-cli admin reset-admin-password ***" },
		{ "neo4j-admin set-initial-password S3CRET", "neo4j-admin set-initial-password ***" },
		{ "pdftk a input_pw S3CRET output b", "pdftk a input_pw *** output b" },
		{ "pdftotext -upw S3CRET a b", "pdftotext -upw *** a b" },
		{ "poetry publish -u u -p S3CRET", "poetry publish -u u -p ***" },
		{ "dotnet nuget push x -k S3CRET -s y", "dotnet nuget push x -k *** -s y" },
		{ "mkpasswd -m sha-512 S3CRET > f", "mkpasswd -m sha-512 *** > f" },
		{ "mkpasswd --method=sha-512 S3CRET", "mkpasswd --method=sha-512 ***" },
		{ "wpa_passphrase ssid S3CRET > f", "wpa_passphrase ssid *** > f" },
		{ "swaks --to a -au u -ap S3CRET", "swaks --to a -au u -ap ***" },
		{ "yt-dlp -u u -p S3CRET h", "yt-dlp -u u -p *** h" },
		{ "p4 -P S3CRET sync", "p4 -P *** sync" },
		{ "beeline -u jdbc:hive2://h -n u -p S3CRET", "beeline -u jdbc:hive2://h -n u -p ***" },
		{ "pkcs11-tool --login --pin S3CRET --so-pin=S3CRET",
		  "pkcs11-tool --login --pin *** --so-pin=***" },
		{ "oathtool -b --totp \"S3CRET\"", "oathtool -b --totp \"***\"" },
		{ "security unlock-keychain -p S3CRET k", "security unlock-keychain -p *** k" },
		{ "caddy hash-password --plaintext S3CRET", "caddy hash-password --plaintext ***" },
		{ "doveadm pw -p S3CRET", "doveadm pw -p ***" },
		{ "docker login '-p' 'S3CRET' h", "docker login '-p' '***' h" },
		{ "'docker' \"login\" \"-p\" S3CRET", "'docker' \"login\" \"-p\" ***" },
		{ "sh -c 'docker login \"-p\" \"a S3CRET\" h'", "sh -c 'docker login \"-p\" \"***\" h'" },
		{ "curl '-u' 'u:S3CRET' h", "curl '-u' 'u:***' h" },
		{ "sudo \\\n -S ls <<< S3CRET", "sudo \\\n -S ls <<< ***" },
		{ "printf S3CRET | gh secret  \\\n set X", "printf *** | gh secret  \\\n set X" },
		{ "ssh h \"vault \\\\\n login \\\\\n S3CRET\"", "ssh h \"vault \\\\\n login \\\\\n ***\"" },
		{ "docker exec x sh -c 'curl --user=me:S3CRET h'",
		  "docker exec x sh -c 'curl --user=me:*** h'" },
		{ "ssh h 'gh auth login --with-token <<< S3CRET'",
		  "ssh h 'gh auth login --with-token <<< ***'" },
		{ "docker exec c x -u me:S3CRET", "docker exec c x -u me:***" },
		{ "docker exec c x --user=me:S3CRET", "docker exec c x --user=me:***" },
		{ "docker exec c x -u S3:S3CRET", "docker exec c x -u S3:***" },
		{ "docker run i x --secret S3CRET", "docker run i x --secret ***" },
		{ "a|sort -u|x -u me:S3CRET", "a|sort -u|x -u me:***" },
		{ "journalctl -u a;x --user me:S3CRET", "journalctl -u a;x --user me:***" },
		{ "sudo -S sh <<E\nS3CRET\nls a\nE\nls", "sudo -S sh <<E\n***\nls a\nE\nls" },
		{ "cat <<E | sudo -S sh\nS3CRET\nls a\nE", "cat <<E | sudo -S sh\n***\nls a\nE" },
		{ "sudo -S chpasswd <<E\nS3CRET\nme:S3CRET\nE", "sudo -S chpasswd <<E\n***\nE" },
		{ "chpasswd <<E | sudo -S sh\na\nme:S3CRET\nE",
		  "chpasswd <<E | sudo -S sh\n***\nE" },
		{ "printf 'TOKEN=\"%s\"\\n' S3CRET >f", "printf 'TOKEN=***' *** >f" },
		{ "printf '{\"token\":\"%s\"}' S3CRET | x", "printf '{\"token\":\"***\"}' *** | x" },
		{ "printf 'TOKEN=x%s' S3CRET; ls a", "printf 'TOKEN=***' ***; ls a" },
		{ "printf 'Authorization: Bearer %s' S3CRET | x",
		  "printf 'Authorization: ***' *** | x" },
		{ "vault login '!S3CRET'", "vault login '!***'" },
		{ "{ echo S3CRET; ls a; echo S3CRET; } | passwd me",
		  "{ echo ***; ls a; echo ***; } | passwd me" },
		{ "(echo S3CRET; sleep 1; echo S3CRET)|passwd", "(echo ***; sleep 1; echo ***)|passwd" },
		{ "{ { echo S3CRET | tr a b; }; } 2>/dev/null |\n sudo -S ls",
		  "{ { echo *** | tr a b; }; } 2>/dev/null |\n sudo -S ls" },
		{ "if a; then echo S3CRET; else echo S3CRET; fi | passwd me",
		  "if a; then echo ***; else echo ***; fi | passwd me" },
		{ "{ (a; b); if a; then b; fi; echo S3CRET; } | passwd me",
		  "{ (a; b); if a; then b; fi; echo ***; } | passwd me" },
		{ "echo S3CRET | while read l; do passwd me; done",
		  "echo *** | while read l; do passwd me; done" },
		{ "ssh h '{ echo S3CRET; cat; } | sudo -S sh'; ls",
		  "ssh h '{ echo ***; cat; } | sudo -S sh'; ls" },
		{ "{ cat <<< S3CRET; } | passwd me", "{ cat <<< ***; } | passwd me" },
		{ "{ cat <<E\nS3CRET\nE\n} | passwd me", "{ cat <<E\n***\nE\n} | passwd me" },
		{ "echo 'h:5432:d:me:S3CRET' >> ~/.pgpass; ls", "echo *** >> ~/.pgpass; ls" },
		{ "cat >\"$HOME/.pgpass\" <<E\nh:5432:*:me:S3CRET\nE\nls",
		  "cat >\"$HOME/.pgpass\" <<E\n***\nE\nls" },
		{ "printf 'h:*:*:me:S3CRET\\n' | tee -a ~/.pgpass", "printf *** | tee -a ~/.pgpass" },
		{ "tee >(passwd me) <<< S3CRET", "tee >(passwd me) <<< ***" },
		{ "(echo a\\)S3CRET) | passwd me", "(echo ***) | passwd me" },
		{ "echo $(x; y)S3CRET | passwd me", "echo *** | passwd me" },
		{ "(echo S3CRET)2>/dev/null | passwd me", "(echo ***)2>/dev/null | passwd me" },
		{ "{ echo S3CRET; case $x in a) b;; (c) d;; esac; } | passwd me; echo hi",
		  "{ echo ***; case $x in a) b;; (c) d;; esac; } | passwd me; echo hi" },
		{ "case $x in a) echo S3CRET;; esac | passwd me",
		  "case $x in a) echo ***;; esac | passwd me" },
		{ "echo S3CRET 2>&1 | passwd me", "echo *** | passwd me" },
		{ "passwd me 2>&1 <<< S3CRET", "passwd me 2>&1 <<< ***" },
		{ "(# don't\nx --token 'a S3CRET')", "(# don't\nx --token ***" },
		{ "printf \"API_KEY=%s\\n\" S3CRET >>.env", "printf \"API_KEY=***\" *** >>.env" },
		{ "printf 'user=%s\\npassword=%s\\n' me 'a;S3CRET' | git credential approve; ls",
		  "printf 'user=%s\\npassword=***' *** | git credential approve; ls" },
		{ "ssh h \"printf 'TOKEN=%s' \\\"a S3CRET\\\" | tee f\"; ls",
		  "ssh h \"printf 'TOKEN=***' *** | tee f\"; ls" },
		{ "mysql --defaults-file=<(printf 'password=%s' S3CRET) db",
		  "mysql --defaults-file=<(printf 'password=***' ***) db" },
		{ "echo S3CRET | kinit me@R", "echo *** | kinit me@R" },
		{ "printf 'me:S3CRET\\n' | newusers", "printf *** | newusers" },
		{ "vncpasswd -f <<< S3CRET >f", "vncpasswd -f <<< *** >f" },
		{ "echo -n S3CRET | argon2 salt -id", "echo -n *** | argon2 salt -id" },
		{ "echo S3CRET | openconnect -u me --passwd-on-stdin h",
		  "echo *** | openconnect -u me --passwd-on-stdin h" },
		{ "echo S3CRET | secret-tool store --label x a b",
		  "echo *** | secret-tool store --label x a b" },
		{ "pass insert -m x <<E\nS3CRET\nE", "pass insert -m x <<E\n***\nE" },
		{ "echo S3CRET | openssl rsa -passin stdin -in k",
		  "echo *** | openssl rsa -passin stdin -in k" },
		{ "sshfs -o password_stdin me@h: m <<< S3CRET", "sshfs -o password_stdin me@h: m <<< ***" },
		{ "wg pubkey <<< S3CRET", "wg pubkey <<< ***" },
		{ "x --password-file <(echo 'a S3CRET') y", "x --password-file *** y" },
		{ "x --token-file=<(printf %s \"S3CRET\" | tr a b) y", "x --token-file=*** y" },
		{ "sh -c 'x --passphrase-file <(echo S3CRET S3CRET)'; ls",
		  "sh -c 'x --passphrase-file ***'; ls" },
		{ "x --token <(f S3CRET) y", "x --token *** y" },
		{ "sshpass -f <(echo 'a S3CRET') ssh h", "sshpass -f <(echo ***) ssh h" },
		{ "openvpn --auth-user-pass <(printf 'u\nS3CRET\n') x",
		  "openvpn --auth-user-pass <(printf ***) x" },
		{ "wg set w private-key <(echo S3CRET|tr a b) x",
		  "wg set w private-key <(echo ***|tr a b) x" },
		{ "podman secret create s <(printf S3CRET)", "podman secret create s <(printf ***)" },
		{ "ssh h \"sshpass -f <(echo S3CRET) x\"; ls", "ssh h \"sshpass -f <(echo ***) x\"; ls" },
		{ "docker exec c $CURL -u me:S3CRET h", "docker exec c $CURL -u me:*** h" },
		{ "openssl passwd -1 -salt x 'S3CRET'", "openssl passwd -1 -salt *** '***'" },
		{ "xh -A bearer -a S3CRET h", "xh -A bearer -a *** h" },
		{ "redis-cli AUTH me S3CRET", "redis-cli AUTH *** ***" },
		{ "glab variable set A_TOKEN S3CRET -m", "glab variable set A_TOKEN *** -m" },
		{ "glab variable set A --value S3CRET", "glab variable set A --value ***" },
		{ "netlify env:set STRIPE_KEY S3CRET", "netlify env:set STRIPE_KEY ***" },
		{ "consul kv put app/db/password S3CRET", "consul kv put app/db/password ***" },
		{ "etcdctl put /app/password S3CRET", "etcdctl put /app/password ***" },
		{ "crudini --set f s password S3CRET", "crudini --set f s password ***" },
		{ "poetry config http-basic.x me S3CRET", "poetry config http-basic.x *** ***" },
		{ "mc alias set m http://h:90 me S3CRET", "mc alias set m http://h:90 *** ***" },
		{ "drush sset api_key S3CRET", "drush sset api_key ***" },
		{ "wp option update api_key S3CRET", "wp option update api_key ***" },
		{ "samba-tool user create u S3CRET", "samba-tool user create u ***" },
		{ "bao login S3CRET", "bao login ***" },
		{ "valkey-cli -a S3CRET ping", "valkey-cli -a *** ping" },
		{ "hdbsql -u S -p S3CRET", "hdbsql -u S -p ***" },
		{ "vsql -U u -w S3CRET", "vsql -U u -w ***" },
		{ "knife bootstrap h -P S3CRET", "knife bootstrap h -P ***" },
		{ "az vm user update -u a -p S3CRET -n v", "az vm user update -u a -p *** -n v" },
		{ "supabase db push -p S3CRET", "supabase db push -p ***" },
		{ "influx user password -n u -p S3CRET", "influx user password -n u -p ***" },
		{ "su me -c ls <<< S3CRET", "su me -c ls <<< ***" },
		{ "createuser -eP u <<< S3CRET", "createuser -eP u <<< ***" },
		{ "echo S3CRET | eyaml encrypt --stdin", "echo *** | eyaml encrypt --stdin" },
		{ "htdigest f r u <<< S3CRET", "htdigest f r u <<< ***" },
		{ "terraform login <<< S3CRET", "terraform login <<< ***" },
		{ "bw login a@b.c S3CRET --raw", "bw login a@b.c *** --raw" },
		{ "security add-generic-password -a u -w S3CRET",
		  "security add-generic-password -a u -w ***" },
		{ "security import c.p12 -P S3CRET", "security import c.p12 -P ***" },
		{ "xcrun altool -u a -p S3CRET -f x", "xcrun altool -u a -p *** -f x" },
		{ "signtool sign /f c.pfx /p S3CRET a.exe", "signtool sign /f c.pfx /p *** a.exe" },
		{ "bitcoin-cli walletpassphrase S3CRET 60", "bitcoin-cli walletpassphrase *** 60" },
		{ "cat >f <<E\nproxy_set_header X-Api-Key S3CRET;\nE",
		  "cat >f <<E\nproxy_set_header X-Api-Key ***;\nE" },
		{ "gpg --passphrase-fd 3 -d f 3<<<S3CRET", "gpg --passphrase-fd 3 -d f 3<<<***" },
		{ "echo S3CRET | az devops login", "echo *** | az devops login" },
		{ "hcloud context create x <<< S3CRET", "hcloud context create x <<< ***" },
		{ "kubeseal --raw <<< S3CRET", "kubeseal --raw <<< ***" },
		{ "npm login <<< $'me\nS3CRET'", "npm login <<< $'***'" },
		{ "keepassxc-cli show f x <<< S3CRET", "keepassxc-cli show f x <<< ***" },
		{ "echo S3CRET | kubectl create secret generic s --from-file=p=/dev/stdin",
		  "echo *** | kubectl create secret generic s --from-file=p=/dev/stdin" },
	};

	(void)state;
	assert_masked(cases, sizeof(cases) / sizeof(cases[0]));
}

/* The value is the whole word of the shell: lines that go on, and parts that are quoted. */
static void test_audit_redact_masks_whole_words(void **state)
{
	static const struct masked cases[] = {
		{ "true \\\n  --password \\\n  S3CRET x", "true \\\n  --password \\\n  *** x" },
		{ "mysql -u root \\\n --password \\\n S3CRET db",
		  "mysql -u root \\\n --password \\\n *** db" },
		{ "TOKEN=abc\\\nS3CRET ls", "TOKEN=*** ls" },
		{ "TOKEN=S3CRET \\\n ls", "TOKEN=*** \\\n ls" },
		{ "TOKEN=S3CRET\\\n ls", "TOKEN=***\\\n ls" },
		{ "curl -H \"Authorization: Bearer \\\nS3CRET\" h", "curl -H \"Authorization: ***\" h" },
		{ "docker login -p \\\n S3CRET h", "docker login -p \\\n *** h" },
		{ "curl -u \\\n me:S3CRET h", "curl -u \\\n me:*** h" },
		{ "PGPASSWORD='it'\"'\"'sS3CRET' psql", "PGPASSWORD='***' psql" },
		{ "x --token 'it'\"'\"'sS3CRET' y", "x --token '***' y" },
		{ "x --password='it'\"'\"'sS3CRET' y", "x --password='***' y" },
		{ "curl -u 'u:it'\"'\"'sS3CRET' h", "curl -u 'u:***' h" },
		{ "curl -H 'Authorization: Bearer it'\"'\"'sS3CRET' h",
		  "curl -H 'Authorization: ***' h" },
		{ "docker login -p 'it'\"'\"'sS3CRET' h", "docker login -p '***' h" },
		{ "TOKEN=pre\"S3CRET\" x", "TOKEN=*** x" },
		{ "x --password=a\" S3CRET\" y", "x --password=*** y" },
		{ "PASSWORD='a'\\''S3CRET' x", "PASSWORD='***' x" },
		{ "PASSWORD=a\\\"S3CRET x", "PASSWORD=*** x" },
		{ "PASSWORD=$'it\\'sS3CRET' x", "PASSWORD=$'***' x" },
		{ "curl -H 'Authorization: Bearer 'S3CRET h", "curl -H 'Authorization: *** h" },
		{ "curl -H Authorization:$'S3CRET' h", "curl -H Authorization:$'***' h" },
		{ "sh -c 'vault login '\"'\"'a S3CRET'\"'\"''; ls", "sh -c 'vault login '\"'\"'***'; ls" },
		{ "curl -H Authorization:\"Bearer S3CRET\" h", "curl -H Authorization:\"***\" h" },
		{ "curl -u 'u':S3CRET h", "curl -u 'u':*** h" },
		{ "curl -u\"u:S3CRET\" h", "curl -u\"u:***\" h" },
		{ "x \"--password=a S3CRET\" y", "x \"--password=***\" y" },
		{ "curl -H \"Authorization: Digest username=\\\"x\\\", response=\\\"S3CRET\\\"\" h",
		  "curl -H \"Authorization: ***\" h" },
		{ "curl -H \"Cookie: x='S3CRET'\" h", "curl -H \"Cookie: ***\" h" },
		{ "Authorization: Digest username=\"x\", response=\"S3CRET\"\nHost: h",
		  "Authorization: ***\nHost: h" },
		/* so is what a substitution has, which may be made of the secret */
		{ "AUTH=$(echo -n \"u:S3CRET\" | base64) x", "AUTH=*** x" },
		{ "AUTH=\"$(echo -n \"u: S3CRET\" | base64)\" x", "AUTH=\"***\" x" },
		{ "mysql -p$(f $((1 + 2)) S3CRET) db", "mysql -p*** db" },
		{ "sh -c 'AUTH=$(echo S3CRET) x'; ls", "sh -c 'AUTH=*** x'; ls" },
		{ "PASSWORD='a$(S3CRET' x", "PASSWORD='***' x" },
		{ "sh -c 'AUTH=$(S3CRET' x", "sh -c 'AUTH=***' x" },
		{ "PASSWORD=`cat S3CRET S3CRET` x", "PASSWORD=*** x" },
		{ "sh -c \"AUTH=\\`f 'S3CRET' S3CRET\\` x\"", "sh -c \"AUTH=*** x\"" },
		{ "node -e 'const password = `a S3CRET`, x = 1'", "node -e 'const password = ***, x = 1'" },
		/* the value of an option is one word */
		{ "docker run -e \"PASSWORD=a S3CRET;S3CRET\" x", "docker run -e \"PASSWORD=***\" x" },
		{ "openssl rsa -passin 'pass:a S3CRET' -in f", "openssl rsa -passin 'pass:***' -in f" },
		{ "k --from-literal='password=a&S3CRET' x", "k --from-literal='password=***' x" },
		{ "sh -c \"docker run -e 'PASSWORD=a S3CRET' x\"",
		  "sh -c \"docker run -e 'PASSWORD=***' x\"" },
		{ "sh -lc \"PASSWORD=S3CRET psql -l\"", "sh -lc \"PASSWORD=*** psql -l\"" },
		{ "su --command=\"PASSWORD=S3CRET psql -l\"", "su --command=\"PASSWORD=*** psql -l\"" },
		{ "sh -c \"sh -c \\\"PASSWORD=S3CRET psql -l\\\"\"",
		  "sh -c \"sh -c \\\"PASSWORD=*** psql -l\\\"\"" },
		{ "sh -c \"docker run -e \\\"PASSWORD=a S3CRET\\\" x\"",
		  "sh -c \"docker run -e \\\"PASSWORD=***\" x\"" },
		{ "docker run -e $'PASSWORD=a S3CRET' x", "docker run -e $'PASSWORD=***' x" },
		/* a value that begins with a blank */
		{ "echo \"$(x --token=\" S3CRET b\" c)\"", "echo \"$(x --token=\"***\" c)\"" },
		{ "cat <<X\n5\" disk\npassword: \" S3CRET\" c\nX",
		  "cat <<X\n5\" disk\npassword: \"***\" c\nX" },
		/* in another command, in JSON, in a program: only the value */
		{ "sh -c \"mysql -p'S3CRET' db\"; ls", "sh -c \"mysql -p'***' db\"; ls" },
		{ "bash -c 'PGPASSWORD='\"'\"'a S3CRET'\"'\"' psql'",
		  "bash -c 'PGPASSWORD='***' psql'" },
		{ "ssh h \"sh -c 'PGPASSWORD=\\\"a S3CRET\\\" psql'\"",
		  "ssh h \"sh -c 'PGPASSWORD=\\\"***\\\" psql'\"" },
		{ "curl -d '{\"password\":\"it'\"'\"'sS3CRET\",\"x\":1}' h",
		  "curl -d '{\"password\":\"***\",\"x\":1}' h" },
		{ "python -c \"f(password='S3CRET', user='me')\"",
		  "python -c \"f(password='***', user='me')\"" },
		/* an apostrophe that is no quote does not hide the quotes behind it */
		{ "cat <<E\ndon't\nE\nx --password 'a S3CRET' y",
		  "cat <<E\ndon't\nE\nx --password '***' y" },
		{ "# don't\nx --password 'a'\"S3CRET\" y", "# don't\nx --password *** y" },
		/* an array is one, too */
		{ "PASS=(\"S3CRET\" \"b S3CRET\") x", "PASS=*** x" },
		{ "TOKENS_SECRET=(\n  a\n  S3CRET\n)\nls", "TOKENS_SECRET=***\nls" },
		{ "PASS+=(S3CRET b); ls (a)", "PASS+=***; ls (a)" },
		{ "bash -c 'PASS=(a S3CRET); x' y", "bash -c 'PASS=***; x' y" },
		{ "PASS=('a)' S3CRET \\) \"b) S3CRET\") x", "PASS=*** x" },
		{ "PASS=(a '(' b); ls (a)", "PASS=***; ls (a)" },
		{ "bash -c \"PASS=('a)' S3CRET); x\" y", "bash -c \"PASS=***; x\" y" },
		{ "AUTH=$(printf %s 'u:)' S3CRET | base64) x", "AUTH=*** x" },
		{ "AUTH=\"$(printf %s \"u:) S3CRET\" | base64)\" x", "AUTH=\"***\" x" },
		/* so is a block of YAML, as far as it is indented */
		{ "cat <<E\ndata:\n  password: |\n    a S3CRET\n\n    S3CRET\n  user: me\nE",
		  "cat <<E\ndata:\n  password: |\n    ***\n  user: me\nE" },
		{ "cat >f <<E\npassword: >-\n  S3CRET\n   it's S3CRET\nE\nls",
		  "cat >f <<E\npassword: >-\n  ***\nE\nls" },
		{ "cat <<E\n- api_key: |2\n   S3CRET\n  user: me\nE",
		  "cat <<E\n- api_key: |2\n   ***\n  user: me\nE" },
		{ "echo 'password: |\n  S3CRET\n' >f; ls", "echo 'password: |\n  ***\n' >f; ls" },
		{ "printf '%s' \"token: >\n  S3CRET\" >f", "printf '%s' \"token: >\n  ***\" >f" },
		{ "cat <<E\npassword: |- # token=S3CRET\n  S3CRET\nuser: me\nE",
		  "cat <<E\npassword: |- ***\nuser: me\nE" },
		{ "cat <<E\npassword: >+2\t# b\n  S3CRET\nE", "cat <<E\npassword: >+2\t***\nE" },
		{ "cat <<-E\n\ta:\n\t  password:\t|\n\t    S3CRET\n\t    \tS3CRET\n\t  user: me\nE",
		  "cat <<-E\n\ta:\n\t  password:\t|\n\t    ***\n\t  user: me\nE" },
		{ "cat <<E\n  - \"password\": |\n      S3CRET\n    user: me\nE",
		  "cat <<E\n  - \"password\": |\n      ***\n    user: me\nE" },
		{ "sh -c \"cat <<E\n  \\\"token\\\": |\n    S3CRET\n  b: c\nE\n\"",
		  "sh -c \"cat <<E\n  \\\"token\\\": |\n    ***\n  b: c\nE\n\"" },
		{ "echo \\\n  \"'password': |\n  S3CRET\" >f", "echo \\\n  \"'password': |\n  ***\" >f" },
		{ "echo '  password: |\n    S3CRET\n  b: c' >f", "echo '  password: |\n    ***\n  b: c' >f" },
		{ "echo \\\n  'password: |\n  S3CRET' >f", "echo \\\n  'password: |\n  ***' >f" },
		/* ... which only | or > announces */
		{ "a:\n  password: 12345\n    # b", "a:\n  password: ***\n    # b" },
		{ "{ \"token\": 12345\n  }", "{ \"token\": ***\n  }" },
		{ "password: -12\n  a: b", "password: ***\n  a: b" },
		/* a redirection is no value, but what it feeds may be */
		{ "x --password 12345", "x --password ***" },
		{ "gh auth login --with-token <<< S3CRET", "gh auth login --with-token <<< ***" },
		{ "gh auth login <<< S3CRET --with-token", "gh auth login <<< *** --with-token" },
		{ "cat <<< --with-token 'S3CRET'", "cat <<< --with-token '***'" },
		{ "docker login --password-stdin <<<\"S3CRET\" h",
		  "docker login --password-stdin <<<\"***\" h" },
	};

	(void)state;
	assert_masked(cases, sizeof(cases) / sizeof(cases[0]));
}

/* An argument is a word whatever it contains. */
static void test_audit_redact_masks_arguments(void **state)
{
	static const struct {
		const char *text, *args[6], *shown;
	} cases[] = {
		{ "x", { "--password", "a'bS3CRET", "y" }, "x --password *** y" },
		{ "x", { "--password=a'b S3CRET", "y" }, "x --password=*** y" },
		{ "x", { "PASSWORD=a\"S3CRET", "y" }, "x PASSWORD=*** y" },
		{ "x", { "password: |\n  S3CRET", "y" }, "x password: |\n  *** y" },
		{ "x", { "password: |", "y" }, "x password: | y" },
		{ "curl", { "https://u:'S3CRET'@h/" }, "curl https://u:***@h/" },
		{ "x", { "--token", "a S3CRET" }, "x --token ***" },
		{ "curl", { "-x", "u:S3CRET@h:80", "h" }, "curl -x u:***@h:80 h" },
		{ "x", { "--token", ".*S3CRET" }, "x --token ***" },
		{ "sed", { "s/token: .*/token: S3CRET/", "f" }, "sed s/token: .*/token: *** f" },
		{ "x", { "--token", "--next" }, "x --token --next" },
		{ "x", { "--token" }, "x --token" },
		{ "x", { "", "a b", "" }, "x  a b " },
		{ "curl", { "-u", "me:a S3CRET", "h" }, "curl -u me:*** h" },
		{ "curl", { "-H", "Authorization: Digest x=\"S3CRET\", y=\"S3CRET\"", "h" },
		  "curl -H Authorization: *** h" },
		{ "mysql", { "-pa S3CRET", "db" }, "mysql -p*** db" },
		{ "mysql", { "-p", "db" }, "mysql -p db" },
		{ "mysql", { "-p<S3CRET", "db" }, "mysql -p*** db" },
		{ "docker", { "login", "-p", "a \"S3CRET", "h" }, "docker login -p *** h" },
		{ "vault", { "login", "a S3CRET" }, "vault login ***" },
		{ "aws", { "configure", "set", "aws_session_token", "a S3CRET" },
		  "aws configure set aws_session_token ***" },
		{ "htpasswd", { "-b", "f", "u", "a S3CRET" }, "htpasswd -b f *** ***" },
		{ "x", { "--password", "no S3CRET", "y" }, "x --password *** y" },
		{ "x", { "--password=no S3CRET", "y" }, "x --password=*** y" },
		{ "docker", { "run", "-e", "PASSWORD=a S3CRET", "x" }, "docker run -e PASSWORD=*** x" },
		{ "openssl", { "rsa", "-passin", "pass:a S3CRET" }, "openssl rsa -passin pass:***" },
		{ "sh", { "-c", "echo S3CRET | sudo -S ls" }, "sh -c echo *** | sudo -S ls" },
		{ "sh", { "-c", "PGPASSWORD='a S3CRET' psql -l" }, "sh -c PGPASSWORD='***' psql -l" },
		{ "sh -c 'x", { "--password", "a S3CRET", "y" }, "sh -c 'x --password *** y" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *shown = audit_redact(cases[i].text, cases[i].args);

		assert_string_equal(shown, cases[i].shown);
		free(shown);
	}
}

/* Names, options and prefixes that secrets have. */
static void test_audit_redact_knows_names(void **state)
{
	static const struct masked cases[] = {
		{ "PASSWORD+=S3CRET x", "PASSWORD+=*** x" },
		{ "cat >~/.netrc <<E\nmachine h\n  login me\n  password S3CRET\nmachine i\nE",
		  "cat >~/.netrc <<E\nmachine h\n  login me\n  password ***\nmachine i\nE" },
		{ "echo 'machine h login me password S3CRET' >f",
		  "echo 'machine h login me password ***' >f" },
		{ "PASSWORD[0]=S3CRET x", "PASSWORD[0]=*** x" },
		{ "python -c \"os.environ['API_KEY']='S3CRET'; f()\"",
		  "python -c \"os.environ['API_KEY']='***'; f()\"" },
		{ "ruby -e \"c = { 'password' => 'S3CRET', 'x' => 1 }\"",
		  "ruby -e \"c = { 'password' => '***', 'x' => 1 }\"" },
		{ "php -r \"define('DB_PASSWORD', 'a S3CRET'); f('x');\"",
		  "php -r \"define('DB_PASSWORD', '***'); f('x');\"" },
		{ "cat <<E\nos.Setenv(\"API_TOKEN\", \"a S3CRET\")\nE",
		  "cat <<E\nos.Setenv(\"API_TOKEN\", \"***\")\nE" },
		{ "python3 m.py shell -c \"u.set_password('a S3CRET')\"",
		  "python3 m.py shell -c \"u.set_password('***')\"" },
		{ "python3 -c 'import bcrypt; bcrypt.hashpw(b\"S3CRET\", s)'",
		  "python3 -c 'import bcrypt; bcrypt.hashpw(b\"***\", s)'" },
		{ "rails r 'User.first.setPassword( \"S3CRET\" )'",
		  "rails r 'User.first.setPassword( \"***\" )'" },
		{ "python3 -c \"p = getpass.getpass('Password: '); set_password(p)\"",
		  "python3 -c \"p = getpass.getpass('Password: '); set_password(p)\"" },
		{ "expect -c 'expect \"yes?\"; send \"yes\\r\"; expect \"assword: \"; send \"S3CRET\\r\"; "
		  "expect \"$ \"; send \"ls\\r\"'",
		  "expect -c 'expect \"yes?\"; send \"yes\\r\"; expect \"assword: \"; send \"***\"; "
		  "expect \"$ \"; send \"ls\\r\"'" },
		{ "expect -c 'expect { \"*?assphrase*\" { send -- \"S3CRET\\r\" } }'",
		  "expect -c 'expect { \"*?assphrase*\" { send -- \"***\" } }'" },
		{ "python3 -c \"c.expect('Password: '); c.sendline(b'S3CRET'); c.sendline('ls')\"",
		  "python3 -c \"c.expect('Password: '); c.sendline(b'***'); c.sendline('ls')\"" },
		{ "./reset-password.sh; notify-send \"all done\"",
		  "./reset-password.sh; notify-send \"all done\"" },
		{ "expect -c 'expect \"assword:\"; send \"S3CRET\r\"; expect \"Retype\"; send \"S3CRET\r\"'",
		  "expect -c 'expect \"assword:\"; send \"***\"; expect \"Retype\"; send \"***\"'" },
		/* functions that are given one, as one of several */
		{ "python3 -c \"s.login('me@h', 'S3CRET'); f('a', 'b')\"",
		  "python3 -c \"s.login('me@h', '***'); f('a', 'b')\"" },
		{ "python3 -c 'U.objects.create_superuser(\"a\", \"a@b\", \"S3CRET\")'",
		  "python3 -c 'U.objects.create_superuser(\"a\", \"a@b\", \"***\")'" },
		{ "python3 -c \"jwt.encode({'a': [1, 2]}, 'S3CRET', algorithm='HS256')\"",
		  "python3 -c \"jwt.encode({'a': [1, 2]}, '***', algorithm='HS256')\"" },
		{ "python3 -c \"hmac.new(b'S3CRET', b'a', sha256)\"",
		  "python3 -c \"hmac.new(b'***', b'a', sha256)\"" },
		{ "node -e \"require('bcryptjs').hashSync('S3CRET', 10)\"",
		  "node -e \"require('bcryptjs').hashSync('***', 10)\"" },
		{ "node -e 'c.createHmac(\"sha256\", \"S3CRET\").update(x)'",
		  "node -e 'c.createHmac(\"sha256\", \"***\").update(x)'" },
		{ "ruby -e \"BCrypt::Password.create('S3CRET')\"",
		  "ruby -e \"BCrypt::Password.create('***')\"" },
		{ "ruby -e \"r.basic_auth 'u', 'S3CRET'\"", "ruby -e \"r.basic_auth 'u', '***'\"" },
		{ "php -r \"password_hash('S3CRET', PASSWORD_BCRYPT);\"",
		  "php -r \"password_hash('***', PASSWORD_BCRYPT);\"" },
		{ "php -r 'mysqli_connect(\"h\", \"u\", \"S3CRET\", \"d\");'",
		  "php -r 'mysqli_connect(\"h\", \"u\", \"***\", \"d\");'" },
		{ "php -r \"new PDO('mysql:host=h;a=b', f(1, 2), 'S3CRET');\"",
		  "php -r \"new PDO('mysql:host=h;a=b', f(1, 2), '***');\"" },
		{ "perl -e 'DBI->connect(\"dbi:a://u:S3CRET@h\", \"u\", \"S3CRET\")'",
		  "perl -e 'DBI->connect(\"dbi:a://u:***@h\", \"u\", \"***\")'" },
		{ "mongosh --eval 'db.auth(\"a\", \"S3CRET\")'", "mongosh --eval 'db.auth(\"a\", \"***\")'" },
		{ "psql -c \"SELECT pgp_sym_decrypt(data, 'S3CRET')\"",
		  "psql -c \"SELECT pgp_sym_decrypt(data, '***')\"" },
		{ "pwsh -c \"ConvertTo-SecureString -String 'S3CRET' -AsPlainText\"",
		  "pwsh -c \"ConvertTo-SecureString -String '***' -AsPlainText\"" },
		{ "cat <<E\nprops.put(\"mail.password\", \"S3CRET\");\nE",
		  "cat <<E\nprops.put(\"mail.password\", \"***\");\nE" },
		{ "cat <<E\ns.auth = (\"me\", \"S3CRET\")\nE", "cat <<E\ns.auth = ***\nE" },
		{ "python3 -c \"l.simple_bind_s('cn=a', 'S3CRET')\"",
		  "python3 -c \"l.simple_bind_s('cn=a', '***')\"" },
		{ "curl -d '{\"mfa_code\":\"482913\"}' h", "curl -d '{\"mfa_code\":\"***\"}' h" },
		{ "aws s3 cp a b --sse-c-key S3CRET", "aws s3 cp a b --sse-c-key ***" },
		{ "curl -H auth:S3CRET h", "curl -H auth:*** h" },
		/* a member, but no directory */
		{ "curl -d '{\"pwd\":\"S3CRET\"}' h", "curl -d '{\"pwd\":\"***\"}' h" },
		{ "mongosh --eval \"f({user: 'a', pwd: 'S3CRET'})\"",
		  "mongosh --eval \"f({user: 'a', pwd: '***'})\"" },
		{ "curl 'h?user=a&pwd=S3CRET'", "curl 'h?user=a&pwd=***'" },
		{ "x ParameterKey=DbPassword,ParameterValue=S3CRET",
		  "x ParameterKey=DbPassword,ParameterValue=***" },
		{ "curl -H 'DD-APPLICATION-KEY: S3CRET' h", "curl -H 'DD-APPLICATION-KEY: ***' h" },
		{ "cat <<E\n  client-key-data: S3CRET\nE", "cat <<E\n  client-key-data: ***\nE" },
		{ "export MNEMONIC=\"a b S3CRET\"", "export MNEMONIC=\"***\"" },
		{ "cat >~/.netrc <<E\ndefault\nlogin me\npassword S3CRET\nE",
		  "cat >~/.netrc <<E\ndefault\nlogin me\npassword ***\nE" },
		/* a line NAME VALUE */
		{ "cat >f <<E\nport 6379\nrequirepass S3CRET99\nE",
		  "cat >f <<E\nport 6379\nrequirepass ***\nE" },
		{ "cat >f <<E\n\tremote_password S3CRET99\nE", "cat >f <<E\n\tremote_password ***\nE" },
		{ "node -e 'rl.question(\"Password: \", p => f(\"x\"))'; grep -q \"token=\"; ls",
		  "node -e 'rl.question(\"Password: \", p => f(\"x\"))'; grep -q \"token=\"; ls" },
		{ "sh -c \"f --password=');S3CRET'\"", "sh -c \"f --password='***'\"" },
		{ "cat <<E\ndon't\nPASSWORD=')S3CRET'\nE", "cat <<E\ndon't\nPASSWORD='***'\nE" },
		{ "python3 -c 'f(\"token=\",x[\"a\"])'; grep -q \"token=\";cat \"f\"",
		  "python3 -c 'f(\"token=\",x[\"a\"])'; grep -q \"token=\";cat \"f\"" },
		{ "cat <<E\ndefine( \"AUTH_KEY\", \"a S3CRET\" );\nE",
		  "cat <<E\ndefine( \"AUTH_KEY\", \"***\" );\nE" },
		{ "python3 -c 'os.environ.setdefault(\"API_TOKEN\",\"S3CRET\")'",
		  "python3 -c 'os.environ.setdefault(\"API_TOKEN\",\"***\")'" },
		{ "cat <<E\n  password: str = \"a S3CRET\"  # b\nE",
		  "cat <<E\n  password: *** = \"***\"  # b\nE" },
		{ "cat <<E\n{\"args\": [\"-v\", \"--api-key\", \"a S3CRET\", \"x\"]}\nE",
		  "cat <<E\n{\"args\": [\"-v\", \"--api-key\", \"***\", \"x\"]}\nE" },
		{ "cat <<E\n- name: DB_PASSWORD\n  value: S3CRET\n- name: A\nE",
		  "cat <<E\n- name: DB_PASSWORD\n  value: ***\n- name: A\nE" },
		{ "x '[{\"name\":\"API_KEY\",\"value\":\"a S3CRET\"},{\"name\":\"A\",\"value\":\"b\"}]'",
		  "x '[{\"name\":\"API_KEY\",\"value\":\"***\"},{\"name\":\"A\",\"value\":\"b\"}]'" },
		{ "cat <<E\n<a name=\"password\" value=\"a S3CRET\"/>\nE",
		  "cat <<E\n<a name=\"password\" value=\"***\"/>\nE" },
		{ "aws x --tags Key=db-password,Value=S3CRET", "aws x --tags Key=db-password,Value=***" },
		{ "cat <<E\n<user>me</user><password>a S3CRET</password>\nE",
		  "cat <<E\n<user>me</user><password>***</password>\nE" },
		{ "SSHPASS=S3CRET sshpass -e ssh h", "SSHPASS=*** sshpass -e ssh h" },
		{ "DBPASS=S3CRET x", "DBPASS=*** x" },
		{ "keytool -storepass S3CRET -keypass S3CRET", "keytool -storepass *** -keypass ***" },
		{ "x --pwd S3CRET y", "x --pwd *** y" },
		{ "x -pwd S3CRET y", "x -pwd *** y" },
		{ "sqlcmd \"Server=h;Uid=u;Pwd=S3CRET;X=1\"", "sqlcmd \"Server=h;Uid=u;Pwd=***;X=1\"" },
		{ "redis-cli -h h -a\"S3CRET\" ping", "redis-cli -h h -a\"***\" ping" },
		{ "curl -su u:S3CRET h", "curl -su u:*** h" },
		{ "curl -sSfu u:S3CRET h", "curl -sSfu u:*** h" },
		{ "psql -c \"ALTER USER me PASSWORD 'a S3CRET' x\"",
		  "psql -c \"ALTER USER me PASSWORD '***' x\"" },
		{ "mysql -e 'create user a identified by \"S3CRET\";'",
		  "mysql -e 'create user a identified by \"***\";'" },
		{ "mysql -e \"alter user a identified with p by 'S3CRET'\"",
		  "mysql -e \"alter user a identified with p by '***'\"" },
		{ "mysql -e \"set password for 'a'@'b' = password('S3CRET')\"",
		  "mysql -e \"set password for 'a'@'b' = password('***')\"" },
		{ "mysql -e \"grant x to a identified  by \\\"S3CRET\\\"\"",
		  "mysql -e \"grant x to a identified  by \\\"***\\\"\"" },
		{ "psql -c \"ALTER USER me PASSWORD E'S3CRET'\"",
		  "psql -c \"ALTER USER me PASSWORD E'***'\"" },
		{ "PASSWORD=no\"S3CRET\" x", "PASSWORD=*** x" },
		{ "PASSWORD=no\\\nS3CRET x", "PASSWORD=*** x" },
		{ "x \"--passphrase=no S3CRET\" y", "x \"--passphrase=***\" y" },
		{ "curl -d 'password=on|S3CRET' h", "curl -d 'password=***' h" },
		{ "STRIPE_KEY=S3CRET DB_PW=S3CRET x", "STRIPE_KEY=*** DB_PW=*** x" },
		{ "x \"AccountName=a;AccountKey=S3CRET==;X=1\"", "x \"AccountName=a;AccountKey=***;X=1\"" },
		{ "echo GOCSPX-S3CRETS3CRETS3CRET", "echo GOCSPX-***" },
		{ "curl -d a https://hooks.slack.com/services/T0/B0/S3CRET",
		  "curl -d a https://hooks.slack.com/services/***" },
		{ "hooks.slack.com/services/T0/S3CRET", "hooks.slack.com/services/***" },
		{ "\"a/npm_S3CRETS3CRETS3CRET\"", "\"a/npm_***\"" },
		{ "curl -d a https://discord.com/api/webhooks/1/S3CRET",
		  "curl -d a https://discord.com/api/webhooks/***" },
		{ "curl \"https://api.telegram.org/bot12:S3CRET/getMe\"",
		  "curl \"https://api.telegram.org/bot***\"" },
		{ "curl -H 'Proxy-Authorization: Basic S3CRET' h",
		  "curl -H 'Proxy-Authorization: ***' h" },
		{ "printf 'Set-Cookie: a=S3CRET; b=S3CRET\\n'", "printf 'Set-Cookie: ***'" },
		{ "sed -i \"s/password: .*/password: S3CRET/\" f",
		  "sed -i \"s/password: .*/password: ***\" f" },
		{ "sed -E 's|TOKEN=[^ ]*|TOKEN=S3CRET|' f", "sed -E 's|TOKEN=[^ ]*|TOKEN=***|' f" },
		{ "perl -pe 's/api_key = .*/api_key = \"S3CRET\"/' f",
		  "perl -pe 's/api_key = .*/api_key = \"***\"/' f" },
		{ "sed 's/(token: ).*/\\1S3CRET/' f", "sed 's/(token: ***' f" },
		{ "TOKEN=.*S3CRET TOKEN=\"[^S3CRET\" x", "TOKEN=*** TOKEN=\"***\" x" },
		{ "bash -c 'x --password .*S3CRET'", "bash -c 'x --password ***'" },
		{ "curl -d 'password=.+S3CRET' h; ls", "curl -d 'password=***' h; ls" },
		{ "ssh h \"TOKEN=[^S3CRET x\"", "ssh h \"TOKEN=*** x\"" },
		{ "PIN=482913 CARD_PIN='4829' x", "PIN=*** CARD_PIN='***' x" },
		{ "docker run -e PIN=482913 x", "docker run -e PIN=*** x" },
		{ "npm publish --otp 482913", "npm publish --otp ***" },
		{ "p11tool --set-pin=482913 -l", "p11tool --set-pin=*** -l" },
		{ "aws sts x --token-code 482913", "aws sts x --token-code ***" },
		{ "curl -d '{\"pin\": \"482913\"}' h", "curl -d '{\"pin\": \"***\"}' h" },
		{ "curl -U u:S3CRET h", "curl -U u:*** h" },
		{ "curl -u 12:34 h; x -u 12:34S3CRET", "curl -u 12:*** h; x -u 12:***" },
		{ "$CURL -u 12:'S3CRET' -u$U:S3CRET h", "$CURL -u 12:'***' -u$U:*** h" },
		{ "curl --proxy-user u:S3CRET h", "curl --proxy-user u:*** h" },
		{ "curl -sb x=S3CRET h", "curl -sb *** h" },
		{ "zip -rP S3CRET a.zip d", "zip -rP *** a.zip d" },
		{ "tailscale up --authkey=S3CRET --ssh", "tailscale up --authkey=*** --ssh" },
		{ "tailscale up --auth-key S3CRET --ssh", "tailscale up --auth-key *** --ssh" },
		{ "TS_AUTHKEY=S3CRET containerboot", "TS_AUTHKEY=*** containerboot" },
		{ "netbird up --setup-key S3CRET", "netbird up --setup-key ***" },
		{ "x --preshared-key=S3CRET", "x --preshared-key=***" },
		{ "pw=S3CRET; plink -pw S3CRET h", "pw=***; plink -pw *** h" },
		{ "redis-server --requirepass S3CRET --masterauth S3CRET",
		  "redis-server --requirepass *** --masterauth ***" },
		{ "curl -H 'Ocp-Apim-Subscription-Key: S3CRET' h",
		  "curl -H 'Ocp-Apim-Subscription-Key: ***' h" },
		{ "echo 'psk=\"S3CRET\"' >>w", "echo 'psk=\"***\"' >>w" },
		{ "echo sk_live_S3CRETS3CRETS3CRET", "echo sk_live_***" },
		{ "echo dckr_pat_S3CRETS3CRETS3CRET", "echo dckr_pat_***" },
		{ "echo ya29.S3CRETS3CRETS3CRET", "echo ya29.***" },
		{ "echo SG.S3CRETS3CRET.S3CRETS3CRET", "echo SG.***" },
		{ "echo shpat_S3CRETS3CRETS3CRET", "echo shpat_***" },
		{ "echo xapp-S3CRETS3CRETS3CRET", "echo xapp-***" },
		{ "echo AGE-SECRET-KEY-1S3CRETS3CRETS3CRET", "echo AGE-SECRET-KEY-***" },
		{ "-----BEGIN PGP PRIVATE KEY BLOCK-----\nS3CRET\n-----END PGP PRIVATE KEY BLOCK-----",
		  "-----BEGIN PGP PRIVATE KEY BLOCK-----***-----END PGP PRIVATE KEY BLOCK-----" },
	};

	(void)state;
	assert_masked(cases, sizeof(cases) / sizeof(cases[0]));
}

/* The heads by which services let their tokens be known, alone and in a text. */
static void test_audit_redact_knows_tokens(void **state)
{
	static const char *const heads[] = {
		"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "xoxa-",
		"xoxb-", "xoxp-", "xoxs-", "AKIA", "ASIA", "AIza", "npm_", "hf_", "pypi-", "eyJ",
		"hvs.", "sk_live_", "rk_live_", "dckr_pat_", "ya29.", "SG.", "shpat_", "xapp-",
		"AGE-SECRET-KEY-", "gsk_", "xai-", "pplx-", "r8_", "nvapi-", "dop_v1_", "whsec_",
		"sk_test_", "rk_test_", "lin_api_", "rubygems_", "sntrys_", "GOCSPX-", "glsa_",
		"glrt-", "gldt-", "ATATT3x", "xoxe-", "xoxe.", "tskey-", "glptt-", "glcbt-", "glft-",
		"gloas-", "hvb.", "figd_", "nfp_", "CCIPAT_", "dt0c01.", "pul-", "dp.st.", "dp.pt.",
		"ntn_", "lin_oauth_", "PMAK-", "phx_", "sbp_", "sq0csp-", "shpss_", "shpca_", "shppa_",
		"ATCTT3x", "CFPAT-", "xkeysib-", "sgp_", "tvly-", "lsv2_pt_", "sntryu_", "dckr_oat_",
		"doo_v1_", "bkua_", "pnu_", "sqp_", "squ_",
	};
	char text[128], shown[128];

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		snprintf(text, sizeof(text), "x '{\"a\":\"%sS3CRETS3CRETS3CRET\"}' b", heads[i]);
		snprintf(shown, sizeof(shown), "x '{\"a\":\"%s***\"}' b", heads[i]);
		assert_masked(&(struct masked){ text, shown }, 1);
	}
}

/* The name in a URL stays if it is not the secret itself; a "/" or "@" ends no password. */
static void test_audit_redact_masks_urls(void **state)
{
	static const struct masked cases[] = {
		{ "curl https://u:p@S3CRET@h/", "curl https://u:***@h/" },
		{ "curl https://u:S3CRET@h/@scope/x", "curl https://u:***@h/@scope/x" },
		{ "git clone https://u:a/S3CRET@h/x", "git clone https://u:***@h/x" },
		{ "git clone https://u:$PASS@h/x", "git clone https://u:***@h/x" },
		{ "git clone https://0123456789abcdefS3CRET@h/x", "git clone https://***@h/x" },
		{ "x redis://:S3CRET@h", "x redis://:***@h" },
		{ "curl https://u:'S3CRET'@h/", "curl https://u:***@h/" },
		{ "curl https://u:\"$(x S3CRET)\"@h/", "curl https://u:***@h/" },
		{ "curl \"https://u:'S3CRET'@h/\"", "curl \"https://u:***@h/\"" },
		{ "sh -c \"curl https://u:\\\"S3CRET\\\"@h/\"", "sh -c \"curl https://u:***@h/\"" },
		{ "curl https://u:'S3C'RET@h 'b@c'", "curl https://u:***@h 'b@c'" },
		/* the pieces that the shell joins */
		{ "curl http://u:'S3C'\"R@E T\"@h/@x", "curl http://u:***@h/@x" },
		{ "curl http://u:S3\"CRET\"@h", "curl http://u:***@h" },
		{ "curl http://u:'S3'$A\"CRET\"@h", "curl http://u:***@h" },
		{ "curl \"http://u:\"'S3CRET'\"@h\"", "curl \"http://u:***@h\"" },
		{ "curl 'http://u:it'\\''sS3CRET@h'", "curl 'http://u:***@h'" },
		{ "curl 'http://u:it'\"'\"'sS3CRET@h'", "curl 'http://u:***@h'" },
		{ "curl http://u:it\\'sS3CRET@h", "curl http://u:***@h" },
		{ "curl http://u:'a\",S3CRET'@h/x", "curl http://u:***@h/x" },
		{ "curl http://u:\"a\\\" S3CRET\"@h/x", "curl http://u:***@h/x" },
		/* ... without its scheme */
		{ "curl -x u:S3CRET@h:80 h", "curl -x u:***@h:80 h" },
		{ "curl -xu:S3C@RET@h h", "curl -xu:***@h h" },
		{ "curl -sx 'u:S3CRET@h' h", "curl -sx 'u:***@h' h" },
		{ "curl --proxy=u:S3CRET@h:80 h", "curl --proxy=u:***@h:80 h" },
		{ "curl --socks5 u:S3CRET@h:80 h", "curl --socks5 u:***@h:80 h" },
		{ "export HTTPS_PROXY=\"u:S3CRET@h:80\"", "export HTTPS_PROXY=\"u:***@h:80\"" },
		{ "npm config set https-proxy u:S3CRET@h", "npm config set https-proxy u:***@h" },
		/* what a signed or an authorized URL holds */
		{ "curl 'https://h/?sig=S3CRET'", "curl 'https://h/?sig=***'" },
		{ "x 'https://h/c?st=2026&sig=S3CRET%3D&sr=c'", "x 'https://h/c?st=2026&sig=***&sr=c'" },
		{ "curl https://h/?a=b\\&sig=S3CRET", "curl https://h/?a=b\\&sig=***" },
		{ "curl \"https://h/k?X-Amz-Date=1&X-Amz-Signature=S3CRET\"",
		  "curl \"https://h/k?X-Amz-Date=1&X-Amz-Signature=***\"" },
		{ "curl 'https://h/cb?code=a1b2c3d4e5f6S3CRET&state=x'",
		  "curl 'https://h/cb?code=***&state=x'" },
		{ "curl -d 'grant_type=authorization_code&code=a1b2c3d4e5f6S3CRET' h",
		  "curl -d 'grant_type=authorization_code&code=***' h" },
		{ "curl 'https://h/?q=x&key=a1b2c3d4e5f6S3CRET'", "curl 'https://h/?q=x&key=***'" },
		{ "curl 'https://h/?access_token=S3CRET&x=1'", "curl 'https://h/?access_token=***&x=1'" },
		{ "psql \"db://u:\\\")S3CRET\\\"@h/d\"", "psql \"db://u:***@h/d\"" },
		/* a token before the password */
		{ "x url.\"https://ghp_S3CRETS3CRETS3CRET:x-oauth@h/\"",
		  "x url.\"https://ghp_***:***@h/\"" },
		{ "curl -u sk_live_S3CRETS3CRETS3CRET:S3CRET h", "curl -u sk_live_***:*** h" },
		{ "curl --user \"AKIAS3CRETS3CRETS3CRET:S3CRET\" h", "curl --user \"AKIA***:***\" h" },
		/* a source of data */
		{ "mysqlsh --uri u:S3CRET@h:33", "mysqlsh --uri u:***@h:33" },
		{ "DB_DSN=u:S3CRET@h/d x", "DB_DSN=u:***@h/d x" },
		{ "x 'u:S3CRET@tcp(h:3306)/d'", "x 'u:***@tcp(h:3306)/d'" },
		{ "curl -d a https://discordapp.com/api/webhooks/1/S3CRET",
		  "curl -d a https://discordapp.com/api/webhooks/***" },
	};

	(void)state;
	assert_masked(cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_audit_redact_leaves_the_rest_alone(void **state)
{
	static const char *const texts[] = {
		"", " ", "ls -l", "git commit -m 'reset password flow'", "PWD=/x make",
		"mkdir -p a/b", "make bypass=1", "echo token", "passwd", "password=",
		"--token --next", "sort -u a.txt", "curl http://h:80/x", "git clone https://me@h/x",
		"git clone git@h:x/y", "echo sk-short", "python tokenizer.py x", "author: me",
		"a=b;c=d", "ssh://me@h", "bearer of news", "\xc3\xa4\xe2\x82\xac", "compass=north",
		"secret://host", "token", "cookies: 5",
		"sort -u", "sort -uk1 a:b", "curl -url h",
		"docker run -p 80:80 x", "mysql -p db", "mysql db | mkdir -pv x", "docker login h",
		"mysql db; mkdir -pv x", "docker login h && docker run -p 80:80 x",
		"curl -b cookies.txt h", "vault login", "vault kv get x", "redis-cli -a", "zip -r a.zip b",
		"cat <<< text", "cat <<< text; sudo -S ls", "sudo -S ls; cat <<< text", "bw get item x",
		"cat <<< \"use --password-stdin\"", "cat <<<'sudo -S ls' a",
		"mosquitto_sub -t x -p 1883", "doctl compute -t x",
		"openssl rsa -in k", "grep -w ldap x", "unzip -p a.zip f", "vault login -method=oidc",
		"git log --author='pass'", "ls passwords/", "npm run token-report",
		"grep -rn \"--password\" src", "git commit -m 'use --token' f", "curl -sSo u:x h",
		"docker login --password-stdin < f", "gh auth login --with-token 2>/dev/null",
		"make bypass=1", "multipass launch x",
		"ffmpeg -af 'highpass=f=200, lowpass=f=3000' a", "cd a;PWDX=/y make", "psql -U me db",
		"curl -fsSL h | sh", "zip -rq P.zip d", "rsync -avU a b", "echo SG.short xapp-short",
		"curl http://localhost:4873/@scope/x", "docker run --user=0:0 -u 1000:1000 x",
		"curl -u \"me:\" -x \"y\"", "mysql -p<a.sql", "sort -u|cut -da:b",
		"docker run -u $(id -u):$(id -g) x", "chown \"$(id -u):$(id -g)\" x",
		"sh -c \"docker run -u \\`id -u\\`:\\`id -g\\` x\"", "x ${1:-u}:${2:-v}",
		"docker login -u me --password-stdin h:80",
		"grep -rn 'password:' --include='*.yml' .", "sh -c \"grep \\\"token=\\\" \\\"a b\\\"\"; ls",
		"grep 'token=' f | cut -d'=' -f2",
		"restic --password-file f -e PASSWORD_FILE=/run/x", "gpg --passphrase-fd 0 x",
		"curl http://h:$PORT/@vite/client", "git clone https://my-organization@dev.azure.com/x",
		"git clone ssh://git0123456789abcdef@h/x", "curl http://[::1]:80/@x",
		"x --token >f", "x --token \\\n --next", "cat tokens[1] x",
		"grep \"password\" f", "git config --global credential.helper store",
		"git config user.signingkey 0123", "npm config get //h/:_authToken > f",
		"aws configure set region x", "gh pr create --body x -b y", "7z a a.7z b",
		"kubectl create secret generic x --from-file=f", "vault operator unseal", "SORT_KEYS=1 x",
		"NEXT_PUBLIC_KEY=x npm run build", "az keyvault secret show --name x", "sort --key=2",
		"curl https://hooks.slack.com/docs", "ssh -o PasswordAuthentication=no h",
		"cmake -DENABLE_AUTH=ON -DUSE_PASSWORD=off .", "npm config set always-auth true",
		"mysql -uapp -hprod -Dshop db", "mysql -e 'select p'", "ldapsearch -xLLL -hwww -bdc=www w",
		"ldapsearch -analways -Scn -ssub x",
		"find /etc -name mysql -type d", "mysqladmin -u root -p status", "npm set x y",
		"redis-cli get x", "openssl version", "x --master-authorized-networks y", "wandb sync x",
		"wp plugin list", "pw useradd x",
		"useradd -Gapp me", "usermod -lpaul me", "ssh-keygen -t ed25519 -CPN -f k", "grep -xw ldap x",
		"grep password: |\n  sort", "grep -h 'password:' f |\n  sort",
		"password: |", "password: |\nuser: me",
		"cat <<E\nset `token=` and `password:`, `x`\nE",
		"echo x || sudo -S ls", "echo x; sudo -S ls", "echo a | sudo tee f | grep -S b",
		"cat <<E\nsudo -S ls\nE", "ssh h <<E; sudo -S ls\na\nE",
		"sudo -S ls <<E\nE\nls",
		"passwd me; x <<E\na\nE", "echo x | grep -f- /etc/passwd",
		"echo | sudo -S ls", "echo y | sudo pacman -S x",
		"echo x | sudo -u me tee -S", "echo x | sudo -pS ls", "grep a /etc/passwd <<< x",
		"[\"--token\", \"--user\", \"x\"]", "- name: TOKEN\n  valueFrom: x",
		"token, value = f(x)", "f('--token', 'must be x')",
		"f(['email', 'password', 'name'])", "f(\"secret\", \"dir\")", "f(\"password\", x)",
		"x <password> <y>", "<password></password>", "echo login me password x",
		"cat machine login page password field",
		"password: | # a\nuser: me", "'password': |\n", "password: |#\n  a",
		"python -c \"x(\\\"http://h:\\\" + p + \\\"/a@b\\\")\"",
		"node -e 'f(\"http://h:\"+p+\"/a@b\")'",
		"curl http://h:'80'/@x", "curl http://h:\"$PORT\"/@vite/client", "curl 'http://h:' 'a@b'",
		"curl http://h:\"80\"/@x", "curl \"http://h:$PORT\"/@x", "f('http://h:80', 'a@b')",
		"cat <<E\nat http://h:80's a@b\nE",
		"cat <<E\ndon't\n['http://h:80','a@b']\n'http://h:80'\n'a@b'\nE",
		"echo 'me ALL=(ALL) NOPASSWD: /bin/x' >f", "adduser --disabled-password me",
		"gpg --batch --delete-secret-keys 0123ABCD", "asadmin --passwordfile f x",
		"cat >passwd <<E\nx\nE", "cat <<E > 'passwd'\nx\nE", "cat <<E >chpasswd.sh\nx\nE",
		"echo y | apt-get install cryptsetup-bin", "grep 'secret settings' <<< x",
		"apt-get install -y oathtool jq", "which mkpasswd htpasswd",
		"docker run -u node:node x", "docker exec --user=\"a:b\" x",
		"docker -H=http://h run -u node:node x", "curl http://h -a a:b", "rsync -u h:/a .",
		"socat -u FILE:/a FILE:/b", "sort -u a:b", "journalctl -u nginx:main",
		"docker build --secret id=a,src=.npmrc .", "podman run --secret db x",
		"openvpn --auth-user-pass f", "aws x get-secret-value --secret-id db",
		"gcloud secrets versions access latest --secret=db", "curl 'h?page_token=abc'",
		"aws s3api x --starting-token abc", "htpasswd -c f me",
		"echo PASS: 12", "pass=0; fail=1", "ffmpeg -pass 2 b", "x --password-length 16",
		"smbclient -U me //h/s", "mount -o user,ro //h/s /m", "sqlplus / as sysdba",
		"sqlplus u@h @a/b",
		"jq -r .token f", "jq --arg a b '.token' f", "set -ex", "set -x; f token x",
		"beeline -u jdbc:a",
		"fly secrets list", "vault kv put secret/x @f", "lftp -u me h", "gcloud config set project x",
		"mysql \"-p\" db", "docker login '-p' '-u'", "$X '-u' a:b",
		"printf 'a=%s\\n' x", "printf '%s\\n' token",
		"echo a | tee /etc/kinit", "echo x | bypass insert", "echo a | p4 submit",
		"x --password-file <f", "x --token-file \"(a\"", "diff <(a b) <(c d)",
		"gpg --author-key x", "ssh -o AuthorizedKeysFile=/x h",
		"rsync -avx h:data@daily /b", "grep -rx me:x@h .", "curl h; zip -r z d -x a:b@c",
		"curl -x h:80 https://me@h:x", "curl --proxy h:80 me@h", "https_proxy=h:80 x a:b@c",
		"docker run -x a img:1.2@sha256:ab", "scp -P 22 a:b@c me@h:d", "rg -w mailto:me@h",
		"{ echo a; } | sort; passwd me", "{ echo a; }; passwd me", "echo a; (x) | passwd me",
		"{ echo a; { x; } | passwd me; }", "{ { x; } | passwd me; echo a; }",
		"{ echo a; } || passwd me", "if x; then echo a; fi; x | passwd me",
		"for i in a; do echo $i; done; x | passwd me",
		"echo 'see ~/.pgpass' >f", "echo ~/.pgpass | tee f", "cat ~/.pgpass - <<< a >f",
		"cat >/usr/bin/passwd <<E\nx\nE", "{ sudo -S ls; }; cat <<< a",
		"case $1 in a) echo hi;; b) passwd me;; esac", "X=$(echo me) passwd",
		"case $1 in\n a) echo hi\n ;;\n b) a | passwd\n ;;\nesac",
		"case $1 in (a) echo hi;; (b) a | passwd;; esac", "LANG=$(echo C) sudo -S ls",
		"diff <(echo a) <(passwd -S me)", "for i in $(echo a b) passwd; do ls; done",
		"while read u; do echo $u; done < <(passwd -Sa)", "(echo a) && passwd",
		"{ echo a | grep b; ls; } & passwd me",
		"grep -o 'token=[^&]*' f", "sed 's/.*token=\"\\([^\"]*\\)\".*/\\1/' f",
		"grep -E 'password: .+|secret: (.*)' f", "PINNED=1 make", "SPIN=1234 x",
		"x --pin-to-cpu=3", "gcc -DPIN=13 x.c", "PIN=v1.2 make",
		"PIN_ROOT=/opt/pin x", "git commit -m 'fix pin: board 3000b'", "PIN=$PIN x",
		"gpioset --chip 0 pin=1", "OTP_VERSION=26 x", "sig=$(openssl dgst f)", "SIG=TERM",
		"curl \"https://h/?sig=$SIG\"", "curl 'https://h/?code=404&key=name'",
		"curl 'https://h/?country_code=DE&key=some-quite-long-name'", "exit_code=1234; exit 1",
		"git commit -m 'say what ?code= and &sig= are'", "x & sig=abc",
		"code=a1b2c3d4e5f6a1b2c3d4 x", "cargo test auth::token", "perl -MAuth::Token -e 1",
		"git commit -am \"auth: return 401\"", "git commit --message 'token: skip blanks' f",
		"rg -n \"Authorization: Bearer\" a/", "helm upgrade x c --set auth.existingSecret=s",
		"openssl passwd -6 -stdin < f", "x --eos_token \"</s>\" --pad-token p",
		"f('login', 'a', 'b')", "login(a, b)", "s.connect(h, 80)", "x.sign('a', 'b')",
		"grep -rn 'jwt.encode(' src 'b'", "login('a')", "f(basic_auth, 'a', 'b')",
		"curl -d '{\"pwd\":\"/tmp\"}' h", "pwd; x=\"a\"", "{ pwd: $PWD }",
		"openssl enc -d -in f -pass file:k", "x --private-key ~/.ssh/id", "docker run h/auth:1.2.3",
		"x --secret-dir=/run", "x secret-injection=enabled", "{ user: string, token: string; }",
		"createuser -d u <<< a", "passwd -S me; diff <(echo a) b", "cat <(echo a) token",
		"mysqlsh --uri u@h:33", "x --uri http://h:80/@a", "git log\n  password reset\n",
		"x\ntoken a\n", "x\nset password 12345678", "mc alias list", "bw login me",
		"glab variable list", "consul kv put a/b c", "grep requirepass redis2.conf",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *shown = audit_redact(texts[i], NULL);

		assert_string_equal(shown, texts[i]);
		free(shown);
	}
}

static void test_audit_redact_is_bounded(void **state)
{
	enum { SIZE = 1 << 22 };
	static const char *const pieces[] = {
		"a", "\xe2\x82\xac", "password=", "password ", "://a:", "token=x ", "-u a", "\\\"",
		"secret\\", "authorization ", "sk-", "\"password\": \"",
	};
	char *text = malloc(SIZE + 1);

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		size_t len = strlen(pieces[i]), n = 0;

		for (; n + len <= SIZE; n += len)
			memcpy(text + n, pieces[i], len);
		text[n] = '\0';
		char *shown = audit_redact(text, NULL);
		json_t *valid = json_string(shown); /* NULL if it is not UTF-8 */

		assert_true(strlen(shown) <= 1024);
		assert_non_null(valid);
		json_decref(valid);
		free(shown);
	}
	/* The end is marked, and a secret across the cut is masked all the same. */
	memset(text, 'a', 2000);
	text[1000] = ' ';
	strcpy(text + 1001, "password=hunter2hunter2hunter2");
	char *shown = audit_redact(text, NULL);

	assert_null(strstr(shown, "hunter2"));
	free(shown);
	memset(text, 'a', 2000);
	text[2000] = '\0';
	shown = audit_redact(text, NULL);
	assert_int_equal(strlen(shown), 1024);
	assert_string_equal(shown + 1021, "...");
	free(shown);
	text[1024] = '\0';
	shown = audit_redact(text, NULL);
	assert_string_equal(shown, text);
	free(shown);
	free(text);
}

/* The processor time of masking @text @times times. */
static clock_t time_of(const char *text, int times)
{
	clock_t before = clock();

	for (int i = 0; i < times; i++)
		free(audit_redact(text, NULL));
	return clock() - before;
}

/* Masking @text takes no more than @most times what a text of as many calm bytes takes; what
 * disturbs one look does not disturb five. */
static void expect_soon(const char *text, int times, double most)
{
	size_t len = strlen(text);
	char *calm = malloc(len + 1);
	double ratio = most + 1;

	for (size_t i = 0; i < len; i++)
		calm[i] = "make all "[i % 9];
	calm[len] = '\0';
	for (int look = 0; look < 5 && ratio > most; look++)
		ratio = (double)time_of(text, times) / (double)(time_of(calm, times) + 1);
	if (ratio > most)
		fail_msg("%.40s...: %.1f times the time of a calm text", text, ratio);
	free(calm);
}

/* No shape looks far for what is not there, again and again: eight parts of a text take about as
 * long as the whole. */
static void test_audit_redact_takes_linear_time(void **state)
{
	enum { SIZE = 1 << 18, PARTS = 8, MOST = 3 };
	static const char *const starts[] = { "", "curl ", "mysql ", "'", "sh -c 'x ", "token='" };
	static const char *const pieces[] = {
		"://a:b", "://a:b/", "-u \"a", "-u=\"", "-u'a", "curl -b ", "token='", "token=\"",
		"token=$'", "password[", "\"token\":\"", "token: '\"", "Cookie: ", "--token \\\n",
		"bearer ", "vault login ", "-p\"", "-----BEGIN PRIVATE KEY", "don't ", "\\",
		"\"password=", "token=$(", "token=\"$(", "echo a|", "<token>", "machine password ",
		"define('token', '", "token=`a", "://a:b'", "token: a = '", "token: |\n ",
		"-x a:b", "-x=", "echo a;", "{ echo;", "(echo;", "{ x<<<a;", "{ ", "then ",
	};
	char *text = malloc(SIZE + 1), *part = malloc(SIZE / PARTS + 1);

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		for (size_t k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++) {
			size_t len = strlen(pieces[k]), n = strlen(starts[i]);
			double ratio = MOST + 1;

			strcpy(text, starts[i]);
			for (; n + len <= SIZE; n += len)
				memcpy(text + n, pieces[k], len + 1);
			memcpy(part, text, SIZE / PARTS);
			part[SIZE / PARTS] = '\0';
			for (int look = 0; look < 5 && ratio > MOST; look++)
				ratio = (double)time_of(text, 1) /
					(double)(time_of(part, PARTS) + 1);
			if (ratio > MOST)
				fail_msg("%s%s...: %.1f times", starts[i], pieces[k], ratio);
		}
	}
	free(part);
	free(text);
}

/* A look ends at its limit, also where one group begins behind the other. */
static void test_audit_redact_looks_not_far_into_groups(void **state)
{
	enum { ECHOS = 200, GROUPS = 60000 };
	char *text = malloc(ECHOS * 5 + GROUPS * 2 + 1), *end = text;

	(void)state;
	for (size_t i = 0; i < ECHOS; i++)
		end = stpcpy(end, "echo;");
	for (size_t i = 0; i < GROUPS; i++)
		end = stpcpy(end, "{ ");
	expect_soon(text, 3, 40);
	free(text);
}

/* Each echo may have a group around it that goes on and on: not all are looked for. */
static void test_audit_redact_looks_for_few_groups(void **state)
{
	static const char *const words[] = { "( echo;} ", "(echo a)|", "{ echo a;}|" };
	enum { SIZE = 8192 };
	char text[SIZE + 1];

	(void)state;
	for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++) {
		const size_t len = strlen(words[w]);

		for (size_t i = 0; i < SIZE; i++)
			text[i] = words[w][i % len];
		text[SIZE] = '\0';
		expect_soon(text, 10, 40);
	}
}

/* Where a quote closes behind a name there is no value, so nothing looks for its end. */
static void test_audit_redact_looks_for_no_end_of_nothing(void **state)
{
	static const char *const pieces[] = { "\"token=\",", "'token=')", "\"token=\" " };
	enum { SIZE = 1 << 17 };
	char text[SIZE + 1];

	(void)state;
	for (size_t k = 0; k < sizeof(pieces) / sizeof(*pieces); k++) {
		const size_t len = strlen(pieces[k]);

		for (size_t i = 0; i < SIZE; i++)
			text[i] = pieces[k][i % len];
		text[SIZE] = '\0';
		expect_soon(text, 3, 20);
	}
}

/* Of the words of one command that may be an echo, only the first looks for what reads it, and the
 * first in quotes. */
static void test_audit_redact_looks_once_behind_a_pipe(void **state)
{
	enum { COUNT = 580 };
	static const char *const words[] = { "echo ", "echo \"", "echo a|" };
	char text[COUNT * 7 + sizeof("| x")];

	(void)state;
	for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++) {
		const size_t len = strlen(words[w]);

		for (size_t i = 0; i < COUNT; i++)
			memcpy(text + i * len, words[w], len);
		memcpy(text + COUNT * len, "| x", sizeof("| x"));
		expect_soon(text, 20, 20);
	}
}

/* One command may have here-strings at each of its bytes: only the first looks for a reader. */
static void test_audit_redact_looks_once_for_a_reader(void **state)
{
	enum { SIZE = 1 << 14 };
	char *text = malloc(SIZE + 1);

	(void)state;
	memset(text, '<', SIZE);
	text[SIZE] = '\0';
	expect_soon(text, 10, 20);
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_audit_nothing_before_the_first_event),
		TEST(test_audit_modes),
		TEST(test_audit_all_members),
		TEST(test_audit_absent_members_are_left_out),
		TEST(test_audit_of_a_server),
		TEST(test_audit_reserve),
		TEST(test_audit_directory_removed),
		TEST(test_audit_refuses_a_file_that_others_change),
		TEST(test_audit_keeps_what_others_have_added),
		TEST(test_audit_late_ends),
		TEST(test_audit_late_ends_at_the_stop),
		TEST(test_audit_late_end_is_all_there_is),
		TEST(test_audit_prunes_what_is_on_record),
		TEST(test_audit_reads),
		TEST(test_audit_chain),
		TEST(test_audit_request_ids),
		TEST(test_audit_masks_what_clients_name),
		TEST(test_audit_hostile_text_stays_one_line),
		TEST(test_audit_survives_a_full_disk),
		TEST(test_audit_refuses_a_directory_that_others_can_write),
		TEST(test_audit_refuses_another_users_directory),
		TEST(test_audit_follows_no_link),
		TEST(test_audit_cannot_create),
		TEST(test_audit_default_dir),
		cmocka_unit_test(test_audit_redact_masks_secrets),
		cmocka_unit_test(test_audit_redact_knows_programs),
		cmocka_unit_test(test_audit_redact_masks_whole_words),
		cmocka_unit_test(test_audit_redact_masks_arguments),
		cmocka_unit_test(test_audit_redact_knows_names),
		cmocka_unit_test(test_audit_redact_knows_tokens),
		cmocka_unit_test(test_audit_redact_masks_urls),
		cmocka_unit_test(test_audit_redact_leaves_the_rest_alone),
		cmocka_unit_test(test_audit_redact_is_bounded),
		cmocka_unit_test(test_audit_redact_takes_linear_time),
		cmocka_unit_test(test_audit_redact_looks_not_far_into_groups),
		cmocka_unit_test(test_audit_redact_looks_for_few_groups),
		cmocka_unit_test(test_audit_redact_looks_for_no_end_of_nothing),
		cmocka_unit_test(test_audit_redact_looks_once_for_a_reader),
		cmocka_unit_test(test_audit_redact_looks_once_behind_a_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
