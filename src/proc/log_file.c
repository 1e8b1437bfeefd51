#include "proc/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/sandbox/start.h"
#include "os/spawn/spawn.h"
#include "proc/names.h"

#define OPEN_MS 5000   /* a file system that takes longer is not used */
#define STUCK_MS 1000 /* the answer of a run waits for its last bytes while some are taken ... */
#define FINISH_MS 5000 /* ... and no longer than this, ... */
#define HURRY_MS 1000 /* ... or this, when the server ends */
#define CHUNK_BYTES (64 * 1024)
#define LOUD_PIPE_BYTES (256 * 1024)
#define TURN_PIECES 4 /* written without a look at other events */

/* ---- the end of the writer ---- */

static void log_file_close_pipe(struct log_file *f)
{
	f->stopped = true;
	loop_close(f->loop, &f->pipe);
}

static void log_file_set_over(struct log_file *f)
{
	bool finishing = f->phase == LOG_FILE_FINISHING;

	if (f->phase == LOG_FILE_OVER)
		return;
	f->phase = LOG_FILE_OVER;
	log_file_close_pipe(f);
	if (!finishing)
		return;
	loop_timer_stop(f->loop, &f->timer);
	f->on_over(f->ctx); /* may free f */
}

/* In a later turn of the loop: the tree is in use now, and on_open may free it. */
static void log_file_decided(struct log_file *f)
{
	if (!f->announced)
		loop_timer_start(f->loop, &f->timer, 0);
}

static const char *log_file_hint(int sys)
{
	switch (sys) {
	case ELOOP:
		return "A symbolic link is on the path: name the file without it.";
	case EMLINK:
		return "The file has a further hard link, so it may be another file's: name a file "
		       "with one link, or a new one.";
	case EOPNOTSUPP:
	case ENXIO:
		return "Only a regular file can be a log_file: name one, or a new one.";
	case EISDIR:
		return "It is a directory, or has a slash at the end: name a file in it, or leave "
		       "the slash out.";
	case ENAMETOOLONG:
		return "A name in the path is longer than 255 bytes: choose a shorter one.";
	case ENOENT:
	case ENOTDIR:
		return "The directory of the file must be there: create it first.";
	case EACCES:
	case EPERM:
	case EROFS:
		return "The file is written with the rights of the run, whose sandbox or user "
		       "may not write it: name a file in the workspace.";
	}
	return NULL;
}

static void log_file_set_failure(struct log_file *f, int stage, int sys)
{
	const char *hint = log_file_hint(sys);

	if (f->failure)
		return;
	f->failure = mem_zalloc(sizeof(*f->failure));
	if (stage != SHIM_STAGE_LOG_FILE) {
		spawn_failed(stage, sys, SPAWN_LOG_WRITER, f->failure);
		return;
	}
	err_sys(f->failure, ERR_SPAWN_FAILED, sys,
		"nothing ran: log_file \"%.256s\" cannot be opened", f->name);
	if (hint)
		err_hint(f->failure, "%s", hint);
	err_detail(f->failure, "stage", json_string(spawn_stage_name(stage)));
	err_detail(f->failure, "errno", json_string(err_sys_name(sys)));
}

/* It ended without a word while it was to open the file. */
static void log_file_set_killed(struct log_file *f)
{
	if (f->failure)
		return;
	f->failure = mem_zalloc(sizeof(*f->failure));
	err_set(f->failure, ERR_SPAWN_FAILED, "nothing ran: the process that was to open log_file "
		"\"%.256s\" was killed from outside", f->name);
	f->failure->sys = EAGAIN; /* it passes */
	err_hint(f->failure, "Send the request again.");
}

static void log_file_set_open(struct log_file *f)
{
	if (f->phase != LOG_FILE_OPENING)
		return;
	f->phase = LOG_FILE_OPEN;
	log_file_decided(f);
}

static void log_file_on_report(void *ctx, const struct shim_report *report)
{
	struct log_file *f = ctx;

	if (report->event == SHIM_FAILED)
		log_file_set_failure(f, report->value, report->error);
	else if (report->event == SHIM_EXITED && report->value)
		log_file_set_killed(f);
	else if (report->event == SHIM_EXITED)
		log_file_set_open(f);
	if (report->event != SHIM_LOGGED)
		return;
	f->known = true;
	f->bytes = report->io_write_bytes;
	f->error = report->error;
	f->kept = report->value;
}

