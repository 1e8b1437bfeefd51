/*
 * A signalfd(2) for SIGCHLD wakes the loop, and reaper_collect() calls waitpid() until no
 * dead child is left. Watched pids live in a small chained hash. A sweep kills direct
 * children only: when an orphan dies its children become ours, and a direct child's pid
 * cannot be reused before we collect it.
 */
#include "os/reaper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "os/procfs.h"
#include "os/procfs_kept.h"

#define REAPER_SLOTS 256
#define REAPER_CHILDREN_MAX 4096
#define SWEEP_PERIOD_MS 2.0
#define COLLECT_MAX 256 /* per turn of the loop: orphans may die as fast as we collect them */

struct reaper_entry {
	pid_t pid;
	reaper_fn fn;
	void *ctx;
	struct reaper_entry *next;
};

struct sweep {
	int64_t deadline_ms;
	reaper_swept_fn fn;
	void *ctx;
	struct sweep *next;
};

struct reaper {
	struct ev_loop *loop;
	ev_io signal; /* a signalfd(2) */
	ev_timer timer;
	struct reaper_entry *slots[REAPER_SLOTS];
	struct sweep *sweeps;
	struct sweep *swept; /* finished, not yet called back */
	bool spare_privileged;
	bool childless; /* the last waitpid() returned ECHILD: the server has no child */
};

static struct reaper_entry **reaper_find_entry(struct reaper *r, pid_t pid)
{
	struct reaper_entry **at = &r->slots[(unsigned)pid % REAPER_SLOTS];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	return at;
}

static void reaper_collect(struct reaper *r)
{
	int status, count = 0;
	pid_t pid = 0;

	errno = 0;
	while (count++ < COLLECT_MAX && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct reaper_entry **at = reaper_find_entry(r, pid), *entry = *at;

		if (!entry)
			continue; /* an orphan, or a start that failed before its exec */
		*at = entry->next;
		if (entry->fn)
			entry->fn(entry->ctx, pid, status);
		free(entry);
		errno = 0;
	}
	if (pid > 0) /* COLLECT_MAX reached: let the loop turn, then go on */
		loop_timer_start(r->loop, &r->timer, 0);
	r->childless = pid < 0 && errno == ECHILD;
}

/* One read takes all: a signal that is pending is not queued again. */
static void reaper_on_sigchld(struct ev_loop *loop, ev_io *w, int revents)
{
	struct signalfd_siginfo info[2];

	(void)loop_refused(loop, w, revents);
	if (read(w->fd, info, sizeof(info)) > 0)
		reaper_collect(w->data);
}

/* The default instead of what we may have inherited: the kernel keeps no status for a parent that
 * ignores SIGCHLD. */
static int reaper_open_signal(void)
{
	sigset_t child;
	int fd;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signal(SIGCHLD, SIG_DFL);
	fd = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd >= 0)
		return fd;
	log_error("cannot watch for the ends of children: signalfd: %s", strerror(errno));
	abort();
}

/* Is our child @pid part of a run that has lost its shim? */
static bool reaper_is_orphan(struct reaper *r, pid_t pid)
{
	return !*reaper_find_entry(r, pid) &&
	       !(r->spare_privileged && procfs_no_new_privs(pid) == 0);
}

void reaper_add_unwatched(struct reaper *r, struct reaper_usage *sum)
{
	static pid_t pids[REAPER_CHILDREN_MAX];
	int count = procfs_children(getpid(), pids, REAPER_CHILDREN_MAX);
	int64_t tick_us = 1000000 / sysconf(_SC_CLK_TCK);
	uint64_t read_bytes, write_bytes;
	struct procread_stat st;

	for (int i = 0; i < count; i++) {
		if (*reaper_find_entry(r, pids[i]) || procread_stat(pids[i], &st))
			continue;
		sum->cpu_us += (int64_t)(st.cpu_ticks + st.child_ticks) * tick_us;
		if (procfs_kept_io(pids[i], &read_bytes, &write_bytes))
			continue;
		sum->io_read_bytes += (int64_t)read_bytes;
		sum->io_write_bytes += (int64_t)write_bytes;
	}
}

bool reaper_has_orphans(struct reaper *r)
{
	static pid_t pids[REAPER_CHILDREN_MAX];
	int count = procfs_children(getpid(), pids, REAPER_CHILDREN_MAX);

	for (int i = 0; i < count; i++)
		if (reaper_is_orphan(r, pids[i]) && !reaper_child_is(pids[i], WEXITED))
			return true;
	return count < 0 && !r->childless;
}

/* Kill our orphans. Returns how many there were, or -1 if they cannot be listed, which
 * must never count as "none". */
