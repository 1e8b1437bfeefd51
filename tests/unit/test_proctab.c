#include "unit.h"

#include "children.h"

#include "proc/proc_life.h"
#include "proc/proctab.h"

#define INSTANCE "9c3f000000000000"
#define KIB 1024
#define EVENTS_MAX 4096

/* The events that the hook got, by sequence number. */
static struct {
	unsigned events[EVENTS_MAX];
	int settled[EVENTS_MAX], empty[EVENTS_MAX];
	bool open[EVENTS_MAX]; /* the output, when it settled */
	enum err_type failure;
} seen;

static struct proctab *table;
static const char *directory; /* of the runs */
static int spools_max;
static bool ahead; /* shims and pipes are made ahead */

static void on_event(void *ctx, struct proc *p, unsigned events)
{
	(void)ctx;
	assert_true(p->seq > 0 && p->seq < EVENTS_MAX);
	seen.events[p->seq] |= events;
	seen.settled[p->seq] += (events & PROC_EVENT_SETTLED) != 0;
	seen.empty[p->seq] += (events & PROC_EVENT_EMPTY) != 0;
	if (events & PROC_EVENT_SETTLED)
		seen.open[p->seq] = proc_output_open(p);
	if (events & PROC_EVENT_FAILED)
		seen.failure = p->rare->failure->type;
}

static int setup(void **state)
{
	memset(&seen, 0, sizeof(seen));
	directory = "/tmp";
	spools_max = 100;
	ahead = false;
	return children_setup(state);
}

static int teardown(void **state)
{
	proctab_free(table);
	table = NULL;
	return children_teardown(state);
}

static void open_table(int running, int finished, uint64_t head, uint64_t tail, uint64_t budget)
{
	const struct proctab_options options = {
		.running_max = running,
		.finished_max = finished,
		.head_bytes = head,
		.tail_bytes = tail,
		.budget_bytes = budget,
		.drain_ms = 50,
		.spools_max = spools_max,
		.ahead = ahead,
	};

	table = proctab_new(all.loop, all.reaper, all.confine, INSTANCE, &options);
	proctab_set_hook(table, on_event, NULL);
}

static void open_plain_table(void)
{
	open_table(10, 10, 4 * KIB, 64 * KIB, 1024 * KIB);
}

/* Start @argv, and with it what else @spec says. */
static struct proc *start_as(struct proc_spec spec, char *const *argv, struct err *e)
{
	char *environment[] = { (char[]){ "PATH=/usr/bin:/bin" }, NULL };
	AUTO_CLOSE int cwd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	spec.command = spec.path = argv[0];
	spec.argv = argv;
	spec.envp = environment;
	spec.cwd_fd = cwd;
	spec.cwd = directory;
	return proctab_start(table, &spec, e);
}

static struct proc *start(char *const *argv, int64_t timeout_ms, struct err *e)
{
	return start_as((struct proc_spec){ .timeout_ms = timeout_ms }, argv, e);
}

static struct proc *shell(const char *script, struct err *e)
{
	char *argv[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" }, NULL, NULL };
	struct proc *p;

	argv[2] = strdup(script);
	p = start(argv, 0, e);
	free(argv[2]);
	return p;
}

/* Start what must start; its number. */
static uint64_t run(const char *script)
{
	ERR_LOCAL(e);
	struct proc *p = shell(script, &e);

	if (!p)
		print_error("%s\n", e.message);
	assert_non_null(p);
	assert_int_equal(p->phase, PROC_STARTING);
	return p->seq;
}

static bool is_settled(void *seq)
{
	return seen.settled[*(uint64_t *)seq] > 0;
}

static bool is_empty(void *seq)
{
	return seen.empty[*(uint64_t *)seq] > 0;
}

static uint64_t run_to_the_end(const char *script)
{
	uint64_t seq = run(script);

	assert_true(children_wait(&all, is_empty, &seq));
	assert_int_equal(seen.settled[seq], 1);
	assert_int_equal(seen.empty[seq], 1);
	return seq;
}

/* Kill @seq and wait for its end. */
static void stop(uint64_t seq)
{
	proc_kill_tree(proctab_get(table, seq), PROC_REASON_KILLED_BY_REQUEST);
	assert_true(children_wait(&all, is_empty, &seq));
}

static void test_proctab_one_run(void **state)
{
	uint64_t seq, offset = 0;
	char bytes[16] = "";
	struct proc *p;

	(void)state;
	open_plain_table();
	seq = run_to_the_end("echo hello; echo oops >&2; exit 3");
	p = proctab_get(table, seq);
	assert_non_null(p);
	assert_int_equal(p->phase, PROC_SETTLED);
	assert_int_equal(p->state, PROC_STATE_COMPLETED);
	assert_int_equal(p->reason, PROC_REASON_EXITED);
	assert_int_equal(proc_exit_code(p), 3);
	assert_null(proc_signal_name(p));
	assert_int_equal(output_read(&p->out, &offset, bytes, 15), 6);
	assert_string_equal(bytes, "hello\n");
	assert_int_equal(p->err.total, 5);
	assert_int_equal(p->rare->spool.fd, -1); /* small streams hold no descriptor */
	assert_ptr_equal(p->rare, p->settings->env->none);
	assert_false(proc_output_open(p));
	assert_int_equal(proctab_trees(table), 0);
}

/* Whether a record moves when the run is over or not, it holds the same. */
static void test_proctab_keeps_what_it_packs(void **state)
{
	static const size_t sizes[] = { 0, 1, 300, 3000 };
	char script[128], bytes[4096];
	ERR_LOCAL(e);
	uint64_t offset, first;

	(void)state;
	open_table(10, 4, 4 * KIB, 64 * KIB, 1024 * KIB);
	for (int round = 0; round < 3; round++) {
		first = 4 * (uint64_t)round + 1;
		for (size_t i = 0; i < 4; i++) {
			snprintf(script, sizeof(script), "head -c %zu /dev/zero >&2; echo %zu",
				 sizes[i], i);
			assert_int_equal(run_to_the_end(script), first + i);
		}
		for (size_t i = 0; i < 4; i++) {
			struct proc *p = proctab_get(table, first + i);

			assert_int_equal(p->packed, sizes[i] < 3000);
			assert_ptr_equal(proctab_find(table, p->id, &e), p);
			assert_string_equal(proc_command(p), "/bin/sh");
			assert_string_equal(proc_masked(p), "/bin/sh");
			offset = 0;
			assert_int_equal(output_read(&p->out, &offset, bytes, 15), 2);
			assert_int_equal(bytes[0], '0' + (int)i);
			offset = 0;
			assert_int_equal(output_read(&p->err, &offset, bytes, sizeof(bytes)),
					 sizes[i]);
			for (size_t k = 0; k < sizes[i]; k++)
				assert_int_equal(bytes[k], 0);
		}
	}
}

/* Its output goes where ours goes, and its end waits for no pipe. */
static void test_proctab_run_shares_our_descriptors(void **state)
{
	char *argv[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" },
			 (char[]){ "echo hello; exit 3" }, NULL };
	int fds[2], own = dup(STDOUT_FILENO);
	ERR_LOCAL(e);
	uint64_t seq = 1;
	char bytes[16];
	struct proc *p;

	(void)state;
	open_plain_table();
	fflush(stdout);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(dup2(fds[1], STDOUT_FILENO), STDOUT_FILENO);
	p = start_as((struct proc_spec){ .shares_stdio = true }, argv, &e);
	assert_int_equal(dup2(own, STDOUT_FILENO), STDOUT_FILENO);
	close(own);
	close(fds[1]);
	assert_non_null(p);
	assert_false(proc_output_open(p));
	assert_true(children_wait(&all, is_empty, &seq));
	p = proctab_get(table, seq);
	assert_int_equal(proc_exit_code(p), 3);
	assert_int_equal(p->out.total, 0);
	assert_int_equal(read(fds[0], bytes, sizeof(bytes)), 6);
	assert_memory_equal(bytes, "hello\n", 6);
	assert_int_equal(read(fds[0], bytes, sizeof(bytes)), 0); /* no copy is left with us */
	close(fds[0]);
}

static int open_pipes(void)
{
	char path[64], target[16];
	int count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		count += readlink(path, target, sizeof(target)) > 5 && !memcmp(target, "pipe:", 5);
	}
	return count;
}

