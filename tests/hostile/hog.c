/*
 * hog - a child that uses up what it can get, within bounds of its own.
 *
 * No process takes more than MEMORY_MAX_MB or makes more than PROCESSES_MAX others,
 * and an alarm of LIFE_SECONDS, which is never ignored, ends each of them: a limit
 * that does not hold leaves a mess that the machine can bear, and only for a while.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFE_SECONDS 60
#define MEMORY_MAX_MB 300
#define PROCESSES_MAX 300
#define MIB ((size_t)1 << 20)
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static void live_bounded(void)
{
	signal(SIGALRM, SIG_DFL);
	alarm(LIFE_SECONDS);
}

static pid_t bounded_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		live_bounded();
	return pid;
}

static void sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, (ms % 1000) * 1000000 };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static double own_cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void burn(double ms)
{
	double end = own_cpu_ms() + ms;

	while (own_cpu_ms() < end)
		;
}

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(3);
}

static void wait_for_all(void)
{
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

/*
 * Children and their parent wait for each other: each child says that it has come so
 * far, and goes on when all have. Nothing here depends on how fast anybody is.
 */
struct meeting {
	int arrived[2], gone_on[2]; /* pipes; at the end of the second's writers all go on */
};

static void meeting_begin(struct meeting *m)
{
	if (pipe(m->arrived) || pipe(m->gone_on))
		_exit(3);
}

/* In a child. */
static void meeting_wait(struct meeting *m)
{
	char byte;

	close(m->gone_on[1]);
	if (write(m->arrived[1], "x", 1) != 1)
		_exit(3);
	close(m->arrived[1]);
	while (read(m->gone_on[0], &byte, 1) < 0 && errno == EINTR)
		;
}

/* In the parent: until @count children are there; false: one has ended before. */
static int meeting_await(struct meeting *m, int count)
{
	char byte;

	close(m->arrived[1]);
	while (count > 0 && read(m->arrived[0], &byte, 1) == 1)
		count--;
	return count == 0;
}

/* They go on. */
static void meeting_end(struct meeting *m)
{
	close(m->gone_on[1]);
}

/* All is taken: say so, and keep it for MS more, with "keep" until a signal ends it. */
static long keep_ms;

static void grown(void)
{
	say("grown\n");
	sleep_ms(keep_ms);
}

static char *map(size_t mb, int kind)
{
	char *at = mmap(NULL, mb * MIB, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED) {
		say("refused\n");
		_exit(4);
	}
	return at;
}

static void grow(long mb, int kind)
{
	for (long i = 0; i < mb; i++)
		memset(map(1, kind), 1, MIB);
}

/* One process; "grown" when it has all. */
static void private_memory(long mb)
{
	grow(mb, MAP_PRIVATE);
	grown();
}

static void shared_memory(long mb)
{
	grow(mb, MAP_SHARED);
	grown();
}

/* Four children, each with what @take does; "grown" when all have done it. */
static void by_four(void (*take)(char *at, long mb), char *at, long mb)
{
	struct meeting m;

	meeting_begin(&m);
	for (int i = 0; i < 4; i++)
		if (bounded_fork() == 0) {
			close(m.arrived[0]);
			take(at, mb);
			meeting_wait(&m);
			_exit(0);
		}
	if (!meeting_await(&m, 4))
		_exit(4);
	grown();
	meeting_end(&m);
	wait_for_all();
}

static void take_quarter(char *at, long mb)
{
	(void)at;
	grow(mb / 4, MAP_PRIVATE);
}

static void take_nothing(char *at, long mb)
{
	(void)at;
	(void)mb;
}

static void write_all(char *at, long mb)
{
	memset(at, 2, (size_t)mb * MIB);
}

/* Four processes with a quarter each. */
static void four(long mb)
{
	by_four(take_quarter, NULL, mb);
}

/* Four children that only read what their parent has: it is there once. */
static void inherited(long mb)
{
	grow(mb, MAP_PRIVATE);
	by_four(take_nothing, NULL, mb);
}

/* The same, but each child then writes: no process gets larger, the tree does. */
static void copied(long mb)
{
	char *at = map((size_t)mb, MAP_PRIVATE);

	memset(at, 1, (size_t)mb * MIB);
	by_four(write_all, at, mb);
}

/* A daemon that ignores what can be ignored; its parents are gone, but for the first. */
static void daemonised(long mb)
{
	struct meeting m;

	meeting_begin(&m);
	if (bounded_fork() != 0) {
		if (!meeting_await(&m, 1))
			_exit(4);
		grown();
		meeting_end(&m);
		return;
	}
	setsid();
	if (bounded_fork() != 0)
		_exit(0);
	for (int number = 1; number < 32; number++)
		if (number != SIGALRM)
			signal(number, SIG_IGN);
	close(0);
	close(1);
	close(2);
	grow(mb, MAP_PRIVATE);
	meeting_wait(&m);
	_exit(0);
}

