/*
 * A line is built completely in memory and written at once (policy/audit_file.h). If that fails,
 * neither the sequence nor the chain advances. The file is opened with the first event, because
 * hosts also start servers only to list their tools.
 */
#include "policy/audit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/ids.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "policy/audit_file.h"
#include "policy/audit_prune.h"
#include "policy/audit_share.h"

/* The longest line: every byte of text escaped to six, or the ids of 10,000 runs. */
#define LINE_MAX_BYTES (256 * 1024)
#define LINE_KEPT_BYTES 2048 /* of the memory of one, for the next */
#define NAME_MAX_BYTES 64

/* Lines that could not be written are kept for later up to these; the rest is counted. */
#define LATE_MAX 256
#define LATE_BYTES (1 << 20)

#define READS_MS 60000 /* after so long reads are worth a line */
#define READS_KINDS 16

/* An end that could not be written. */
struct audit_late {
	struct audit_late *next;
	int64_t wall_ms; /* when it happened */
	size_t len;
	char members[]; /* of its line behind "event", as JSON */
};

struct audit {
	struct audit_file file;
	char *instance;
	uid_t uid; /* of this process, which stays the same */
	char *client_name, *client_version; /* NULL: not known */
	bool serves;  /* record the start and end of a server ... */
	bool started; /* ... and the start is recorded */
	struct audit_late *late, **late_end;
	size_t late_count, late_bytes;
	uint64_t lost; /* lines that are not in the log and never will be */
	uint64_t in_place; /* lines in the present directory */
	bool prune_due;    /* a file was begun, and no look has followed it */
	struct audit_prune *prune; /* the look that is under way, or NULL ... */
	bool looked;               /* ... and all was seen and chosen */
	struct audit_prune_bounds bounds;
	struct audit_sink *sink; /* or NULL */
	bool said_sink_lost;
	struct audit_prune_found found; /* in the directory, for the next line */
	bool moved;       /* not told yet: it is not the first one */

	/* The line that is being built. */
	struct buf text;
	struct jsonw w;
	size_t head; /* where the members behind "event" begin */

	struct {
		const char *capability; /* borrowed; NULL: not used yet */
		uint64_t count;
	} reads[READS_KINDS]; /* since the last line of them */
	int64_t reads_due_ms; /* clock_mono_ms(); 0: there are none */
};

/* The home of some accounts is /. */
static char *audit_join(const char *a, const char *b)
{
	size_t len = strlen(a);

	return mem_printf("%s%s%s", a, len && a[len - 1] == '/' ? "" : "/", b);
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

	audit_file_init(&a->file, audit_join(state_dir, "audit"), instance);
	a->instance = mem_strdup(instance);
	a->uid = geteuid();
	a->late_end = &a->late;
	buf_init(&a->text, LINE_MAX_BYTES);
	return a;
}

static void audit_end_look(struct audit *a)
{
	audit_prune_free(a->prune);
	a->prune = NULL;
	a->looked = false;
}

/* Forget the oldest of the late lines. */
static void audit_drop_late(struct audit *a)
{
	struct audit_late *first = a->late;

	a->late = first->next;
	if (!a->late)
		a->late_end = &a->late;
	a->late_count--;
	a->late_bytes -= first->len;
	free(first);
}

void audit_free(struct audit *a)
{
	if (!a)
		return;
	audit_file_close(&a->file);
	audit_sink_free(a->sink);
	audit_end_look(a);
	while (a->late)
		audit_drop_late(a);
	buf_release(&a->text);
	free(a->client_name);
	free(a->client_version);
	free(a->instance);
	free(a);
}

const char *audit_path(const struct audit *a)
{
	return a->file.path;
}

/* ---- the line ---- */

/* Hash the exact arguments, each with its NUL, or the command's text if there are none. */
static void audit_hash_command(const struct audit_event *event,
			       char out[DIGEST_TEXT_SIZE])
{
	if (event->argv)
		digest_args(event->argv, out);
	else
		digest_text(event->command, strlen(event->command), out);
}

/* Add at most @max bytes of @text, if it is not NULL. */
static void audit_add_text(struct jsonw *w, const char *key, const char *text, size_t max)
{
	if (text)
		jsonw_strn(w, key, text, utf8_cut(text, strlen(text), max));
}

/* Begin a line with the members that every one has. */
static struct jsonw *audit_open_line(struct audit *a, const char *event)
{
	struct jsonw *w = &a->w;

	jsonw_init(w, &a->text);
	jsonw_object(w, NULL);
	jsonw_time(w, "time", clock_wall_ms());
	jsonw_int(w, "seq", (int64_t)a->file.chain.seq + 1);
	jsonw_str(w, "instance", a->instance);
	audit_add_text(w, "event", event, 64);
	a->head = a->text.len;
	return w;
}

