#include "unit.h"

#include <sched.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/mem.h"
#include "children.h"
#include "os/spawn/pool.h"
#include "scratch.h"

static struct confine *layered; /* with namespaces, where they work */

/* One command as proc.c would start it. */
struct job {
	struct shim_plan plan;
	struct confine_run run;
	struct spawn_request request;
	struct spawn_result result;
	int in, out, err; /* our ends of its pipes */
	int ends[3], cwd;
	char *environment[600], *argv[SHIM_STRINGS_MAX_COUNT];
};

static bool await_death; /* of a child, before a plan is sent */
static bool too_many_sent; /* descriptors, by programs of this user */

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	siginfo_t info;

	if (await_death)
		assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	if (too_many_sent && message->msg_controllen) {
		errno = ETOOMANYREFS;
		return -1;
	}
	return __real_sendmsg(fd, message, flags);
}

static void add_pipe(int *ours, int *theirs, int ours_is_read)
{
	int pair[2];

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	*ours = pair[!ours_is_read];
	*theirs = pair[ours_is_read];
}

/* SHIM_SHELTERED where jobs are to have shims as beside commands without a sandbox. */
static uint32_t unsheltered;

/* A job that runs @command in a shell, with the layers of @c for @ask. */
static struct job *job_new(struct confine *c, const struct confine_request *ask, const char *command)
{
	static uint64_t seq;
	struct job *j = calloc(1, sizeof(*j));
	ERR_LOCAL(e);

