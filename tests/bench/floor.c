/*
 * floor - what the kernel itself takes: no server can be faster than this.
 *
 *   floor run N PROGRAM ARGS...      vfork, exec with three pipes, wait; N times, one at a time
 *   floor filter FILE N PROGRAM ...  the same with the seccomp filter in FILE installed first
 *   floor many N PROGRAM ARGS...     start N at once, then kill them
 *   floor cat N FILE                 time to read FILE through `cat` and a pipe
 *   floor splice BYTES WRITER        what WRITER writes into memory, on one processor
 *   floor chains COUNT HOSTILE       end a PID namespace in which so many chains fork
 *   floor echo N CATS                a line through so many `cat` and back, on one processor; N times
 *   floor tick N                     a line each TICK_US that says when it was written; N times
 *   floor lines N                    from the writing of such a line to its reader; N times
 *   floor grep N                     the same with `grep --line-buffered` between the two
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stats.h"

#define LIFE_SECONDS 60
#define STORM_US 500000
#define TICK_US 5000
#define PIPE_BYTES (1 << 20)      /* as procpen's loud pipes */
#define MOVE_BYTES (256 * 1024)   /* as procpen reads at once */
#define HEAD_BYTES (256 * 1024)   /* as procpen keeps a stream: its begin, and its end in a ring */
#define TAIL_BYTES (8 * 1024 * 1024)

static struct sock_fprog filter;

static void die(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* In the vforked child: only system calls, never returns. */
static void become(char *const argv[], const int fds[3])
{
	for (int i = 0; i < 3; i++)
		dup2(fds[i], i);
	if (filter.len) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter))
			_exit(126);
	}
	execv(argv[0], argv);
	_exit(127);
}

static __attribute__((noinline)) pid_t start(char *const argv[], const int fds[3])
{
	pid_t pid = vfork();

	if (pid == 0)
		become(argv, fds);
	if (pid < 0)
		die("vfork");
	return pid;
}

static void wait_for(pid_t pid, int wanted)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != wanted) {
		errno = ECHILD;
		die("the program did not end as it must");
	}
}

/* Start with three pipes; the caller gets our ends of stdout and stderr. */
static pid_t start_piped(char *const argv[], int *out, int *err)
{
	int p[3][2];
	pid_t pid;

	for (int i = 0; i < 3; i++)
		if (pipe2(p[i], O_CLOEXEC))
			die("pipe2");
	pid = start(argv, (int[]){ p[0][0], p[1][1], p[2][1] });
	close(p[0][0]);
	close(p[0][1]);
	close(p[1][1]);
	close(p[2][1]);
	*out = p[1][0];
	*err = p[2][0];
	return pid;
}

static size_t read_all(int fd)
{
	static char data[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, data, sizeof(data))) > 0)
		sum += (size_t)n;
	close(fd);
	return sum;
}

static double run_once(char *const argv[], size_t *bytes)
{
	double begin = stats_now_us();
	int out, err;
	pid_t pid = start_piped(argv, &out, &err);

	*bytes = read_all(out) + read_all(err);
	wait_for(pid, 0);
	return stats_now_us() - begin;
}

static int run_mode(size_t n, char *const argv[])
{
	double *took = calloc(n, sizeof(*took)), begin = stats_now_us(), sum;
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		took[i] = run_once(argv, &bytes);
	sum = stats_now_us() - begin;
	stats_print("p50_us", stats_at(took, n, 0.5), "p99_us", stats_at(took, n, 0.99), "rate",
		    (double)n * 1e6 / sum, "bytes", (double)bytes, NULL);
	free(took);
	return 0;
}

static void read_filter(const char *path)
{
	static struct sock_filter code[BPF_MAXINSNS];
	FILE *f = fopen(path, "re");

	if (!f)
		die(path);
	filter.len = (unsigned short)fread(code, sizeof(code[0]), BPF_MAXINSNS, f);
	filter.filter = code;
	fclose(f);
	if (!filter.len)
		die(path);
}

