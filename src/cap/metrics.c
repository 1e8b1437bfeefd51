#include "cap/metrics.h"

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "cap/cap.h"
#include "os/shim/procread.h"
#include "rpc/rpc.h"

#define READ_US 2000       /* of reading /proc for one sample */
#define LINE_MAX_BYTES 8192 /* of a notification */
#define BLOCK 512          /* of ru_inblock, see getrusage(2) */

void metrics_on_run(struct metrics *m, const struct proc *p, unsigned events)
{
	if (events & PROC_EVENT_REMOVED)
		m->counters.bytes_forgotten += p->out.total + p->err.total;
	if (!(events & PROC_EVENT_SETTLED))
		return;
	if (p->state == PROC_STATE_TIMED_OUT)
		m->counters.timed_out++;
	else if (p->state == PROC_STATE_KILLED)
		m->counters.killed++;
	else if (proc_exit_code(p) == 0)
		m->counters.succeeded++;
	else
		m->counters.failed++;
}

static int64_t metrics_us(const struct timeval *t)
{
	return (int64_t)t->tv_sec * 1000000 + t->tv_usec;
}

/* Add what the kernel has counted for @who. */
static void metrics_add_rusage(int who, struct metrics_sample *s)
{
	struct rusage u;

	if (getrusage(who, &u))
		return;
	s->cpu_us += metrics_us(&u.ru_utime) + metrics_us(&u.ru_stime);
	s->read_bytes += (int64_t)u.ru_inblock * BLOCK;
	s->write_bytes += (int64_t)u.ru_oublock * BLOCK;
}

static int64_t metrics_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Take a sample; sets *@usage too. A process that ends just now may be missing once: no figure ever
 * goes back. */
static struct metrics_sample metrics_take(struct cap *c, struct proctab_usage *usage)
{
	const struct metrics_sample *last = &c->metrics.last;
	struct metrics_sample s = { 0 };

	metrics_add_rusage(RUSAGE_SELF, &s);
	metrics_add_rusage(RUSAGE_CHILDREN, &s);
	proctab_usage(c->procs, clock_mono_us() + READ_US, usage);
	s.cpu_us = metrics_max(s.cpu_us + usage->cpu_us, last->cpu_us);
	s.read_bytes = metrics_max(s.read_bytes + usage->io_read_bytes, last->read_bytes);
	s.write_bytes = metrics_max(s.write_bytes + usage->io_write_bytes, last->write_bytes);
	s.mono_ms = clock_mono_ms();
	return s;
}

/* Processor time since the last sample; 100 is one core. More digits than one tell nothing. */
static double metrics_percent(const struct metrics *m, const struct metrics_sample *now)
{
	int64_t since = m->last.mono_ms ? m->last.mono_ms : m->start_ms;
	int64_t ms = now->mono_ms - since;

	return round((double)(now->cpu_us - m->last.cpu_us) / (double)(ms > 0 ? ms : 1)) / 10.0;
}

static void metrics_write_memory(struct jsonw *w, const struct proctab_usage *usage)
{
	struct procread_stat own = { 0 };

	(void)procread_stat(getpid(), &own);
	jsonw_int(w, "memory_bytes",
		  (int64_t)own.rss_pages * sysconf(_SC_PAGESIZE) + usage->memory_bytes);
	jsonw_int_or_null(w, "memory_limit_bytes",
			  usage->memory_limit && usage->memory_limit != INT64_MAX,
			  usage->memory_limit);
}

static void metrics_write_unknown(struct jsonw *w, const struct proctab_usage *usage)
{
	static const char net[] = "the kernel counts packets for network namespaces, not for runs";

	jsonw_object(w, "unknown");
	if (!usage->memory_limit)
		jsonw_str(w, "memory_limit_bytes", "it is looked up with the first run");
	else if (usage->memory_limit == INT64_MAX)
		jsonw_str(w, "memory_limit_bytes", "no control group limits the server's memory");
	jsonw_str(w, "net_rx_bytes", net);
	jsonw_str(w, "net_tx_bytes", net);
	jsonw_end_object(w);
}