	assert_int_equal(confine_enter(c, ask, ++seq, &j->plan, &j->run, &e), 0);
	j->plan.flags &= ~unsheltered;
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
		.fds = j->run.fds, .fd_count = j->run.fd_count, .ruleset = j->run.ruleset,
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

/* Close our copies of the ends that the command has now. */
static void job_close_ends(struct job *j)
{
	for (int i = 0; i < 3; i++) {
		if (j->ends[i] >= 0)
			close(j->ends[i]);
		j->ends[i] = -1;
	}
}

static bool job_has_namespaces(struct confine *c)
{
	const struct confine_request nothing_special = { 0 };
	struct job *j = job_new(c, &nothing_special, "true");
	bool has = j->run.clone_flags;

	job_free(j);
	return has;
}

/* Read @fd to its end. */
static size_t read_all(struct job *j, int fd, char *text, size_t size)
{
	size_t len = 0;
	ssize_t n;

	job_close_ends(j);
	while ((n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	return len;
}

/* ---- starting and ending ---- */

static void start(struct pool *s, struct job *j)
{
	ERR_LOCAL(e);

	assert_int_equal(pool_start(s, &j->request, &j->result, &e), 0);
}

/* The last report of a run. */
struct ending {
	int status;
	bool reusable;
	struct shim_report last;
};

/* The job's last report; the shim returns to @s if it is reusable (NULL: discard it). */
static struct ending end_of(struct pool *s, struct job *j)
{
	struct ending ending = { .status = -1 };
	struct shim_report report;

	while (!ending.reusable && !children_report(j->result.control_fd, &report)) {
		if (report.event == SHIM_EXITED)
			ending.status = report.value;
		if (report.event == SHIM_FAILED)
			fail_msg("failed in %s: errno %d", spawn_stage_name(report.value), report.error);
		ending.last = report;
		ending.reusable = report.reusable;
	}
	if (ending.reusable)
		pool_return(s, &j->result, &ending.last);
	else
		close(j->result.control_fd);
	job_free(j);
	return ending;
}

/* The job's exit status; its shim is discarded. */
static int finish(struct job *j)
{
	return end_of(NULL, j).status;
}

static struct pool *begun; /* the last one, until its end */

static struct pool *begin(void)
{
	return begun = pool_new(all.loop, all.reaper);
}

static const struct confine_request nothing;

/* The pid of an idle shim of @c, which has served one command. */
static struct pool *ready(struct confine *c, pid_t *shim)
{
	struct pool *s = begin();
	struct job *first = job_new(c, &nothing, "true");

	start(s, first);
	*shim = first->result.shim_pid;
	assert_true(end_of(s, first).reusable);
	return s;
}

/* @job starts with @shim. */
static void expect_fit(struct pool *s, struct job *job, pid_t shim)
{
	start(s, job);
	assert_int_equal(job->result.shim_pid, shim);
	assert_int_equal(finish(job), 0);
}

/* @job starts with another shim than @shim. If it begins a new kind, @shim goes; if it bypasses the
 * pool or its shim serves once, @shim stays idle. */
static void expect_unfit(struct pool *s, struct job *job, pid_t shim)
{
	bool gone;

	start(s, job);
	gone = job->result.kind != 0 && !(job->plan.flags & SHIM_NET_NS);
	assert_int_not_equal(job->result.shim_pid, shim);
	assert_int_equal(end_of(NULL, job).status, 0);
	if (gone)
		assert_true(children_wait(&all, children_gone, &shim));
	else
		assert_false(children_gone(&shim));
}

static void end(struct pool *s)
{
	begun = NULL;
	pool_free(s);
	assert_true(children_wait(&all, children_none, NULL));
}

/* Find a child other than @ctx[0]; stores it in ctx[1]. */
static bool another_child(void *ctx)
{
	pid_t *pair = ctx, pids[4];
	int count = procfs_children(getpid(), pids, 4);

	for (int i = 0; i < count; i++)
		if (pids[i] != pair[0])
			pair[1] = pids[i];
	return pair[1] != 0;
}

/* ---- tests ---- */

/* The first command finds no idle shim. */
static void test_pool_of_nothing(void **state)
{
	struct pool *s = begin();

	(void)state;
	children_pause(&all, 20);
	assert_true(children_none(NULL));
	end(s);
	pool_free(NULL);
}

static void run_ahead(struct confine *c)
{
	char text[200];
	pid_t shim;
	struct pool *s = ready(c, &shim);
	struct job *j = job_new(c, &nothing, "echo out; echo err >&2; cat; exit 7");

	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	assert_int_equal(write(j->in, "input\n", 6), 6);
	close(j->in);
	j->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	read_all(j, j->out, text, sizeof(text));
	assert_string_equal(text, "out\ninput\n");
	read_all(j, j->err, text, sizeof(text));
	assert_string_equal(text, "err\n");
	assert_int_equal(finish(j), 7 << 8);
	end(s);
}

static void test_pool_runs_a_command(void **state)
{
	(void)state;
	run_ahead(all.confine);
	run_ahead(layered);
}

/* A pooled command has the layers, limits and directory of one that bypasses the pool. */
static void test_pool_is_like_an_ordinary_start(void **state)
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
	ERR_LOCAL(e);

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid_t shim;
		struct pool *s = ready(both[i], &shim);
		struct job *j = job_new(both[i], &ask, script);

		start(s, j);
		assert_int_equal(j->result.shim_pid, shim);
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

/* The shim's umask, which a command inherits, is that of the plan that it was started with. */
static void test_pool_umask(void **state)
{
	static const char *const shown[] = { "0027\n", "0077\n", "0000\n", "0027\n" };
	struct confine *both[] = { all.confine, layered };

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid_t shim;
		struct pool *s = ready(both[i], &shim);

		for (size_t run = 0; run < COUNT_OF(shown); run++) {
			struct job *j = job_new(both[i], &nothing, "umask");
			char text[100];

			j->plan.umask = (uint32_t)strtoul(shown[run], NULL, 8);
			start(s, j);
			assert_int_equal(j->result.shim_pid, shim);
			read_all(j, j->out, text, sizeof(text));
			assert_string_equal(text, shown[run]);
			assert_true(end_of(s, j).reusable);
		}
		end(s);
	}
}

/* Without a PID namespace the kernel kills a command when its shim dies, also one whose user has
 * been changed. */
static void test_pool_dies_with_its_shim(void **state)
{
	static const char script[] =
		"exec /usr/bin/python3 -c 'import ctypes; number = ctypes.c_int(); "
		"ctypes.CDLL(None).prctl(2, ctypes.byref(number)); print(number.value)'";
	const struct confine_request asks[] = {
		{ 0 }, { .as_user = true, .uid = 65534, .gid = 65534 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(asks) - (geteuid() != 0); i++) {
		struct pool *s = begin();

		for (int run = 0; run < 2; run++) {
			struct job *j = job_new(all.confine, &asks[i], script);
			char text[100];

			start(s, j);
			read_all(j, j->out, text, sizeof(text));
			assert_string_equal(text, "9\n");
			end_of(s, j);
		}
		end(s);
	}
}

/* Another kind of sandbox: the idle shim is discarded. */
static void test_pool_does_not_fit(void **state)
{
	const struct confine_request asks[] = {
		{ .strict = true }, { .network_off = true },
		{ .as_user = true, .uid = 65534, .gid = 65534 },
	};
	pid_t shim;
	struct pool *s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(asks) - (geteuid() != 0); i++) {
		s = ready(layered, &shim);
		expect_unfit(s, job_new(layered, &asks[i], "true"), shim);
		end(s);
	}
	s = ready(layered, &shim);
	if (job_has_namespaces(layered))
		expect_unfit(s, job_new(all.confine, &nothing, "true"), shim);
	end(s);
}

/* A run with a listener bypasses the pool, and the idle shim stays. */
static void test_pool_never_with_a_listener(void **state)
{
	const struct confine_request explain = { .explain = true };
	pid_t shim;
	struct pool *s = ready(all.confine, &shim);
	struct job *j = job_new(all.confine, &explain, "true");
	ERR_LOCAL(e);

	(void)state;
	assert_int_equal(pool_start(s, &j->request, &j->result, &e), 0);
	assert_int_not_equal(j->result.shim_pid, shim);
	assert_int_equal(j->result.kind, 0);
	assert_false(end_of(s, j).reusable);
	assert_false(children_gone(&shim));
	end(s);
}

/* Plans of equal length and different content. */
static void test_pool_of_other_places(void **state)
{
	static const char *const writable[] = { "/usr", NULL }; /* as long as /tmp */
	struct confine_options options = {
		.instance = "layered", .umask = 027, .network = true, .namespaces = true,
		.writable = writable, .nofile = { 256, 512 },
	};
	struct confine *other = confine_new(&options);
	pid_t shim;
	struct pool *s = ready(layered, &shim);
	struct job *mine = job_new(layered, &nothing, "true"), *theirs = job_new(other, &nothing, "true");

	(void)state;
	if (mine->plan.flags & SHIM_MOUNTS) {
		assert_int_equal(mine->plan.mounts_size, theirs->plan.mounts_size);
		assert_int_equal(mine->plan.filter_len, theirs->plan.filter_len);
		expect_unfit(s, theirs, shim);
	} else {
		print_message("SKIP: no mount namespace here\n");
		job_free(theirs);
	}
	job_free(mine);
	end(s);
	confine_free(other);
}

/* Every byte but NUL, empty arguments, many of them. */
static void test_pool_arguments_and_environment(void **state)
{
	static char text[40000], want[40000];
	char bytes[256], pair[300];
	size_t len = 0;
	pid_t shim;
	struct pool *s = ready(all.confine, &shim);
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
	start(s, j);
	assert_int_equal(read_all(j, j->out, text, sizeof(text)), len);
	assert_memory_equal(text, want, len);
	assert_int_equal(finish(j), 0);
	end(s);
}

/* Any command can see to that. Descriptors that are inherited need not be sent. */
static void test_pool_descriptors_cannot_be_sent(void **state)
{
	struct confine *c[] = { all.confine, layered };
	char text[100];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct job *j = job_new(c[i], &nothing, "echo out");
		pid_t shim;
		struct pool *s = ready(c[i], &shim);

		too_many_sent = true;
		start(s, j);
		too_many_sent = false;
		read_all(j, j->out, text, sizeof(text));
		assert_string_equal(text, "out\n");
		assert_int_equal(finish(j), 0);
		end(s);
	}
}

/* A command too large for the second plan bypasses the pool, and the idle shim stays. */
static void test_pool_bounds(void **state)
{
	static char big[SHIM_STRINGS_MAX + 100], text[100];
	pid_t shim;
	struct pool *s = ready(all.confine, &shim);
	struct job *j = job_new(all.confine, &nothing, "echo ${#BIG}");
	/* argv: /bin/sh, -c, the script; PATH; each with its NUL */
	const size_t rest = 8 + 3 + 13 + 19;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	memcpy(big, "BIG=", 4);
	big[SHIM_STRINGS_MAX - rest] = '\0'; /* one more than there is room for */
	add_text(j->environment, big);
	expect_unfit(s, j, shim);

	j = job_new(all.confine, &nothing, "true");
	for (int i = 0; i < SHIM_STRINGS_MAX_COUNT / 2; i++)
		add_text(j->argv, "");
	expect_unfit(s, j, shim);

	j = job_new(all.confine, &nothing, "echo ${#BIG}");
	big[SHIM_STRINGS_MAX - rest - 1] = '\0';
	add_text(j->environment, big);
	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	read_all(j, j->out, text, sizeof(text));
	assert_int_equal(atoi(text), SHIM_STRINGS_MAX - (int)rest - 1 - 4);
	assert_int_equal(finish(j), 0);
	end(s);
}

/* Is @text in what @pid can write? False too where its memory cannot be read. */
static bool is_in_memory(pid_t pid, const char *text)
{
	static char bytes[1 << 20];
	char path[40], line[256], access[8];
	unsigned long from, to;
	bool found = false;
	FILE *maps;
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, access) == 3 && access[1] == 'w') {
			size_t size = to - from < sizeof(bytes) ? to - from : sizeof(bytes);
			ssize_t n = pread(mem, bytes, size, (off_t)from);

			found |= n > 0 && memmem(bytes, (size_t)n, text, strlen(text));
		}
	if (maps)
		fclose(maps);
	close(mem);
	return found;
}

/* Neither the shim's /proc files nor its memory hold anything of the command. */
static void test_pool_shows_no_arguments(void **state)
{
	char path[40], text[4096];
	pid_t shim;
	struct pool *s = ready(all.confine, &shim);
	struct job *j = job_new(all.confine, &nothing, "echo; cat");
	ssize_t n;
	int fd;

	(void)state;
	add_text(j->argv, "secret-argument");
	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	assert_int_equal(read(j->out, text, 1), 1); /* it executes */
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)shim);
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text));
	close(fd);
	assert_true(n > 0);
	assert_null(memmem(text, (size_t)n, "secret", 6));
	for (int64_t until = clock_mono_ms() + 5000;
	     is_in_memory(shim, "secret-argument") && clock_mono_ms() < until;)
		usleep(1000); /* the shim wakes a moment after the exec */
	assert_false(is_in_memory(shim, "secret-argument"));
	close(j->in);
	j->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	read_all(j, j->out, text, sizeof(text));
	assert_int_equal(finish(j), 0);
	end(s);
}

