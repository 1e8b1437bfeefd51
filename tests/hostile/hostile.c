/*
 * hostile - a child that misbehaves on purpose, in one way per mode.
 *
 * Every process it makes ends by itself: an alarm of LIFE_SECONDS kills it, its
 * SIGALRM is never ignored, and the number of processes is bounded, so that a
 * defect of the program under test leaves a mess for a minute only.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFE_SECONDS 90
#define PROCS_MAX 8000 /* dead ones included; the kernel has 32,768 pids or more */
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Called first in every process: alarms are not inherited by fork(2). */
static void live_bounded(void)
{
	signal(SIGALRM, SIG_DFL);
	alarm(LIFE_SECONDS);
}

static void sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, (ms % 1000) * 1000000 };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

/* Until the reader of our output has taken all of it. */
static void wait_until_read(void)
{
	int left = 1;

	while (!ioctl(1, FIONREAD, &left) && left > 0)
		sleep_ms(1);
}

/* Sleeps until something kills it. */
static void sleep_on(void)
{
	for (;;)
		sleep_ms(1000);
}

static void write_all(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			_exit(3);
		p += n;
		len -= (size_t)n;
	}
}

static pid_t fork_or_die(void)
{
	pid_t pid = fork();

	if (pid < 0)
		_exit(4);
	if (pid == 0)
		live_bounded();
	return pid;
}

static int reported = -1; /* the leader counts the bytes that come out of it */
static pid_t left_behind; /* the parent that the last orphan_self() left */

/* The kernel gives an orphan its new parent when the old one is no more to be counted. */
static void wait_until_orphaned(void)
{
	while (left_behind && getppid() == left_behind)
		sleep_ms(1);
	left_behind = 0;
}

/* One line in one write, so that lines of several processes do not mix. The inode of the PID
 * namespace tells the reader where the number counts. */
static void report(const char *kind)
{
	char line[128];
	struct stat ns = { 0 };
	int n;

	wait_until_orphaned();
	stat("/proc/self/ns/pid", &ns);
	n = snprintf(line, sizeof(line), "escapee %s %d %lu\n", kind, (int)getpid(),
		     (unsigned long)ns.st_ino);

	write_all(1, line, (size_t)n);
	write_all(reported, "", 1);
	close(reported);
}

static void ignore_all_signals(void)
{
	for (int sig = 1; sig <= 64; sig++) {
		if (sig != SIGALRM)
			signal(sig, SIG_IGN);
	}
}

static void close_all(void)
{
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
}

/* Wait while the machine holds so many processes that a chain, whose dead links nobody has reaped
 * yet, would take the last free pids from programs beside it. */
static void leave_pids_to_others(void)
{
	struct sysinfo now;

	while (!sysinfo(&now) && now.procs > PROCS_MAX)
		sleep_ms(1);
}

/* Forks, and the parent goes: the child is an orphan, soon. */
static void orphan_self(void)
{
	leave_pids_to_others();
	left_behind = getpid();
	if (fork_or_die() > 0)
		_exit(0);
}

/* --- the escapees; each runs in a child of the leader and never returns */

static void escape_child(void)
{
	report("child");
}

static void escape_double(void)
{
	orphan_self();
	report("double");
}

static void escape_setsid(void)
{
	setsid();
	report("setsid");
}

static void escape_group(void)
{
	setpgid(0, 0);
	report("group");
}

static void escape_ignore(void)
{
	ignore_all_signals();
	report("ignore");
}

/* As daemon(3) does it, and all descriptors closed. */
static void escape_daemon(void)
{
	orphan_self();
	wait_until_orphaned();
	setsid();
	orphan_self();
	if (chdir("/"))
		_exit(5);
	report("daemon");
	close_all();
}

static void escape_stop(void)
{
	orphan_self();
	setsid();
	report("stop");
	raise(SIGSTOP);
}