static void log_file_on_empty(void *ctx)
{
	struct log_file *f = ctx;

	f->run.left_nothing = f->known; /* it ended by itself */
	confine_run_release(&f->run);
	if (f->phase != LOG_FILE_OPENING) {
		if (!f->known && !f->error)
			f->error = EPIPE;
		log_file_set_over(f);
		return;
	}
	log_file_set_killed(f);
	log_file_decided(f);
}

static void log_file_kill_group(void *ctx)
{
	struct log_file *f = ctx;

	if (f->run.cgroup)
		(void)cgroup_kill(f->run.cgroup);
}

static void log_file_serve(struct log_file *f);

/* Does the pipe take more, of which the loop has not told yet? */
static bool log_file_has_room(const struct log_file *f)
{
	struct pollfd look = { .fd = f->pipe.fd, .events = POLLOUT };

	return !f->stopped && poll(&look, 1, 0) > 0;
}

bool log_file_give_up(struct log_file *f)
{
	if (f->phase != LOG_FILE_FINISHING)
		return false;
	tree_kill(&f->tree);
	f->error = ETIMEDOUT;
	log_file_set_over(f);
	return true;
}

/* The last bytes take too long: the disk hangs, unless only the server was late. */
static void log_file_on_late(struct log_file *f)
{
	if (log_file_has_room(f)) {
		f->finish_by_ms = clock_mono_ms() + f->finish_ms;
		log_file_serve(f);
		return;
	}
	(void)log_file_give_up(f);
}

/* The file is open or will not be, or it is not finished in time. */
static void log_file_on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct log_file *f = w->data;
	bool lasts = !f->announced; /* on_over, which may free it, comes after on_open */
	bool more = tree_look(&f->tree);

	(void)loop;
	(void)revents;
	if (!more && (!lasts || f->phase == LOG_FILE_OPENING))
		return; /* over, or the end of the tree decides */
	if (ev_is_active(w))
		return; /* open by now: it fires again */
	if (f->announced) {
		log_file_on_late(f);
		return;
	}
	f->announced = true;
	if (f->phase == LOG_FILE_OPENING)
		log_file_set_failure(f, SHIM_STAGE_LOG_FILE, ETIMEDOUT);
	f->on_open(f->ctx); /* may free f */
}

/* ---- the bytes ---- */

/* False: the pipe takes nothing now, or never again. */
static bool log_file_write(struct log_file *f, const char *bytes, size_t len, size_t *written)
{
	ssize_t n = write(f->pipe.fd, bytes, len); /* SIGPIPE is ignored (server/context.c) */

	*written = n > 0 ? (size_t)n : 0;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		log_file_close_pipe(f);
	return n > 0;
}

/* The command has begun, so the writer may drop what the file held: the first byte says so. */
static bool log_file_begin(struct log_file *f)
{
	size_t written;

	if (f->truncates && log_file_write(f, "", 1, &written))
		f->truncates = false;
	return !f->truncates;
}

/* A line instead of the bytes up to @to, which are not kept any more. A pipe takes so few bytes at
 * once or not at all (pipe(7), PIPE_BUF). */
static bool log_file_write_gap(struct log_file *f, int stream, uint64_t to)
{
	char line[160];
	uint64_t gap = to - f->at[stream];
	size_t written;
	int len = snprintf(line, sizeof(line),
			   "\n[procpen: %" PRIu64 " bytes of %s are missing here: they were not "
			   "kept until they could be written]\n",
			   gap, names_streams[stream]);

	if (!log_file_write(f, line, (size_t)len, &written))
		return false;
	f->at[stream] = to;
	f->missing += gap;
	return true;
}

/* Write one piece of @stream that ends at @end, or the gap before it. */
static bool log_file_write_piece(struct log_file *f, int stream, uint64_t end)
{
	char chunk[CHUNK_BYTES];
	uint64_t *at = &f->at[stream], offset = *at, left = end - offset;
	size_t len = left < sizeof(chunk) ? (size_t)left : sizeof(chunk), written;
	ssize_t n = output_read(f->streams.output[stream], &offset, chunk, len);

	if (n <= 0 || offset != *at)
		return log_file_write_gap(f, stream, n > 0 && offset < end ? offset : end);
	if (!log_file_write(f, chunk, (size_t)n, &written))
		return false;
	*at += written;
	return true;
}

