#include "os/shim/pooled.h"

#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <stdint.h>

#include "os/shim/message.h"
#include "os/shim/namespaces.h"
#include "os/shim/pts.h"
#include "os/shim/sockets.h"
#include "os/shim/sys.h"
#include "os/shim/taint.h"

#define FDS_MAX (4 + SHIM_EXTRA_FDS_MAX) /* 0, 1, 2, the directory, the plan's */
#define ABOVE (SHIM_FD_EXTRA + SHIM_EXTRA_FDS_MAX) /* above all target numbers */

static char *pointers[SHIM_STRINGS_MAX_COUNT + 2] SHIM_LARGE;
static char *strings, *strings_end;
static struct sock_filter kept_filter[SHIM_FILTER_MAX] SHIM_LARGE;

/* The kernel gives received descriptors the lowest free numbers. */
struct rights {
	struct message_control head;
	int fds[FDS_MAX];
};

static long pooled_receive(struct shim_plan *plan, struct rights *rights, int flags)
{
	struct message_part part = { plan, sizeof(*plan) };
	struct message message = {
		.parts = &part, .part_count = 1,
		.control = rights, .control_len = sizeof(*rights),
	};
	long n;

	rights->head.len = 0;
	do
		n = sys3(__NR_recvmsg, SHIM_FD_CONTROL, &message, flags);
	while (n == -EINTR);
	return n;
}

/* The target number of the i-th received descriptor; skips the control socket. */
static int pooled_target_fd(int i)
{
	return i < SHIM_FD_CONTROL ? i : i + 1;
}

/* Close all target numbers, before the command's descriptors come or after the command got them.
 * Two calls, so that the server wakes once for the ends of its pipes. */
static void pooled_close_fds(void)
{
	if (sys3(__NR_close_range, 0, 2, 0) >= 0 &&
	    sys3(__NR_close_range, SHIM_FD_CWD, ABOVE - 1, 0) >= 0)
		return;
	for (int fd = 0; fd < ABOVE; fd++)
		if (fd != SHIM_FD_CONTROL)
			sys1(__NR_close, fd);
}

/* Normally the lowest free numbers are the targets. */
static int pooled_fds_are_in_place(const struct rights *rights, int count)
{
	for (int i = 0; i < count; i++)
		if (rights->fds[i] != pooled_target_fd(i))
			return 0;
	return 1;
}

/* 0, 1 and 2 outlive the exec, the others do not. All come without the flag, because one call sets
 * it on the others, and it would take three to clear it on these. */
static void pooled_keep_from_exec(int count)
{
	if (sys3(__NR_close_range, SHIM_FD_CWD, ABOVE - 1, CLOSE_RANGE_CLOEXEC_FLAG) >= 0)
		return;
	for (int i = 3; i < count; i++)
		sys3(__NR_fcntl, pooled_target_fd(i), F_SETFD, FD_CLOEXEC);
}

static int pooled_place_fds(const struct rights *rights, int count)
{
	long moved[FDS_MAX];

	if (pooled_fds_are_in_place(rights, count)) {
		pooled_keep_from_exec(count);
		return 0;
	}
	for (int i = 0; i < count; i++) {
		moved[i] = sys3(__NR_fcntl, rights->fds[i], F_DUPFD_CLOEXEC, ABOVE);
		sys1(__NR_close, rights->fds[i]);
		if (moved[i] < 0)
			return -1;
	}
	for (int i = 0; i < count; i++) {
		if (sys3(__NR_dup3, moved[i], pooled_target_fd(i), i < 3 ? 0 : O_CLOEXEC) < 0)
			return -1;
		sys1(__NR_close, moved[i]);
	}
	return 0;
}

/* Split @count consecutive texts into @array. Returns the end of the last. */
static char *pooled_split_strings(char *from, uint32_t count, char **array)
{
	for (uint32_t i = 0; i < count; i++) {
		array[i] = from;
		while (from < strings_end && *from)
			from++;
		from++;
	}
	array[count] = 0;
	return from;
}

