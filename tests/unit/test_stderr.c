/*
 * Lines to each kind of stderr without a reader: none may wait, none may arrive in part, and the
 * lines that arrive and those reported as lost must add up. Each test is a child with its own
 * stderr; it exits with the line number of its first failure, or 0.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "in_child.h"
#include "os/stdio.h"
#include "scratch.h"

#define LINES 3000 /* far more than any pipe, socket or terminal holds */
#define OTHER_USER 65534

/* ---- what came ---- */

/* All that can be read now. */
static void drain(int fd, struct buf *all)
{
	char bytes[4096];
	ssize_t n;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] != '\r') /* a terminal puts it before each newline */
				buf_addc(all, bytes[i]);
	buf_addc(all, '\0');
	all->len--;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* Lines that arrived or are reported as lost; -1: something else is between them. */
static long account(const struct buf *all)
{
	char *copy = strdup(all->data), *at = copy, *line;
	long sum = 0;

	while (sum >= 0 && (line = strsep(&at, "\n")) && at) {
		unsigned long lost;

		if (ends_with(line, " lost") &&
		    sscanf(line, "procpen: warning: %lu line", &lost) == 1)
			sum += (long)lost;
		else if (!strncmp(line, "procpen: l", 10) && ends_with(line, " end"))
			sum++;
		else
			sum = -1;
	}
	free(copy);
	return sum;
}

static bool has_last(const struct buf *all)
{
	const char *last = strstr(all->data, "last");

	return last && strchr(last, '\n');
}

/* There is no reader; then there is one, and the next lines arrive. */
static void flood(int reader)
{
	int flags = fcntl(STDERR_FILENO, F_GETFL), count = LINES;
	ERR_LOCAL(e);
	struct stdio s;
	struct buf all;

	CHECK(!stdio_take(&s, &e));
	for (int i = 0; i < LINES; i++)
		log_notice("line %d end", i);
	CHECK(fcntl(STDERR_FILENO, F_GETFL) == flags); /* others have it too */
	buf_init(&all, 16u << 20);
	drain(reader, &all);
	CHECK(strstr(all.data, "procpen: line 0 end"));
	for (int i = 0; i < 600 && !has_last(&all); i++, count++) {
		log_notice("last %d end", i);
		drain(reader, &all);
		poll(NULL, 0, 20);
	}
	CHECK(strstr(all.data, " lost\n"));
	CHECK(account(&all) == count);
	buf_release(&all);
	stdio_release(&s);
}

/* ---- kinds of stderr ---- */

struct ends {
	int writer, reader;
};

static bool open_pipe(struct ends *ends)
{
	int pair[2];

	if (pipe(pair))
		return false;
	*ends = (struct ends){ pair[1], pair[0] };
	return true;
}

static bool open_sockets(struct ends *ends)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return false;
	*ends = (struct ends){ pair[1], pair[0] };
	return true;
}

/* The program's end of a terminal, as a host gives it. */
static bool open_terminal(struct ends *ends)
{
	struct termios settings;

	ends->reader = posix_openpt(O_RDWR | O_NOCTTY);
	if (ends->reader < 0 || grantpt(ends->reader) || unlockpt(ends->reader))
		return false;
	ends->writer = open(ptsname(ends->reader), O_RDWR | O_NOCTTY);
	if (ends->writer < 0 || tcgetattr(ends->writer, &settings))
		return false;
	settings.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
	return !tcsetattr(ends->writer, TCSANOW, &settings);
}

/* The other end: opening it again would make another terminal. */
static bool open_master(struct ends *ends)
{
	struct ends other;

	if (!open_terminal(&other))
		return false;
	*ends = (struct ends){ other.reader, other.writer };
	return true;
}

/* ---- children ---- */

static void become(uid_t user)
{
	CHECK(!setgroups(0, NULL) && !setresgid(user, user, user) && !setresuid(user, user, user));
}