static int many_mode(size_t n, char *const argv[])
{
	pid_t *pids = calloc(n, sizeof(*pids));
	double begin = stats_now_us(), started;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < n; i++)
		pids[i] = start(argv, (int[]){ null, null, null });
	started = stats_now_us();
	for (size_t i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	for (size_t i = 0; i < n; i++)
		wait_for(pids[i], SIGKILL);
	stats_print("start_ms", (started - begin) / 1e3, "kill_ms",
		    (stats_now_us() - started) / 1e3, NULL);
	free(pids);
	return 0;
}

/* Reaps, as a shim does, until it is killed. */
static int chains_init(char *const argv[])
{
	if (fork() == 0) {
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	for (;;)
		if (wait(NULL) < 0)
			pause();
}

static int chains_mode(char *count, char *hostile)
{
	char *argv[] = { hostile, (char[]){ "chains" }, count, (char[]){ "20" }, NULL };
	unsigned long flags = CLONE_NEWPID | SIGCHLD | (geteuid() ? CLONE_NEWUSER : 0);
	pid_t pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0);
	double begin;

	if (pid == 0)
		return chains_init(argv);
	if (pid < 0)
		die("clone");
	usleep(STORM_US);
	begin = stats_now_us();
	kill(pid, SIGKILL);
	wait_for(pid, SIGKILL); /* the kernel lets it go last */
	stats_print("end_ms", (stats_now_us() - begin) / 1e3, NULL);
	return 0;
}

/* A program between two pipes. The caller gets its stdout; @in is closed. */
static int start_between(char *const argv[], int in)
{
	int out[2];

	if (pipe2(out, O_CLOEXEC))
		die("pipe2");
	start(argv, (int[]){ in, out[1], STDERR_FILENO });
	close(in);
	close(out[1]);
	return out[0];
}

static void stay_on_one_processor(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static double own_cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Move what comes into the memory file @file. Returns how much came. */
static unsigned long long splice_all(int fd, int file)
{
	unsigned long long sum = 0;
	ssize_t n;

	for (;;) {
		unsigned long long in_tail = sum < HEAD_BYTES ? 0 : (sum - HEAD_BYTES) % TAIL_BYTES;
		unsigned long long left = sum < HEAD_BYTES ? HEAD_BYTES - sum : TAIL_BYTES - in_tail;
		loff_t at = (loff_t)(sum < HEAD_BYTES ? sum : HEAD_BYTES + in_tail);

		n = splice(fd, NULL, file, &at, left < MOVE_BYTES ? left : MOVE_BYTES,
			   SPLICE_F_MOVE);
		if (n <= 0)
			break;
		sum += (unsigned long long)n;
	}
	if (n < 0)
		die("splice");
	return sum;
}

static int splice_mode(char *bytes, char *writer)
{
	char *argv[] = { writer, bytes, (char[]){ "1" }, NULL };
	int out, err, file = memfd_create("floor", MFD_CLOEXEC);
	double cpu, begin, took;
	pid_t pid;

	stay_on_one_processor();
	cpu = own_cpu_us();
	begin = stats_now_us();
	pid = start_piped(argv, &out, &err);
	fcntl(out, F_SETPIPE_SZ, PIPE_BYTES);
	if (splice_all(out, file) != strtoull(bytes, NULL, 10))
		die("not all was moved");
	took = stats_now_us() - begin;
	stats_print("mb_per_s", strtod(bytes, NULL) / took, "cpu_ms", (own_cpu_us() - cpu) / 1e3,
		    NULL);
	wait_for(pid, 0);
	return 0;
}

/* With three there are as many switches as between a client, a server and one `cat`. */
static int echo_mode(size_t n, size_t cats)
{
	static const char line[] = "one line that goes there and back again\n";
	char *cat[] = { (char[]){ "/bin/cat" }, NULL };
	double *took = calloc(n, sizeof(*took)), begin;
	char back[sizeof(line)];
	int in[2], out;

	stay_on_one_processor();
	if (pipe2(in, O_CLOEXEC))
		die("pipe2");
	for (out = in[0]; cats; cats--)
		out = start_between(cat, out);
	for (size_t i = 0; i < n; i++) {
		begin = stats_now_us();
		if (write(in[1], line, sizeof(line) - 1) != sizeof(line) - 1 ||
		    read(out, back, sizeof(back)) != sizeof(line) - 1)
			die("echo");
		took[i] = stats_now_us() - begin;
	}
	close(in[1]);
	stats_print("p50_us", stats_at(took, n, 0.5), "p99_us", stats_at(took, n, 0.99), NULL);
	free(took);
	return 0;
}

/* Lines of one length, so that a client knows where the next one begins. */
static int tick_mode(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		usleep(TICK_US);
		dprintf(STDOUT_FILENO, "tick %018.3f\n", stats_now_us());
	}
	return 0;
}