/* While a long command runs one more shim is started, and it serves the next command. */
static void test_pool_made_ahead(void **state)
{
	struct confine *both[] = { all.confine, layered };

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid_t pair[2] = { 0, 0 };
		struct pool *s = ready(both[i], &pair[0]);
		struct job *slow = job_new(both[i], &nothing, "cat"), *j;
		bool served = false;

		children_pause(&all, 30); /* what the first start has set going is over */
		start(s, slow);
		assert_true(children_wait(&all, another_child, pair));
		for (int tries = 0; !served && tries < 200; tries++) { /* it may not be ready yet */
			j = job_new(both[i], &nothing, "exit 3");
			start(s, j);
			served = j->result.shim_pid == pair[1];
			assert_int_equal(end_of(NULL, j).status, 3 << 8);
			children_pause(&all, 10);
		}
		assert_true(served);
		close(slow->in);
		slow->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
		job_close_ends(slow);
		assert_int_equal(end_of(s, slow).status, 0);
		end(s);
	}
}

/* Before the first run; none for runs that bypass the pool, as where a shim has no terminals of its
 * own to which its ruleset is bound. */
static void test_pool_made_before_the_first_run(void **state)
{
	pid_t pair[2] = { 0, 0 };
	struct pool *s = begin();
	struct job *j = job_new(layered, &nothing, "true");
	uint32_t flags = j->plan.flags;

	(void)state;
	if (!j->run.ruleset.make) {
		print_message("SKIP: no ruleset of Landlock and no mount namespace here\n");
		job_free(j);
		end(s);
		skip();
	}
	j->plan.flags = flags & ~(uint32_t)SHIM_OWN_PTS;
	pool_make_ready(s, &j->request);
	children_pause(&all, 50);
	assert_true(children_none(NULL));
	j->plan.flags = flags;
	pool_make_ready(s, &j->request);
	assert_true(children_wait(&all, another_child, pair));
	job_free(j);
	end(s);
}

/* ---- one after another ---- */

/* Usage does not accumulate from command to command. */
static void test_pool_serves_again(void **state)
{
	static const char busy[] = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; "
				   "dd if=/dev/zero of=/dev/null bs=60000000 count=1 2>&1 | tail -c 0";
	static const char idle[] = "echo $EXTRA$#; ls /proc/self/fd | wc -l";
	struct confine *both[] = { all.confine, layered };

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid_t shim;
		struct pool *s = ready(both[i], &shim);
		char text[100];

		for (int run = 0; run < 5; run++) {
			struct job *j = job_new(both[i], &nothing, run == 1 ? busy : idle);
			struct ending ending;

			if (run == 3)
				add_text(j->environment, "EXTRA=x");
			start(s, j);
			assert_int_equal(j->result.shim_pid, shim);
			read_all(j, j->out, text, sizeof(text));
			if (run != 1)
				assert_string_equal(text, run == 3 ? "x0\n4\n" : "0\n4\n");
			ending = end_of(s, j);
			assert_true(ending.reusable);
			if (run == 1) {
				assert_true(ending.last.cpu_us > 50000);
				assert_true(ending.last.maxrss_kib > 40000);
			} else {
				assert_true(ending.last.cpu_us < 50000);
				assert_true(ending.last.maxrss_kib < 40000);
			}
		}
		end(s);
	}
}

static void change_class(pid_t shim)
{
	const struct sched_param param = { 0 };

	assert_int_equal(sched_setscheduler(shim, SCHED_BATCH, &param), 0);
}

static void renice(pid_t shim)
{
	int nice = getpriority(PRIO_PROCESS, (id_t)shim);

	if (nice == 19) /* no way down */
		change_class(shim);
	else
		assert_int_equal(setpriority(PRIO_PROCESS, (id_t)shim, nice + 1), 0);
}

static void change_io_priority(pid_t shim)
{
	assert_int_equal(syscall(SYS_ioprio_set, 1, shim, 3 << 13), 0); /* idle */
}

static void change_limit(pid_t shim)
{
	struct rlimit limit;

	assert_int_equal(prlimit(shim, RLIMIT_NOFILE, NULL, &limit), 0);
	limit.rlim_cur--;
	assert_int_equal(prlimit(shim, RLIMIT_NOFILE, &limit, NULL), 0);
}

static void change_processors(pid_t shim)
{
	cpu_set_t one, now;

	CPU_ZERO(&one);
	assert_int_equal(sched_getaffinity(shim, sizeof(now), &now), 0);
	for (int i = 0; !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &now))
			CPU_SET(i, &one);
	if (CPU_EQUAL(&one, &now)) /* there is but one: something else, then */
		renice(shim);
	else
		assert_int_equal(sched_setaffinity(shim, sizeof(one), &one), 0);
}

static void leave_alone(pid_t shim)
{
	(void)shim;
}

/* What the above change. */
struct attributes {
	int class, nice, io_priority;
	struct rlimit limit;
	cpu_set_t processors;
};

/* False if there is no such process. */
static bool read_attributes(pid_t shim, struct attributes *a)
{
	memset(a, 0, sizeof(*a));
	a->class = sched_getscheduler(shim);
	a->nice = getpriority(PRIO_PROCESS, (id_t)shim);
	a->io_priority = (int)syscall(SYS_ioprio_get, 1, shim);
	sched_getaffinity(shim, sizeof(a->processors), &a->processors);
	return !prlimit(shim, RLIMIT_NOFILE, NULL, &a->limit);
}

struct touched {
	pid_t shim;
	struct attributes before;
};

static bool gone_or_as_before(void *ctx)
{
	struct touched *t = ctx;
	struct attributes now;

	return !read_attributes(t->shim, &now) || !memcmp(&now, &t->before, sizeof(now));
}

/* Does a process wait for the next command of a shim of @c, without a PID namespace? */
static bool is_waited_for(struct confine *c)
{
	struct job *j = job_new(c, &nothing, "true");
	bool sheltered = j->plan.flags & SHIM_SHELTERED;

	job_free(j);
	return sheltered;
}

static bool is_asleep(pid_t pid)
{
	struct procread_stat st;

	return !procread_stat(pid, &st) && st.state == 'S';
}

/* Is the idle shim at rest? Before, it changes its own scheduling, its child may be the command that
 * has ended, and the process that waits has not looked at what it inherited. */
static bool is_at_rest(void *ctx)
{
	pid_t shim = *(pid_t *)ctx, child;

	if (is_waited_for(all.confine) &&
	    (procfs_children(shim, &child, 1) != 1 || !is_asleep(child)))
		return false;
	return is_asleep(shim);
}

static void (*const touches[])(pid_t) = {
	leave_alone, renice, change_io_priority, change_class, change_limit, change_processors,
};

/* While it serves a command. */
static void touch_shim(struct confine *c, void (*touch)(pid_t))
{
	struct touched t;
	pid_t shim;
	struct pool *s = ready(c, &shim);
	struct job *j = job_new(c, &nothing, "cat");
	struct shim_report report;

	t.shim = shim;
	assert_true(children_wait(&all, is_at_rest, &shim));
	assert_true(read_attributes(shim, &t.before));
	j->request.announce = true; /* before, the shim still changes its own scheduling */
	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	assert_int_equal(children_report(j->result.control_fd, &report), 0);
	assert_int_equal(report.event, SHIM_STARTED);
	touch(shim);
	close(j->in);
	j->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	job_close_ends(j);
	assert_true(end_of(s, j).reusable);
	if (touch == leave_alone)
		expect_fit(s, job_new(c, &nothing, "true"), shim);
	else
		assert_true(children_wait(&all, gone_or_as_before, &t));
	end(s);
}

