/*
 * SECCOMP_IOCTL_NOTIF_RECV blocks when there is no message, even with O_NONBLOCK. So
 * poll() before each: if that reports a message, the ioctl does not block, because the
 * kernel never lowers its count of messages. If the sender was killed in between, the
 * ioctl fails with ENOENT.
 */
#include "os/sandbox/seccomp_unotify.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/sandbox/seccomp_table.h"
#include "os/shim/proto.h"

#define TURN_MAX 16     /* answers per turn of the loop, and between two pauses */
#define FREELY_MAX 1000 /* answers to a run before pauses begin */
#define PAUSE_MS 20
#define MESSAGE_ROOM 512 /* newer kernels may have longer messages than our header */

struct seccomp_unotify {
	struct ev_loop *loop;
	ev_io listener;
	ev_timer pause;
	uint64_t answered, others;
	int since_pause; /* answers */
	bool killed;
	size_t count;
	struct denial list[SECCOMP_UNOTIFY_MAX];
};

union request {
	struct seccomp_notif notif;
	char room[MESSAGE_ROOM];
};
union response {
	struct seccomp_notif_resp resp;
	char room[MESSAGE_ROOM];
};

static bool seccomp_unotify_is_foreign_call(const struct seccomp_data *data)
{
	return data->arch != SHIM_NATIVE_ARCH || (uint32_t)data->nr >= FILTER_X32_BIT;
}

static void seccomp_unotify_denial_set_name(struct denial *denial)
{
	char name[40];
	const char *kind = "";

	filter_name(denial->arch, denial->nr, name, sizeof(name));
	if (denial->arch == AUDIT_ARCH_X86_64 && (uint32_t)denial->nr >= FILTER_X32_BIT)
		kind = "x32 ";
	else if (denial->arch == AUDIT_ARCH_I386)
		kind = "i386 ";
	else if (denial->arch == AUDIT_ARCH_ARM)
		kind = "arm ";
	if (*name)
		snprintf(denial->name, sizeof(denial->name), "%s%s", kind, name);
}

static void seccomp_unotify_denial_count(struct seccomp_unotify *d, const struct seccomp_data *data,
					 int error)
{
	size_t i = 0;

	while (i < d->count && (d->list[i].nr != data->nr || d->list[i].arch != data->arch))
		i++;
	if (i == SECCOMP_UNOTIFY_MAX) {
		d->others++;
		return;
	}
	if (i == d->count) {
		d->list[d->count++] = (struct denial){
			.arch = data->arch, .nr = data->nr, .error = error,
		};
		seccomp_unotify_denial_set_name(&d->list[i]);
	}
	d->list[i].count++;
}

/* Without a listener the kernel would have killed the caller. If the message is still valid after
 * pidfd_open, the pidfd is the waiting caller's, so the signal reaches no other process. */
static void seccomp_unotify_kill_foreign(int listener, const struct seccomp_notif *notif)
{
	uint64_t id = notif->id;
	AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, notif->pid, 0);

	if (pidfd >= 0 && ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGSYS, NULL, 0);
}

/* One refused call; false when there is none. */
static bool seccomp_unotify_answer_one(struct seccomp_unotify *d)
{
	int fd = d->listener.fd;
	union request request;
	union response response;
	struct pollfd there = { .fd = fd, .events = POLLIN };
	bool foreign;

	if (poll(&there, 1, 0) <= 0 || !(there.revents & POLLIN)) {
		if (there.revents & (POLLHUP | POLLERR | POLLNVAL))
			seccomp_unotify_stop(d); /* no process has this filter any more */
		return false;
	}
	memset(&request, 0, sizeof(request));
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return errno == ENOENT || errno == EINTR;
	foreign = seccomp_unotify_is_foreign_call(&request.notif.data);
	memset(&response, 0, sizeof(response));
	response.resp.id = request.notif.id;
	response.resp.error = -(foreign ? ENOSYS : filter_error(request.notif.data.nr));
	if (!response.resp.error)
		response.resp.error = -EPERM; /* 0 would mean that the call succeeded */
	if (foreign) {
		d->killed = true;
		seccomp_unotify_denial_count(d, &request.notif.data, 0);
		seccomp_unotify_kill_foreign(fd, &request.notif);
	}
	/* Fails if a signal interrupted the caller: it repeats the call, with a new message. */
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0 && !foreign)
		seccomp_unotify_denial_count(d, &request.notif.data, -response.resp.error);
	return true;
}

static void seccomp_unotify_on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	struct seccomp_unotify *d = io->data;

	(void)loop_refused(loop, io, revents);
	for (int i = 0; i < TURN_MAX && seccomp_unotify_answer_one(d); i++) {
		d->answered++;
		d->since_pause++;
	}
	if (d->answered > FREELY_MAX && d->since_pause >= TURN_MAX && io->fd >= 0) {
		ev_io_stop(loop, io);
		loop_timer_start(loop, &d->pause, PAUSE_MS);
	}
}

static void seccomp_unotify_on_pause_over(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct seccomp_unotify *d = w->data;

	(void)revents;
	d->since_pause = 0;
	ev_io_start(loop, &d->listener);
}

static bool seccomp_unotify_sizes_fit(void)
{
	struct seccomp_notif_sizes sizes;

	return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
	       sizes.seccomp_notif <= MESSAGE_ROOM && sizes.seccomp_notif_resp <= MESSAGE_ROOM;
}

struct seccomp_unotify *seccomp_unotify_new(struct ev_loop *loop, int listener)
{
	struct seccomp_unotify *d;

	if (!seccomp_unotify_sizes_fit()) {
		close(listener);
		return NULL;
	}
	d = mem_zalloc(sizeof(*d));
	d->loop = loop;
	ev_io_init(&d->listener, seccomp_unotify_on_readable, listener, EV_READ);
	d->listener.data = d;
	loop_timer_init(&d->pause, seccomp_unotify_on_pause_over, d);
	ev_io_start(loop, &d->listener);
	return d;
}

void seccomp_unotify_stop(struct seccomp_unotify *d)
{
	if (!d || d->listener.fd < 0)
		return;
	loop_timer_stop(d->loop, &d->pause);
	loop_close(d->loop, &d->listener);
}

void seccomp_unotify_free(struct seccomp_unotify *d)
{
	seccomp_unotify_stop(d);
	free(d);
}

const struct denial *seccomp_unotify_list(const struct seccomp_unotify *d, size_t *count_out)
{
	*count_out = d ? d->count : 0;
	return d ? d->list : NULL;
}

bool seccomp_unotify_killed(const struct seccomp_unotify *d)
{
	return d && d->killed;
}

uint64_t seccomp_unotify_others(const struct seccomp_unotify *d)
{
	return d ? d->others : 0;
}
