#include "os/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

/* ---- the keeper ---- */

/* Only its two descriptors stay open, as 0 and 1: no reader of ours waits for the keeper's end. */
static void tty_keeper_hold(int terminal, int pipe_end)
{
	pipe_end = fcntl(pipe_end, F_DUPFD, 2);
	dup2(terminal, 0);
	dup2(pipe_end, 1);
	syscall(SYS_close_range, 2U, ~0U, 0);
}

/* Is the terminal as we have set it? */
static bool tty_is_still_raw(const struct tty *t)
{
	struct termios raw = t->settings, now;

	cfmakeraw(&raw);
	return !tcgetattr(0, &now) && now.c_iflag == raw.c_iflag && now.c_oflag == raw.c_oflag &&
	       now.c_lflag == raw.c_lflag;
}

/* A copy of a process with secrets in its memory: not to be read, nor written to a core file. */
static _Noreturn void tty_keeper_run(const struct tty *t, int pipe_end)
{
	sigset_t all;
	ssize_t n;
	char word;

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	sigfillset(&all); /* SIGTTOU too, which would stop tcsetattr(3) */
	sigprocmask(SIG_BLOCK, &all, NULL);
	tty_keeper_hold(t->fd, pipe_end);
	do
		n = read(1, &word, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		fcntl(0, F_SETFL, t->flags);
	if (n != 1 && tty_is_still_raw(t))
		tcsetattr(0, TCSANOW, &t->settings);
	_exit(0);
}

static int tty_fork_keeper(struct tty *t)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		tty_keeper_run(t, ends[0]);
	}
	close(ends[0]);
	if (pid < 0) {
		mem_cleanup_close(&ends[1]);
		return -1;
	}
	t->keeper = ends[1];
	return 0;
}

/* ---- settings ---- */

/* With SIGTTOU as it is by default: the kernel decides who may change the settings. */
static int tty_set(const struct tty *t, const struct termios *settings)
{
	void (*before)(int) = signal(SIGTTOU, SIG_DFL);
	int result;

	do
		result = tcsetattr(t->fd, TCSANOW, settings);
	while (result && errno == EINTR);
	signal(SIGTTOU, before);
	return result;
}

int tty_set_raw(struct tty *t)
{
	struct termios raw = t->settings;

	cfmakeraw(&raw);
	if (tty_set(t, &raw))
		return -1;
	t->is_raw = true;
	return 0;
}

void tty_restore(struct tty *t)
{
	if (t->is_raw)
		tty_set(t, &t->settings);
	t->is_raw = false;
}

int tty_open(struct tty *t, int fd, struct err *e)
{
	*t = (struct tty){ .fd = fd, .flags = fcntl(fd, F_GETFL), .keeper = -1 };
	if (!tcgetattr(fd, &t->settings) && !tty_set(t, &t->settings) && !tty_fork_keeper(t))
		return 0;
	err_sys(e, ERR_INTERNAL_ERROR, errno, "cannot use the terminal");
	return errno == EIO ? err_hint(e, "Start it in the foreground of the terminal.") : -1;
}

void tty_close(struct tty *t)
{
	if (t->keeper < 0)
		return;
	tty_restore(t);
	(void)!write(t->keeper, "", 1); /* EPIPE: somebody killed it */
	mem_cleanup_close(&t->keeper);
}
