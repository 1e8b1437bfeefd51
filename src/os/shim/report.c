#include "os/shim/report.h"

#include <linux/errno.h>

#include "os/shim/message.h"
#include "os/shim/sys.h"

#define PAUSE_NS 1000000

int report_send(const struct shim_report *report)
{
	const struct { int64_t s, ns; } pause = { 0, PAUSE_NS };

	for (;;) {
		long result = sys6(__NR_sendto, SHIM_FD_CONTROL, (long)report, sizeof(*report),
				   MSG_NOSIGNAL_FLAG, 0, 0);

		if (result == -ENOBUFS || result == -ENOMEM || result == -EAGAIN)
			sys2(__NR_nanosleep, &pause, 0);
		else if (result != -EINTR)
			return result < 0 ? -1 : 0;
	}
}