/* Where part @i ends, as far as it is to be written. */
static uint64_t log_file_part_end(const struct log_file *f, size_t i)
{
	const struct arrivals *a = f->streams.arrivals;
	int stream = arrivals_get(a, i).is_err;
	uint64_t end = f->streams.output[stream]->total;

	for (size_t next = i + 1; next < arrivals_count(a); next++) {
		struct arrival part = arrivals_get(a, next);

		if (part.is_err == stream) {
			end = part.offset;
			break;
		}
	}
	return end < f->until[stream] ? end : f->until[stream];
}

/* The first part that may have bytes to be written: no older one is looked at. */
static size_t log_file_first_part(const struct log_file *f)
{
	const struct arrivals *a = f->streams.arrivals;
	bool done[2];
	size_t i = arrivals_count(a);

	for (int stream = 0; stream < 2; stream++)
		done[stream] = f->at[stream] >= f->streams.output[stream]->total;
	while (i && !(done[0] && done[1])) {
		struct arrival part = arrivals_get(a, --i);

		if (part.offset <= f->at[part.is_err])
			done[part.is_err] = true;
	}
	return i;
}

/* Write what the pipe takes, in the order of arrival. Returns true if nothing is left. */
static bool log_file_write_parts(struct log_file *f)
{
	int pieces = 0;

	for (size_t i = log_file_first_part(f); i < arrivals_count(f->streams.arrivals); i++) {
		int stream = arrivals_get(f->streams.arrivals, i).is_err;
		uint64_t end = log_file_part_end(f, i);

		while (f->at[stream] < end)
			if (pieces++ == TURN_PIECES || !log_file_write_piece(f, stream, end))
				return false;
	}
	return true;
}

/* The writer has taken something, or is to take the rest. Later than by @finish_by_ms only if the
 * server was late: else the timer has given it up. */
static void log_file_expect_end(struct log_file *f)
{
	int64_t now = clock_mono_ms(), left;

	if (f->phase != LOG_FILE_FINISHING)
		return;
	if (f->finish_by_ms <= now)
		f->finish_by_ms = now + f->finish_ms;
	left = f->finish_by_ms - now;
	loop_timer_start(f->loop, &f->timer, left > STUCK_MS ? STUCK_MS : (double)left);
}

/* The run is faster than the writer: a larger pipe, if the kernel grants it, holds more of what the
 * store would evict. */
static void log_file_wait(struct log_file *f)
{
	if (!ev_is_active(&f->pipe) && !f->loud)
		(void)fcntl(f->pipe.fd, F_SETPIPE_SZ, LOUD_PIPE_BYTES);
	f->loud = true;
	ev_io_start(f->loop, &f->pipe);
}

/* Write on as soon as the pipe takes more, and close it behind the last byte. */
static void log_file_serve(struct log_file *f)
{
	if (f->stopped || !f->streams.arrivals)
		return;
	log_file_expect_end(f);
	if (!log_file_begin(f) || !log_file_write_parts(f)) {
		if (!f->stopped)
			log_file_wait(f);
		return;
	}
	ev_io_stop(f->loop, &f->pipe);
	if (f->phase == LOG_FILE_FINISHING)
		log_file_close_pipe(f);
}

static void log_file_on_writable(struct ev_loop *loop, ev_io *io, int revents)
{
	struct log_file *f = io->data;

	if (!loop_refused(loop, io, revents) || log_file_has_room(f))
		log_file_serve(f);
}

/* ---- the interface ---- */

/* The writer needs no limits: it copies. */
static struct confine_request log_file_confine(const struct confine_request *run)
{
	return (struct confine_request){
		.confined = run->confined, .strict = run->strict, .network_off = run->network_off,
		.as_user = run->as_user, .uid = run->uid, .gid = run->gid,
	};
}

static int log_file_spawn(struct confine *confine, const struct log_file_spec *spec, int read_end,
			  struct confine_run *run, struct spawn_result *spawned, struct err *e)
{
	static char name[] = "procpen-log";
	static char *const argv[] = { name, NULL };
	static char *const envp[] = { NULL };
	const struct confine_request wanted = log_file_confine(spec->confine);
	AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct spawn_request request = {
		.path = spec->path,
		.argv = argv,
		.envp = envp,
		.cwd_fd = spec->dir_fd,
		.cwd = spec->dir,
		.stdin_fd = read_end,
		.stdout_fd = null,
		.stderr_fd = null,
		.log_bytes = spec->max_bytes,
		.log_truncate = spec->truncate,
	};

