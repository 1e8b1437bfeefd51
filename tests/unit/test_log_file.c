#include "unit.h"

#include "children.h"
#include "scratch.h"

#include "proc/log_file.h"

struct logged {
	struct log_file *file;
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
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct log_file_spec spec = {
		.seq = 1, .name = "log", .dir_fd = fd, .dir = dir, .path = "log",
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_file_writer_dies_before_the_word),
	};

	return cmocka_run_group_tests(tests, children_setup, children_teardown);
}