/* While it waits, or its process does: it takes no plan, or has ended by itself, where it has looked
 * before it sleeps. */
static void touch_idle_shim(struct confine *c, void (*touch)(pid_t))
{
	struct shim_report report;
	pid_t shim, waits;
	struct pool *s = ready(c, &shim);
	struct job *j = job_new(c, &nothing, "true");

	assert_true(children_wait(&all, is_at_rest, &shim));
	waits = shim;
	procfs_children(shim, &waits, 1);
	touch(waits);
	start(s, j);
	if (j->result.shim_pid == shim) {
		assert_int_not_equal(children_report(j->result.control_fd, &report), 0);
		close(j->result.control_fd);
		job_free(j);
	} else {
		assert_int_equal(finish(j), 0);
	}
	assert_true(children_wait(&all, children_gone, &shim));
	end(s);
}

static void touch_shims(struct confine *c)
{
	for (size_t i = 0; i < COUNT_OF(touches); i++) {
		if (touches[i] == change_limit && is_waited_for(c))
			continue; /* the filter of all commands refuses that */
		touch_shim(c, touches[i]);
		if (touches[i] != leave_alone)
			touch_idle_shim(c, touches[i]);
	}
}

/* Without a PID namespace, or beside commands without a sandbox, a command can reach the shim of
 * another run. No later command gets what it changed. */
static void test_pool_touched(void **state)
{
	struct confine *both[] = { all.confine, layered };

	(void)state;
	touch_shims(all.confine);
	unsheltered = SHIM_SHELTERED;
	for (int i = 0; i < 2; i++)
		touch_shims(both[i]);
	unsheltered = 0;
}

/* Send the shim of a run @count signals of each number, and end the run. */
static void signal_shim(struct pool *s, const int *numbers, int count)
{
	struct job *j = job_new(all.confine, &nothing, "cat");
	struct shim_report report;
	pid_t shim;

	j->request.announce = true;
	start(s, j);
	shim = j->result.shim_pid;
	assert_int_equal(children_report(j->result.control_fd, &report), 0);
	assert_int_equal(report.event, SHIM_STARTED);
	for (; *numbers; numbers++)
		for (int i = 0; i < count; i++)
			assert_int_equal(kill(shim, *numbers), 0);
	close(j->in);
	j->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(end_of(s, j).reusable);
}

static bool has_none_pending(void *shim)
{
	char path[40], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)*(pid_t *)shim);
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return strstr(text, "ShdPnd:\t0000000000000000");
}

/* The shim blocks every signal, so a pending one would stay for its whole life. One that was sent
 * more than it drops at once serves no more. */
static void test_pool_drops_signals(void **state)
{
	const int some[] = { 1, 2, 10, 15, 34, 35, 64, 0 }, queued[] = { 34, 0 };
	pid_t shim;
	struct pool *s = ready(all.confine, &shim);

	(void)state;
	signal_shim(s, some, 1);
	assert_true(children_wait(&all, has_none_pending, &shim));
	expect_fit(s, job_new(all.confine, &nothing, "true"), shim);
	end(s);
	s = ready(all.confine, &shim);
	signal_shim(s, queued, 65);
	assert_true(children_wait(&all, children_gone, &shim));
	end(s);
}

/* A signal that was to end all of a run may have left something that nobody knows of. */
static void test_pool_after_a_signal_for_all(void **state)
{
	const struct shim_request term = { .command = SHIM_SIGNAL_TREE, .arg = SIGTERM };
	pid_t shim;
	struct pool *s = ready(layered, &shim);
	struct job *j = job_new(layered, &nothing, "trap 'exit 3' TERM; echo; read line");
	struct ending ending;
	char byte;

	(void)state;
	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	assert_int_equal(read(j->out, &byte, 1), 1);
	assert_int_equal(send(j->result.control_fd, &term, sizeof(term), 0), sizeof(term));
	ending = end_of(s, j);
	assert_int_equal(ending.status, 3 << 8);
	assert_false(ending.reusable);
	assert_true(children_wait(&all, children_gone, &shim));
	end(s);
}

/* After a thousand commands a shim serves no more. */
static void test_pool_wears_out(void **state)
{
	pid_t shim;
	struct pool *s = ready(layered, &shim);
	struct job *j = job_new(layered, &nothing, "true");

	(void)state;
	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	assert_int_equal(j->result.past.runs, 1);
	j->result.past.runs = 998;
	assert_true(end_of(s, j).reusable);
	j = job_new(layered, &nothing, "true");
	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	assert_true(end_of(s, j).reusable);
	assert_true(children_wait(&all, children_gone, &shim));
	end(s);
}

/* Run @j, whose shim must serve it alone. Was the shim there before? */
static bool was_made_ahead(struct pool *s, struct job *j)
{
	pid_t pids[8];
	int count = procfs_children(getpid(), pids, COUNT_OF(pids));
	bool ahead = false;

	start(s, j);
	for (int i = 0; i < count; i++)
		ahead |= pids[i] == j->result.shim_pid;
	assert_false(end_of(s, j).reusable);
	return ahead;
}

/* Run @j and store its network namespace. Returns the pid of its shim. */
static pid_t network_of(struct pool *s, struct job *j, char name[200])
{
	pid_t shim;

	start(s, j);
	shim = j->result.shim_pid;
	read_all(j, j->out, name, 200);
	assert_int_equal(strncmp(name, "net:[", 5), 0);
	assert_true(end_of(s, j).reusable);
	return shim;
}

/* A job without network that says which namespace it has; its stdin is a socket if @socket. */
static struct job *offline_job(bool socket)
{
	const struct confine_request offline = { .network_off = true };
	struct job *j = job_new(layered, &offline, "readlink /proc/self/ns/net");
	int pair[2];

	if (socket) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
		assert_true(dup3(pair[0], j->ends[0], O_CLOEXEC) >= 0);
		close(pair[0]);
		close(pair[1]);
	}
	return j;
}

/* Run such jobs until one shim has served two in a row. Has it made something anew between them? The
 * shims of the other sort stay. */
static bool renews_network(bool socket)
{
	char names[2][200] = { "", "" };
	pid_t shim, now = 0, before = -1;
	struct pool *s = ready(layered, &shim);

	for (int tries = 0; now != before && tries < 200; tries++) {
		before = now;
		now = network_of(s, offline_job(socket), names[tries % 2]);
		children_pause(&all, 10); /* its new namespace may not be ready yet */
	}
	assert_int_equal(now, before);
	assert_int_not_equal(now, shim);
	assert_false(children_gone(&shim));
	end(s);
	return strcmp(names[0], names[1]) != 0;
}

/* As the shim needs one: from Linux 5.19 on, unless this process has one already. */
static bool has_listener(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		struct sock_fprog program = { 1, &allow };

		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			      SECCOMP_FILTER_FLAG_NEW_LISTENER |
				      SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			      &program) < 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status == 0;
}

