#include "unit.h"

#include <sched.h>
#include <sys/mount.h>

#include "children.h"
#include "os/spare.h"
#include "scratch.h"

static struct children all;
static struct confine *layered; /* with namespaces, where they work */

/* One command as proc.c would start it. */
struct job {
	struct shim_plan plan;
	struct confine_run run;
	struct spawn_request request;
	struct spawn_result result;
	int in, out, err; /* our ends of its pipes */
	int ends[3], cwd;
	char *environment[600], *argv[600];
};

static void add_pipe(int *ours, int *theirs, int ours_is_read)
{
	int pair[2];

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	*ours = pair[!ours_is_read];
	*theirs = pair[ours_is_read];
}

/* @command in a shell, with @c's layers as @ask wants them. */
static struct job *job_new(struct confine *c, const struct confine_request *ask, const char *command)
{
	struct job *j = calloc(1, sizeof(*j));
	struct err e = ERR_INIT;

	assert_int_equal(confine_enter(c, ask, 1, &j->plan, &j->run, &e), 0);
	add_pipe(&j->in, &j->ends[0], 0);
	add_pipe(&j->out, &j->ends[1], 1);
	add_pipe(&j->err, &j->ends[2], 1);
	j->cwd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	j->argv[0] = strdup("/bin/sh");
	j->argv[1] = strdup("-c");
	j->argv[2] = strdup(command);
	j->environment[0] = strdup("PATH=/usr/bin:/bin");
	j->request = (struct spawn_request){
		.path = "/bin/sh", .argv = j->argv, .envp = j->environment, .cwd_fd = j->cwd,
		.cwd = "/tmp", .stdin_fd = j->ends[0], .stdout_fd = j->ends[1],
		.stderr_fd = j->ends[2], .plan = &j->plan, .clone_flags = j->run.clone_flags,
		.fds = j->run.fds, .fd_count = j->run.fd_count,
	};
	return j;
}

static void add_text(char **list, const char *text)
{
	while (*list)
		list++;
	*list = strdup(text);
}

static void job_free(struct job *j)
{
	for (char **text = j->argv; *text; text++)
		free(*text);
	for (char **text = j->environment; *text; text++)
		free(*text);
	for (int i = 0; i < 3; i++)
		if (j->ends[i] >= 0)
			close(j->ends[i]);
	close(j->in);
	close(j->out);
	close(j->err);
	close(j->cwd);
	confine_run_release(&j->run);
	free(j);
}