static uint64_t metrics_runs_started(const struct metrics_counters *n,
				     const struct proctab_usage *usage)
{
	return n->succeeded + n->failed + n->timed_out + n->killed + (uint64_t)usage->running;
}

struct metrics_spent metrics_spent(struct cap *c)
{
	struct proctab_usage usage;
	struct metrics_sample now = metrics_take(c, &usage);

	return (struct metrics_spent){
		.runs = metrics_runs_started(&c->metrics.counters, &usage) +
			(uint64_t)usage.starting,
		.cpu_us = now.cpu_us,
	};
}

static void metrics_write_counters(struct jsonw *w, const struct metrics_counters *n,
				   const struct proctab_usage *usage)
{
	jsonw_object(w, "counters");
	jsonw_int(w, "runs_started", (int64_t)metrics_runs_started(n, usage));
	jsonw_int(w, "runs_running", usage->running);
	jsonw_int(w, "runs_succeeded", (int64_t)n->succeeded);
	jsonw_int(w, "runs_failed", (int64_t)n->failed);
	jsonw_int(w, "runs_timed_out", (int64_t)n->timed_out);
	jsonw_int(w, "runs_killed", (int64_t)n->killed);
	jsonw_int(w, "calls_blocked", (int64_t)n->blocked);
	jsonw_int(w, "calls_denied", (int64_t)n->denied);
	jsonw_int(w, "bytes_written", (int64_t)(n->bytes_forgotten + usage->bytes_written));
	jsonw_int(w, "bytes_kept", (int64_t)usage->bytes_kept);
	jsonw_end_object(w);
}

void metrics_write(struct cap *c, struct jsonw *w)
{
	struct metrics *m = &c->metrics;
	struct proctab_usage usage;
	struct metrics_sample now = metrics_take(c, &usage);

	jsonw_double(w, "cpu_percent", metrics_percent(m, &now));
	jsonw_int(w, "cpu_ms", now.cpu_us / 1000);
	metrics_write_memory(w, &usage);
	jsonw_int(w, "disk_read_bytes", now.read_bytes);
	jsonw_int(w, "disk_write_bytes", now.write_bytes);
	jsonw_null(w, "net_rx_bytes");
	jsonw_null(w, "net_tx_bytes");
	metrics_write_unknown(w, &usage);
	jsonw_int(w, "uptime_ms", now.mono_ms - m->start_ms);
	jsonw_int(w, "timestamp_ms", clock_wall_ms());
	metrics_write_counters(w, &m->counters, &usage);
	m->last = now;
}

/* ---- the stream ---- */

static void metrics_on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct cap *c = timer->data;
	struct outq *out = reqtab_outq(c->reqs);
	struct buf line;
	struct jsonw w;

	(void)events;
	loop_timer_start(loop, timer, c->metrics.interval_ms);
	if (!outq_room(out, LINE_MAX_BYTES))
		return;
	buf_init(&line, LINE_MAX_BYTES);
	rpc_open_notification(&w, &line, "server.metrics");
	metrics_write(c, &w);
	rpc_close_notification(&w);
	outq_push(out, line.data, line.len);
	buf_release(&line);
}

void metrics_stream(struct cap *c, double interval_ms)
{
	struct metrics *m = &c->metrics;

	(void)metrics_stop(c);
	m->interval_ms = interval_ms;
	loop_timer_init(&m->timer, metrics_on_timer, c);
	loop_timer_start(c->loop, &m->timer, interval_ms);
}

bool metrics_stop(struct cap *c)
{
	struct metrics *m = &c->metrics;
	bool active = loop_timer_is_set(&m->timer);

	if (active)
		loop_timer_stop(c->loop, &m->timer);
	return active;
}