/* Unless a command may have left something in its network namespace, or have given something of it
 * away, the namespace serves the next one: tests/system/confine.py. */
static void test_pool_renews_network_namespace(void **state)
{
	struct job *j = offline_job(false);
	bool has = j->plan.flags & SHIM_NET_NS;

	(void)state;
	job_free(j);
	if (!has) {
		print_message("SKIP: no network namespace here\n");
		skip();
	}
	assert_true(renews_network(true));
	assert_int_equal(renews_network(false), !has_listener());
}

/* Without Landlock a run could see later ones through a descriptor of its /proc: a shim serves one
 * command. The next one is made ahead, and those of the other sort stay. */
static void test_pool_without_landlock(void **state)
{
	struct confine *both[] = { all.confine, layered };

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid_t shim;
		struct pool *s = ready(both[i], &shim);
		bool ahead = false;

		for (int tries = 0; !ahead && tries < 200; tries++) { /* it may not be ready yet */
			struct job *j = job_new(both[i], &nothing, "true");

			j->plan.landlock_fd = -1;
			ahead = was_made_ahead(s, j);
			assert_true(tries || !ahead);
			children_pause(&all, 10);
		}
		assert_true(ahead);
		assert_false(children_gone(&shim));
		end(s);
	}
}

static void test_pool_with_something_left(void **state)
{
	struct pool *s = begin();
	struct job *j = job_new(layered, &nothing, "sleep 1000 & exec 2>&1");
	struct shim_report report;

	(void)state;
	start(s, j);
	do
		assert_int_equal(children_report(j->result.control_fd, &report), 0);
	while (report.event == SHIM_STARTED);
	assert_int_equal(report.event, SHIM_EXITED);
	assert_false(report.empty);
	assert_false(report.reusable);
	assert_int_equal(shutdown(j->result.control_fd, SHUT_WR), 0);
	assert_false(end_of(s, j).reusable);
	end(s);
}

static void add_join(struct job *j, int fd)
{
	j->plan.joins[j->plan.join_count++] = SHIM_FD_EXTRA + j->run.fd_count;
	j->run.fds[j->run.fd_count++] = fd;
	j->request.fd_count = j->run.fd_count;
}

/* The command's process is killed when it has read the plan and not yet taken it. Nothing ran, and
 * no later command may find that plan: the shim ends without a report. */
static void test_pool_process_dies_with_a_plan(void **state)
{
	static const char page[4096];
	struct shim_report report;
	struct pool *s;
	struct job *j;
	int told, stuck[2], tell;
	pid_t shim, process;
	char byte;

	(void)state;
	if (!job_has_namespaces(layered))
		skip();
	s = ready(layered, &shim);
	j = job_new(layered, &nothing, "true");
	add_pipe(&told, &tell, 1);
	assert_int_equal(pipe2(stuck, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(stuck[1], page, sizeof(page)) > 0)
		; /* until it is full */
	assert_int_equal(fcntl(stuck[1], F_SETFL, 0), 0);
	add_join(j, tell);     /* each is written a byte before the plan is taken */
	add_join(j, stuck[1]); /* here it waits */
	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	assert_int_equal(read(told, &byte, 1), 1);
	assert_int_equal(procfs_children(shim, &process, 1), 1);
	assert_int_equal(kill(process, SIGKILL), 0);
	assert_int_not_equal(children_report(j->result.control_fd, &report), 0);
	assert_true(children_wait(&all, children_gone, &shim));
	close(j->result.control_fd);
	job_free(j);
	for (int i = 0; i < 2; i++)
		close(stuck[i]);
	close(told);
	close(tell);
	end(s);
}

/* A request for the previous command that arrives late is ignored. */
static void test_pool_late_requests(void **state)
{
	const struct shim_request late[] = {
		{ .command = SHIM_SIGNAL_TREE, .arg = SIGKILL },
		{ .command = SHIM_SIGNAL, .arg = SIGKILL },
	};
	pid_t shim;
	struct pool *s = ready(layered, &shim);
	struct job *j = job_new(layered, &nothing, "true");
	struct ending ending;
	struct spawn_result result;

	(void)state;
	start(s, j);
	result = j->result;
	do
		assert_int_equal(children_report(result.control_fd, &ending.last), 0);
	while (ending.last.event == SHIM_STARTED); /* on a busy machine */
	assert_true(ending.last.reusable);
	for (size_t i = 0; i < COUNT_OF(late); i++)
		assert_int_equal(send(result.control_fd, &late[i], sizeof(late[i]), 0),
				 sizeof(late[i]));
	pool_return(s, &result, &ending.last);
	job_free(j);
	j = job_new(layered, &nothing, "exit 4");
	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	assert_int_equal(finish(j), 4 << 8);
	end(s);
}

/* The idle shim was started for an older kind of command. */
static void test_pool_of_an_old_kind(void **state)
{
	const struct confine_request offline = { .network_off = true };
	struct pool *s = begin();
	struct job *j = job_new(all.confine, &nothing, "true");
	struct job *other = job_new(all.confine, &offline, "true");
	pid_t shim;

	(void)state;
	start(s, j);
	shim = j->result.shim_pid;
	start(s, other);
	assert_true(end_of(s, j).reusable); /* it is, but no pool takes it */
	assert_true(children_wait(&all, children_gone, &shim));
	assert_int_equal(end_of(NULL, other).status, 0);
	end(s);
}

/* All shims of a burst wait for the rest of it, and some for the next one. */
static void test_pool_keeps_some_of_a_burst(void **state)
{
	struct pool *s = begin();
	struct job *jobs[20];
	pid_t pids[64];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(jobs); i++) {
		jobs[i] = job_new(all.confine, &nothing, "true");
		start(s, jobs[i]);
	}
	for (size_t i = 0; i < COUNT_OF(jobs); i++)
		assert_true(end_of(s, jobs[i]).reusable);
	assert_false(pool_drop_idle(s, COUNT_OF(jobs)));
	assert_true(pool_drop_idle(s, POOL_RESTING));
	for (int tries = 0; tries < 1000; tries++) {
		if (procfs_children(getpid(), pids, 64) <= POOL_RESTING)
			break;
		children_pause(&all, 10);
	}
	assert_int_equal(procfs_children(getpid(), pids, 64), POOL_RESTING);
	end(s);
}

/* @harm the idle shim of @c: the next command gets another one. */
static void expect_another(struct confine *c, void (*harm)(pid_t shim))
{
	pid_t shim;
	struct pool *s = ready(c, &shim);
	struct job *j = job_new(c, &nothing, "exit 5");

	harm(shim);
	start(s, j);
	assert_int_not_equal(j->result.shim_pid, shim);
	assert_int_equal(finish(j), 5 << 8);
	end(s);
}

static void die(pid_t shim)
{
	assert_int_equal(kill(shim, SIGKILL), 0);
	assert_true(children_wait(&all, children_gone, &shim));
}

/* The server has not seen it yet. */
static void die_unseen(pid_t shim)
{
	siginfo_t info;

	assert_int_equal(kill(shim, SIGKILL), 0);
	while (waitid(P_PID, (id_t)shim, &info, WEXITED | WNOWAIT) < 0)
		assert_int_equal(errno, EINTR);
}

/* It would accept the command and never run it. */
static void stop(pid_t shim)
{
	assert_int_equal(kill(shim, SIGSTOP), 0);
	assert_true(children_wait(&all, children_stopped, &shim));
}