/* The command has its ends: let go of ours, and read @fd to its end. */
static size_t read_all(struct job *j, int fd, char *text, size_t size)
{
	size_t len = 0;
	ssize_t n;

	for (int i = 0; i < 3; i++) {
		if (j->ends[i] >= 0)
			close(j->ends[i]);
		j->ends[i] = -1;
	}
	while ((n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	return len;
}

/* ---- waiting for the keeper ---- */

struct taking {
	struct spare *spare;
	struct job *job;
};

static bool taken(void *ctx)
{
	struct taking *t = ctx;

	return !spare_take(t->spare, &t->job->request, &t->job->result);
}

static void take(struct spare *s, struct job *j)
{
	struct taking t = { s, j };

	assert_true(children_wait(&all, taken, &t));
}

static bool one_child(void *pid)
{
	pid_t pids[2];

	if (procfs_children(getpid(), pids, 2) != 1 || children_gone(&pids[0]))
		return false;
	*(pid_t *)pid = pids[0];
	return true;
}

/* A waiting keeper is the only child there is. */
static pid_t keeper_of(struct spare *s)
{
	pid_t pid = 0;

	(void)s;
	assert_true(children_wait(&all, one_child, &pid));
	return pid;
}

/* Nothing comes of @job, and the keeper that waits goes on waiting. */
static void expect_unfit(struct spare *s, struct job *job, pid_t keeper)
{
	assert_int_equal(spare_take(s, &job->request, &job->result), -1);
	children_pause(&all, 20);
	assert_int_equal(spare_take(s, &job->request, &job->result), -1);
	assert_int_equal(keeper_of(s), keeper);
	job_free(job);
}

/* Its exit status, when everything is over. */
static int finish(struct job *j)
{
	struct shim_report report;
	int status = -1;

	while (!children_report(j->result.control_fd, &report)) {
		if (report.event == SHIM_EXITED)
			status = report.value;
		if (report.event == SHIM_FAILED)
			fail_msg("failed in %s: errno %d", spawn_stage_name(report.value), report.error);
	}
	close(j->result.control_fd);
	assert_true(children_wait(&all, children_none, NULL));
	job_free(j);
	return status;
}

static const struct confine_request nothing;

/* A spare that waits for a command of @c; its keeper's pid. */
static struct spare *ready(struct confine *c, pid_t *keeper)
{
	struct spare *s = spare_new(all.loop, all.reaper);
	struct job *like = job_new(c, &nothing, "true");

	spare_want(s, &like->request);
	job_free(like);
	*keeper = keeper_of(s);
	return s;
}

static void end(struct spare *s)
{
	spare_free(s);
	assert_true(children_wait(&all, children_none, NULL));
}

/* ---- tests ---- */

static void test_spare_of_nothing(void **state)
{
	struct spare *s = spare_new(all.loop, all.reaper);
	struct job *j = job_new(all.confine, &nothing, "true");

	(void)state;
	assert_int_equal(spare_take(s, &j->request, &j->result), -1);
	children_pause(&all, 20);
	assert_int_equal(spare_take(s, &j->request, &j->result), -1);
	assert_true(children_none(NULL));
	job_free(j);
	end(s);
	spare_free(NULL);
}

static void run_ahead(struct confine *c)
{
	char text[200];
	pid_t keeper;
	struct spare *s = ready(c, &keeper);
	struct job *j = job_new(c, &nothing, "echo out; echo err >&2; cat; exit 7");

	take(s, j);
	assert_int_equal(j->result.keeper_pid, keeper);
	assert_int_equal(write(j->in, "input\n", 6), 6);
	close(j->in);
	j->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	read_all(j, j->out, text, sizeof(text));
	assert_string_equal(text, "out\ninput\n");
	read_all(j, j->err, text, sizeof(text));
	assert_string_equal(text, "err\n");
	assert_int_equal(finish(j), 7 << 8);
	j = job_new(c, &nothing, "true"); /* once only */
	assert_int_equal(spare_take(s, &j->request, &j->result), -1);
	job_free(j);
	end(s);
}

static void test_spare_runs_a_command(void **state)
{
	(void)state;
	run_ahead(all.confine);
	run_ahead(layered);
}

/* Layers, limits and place are those of a command that was started in the ordinary way. */
static void test_spare_is_like_an_ordinary_start(void **state)
{
	static const char script[] =
		"pwd; umask; ulimit -c; ulimit -Hn; ulimit -t; "
		"grep -E '^(Sig(Blk|Ign|Cgt)|Cap|NoNew|Seccomp)' /proc/self/status; "
		"ls /proc/self/fd; set -- $(cat /proc/$$/stat); echo $(($5 - $1)) $(($6 - $1)); "
		"touch /etc/procpen-test 2>&1; env | sort";
	const struct shim_rlimit limit = { .resource = RLIMIT_CPU, .soft = 77, .hard = 78 };
	const struct confine_request ask = { .rlimits = &limit, .rlimit_count = 1 };
	static char ahead[8000], ordinary[8000];
	struct confine *both[] = { all.confine, layered };
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid_t keeper;
		struct spare *s = ready(both[i], &keeper);
		struct job *j = job_new(both[i], &ask, script);

		take(s, j);
		read_all(j, j->out, ahead, sizeof(ahead));
		assert_int_equal(finish(j), 0);
		j = job_new(both[i], &ask, script);
		assert_int_equal(spawn_start(&j->request, &j->result, &e), 0);
		read_all(j, j->out, ordinary, sizeof(ordinary));
		assert_int_equal(finish(j), 0);
		assert_string_equal(ahead, ordinary);
		assert_non_null(strstr(ahead, "\n77\n"));
		assert_non_null(strstr(ahead, "\nSeccomp:\t2"));
		end(s);
	}
}

static void test_spare_does_not_fit(void **state)
{
	const struct confine_request strict = { .strict = true }, explain = { .explain = true };
	const struct confine_request offline = { .network_off = true };
	pid_t keeper;
	struct spare *s = ready(layered, &keeper);
	struct job *j;

	(void)state;
	expect_unfit(s, job_new(layered, &strict, "true"), keeper);
	expect_unfit(s, job_new(layered, &explain, "true"), keeper);
	expect_unfit(s, job_new(layered, &offline, "true"), keeper);
	j = job_new(layered, &nothing, "true");
	if (j->run.clone_flags)
		expect_unfit(s, job_new(all.confine, &nothing, "true"), keeper);
	if (!geteuid())
		expect_unfit(s, job_new(layered, &(struct confine_request){ .as_user = true, .uid = 65534,
									  .gid = 65534 },
				      "true"), keeper);
	take(s, j); /* all the time it was there for this */
	assert_int_equal(j->result.keeper_pid, keeper);
	assert_int_equal(finish(j), 0);
	end(s);
}

/* Plans of one length that say something else. */
static void test_spare_of_other_places(void **state)
{
	static const char *const writable[] = { "/usr", NULL }; /* as long as /tmp */
	struct confine_options options = {
		.instance = "layered", .umask = 027, .network = true, .namespaces = true,
		.writable = writable, .nofile = { 256, 512 },
	};
	struct confine *other = confine_new(&options);
	pid_t keeper;
	struct spare *s = ready(layered, &keeper);
	struct job *mine = job_new(layered, &nothing, "true"), *theirs = job_new(other, &nothing, "true");

	(void)state;
	if (mine->plan.flags & SHIM_MOUNTS) {
		assert_int_equal(mine->plan.mounts_size, theirs->plan.mounts_size);
		assert_int_equal(mine->plan.filter_len, theirs->plan.filter_len);
		expect_unfit(s, theirs, keeper);
	} else {
		print_message("SKIP: no mount namespace here\n");
		job_free(theirs);
	}
	take(s, mine);
	assert_int_equal(finish(mine), 0);
	end(s);
	confine_free(other);
}

/* Every byte but NUL, empty arguments, many of them. */
static void test_spare_arguments_and_environment(void **state)
{
	static char text[40000], want[40000];
	char bytes[256], pair[300];
	size_t len = 0;
	pid_t keeper;
	struct spare *s = ready(all.confine, &keeper);
	struct job *j = job_new(all.confine, &nothing, "cat /proc/$$/cmdline /proc/$$/environ");

	(void)state;
	for (int i = 0; i < 255; i++)
		bytes[i] = (char)(i + 1);
	bytes[255] = '\0';
	add_text(j->argv, "name");
	add_text(j->argv, "");
	add_text(j->argv, bytes);
	add_text(j->argv, "");
	for (int i = 0; i < 300; i++)
		add_text(j->argv, "x");
	add_text(j->argv, "");
	snprintf(pair, sizeof(pair), "BYTES=%s", bytes);
	add_text(j->environment, pair);
	add_text(j->environment, "EMPTY=");
	add_text(j->environment, "no pair at all");
	for (char **at = j->argv; *at; at++, len++)
		len = (size_t)(stpcpy(want + len, *at) - want);
	for (char **at = j->environment; *at; at++, len++)
		len = (size_t)(stpcpy(want + len, *at) - want);
	take(s, j);
	assert_int_equal(read_all(j, j->out, text, sizeof(text)), len);
	assert_memory_equal(text, want, len);
	assert_int_equal(finish(j), 0);
	end(s);
}

/* What does not fit into the message is started in the ordinary way, and the keeper waits on. */
static void test_spare_bounds(void **state)
{
	static char big[SHIM_STRINGS_MAX + 100], text[100];
	pid_t keeper;
	struct spare *s = ready(all.confine, &keeper);
	struct job *j = job_new(all.confine, &nothing, "echo ${#BIG}");
	/* argv: /bin/sh, -c, the script; PATH; each with its NUL */
	const size_t rest = 8 + 3 + 13 + 19;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	memcpy(big, "BIG=", 4);
	big[SHIM_STRINGS_MAX - rest] = '\0'; /* one more than there is room for */
	add_text(j->environment, big);
	expect_unfit(s, j, keeper);

	j = job_new(all.confine, &nothing, "true");
	for (int i = 0; i < 500; i++)
		add_text(j->argv, "");
	expect_unfit(s, j, keeper);

	j = job_new(all.confine, &nothing, "echo ${#BIG}");
	big[SHIM_STRINGS_MAX - rest - 1] = '\0';
	add_text(j->environment, big);
	take(s, j);
	assert_int_equal(j->result.keeper_pid, keeper);
	read_all(j, j->out, text, sizeof(text));
	assert_int_equal(atoi(text), SHIM_STRINGS_MAX - (int)rest - 1 - 4);
	assert_int_equal(finish(j), 0);
	end(s);
}

/* What the keeper shows of itself holds nothing of the command. */
static void test_spare_shows_no_arguments(void **state)
{
	char path[40], text[4096];
	pid_t keeper;
	struct spare *s = ready(all.confine, &keeper);
	struct job *j = job_new(all.confine, &nothing, "echo; cat");
	ssize_t n;
	int fd;

	(void)state;
	add_text(j->argv, "secret-argument");
	take(s, j);
	assert_int_equal(read(j->out, text, 1), 1); /* it executes */
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)keeper);
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text));
	close(fd);
	assert_true(n > 0);
	assert_null(memmem(text, (size_t)n, "secret", 6));
	close(j->in);
	j->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	read_all(j, j->out, text, sizeof(text));
	assert_int_equal(finish(j), 0);
	end(s);
}