	if (null < 0)
		return spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, SPAWN_LOG_WRITER, e);
	return start_command(confine, &wanted, spec->seq, NULL, &request, run, spawned, e);
}

static struct log_file *log_file_alloc(struct ev_loop *loop, const struct log_file_spec *spec)
{
	struct log_file *f = mem_zalloc(sizeof(*f));

	f->loop = loop;
	f->name = mem_strdup(spec->name);
	f->truncates = spec->truncate;
	f->on_open = spec->on_open;
	f->ctx = spec->ctx;
	f->until[0] = f->until[1] = UINT64_MAX;
	f->finish_ms = FINISH_MS;
	f->tree.on_report = log_file_on_report;
	f->tree.on_empty = log_file_on_empty;
	f->tree.kill_group = log_file_kill_group;
	f->tree.ctx = f;
	loop_timer_init(&f->timer, log_file_on_timer, f);
	return f;
}

struct log_file *log_file_new(struct ev_loop *loop, struct reaper *reaper, struct confine *confine,
			      const struct log_file_spec *spec, struct err *e)
{
	AUTO_CLOSE int read_end = -1;
	AUTO_CLOSE int write_end = -1;
	struct spawn_result spawned;
	struct confine_run run = { 0 };
	struct log_file *f;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC)) {
		spawn_failed(SHIM_STAGE_DESCRIPTORS, errno, SPAWN_LOG_WRITER, e);
		return NULL;
	}
	read_end = fds[0];
	write_end = fds[1];
	fcntl(write_end, F_SETFL, O_NONBLOCK);
	if (log_file_spawn(confine, spec, read_end, &run, &spawned, e))
		return NULL;
	f = log_file_alloc(loop, spec);
	f->run = run;
	if (run.cgroup)
		cgroup_joined(run.cgroup); /* the shim has its own descriptors */
	ev_io_init(&f->pipe, log_file_on_writable, write_end, EV_WRITE);
	write_end = -1;
	f->pipe.data = f;
	f->tree.is_init = run.applied.layers & 1u << CONFINE_PID_NS;
	tree_start(&f->tree, loop, reaper, spawned.shim_pid, spawned.control_fd);
	loop_timer_start(loop, &f->timer, OPEN_MS);
	return f;
}

void log_file_free(struct log_file *f)
{
	if (!f)
		return;
	loop_timer_stop(f->loop, &f->timer);
	log_file_close_pipe(f);
	tree_release(&f->tree);
	confine_run_release(&f->run);
	if (f->failure)
		err_release(f->failure);
	free(f->failure);
	free(f->name);
	free(f);
}

bool log_file_failed(struct log_file *f, struct err *e)
{
	if (!f->failure)
		return false;
	*e = *f->failure;
	free(f->failure);
	f->failure = NULL;
	return true;
}

void log_file_start(struct log_file *f, const struct log_file_streams *streams,
		    void (*on_over)(void *ctx), void *ctx)
{
	f->streams = *streams;
	f->on_over = on_over;
	f->ctx = ctx;
}

void log_file_feed(struct log_file *f)
{
	if (f->phase == LOG_FILE_OPEN)
		log_file_serve(f);
}

bool log_file_finish(struct log_file *f, bool ran)
{
	if (f->phase == LOG_FILE_OPEN) {
		f->phase = LOG_FILE_FINISHING;
		for (int stream = 0; stream < 2; stream++)
			f->until[stream] = f->streams.output[stream]->total;
		f->finish_by_ms = clock_mono_ms() + f->finish_ms;
		log_file_expect_end(f);
		if (f->truncates && !ran)
			log_file_close_pipe(f);
		log_file_serve(f);
	}
	return f->phase == LOG_FILE_OVER;
}

void log_file_hurry(struct log_file *f)
{
	int64_t by = clock_mono_ms() + HURRY_MS;

	f->finish_ms = HURRY_MS;
	if (f->finish_by_ms > by)
		f->finish_by_ms = by;
	log_file_expect_end(f);
}
