#include "unit.h"

#include "children.h"
#include "no_watches.h"
#include "scratch.h"

#include "proc/log_file.h"

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
	struct err e = ERR_INIT;
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

/* A command may have used up what its user may watch, and the disk takes nothing for a while. */
static void test_log_file_pipe_that_cannot_be_watched(void **state)
{
	struct logged l = { .opened = 0 };
	struct spool spool;
	struct output_range range = { .spool = &spool, .head_max = 1 << 20, .tail_max = 1 << 20 };
	struct output out, err;
	struct arrivals arrivals = { .any = false };
	const struct log_file_streams streams = { { &out, &err }, &arrivals };
	unsigned turns, ticks = 300 / 5;
	struct scratch s;
	pid_t writer;

	(void)state;
	scratch_init(&s);
	spool_init(&spool);
	output_init(&out, &range);
	output_init(&err, &range);
	l.file = log_file_in(s.dir, &l);
	assert_true(children_wait(&all, is_announced, &l));
	assert_int_equal(procfs_children(l.file->tree.shim_pid, &writer, 1), 1);
	kill(writer, SIGSTOP);
	store(&out, &arrivals);
	/* A pipe as where none may be longer. */
	assert_true(fcntl(l.file->pipe.fd, F_SETPIPE_SZ, 4096) > 0);
	l.file->loud = true;
	log_file_start(l.file, &streams, on_over, &l);
	no_watches = true;
	log_file_feed(l.file);
	turns = ev_iteration(all.loop);
	children_pause(&all, 300);
	turns = ev_iteration(all.loop) - turns;
	assert_in_range(turns, 1, 6 * ticks);
	kill(writer, SIGCONT);
	assert_false(log_file_finish(l.file, true));
	assert_true(children_wait(&all, is_over, &l));
	no_watches = false;
	assert_int_equal(l.file->error, 0);
	assert_int_equal(l.file->bytes, out.total);
	log_file_free(l.file);
	arrivals_release(&arrivals);
	output_release(&out);
	output_release(&err);
	spool_close(&spool);
	scratch_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_file_writer_dies_before_the_word),
		cmocka_unit_test(test_log_file_pipe_that_cannot_be_watched),
	};

	return cmocka_run_group_tests(tests, children_setup, children_teardown);
}