static void audit_clear_line(struct audit *a)
{
	if (a->text.cap > LINE_KEPT_BYTES)
		buf_release(&a->text);
	buf_clear(&a->text);
	a->text.max = LINE_MAX_BYTES; /* audit_show() may have put another in its place */
}

/* People print the file on terminals: escape what JSON would not. */
static void audit_show(struct buf *line)
{
	struct buf shown;
	char *room;

	if (utf8_plain_len(line->data, line->len) == line->len)
		return;
	buf_init(&shown, 6 * line->len + 1);
	room = buf_reserve(&shown, 6 * line->len);
	buf_commit(&shown, utf8_show(room, 6 * line->len, line->data, line->len));
	buf_release(line);
	*line = shown;
}

static void audit_add_found(const struct audit *a, struct jsonw *w)
{
	const struct audit_prune_found *found = &a->found;

	if (found->removed) {
		jsonw_int(w, "pruned", (int64_t)found->removed);
		jsonw_str(w, "pruned_to", found->last);
	}
	if (!found->beside_count)
		return;
	jsonw_array(w, "beside");
	for (size_t i = 0; i < found->beside_count; i++)
		jsonw_str(w, NULL, found->beside[i]);
	jsonw_end_array(w);
}

/* Complete the line and append it to the file. */
static int audit_write_line(struct audit *a, struct err *e)
{
	bool first = !a->file.length;
	int status;

	if (*a->file.chain.file)
		jsonw_str(&a->w, "previous_file", a->file.chain.file);
	audit_add_found(a, &a->w);
	jsonw_str(&a->w, "prev", a->file.chain.prev);
	jsonw_end_object(&a->w);
	BUG_IF(a->text.full);
	audit_show(&a->text);
	BUG_IF(buf_addc(&a->text, '\n'));
	status = audit_file_append(&a->file, &a->text, e);
	if (status == 0) {
		if (a->sink)
			audit_sink_write(a->sink, &a->text);
		a->in_place++;
		a->prune_due |= first;
		a->found = (struct audit_prune_found){ 0 };
	}
	audit_clear_line(a);
	return status;
}

/* What the client says of itself. */
static void audit_add_client(const struct audit *a, struct jsonw *w)
{
	if (!a->client_name)
		return;
	jsonw_object(w, "client");
	audit_add_client_text(w, "name", a->client_name, NAME_MAX_BYTES);
	audit_add_client_text(w, "version", a->client_version, NAME_MAX_BYTES);
	jsonw_end_object(w);
}

/* The process at the other end of stdin if that is a socket, else our parent. */
static struct ucred audit_find_peer(void)
{
	struct ucred peer = { .pid = 0 };
	socklen_t size = sizeof(peer);

	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_PEERCRED, &peer, &size) || !peer.pid)
		peer.pid = getppid();
	return peer;
}

/* The machine, and who started this process, as the kernel has them: names are not proof, but a
 * place to look. */
static void audit_add_place(struct jsonw *w)
{
	struct ucred peer = audit_find_peer();
	char host[IDS_HOST_SIZE];
	char path[64], name[NAME_MAX_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)peer.pid);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof(name));

	ids_host(host);
	audit_add_text(w, "host", host, sizeof(host));
	jsonw_object(w, "peer");
	jsonw_int(w, "pid", peer.pid);
	if (n > 0)
		jsonw_strn(w, "name", name, (size_t)n - (name[n - 1] == '\n'));
	jsonw_end_object(w);
}

static void audit_add_end(struct jsonw *w, const struct audit_end *end)
{
	if (end->exit_code >= 0)
		jsonw_int(w, "exit_code", end->exit_code);
	if (end->signal)
		jsonw_str(w, "signal", end->signal);
	jsonw_str(w, "reason", end->reason);
	jsonw_int(w, "duration_ms", end->duration_ms);
	if (end->stdout_size >= 0) {
		jsonw_int(w, "stdout_size", end->stdout_size);
		jsonw_int(w, "stderr_size", end->stderr_size);
	}
	jsonw_int_or_null(w, "leftover", end->leftover >= 0, end->leftover);
	jsonw_int(w, "survivors", end->survivors);
	if (end->git_config)
		jsonw_str(w, "git_config", end->git_config);
}

static void audit_add_runs(struct jsonw *w, const struct audit_event *event)
{
	if (!event->process_ids)
		return;
	audit_add_text(w, "state_filter", event->state_filter, 64);
	jsonw_array(w, "process_ids");
	for (const char *const *id = event->process_ids; *id; id++)
		jsonw_str(w, NULL, *id);
	jsonw_end_array(w);
}

