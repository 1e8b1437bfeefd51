/*
 * A line is built completely in memory and written by one write(2), so the file holds
 * all of it or nothing: a part that a full disk leaves is truncated, and neither the
 * sequence nor the chain advances. The file is opened with the first event, because
 * hosts also start servers only to list their tools.
 */
#include "policy/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/utf8.h"

/* The longest line: every byte of text escaped to six. */
#define LINE_MAX_BYTES (128 * 1024)
#define REQUEST_ID_MAX 256
#define CWD_MAX 4096

struct audit {
	char *dir;  /* <state>/audit */
	char *path; /* the file in it */
	char *instance;
	int fd;       /* -1 before the first event */
	off_t length; /* of the complete lines in the file */
	bool torn;    /* an incomplete line may follow @length */
	bool serves;  /* record the start and end of a server ... */
	bool started; /* ... and the start is recorded */
	uint64_t seq;
	char prev[SHA256_DIGEST_STRING_LENGTH]; /* hash of the last line, hex */
};

static char *audit_join(const char *a, const char *b)
{
	char *path = mem_zalloc(strlen(a) + strlen(b) + 2);

	stpcpy(stpcpy(stpcpy(path, a), "/"), b);
	return path;
}

char *audit_default_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (state && state[0] == '/')
		return audit_join(state, "procpen");
	if (home && home[0] != '\0')
		return audit_join(home, ".local/state/procpen");
	return NULL;
}

struct audit *audit_new(const char *state_dir, const char *instance)
{
	struct audit *a = mem_zalloc(sizeof(*a));
	char start[32], name[128];
	time_t now = time(NULL);
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(start, sizeof(start), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(name, sizeof(name), "%s-%s.jsonl", start, instance);
	a->dir = audit_join(state_dir, "audit");
	a->path = audit_join(a->dir, name);
	a->instance = mem_strdup(instance);
	a->fd = -1;
	memset(a->prev, '0', sizeof(a->prev) - 1);
	return a;
}

void audit_free(struct audit *a)
{
	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	free(a->dir);
	free(a->path);
	free(a->instance);
	free(a);
}

const char *audit_path(const struct audit *a)
{
	return a->path;
}

/* ---- the file ---- */

static int audit_fail(const struct audit *a, const char *path, int sys, const char *why,
		      struct err *e)
{
	if (sys)
		err_sys(e, ERR_PERMISSION_DENIED, sys,
			"cannot write the audit log: %s \"%.256s\"", why, path);
	else
		err_set(e, ERR_PERMISSION_DENIED,
			"cannot write the audit log: \"%.256s\" %s", path, why);
	err_detail(e, "audit_log", json_string(a->path));
	return err_hint(e, "The operator can free space, repair the directory, choose another one "
			   "with --state-dir, or run without the audit log with --set "
			   "audit.required=false.");
}

/* Create @path and its missing parents. */
static int audit_make_directories(const char *path)
{
	AUTO_FREE char *copy = mem_strdup(path);

	for (char *p = copy + 1;; p++) {
		if (*p != '/' && *p != '\0')
			continue;
		bool last = *p == '\0';

		*p = '\0';
		if (mkdir(copy, 0700) != 0 && errno != EEXIST)
			return -1;
		if (last)
			return 0;
		*p = '/';
	}
}

/* Open the audit directory. Refuse one that another user can change. */
static int audit_open_directory(const struct audit *a, struct err *e)
{
	struct stat st;

	if (audit_make_directories(a->dir) != 0)
		return audit_fail(a, a->dir, errno, "cannot create", e);
	int fd = open(a->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return audit_fail(a, a->dir, errno, "cannot open", e);
	if (fstat(fd, &st) != 0) {
		audit_fail(a, a->dir, errno, "cannot inspect", e);
	} else if (st.st_uid != geteuid()) {
		audit_fail(a, a->dir, 0, "belongs to another user", e);
	} else if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		audit_fail(a, a->dir, 0, "is writable by other users", e);
	} else {
		return fd;
	}
	close(fd);
	return -1;
}

static int audit_open_file(struct audit *a, struct err *e)
{
	AUTO_CLOSE int dir = audit_open_directory(a, e);

	if (dir < 0)
		return -1;
	/* O_EXCL: a file of this name that exists already is not ours. */
	a->fd = openat(dir, strrchr(a->path, '/') + 1,
		       O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (a->fd < 0)
		return audit_fail(a, a->path, errno, "cannot create", e);
	return 0;
}

/* Truncate a part of a line that a failed write may have left. */
static int audit_mend(struct audit *a)
{
	if (!a->torn)
		return 0;
	if (ftruncate(a->fd, a->length) != 0)
		return -1;
	a->torn = false;
	return 0;
}

/* Has the log been unlinked or changed? Then it would record nothing. */
static bool audit_is_tampered(const struct audit *a)
{
	struct stat st;

	return fstat(a->fd, &st) == 0 && (st.st_nlink == 0 || st.st_size != a->length);
}

static int audit_append(struct audit *a, const struct buf *line, struct err *e)
{
	if (a->fd < 0 && audit_open_file(a, e) != 0)
		return -1;
	if (audit_mend(a) != 0)
		return audit_fail(a, a->path, errno, "cannot repair", e);
	if (audit_is_tampered(a))
		return audit_fail(a, a->path, ESTALE, "another process removed or changed", e);
	ssize_t n;

	do {
		n = write(a->fd, line->data, line->len);
	} while (n < 0 && errno == EINTR);
	if (n == (ssize_t)line->len) {
		a->length += n;
		return 0;
	}
	int sys = n < 0 ? errno : ENOSPC;

	a->torn = true;
	audit_mend(a);
	return audit_fail(a, a->path, sys, "cannot write", e);
}

/* ---- the line ---- */

/* Hash the exact arguments, each with its NUL, or the command's text if there are none. */
static void audit_hash_command(const struct audit_event *event,
			       char out[SHA256_DIGEST_STRING_LENGTH])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	if (event->argv) {
		for (const char *const *p = event->argv; *p; p++)
			SHA256Update(&ctx, (const uint8_t *)*p, strlen(*p) + 1);
	} else {
		SHA256Update(&ctx, (const uint8_t *)event->command, strlen(event->command));
	}
	SHA256End(&ctx, out);
}

/* Add at most @max bytes of @text, if it is not NULL. */
static void audit_add_text(struct jsonw *w, const char *key, const char *text, size_t max)
{
	if (text)
		jsonw_strn(w, key, text, utf8_cut(text, strlen(text), max));
}

static void audit_add_redacted(struct jsonw *w, const char *key, const char *text)
{
	if (!text)
		return;
	AUTO_FREE char *shown = audit_redact(text);

	jsonw_str(w, key, shown);
}

static void audit_add_request_id(struct jsonw *w, const char *token)
{
	if (!token)
		return;
	if (strlen(token) <= REQUEST_ID_MAX)
		jsonw_raw(w, "request_id", token, strlen(token));
	else
		audit_add_text(w, "request_id", token, REQUEST_ID_MAX);
}

/* The members that every line begins and ends with. */
static void audit_open_line(const struct audit *a, struct jsonw *w, struct buf *line,
			    const char *event)
{
	buf_init(line, LINE_MAX_BYTES);
	jsonw_init(w, line);
	jsonw_object(w, NULL);
	jsonw_time(w, "time", clock_wall_ms());
	jsonw_int(w, "seq", (int64_t)a->seq + 1);
	jsonw_str(w, "instance", a->instance);
	audit_add_text(w, "event", event, 64);
}

/* People print the file on terminals: escape what JSON would not. */
static void audit_show(struct buf *line)
{
	struct buf shown;
	char *room;

	buf_init(&shown, 6 * line->len + 1);
	room = buf_reserve(&shown, 6 * line->len);
	buf_commit(&shown, utf8_show(room, 6 * line->len, line->data, line->len));
	buf_release(line);
	*line = shown;
}

static int audit_write_line(struct audit *a, struct jsonw *w, struct buf *line, struct err *e)
{
	size_t len;
	int status;

	jsonw_str(w, "prev", a->prev);
	jsonw_end_object(w);
	BUG_IF(line->full);
	audit_show(line);
	len = line->len;
	buf_addc(line, '\n');
	status = audit_append(a, line, e);
	if (status == 0) {
		a->seq++;
		SHA256Data((const uint8_t *)line->data, len, a->prev);
	}
	buf_release(line);
	return status;
}

static void audit_build_line(const struct audit *a, const struct audit_event *event,
			     struct jsonw *out, struct buf *line)
{
	char hash[SHA256_DIGEST_STRING_LENGTH];
	struct jsonw w;