static int pooled_take_strings(struct command *c, unsigned long size)
{
	const struct shim_plan *plan = c->plan;
	unsigned long paths = plan->path_len + plan->cwd_len + 2UL;

	if (plan->filter_len || plan->mounts_size || plan->path_len >= SHIM_PATH_MAX ||
	    plan->cwd_len >= SHIM_PATH_MAX || plan->join_count > SHIM_JOINS_MAX ||
	    plan->rlimit_count > SHIM_RLIMITS_MAX ||
	    plan->argc + plan->envc > SHIM_STRINGS_MAX_COUNT ||
	    size != paths + plan->strings_size)
		return -1;
	c->path = (const char *)plan->tail;
	c->cwd = c->path + plan->path_len + 1;
	strings = (char *)c->plan->tail + paths;
	strings_end = strings + plan->strings_size;
	if (plan->strings_size && strings_end[-1])
		return -1;
	c->argv = pointers;
	c->envp = pointers + plan->argc + 1;
	pooled_split_strings(pooled_split_strings(strings, plan->argc, c->argv), plan->envc,
			     c->envp);
	return 0;
}

void pooled_reserve(struct command *c)
{
	if (c->plan->landlock_fd >= 0)
		c->ruleset = (int)sys3(__NR_fcntl, c->plan->landlock_fd, F_DUPFD_CLOEXEC, ABOVE);
	for (int i = 0; i < SHIM_EXTRA_FDS_MAX; i++)
		sys3(__NR_dup3, SHIM_FD_CWD, SHIM_FD_EXTRA + i, O_CLOEXEC);
}

static int pooled_failed(struct command *c, enum shim_stage stage, int error)
{
	c->stage = (int)stage;
	c->error = error;
	return -1;
}

/* Without a PID namespace another run could open /proc/PID/net of this one; with CAP_NET_ADMIN a
 * command could change the namespace; without the filter there are other ways to a socket. */
static int pooled_can_watch(const struct command *c)
{
	const uint32_t needed = SHIM_NET_NS | SHIM_PID_NS | SHIM_MOUNTS | SHIM_DROP_CAPS;

	return (c->plan->flags & needed) == needed && !(c->plan->caps >> CAP_NET_ADMIN & 1) &&
	       c->filter_len;
}

/* Where the filter would refuse the shim what it does for each command, the commands install it.
 * The second plan will overwrite the first. */
static int pooled_take_filter(struct command *c)
{
	const struct sock_filter *from = c->filter;

	command_name_shim(c, (uint32_t)sys0(__NR_getpid));
	if (c->plan->flags & (SHIM_RENEWED | SHIM_GROUPED)) {
		for (uint32_t i = 0; i < c->filter_len; i++)
			kept_filter[i] = from[i];
		c->filter = kept_filter;
		c->watches = pooled_can_watch(c);
		if (c->watches)
			sockets_begin();
		return 0;
	}
	if (c->filter_len && command_install_filter(c))
		return -1;
	c->filter_len = 0;
	return 0;
}

static int pooled_send_ready(void)
{
	const struct shim_report report = { .event = SHIM_READY };

	return sys6(__NR_sendto, SHIM_FD_CONTROL, (long)&report, sizeof(report), MSG_NOSIGNAL_FLAG,
		    0, 0) < 0 ? -1 : 0;
}

int pooled_prepare(struct command *c)
{
	const uint32_t flags = c->plan->flags, hidden = SHIM_PID_NS | SHIM_SHELTERED;
	enum taint_reach reach = TAINT_NOTHING;

	if (c->plan->landlock_fd >= 0 && c->ruleset < 0)
		return pooled_failed(c, SHIM_STAGE_DESCRIPTORS, -c->ruleset);
	/* The filter refuses these calls to a command that calls the shim 1. Elsewhere a shim has
	 * another pid for each run, and a command without a sandbox has no filter. */
	c->reachable = (flags & hidden) != hidden || !c->filter_len;
	if (c->reachable)
		reach = flags & SHIM_SHELTERED && c->filter_len ? TAINT_BUT_LIMITS
								: TAINT_ATTRIBUTES;
	/* Before the filter, which refuses to read limits of the server. */
	taint_remember(reach, (flags & SHIM_IPC_NS) != 0,
		       (flags & (SHIM_OWN_PTS | SHIM_RENEW_PTS)) == SHIM_OWN_PTS);
	if (command_prepare_shim(c) || pooled_take_filter(c))
		return -1;
	pooled_close_fds();
	return flags & SHIM_QUEUED ? 0 : pooled_send_ready();
}

static void pooled_drop_message(void)
{
	sys6(__NR_recvfrom, SHIM_FD_CONTROL, 0, 0, 0, 0, 0);
}