/* A process with its own orphans: the shim sees them only when this one dies. */
static void escape_subreaper(void)
{
	pid_t child;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	child = fork_or_die();
	if (child == 0) {
		orphan_self();
		setsid();
		sleep_on();
	}
	waitpid(child, NULL, 0);
	report("subreaper");
}

/* Its children are never seen by wait(2). */
static void escape_nowait(void)
{
	signal(SIGCHLD, SIG_IGN);
	if (fork_or_die() == 0)
		sleep_on();
	report("nowait");
}

static void escape_rename(void)
{
	orphan_self();
	setsid();
	prctl(PR_SET_NAME, "[kworker/0:1]");
	report("rename");
}

static const struct {
	const char *name;
	void (*run)(void);
} escapees[] = {
	{ "child", escape_child },
	{ "double", escape_double },
	{ "setsid", escape_setsid },
	{ "group", escape_group },
	{ "ignore", escape_ignore },
	{ "daemon", escape_daemon },
	{ "stop", escape_stop },
	{ "subreaper", escape_subreaper },
	{ "nowait", escape_nowait },
	{ "rename", escape_rename },
};

static void start_escapee(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(escapees); i++) {
		if (strcmp(escapees[i].name, name) != 0)
			continue;
		if (fork_or_die() > 0)
			return;
		escapees[i].run();
		sleep_on();
	}
	fprintf(stderr, "hostile: no escapee %s\n", name);
	exit(2);
}

/* Start these, and wait until each has got where it wants and has reported itself. */
static void start_escapees(int count, char **kinds)
{
	int pair[2];
	char byte;

	if (pipe(pair))
		_exit(5);
	reported = pair[1];
	for (int i = 0; i < count; i++)
		start_escapee(kinds[i]);
	close(pair[1]);
	while (count > 0 && read(pair[0], &byte, 1) == 1)
		count--;
	close(pair[0]);
	if (count > 0)
		_exit(6); /* one has died before its report */
}

/* escape stay|leave KIND... */
static int mode_escape(int argc, char **argv)
{
	bool stay = strcmp(argv[0], "stay") == 0;

	start_escapees(argc - 1, argv + 1);
	write_all(1, "ready\n", 6);
	if (stay)
		sleep_on();
	return 0;
}

/*
 * runner TOTAL: a chain that forks, starts a session and leaves its parent, for
 * ever new pids. At most TOTAL processes in all, one or two at a time.
 */
static int mode_runner(int argc, char **argv)
{
	long total = argc > 0 ? atol(argv[0]) : 1000;

	if (total > 200000)
		total = 200000;
	write_all(1, "running\n", 8);
	if (fork_or_die() > 0)
		sleep_on();
	for (long i = 0; i < total; i++) {
		orphan_self();
		setsid();
	}
	sleep_on();
	return 0;
}

/*
 * chains COUNT SECONDS MS: COUNT runners at once, each one or two live processes
 * that close everything and go on as their own child after MS; all end by
 * themselves after SECONDS.
 */
static int mode_chains(int argc, char **argv)
{
	int count = argc > 0 ? atoi(argv[0]) : 1;
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	long ms = argc > 2 ? atol(argv[2]) : 0;

	ignore_all_signals();
	signal(SIGCHLD, SIG_DFL);
	write_all(1, "running\n", 8);
	for (int i = 0; i < count && i < 300; i++) {
		pid_t pid;

		while ((pid = fork()) < 0) /* the dead links that nobody has reaped yet count */
			sleep_ms(1);
		if (pid > 0)
			continue;
		live_bounded();
		close_all();
		while (time(NULL) < end) {
			leave_pids_to_others();
			pid = fork();
			if (pid > 0)
				_exit(0);
			if (!pid)
				live_bounded(); /* where it failed the chain goes on as it is */
			setsid();
			if (ms > 0)
				sleep_ms(ms);
		}
		_exit(0);
	}
	sleep_on();
	return 0;
}