	audit_open_line(a, &w, line, event->event);
	audit_add_request_id(&w, event->request_id);
	audit_add_text(&w, "process_id", event->process_id, 64);
	audit_add_text(&w, "capability", event->capability, 64);
	audit_add_text(&w, "tier", event->tier, 64);
	audit_add_text(&w, "decision", event->decision, 64);
	audit_add_text(&w, "rule", event->rule, 256);
	audit_add_redacted(&w, "command", event->command);
	if (event->argv || (event->command && event->decision)) {
		audit_hash_command(event, hash);
		jsonw_str(&w, "argv_sha256", hash);
	}
	audit_add_text(&w, "cwd", event->cwd, CWD_MAX);
	audit_add_text(&w, "user", event->user, CWD_MAX);
	audit_add_redacted(&w, "intent", event->intent);
	audit_add_text(&w, "outcome", event->outcome, 256);
	*out = w;
}

void audit_serves(struct audit *a)
{
	a->serves = true;
}

/* Write server_start, once: the user that the server runs as. */
static int audit_write_start(struct audit *a, struct err *e)
{
	struct buf line;
	struct jsonw w;

	if (!a->serves || a->started)
		return 0;
	audit_open_line(a, &w, &line, "server_start");
	jsonw_int(&w, "uid", geteuid());
	a->started = !audit_write_line(a, &w, &line, e);
	return a->started ? 0 : -1;
}

int audit_stopped(struct audit *a, const struct audit_stop *stop, struct err *e)
{
	struct buf line;
	struct jsonw w;

	if (!a->started)
		return 0;
	audit_open_line(a, &w, &line, "server_stop");
	jsonw_int(&w, "survivors", stop->survivors);
	jsonw_array(&w, "gaps");
	if (stop->gap)
		jsonw_str(&w, NULL, stop->gap);
	jsonw_end_array(&w);
	return audit_write_line(a, &w, &line, e);
}

int audit_write(struct audit *a, const struct audit_event *event, struct err *e)
{
	struct buf line;
	struct jsonw w;

	if (audit_write_start(a, e))
		return -1;
	audit_build_line(a, event, &w, &line);
	return audit_write_line(a, &w, &line, e);
}
