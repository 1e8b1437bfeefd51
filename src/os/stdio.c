#include "os/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define FIRST_FREE 5 /* 0, 1, 2 standard; 3 and 4 reserved for os/spawn/spawn */
#define INTERRUPT_US 1000 /* how long a write to a shared stderr may block */
#define FULL_MS 1000      /* no further try for so long after such a write failed */

/* S_IFIFO and so on; 0: unknown. */
static mode_t stdio_fd_kind(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_mode & S_IFMT;
}

/* The next open() would take a closed standard descriptor: put /dev/null there. Returns one more
 * descriptor of /dev/null, or -1. */
static int stdio_fill_gaps(struct err *e)
{
	int fd = -1;

	do {
		fd = fd < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC)
			    : fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0) {
			err_sys(e, ERR_INTERNAL_ERROR, errno, "cannot open /dev/null");
			return err_is_shortage(e->sys) ? -1 :
			       err_hint(e, "Mount /dev where procpen runs, or make the device: "
					   "`mknod -m 666 /dev/null c 1 3`.");
		}
	} while (fd < FIRST_FREE);
	return fd;
}

/* Can we reopen @fd for a second file description of the same file? Not the master end of a
 * terminal: opening that gives a new terminal. */
static bool stdio_fd_is_reopenable(int fd, mode_t kind)
{
	unsigned number;

	return kind == S_IFIFO || (kind == S_IFCHR && ioctl(fd, TIOCGPTN, &number) < 0);
}

/* A file description of our own for a pipe or device, or -1. */
static int stdio_fd_reopen(int fd, int access_mode)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, access_mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static int stdio_take_end(struct stdio_end *end, int fd, int access_mode, struct err *e)
{
	mode_t kind = stdio_fd_kind(fd);
	int own = -1;

	end->restore_flags = -1;
	end->is_socket = kind == S_IFSOCK;
	if (stdio_fd_is_reopenable(fd, kind))
		own = stdio_fd_reopen(fd, access_mode);
	if (own < 0) {
		own = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
		if (own < 0)
			return err_sys(e, ERR_INTERNAL_ERROR, errno,
				       "cannot duplicate descriptor %d", fd);
		if (!end->is_socket && kind != S_IFREG) {
			end->restore_flags = fcntl(own, F_GETFL);
			fcntl(own, F_SETFL, end->restore_flags | O_NONBLOCK);
		}
	}
	end->fd = own;
	return 0;
}

/* ---- stderr ---- */

/* Where log lines go. One per process, like descriptor 2, and so never released. */
static struct {
	struct stdio_end end;
	bool is_shared;   /* blocking, and shared with other processes */
	int64_t until_ms; /* shared: treat as full until then */
} errors = { .end = { .fd = -1, .restore_flags = -1 } };

static void stdio_on_sigalrm(int number)
{
	(void)number;
}

/* poll(2) reports some room, perhaps too little, and another writer may take it. So a timer
 * interrupts the write repeatedly until it returns. */
static ssize_t stdio_write_shared(const void *bytes, size_t len)
{
	const struct itimerval often = { { 0, INTERRUPT_US }, { 0, INTERRUPT_US } }, off = { 0 };
	struct pollfd look = { .fd = errors.end.fd, .events = POLLOUT };
	ssize_t done;

	if (clock_mono_ms() < errors.until_ms || poll(&look, 1, 0) != 1 ||
	    !(look.revents & POLLOUT)) {
		errno = EAGAIN;
		return -1;
	}
	if (setitimer(ITIMER_REAL, &often, NULL))
		return -1;
	done = write(look.fd, bytes, len);
	setitimer(ITIMER_REAL, &off, NULL);
	if (done < (ssize_t)len)
		errors.until_ms = clock_mono_ms() + FULL_MS;
	return done;
}

static ssize_t stdio_write_error_line(const void *bytes, size_t len)
{
	return errors.is_shared ? stdio_write_shared(bytes, len)
				: stdio_write(&errors.end, bytes, len);
}

static void stdio_unblock_interrupts(void)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
}

static void stdio_install_interrupt_handler(void)
{
	const struct sigaction action = { .sa_handler = stdio_on_sigalrm }; /* no SA_RESTART */

	sigaction(SIGALRM, &action, NULL);
	stdio_unblock_interrupts();
}

static void stdio_take_stderr(void)
{
	mode_t kind = stdio_fd_kind(STDERR_FILENO);
	int own = stdio_fd_is_reopenable(STDERR_FILENO, kind)
			  ? stdio_fd_reopen(STDERR_FILENO, O_WRONLY) : -1;

	errors.end.fd = own < 0 ? STDERR_FILENO : own;
	errors.end.is_socket = kind == S_IFSOCK;
	errors.is_shared = own < 0 && !errors.end.is_socket && kind != S_IFREG;
	if (errors.is_shared)
		stdio_install_interrupt_handler();
	log_write_with(stdio_write_error_line);
}