/* flood STREAM BYTES: as fast as it can; 0: until it is killed. */
static int mode_flood(int argc, char **argv)
{
	int fd = argc > 0 ? atoi(argv[0]) : 1;
	long long left = argc > 1 ? atoll(argv[1]) : 0;
	bool endless = left == 0;
	static char block[65536];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = i % 64 == 63 ? '\n' : (char)('a' + i % 26);
	while (endless || left > 0) {
		size_t len = endless || left > (long long)sizeof(block) ? sizeof(block) : (size_t)left;

		write_all(fd, block, len);
		left -= (long long)len;
	}
	return 0;
}

/*
 * pattern BYTES SEED [STREAM]: lines of 16 bytes, "SSSSSSS" + "NNNNNNNN" + newline
 * in hexadecimal (seed and number of the line), the last one cut.
 */
static int mode_pattern(int argc, char **argv)
{
	long long left = argc > 0 ? atoll(argv[0]) : 0;
	unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	int fd = argc > 2 ? atoi(argv[2]) : 1;
	unsigned line = 0;

	while (left > 0) {
		char block[16 * 256 + 1];
		size_t len = 0;

		while (len < 16 * 256) {
			snprintf(block + len, 17, "%07x%08x\n", seed & 0xfffffff, line++);
			len += 16;
		}
		if ((long long)len > left)
			len = (size_t)left;
		write_all(fd, block, len);
		left -= (long long)len;
	}
	return 0;
}

/* half [PATH]: the first two bytes of a euro sign; its last one when PATH is there. */
static int mode_half(int argc, char **argv)
{
	write_all(1, "abc\xe2\x82", 5);
	if (argc > 0) {
		while (access(argv[0], F_OK))
			sleep_ms(10);
		write_all(1, "\xac\n", 2);
	}
	return 0;
}

/* closed MS CODE: closes its output and lives on. */
static int mode_closed(int argc, char **argv)
{
	write_all(1, "bye\n", 4);
	close(1);
	close(2);
	sleep_ms(argc > 0 ? atol(argv[0]) : 1000);
	return argc > 1 ? atoi(argv[1]) : 0;
}

/* hold FILE CODE: a grandchild keeps the pipes and writes when there is such a file; the leader
 * exits at once. */
static int mode_hold(int argc, char **argv)
{
	if (fork_or_die() == 0) {
		while (access(argv[0], F_OK))
			sleep_ms(10);
		write_all(1, "late\n", 5);
		sleep_on();
	}
	write_all(1, "leader\n", 7);
	_exit(argc > 1 ? atoi(argv[1]) : 0);
}

/* print TEXT [CODE]: writes and is gone. */
static int mode_print(int argc, char **argv)
{
	if (argc > 0)
		write_all(1, argv[0], strlen(argv[0]));
	_exit(argc > 1 ? atoi(argv[1]) : 0);
}

static int exit_on_term;

static void on_term(int sig)
{
	(void)sig;
	write_all(1, "term\n", 5);
	_exit(exit_on_term);
}

/* term CODE: has a handler for SIGTERM that exits with CODE. */
static int mode_term(int argc, char **argv)
{
	exit_on_term = argc > 0 ? atoi(argv[0]) : 0;
	signal(SIGTERM, on_term);
	write_all(1, "ready\n", 6);
	sleep_on();
	return 0;
}

/* Two processes, every other time in a session that no other is in. */
static void give_birth(bool elsewhere)
{
	if (fork_or_die() > 0)
		return;
	live_bounded();
	if (elsewhere)
		setsid();
	if (fork_or_die() == 0)
		live_bounded();
	sleep_on();
}

/* births: a family that grows for a second or two, all of it with nothing against signals. */
static int mode_births(int argc, char **argv)
{
	(void)argc, (void)argv;
	write_all(1, "ready\n", 6);
	for (int i = 0; i < 1000; i++) {
		give_birth(i % 2);
		sleep_ms(1);
	}
	sleep_on();
	return 0;
}

static int mode_ignore(int argc, char **argv)
{
	(void)argc, (void)argv;
	ignore_all_signals();
	write_all(1, "ready\n", 6);
	sleep_on();
	return 0;
}

