/*
 * Each test moves the protocol off its descriptors in a child, which exits with the line number of
 * its first failure, or 0.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "in_child.h"
#include "os/stdio.h"
#include "scratch.h"

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return !fstat(a, &sa) && !fstat(b, &sb) && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino && sa.st_rdev == sb.st_rdev;
}

static bool is_null(int fd)
{
	struct stat st, null;

	return !fstat(fd, &st) && !stat("/dev/null", &null) && st.st_rdev == null.st_rdev;
}

/* What must hold after every stdio_take(). */
static void check_taken(const struct stdio *s)
{
	CHECK(is_null(0));
	CHECK(same_file(1, 2));
	CHECK(s->in.fd >= 5 && s->out.fd >= 5);
	for (int fd = 3; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(3, F_GETFD) >= 0 && fcntl(4, F_GETFD) >= 0); /* reserved */
}

static void check_reads(const struct stdio_end *end, const char *want)
{
	char bytes[64] = "";

	CHECK(stdio_read(end, bytes, sizeof(bytes) - 1) == (ssize_t)strlen(want));
	CHECK(!strcmp(bytes, want));
}

static void check_reads_nothing(const struct stdio_end *end)
{
	char byte;

	CHECK(stdio_read(end, &byte, 1) == -1 && errno == EAGAIN);
}

/* Write until it is full: that must be an answer, not a wait. */
static void check_write_never_waits(const struct stdio_end *end)
{
	static char bytes[65536];
	int i;

	for (i = 0; i < 1000; i++)
		if (stdio_write(end, bytes, sizeof(bytes)) < 0)
			break;
	CHECK(i < 1000 && errno == EAGAIN);
}

/* Run @body in a child with @in as 0 and @out as 1 (-1: closed). */
static void in_child(void (*body)(void), int in, int out)
{
	int answer[2];
	pid_t pid;

	assert_int_equal(pipe(answer), 0);
	pid = fork();
	if (!pid) {
		in_child_begin(answer);
		alarm(60);
		close(0);
		close(1);
		if ((in >= 0 && dup2(in, 0) < 0) || (out >= 0 && dup2(out, 1) < 0))
			_exit(3);
		for (int fd = 3; fd < 40; fd++)
			close(fd);
		body();
		leave(0);
	}
	in_child_end(pid, answer);
}

/* ---- pipes ---- */

static void pipes_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;

	CHECK(!stdio_take(&s, &e));
	check_taken(&s);
	CHECK(!s.in.is_socket && !s.out.is_socket);
	check_reads(&s.in, "request");
	check_reads_nothing(&s.in);
	CHECK(stdio_write(&s.out, "answer", 6) == 6);
	check_write_never_waits(&s.out);
	stdio_release(&s);
	CHECK(s.in.fd == -1 && s.out.fd == -1);
	stdio_release(&s);
}

/* A process that shares our ends does not get a non-blocking file. */
static void test_stdio_pipes(void **state)
{
	int in[2], out[2];
	char bytes[7] = "";

	(void)state;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	assert_int_equal(write(in[1], "request", 7), 7);
	in_child(pipes_body, in[0], out[1]);
	assert_false(fcntl(in[0], F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(out[1], F_GETFL) & O_NONBLOCK);
	assert_int_equal(read(out[0], bytes, 6), 6);
	assert_string_equal(bytes, "answer");
	close(in[0]);
	close(in[1]);
	close(out[0]);
	close(out[1]);
}

static void shared_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;

	CHECK(!stdio_take(&s, &e));
	check_reads(&s.in, "request");
	check_reads_nothing(&s.in);
	CHECK(!(fcntl(2, F_GETFL) & O_NONBLOCK));
}

/* The flags of the inherited description stay even while the server runs (it may be killed). */
static void test_stdio_killed_server_leaves_flags(void **state)
{
	int in[2], out[2];

	(void)state;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	assert_int_equal(write(in[1], "request", 7), 7);
	in_child(shared_body, in[0], out[1]);
	assert_false(fcntl(in[0], F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(out[1], F_GETFL) & O_NONBLOCK);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	close(out[1]);
}

static void end_of_file_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;
	char byte;

	CHECK(!stdio_take(&s, &e));
	check_reads(&s.in, "x");
	CHECK(stdio_read(&s.in, &byte, 1) == 0);
	CHECK(stdio_write(&s.out, "x", 1) == -1 && errno == EPIPE);
}

static void test_stdio_end_of_file_and_reader_gone(void **state)
{
	int in[2], out[2];

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(write(in[1], "x", 1), 1);
	close(in[1]);
	close(out[0]);
	in_child(end_of_file_body, in[0], out[1]);
	close(in[0]);
	close(out[1]);
}