void stdio_move_errors(int fd)
{
	if (dup2(errors.end.fd < 0 ? STDERR_FILENO : errors.end.fd, fd) < 0 || errors.end.fd < 0)
		return;
	errors.end.fd = fd;
	if (errors.is_shared)
		stdio_unblock_interrupts();
}

/* Keep every inherited descriptor but 0, 1 and 2 out of our children. */
static void stdio_cloexec_inherited(void)
{
	if (syscall(SYS_close_range, 3U, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */) == 0)
		return;
	for (int fd = 3; fd < 1024; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int stdio_guard(struct err *e)
{
	AUTO_CLOSE int null = -1;

	stdio_cloexec_inherited();
	null = stdio_fill_gaps(e);
	return null < 0 ? -1 : 0;
}

/* @useless: the access mode with which the protocol cannot go through @fd. */
static int stdio_check_end(int fd, int useless, struct err *e)
{
	int flags = fcntl(fd, F_GETFL);
	bool directory = stdio_fd_kind(fd) == S_IFDIR;

	if (flags >= 0 && (flags & O_ACCMODE) != useless && !directory)
		return 0;
	err_set(e, ERR_INTERNAL_ERROR,
		"%s is %s: requests come on stdin, answers go to stdout",
		fd == STDIN_FILENO ? "stdin" : "stdout",
		flags < 0 ? "closed" : directory ? "a directory"
		: useless == O_WRONLY ? "not readable" : "not writable");
	return err_hint(e, "Agent hosts connect both. To try it by hand: "
			   "`echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}'"
			   " | procpen serve`.");
}

int stdio_take(struct stdio *s, struct err *e)
{
	AUTO_CLOSE int null = -1;

	s->in.fd = s->out.fd = -1;
	if (stdio_check_end(STDIN_FILENO, O_WRONLY, e) ||
	    stdio_check_end(STDOUT_FILENO, O_RDONLY, e))
		return -1;
	stdio_cloexec_inherited();
	null = stdio_fill_gaps(e);
	if (null < 0 || stdio_take_end(&s->in, STDIN_FILENO, O_RDONLY, e) ||
	    stdio_take_end(&s->out, STDOUT_FILENO, O_WRONLY, e))
		return -1;
	stdio_take_stderr();
	if (dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_sys(e, ERR_INTERNAL_ERROR, errno,
			       "cannot move the protocol off descriptors 0 and 1");
	return 0;
}

static void stdio_release_end(struct stdio_end *end)
{
	if (end->fd < 0)
		return;
	if (end->restore_flags >= 0)
		fcntl(end->fd, F_SETFL, end->restore_flags);
	close(end->fd);
	end->fd = -1;
}

void stdio_release(struct stdio *s)
{
	/* Reverse order of stdio_take(): if both share a description, `in` has the first flags. */
	stdio_release_end(&s->out);
	stdio_release_end(&s->in);
}

ssize_t stdio_read(const struct stdio_end *end, void *bytes, size_t len)
{
	ssize_t n;

	do
		n = end->is_socket ? recv(end->fd, bytes, len, MSG_DONTWAIT)
				   : read(end->fd, bytes, len);
	while (n < 0 && errno == EINTR);
	return n;
}

ssize_t stdio_write(const struct stdio_end *end, const void *bytes, size_t len)
{
	ssize_t n;

	do
		n = end->is_socket ? send(end->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL)
				   : write(end->fd, bytes, len);
	while (n < 0 && errno == EINTR);
	return n;
}

/* The conditions that hold now: of @events and of those that poll(2) always reports. */
static int stdio_fd_poll_conditions(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

bool stdio_hung_up(const struct stdio_end *in)
{
	return stdio_fd_kind(in->fd) == S_IFREG ||
	       stdio_fd_poll_conditions(in->fd, POLLRDHUP) & (POLLHUP | POLLRDHUP | POLLERR);
}

bool stdio_abandoned(const struct stdio_end *out)
{
	return stdio_fd_poll_conditions(out->fd, 0) & (POLLHUP | POLLERR);
}

size_t stdio_unread(const struct stdio_end *out)
{
	unsigned long request = stdio_fd_kind(out->fd) == S_IFIFO ? FIONREAD : TIOCOUTQ;
	int count = 0;

	if (out->is_socket)
		request = SIOCOUTQ;
	return ioctl(out->fd, request, &count) || count < 0 ? 0 : (size_t)count;
}
