#include "proc/input_wait.h"

#include <stdbool.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "os/reading.h"
#include "proc/proc.h"

#define TICK_MS 10 /* proc(5) counts processor time in these */

static enum reading input_wait_look(const struct proc *p, const struct reading_file *file)
{
	const struct procfs_process *processes;
	int count = usage_processes(p->live->tree.shim_pid, &processes);

	if (count < 0)
		return READING_UNKNOWN;
	return reading_of(processes, count < INPUT_WAIT_PROCESSES ? count : INPUT_WAIT_PROCESSES,
			  file);
}

/* Has the run been quiet so long? */
static enum input_wait input_wait_is_quiet(struct proc *p, int64_t cpu_ms)
{
	struct quiet *quiet = &p->live->quiet, before = *quiet;
	int64_t now = clock_mono_ms();
	bool used = cpu_ms - before.cpu_ms > TICK_MS;

	if (!before.since_ms || used)
		*quiet = (struct quiet){ .since_ms = now, .cpu_ms = cpu_ms };
	quiet->looked_ms = now;
	if (now - p->live->output_mono_ms < INPUT_WAIT_QUIET_MS)
		return INPUT_WAIT_NO;
	if (!before.since_ms)
		return INPUT_WAIT_UNKNOWN;
	if (now - before.since_ms < INPUT_WAIT_QUIET_MS)
		return used ? INPUT_WAIT_NO : INPUT_WAIT_UNKNOWN;
	return used ? INPUT_WAIT_UNKNOWN : INPUT_WAIT_YES;
}

/* Is nothing on its way to the command? */
static bool input_wait_is_empty(const struct proc *p)
{
	int bytes = 0;

	if (p->live->terminal_fd >= 0 && ioctl(p->live->terminal_fd, FIONREAD, &bytes))
		bytes = 0;
	return !bytes && !feed_unread(&p->live->feed);
}

/* Our end of its stdin, where somebody can write; or -1. */
static int input_wait_end(const struct proc *p)
{
	bool runs = p->tree_alive && p->phase == PROC_RUNNING && p->live->tree.shim_pid > 0;
	int fd = runs ? p->live->feed.io.fd : -1;

	return fd >= 0 && p->live->terminal_fd >= 0 ? p->live->terminal_fd : fd;
}

/* What it uses in less than a tick cannot be told from nothing: a look just now is good enough. */
void input_wait_note(struct proc *p)
{
	if (input_wait_end(p) >= 0 &&
	    clock_mono_ms() - p->live->quiet.looked_ms >= TICK_MS)
		(void)input_wait_is_quiet(p, proc_usage(p)->cpu_ms);
}

/* Most sleep in something else, so look before bytes are counted: they would have woken what was
 * seen asleep in a read, unless it is stopped. */
enum input_wait input_wait_of(struct proc *p, const struct usage *now)
{
	struct reading_file file = { .fd = input_wait_end(p) };
	enum input_wait quiet;
	enum reading reading;

	if (file.fd < 0)
		return INPUT_WAIT_NO;
	file.terminal = p->live->terminal_fd >= 0;
	file.stopped = p->settings->limits.cpu == LIMITS_SAMPLED; /* by the shim, for moments */
	quiet = input_wait_is_quiet(p, now->cpu_ms);
	if (file.stopped && !input_wait_is_empty(p))
		return INPUT_WAIT_NO;
	reading = input_wait_look(p, &file);
	if (reading == READING_NO || !input_wait_is_empty(p))
		return INPUT_WAIT_NO;
	switch (reading) {
	case READING_BLOCKS:
		return INPUT_WAIT_YES;
	case READING_POLLS:
		return quiet;
	case READING_UNKNOWN:
		return INPUT_WAIT_UNKNOWN;
	case READING_NO:
		break;
	}
	return INPUT_WAIT_NO;
}