static int open_other_end(int fd, int mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, mode | O_NONBLOCK | O_CLOEXEC);
}

/* A shim may report the end before it closes the ends of the pipes that it has. */
static void test_proctab_shim_still_has_the_pipes(void **state)
{
	static char bytes[200 * KIB];
	char *argv[] = { (char[]){ "/bin/true" }, NULL };
	const struct proc_spec spec = {
		.stdin_mode = PROC_STDIN_DATA,
		.stdin_bytes = bytes,
		.stdin_len = sizeof(bytes),
	};
	ERR_LOCAL(e);
	struct proc *p;
	int in, out;
	uint64_t seq;

	(void)state;
	open_plain_table();
	p = start_as(spec, argv, &e);
	assert_non_null(p);
	seq = p->seq;
	in = open_other_end(p->live->feed.io.fd, O_RDONLY);
	out = open_other_end(p->live->out.io.fd, O_WRONLY);
	assert_true(in >= 0 && out >= 0);
	pump_let_go(&p->live->out); /* as after another report */
	assert_true(children_wait(&all, is_empty, &seq));
	p = proctab_get(table, seq);
	assert_true(p->stdin_refused);
	assert_int_equal(p->rare->stdin_unread, sizeof(bytes));
	assert_false(seen.open[seq]);
	close(in);
	close(out);
}

/* While one command starts, the pipes of the next are made; that is all that its runs leave open. */
static void test_proctab_pipes_wait_for_the_next_run(void **state)
{
	const int before = open_pipes();

	(void)state;
	ahead = true;
	open_plain_table();
	for (int i = 0; i < 3; i++) {
		run_to_the_end("echo x");
		while (open_pipes() > before + 4) /* the run's own are closed late */
			ev_run(all.loop, EVRUN_ONCE);
		assert_int_equal(open_pipes(), before + 4);
	}
	run_to_the_end("sleep 0.01 & echo x");
	proctab_free(table);
	table = NULL;
	loop_close_all_late(all.loop);
	assert_int_equal(open_pipes(), before);
}