/* ---- sockets ---- */

static void sockets_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;

	CHECK(!stdio_take(&s, &e));
	check_taken(&s);
	CHECK(s.in.is_socket && s.out.is_socket);
	check_reads(&s.in, "request");
	check_reads_nothing(&s.in);
	CHECK(!(fcntl(s.in.fd, F_GETFL) & O_NONBLOCK)); /* the process that passed it shares it */
	CHECK(stdio_write(&s.out, "answer", 6) == 6);
	check_write_never_waits(&s.out);
	stdio_release(&s);
}

static void test_stdio_sockets(void **state)
{
	char bytes[7] = "";
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(write(pair[1], "request", 7), 7);
	in_child(sockets_body, pair[0], pair[0]);
	assert_int_equal(read(pair[1], bytes, 6), 6);
	assert_string_equal(bytes, "answer");
	assert_false(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
	close(pair[0]);
	close(pair[1]);
}

/* ---- the other side ---- */

/* Of a pipe, of two sockets, of one socket for both: bytes may remain when the writer is gone, and
 * a writer that stops is not a reader that is gone. */
static void test_stdio_other_side(void **state)
{
	struct stdio_end in = { .restore_flags = -1 }, out = in;
	int pair[2];

	(void)state;
	for (int sockets = 0; sockets < 2; sockets++) {
		in.is_socket = out.is_socket = sockets;
		assert_int_equal(sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, pair)
					 : pipe2(pair, O_CLOEXEC), 0);
		in.fd = pair[0];
		out.fd = pair[1];
		assert_false(stdio_hung_up(&in));
		assert_false(stdio_abandoned(&out));
		assert_int_equal(stdio_unread(&out), 0);
		assert_int_equal(stdio_write(&out, "request", 7), 7);
		assert_true(sockets ? stdio_unread(&out) >= 7 : stdio_unread(&out) == 7);
		close(pair[1]);
		assert_true(stdio_hung_up(&in));
		close(pair[0]);
		assert_int_equal(sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, pair)
					 : pipe2(pair, O_CLOEXEC), 0);
		close(pair[0]);
		out.fd = pair[1];
		assert_true(stdio_abandoned(&out));
		close(pair[1]);
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	in.fd = out.fd = pair[0];
	assert_true(stdio_hung_up(&in));
	assert_false(stdio_abandoned(&out));
	close(pair[1]);
	assert_true(stdio_abandoned(&out));
	close(pair[0]);
}

/* ---- files ---- */

static void test_stdio_a_file_has_no_other_side(void **state)
{
	struct stdio_end file = { .restore_flags = -1 };
	struct scratch tmp;

	(void)state;
	scratch_init(&tmp);
	scratch_file(&tmp, "file", "session", 0600);
	file.fd = open(scratch_path(&tmp, "file"), O_RDWR);
	assert_true(stdio_hung_up(&file));
	assert_false(stdio_abandoned(&file));
	assert_int_equal(stdio_unread(&file), 0);
	close(file.fd);
	scratch_release(&tmp);
}

static void files_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;
	char byte;

	CHECK(!stdio_take(&s, &e));
	check_taken(&s);
	check_reads(&s.in, "session");
	CHECK(stdio_read(&s.in, &byte, 1) == 0);
	CHECK(stdio_write(&s.out, "answer", 6) == 6);
	stdio_release(&s);
}

static void test_stdio_files(void **state)
{
	char bytes[16] = "";
	struct scratch tmp;
	int in, out;

	(void)state;
	scratch_init(&tmp);
	scratch_file(&tmp, "in", "session", 0600);
	in = open(scratch_path(&tmp, "in"), O_RDONLY);
	out = open(scratch_path(&tmp, "out"), O_RDWR | O_CREAT | O_APPEND, 0600);
	assert_int_equal(write(out, "before ", 7), 7);
	in_child(files_body, in, out);
	assert_int_equal(pread(out, bytes, 15, 0), 13);
	assert_string_equal(bytes, "before answer");
	close(in);
	close(out);
	scratch_release(&tmp);
}

/* ---- terminals ---- */

/* Both ends of a new terminal; false where there are none. */
static bool open_terminal(int *master, int *slave)
{
	*master = posix_openpt(O_RDWR | O_NOCTTY);
	if (*master < 0 || grantpt(*master) || unlockpt(*master)) {
		print_message("SKIP: no terminal can be made here\n");
		return false;
	}
	*slave = open(ptsname(*master), O_RDWR | O_NOCTTY);
	return *slave >= 0;
}