static bool has_child(void *pair)
{
	pid_t *pids = pair; /* the parent; its child */

	return procfs_children(pids[0], &pids[1], 1) == 1;
}

/* The process that waits for a command dies, and the shim with it. */
static void lose_process(pid_t shim)
{
	pid_t pair[2] = { shim, 0 };

	assert_true(children_wait(&all, has_child, pair));
	assert_int_equal(kill(pair[1], SIGKILL), 0);
	assert_true(children_wait(&all, children_gone, &shim));
}

static void test_pool_shim_comes_to_harm(void **state)
{
	(void)state;
	expect_another(all.confine, die);
	expect_another(all.confine, die_unseen);
	expect_another(all.confine, stop);
	if (is_waited_for(all.confine))
		expect_another(all.confine, lose_process);
	if (job_has_namespaces(layered))
		expect_another(layered, lose_process);
	unsheltered = SHIM_SHELTERED;
	expect_another(all.confine, die_unseen);
	expect_another(all.confine, stop);
	unsheltered = 0;
}

/* A new shim that has died before it has read anything was killed, so the next start may go well.
 * Here the kernel ends it, because no program may have data. */
static void test_pool_new_shim_dies(void **state)
{
	struct pool *s = begin();
	struct job *j = job_new(all.confine, &nothing, "true");
	struct rlimit usual, none;
	ERR_LOCAL(e);
	int result;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_DATA, &usual), 0);
	none = (struct rlimit){ 1, usual.rlim_max };
	free(mem_zalloc(64 * 1024)); /* for what the start itself needs */
	assert_int_equal(setrlimit(RLIMIT_DATA, &none), 0);
	await_death = true;
	result = pool_start(s, &j->request, &j->result, &e);
	await_death = false;
	assert_int_equal(setrlimit(RLIMIT_DATA, &usual), 0);
	assert_int_equal(result, -1);
	assert_true(err_retryable(&e));
	assert_null(strstr(err_hint_text(&e), "limit"));
	err_release(&e);
	job_free(j);
	end(s);
}

/* A start that fails for want of descriptors, the first of its kind, costs later ones nothing. */
static void test_pool_after_a_shortage(void **state)
{
	struct pool *s = begin();
	struct job *once = job_new(all.confine, &nothing, "true"), *j;
	struct rlimit usual, none;
	ERR_LOCAL(e);
	int lowest;
	pid_t shim;

	(void)state;
	once->plan.landlock_fd = -1;
	start(s, once);
	assert_int_equal(finish(once), 0);
	j = job_new(all.confine, &nothing, "true");
	lowest = fcntl(j->cwd, F_DUPFD_CLOEXEC, 0);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = (struct rlimit){ (rlim_t)lowest, usual.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(pool_start(s, &j->request, &j->result, &e), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	err_release(&e);
	start(s, j);
	shim = j->result.shim_pid;
	assert_true(end_of(s, j).reusable);
	expect_fit(s, job_new(all.confine, &nothing, "true"), shim);
	end(s);
}

/* A stopped shim does not see its socket close. */
static void test_pool_stopped_and_of_an_old_kind(void **state)
{
	const struct confine_request offline = { .network_off = true };
	pid_t shim;
	struct pool *s = ready(all.confine, &shim);
	struct job *other = job_new(all.confine, &offline, "true");

	(void)state;
	stop(shim);
	start(s, other);
	assert_true(children_wait(&all, children_gone, &shim));
	assert_int_equal(finish(other), 0);
	end(s);
}

static void test_pool_ends_with_its_owner(void **state)
{
	pid_t shim;
	struct pool *s = ready(layered, &shim);

	(void)state;
	end(s);
	assert_true(children_gone(&shim));
}

/* The server dies: its idle shim exits by itself. */
static void test_pool_server_dies(void **state)
{
	int tell[2], status;
	pid_t child, shim;

	(void)state;
	assert_int_equal(pipe(tell), 0);
	fflush(NULL);
	child = fork();
	if (!child) {
		setenv("CMOCKA_TEST_ABORT", "1", 1); /* it is not to run the other tests */
		ev_loop_fork(all.loop);
		ready(all.confine, &shim);
		(void)!write(tell[1], &shim, sizeof(shim));
		kill(getpid(), SIGKILL);
	}
	close(tell[1]);
	assert_int_equal(read(tell[0], &shim, sizeof(shim)), sizeof(shim));
	close(tell[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	assert_true(children_wait(&all, children_gone, &shim));
	assert_true(children_wait(&all, children_none, NULL));
}

/* A mount made after the shim's start: its command could not see it. */
static void test_pool_mounts_changed(void **state)
{
	struct scratch tmp;
	char script[300], text[100];
	pid_t shim;
	struct pool *s;
	struct job *j;

	(void)state;
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		print_message("SKIP: no mounts are possible here\n");
		skip();
	}
	scratch_init(&tmp);
	s = ready(layered, &shim);
	assert_int_equal(mount("none", tmp.dir, "tmpfs", 0, NULL), 0);
	scratch_file(&tmp, "seen", "", 0644);
	snprintf(script, sizeof(script), "ls %s", tmp.dir);
	j = job_new(layered, &nothing, script);
	start(s, j);
	assert_int_not_equal(j->result.shim_pid, shim);
	assert_true(children_wait(&all, children_gone, &shim));
	read_all(j, j->out, text, sizeof(text));
	assert_string_equal(text, "seen\n");
	assert_int_equal(finish(j), 0);
	end(s);
	assert_int_equal(umount2(tmp.dir, MNT_DETACH), 0);
	scratch_release(&tmp);
}

static size_t read_mounts(char *text, size_t size)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t len = fread(text, 1, size - 1, f);

	fclose(f);
	text[len] = '\0';
	return len;
}

/* Whoever clones for us may drop the flags: the mounts are then those of all. */
static void test_pool_shim_without_its_namespaces(void **state)
{
	static char before[65536], after[65536];
	struct shim_report report;
	ERR_LOCAL(e);
	struct job *j;

	(void)state;
	if (geteuid() != 0 || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || !job_has_namespaces(layered)) {
		print_message("SKIP: only root can change its own mounts\n");
		skip();
	}
	read_mounts(before, sizeof(before));
	j = job_new(layered, &nothing, "true");
	j->request.clone_flags = 0;
	assert_int_equal(spawn_start(&j->request, &j->result, &e), 0);
	assert_int_equal(children_report(j->result.control_fd, &report), 0);
	read_mounts(after, sizeof(after));
	assert_int_equal(report.event, SHIM_FAILED);
	assert_int_equal(report.value, SHIM_STAGE_MOUNTS);
	assert_string_equal(after, before);
	close(j->result.control_fd);
	assert_true(children_wait(&all, children_none, NULL));
	job_free(j);
}

/* A hidden file, an idle shim, and a job that reads the file. */
struct hiding {
	struct scratch tmp;
	char name[SCRATCH_PATH];
	const char *hidden[2];
	struct confine *confine;
	struct pool *pool;
	pid_t shim;
	struct job *job;
};

static void hiding_init(struct hiding *h)
{
	scratch_init(&h->tmp);
	scratch_copy(&h->tmp, "name", h->name);
	h->hidden[0] = h->name;
	h->hidden[1] = NULL;
}

static void hiding_ready(struct hiding *h)
{
	static const char *const writable[] = { "/tmp", NULL };
	const struct confine_options options = {
		.instance = "hiding", .network = true, .namespaces = true, .writable = writable,
		.hidden = h->hidden, .nofile = { 256, 512 },
	};

	h->confine = confine_new(&options);
	h->pool = ready(h->confine, &h->shim);
}

/* False, without a job, if no path can be hidden here. */
static bool hiding_job(struct hiding *h)
{
	char script[SCRATCH_PATH + 8];

	snprintf(script, sizeof(script), "cat %s", h->name);
	h->job = job_new(h->confine, &nothing, script);
	if (h->job->plan.flags & SHIM_MOUNTS)
		return true;
	print_message("SKIP: no mount namespace here\n");
	job_free(h->job);
	return false;
}

/* The job was started. */
static void expect_hidden(struct hiding *h)
{
	char text[100];

	read_all(h->job, h->job->out, text, sizeof(text));
	assert_string_equal(text, "");
	assert_int_equal(finish(h->job), 0);
}

static void hiding_release(struct hiding *h)
{
	end(h->pool);
	confine_free(h->confine);
	scratch_release(&h->tmp);
}

/* A shim covers the files that it finds: a file that appears later at a hidden path would be
 * visible. */
static void test_pool_hidden_path_comes_to_be(void **state)
{
	struct hiding h;

	(void)state;
	hiding_init(&h);
	hiding_ready(&h);
	scratch_file(&h.tmp, "name", "secret", 0644);
	if (hiding_job(&h)) {
		start(h.pool, h.job);
		assert_int_not_equal(h.job->result.shim_pid, h.shim);
		assert_true(children_wait(&all, children_gone, &h.shim));
		expect_hidden(&h);
	}
	hiding_release(&h);
}

/* A mount on a name goes with the name, even if the same file gets the name back. */
static void test_pool_hidden_file_comes_back(void **state)
{
	char other[SCRATCH_PATH];
	struct hiding h;

	(void)state;
	hiding_init(&h);
	scratch_file(&h.tmp, "name", "secret", 0644);
	scratch_copy(&h.tmp, "other", other);
	hiding_ready(&h);
	if (hiding_job(&h)) {
		assert_int_equal(link(h.name, other), 0);
		assert_int_equal(unlink(h.name), 0);
		assert_int_equal(rename(other, h.name), 0);
		start(h.pool, h.job);
		expect_hidden(&h);
	}
	hiding_release(&h);
}

/* Wait for the next stop of @shim, which we trace, at a system call. */
static void step(pid_t shim)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SYSCALL, shim, 0, 0), 0);
	assert_int_equal(waitpid(shim, &status, __WALL), shim);
	assert_true(WIFSTOPPED(status));
}