/* Run @body in a child with @ends; @user: which other user it becomes, or 0. */
static void in_child(void (*body)(int reader), const struct ends *ends, uid_t user)
{
	int answer[2], null = open("/dev/null", O_RDWR);
	pid_t pid;

	assert_int_equal(pipe(answer), 0);
	pid = fork();
	if (!pid) {
		in_child_begin(answer);
		if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(ends->writer, 2) < 0)
			_exit(3);
		if (user)
			become(user);
		body(fcntl(ends->reader, F_DUPFD, 41));
		leave(0);
	}
	close(null);
	in_child_end(pid, answer);
}

static void flood_in_child(bool (*open_ends)(struct ends *ends), uid_t user)
{
	struct ends ends = { -1, -1 };

	if (user && geteuid()) {
		print_message("SKIP: only root can become another user\n");
		skip();
	}
	if (!open_ends(&ends)) {
		print_message("SKIP: no terminal can be made here\n");
		skip();
	}
	in_child(flood, &ends, user);
	close(ends.writer);
	close(ends.reader);
}

static void test_stderr_pipe(void **state)
{
	(void)state;
	flood_in_child(open_pipe, 0);
}

/* It belongs to another user, so it cannot be opened again. */
static void test_stderr_pipe_of_another(void **state)
{
	(void)state;
	flood_in_child(open_pipe, OTHER_USER);
}

static void test_stderr_socket(void **state)
{
	(void)state;
	flood_in_child(open_sockets, 0);
}

static void test_stderr_terminal(void **state)
{
	(void)state;
	flood_in_child(open_terminal, 0);
}

static void test_stderr_terminal_of_another(void **state)
{
	(void)state;
	flood_in_child(open_terminal, OTHER_USER);
}

static void test_stderr_master_of_a_terminal(void **state)
{
	(void)state;
	flood_in_child(open_master, 0);
}

/* ---- what is never full, and what always is ---- */

static void all_come(int reader)
{
	ERR_LOCAL(e);
	struct stdio s;
	struct buf all;

	CHECK(!stdio_take(&s, &e));
	for (int i = 0; i < LINES; i++)
		log_notice("line %d end", i);
	buf_init(&all, 16u << 20);
	drain(reader, &all);
	CHECK(account(&all) == LINES && !strstr(all.data, "lost"));
	buf_release(&all);
	stdio_release(&s);
}

/* A file is written behind what is in it, by all who have it open, and never waits. */
static void test_stderr_file(void **state)
{
	struct scratch tmp;
	struct ends ends;

	(void)state;
	scratch_init(&tmp);
	ends.writer = open(scratch_path(&tmp, "log"), O_WRONLY | O_CREAT, 0600);
	ends.reader = open(scratch_path(&tmp, "log"), O_RDONLY);
	in_child(all_come, &ends, 0);
	assert_true(lseek(ends.writer, 0, SEEK_CUR) > LINES); /* its offset is the one that moved */
	close(ends.writer);
	close(ends.reader);
	scratch_release(&tmp);
}

static void nothing_comes(int reader)
{
	ERR_LOCAL(e);
	struct stdio s;

	(void)reader;
	CHECK(!stdio_take(&s, &e));
	for (int i = 0; i < LINES; i++)
		log_notice("line %d", i);
	stdio_release(&s);
}

static void test_stderr_full_device(void **state)
{
	struct ends ends = { open("/dev/full", O_WRONLY), open("/dev/null", O_RDONLY) };

	(void)state;
	in_child(nothing_comes, &ends, 0);
	close(ends.writer);
	close(ends.reader);
}

static void test_stderr_reader_gone(void **state)
{
	struct ends ends = { -1, -1 };
	int null = open("/dev/null", O_RDONLY);

	(void)state;
	assert_true(open_pipe(&ends));
	dup2(null, ends.reader);
	in_child(nothing_comes, &ends, 0);
	close(ends.writer);
	close(ends.reader);
	close(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stderr_pipe),
		cmocka_unit_test(test_stderr_pipe_of_another),
		cmocka_unit_test(test_stderr_socket),
		cmocka_unit_test(test_stderr_terminal),
		cmocka_unit_test(test_stderr_terminal_of_another),
		cmocka_unit_test(test_stderr_master_of_a_terminal),
		cmocka_unit_test(test_stderr_file),
		cmocka_unit_test(test_stderr_full_device),
		cmocka_unit_test(test_stderr_reader_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