static void terminal_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;

	CHECK(!stdio_take(&s, &e));
	check_taken(&s);
	check_reads(&s.in, "hello\n");
	check_reads_nothing(&s.in);
	CHECK(stdio_write(&s.out, "x", 1) == 1);
	/* exits without restoring anything, as a killed server */
}

/* A shell that started us by hand must not find its terminal non-blocking. */
static void test_stdio_terminal(void **state)
{
	int master, slave;

	(void)state;
	if (!open_terminal(&master, &slave))
		skip();
	assert_int_equal(write(master, "hello\n", 6), 6);
	in_child(terminal_body, slave, slave);
	assert_false(fcntl(slave, F_GETFL) & O_NONBLOCK);
	close(slave);
	close(master);
}

static void flags_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;

	CHECK(!stdio_take(&s, &e));
	check_taken(&s);
	check_reads_nothing(&s.in);
	stdio_release(&s);
}

/* A file that cannot be reopened, the same for both ends: its flags are restored at the end. */
static void test_stdio_flags_come_back(void **state)
{
	int master, slave;

	(void)state;
	if (!open_terminal(&master, &slave))
		skip();
	in_child(flags_body, master, master); /* opening it again would make another terminal */
	assert_false(fcntl(master, F_GETFL) & O_NONBLOCK);
	close(slave);
	close(master);
}

static void master_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;

	CHECK(!stdio_take(&s, &e));
	check_taken(&s);
	check_reads(&s.in, "hello\r\n");
	check_reads_nothing(&s.in);
	CHECK(stdio_write(&s.out, "x", 1) == 1);
	stdio_release(&s);
}

/* The end of whoever shows the terminal. To open that anew would make another terminal. */
static void test_stdio_terminal_from_the_other_side(void **state)
{
	int master, slave;

	(void)state;
	if (!open_terminal(&master, &slave))
		return;
	assert_int_equal(write(slave, "hello\n", 6), 6);
	in_child(master_body, master, master);
	close(master);
	close(slave);
}

/* ---- closed descriptors ---- */

static void closed_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;

	CHECK(stdio_take(&s, &e) == -1);
	CHECK(e.type != ERR_NONE && strstr(e.message, "closed"));
	stdio_release(&s); /* harmless */
}

static void test_stdio_closed(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(pipe(pair), 0);
	in_child(closed_body, -1, pair[1]);
	in_child(closed_body, pair[0], -1);
	in_child(closed_body, -1, -1);
	close(pair[0]);
	close(pair[1]);
}

static void closed_stderr_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;

	close(2);
	CHECK(!stdio_take(&s, &e));
	check_taken(&s);
	CHECK(is_null(2) && is_null(1));
	check_reads(&s.in, "request");
	CHECK(write(1, "stray", 5) == 5 && write(2, "stray", 5) == 5);
	stdio_release(&s);
}

/* No output can reach the protocol. */
static void test_stdio_closed_stderr(void **state)
{
	int in[2], out[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe2(out, O_NONBLOCK), 0);
	assert_int_equal(write(in[1], "request", 7), 7);
	in_child(closed_stderr_body, in[0], out[1]);
	assert_int_equal(read(out[0], &byte, 1), -1);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	close(out[1]);
}

static void inherited_body(void)
{
	ERR_LOCAL(e);
	struct stdio s;

	CHECK(dup2(2, 3) == 3 && dup2(2, 17) == 17);
	CHECK(!stdio_take(&s, &e));
	check_taken(&s);
	CHECK(fcntl(17, F_GETFD) & FD_CLOEXEC);
	stdio_release(&s);
}

static void test_stdio_inherited_descriptors(void **state)
{
	int in[2], out[2];

	(void)state;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	in_child(inherited_body, in[0], out[1]);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	close(out[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stdio_pipes),
		cmocka_unit_test(test_stdio_killed_server_leaves_flags),
		cmocka_unit_test(test_stdio_end_of_file_and_reader_gone),
		cmocka_unit_test(test_stdio_sockets),
		cmocka_unit_test(test_stdio_other_side),
		cmocka_unit_test(test_stdio_a_file_has_no_other_side),
		cmocka_unit_test(test_stdio_files),
		cmocka_unit_test(test_stdio_terminal),
		cmocka_unit_test(test_stdio_terminal_from_the_other_side),
		cmocka_unit_test(test_stdio_flags_come_back),
		cmocka_unit_test(test_stdio_closed),
		cmocka_unit_test(test_stdio_closed_stderr),
		cmocka_unit_test(test_stdio_inherited_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