/* Without the loop, which would consume news of the shim. */
static void wait_for_zombie_of(pid_t shim)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	struct procread_stat st = { 0 };
	pid_t child;

	while (st.state != 'Z') {
		nanosleep(&moment, NULL);
		assert_int_equal(procfs_children(shim, &child, 1), 1);
		assert_int_equal(procread_stat(child, &st), 0);
	}
}

/* @request comes while the command of the idle @shim ends: between the shim's wake-up and its
 * wait4(). Fills @last; false: the shim cannot be traced. */
static bool ask_at_the_end(struct pool *s, pid_t shim, const struct shim_request *request,
			   struct ending *last)
{
	struct job *j = job_new(layered, &nothing, "read line");
	int waiting = 1, status;
	bool traced;

	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	job_close_ends(j);
	traced = !ptrace(PTRACE_SEIZE, shim, 0, 0);
	if (traced) {
		assert_int_equal(ptrace(PTRACE_INTERRUPT, shim, 0, 0), 0);
		assert_int_equal(waitpid(shim, &status, __WALL), shim);
		assert_int_equal(send(j->result.control_fd, request, sizeof(*request), 0),
				 sizeof(*request));
	} else {
		print_message("SKIP: the shim cannot be traced: %s\n", strerror(errno));
	}
	while (traced && waiting) {
		step(shim);
		assert_int_equal(ioctl(j->result.control_fd, SIOCOUTQ, &waiting), 0);
	}
	close(j->in);
	j->in = -1;
	if (traced) {
		wait_for_zombie_of(shim);
		assert_int_equal(ptrace(PTRACE_DETACH, shim, 0, 0), 0);
	}
	*last = end_of(s, j);
	return traced;
}

/* The last report of the run answers a signal; the next run never sees it. */
static void test_pool_signal_at_the_end(void **state)
{
	const struct shim_request signal = { .command = SHIM_SIGNAL, .arg = SIGCONT };
	struct ending last;
	pid_t shim;
	struct pool *s = ready(layered, &shim);
	struct job *j;

	(void)state;
	if (ask_at_the_end(s, shim, &signal, &last)) {
		assert_true(last.reusable);
		j = job_new(layered, &nothing, "exit 7");
		start(s, j);
		assert_int_equal(j->result.shim_pid, shim);
		assert_int_equal(finish(j), 7 << 8);
	}
	end(s);
}

/* A kill that finds nothing alive ends the shim all the same. */
static void test_pool_kill_at_the_end(void **state)
{
	struct shim_report report;
	pid_t shim;
	struct pool *s = ready(layered, &shim);
	struct job *j = job_new(layered, &nothing, "exit 7");

	(void)state;
	start(s, j);
	do
		assert_int_equal(children_report(j->result.control_fd, &report), 0);
	while (report.event == SHIM_STARTED); /* on a busy machine */
	assert_int_equal(report.value, 7 << 8);
	assert_int_equal(shutdown(j->result.control_fd, SHUT_WR), 0);
	assert_true(children_wait(&all, children_gone, &shim));
	close(j->result.control_fd);
	job_free(j);
	end(s);
}

/* Of two idle shims one goes, the other stays. */
static void test_pool_grows_old(void **state)
{
	struct job *first, *second;
	pid_t shims[2];
	struct pool *s;

	(void)state;
	if (!unit_stress()) {
		print_message("SKIP: it waits for 70 seconds; STRESS=1 does\n");
		skip();
	}
	s = ready(layered, &shims[0]);
	first = job_new(layered, &nothing, "read line");
	second = job_new(layered, &nothing, "true");
	start(s, first);
	start(s, second);
	shims[1] = second->result.shim_pid;
	assert_true(end_of(s, second).reusable);
	close(first->in);
	first->in = -1;
	assert_true(end_of(s, first).reusable);
	children_pause(&all, 70000);
	assert_int_not_equal(children_gone(&shims[0]), children_gone(&shims[1]));
	end(s);
}

/* No descriptor leaks. */
static void test_pool_leaks_no_descriptor(void **state)
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

/* Run "what it sees" with a shim of @s in the group @path of version 2 (NULL: in none of its own).
 * Returns the shim. */
static pid_t run_in_group(struct pool *s, struct confine *c, const struct confine_request *ask,
			  const char *path, char line[256])
{
	struct job *j = job_new(c, ask, "grep ^0: /proc/self/cgroup; ls /proc/self/fd | wc -l; "
					"grep Seccomp: /proc/self/status");
	int group = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct ending ending;
	pid_t shim;

	if (path) {
		assert_true(group >= 0);
		j->plan.group_fd = SHIM_FD_EXTRA + j->run.fd_count;
		j->run.fds[j->run.fd_count++] = group;
		j->request.fd_count = j->run.fd_count;
	}
	start(s, j);
	shim = j->result.shim_pid;
	read_all(j, j->out, line, 256);
	ending = end_of(s, j);
	assert_int_equal(ending.status, 0);
	assert_true(ending.reusable);
	if (path)
		close(group);
	return shim;
}