/* The least that waits for a line: it blocks in a read, and compares what has come. */
static void read_ticks(int fd, double *took, size_t n)
{
	FILE *f = fdopen(fd, "re");
	char line[64];

	for (size_t i = 0; i < n; i++) {
		bool came = f && fgets(line, sizeof(line), f) && !strncmp(line, "tick ", 5);

		took[i] = stats_now_us();
		if (!came)
			die("lines");
		took[i] -= strtod(line + 5, NULL);
	}
}

static int lines_mode(char *self, char *count, bool through_grep)
{
	char *tick[] = { self, (char[]){ "tick" }, count, NULL };
	char *grep[] = { (char[]){ "/bin/grep" }, (char[]){ "--line-buffered" },
			 (char[]){ "^tick" }, NULL };
	size_t n = strtoul(count, NULL, 10);
	double *took = calloc(n, sizeof(*took));
	int out, err;
	pid_t pid = start_piped(tick, &out, &err);

	if (through_grep)
		out = start_between(grep, out);
	read_ticks(out, took, n);
	wait_for(pid, 0);
	stats_print("p50_us", stats_at(took, n, 0.5), "p99_us", stats_at(took, n, 0.99), NULL);
	free(took);
	return 0;
}

int main(int argc, char **argv)
{
	char *cat[] = { (char[]){ "/bin/cat" }, argc > 3 ? argv[3] : NULL, NULL };

	alarm(LIFE_SECONDS);
	if (argc > 4 && !strcmp(argv[1], "filter")) {
		read_filter(argv[2]);
		return run_mode(strtoul(argv[3], NULL, 10), argv + 4);
	}
	if (argc > 3 && !strcmp(argv[1], "run"))
		return run_mode(strtoul(argv[2], NULL, 10), argv + 3);
	if (argc > 3 && !strcmp(argv[1], "many"))
		return many_mode(strtoul(argv[2], NULL, 10), argv + 3);
	if (argc > 3 && !strcmp(argv[1], "echo"))
		return echo_mode(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	if (argc > 2 && !strcmp(argv[1], "tick"))
		return tick_mode(strtoul(argv[2], NULL, 10));
	if (argc > 2 && (!strcmp(argv[1], "lines") || !strcmp(argv[1], "grep")))
		return lines_mode(argv[0], argv[2], *argv[1] == 'g');
	if (argc > 3 && !strcmp(argv[1], "cat"))
		return run_mode(strtoul(argv[2], NULL, 10), cat);
	if (argc > 3 && !strcmp(argv[1], "splice"))
		return splice_mode(argv[2], argv[3]);
	if (argc > 3 && !strcmp(argv[1], "chains"))
		return chains_mode(argv[2], argv[3]);
	fprintf(stderr, "usage: floor run|many N PROGRAM ARGS... | filter FILE N PROGRAM ARGS... "
			"| cat N FILE | splice BYTES WRITER | chains COUNT HOSTILE "
			"| echo N CATS | tick N | lines N | grep N\n");
	return 2;
}
