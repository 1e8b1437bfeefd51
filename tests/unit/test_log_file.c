#include "unit.h"

#include "children.h"
#include "no_watches.h"
#include "scratch.h"

#include <sys/ioctl.h>

#include "proc/log_file.h"

#define PIPE_BYTES 4096

struct logged {
	struct log_file *file;
	int over;
	ev_check check;
	int opened;
};

static void on_open(void *ctx)
{
	struct logged *l = ctx;

	l->opened++;
}

static bool is_announced(void *ctx)
{
	return ((struct logged *)ctx)->opened > 0;
}

static struct log_file *log_file_in(const char *dir, struct logged *l)
{
	const struct confine_request nothing = { 0 };
	static uint64_t seq; /* the group of an earlier one may still be there */
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct log_file_spec spec = {
		.seq = ++seq, .name = "log", .dir_fd = fd, .dir = dir, .path = "log",
		.max_bytes = 1 << 20, .confine = &nothing, .on_open = on_open, .ctx = l,
	};
	ERR_LOCAL(e);
	struct log_file *f = log_file_new(all.loop, all.reaper, all.confine, &spec, &e);

	close(fd);
	assert_non_null(f);
	return f;
}

/* The loop has looked for events: the next who does is the timer that announces the open file. */
static void on_looked(struct ev_loop *loop, ev_check *w, int revents)
{
	struct logged *l = w->data;
	struct pollfd end = { .fd = l->file->tree.control.fd, .events = POLLIN };
	pid_t shim = l->file->tree.shim_pid, writer;

	(void)revents;
	if (l->file->phase != LOG_FILE_OPEN)
		return;
	ev_check_stop(loop, w);
	assert_int_equal(procfs_children(shim, &writer, 1), 1);
	kill(shim, SIGKILL);
	kill(writer, SIGKILL);
	while (poll(&end, 1, CHILDREN_WAIT_MS) < 0 && errno == EINTR)
		;
	assert_int_equal(end.revents & POLLHUP, POLLHUP);
}

/* A run waits for the word that its file is open. */
static void test_log_file_writer_dies_before_the_word(void **state)
{
	struct logged l = { .opened = 0 };
	struct scratch s;

	(void)state;
	scratch_init(&s);
	l.file = log_file_in(s.dir, &l);
	ev_check_init(&l.check, on_looked);
	l.check.data = &l;
	ev_check_start(all.loop, &l.check);
	assert_true(children_wait(&all, is_announced, &l));
	assert_false(ev_is_active(&l.check));
	assert_int_equal(l.opened, 1);
	log_file_free(l.file);
	scratch_release(&s);
}

static bool is_over(void *ctx)
{
	return ((struct logged *)ctx)->over > 0;
}

static void on_over(void *ctx)
{
	struct logged *l = ctx;

	l->over++;
}

/* Two reads of 100 KiB into the store. */
static void store(struct output *out, struct arrivals *arrivals)
{
	static char bytes[100 << 10];
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_true(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0);
	for (int i = 0; i < 2; i++) {
		arrivals_note(arrivals, &(struct arrival){ .offset = out->total });
		assert_int_equal(write(ends[1], bytes, sizeof(bytes)), sizeof(bytes));
		while (output_fill(out, ends[0], sizeof(bytes)) > 0)
			;
	}
	close(ends[0]);
	close(ends[1]);
}

/* A run whose output is in the store, and whose writer is stopped and has a pipe as where none may be
 * longer. */
struct run {
	struct logged l;
	struct spool spool;
	struct output_range range;
	struct output out, err;
	struct arrivals arrivals;
	struct log_file_streams streams;
	struct scratch s;
	pid_t writer;
};

/* Until it has stopped, without a turn of the loop. */
static void stop(pid_t pid)
{
	kill(pid, SIGSTOP);
	while (!children_stopped(&pid))
		poll(NULL, 0, 1);
}