static void audit_build_line(struct audit *a, const struct audit_event *event)
{
	struct jsonw *w = audit_open_line(a, event->event);
	char hash[DIGEST_TEXT_SIZE];

	if (event->decision) {
		jsonw_int(w, "uid", a->uid);
		if (!a->serves)
			audit_add_place(w); /* else server_start has it */
		audit_add_client(a, w);
	}
	audit_add_request_id(w, event->request_id);
	audit_add_client_text(w, "process_id", event->process_id, 64);
	audit_add_text(w, "capability", event->capability, 64);
	audit_add_text(w, "tier", event->tier, 64);
	audit_add_text(w, "decision", event->decision, 64);
	audit_add_text(w, "rule", event->rule, 256);
	audit_add_text(w, "pack", event->pack, 64);
	if (event->grant)
		jsonw_int(w, "grant", event->grant);
	audit_add_text(w, "remember", event->remember, 64);
	if (event->masked)
		jsonw_str(w, "command", event->masked);
	else
		audit_add_client_text(w, "command", event->command, AUDIT_TEXT_MAX);
	if (event->argv || (event->command && event->decision)) {
		audit_hash_command(event, hash);
		jsonw_str(w, "argv_sha256", hash);
	}
	audit_add_client_text(w, "cwd", event->cwd, AUDIT_PATH_MAX);
	audit_add_client_text(w, "log_file", event->log_file, AUDIT_PATH_MAX);
	audit_add_client_text(w, "user", event->user, AUDIT_PATH_MAX);
	audit_add_client_text(w, "intent", event->intent, AUDIT_TEXT_MAX);
	if (event->input) {
		digest_text(event->input, event->input_len, hash);
		jsonw_int(w, "input_bytes", (int64_t)event->input_len);
		jsonw_str(w, "input_sha256", hash);
		audit_add_client_text(w, "input", event->input_text, AUDIT_TEXT_MAX);
	}
	if (event->close)
		jsonw_bool(w, "close", true);
	audit_add_runs(w, event);
	audit_add_text(w, "outcome", event->outcome, 256);
	if (event->end)
		audit_add_end(w, event->end);
}

/* ---- what could not be written ---- */

/* @event could not be written. The end of a run is kept for later: its attempt is on record. */
static void audit_miss(struct audit *a, const struct audit_event *event)
{
	struct audit_late *late;
	size_t len;

	if (strcmp(event->event, "end") != 0 || a->late_count == LATE_MAX ||
	    a->late_bytes >= LATE_BYTES) {
		a->lost++;
		return;
	}
	audit_build_line(a, event);
	len = a->text.len - a->head;
	late = mem_zalloc(sizeof(*late) + len);
	late->wall_ms = clock_wall_ms();
	late->len = len;
	memcpy(late->members, a->text.data + a->head, len);
	audit_clear_line(a);
	*a->late_end = late;
	a->late_end = &late->next;
	a->late_count++;
	a->late_bytes += len;
}

static int audit_write_late(struct audit *a, struct err *e)
{
	while (a->late) {
		struct jsonw *w = audit_open_line(a, "end");

		buf_add(&a->text, a->late->members, a->late->len);
		jsonw_time(w, "happened_at", a->late->wall_ms);
		if (audit_write_line(a, e))
			return -1;
		audit_drop_late(a);
	}
	return 0;
}

static int audit_write_lost(struct audit *a, struct err *e)
{
	if (!a->lost)
		return 0;
	jsonw_int(audit_open_line(a, "lost"), "count", (int64_t)a->lost);
	if (audit_write_line(a, e))
		return -1;
	a->lost = 0;
	return 0;
}

/* ---- reads ---- */

void audit_count_read(struct audit *a, const char *capability)
{
	size_t i = 0;

	while (i < READS_KINDS && a->reads[i].capability && a->reads[i].capability != capability)
		i++;
	BUG_IF(i == READS_KINDS);
	a->reads[i].capability = capability;
	a->reads[i].count++;
	if (!a->reads_due_ms)
		a->reads_due_ms = clock_mono_ms() + READS_MS;
}

static int audit_write_reads(struct audit *a, struct err *e)
{
	struct jsonw *w = audit_open_line(a, "reads");
	uint64_t all = 0;

	jsonw_object(w, "reads");
	for (size_t i = 0; i < READS_KINDS && a->reads[i].capability; i++) {
		if (a->reads[i].count)
			jsonw_int(w, a->reads[i].capability, (int64_t)a->reads[i].count);
		all += a->reads[i].count;
	}
	jsonw_end_object(w);
	jsonw_int(w, "count", (int64_t)all);
	if (audit_write_line(a, e))
		return -1;
	memset(a->reads, 0, sizeof(a->reads));
	a->reads_due_ms = 0;
	return 0;
}

/* ---- the server ---- */

