#include "os/shim/sockets.h"

#include <stddef.h>

#include <asm/ioctl.h>
#include <linux/audit.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/stat.h>

#include "os/shim/proto.h"
#include "os/shim/sys.h"

/* As in socket(2), which the kernel's headers leave to libc. */
#define FAMILY_INET 2
#define FAMILY_INET6 10
#define FAMILY_NETLINK 16
#define TYPE_STREAM 1
#define TYPE_RAW 3
#define TYPE_SEQPACKET 5
#define TYPE_MASK 0xf

/* Above the numbers that a command's descriptors take. */
#define ABOVE (SHIM_FD_EXTRA + SHIM_EXTRA_FDS_MAX)

#define READ_SIZE 512 /* of /proc/net/dev: its two headings, and the loopback device */
#define TEXT_SIZE 96  /* of what is kept: the loopback device's counters of what came in */

/* The command's process writes both, too, until its exec. */
static volatile int listener = -1;
static volatile int may_be_sent = 1; /* a socket of AF_UNIX, or a raw one, may have been made */

/* What tells of traces, as it was when the namespace was new. */
static struct sign {
	const char *path;
	int skip;     /* lines of headings */
	int lines;    /* that count then, 0: all; the rest of sockstat counts the whole system */
	int may_lack; /* the kernel may have no IPv6 */
	int fd;       /* -1: there is none */
} signs[] = {
	{ .path = "self/net/dev", .skip = 2, .fd = -1 },
	{ .path = "self/net/sockstat", .lines = 1, .fd = -1 },
	{ .path = "self/net/ip6_flowlabel", .skip = 1, .may_lack = 1, .fd = -1 },
};
#define SIGNS ((int)(sizeof(signs) / sizeof(*signs)))

static char texts[SIGNS][TEXT_SIZE] SHIM_LARGE; /* of each */

static int all_signs; /* sockets_begin() has found them */

/* Copy the beginning of what counts of @s to @text. 0, or -1: it cannot be read. */
static int sockets_read_sign(const struct sign *s, char text[TEXT_SIZE])
{
	char read[READ_SIZE];
	long n = sys4(__NR_pread64, s->fd, read, READ_SIZE, 0);
	int line = 0, at = 0;

	for (long i = 0; i < n && at < TEXT_SIZE; i++) {
		if (line >= s->skip && (!s->lines || line < s->skip + s->lines))
			text[at++] = read[i];
		line += read[i] == '\n';
	}
	while (at < TEXT_SIZE)
		text[at++] = '\0';
	return n > 0 ? 0 : -1;
}

/* Returns 0, or -1: it cannot be read. */
static int sockets_begin_sign(struct sign *s, char text[TEXT_SIZE])
{
	long fd = sys4(__NR_openat, AT_FDCWD, s->path, O_RDONLY | O_CLOEXEC, 0);

	if (s->fd >= 0)
		sys1(__NR_close, s->fd);
	s->fd = fd < 0 ? -1 : (int)sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, ABOVE);
	if (fd >= 0)
		sys1(__NR_close, fd);
	if (fd == -ENOENT && s->may_lack)
		return 0;
	return s->fd < 0 ? -1 : sockets_read_sign(s, text);
}

void sockets_begin(void)
{
	all_signs = 1;
	for (int i = 0; i < SIGNS; i++)
		if (sockets_begin_sign(&signs[i], texts[i]))
			all_signs = 0;
}

void sockets_forget(void)
{
	if (listener >= 0)
		sys1(__NR_close, listener);
	listener = -1;
	may_be_sent = 1;
}

/*
 * Nobody is told of a pair of streams, which are connected for good: neither end ever reaches
 * another socket. Once the shim has been told, only SIGKILL ends the wait for its answer.
 */
static long sockets_install_filter(void)
{
	enum { IP = 13, TELL = 16, ALLOW = 17 }; /* their places below */
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF(here, value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, (yes) - (here) - 1, (no) - (here) - 1)
	struct sock_filter code[] = {
		[0] = LOAD(arch),
		[1] = IF(1, SHIM_NATIVE_ARCH, 2, TELL),
		[2] = LOAD(nr),
		[3] = IF(3, __NR_socket, 9, 4),
		[4] = IF(4, __NR_socketpair, 5, ALLOW),
		[5] = LOAD(args[1]), /* the lower half: both machines are little-endian */
		[6] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TYPE_MASK),
		[7] = IF(7, TYPE_STREAM, ALLOW, 8),
		[8] = IF(8, TYPE_SEQPACKET, ALLOW, TELL),
		[9] = LOAD(args[0]),
		[10] = IF(10, FAMILY_INET, IP, 11),
		[11] = IF(11, FAMILY_INET6, IP, 12),
		[12] = IF(12, FAMILY_NETLINK, ALLOW, TELL),
		[IP] = LOAD(args[1]),
		[14] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TYPE_MASK),
		[15] = IF(15, TYPE_RAW, TELL, ALLOW),
		[TELL] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		[ALLOW] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
#undef LOAD
#undef IF
	const struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV |
			    SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		    &program);
}

long sockets_watch(void)
{
	long fd = all_signs ? sockets_install_filter() : -1;

	if (fd >= 0) {
		long moved = sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, ABOVE);

		sys1(__NR_close, fd);
		if (moved < 0)
			return moved; /* without a listener the calls would fail */
		listener = (int)moved;
		may_be_sent = 0;
	}
	return sys1(__NR_unshare, CLONE_FILES);
}

void sockets_note_inherited(void)
{
	struct statx st;

	for (int fd = 0; fd < 3; fd++)
		if (sys5(__NR_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0 ||
		    S_ISSOCK(st.stx_mode))
			may_be_sent = 1;
}

int sockets_listener(void)
{
	return listener;
}

void sockets_serve(int revents)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp go_on = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	if (!(revents & POLLIN)) { /* all processes that could call have ended */
		sys1(__NR_close, listener);
		listener = -1;
		return;
	}
	if (sys3(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
		return; /* the caller was killed or interrupted meanwhile */
	may_be_sent = 1; /* before the answer */
	go_on.id = call.id;
	sys3(__NR_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
}

static int sockets_sign_differs(const struct sign *s, const char text[TEXT_SIZE])
{
	char now[TEXT_SIZE];

	if (s->fd < 0)
		return 0;
	if (sockets_read_sign(s, now))
		return 1;
	for (int i = 0; i < TEXT_SIZE; i++)
		if (now[i] != text[i])
			return 1;
	return 0;
}

int sockets_left_traces(void)
{
	int differs = may_be_sent || !all_signs;

	for (int i = 0; i < SIGNS && !differs; i++)
		differs = sockets_sign_differs(&signs[i], texts[i]);
	return differs;
}