static void run_begin(struct run *run)
{
	*run = (struct run){
		.range = { .spool = &run->spool, .head_max = 1 << 20, .tail_max = 1 << 20 },
		.streams = { { &run->out, &run->err }, &run->arrivals },
	};
	scratch_init(&run->s);
	spool_init(&run->spool);
	output_init(&run->out, &run->range);
	output_init(&run->err, &run->range);
	run->l.file = log_file_in(run->s.dir, &run->l);
	assert_true(children_wait(&all, is_announced, &run->l));
	assert_int_equal(procfs_children(run->l.file->tree.shim_pid, &run->writer, 1), 1);
	stop(run->writer);
	store(&run->out, &run->arrivals);
	assert_true(fcntl(run->l.file->pipe.fd, F_SETPIPE_SZ, PIPE_BYTES) > 0);
	run->l.file->loud = true;
	log_file_start(run->l.file, &run->streams, on_over, &run->l);
}

static void run_release(struct run *run)
{
	log_file_free(run->l.file);
	arrivals_release(&run->arrivals);
	output_release(&run->out);
	output_release(&run->err);
	spool_close(&run->spool);
	scratch_release(&run->s);
}

/* The writer, which goes on, writes all of it. */
static void run_end(struct run *run)
{
	assert_true(children_wait(&all, is_over, &run->l));
	assert_int_equal(run->l.file->error, 0);
	assert_int_equal(run->l.file->bytes, run->out.total);
	run_release(run);
}

/* A command may have used up what its user may watch, and the disk takes nothing for a while. */
static void test_log_file_pipe_that_cannot_be_watched(void **state)
{
	unsigned turns, ticks = 300 / 5;
	struct run run;

	(void)state;
	run_begin(&run);
	no_watches = true;
	log_file_feed(run.l.file);
	turns = ev_iteration(all.loop);
	children_pause(&all, 300);
	turns = ev_iteration(all.loop) - turns;
	assert_in_range(turns, 1, 6 * ticks);
	kill(run.writer, SIGCONT);
	assert_false(log_file_finish(run.l.file, true));
	run_end(&run);
	no_watches = false;
}

/* Nor does the writer of a disk that hangs get more time for it. */
static void test_log_file_writer_that_hangs_and_cannot_be_watched(void **state)
{
	struct run run;

	(void)state;
	run_begin(&run);
	no_watches = true;
	log_file_feed(run.l.file);
	assert_false(log_file_finish(run.l.file, true));
	log_file_hurry(run.l.file);
	assert_true(children_wait(&all, is_over, &run.l));
	no_watches = false;
	assert_int_equal(run.l.file->error, ETIMEDOUT);
	run_release(&run);
}

static int bytes_in_pipe(const struct run *run)
{
	int bytes = -1;

	assert_int_equal(ioctl(run->l.file->pipe.fd, FIONREAD, &bytes), 0);
	return bytes;
}

/* What a server that is late hears first is that the pipe takes more, and it fills it at once: the
 * time of the writer begins anew all the same. */
static void test_log_file_late_server_and_a_slow_writer(void **state)
{
	struct run run;

	(void)state;
	run_begin(&run);
	log_file_feed(run.l.file);
	assert_false(log_file_finish(run.l.file, true));
	ev_run(all.loop, EVRUN_NOWAIT);
	/* Meanwhile, without a turn of the loop, the writer takes what there is. */
	assert_int_equal(bytes_in_pipe(&run), PIPE_BYTES);
	kill(run.writer, SIGCONT);
	while (bytes_in_pipe(&run))
		poll(NULL, 0, 1);
	stop(run.writer);
	run.l.file->finish_by_ms = clock_mono_ms();
	ev_run(all.loop, EVRUN_NOWAIT);
	assert_int_equal(bytes_in_pipe(&run), PIPE_BYTES);
	ev_run(all.loop, EVRUN_NOWAIT);
	assert_int_equal(run.l.over, 0);
	kill(run.writer, SIGCONT);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_file_writer_dies_before_the_word),
		cmocka_unit_test(test_log_file_pipe_that_cannot_be_watched),
		cmocka_unit_test(test_log_file_writer_that_hangs_and_cannot_be_watched),
		cmocka_unit_test(test_log_file_late_server_and_a_slow_writer),
	};

	return cmocka_run_group_tests(tests, children_setup, children_teardown);
}