static int reaper_kill_orphans(struct reaper *r)
{
	static pid_t pids[REAPER_CHILDREN_MAX];
	int count = procfs_children(getpid(), pids, REAPER_CHILDREN_MAX);
	int orphans = 0;

	if (count < 0)
		return r->childless ? 0 : -1;
	for (int i = 0; i < count; i++) {
		if (!reaper_is_orphan(r, pids[i]))
			continue;
		orphans++;
		kill(pids[i], SIGKILL);
	}
	return orphans;
}

void reaper_await_orphans(struct reaper *r, int ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (ms-- > 0 && reaper_kill_orphans(r) > 0) {
		nanosleep(&pause, NULL);
		reaper_collect(r);
	}
}

/* Take finished sweeps off the list before the first callback, which may start another sweep, or
 * cancel one that is finished too. */
static void reaper_finish_sweeps(struct reaper *r, int left)
{
	int64_t now = clock_mono_ms();
	struct sweep **at = &r->sweeps;

	while (*at) {
		struct sweep *s = *at;

		if (left && now < s->deadline_ms) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		s->next = r->swept;
		r->swept = s;
	}
	while (r->swept) {
		struct sweep *s = r->swept;

		r->swept = s->next;
		s->fn(s->ctx, left < 0 ? 1 : left);
		free(s);
	}
}

static void reaper_on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct reaper *r = w->data;

	(void)revents;
	reaper_collect(r);
	if (r->sweeps)
		reaper_finish_sweeps(r, reaper_kill_orphans(r));
	if (r->sweeps)
		loop_timer_start(loop, w, SWEEP_PERIOD_MS);
}

/* Children of the program that became the server by an exec. */
static void reaper_watch_foreign(struct reaper *r)
{
	static pid_t pids[REAPER_CHILDREN_MAX];
	int count = 0;

	if (!waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT))
		count = procfs_children(getpid(), pids, REAPER_CHILDREN_MAX);
	for (int i = 0; i < count; i++)
		if (!*reaper_find_entry(r, pids[i])) /* a scan of /proc may list one twice */
			reaper_watch(r, pids[i], NULL, NULL);
}

struct reaper *reaper_new(struct ev_loop *loop)
{
	struct reaper *r = mem_zalloc(sizeof(*r));

	r->loop = loop;
	ev_io_init(&r->signal, reaper_on_sigchld, reaper_open_signal(), EV_READ);
	r->signal.data = r;
	loop_timer_init(&r->timer, reaper_on_timer, r);
	ev_io_start(loop, &r->signal);
	ev_unref(loop); /* this watcher alone must not keep the loop running */
	reaper_watch_foreign(r);
	return r;
}

/* Those with @ctx; NULL: all. */
static void reaper_free_sweeps(struct sweep **at, const void *ctx)
{
	while (*at) {
		struct sweep *s = *at;

		if (ctx && s->ctx != ctx) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free(s);
	}
}

void reaper_free(struct reaper *r)
{
	if (!r)
		return;
	ev_ref(r->loop);
	loop_close(r->loop, &r->signal);
	ev_timer_stop(r->loop, &r->timer);
	for (size_t i = 0; i < REAPER_SLOTS; i++)
		while (r->slots[i]) {
			struct reaper_entry *next = r->slots[i]->next;

			free(r->slots[i]);
			r->slots[i] = next;
		}
	reaper_free_sweeps(&r->sweeps, NULL);
	reaper_free_sweeps(&r->swept, NULL);
	free(r);
}

void reaper_spare_privileged(struct reaper *r)
{
	r->spare_privileged = true;
}

void reaper_watch(struct reaper *r, pid_t pid, reaper_fn fn, void *ctx)
{
	struct reaper_entry **at = reaper_find_entry(r, pid);

	BUG_IF(*at);
	*at = mem_zalloc(sizeof(**at));
	(*at)->pid = pid;
	(*at)->fn = fn;
	(*at)->ctx = ctx;
}

void reaper_unwatch(struct reaper *r, pid_t pid)
{
	struct reaper_entry **at = reaper_find_entry(r, pid), *entry = *at;

	if (!entry)
		return;
	*at = entry->next;
	free(entry);
}

bool reaper_child_is(pid_t pid, int states)
{
	siginfo_t news = { 0 };

	return !waitid(P_PID, (id_t)pid, &news, states | WNOHANG | WNOWAIT) && news.si_pid;
}

void reaper_sweep(struct reaper *r, int deadline_ms, reaper_swept_fn fn, void *ctx)
{
	struct sweep *s = mem_zalloc(sizeof(*s));

	s->deadline_ms = clock_mono_ms() + deadline_ms;
	s->fn = fn;
	s->ctx = ctx;
	s->next = r->sweeps;
	r->sweeps = s;
	loop_timer_start(r->loop, &r->timer, 0);
}

void reaper_sweep_cancel(struct reaper *r, const void *ctx)
{
	reaper_free_sweeps(&r->sweeps, ctx);
	reaper_free_sweeps(&r->swept, ctx);
}