/* A job for a shim that waits for its plan itself, because that may name a control group. */
static struct job *job_for_a_group(void)
{
	struct job *j = job_new(layered, &nothing, "true");

	j->plan.flags |= SHIM_GROUPED;
	return j;
}

/* A shim that cannot keep what ends the forks of its control group runs nothing: chains of forks
 * could outrun its kill. */
static void test_pool_cannot_keep_the_end_of_forks(void **state)
{
	const rlim_t taken = SHIM_FD_EXTRA + SHIM_EXTRA_FDS_MAX; /* numbers, by a command */
	const struct rlimit few = { taken, taken };
	struct pool *s = begin();
	struct job *j = job_for_a_group();
	struct shim_report report;
	pid_t shim;

	(void)state;
	if (!job_has_namespaces(layered)) {
		print_message("SKIP: no namespaces, so a limit makes the shim unfit\n");
		job_free(j);
		end(s);
		skip();
	}
	start(s, j);
	shim = j->result.shim_pid;
	assert_true(end_of(s, j).reusable);
	j = job_for_a_group();
	j->plan.forks_fd = SHIM_FD_EXTRA + j->run.fd_count;
	j->run.fds[j->run.fd_count++] = j->cwd;
	j->request.fd_count = j->run.fd_count;
	assert_int_equal(prlimit(shim, RLIMIT_NOFILE, &few, NULL), 0);
	start(s, j);
	assert_int_equal(j->result.shim_pid, shim);
	assert_int_equal(children_report(j->result.control_fd, &report), 0);
	assert_int_equal(report.event, SHIM_FAILED);
	assert_int_equal(report.value, SHIM_STAGE_DESCRIPTORS);
	close(j->result.control_fd);
	job_free(j);
	end(s);
}

static void run_in_two_groups(struct confine *c, const struct confine_request *ask,
			      char paths[2][128])
{
	pid_t shim, first;
	struct pool *s = ready(c, &shim);
	char line[256];

	first = run_in_group(s, c, ask, paths[0], line);
	for (int run = 1; run < 5; run++) {
		const char *path = run == 3 ? NULL : paths[run % 2];

		assert_int_equal(run_in_group(s, c, ask, path, line), first);
		assert_int_equal(strstr(line, strrchr(paths[run % 2], '/')) != NULL, path != NULL);
		assert_non_null(strstr(line, "\n4\n")); /* no descriptor of the group */
		assert_non_null(strstr(line, "Seccomp:\t2"));
	}
	/* The shim is in neither, or they could not be removed. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rmdir(paths[i]), 0);
		assert_int_equal(mkdir(paths[i], 0700), 0);
	}
	assert_false(children_gone(&first));
	end(s);
}

/* One shim clones each command into the group of its run. */
static void test_pool_into_control_groups(void **state)
{
	const struct confine_request offline = { .network_off = true };
	const char *place = children_group_place();
	char paths[2][128];

	(void)state;
	if (!place)
		skip(); /* no hierarchy of version 2 */
	for (int i = 0; i < 2; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/pool-test-%d-%d", place, (int)getpid(), i);
		if (mkdir(paths[i], 0700))
			skip();
	}
	run_in_two_groups(all.confine, &nothing, paths);
	run_in_two_groups(layered, &nothing, paths);
	if (has_listener()) /* else the shim is not ready at once */
		run_in_two_groups(layered, &offline, paths);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rmdir(paths[i]), 0);
}

static int setup(void **state)
{
	static const char *const writable[] = { "/tmp", NULL };
	struct confine_options options = {
		.instance = "layered", .umask = 027, .network = true, .namespaces = true,
		.writable = writable, .nofile = { 256, 512 },
	};

	children_setup(state);
	layered = confine_new(&options);
	return 0;
}

static int teardown(void **state)
{
	confine_free(layered);
	return children_teardown(state);
}

/* What a failed test has left must not fail, or hold up, those behind it. */
static int end_test(void **state)
{
	pid_t pids[64];
	int count;

	(void)state;
	await_death = too_many_sent = false;
	unsheltered = 0;
	pool_free(begun); /* else it would go on making shims */
	begun = NULL;
	while ((count = procfs_children(getpid(), pids, 64)) > 0) {
		for (int i = 0; i < count; i++)
			kill(pids[i], SIGKILL);
		ev_run(all.loop, EVRUN_ONCE);
	}
	return 0;
}

int main(void)
{
	struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_of_nothing),
		cmocka_unit_test(test_pool_runs_a_command),
		cmocka_unit_test(test_pool_is_like_an_ordinary_start),
		cmocka_unit_test(test_pool_umask),
		cmocka_unit_test(test_pool_dies_with_its_shim),
		cmocka_unit_test(test_pool_does_not_fit),
		cmocka_unit_test(test_pool_of_other_places),
		cmocka_unit_test(test_pool_arguments_and_environment),
		cmocka_unit_test(test_pool_descriptors_cannot_be_sent),
		cmocka_unit_test(test_pool_bounds),
		cmocka_unit_test(test_pool_shows_no_arguments),
		cmocka_unit_test(test_pool_never_with_a_listener),
		cmocka_unit_test(test_pool_made_ahead),
		cmocka_unit_test(test_pool_made_before_the_first_run),
		cmocka_unit_test(test_pool_serves_again),
		cmocka_unit_test(test_pool_touched),
		cmocka_unit_test(test_pool_drops_signals),
		cmocka_unit_test(test_pool_after_a_signal_for_all),
		cmocka_unit_test(test_pool_wears_out),
		cmocka_unit_test(test_pool_renews_network_namespace),
		cmocka_unit_test(test_pool_without_landlock),
		cmocka_unit_test(test_pool_with_something_left),
		cmocka_unit_test(test_pool_process_dies_with_a_plan),
		cmocka_unit_test(test_pool_late_requests),
		cmocka_unit_test(test_pool_of_an_old_kind),
		cmocka_unit_test(test_pool_keeps_some_of_a_burst),
		cmocka_unit_test(test_pool_shim_comes_to_harm),
		cmocka_unit_test(test_pool_new_shim_dies),
		cmocka_unit_test(test_pool_after_a_shortage),
		cmocka_unit_test(test_pool_stopped_and_of_an_old_kind),
		cmocka_unit_test(test_pool_cannot_keep_the_end_of_forks),
		cmocka_unit_test(test_pool_ends_with_its_owner),
		cmocka_unit_test(test_pool_server_dies),
		cmocka_unit_test(test_pool_mounts_changed),
		cmocka_unit_test(test_pool_shim_without_its_namespaces),
		cmocka_unit_test(test_pool_hidden_path_comes_to_be),
		cmocka_unit_test(test_pool_hidden_file_comes_back),
		cmocka_unit_test(test_pool_signal_at_the_end),
		cmocka_unit_test(test_pool_kill_at_the_end),
		cmocka_unit_test(test_pool_grows_old),
		cmocka_unit_test(test_pool_leaks_no_descriptor),
		cmocka_unit_test(test_pool_into_control_groups),
	};

	for (size_t i = 0; i < COUNT_OF(tests); i++)
		tests[i].teardown_func = end_test;
	return cmocka_run_group_tests(tests, setup, teardown);
}