static const struct {
	const char *name;
	void (*fn)(long mb);
} memories[] = {
	{ "private", private_memory }, { "shared", shared_memory }, { "four", four },
	{ "inherited", inherited },    { "copied", copied },	    { "daemon", daemonised },
};

static int mode_memory(char **args)
{
	long mb = args[0] && args[1] ? atol(args[1]) : 0;

	if (mb < 1 || mb > MEMORY_MAX_MB)
		return 2;
	if (args[2])
		keep_ms = !strcmp(args[2], "keep") ? LIFE_SECONDS * 1000 : atol(args[2]);
	for (size_t i = 0; i < ARRAY_LEN(memories); i++)
		if (!strcmp(memories[i].name, args[0])) {
			memories[i].fn(mb);
			return 0;
		}
	return 2;
}

/* How many processes it can have at once; 'N refused' when a fork failed. With "keep" it has all of
 * N until a signal ends it. */
static int mode_processes(char **args)
{
	int wanted = args[0] ? atoi(args[0]) : 0, made = 0;
	struct meeting m;
	char text[64];

	if (wanted < 1 || wanted > PROCESSES_MAX)
		return 2;
	meeting_begin(&m);
	for (pid_t pid = 1; made < wanted && pid > 0; made += pid > 0) {
		pid = bounded_fork();
		if (pid == 0) {
			meeting_wait(&m);
			_exit(0);
		}
	}
	snprintf(text, sizeof(text), "%d %s\n", made, made == wanted ? "made" : "refused");
	say(text);
	if (made == wanted && args[1])
		sleep_ms(LIFE_SECONDS * 1000);
	meeting_end(&m);
	wait_for_all();
	return 0;
}

/* COUNT processes that do nothing but work, for MS of time as a clock on the wall has it. */
static int mode_spin(char **args)
{
	int count = args[0] && args[1] ? atoi(args[0]) : 0;
	struct timespec start, now;

	if (count < 1 || count > 16)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 1; i < count && bounded_fork() > 0; i++)
		;
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
	       atol(args[1]));
	wait_for_all();
	return 0;
}

/* A child of MS; @orphaned: its parent is gone at once. */
static void short_lived(int orphaned, double ms)
{
	pid_t pid = bounded_fork();

	if (pid == 0) {
		if (orphaned && bounded_fork() > 0)
			_exit(0);
		burn(ms);
		_exit(0);
	}
	wait(NULL);
	if (orphaned)
		sleep_ms((long)ms / 2);
}

/* One after the other, for TOTAL_MS. */
static int mode_short(char **args)
{
	struct timespec start, now;

	if (!args[0] || !args[1] || !args[2])
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		short_lived(!strcmp(args[0], "orphaned"), atof(args[1]));
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
		 atol(args[2]));
	return 0;
}

/* COUNT children of MS each, of which the kernel keeps no account. */
static int mode_forgotten(char **args)
{
	int count = args[0] && args[1] ? atoi(args[0]) : 0;

	if (count < 1 || count > PROCESSES_MAX)
		return 2;
	alarm(4 * LIFE_SECONDS); /* slowed down on a busy machine, it takes minutes */
	signal(SIGCHLD, SIG_IGN);
	while (count--)
		short_lived(0, atof(args[1]));
	return 0;
}

/* A child that we stop ourselves must stay so while others of us are stopped and continued. */
static int mode_stopped(char **args)
{
	int status = 0, pair[2];
	pid_t pid;
	char byte;

	(void)args;
	if (pipe(pair) < 0)
		return 3;
	pid = bounded_fork();
	if (pid == 0) {
		close(pair[0]);
		raise(SIGSTOP);
		_exit(write(pair[1], "x", 1) == 1 ? 7 : 3);
	}
	close(pair[1]);
	waitpid(pid, &status, WUNTRACED);
	if (!WIFSTOPPED(status))
		return 3;
	burn(300);
	say(waitpid(pid, &status, WNOHANG) == 0 ? "still stopped\n" : "was continued\n");
	kill(pid, SIGCONT);
	if (read(pair[0], &byte, 1) != 1 || waitpid(pid, &status, 0) != pid)
		return 3;
	say(WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "ended by itself\n" : "lost\n");
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(char **args);
} modes[] = {
	{ "memory", mode_memory }, { "processes", mode_processes }, { "spin", mode_spin },
	{ "short", mode_short },   { "forgotten", mode_forgotten },
	{ "stopped", mode_stopped },
};

int main(int argc, char **argv)
{
	live_bounded();
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(modes); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].fn(argv + 2);
	fprintf(stderr, "usage: hog memory KIND MB [keep|MS] | processes N [keep] | spin N MS | "
			"short waited|orphaned MS TOTAL_MS | forgotten N MS | stopped\n");
	return 2;
}