static char *audit_copy_name(const char *name)
{
	return name ? mem_strndup(name, utf8_cut(name, strlen(name), NAME_MAX_BYTES)) : NULL;
}

void audit_set_client(struct audit *a, const char *name, const char *version)
{
	free(a->client_name);
	free(a->client_version);
	a->client_name = audit_copy_name(name);
	a->client_version = audit_copy_name(version);
}

void audit_set_bounds(struct audit *a, const struct audit_bounds *bounds)
{
	a->file.max_bytes = bounds->file_bytes;
	a->bounds.keep_seconds = bounds->keep_days * 86400;
	a->bounds.total_bytes = bounds->total_bytes;
}

void audit_set_sink(struct audit *a, struct audit_sink *sink)
{
	a->sink = sink;
}

bool audit_has_sink_lost(struct audit *a)
{
	if (a->said_sink_lost || !a->sink || !audit_sink_lost(a->sink))
		return false;
	a->said_sink_lost = true;
	return true;
}

void audit_shares(struct audit *a)
{
	a->file.shared = true;
}

void audit_serves(struct audit *a)
{
	a->serves = a->file.reserves = true;
}

/* Write server_start, once: the user that the server runs as. */
static int audit_write_start(struct audit *a, struct err *e)
{
	struct jsonw *w;

	if (!a->serves || a->started)
		return 0;
	w = audit_open_line(a, "server_start");
	jsonw_int(w, "uid", a->uid);
	audit_add_place(w);
	a->started = !audit_write_line(a, e);
	return a->started ? 0 : -1;
}

/* The chain goes on in a new file; what is gone with the old one is lost. */
static void audit_check_file(struct audit *a)
{
	enum audit_file_place place = audit_file_check(&a->file);

	if (place == AUDIT_FILE_THERE)
		return;
	a->lost += place == AUDIT_FILE_REMOVED ? a->in_place : 0;
	a->in_place = 0;
	a->moved = true;
}

/*
 * Once for each file: remove old logs, and see which others there are, because one that is missing
 * later is missed where it is named. Not before an attempt, whose run would wait for it. A server
 * goes on with each end of a run, until its own (@last); `procpen run` has nobody wait. A look goes
 * on when the file turns: with small files and many logs none would come to its end.
 */
static void audit_look_around(struct audit *a, bool last)
{
	if (!a->prune && a->prune_due) {
		a->prune = audit_prune_new(a->file.dir, &a->bounds);
		a->prune_due = false;
	}
	while (a->prune && !a->looked) {
		a->looked = !audit_prune_step(a->prune, audit_file_name(&a->file), &a->found);
		if (a->serves && !last)
			return;
	}
}

/* Remove what was chosen, once it is on record. */
static void audit_clear_up(struct audit *a)
{
	if (!a->prune || a->found.removed)
		return;
	audit_prune_remove(a->prune);
	if (a->looked)
		audit_end_look(a);
}

bool audit_has_moved(struct audit *a)
{
	bool moved = a->moved;

	a->moved = false;
	return moved;
}

/* Write what must come before the next line. @last: no other will follow it. */
static int audit_catch_up(struct audit *a, bool last, struct err *e)
{
	bool reads = a->reads_due_ms && (last || clock_mono_ms() >= a->reads_due_ms);

	audit_check_file(a);
	if (a->file.shared ? audit_share_begin(&a->file, e) : (audit_file_turn(&a->file), 0))
		return -1;
	if (audit_write_start(a, e) || audit_write_lost(a, e) || audit_write_late(a, e))
		return -1;
	return reads ? audit_write_reads(a, e) : 0;
}

int audit_stopped(struct audit *a, const struct audit_stop *stop, struct err *e)
{
	struct jsonw *w;
	int status;

	if (!a->started && !a->reads_due_ms && !a->late && !a->lost)
		return 0;
	if (audit_catch_up(a, true, e))
		return -1;
	audit_look_around(a, true);
	w = audit_open_line(a, "server_stop");
	jsonw_int(w, "survivors", stop->survivors);
	jsonw_array(w, "gaps");
	if (stop->gap)
		jsonw_str(w, NULL, stop->gap);
	jsonw_end_array(w);
	if (a->sink && audit_sink_lost(a->sink))
		jsonw_int(w, "sink_lost", (int64_t)audit_sink_lost(a->sink));
	status = audit_write_line(a, e);
	audit_clear_up(a);
	return status;
}

int audit_write(struct audit *a, const struct audit_event *event, struct err *e)
{
	int status = audit_catch_up(a, false, e);

	if (!status) {
		if (!event->decision)
			audit_look_around(a, false);
		audit_build_line(a, event);
		status = audit_write_line(a, e);
	}
	audit_clear_up(a);
	audit_share_finish(&a->file);
	if (status)
		audit_miss(a, event);
	return status;
}
