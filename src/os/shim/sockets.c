#include "os/shim/sockets.h"

#include <stddef.h>

#include <asm/ioctl.h>
#include <linux/audit.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/stat.h>

#include "os/shim/procread.h"
#include "os/shim/proto.h"
#include "os/shim/sys.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

/* As in socket(2), which the kernel's headers leave to libc. */
#define FAMILY_INET 2
#define FAMILY_INET6 10
#define FAMILY_NETLINK 16
#define TYPE_STREAM 1
#define TYPE_SEQPACKET 5
#define TYPE_MASK 0xf

/* Above the numbers that a command's descriptors take. */
#define ABOVE (SHIM_FD_EXTRA + SHIM_EXTRA_FDS_MAX)

#define DEVICES_SIZE 512 /* of /proc/net/dev: its two lines of headings, and the loopback device */

/* The command's process writes both, too, until its exec. */
static volatile int listener = -1;
static volatile int may_be_sent = 1; /* a socket of AF_UNIX may have been made */

static int devices_fd = -1; /* /proc/net/dev of the namespace */
static char devices[DEVICES_SIZE];

/* Copy the beginning of /proc/net/dev to @text. 0, or -1: it cannot be read. */
static int sockets_read_devices(char text[DEVICES_SIZE])
{
	long n = sys4(__NR_pread64, devices_fd, text, DEVICES_SIZE, 0);

	for (long i = n < 0 ? 0 : n; i < DEVICES_SIZE; i++)
		text[i] = '\0';
	return n > 0 ? 0 : -1;
}

void sockets_begin(void)
{
	long fd = sys4(__NR_openat, AT_FDCWD, "self/net/dev", O_RDONLY | O_CLOEXEC, 0);

	if (devices_fd >= 0)
		sys1(__NR_close, devices_fd);
	devices_fd = fd < 0 ? -1 : (int)sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, ABOVE);
	if (fd >= 0)
		sys1(__NR_close, fd);
	if (sockets_read_devices(devices) && devices_fd >= 0) {
		sys1(__NR_close, devices_fd);
		devices_fd = -1;
	}
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
	enum { TELL = 13, ALLOW = 14 }; /* their places below */
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF(here, value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, (yes) - (here) - 1, (no) - (here) - 1)
	struct sock_filter code[] = {
		[0] = LOAD(arch),
		[1] = IF(1, NATIVE_ARCH, 2, TELL),
		[2] = LOAD(nr),
		[3] = IF(3, __NR_socket, 9, 4),
		[4] = IF(4, __NR_socketpair, 5, ALLOW),
		[5] = LOAD(args[1]), /* the lower half: both machines are little-endian */
		[6] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TYPE_MASK),
		[7] = IF(7, TYPE_STREAM, ALLOW, 8),
		[8] = IF(8, TYPE_SEQPACKET, ALLOW, TELL),
		[9] = LOAD(args[0]),
		[10] = IF(10, FAMILY_INET, ALLOW, 11),
		[11] = IF(11, FAMILY_INET6, ALLOW, 12),
		[12] = IF(12, FAMILY_NETLINK, ALLOW, TELL),
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
	long fd = devices_fd < 0 ? -1 : sockets_install_filter();

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

int sockets_left_traces(void)
{
	char now[DEVICES_SIZE];

	if (may_be_sent || sockets_read_devices(now))
		return 1;
	for (int i = 0; i < DEVICES_SIZE; i++)
		if (now[i] != devices[i])
			return 1;
	return 0;
}