/* Whoever waits and may yet turn out to be unfit leaves the plan in the socket, where the server
 * finds it unread: the command's process (see command_take_plan()), and a shim that commands can
 * reach. */
static long pooled_receive_plan(struct command *c, struct rights *rights)
{
	const int flags = c->await || c->reachable ? MSG_PEEK_FLAG : 0;
	long n;

	while ((n = pooled_receive(c->plan, rights, flags)) == (long)sizeof(struct shim_request))
		if (flags) /* meant for the previous command */
			pooled_drop_message();
	return n;
}

/* Where commands of other runs can reach it, they may have changed whoever has waited: the
 * command's process, which takes the plan later, or the shim. */
static int pooled_accept_plan(const struct command *c)
{
	if (c->await)
		return c->reachable && !taint_none_inherited(c->raised) ? -1 : 0;
	if (!c->reachable)
		return 0;
	if (!taint_none())
		return -1;
	pooled_drop_message();
	return 0;
}

/* The shim needs this one as long as there is a process of the run: duplicate it above the numbers
 * that pooled_close_fds() closes. Here, because a command can keep the shim from it later, by a
 * limit of descriptors. */
static int pooled_keep_forks_fd(const struct command *c)
{
	if (c->plan->forks_fd < 0 || !command_leaves_fds(c))
		return 0;
	c->plan->forks_fd = (int)sys3(__NR_fcntl, c->plan->forks_fd, F_DUPFD_CLOEXEC, ABOVE);
	return c->plan->forks_fd < 0 ? -1 : 0;
}

/* Before the plan comes, in a process with descriptors of its own. Each opens it anew: flags and
 * locks belong to the open file, and one for all would let runs see each other. */
static int pooled_open_null(void)
{
	long fd = sys4(__NR_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0), moved;

	if (fd < 0)
		return -1;
	moved = sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, ABOVE);
	sys1(__NR_close, fd);
	return moved < 0 ? -1 : (int)moved;
}

int pooled_wait(struct command *c)
{
	struct rights rights;
	long n, count;

	c->null_fd = c->await && !command_leaves_fds(c) ? pooled_open_null() : -1;
	n = pooled_receive_plan(c, &rights);
	if (n <= 0 || pooled_accept_plan(c))
		return -1; /* the server closed the socket, or must use another shim */
	count = rights.head.len < sizeof(rights.head)
			? 0
			: (long)((rights.head.len - sizeof(rights.head)) / sizeof(int));
	if (n < (long)SHIM_PLAN_HEAD || pooled_take_strings(c, (unsigned long)n - SHIM_PLAN_HEAD))
		return pooled_failed(c, SHIM_STAGE_PLAN, EPROTO);
	if (count < 4 || count > FDS_MAX || pooled_place_fds(&rights, (int)count) ||
	    pooled_keep_forks_fd(c))
		return pooled_failed(c, SHIM_STAGE_DESCRIPTORS, EMFILE);
	if (!c->filter_len)
		c->plan->flags &= ~(uint32_t)SHIM_SECCOMP; /* the command inherits the filter */
	return 0;
}

static uint32_t renewed; /* of SHIM_NET_NS and SHIM_RENEW_PTS, after this command */

int pooled_renews(const struct command *c)
{
	renewed = c->plan->flags & SHIM_RENEW_PTS;
	if (c->plan->flags & SHIM_NET_NS && (!c->watches || sockets_left_traces()))
		renewed |= SHIM_NET_NS;
	return renewed != 0;
}

static int pooled_renew_network(const struct command *c)
{
	if (namespaces_renew_network() < 0)
		return -1;
	if (c->watches)
		sockets_begin();
	return 0;
}

int pooled_renew(const struct command *c)
{
	if (c->plan->forks_fd >= 0 && command_leaves_fds(c))
		sys1(__NR_close, c->plan->forks_fd);
	if (!renewed)
		return 0;
	if ((renewed & SHIM_NET_NS && pooled_renew_network(c)) ||
	    (renewed & SHIM_RENEW_PTS && pts_renew(c->plan->pts_rights, c->ruleset) < 0))
		return -1;
	return pooled_send_ready();
}

void pooled_forget(const struct command *c)
{
	if (command_leaves_fds(c))
		pooled_close_fds();
	for (volatile char *at = strings; at && at < strings_end; at++)
		*at = '\0';
}