/* attack SIGNAL: sends it to its own parent, with a daemon beside it, and lives on. */
static int mode_attack(int argc, char **argv)
{
	int sig = argc > 0 ? atoi(argv[0]) : SIGKILL;
	pid_t parent = getppid();
	char daemon[] = "daemon", *kinds[] = { daemon };
	char line[64];
	int n;

	start_escapees(1, kinds);
	n = snprintf(line, sizeof(line), "attack %d\n", kill(parent, sig) ? errno : 0);
	write_all(1, line, (size_t)n);
	sleep_on();
	return 0;
}

static pid_t parent_of(pid_t pid)
{
	char path[32], text[512], *at;
	FILE *file;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	if (!file || !fgets(text, sizeof(text), file))
		_exit(6);
	fclose(file);
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1, " %*c %d", &parent) != 1)
		_exit(6);
	return parent;
}

/*
 * descriptors shim|server stay|kill: takes all new descriptors from its parent
 * or grandparent, then kills its parent if asked to; a daemon and the leader live on.
 */
static int mode_descriptors(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };
	pid_t shim = getppid();
	pid_t victim = strcmp(argv[0], "shim") == 0 ? shim : parent_of(shim);
	char daemon[] = "daemon", *kinds[] = { daemon };
	char line[64];
	int n;

	start_escapees(1, kinds);
	wait_until_read();
	sleep_ms(300); /* and stored, which takes the server a descriptor */
	n = prlimit(victim, RLIMIT_NOFILE, NULL, &none);
	none.rlim_cur = 0; /* the hard limit stays: anybody may raise it again */
	if (n == 0)
		n = prlimit(victim, RLIMIT_NOFILE, &none, NULL);
	n = snprintf(line, sizeof(line), "descriptors %d\n", n ? errno : 0);
	write_all(1, line, (size_t)n);
	wait_until_read();
	if (argc > 1 && strcmp(argv[1], "kill") == 0)
		kill(shim, SIGKILL);
	sleep_on();
	return 0;
}

/* foreign: getpid(2) by the 32-bit entry of x86. */
static int mode_foreign(int argc, char **argv)
{
	long result = 20;

	(void)argc, (void)argv;
#if defined(__x86_64__)
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
#endif
	printf("pid %ld\n", result);
	return 0;
}

/* --- state: what a child inherits, as one JSON object */

static void print_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	const char *comma = "";

	fputs("\"fds\":{", stdout);
	while (dir && (entry = readdir(dir))) {
		char path[64], target[512];
		ssize_t n;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(dir))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%.20s", entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		printf("%s\"%s\":", comma, entry->d_name);
		print_string(target);
		comma = ",";
	}
	if (dir)
		closedir(dir);
	fputs("},", stdout);
}

static void print_signals(void)
{
	const char *comma = "";
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	fputs("\"blocked\":[", stdout);
	for (int sig = 1; sig <= 64; sig++) {
		if (sigismember(&mask, sig) == 1) {
			printf("%s%d", comma, sig);
			comma = ",";
		}
	}
	fputs("],\"not_default\":[", stdout);
	comma = "";
	for (int sig = 1; sig <= 64; sig++) {
		struct sigaction action;

		/* SIGALRM is ours, see live_bounded(). */
		if (sig == SIGALRM || sigaction(sig, NULL, &action) || action.sa_handler == SIG_DFL)
			continue;
		printf("%s%d", comma, sig);
		comma = ",";
	}
	fputs("],", stdout);
}

