#include "os/shim/taint.h"

#include <linux/errno.h>
#include <linux/msg.h>
#include <linux/resource.h>
#include <linux/sem.h>
#include <linux/shm.h>
#include <stdint.h>

#include "os/shim/namespaces.h"
#include "os/shim/pts.h"
#include "os/shim/sys.h"

#define LIMITS 16           /* resources of getrlimit(2) */
#define CPU_SET_BYTES 128   /* 1,024 processors; with more the call always fails */
#define SCHED_ATTR_BYTES 56 /* sched_setattr(2), struct sched_attr with utilisation clamps */
#define IOPRIO_WHO_PROCESS 1
#define SIGNALS_MAX 64 /* taken off the queue at once */

/* Members of 8 bytes only: compared byte by byte, so without padding. */
struct facts {
	uint64_t sched[SCHED_ATTR_BYTES / 8];
	uint64_t processors[CPU_SET_BYTES / 8];
	uint64_t limits[LIMITS][2];
	int64_t io_priority, nice;
	int64_t ipc[4]; /* segments, semaphore sets, message queues; the size of POSIX queues */
};

static struct facts as_made;
static int has_own_ipc, has_own_pts;

static void taint_read_ipc(int64_t ipc[4])
{
	struct shm_info segments = { 0 };
	struct seminfo sets = { 0 };
	struct msginfo queues = { 0 };

	sys3(__NR_shmctl, 0, SHM_INFO, &segments);
	sys4(__NR_semctl, 0, 0, SEM_INFO, &sets);
	sys3(__NR_msgctl, 0, MSG_INFO, &queues);
	ipc[0] = segments.used_ids;
	ipc[1] = sets.semusz; /* with SEM_INFO, of the namespace: semctl(2) */
	ipc[2] = queues.msgpool;
	ipc[3] = namespaces_queues_size();
}

static void taint_read(struct facts *f)
{
	sys4(__NR_sched_getattr, 0, f->sched, SCHED_ATTR_BYTES, 0);
	sys3(__NR_sched_getaffinity, 0, sizeof(f->processors), f->processors);
	for (int i = 0; i < LIMITS; i++)
		sys4(__NR_prlimit64, 0, i, 0, f->limits[i]);
	f->io_priority = sys2(__NR_ioprio_get, IOPRIO_WHO_PROCESS, 0);
	f->nice = sys2(__NR_getpriority, PRIO_PROCESS, 0); /* a real-time process has one too */
	if (has_own_ipc)
		taint_read_ipc(f->ipc);
}

void taint_remember(int own_ipc, int own_pts)
{
	has_own_ipc = own_ipc;
	has_own_pts = own_pts;
	taint_read(&as_made);
}

static int taint_unchanged(const struct facts *now)
{
	const unsigned char *a = (const unsigned char *)&as_made, *b = (const unsigned char *)now;

	for (unsigned i = 0; i < sizeof(*now); i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

/* The shim blocks every signal, so those sent stay pending for its whole life and count against the
 * user's RLIMIT_SIGPENDING. */
static int taint_drop_signals(void)
{
	const uint64_t all = ~0ULL;
	const struct { int64_t s, ns; } at_once = { 0, 0 };
	long result = 0;

	for (int i = 0; i < SIGNALS_MAX && result >= 0; i++)
		result = sys4(__NR_rt_sigtimedwait, &all, 0, &at_once, sizeof(all));
	return result == -EAGAIN;
}

int taint_none(void)
{
	struct facts now = { 0 };

	taint_read(&now);
	return taint_unchanged(&now) && now.ipc[3] >= 0 && (!has_own_pts || pts_is_untouched()) &&
	       taint_drop_signals();
}