static void test_spare_of_another_kind(void **state)
{
	const struct confine_request offline = { .network_off = true };
	pid_t keeper, other;
	struct spare *s = ready(all.confine, &keeper);
	struct job *j = job_new(all.confine, &offline, "true");

	(void)state;
	assert_false(j->run.clone_flags);
	spare_want(s, &j->request); /* in place of the first */
	assert_true(children_wait(&all, children_gone, &keeper));
	other = keeper_of(s);
	assert_int_not_equal(other, keeper);
	take(s, j);
	assert_int_equal(j->result.keeper_pid, other);
	assert_int_equal(finish(j), 0);
	end(s);
}

/* A listener belongs to one command: none is made ahead, and the one that waits stays. */
static void test_spare_never_made_ahead(void **state)
{
	const struct confine_request explain = { .explain = true };
	pid_t keeper;
	struct spare *s = ready(all.confine, &keeper);
	struct job *j = job_new(all.confine, &explain, "true");

	(void)state;
	spare_want(s, &j->request);
	children_pause(&all, 20);
	assert_int_equal(keeper_of(s), keeper);
	job_free(j);
	end(s);
}

static void test_spare_wanted_twice_is_made_once(void **state)
{
	pid_t keeper;
	struct spare *s = ready(all.confine, &keeper);
	struct job *j = job_new(all.confine, &nothing, "true");

	(void)state;
	for (int i = 0; i < 3; i++) {
		spare_want(s, &j->request);
		children_pause(&all, 10);
	}
	assert_int_equal(keeper_of(s), keeper);
	job_free(j);
	end(s);
}