static void print_rlimits(void)
{
	static const struct {
		const char *name;
		int resource;
	} limits[] = {
		{ "cpu", RLIMIT_CPU }, { "fsize", RLIMIT_FSIZE }, { "data", RLIMIT_DATA },
		{ "stack", RLIMIT_STACK }, { "core", RLIMIT_CORE }, { "nofile", RLIMIT_NOFILE },
		{ "as", RLIMIT_AS }, { "nproc", RLIMIT_NPROC }, { "memlock", RLIMIT_MEMLOCK },
	};

	fputs("\"rlimits\":{", stdout);
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct rlimit limit;

		getrlimit((__rlimit_resource_t)limits[i].resource, &limit);
		printf("%s\"%s\":[%lld,%lld]", i ? "," : "", limits[i].name,
		       limit.rlim_cur == RLIM_INFINITY ? -1 : (long long)limit.rlim_cur,
		       limit.rlim_max == RLIM_INFINITY ? -1 : (long long)limit.rlim_max);
	}
	fputs("},", stdout);
}

static int mode_state(int argc, char **argv)
{
	mode_t mask = umask(0);
	char cwd[4096];

	(void)argc, (void)argv;
	umask(mask);
	putchar('{');
	print_descriptors();
	print_signals();
	print_rlimits();
	fputs("\"cwd\":", stdout);
	print_string(getcwd(cwd, sizeof(cwd)) ? cwd : "?");
	printf(",\"pid\":%d,\"sid\":%d,\"pgid\":%d,\"umask\":%d,\"no_new_privs\":%d,"
	       "\"seccomp\":%d,\"tty\":%d,\"uid\":%d}\n",
	       (int)getpid(), (int)getsid(0), (int)getpgrp(), (int)mask,
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP, 0, 0, 0, 0),
	       open("/dev/tty", O_RDWR | O_CLOEXEC) >= 0, (int)getuid());
	return fflush(stdout) ? 1 : 0;
}

/* traced: makes its parent, the shim, its tracer; then stops for a signal and for an exec. */
static int mode_traced(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		return 3;
	signal(SIGUSR1, SIG_IGN);
	raise(SIGUSR1);
	execl("/bin/sh", "sh", "-c", "sleep 0.2; exit 5", (char *)NULL);
	return 4;
}

/* Stops and continues the process group of the leader, of which the shim is told, without end. */
static void stop_and_continue(pid_t group)
{
	setpgid(0, 0);
	write_all(1, "busy\n", 5);
	for (;;) {
		kill(-group, SIGSTOP);
		kill(-group, SIGCONT);
	}
}

/* busy stops|sockets|jobs COUNT: so many orphans that make work for the shim without end: each makes it
 * its tracer and stops, or makes a socket of which the shim is told, or is stopped by the last. */
static int mode_busy(int argc, char **argv)
{
	const bool stops = strcmp(argv[0], "stops") == 0, jobs = strcmp(argv[0], "jobs") == 0;
	const int count = argc > 1 ? atoi(argv[1]) : 1;
	int ready[2];
	char byte;

	if (pipe(ready))
		return 3;
	signal(SIGURG, SIG_IGN);
	for (int i = 0; i < count && i < 20; i++) {
		if (fork_or_die() > 0)
			continue;
		if (jobs && i == count - 1) { /* stopped, the others would hardly get there */
			for (int others = 0; others < i; others++)
				if (read(ready[0], &byte, 1) != 1)
					_exit(3);
			stop_and_continue(getpgrp());
		}
		orphan_self();
		wait_until_orphaned();
		write_all(1, "busy\n", 5);
		write_all(ready[1], "", 1);
		for (;;) {
			if (jobs)
				pause();
			else if (stops && !ptrace(PTRACE_TRACEME, 0, 0, 0))
				raise(SIGURG);
			else if (!stops)
				close(socket(AF_UNIX, SOCK_STREAM, 0));
		}
	}
	sleep_on();
	return 0;
}

static bool keeps_memory;

/* Is the first thread of this process over? */
static bool is_headless(void)
{
	char text[512], *at;
	FILE *file = fopen("/proc/self/stat", "r");

	if (!file || !fgets(text, sizeof(text), file))
		_exit(6);
	fclose(file);
	at = strrchr(text, ')');
	return at && at[1] == ' ' && at[2] == 'Z';
}