/* Other calls may need the descriptors, and do not ask for them back. */
static void test_proctab_keeps_no_pipes_where_few_are_left(void **state)
{
	const int before = open_pipes();
	struct rlimit limit, low;

	(void)state;
	ahead = true;
	open_plain_table();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = (struct rlimit){ 64, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (int i = 0; i < 3; i++) {
		run_to_the_end("echo x");
		assert_int_equal(open_pipes(), before);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_proctab_failed_start_leaves_no_record(void **state)
{
	char *argv[] = { (char[]){ "/nonexistent" }, NULL };
	ERR_LOCAL(e);
	struct proc *p;
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;

	(void)state;
	open_plain_table();
	p = start(argv, 0, &e);
	assert_non_null(p);
	while (!(seen.events[1] & PROC_EVENT_FAILED) && clock_mono_ms() < until)
		ev_run(all.loop, EVRUN_ONCE);
	/* its pipes may end before */
	assert_int_equal(seen.events[1] & ~(unsigned)PROC_EVENT_OUTPUT, PROC_EVENT_FAILED);
	assert_int_equal(seen.failure, ERR_SPAWN_FAILED);
	assert_null(proctab_get(table, 1));
	assert_null(proctab_next(table, NULL));
	assert_int_equal(proctab_trees(table), 0);
}

static void test_proctab_find(void **state)
{
	ERR_LOCAL(e);
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_to_the_end("true");
	assert_int_equal(seq, 1);
	assert_ptr_equal(proctab_find(table, "p1-9c3f", &e), proctab_get(table, 1));
	assert_null(proctab_find(table, "p2-9c3f", &e));
	assert_int_equal(e.type, ERR_PROCESS_NOT_FOUND);
	assert_null(proctab_find(table, "p1-0000", &e));
	assert_int_equal(e.type, ERR_PROCESS_NOT_FOUND);
	assert_string_equal(e.message, "p1-0000 is not a process of this server");
	assert_null(proctab_find(table, "p1", &e));
	assert_string_equal(e.message, "no process is called p1");
	assert_string_equal(e.hint, "Did you mean p1-9c3f?");
	assert_null(proctab_find(table, "", &e));
	assert_null(proctab_get(table, 0));
	assert_null(proctab_get(table, 1025)); /* the same slot */
	err_release(&e);
}

/* No log file is opened, and truncated, for a run that may not start. */
static void expect_no_log(void)
{
	static const struct confine_request wanted;
	int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct log_file_spec spec = {
		.name = "/tmp/x", .dir_fd = dir, .dir = directory, .path = "x", .confine = &wanted,
	};
	ERR_LOCAL(e);

	assert_null(proctab_open_log(table, &spec, &e));
	assert_int_equal(e.type, ERR_LIMIT_REACHED);
	err_release(&e);
	close(dir);
}

static void test_proctab_limit_of_running(void **state)
{
	ERR_LOCAL(e);
	uint64_t a, b;

	(void)state;
	open_table(2, 10, 4 * KIB, 64 * KIB, 1024 * KIB);
	a = run("sleep 300");
	b = run("sleep 300");
	assert_null(shell("true", &e));
	assert_int_equal(e.type, ERR_LIMIT_REACHED);
	assert_non_null(strstr(e.message, "2"));
	err_release(&e);
	expect_no_log();
	assert_int_equal(proctab_trees(table), 2);
	stop(a);
	assert_int_equal(proctab_trees(table), 1);
	assert_int_equal(run_to_the_end("true"), 3);
	stop(b);
	assert_int_equal(proctab_trees(table), 0);
}

/* A run whose command is over counts as long as any of its processes lives. */
static void test_proctab_leftovers_count_as_running(void **state)
{
	ERR_LOCAL(e);
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_table(1, 10, 4 * KIB, 64 * KIB, 1024 * KIB);
	seq = run("setsid sleep 300 >/dev/null 2>&1 & exit 0");
	assert_true(children_wait(&all, is_settled, &seq));
	p = proctab_get(table, seq);
	assert_int_equal(p->state, PROC_STATE_COMPLETED);
	assert_int_equal(p->rare->leftover, 1);
	assert_int_equal(proc_usage(p)->alive, 1);
	assert_int_equal(proctab_trees(table), 1);
	assert_null(shell("true", &e));
	assert_int_equal(e.type, ERR_LIMIT_REACHED);
	err_release(&e);
	stop(seq);
	p = proctab_get(table, seq);
	assert_int_equal(p->state, PROC_STATE_COMPLETED); /* that was its end, whatever followed */
	assert_int_equal(proc_usage(p)->alive, 0);
	assert_int_equal(proc_exit_code(p), 0);
	assert_int_equal(seen.settled[seq], 1);
}

/* Run @script until it has written its first line. */
static uint64_t run_ready(const char *script)
{
	uint64_t seq = run(script);
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;

	while (!proctab_get(table, seq)->out.total && clock_mono_ms() < until)
		ev_run(all.loop, EVRUN_ONCE);
	return seq;
}

/* With no time at all each look reads one live run, the next one another; with time again all. */
static void test_proctab_usage_out_of_time(void **state)
{
	struct proc *older, *newer, *last = NULL;
	struct proctab_usage u;

	(void)state;
	open_plain_table();
	older = proctab_get(table, run_ready("echo; sleep 300; :"));
	newer = proctab_get(table, run_ready("echo; sleep 300; :"));
	for (int i = 0; i < 4; i++) {
		struct proc *p;

		older->live->resident_bytes = newer->live->resident_bytes = 0;
		proctab_usage(table, 0, &u);
		p = older->live->resident_bytes ? older : newer;
		assert_true(p->live->resident_bytes > 0);
		assert_int_equal(u.memory_bytes, p->live->resident_bytes);
		assert_ptr_not_equal(p, last);
		last = p;
	}
	for (int i = 0; i < 2; i++) {
		proctab_usage(table, 0, &u);
		older->live->resident_bytes = newer->live->resident_bytes = 0;
		proctab_usage(table, INT64_MAX, &u);
		assert_true(older->live->resident_bytes > 0 && newer->live->resident_bytes > 0);
	}
}

static void test_proctab_retention(void **state)
{
	ERR_LOCAL(e);
	struct proc *p;

	(void)state;
	open_table(10, 2, 4 * KIB, 64 * KIB, 1024 * KIB);
	for (int i = 0; i < 5; i++)
		run_to_the_end("true");
	run_to_the_end("true");
	p = proctab_next(table, NULL);
	assert_int_equal(p->seq, 6);
	p = proctab_next(table, p);
	assert_int_equal(p->seq, 5);
	assert_null(proctab_get(table, 3));
	assert_null(proctab_find(table, "p3-9c3f", &e));
	assert_int_equal(e.type, ERR_PROCESS_NOT_FOUND);
	assert_non_null(strstr(e.message, "no longer"));
	err_release(&e);
	for (int count = 2; (p = proctab_next(table, p)); count++)
		assert_true(count < 3);
}

/* The oldest record is not retired while its tree lives. */
static void test_proctab_retention_spares_the_living(void **state)
{
	uint64_t running, leftover;

	(void)state;
	open_table(10, 1, 4 * KIB, 64 * KIB, 1024 * KIB);
	running = run("sleep 300");
	leftover = run("setsid sleep 300 >/dev/null 2>&1 & exit 0");
	assert_true(children_wait(&all, is_settled, &leftover));
	for (int i = 0; i < 4; i++)
		run_to_the_end("true");
	assert_non_null(proctab_get(table, running));
	assert_non_null(proctab_get(table, leftover));
	assert_null(proctab_get(table, 3));
	stop(leftover);
	stop(running);
}

/* The oldest is the one that finished first, also when another one has gone from between. */
static void test_proctab_retention_goes_by_end(void **state)
{
	uint64_t slow, slower, bytes, first, deleted, last;
	ERR_LOCAL(e);

	(void)state;
	open_table(10, 3, 4 * KIB, 64 * KIB, 1024 * KIB);
	slow = run("sleep 300");
	slower = run("sleep 300");
	for (int i = 0; i < 3; i++)
		first = run_to_the_end("true");
	stop(slow);
	assert_non_null(proctab_get(table, slow));
	assert_non_null(proctab_get(table, first));
	assert_null(proctab_get(table, first - 2));
	deleted = run_to_the_end("true"); /* first - 1 goes */
	assert_int_equal(proctab_delete(table, proctab_get(table, deleted), &bytes, &e), 0);
	stop(slower);
	assert_non_null(proctab_get(table, first));
	last = run_to_the_end("true");
	assert_null(proctab_get(table, first));
	assert_non_null(proctab_get(table, slow));
	assert_int_equal(proctab_delete(table, proctab_get(table, last), &bytes, &e), 0);
	run_to_the_end("true");
	run_to_the_end("true");
	assert_null(proctab_get(table, slow));
	assert_non_null(proctab_get(table, slower));
}

static void test_proctab_no_finished_records(void **state)
{
	uint64_t seq;

	(void)state;
	open_table(10, 0, 4 * KIB, 64 * KIB, 1024 * KIB);
	seq = run_to_the_end("true");
	run_to_the_end("true");
	assert_null(proctab_get(table, seq));
	assert_int_equal(proctab_trees(table), 0);
}

/* Records keep one copy of what their runs were started with, as long as one of them needs it. */
static void test_proctab_records_share_settings(void **state)
{
	struct proc_settings *first;
	struct proc *other;
	uint64_t last;

	(void)state;
	open_table(10, 2, 4 * KIB, 64 * KIB, 1024 * KIB);
	first = proctab_get(table, run_to_the_end("true"))->settings;
	assert_ptr_equal(proctab_get(table, run_to_the_end("exit 1"))->settings, first);
	assert_int_equal(first->users, 2);
	directory = "/usr";
	other = proctab_get(table, run_to_the_end("true"));
	assert_int_equal(first->users, 1); /* two records are kept */
	assert_string_equal(first->cwd, "/tmp");
	assert_string_equal(other->settings->cwd, "/usr");
	last = run_to_the_end("true"); /* the last user of the first ones has gone */
	assert_ptr_equal(proctab_get(table, last)->settings, other->settings);
	assert_int_equal(other->settings->users, 2);
}

static void test_proctab_delete(void **state)
{
	ERR_LOCAL(e);
	uint64_t bytes = 0, lives, over;

	(void)state;
	open_plain_table();
	lives = run("sleep 60");
	assert_int_equal(proctab_delete(table, proctab_get(table, lives), &bytes, &e), -1);
	assert_int_equal(e.type, ERR_PROCESS_RUNNING);
	err_release(&e);
	over = run_to_the_end("echo four; echo 2 >&2");
	assert_int_equal(proctab_delete(table, proctab_get(table, over), &bytes, &e), 0);
	assert_int_equal(bytes, 7);
	assert_true(seen.events[over] & PROC_EVENT_REMOVED);
	assert_null(proctab_get(table, over));
	assert_ptr_equal(proctab_next(table, NULL), proctab_get(table, lives));
	stop(lives);
	assert_false(seen.events[lives] & PROC_EVENT_REMOVED);
}

/* An index slot with several records gives each of them. */
static void test_proctab_index_slots(void **state)
{
	uint64_t first, last = 0;

	(void)state;
	open_table(10, 1000, 4 * KIB, 64 * KIB, 1024 * KIB);
	first = run("sleep 300");
	while (last < first + 1024)
		last = run_to_the_end("");
	assert_int_equal(proctab_get(table, first)->seq, first);
	assert_int_equal(proctab_get(table, last)->seq, last);
	assert_int_equal(proctab_get(table, 500)->seq, 500);
	assert_null(proctab_get(table, last + 1));
	stop(first);
}

static void test_proctab_timeout(void **state)
{
	char *argv[] = { (char[]){ "/bin/sleep" }, (char[]){ "300" }, NULL };
	ERR_LOCAL(e);
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_plain_table();
	p = start(argv, 50, &e);
	assert_non_null(p);
	seq = p->seq;
	assert_true(children_wait(&all, is_empty, &seq));
	p = proctab_get(table, seq);
	assert_int_equal(p->state, PROC_STATE_TIMED_OUT);
	assert_int_equal(p->reason, PROC_REASON_TIMEOUT);
	assert_int_equal(proc_exit_code(p), -1);
	assert_string_equal(proc_signal_name(p), "SIGKILL");
	assert_true(proc_duration_ms(p) >= 50);
}

/* ---- a run that is asked to end ---- */

static void end(uint64_t seq, int signal, double force_after_ms)
{
	ERR_LOCAL(e);

	assert_int_equal(proc_end(proctab_get(table, seq), signal, force_after_ms, &e), 0);
}

static struct proc *wait_empty(uint64_t seq)
{
	assert_true(children_wait(&all, is_empty, &seq));
	assert_int_equal(seen.settled[seq], 1);
	return proctab_get(table, seq);
}

static bool is_exited(void *seq)
{
	return proctab_get(table, *(uint64_t *)seq)->exited;
}

#define SAVES "trap 'sleep 0.3; echo saved; exit 0' TERM; echo; while :; do sleep 0.02; done"
#define STUBBORN "trap '' TERM; echo; while :; do sleep 0.02; done"

/* The command dies first; its other processes still have their grace. */
static void test_proctab_deadline_belongs_to_the_tree(void **state)
{
	char bytes[16] = "";
	uint64_t seq, offset = 0;
	struct proc *p;

	(void)state;
	open_plain_table();
	seq = run_ready("sh -c \"" SAVES "\" & exec sleep 300");
	end(seq, SIGTERM, 60000);
	assert_true(children_wait(&all, is_exited, &seq));
	p = proctab_get(table, seq);
	assert_int_equal(p->phase, PROC_ENDING);
	assert_int_equal(p->state, PROC_STATE_RUNNING);
	assert_true(proc_is_ending(p));
	/* The shell, and its sleep, which comes and goes between two looks. */
	assert_in_range(p->rare->leftover, 1, 2);
	assert_in_range(proc_usage(p)->alive, 1, 2);
	p = wait_empty(seq);
	assert_false(proc_is_ending(p));
	assert_false(p->forced);
	assert_int_equal(p->state, PROC_STATE_KILLED);
	assert_int_equal(p->reason, PROC_REASON_KILLED_BY_REQUEST);
	assert_string_equal(proc_signal_name(p), "SIGTERM");
	assert_int_equal(p->usage.alive, 0);
	assert_int_equal(output_read(&p->out, &offset, bytes, 15), 7);
	assert_string_equal(bytes, "\nsaved\n");
}

static void test_proctab_deadline_is_kept(void **state)
{
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_ready(STUBBORN);
	end(seq, SIGTERM, 50);
	p = wait_empty(seq);
	assert_true(p->forced);
	assert_int_equal(p->reason, PROC_REASON_KILLED_BY_REQUEST);
	assert_string_equal(proc_signal_name(p), "SIGKILL");
}

/* Regardless of earlier and later calls. */
static void test_proctab_earlier_deadline_holds(void **state)
{
	static const double orders[][3] = { { 600000, 50, 0 }, { 50, 600000, 0 }, { 0, 50, 600000 } };

	(void)state;
	open_plain_table();
	for (size_t i = 0; i < 3; i++) {
		uint64_t seq = run_ready(STUBBORN);

		for (size_t k = 0; k < 3; k++)
			end(seq, SIGTERM, orders[i][k]);
		assert_true(wait_empty(seq)->forced);
	}
}

/* A SIGKILL that comes with the end or after it has ended nothing. */
static void test_proctab_forced_only_if_sigkill_ended_a_process(void **state)
{
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_ready("trap 'exit 0' TERM; echo; while :; do sleep 0.02; done");
	end(seq, SIGTERM, 60000);
	assert_true(children_wait(&all, is_exited, &seq));
	proc_kill_tree(proctab_get(table, seq), PROC_REASON_KILLED_BY_REQUEST);
	p = wait_empty(seq);
	assert_int_equal(p->forced, p->rare->killed_rest > 0);
	assert_int_equal(p->state, PROC_STATE_KILLED);
}

/* The command of @seq, which has written its pid, has died of @signal, but the table does not know
 * that yet. */
static void die_unnoticed(uint64_t seq, int signal)
{
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;
	char bytes[16] = "";
	uint64_t offset = 0;
	pid_t pid;

	assert_true(output_read(&proctab_get(table, seq)->out, &offset, bytes, 15) > 1);
	pid = atoi(bytes);
	assert_int_equal(kill(pid, signal), 0);
	while (!kill(pid, 0) && clock_mono_ms() < until)
		usleep(1000);
	assert_int_equal(kill(pid, 0), -1);
}

/* Has the shim of @p reported something that the table has not read? */
static bool has_report(const struct proc *p)
{
	struct pollfd wait = { .fd = p->live->tree.control.fd, .events = POLLIN };

	return poll(&wait, 1, CHILDREN_WAIT_MS) == 1;
}

/* A SIGKILL that is sent when the command is dead of another signal is not the cause. */
static void test_proctab_crash_races_a_kill(void **state)
{
	static const struct {
		int signal;
		enum proc_reason kill, wanted;
	} rows[] = {
		{ SIGSEGV, PROC_REASON_KILLED_BY_REQUEST, PROC_REASON_SIGNALED },
		{ SIGTERM, PROC_REASON_CANCELLED, PROC_REASON_SIGNALED },
		{ SIGABRT, PROC_REASON_TIMEOUT, PROC_REASON_SIGNALED },
		{ SIGSEGV, PROC_REASON_SERVER_SHUTDOWN, PROC_REASON_SIGNALED },
		{ SIGKILL, PROC_REASON_CANCELLED, PROC_REASON_CANCELLED }, /* whose is not known */
	};

	(void)state;
	open_plain_table();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t seq = run_ready("echo $$; exec sleep 300");
		struct proc *p;

		die_unnoticed(seq, rows[i].signal);
		proc_kill_tree(proctab_get(table, seq), rows[i].kill);
		p = wait_empty(seq);
		assert_int_equal(p->state, PROC_STATE_KILLED);
		assert_int_equal(p->reason, rows[i].wanted);
		assert_string_equal(proc_signal_name(p), names_signal(rows[i].signal));
		assert_int_equal(p->forced, rows[i].signal == SIGKILL);
	}
}

/* A command that somebody else kills is over: what procpen kills after that is what it has left. */
static void test_proctab_kill_after_the_end_is_no_cause(void **state)
{
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_ready("setsid sleep 300 & echo $$; exec sleep 300");
	p = proctab_get(table, seq);
	die_unnoticed(seq, SIGKILL);
	assert_true(children_wait(&all, is_exited, &seq));
	assert_int_equal(p->phase, PROC_DRAINING);
	proc_kill_tree(p, PROC_REASON_CANCELLED);
	p = wait_empty(seq);
	assert_int_equal(p->reason, PROC_REASON_SIGNALED);
	assert_true(p->forced);
}

/* The end of a command that a limit has struck is no result, whatever it made of that. */
static void test_proctab_limit_before_the_end(void **state)
{
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_ready("trap 'exit 0' TERM; echo $$; while :; do sleep 0.02; done");
	p = proctab_get(table, seq);
	die_unnoticed(seq, SIGTERM);
	p->rare->proof.struck = PROC_REASON_MEMORY_LIMIT;
	proc_on_limit(p);
	p = wait_empty(seq);
	assert_int_equal(WEXITSTATUS(p->wait_status), 0);
	assert_int_equal(p->state, PROC_STATE_KILLED);
	assert_int_equal(p->reason, PROC_REASON_MEMORY_LIMIT);
}

/* What has ended before the run settles was not left. */
static void test_proctab_leftover_that_ends_while_draining(void **state)
{
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_ready("sleep 300 & echo $!; exit 0");
	assert_true(children_wait(&all, is_exited, &seq));
	p = proctab_get(table, seq);
	assert_int_equal(p->phase, PROC_DRAINING);
	assert_int_equal(p->rare->leftover, 1);
	die_unnoticed(seq, SIGTERM);
	assert_true(has_report(p));
	assert_false(tree_look(&p->live->tree)); /* before the end of its output is read */
	assert_int_equal(seen.settled[seq], 1);
	assert_int_equal(proctab_get(table, seq)->rare->leftover, 0);
}

/* An exit soon after an ending signal was asked for; a later one was not. */
static void test_proctab_who_lives_on_ends_by_itself(void **state)
{
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_ready("trap 'exit 5' TERM; echo; while :; do sleep 0.02; done");
	end(seq, SIGTERM, 0);
	p = wait_empty(seq);
	assert_int_equal(p->state, PROC_STATE_KILLED);
	assert_int_equal(proc_exit_code(p), -1);
	seq = run_ready("trap 'sleep 1.5; exit 5' TERM; echo; while :; do sleep 0.02; done");
	end(seq, SIGTERM, 0);
	assert_false(proc_is_ending(proctab_get(table, seq)));
	p = wait_empty(seq);
	assert_int_equal(p->state, PROC_STATE_COMPLETED);
	assert_int_equal(proc_exit_code(p), 5);
}

static bool is_signaled(void *seq)
{
	return seen.events[*(uint64_t *)seq] & PROC_EVENT_SIGNALED;
}

/* A timeout kills at once, but the signal came first: that is the cause. */
static void test_proctab_timeout_ends_the_grace(void **state)
{
	static const struct {
		int signal;
		double force_after_ms;
		bool idle;
		enum proc_reason wanted;
	} rows[] = {
		{ SIGTERM, 60000, false, PROC_REASON_KILLED_BY_REQUEST },
		{ SIGTERM, 60000, true, PROC_REASON_KILLED_BY_REQUEST },
		{ SIGUSR1, 60000, false, PROC_REASON_KILLED_BY_REQUEST },
		{ SIGUSR1, 0, false, PROC_REASON_TIMEOUT }, /* does not ask for the end */
		{ SIGUSR1, 0, true, PROC_REASON_IDLE },
	};

	(void)state;
	open_plain_table();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t seq = run_ready("trap '' TERM USR1; echo; while :; do sleep 0.02; done");
		struct proc *p = proctab_get(table, seq);

		end(seq, rows[i].signal, rows[i].force_after_ms);
		assert_true(children_wait(&all, is_signaled, &seq));
		ev_invoke(all.loop, rows[i].idle ? &p->live->silence : &p->live->timeout, EV_TIMER);
		p = wait_empty(seq);
		assert_true(p->forced);
		assert_int_equal(p->reason, rows[i].wanted);
		assert_int_equal(p->state, rows[i].wanted == PROC_REASON_KILLED_BY_REQUEST
						   ? PROC_STATE_KILLED : PROC_STATE_TIMED_OUT);
	}
}

static bool is_running(void *seq)
{
	return proctab_get(table, *(uint64_t *)seq)->phase == PROC_RUNNING;
}

/* A timer can come in a turn of the loop that began before the report of the end came: the command
 * was in time, and what it has left lives on. */
static void test_proctab_end_before_the_timeout(void **state)
{
	(void)state;
	open_plain_table();
	for (int idle = 0; idle < 2; idle++) {
		uint64_t seq = run_ready("setsid sleep 300 & trap 'exit 3' TERM; echo $$; "
					 "while :; do sleep 0.02; done");
		struct proc *p = proctab_get(table, seq);

		assert_true(children_wait(&all, is_running, &seq)); /* no other report is due */
		die_unnoticed(seq, SIGTERM);
		assert_true(has_report(p));
		assert_false(p->exited);
		ev_invoke(all.loop, idle ? &p->live->silence : &p->live->timeout, EV_TIMER);
		assert_true(p->exited);
		assert_false(proc_is_ending(p));
		assert_true(children_wait(&all, is_settled, &seq));
		assert_int_equal(p->state, PROC_STATE_COMPLETED);
		assert_int_equal(proc_exit_code(p), 3);
		assert_int_equal(p->rare->leftover, 1);
		stop(seq);
	}
}

/* A signal with a deadline asks for the end, whichever it is; without one it does not. */
static void test_proctab_any_signal_can_ask(void **state)
{
	static const char script[] = "trap 'exit 5' USR1; echo; while :; do sleep 0.02; done";
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_ready(script);
	end(seq, SIGUSR1, 60000);
	assert_int_equal(wait_empty(seq)->state, PROC_STATE_KILLED);
	seq = run_ready(script);
	end(seq, SIGUSR1, 0);
	p = wait_empty(seq);
	assert_int_equal(p->state, PROC_STATE_COMPLETED);
	assert_int_equal(proc_exit_code(p), 5);
}

/* Death by the signal that a call sent was asked for; by another one it was not. */
static void test_proctab_dies_of_the_signal_that_was_sent(void **state)
{
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_ready("echo $$; exec sleep 300");
	end(seq, SIGUSR1, 0);
	assert_int_equal(wait_empty(seq)->reason, PROC_REASON_KILLED_BY_REQUEST);
	seq = run_ready("echo $$; exec sleep 300");
	end(seq, SIGWINCH, 0);
	assert_true(children_wait(&all, is_signaled, &seq));
	die_unnoticed(seq, SIGUSR1);
	assert_int_equal(wait_empty(seq)->reason, PROC_REASON_SIGNALED);
}

/* What could not be sent has no deadline: SIGKILL would not arrive either. */
static void test_proctab_failed_signal_has_no_deadline(void **state)
{
	const struct shim_report failed = { .event = SHIM_SIGNALED, .value = SIGTERM,
					    .error = EPERM };
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_ready("echo; exec sleep 300");
	p = proctab_get(table, seq);
	end(seq, SIGWINCH, 60000);
	assert_true(children_wait(&all, is_signaled, &seq));
	assert_true(proc_is_ending(p));
	p->live->tree.on_report(p, &failed);
	assert_false(proc_is_ending(p));
	stop(seq);
}

/* Endless forks can outrun the end of a run only where no PID namespace or control group holds it. */
static void test_proctab_counts_the_bare(void **state)
{
	struct proc *p;
	uint64_t seq;
	int bare;

	(void)state;
	open_plain_table();
	seq = run_ready("echo; exec sleep 300");
	p = proctab_get(table, seq);
	p->settings->applied.layers &= ~(1u << CONFINE_CGROUP); /* this machine may have them */
	assert_int_equal(proctab_alive(table, &bare), 1);
	assert_int_equal(bare, 1);
	p->settings->applied.layers |= 1u << CONFINE_CGROUP;
	assert_int_equal(proctab_alive(table, &bare), 1);
	assert_int_equal(bare, 0);
	stop(seq);
	assert_int_equal(proctab_alive(table, &bare), 0);
}

static void test_proctab_leftovers_have_their_time(void **state)
{
	struct proc *p;
	uint64_t seq;

	(void)state;
	open_plain_table();
	seq = run_ready("setsid sh -c \"" SAVES "\" & read x; exit 3");
	assert_true(children_wait(&all, is_settled, &seq));
	p = proctab_get(table, seq);
	assert_true(proc_usage(p)->alive > 0);
	end(seq, SIGTERM, 60000);
	p = wait_empty(seq);
	assert_false(p->forced);
	assert_int_equal(p->state, PROC_STATE_COMPLETED);
	assert_int_equal(proc_exit_code(p), 3);
	seq = run_ready("setsid sh -c \"" STUBBORN "\" & read x; exit 3");
	assert_true(children_wait(&all, is_settled, &seq));
	end(seq, SIGTERM, 50);
	p = wait_empty(seq);
	assert_true(p->forced);
	assert_int_equal(p->state, PROC_STATE_COMPLETED);
}

#define WRITE_KIB(n) "head -c " #n "k /dev/zero"

static void expect_logs_gone(uint64_t seq, bool gone)
{
	struct proc *p = proctab_get(table, seq);
	uint64_t from = 0, to = 0;

	assert_non_null(p);
	assert_int_equal(output_evicted(&p->out, &from, &to) && from == 0 && to == p->out.total,
			 gone);
	assert_int_equal(output_kept(&p->out), gone ? 0 : p->out.total);
	assert_int_equal(p->rare->kept_bytes, output_kept(&p->out) + output_kept(&p->err));
}

/* Logs of finished runs go first, oldest first, and only as many as needed. */
static void test_proctab_budget_evicts_the_oldest(void **state)
{
	uint64_t a, b, c;

	(void)state;
	open_table(10, 10, 4 * KIB, 1024 * KIB, 250 * KIB);
	a = run_to_the_end(WRITE_KIB(100));
	b = run_to_the_end(WRITE_KIB(100));
	expect_logs_gone(a, false);
	c = run_to_the_end(WRITE_KIB(100));
	expect_logs_gone(a, true);
	expect_logs_gone(b, false);
	expect_logs_gone(c, false);
	assert_int_equal(proctab_get(table, a)->out.total, 100 * KIB);
	run_to_the_end(WRITE_KIB(240));
	expect_logs_gone(b, true);
	expect_logs_gone(c, true);
}

/* What was kept for a record that is gone counts no more. */
static void test_proctab_budget_of_deleted_records(void **state)
{
	ERR_LOCAL(e);
	uint64_t seq, kept, bytes = 0;

	(void)state;
	open_table(10, 10, 4 * KIB, 64 * KIB, 130 * KIB);
	for (int i = 0; i < 3; i++) {
		seq = run_to_the_end(WRITE_KIB(60));
		assert_int_equal(proctab_delete(table, proctab_get(table, seq), &bytes, &e), 0);
	}
	kept = run_to_the_end(WRITE_KIB(60));
	run_to_the_end(WRITE_KIB(60));
	expect_logs_gone(kept, false);
}

/* If running runs alone exceed the budget, the writer's tail stops growing and wraps. Its log is
 * still there when its end is reported, and goes when another run needs the room. */
static void test_proctab_budget_freezes_writers(void **state)
{
	uint64_t seq, from, to;
	struct proc *p;

	(void)state;
	open_table(10, 10, 4 * KIB, 8192 * KIB, 1024 * KIB);
	seq = run_to_the_end(WRITE_KIB(6000));
	p = proctab_get(table, seq);
	assert_int_equal(p->out.total, 6000 * KIB);
	assert_true(p->out.range->frozen);
	assert_true(output_kept(&p->out) < 1700 * KIB); /* one turn of the loop above the budget */
	assert_true(output_evicted(&p->out, &from, &to));
	assert_int_equal(from, 4 * KIB);
	assert_int_equal(output_kept(&p->out), p->out.total - (to - from));
	run_to_the_end("echo x");
	expect_logs_gone(seq, true);
}

/* A live run keeps its log while a finished one has one to drop. */
static void test_proctab_budget_spares_the_running(void **state)
{
	uint64_t running, finished;
	int64_t until = clock_mono_ms() + CHILDREN_WAIT_MS;

	(void)state;
	open_table(10, 10, 4 * KIB, 1024 * KIB, 250 * KIB);
	running = run(WRITE_KIB(100) "; sleep 300");
	while (proctab_get(table, running)->out.total < 100 * KIB && clock_mono_ms() < until)
		ev_run(all.loop, EVRUN_ONCE);
	finished = run_to_the_end(WRITE_KIB(100));
	run_to_the_end(WRITE_KIB(100));
	expect_logs_gone(running, false);
	expect_logs_gone(finished, true);
	stop(running);
}

/* The log of a run that finishes last goes last, whatever was dropped before it finished. */
static void test_proctab_budget_goes_by_end(void **state)
{
	uint64_t slow, early, late;

	(void)state;
	open_table(10, 10, 4 * KIB, 1024 * KIB, 250 * KIB);
	slow = run_ready(WRITE_KIB(10) "; sleep 300");
	run_to_the_end("true");
	early = run_to_the_end(WRITE_KIB(100));
	run_to_the_end("true");
	late = run_to_the_end(WRITE_KIB(150));
	expect_logs_gone(early, true);
	stop(slow);
	expect_logs_gone(late, false);
	run_to_the_end(WRITE_KIB(95));
	expect_logs_gone(late, true);
	expect_logs_gone(slow, false);
	run_to_the_end(WRITE_KIB(240));
	expect_logs_gone(slow, true);
}

/* Of logs that hold too many descriptors the one of the run that finished first goes, and not that
 * of the one that finishes now. A log that its owner has deleted counts no more. */
static void test_proctab_spools_go_by_end(void **state)
{
	ERR_LOCAL(e);
	uint64_t slow, early, late, bytes;

	(void)state;
	spools_max = 2;
	open_plain_table();
	slow = run_ready(WRITE_KIB(10) "; sleep 300");
	early = run_to_the_end(WRITE_KIB(10));
	late = run_to_the_end(WRITE_KIB(10));
	run_to_the_end("true");
	expect_logs_gone(early, false);
	stop(slow);
	expect_logs_gone(early, true);
	expect_logs_gone(late, false);
	expect_logs_gone(slow, false);
	assert_int_equal(proctab_delete(table, proctab_get(table, late), &bytes, &e), 0);
	run_to_the_end(WRITE_KIB(10));
	expect_logs_gone(slow, false);
	run_to_the_end(WRITE_KIB(10));
	expect_logs_gone(slow, true);
}

static void set_true(void *ctx)
{
	*(bool *)ctx = true;
}

static bool is_true(void *ctx)
{
	return *(bool *)ctx;
}

/* The writer of a log file is killed before it has opened it: nothing is wrong with the file. */
static void test_proctab_log_writer_is_killed(void **state)
{
	static const struct confine_request wanted;
	int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool killed = false, decided;
	const struct log_file_spec spec = {
		.name = "/tmp/nosuch/x", .dir_fd = dir, .dir = directory, .path = "nosuch/x",
		.confine = &wanted, .on_open = set_true, .ctx = &decided,
	};

	(void)state;
	open_plain_table();
	for (int i = 0; i < 100 && !killed; i++) { /* it may be faster */
		ERR_LOCAL(e);
		struct log_file *f = proctab_open_log(table, &spec, &e);

		assert_non_null(f);
		decided = false;
		assert_int_equal(kill(f->tree.shim_pid, SIGKILL), 0);
		assert_true(children_wait(&all, is_true, &decided));
		assert_true(log_file_failed(f, &e));
		killed = !strstr(e.message, "ENOENT");
		assert_true(!killed || err_retryable(&e));
		err_release(&e);
		log_file_free(f);
	}
	assert_true(killed);
	close(dir);
}

/* Nor has a process opened it that the shim has seen killed. */
static void test_proctab_log_opener_is_killed(void **state)
{
	static const struct confine_request wanted;
	const struct shim_report died = { .event = SHIM_EXITED, .value = SIGKILL };
	int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool decided = false;
	const struct log_file_spec spec = {
		.name = "/tmp/nosuch/x", .dir_fd = dir, .dir = directory, .path = "nosuch/x",
		.confine = &wanted, .on_open = set_true, .ctx = &decided,
	};
	ERR_LOCAL(e);
	struct log_file *f;

	(void)state;
	open_plain_table();
	f = proctab_open_log(table, &spec, &e);
	assert_non_null(f);
	f->tree.on_report(f->tree.ctx, &died);
	assert_int_equal(f->phase, LOG_FILE_OPENING);
	assert_true(children_wait(&all, is_true, &decided));
	assert_true(log_file_failed(f, &e));
	assert_non_null(strstr(e.message, "killed from outside"));
	err_release(&e);
	log_file_free(f);
	close(dir);
}

static void test_proctab_shutdown(void **state)
{
	ERR_LOCAL(e);
	uint64_t a, b, done;

	(void)state;
	open_plain_table();
	done = run_to_the_end("exit 4");
	a = run("sleep 300");
	b = run("trap '' TERM; setsid sleep 300 & sleep 300");
	children_pause(&all, 30);
	proctab_shutdown(table);
	assert_null(shell("true", &e));
	assert_int_equal(e.type, ERR_LIMIT_REACHED);
	assert_false(err_retryable(&e)); /* no later call finds this server */
	err_release(&e);
	expect_no_log();
	assert_true(children_wait(&all, is_empty, &a));
	assert_true(children_wait(&all, is_empty, &b));
	assert_int_equal(proctab_trees(table), 0);
	assert_int_equal(proctab_get(table, a)->state, PROC_STATE_KILLED);
	assert_int_equal(proctab_get(table, a)->reason, PROC_REASON_SERVER_SHUTDOWN);
	assert_int_equal(proctab_get(table, b)->reason, PROC_REASON_SERVER_SHUTDOWN);
	assert_int_equal(proctab_get(table, done)->state, PROC_STATE_COMPLETED);
	assert_int_equal(proc_exit_code(proctab_get(table, done)), 4);
}

/* The table is freed while runs live (the server exits): the closed sockets end them. */
static void test_proctab_free_ends_what_lives(void **state)
{
	(void)state;
	open_plain_table();
	run("sleep 300");
	run("setsid sleep 300 & sleep 300");
	children_pause(&all, 30);
	proctab_free(table);
	table = NULL;
	assert_true(children_wait(&all, children_none, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_proctab_one_run, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_keeps_what_it_packs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_shim_still_has_the_pipes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_pipes_wait_for_the_next_run, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_keeps_no_pipes_where_few_are_left, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_run_shares_our_descriptors, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_failed_start_leaves_no_record, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_find, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_limit_of_running, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_leftovers_count_as_running, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_usage_out_of_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_retention, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_retention_spares_the_living, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_retention_goes_by_end, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_no_finished_records, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_records_share_settings, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_delete, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_index_slots, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_timeout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_deadline_belongs_to_the_tree, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_deadline_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_earlier_deadline_holds, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_forced_only_if_sigkill_ended_a_process, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_crash_races_a_kill, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_kill_after_the_end_is_no_cause, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_limit_before_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_leftover_that_ends_while_draining, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_who_lives_on_ends_by_itself, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_timeout_ends_the_grace, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_end_before_the_timeout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_any_signal_can_ask, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_dies_of_the_signal_that_was_sent, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_failed_signal_has_no_deadline, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_counts_the_bare, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_leftovers_have_their_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_budget_evicts_the_oldest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_budget_of_deleted_records, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_budget_freezes_writers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_budget_spares_the_running, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_budget_goes_by_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_spools_go_by_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_log_opener_is_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_log_writer_is_killed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_proctab_shutdown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proctab_free_ends_what_lives, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
