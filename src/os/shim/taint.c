#include "os/shim/taint.h"

#include <linux/errno.h>
#include <linux/msg.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/sem.h>
#include <linux/shm.h>
#include <linux/time_types.h>
#include <stdint.h>

#include "os/shim/namespaces.h"
#include "os/shim/pts.h"
#include "os/shim/sys.h"

#define LIMITS 16           /* resources of getrlimit(2) */
#define CPU_SET_BYTES 128   /* 1,024 processors; with more the call always fails */
#define SCHED_ATTR_BYTES 56 /* sched_setattr(2), struct sched_attr with utilisation clamps */
#define SCHED_ATTR_SLICE 24 /* where sched_runtime begins; policy, nice and priority are before */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_LEVELS 13 /* bits below the class; ioprio_set(2) */
#define SIGNALS_MAX 64 /* taken off the queue at once */

/* Members of 8 bytes only: compared byte by byte, so without padding. */
struct attributes {
	uint64_t sched[SCHED_ATTR_BYTES / 8]; /* the flags come second */
	uint64_t processors[CPU_SET_BYTES / 8];
	uint64_t limits[LIMITS][2];
	int64_t io_priority, nice;
};

static struct attributes as_made SHIM_LARGE;
static int64_t ipc_as_made[4];
static enum taint_reach reached;
static int has_own_ipc, has_own_pts;

/* Segments, semaphore sets, message queues; the size of POSIX queues. */
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

/* Of the process @pid, 0: of this one, what can be changed. Returns 0, or -1: not all could be
 * read. */
static int taint_read_attributes(struct attributes *a, long pid)
{
	int failed = sys4(__NR_sched_getattr, pid, a->sched, SCHED_ATTR_BYTES, 0) < 0 ||
		     sys3(__NR_sched_getaffinity, pid, sizeof(a->processors), a->processors) < 0;

	for (int i = 0; reached == TAINT_ATTRIBUTES && i < LIMITS; i++)
		failed |= sys4(__NR_prlimit64, pid, i, 0, a->limits[i]) < 0;
	a->io_priority = sys2(__NR_ioprio_get, IOPRIO_WHO_PROCESS, pid);
	/* Without a class the level says nothing. Before Linux 6.0 it is another one once the
	 * process has used a disk, as a server may have and its new shim has not. */
	if (a->io_priority > 0 && !(a->io_priority >> IOPRIO_LEVELS))
		a->io_priority = 0;
	a->nice = sys2(__NR_getpriority, PRIO_PROCESS, pid);
	return failed || a->io_priority < 0 || a->nice < 0 ? -1 : 0;
}

/*
 * Without a PID namespace a command may have changed the shim already, but not the server, whose
 * attributes the shim has, unless the kernel resets them in children. The flag that says so may
 * stay with a shim that has been real-time. In a PID namespace getppid() is 0.
 */
static void taint_remember_attributes(void)
{
	struct attributes own = { 0 };

	(void)taint_read_attributes(&own, 0);
	if (taint_read_attributes(&as_made, sys0(__NR_getppid)) ||
	    as_made.sched[1] & SCHED_FLAG_RESET_ON_FORK)
		as_made = own;
	as_made.sched[1] = own.sched[1];
}

void taint_remember(enum taint_reach reach, int own_ipc, int own_pts)
{
	reached = reach;
	has_own_ipc = own_ipc;
	has_own_pts = own_pts;
	if (reached)
		taint_remember_attributes();
	if (has_own_ipc)
		taint_read_ipc(ipc_as_made);
}

static int taint_equal(const void *a, const void *b, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		if (((const unsigned char *)a)[i] != ((const unsigned char *)b)[i])
			return 0;
	return 1;
}

static int taint_attributes_unchanged(void)
{
	struct attributes now = { 0 };

	(void)taint_read_attributes(&now, 0);
	return taint_equal(&now, &as_made, sizeof(now));
}

int taint_none_inherited(int realtime)
{
	const int reset = realtime || as_made.sched[1] & SCHED_FLAG_RESET_ON_FORK;
	struct attributes now = { 0 };

	(void)taint_read_attributes(&now, 0);
	now.sched[1] = as_made.sched[1];
	for (int i = SCHED_ATTR_SLICE / 8; reset && i < SCHED_ATTR_BYTES / 8; i++)
		now.sched[i] = as_made.sched[i];
	return taint_equal(&now, &as_made, sizeof(now));
}

static int taint_ipc_unchanged(void)
{
	int64_t now[4];

	taint_read_ipc(now);
	return now[3] >= 0 && taint_equal(now, ipc_as_made, sizeof(now));
}

/* The shim blocks every signal, so those sent stay pending for its whole life and count against the
 * user's RLIMIT_SIGPENDING. */
static int taint_drop_signals(void)
{
	const uint64_t all = ~0ULL;
	const struct __kernel_timespec at_once = { 0, 0 };
	long result = 0;

	for (int i = 0; i < SIGNALS_MAX && result >= 0; i++)
		result = sys4(__NR_rt_sigtimedwait, &all, 0, &at_once, sizeof(all));
	return result == -EAGAIN;
}

int taint_none(void)
{
	return (!reached || taint_attributes_unchanged()) &&
	       (!has_own_ipc || taint_ipc_unchanged()) && (!has_own_pts || pts_is_untouched()) &&
	       taint_drop_signals();
}