static void *take_memory(void *bytes)
{
	size_t size = (size_t)bytes;
	volatile char *memory;

	while (!is_headless())
		sleep_ms(1);
	memory = malloc(size);
	for (size_t at = 0; memory && at < size; at += 4096)
		memory[at] = 1;
	write_all(1, "kept\n", 5);
	if (keeps_memory)
		sleep_on();
	_exit(0);
}

/* headless MIB [keep]: the first thread ends, another one takes memory: a zombie to look at. With
 * keep it has that until it is killed. */
static int mode_headless(int argc, char **argv)
{
	size_t size = (size_t)atoi(argv[0]) << 20;
	pthread_t thread;

	keeps_memory = argc > 1;
	if (size > (size_t)256 << 20 || pthread_create(&thread, NULL, take_memory, (void *)size))
		return 3;
	syscall(SYS_exit, 0);
	return 4;
}

/* A listener, or where there is no IP one end of a pair, with a name in the network namespace. */
static int named_socket(void)
{
	const struct sockaddr_in port = { .sin_family = AF_INET, .sin_port = htons(8123),
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0procpen-left" };
	int fd = socket(AF_INET, SOCK_STREAM, 0), pair[2];

	if (fd >= 0)
		return bind(fd, (const void *)&port, sizeof(port)) || listen(fd, 1) ? -1 : fd;
	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	       bind(pair[0], (const void *)&name, sizeof(name)) ? -1 : pair[0];
}

/* Send @fd and one end of a pair to the other one: only the kernel's collector ends such a ring. */
static int leave_in_queue(int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .head = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	char byte = 'x';
	struct iovec bytes = { &byte, 1 };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int pair[2], fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return -1;
	fds[0] = fd;
	fds[1] = pair[1];
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	return (int)sendmsg(pair[0], &message, 0);
}

/* Let the kernel wait for @fd: it drops this reference after the exit. */
static int leave_in_poll(int fd)
{
	static struct iocb wait = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_buf = POLLIN };
	struct iocb *list = &wait;
	aio_context_t context = 0;

	wait.aio_fildes = (unsigned)fd;
	if (syscall(SYS_io_setup, 1, &context))
		return -1;
	return (int)syscall(SYS_io_submit, context, 1, &list);
}

/* leave queue|poll|none: exit with a socket that has a name in the network namespace, and that ends
 * later or not at all. 1: the name is taken. */
static int mode_leave(int argc, char **argv)
{
	int fd = named_socket();

	(void)argc;
	if (fd < 0 || (!strcmp(argv[0], "queue") && leave_in_queue(fd) < 0) ||
	    (!strcmp(argv[0], "poll") && leave_in_poll(fd) < 0)) {
		perror(argv[0]);
		return 1;
	}
	_exit(0);
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	int args_min;
} modes[] = {
	{ "escape", mode_escape, 1 }, { "runner", mode_runner, 0 }, { "flood", mode_flood, 0 },
	{ "pattern", mode_pattern, 1 }, { "half", mode_half, 0 }, { "closed", mode_closed, 0 },
	{ "hold", mode_hold, 1 }, { "print", mode_print, 0 }, { "term", mode_term, 0 },
	{ "ignore", mode_ignore, 0 }, { "attack", mode_attack, 0 }, { "foreign", mode_foreign, 0 },
	{ "state", mode_state, 0 }, { "chains", mode_chains, 0 },
	{ "descriptors", mode_descriptors, 1 }, { "traced", mode_traced, 0 },
	{ "headless", mode_headless, 1 }, { "births", mode_births, 0 },
	{ "leave", mode_leave, 1 }, { "busy", mode_busy, 1 },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(modes); i++) {
		if (strcmp(modes[i].name, argv[1]) != 0 || argc - 2 < modes[i].args_min)
			continue;
		live_bounded();
		return modes[i].run(argc - 2, argv + 2);
	}
	fputs("usage: hostile MODE [ARGUMENT]...; modes:", stderr);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		fprintf(stderr, " %s", modes[i].name);
	fputs("\n", stderr);
	return 2;
}