/* A keeper that dies is forgotten, and the next start makes another. */
static void test_spare_keeper_dies(void **state)
{
	pid_t keeper, other;
	struct spare *s = ready(all.confine, &keeper);
	struct job *j = job_new(all.confine, &nothing, "true");

	(void)state;
	assert_int_equal(kill(keeper, SIGKILL), 0);
	assert_true(children_wait(&all, children_none, NULL));
	assert_int_equal(spare_take(s, &j->request, &j->result), -1);
	spare_want(s, &j->request);
	other = keeper_of(s);
	take(s, j);
	assert_int_equal(j->result.keeper_pid, other);
	assert_int_equal(finish(j), 0);
	end(s);
}

static void test_spare_ends_with_its_owner(void **state)
{
	pid_t keeper;
	struct spare *s = ready(layered, &keeper);

	(void)state;
	end(s);
	assert_true(children_gone(&keeper));
}

/* The server dies without a word: its keeper leaves by itself. */
static void test_spare_server_dies(void **state)
{
	int tell[2], status;
	pid_t child, keeper;

	(void)state;
	assert_int_equal(pipe(tell), 0);
	fflush(NULL);
	child = fork();
	if (!child) {
		ev_loop_fork(all.loop);
		ready(all.confine, &keeper);
		(void)!write(tell[1], &keeper, sizeof(keeper));
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(read(tell[0], &keeper, sizeof(keeper)), sizeof(keeper));
	close(tell[0]);
	close(tell[1]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	assert_true(children_wait(&all, children_gone, &keeper));
	assert_true(children_wait(&all, children_none, NULL));
}

/* A mount made after the keeper's: a command that it would run could not see it. */
static void test_spare_mounts_changed(void **state)
{
	struct scratch tmp;
	char script[300], text[100];
	pid_t keeper, other;
	struct spare *s;
	struct job *j;

	(void)state;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		print_message("SKIP: mounts cannot be made here\n");
		skip();
	}
	scratch_init(&tmp);
	s = ready(layered, &keeper);
	assert_int_equal(mount("none", tmp.dir, "tmpfs", 0, NULL), 0);
	scratch_file(&tmp, "seen", "", 0644);
	snprintf(script, sizeof(script), "ls %s", tmp.dir);
	j = job_new(layered, &nothing, script);
	children_pause(&all, 100); /* it is ready by then, and refused all the same */
	assert_int_equal(spare_take(s, &j->request, &j->result), -1);
	assert_true(children_wait(&all, children_none, NULL));
	spare_want(s, &j->request);
	other = keeper_of(s);
	assert_int_not_equal(other, keeper);
	take(s, j);
	read_all(j, j->out, text, sizeof(text));
	assert_string_equal(text, "seen\n");
	assert_int_equal(finish(j), 0);
	end(s);
	assert_int_equal(umount2(tmp.dir, MNT_DETACH), 0);
	scratch_release(&tmp);
}

/* A keeper covers what it finds: what came later to a path that is to be hidden would be seen. */
static void test_spare_hidden_path_comes_to_be(void **state)
{
	struct scratch tmp;
	char later[SCRATCH_PATH], script[SCRATCH_PATH + 8], text[100];
	const char *const hidden[] = { later, NULL }, *const writable[] = { "/tmp", NULL };
	struct confine_options options = {
		.instance = "hiding", .network = true, .namespaces = true, .writable = writable,
		.hidden = hidden, .nofile = { 256, 512 },
	};
	struct confine *hiding;
	pid_t keeper;
	struct spare *s;
	struct job *j;

	(void)state;
	scratch_init(&tmp);
	scratch_copy(&tmp, "later", later);
	snprintf(script, sizeof(script), "cat %s", later);
	hiding = confine_new(&options);
	s = ready(hiding, &keeper);
	scratch_file(&tmp, "later", "secret", 0644);
	j = job_new(hiding, &nothing, script);
	if (!(j->plan.flags & SHIM_MOUNTS)) {
		print_message("SKIP: no mount namespace here\n");
		job_free(j);
	} else {
		children_pause(&all, 100);
		assert_int_equal(spare_take(s, &j->request, &j->result), -1);
		assert_true(children_wait(&all, children_none, NULL));
		spare_want(s, &j->request);
		take(s, j);
		read_all(j, j->out, text, sizeof(text));
		assert_string_equal(text, "");
		assert_int_equal(finish(j), 0);
	}
	end(s);
	confine_free(hiding);
	scratch_release(&tmp);
}

static void test_spare_grows_old(void **state)
{
	pid_t keeper;
	struct spare *s;

	(void)state;
	if (!getenv("STRESS")) {
		print_message("SKIP: it waits for 30 seconds; STRESS=1 does\n");
		skip();
	}
	s = ready(all.confine, &keeper);
	children_pause(&all, 25000);
	assert_false(children_gone(&keeper));
	assert_true(children_wait(&all, children_gone, &keeper));
	end(s);
}

/* No descriptor of ours stays behind. */
static void test_spare_leaks_no_descriptor(void **state)
{
	int before, after;

	(void)state;
	run_ahead(all.confine);
	before = open("/dev/null", O_RDONLY);
	close(before);
	for (int i = 0; i < 3; i++)
		run_ahead(all.confine);
	after = open("/dev/null", O_RDONLY);
	close(after);
	assert_int_equal(after, before);
}

static int setup(void **state)
{
	static const char *const writable[] = { "/tmp", NULL };
	struct confine_options options = {
		.instance = "layered", .umask = 027, .network = true, .namespaces = true,
		.writable = writable, .nofile = { 256, 512 },
	};

	(void)state;
	children_init(&all);
	layered = confine_new(&options);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	confine_free(layered);
	children_release(&all);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spare_of_nothing),
		cmocka_unit_test(test_spare_runs_a_command),
		cmocka_unit_test(test_spare_is_like_an_ordinary_start),
		cmocka_unit_test(test_spare_does_not_fit),
		cmocka_unit_test(test_spare_of_other_places),
		cmocka_unit_test(test_spare_arguments_and_environment),
		cmocka_unit_test(test_spare_bounds),
		cmocka_unit_test(test_spare_shows_no_arguments),
		cmocka_unit_test(test_spare_of_another_kind),
		cmocka_unit_test(test_spare_never_made_ahead),
		cmocka_unit_test(test_spare_wanted_twice_is_made_once),
		cmocka_unit_test(test_spare_keeper_dies),
		cmocka_unit_test(test_spare_ends_with_its_owner),
		cmocka_unit_test(test_spare_server_dies),
		cmocka_unit_test(test_spare_mounts_changed),
		cmocka_unit_test(test_spare_hidden_path_comes_to_be),
		cmocka_unit_test(test_spare_grows_old),
		cmocka_unit_test(test_spare_leaks_no_descriptor),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
