#include "os/shim/report.h"

#include <linux/errno.h>
#include <linux/time_types.h>

#include "os/shim/message.h"
#include "os/shim/sys.h"

#define PAUSE_NS 1000000

int report_send(const struct shim_report *report)
{
	const struct __kernel_timespec pause = { 0, PAUSE_NS };

	for (;;) {
		long result = sys6(__NR_sendto, SHIM_FD_CONTROL, (long)report, sizeof(*report),
				   MSG_NOSIGNAL_FLAG, 0, 0);

		if (result == -ENOBUFS || result == -ENOMEM || result == -EAGAIN)
			sys2(__NR_nanosleep, &pause, 0);
		else if (result != -EINTR)
			return result < 0 ? -1 : 0;
	}
}

struct report_rights {
	struct message_control head;
	int fds[REPORT_FDS_MAX];
};

long report_send_with(const struct shim_report *report, const int *fds, int count)
{
	struct report_rights rights = {
		.head = { sizeof(rights.head) + (unsigned long)count * sizeof(*fds),
			  SOL_SOCKET_LEVEL, SCM_RIGHTS_TYPE },
	};
	struct shim_report copy = *report;
	struct message_part part = { &copy, sizeof(copy) };
	struct message message = {
		.parts = &part, .part_count = 1,
		.control = &rights, .control_len = sizeof(rights),
	};
	long result;

	for (int i = 0; i < count; i++)
		rights.fds[i] = fds[i];
	result = sys3(__NR_sendmsg, SHIM_FD_CONTROL, &message, MSG_NOSIGNAL_FLAG);
	return result < 0 ? result : 0;
}
