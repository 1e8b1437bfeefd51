#include "mcp/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "base/mem.h"
#include "base/term.h"
#include "base/utf8.h"

#define EVERY_MS 200
#define LOOK_BACK 1024   /* bytes searched for the newest line */
#define MESSAGE_MAX 200
#define TOKEN_MAX 1024
#define LINE_MAX_BYTES 16384 /* a token and a message, every byte of them escaped */

struct watch {
	uint64_t handle;
	char *token;              /* raw JSON */
	const struct mcp_shape *shape;
	uint64_t sent;            /* value of the last report */
	uint64_t run;             /* that it was of; 0: none yet */
	uint64_t before;          /* value that the output of this run counts on from */
	uint64_t out_seen;
	bool started;             /* a report was sent: the value must grow from then on */
	bool due;                 /* some output is not reported */
	int64_t next_ms;          /* not before */
	struct watch *next;
};

struct mcp_progress {
	struct mcp *m;
	struct watch *first;
	ev_timer timer;
};

/* ---- one report ---- */

/* The newest line of @o that is not blank, readable; its length in @text. */
static size_t mcp_progress_newest_line(const struct output *o, char text[LOOK_BACK])
{
	uint64_t at = o->total > LOOK_BACK ? o->total - LOOK_BACK : 0;
	ssize_t got = output_read(o, &at, text, LOOK_BACK);
	struct buf clean;
	const char *newline;
	size_t len, start;

	start = got > 0 && at ? utf8_partial_head(text, (size_t)got) : 0;
	got -= got > 0 ? (ssize_t)utf8_partial_tail(text, (size_t)got) : 0; /* the rest may come */
	buf_init(&clean, 4 * LOOK_BACK);
	term_clean(text + start, got > 0 ? (size_t)got - start : 0, &clean);
	len = clean.len;
	while (len && (unsigned char)clean.data[len - 1] <= ' ')
		len--;
	newline = len ? memrchr(clean.data, '\n', len) : NULL;
	start = newline ? (size_t)(newline + 1 - clean.data) : 0;
	len = len ? utf8_cut(clean.data + start, len - start, MESSAGE_MAX) : 0;
	memcpy(text, len ? clean.data + start : "", len);
	buf_release(&clean);
	return len;
}

/* Returns false when the client is too far behind. */
static bool mcp_progress_report(struct mcp_progress *p, struct watch *w, uint64_t value,
				int64_t total, const char *text, size_t len)
{
	struct buf line;
	struct jsonw j;
	bool sent;

	buf_init(&line, LINE_MAX_BYTES);
	rpc_open_notification(&j, &line, "notifications/progress");
	jsonw_raw(&j, "progressToken", w->token, strlen(w->token));
	jsonw_int(&j, "progress", (int64_t)value);
	if (total >= 0)
		jsonw_int(&j, "total", total);
	if (w->shape->annotations && len)
		jsonw_strn(&j, "message", text, len);
	rpc_close_notification(&j);
	sent = mcp_notify(p->m, &line);
	buf_release(&line);
	if (sent) {
		w->sent = value;
		w->started = true;
		w->next_ms = clock_mono_ms() + EVERY_MS;
	}
	return sent;
}

/* Report new output, if there is any. */
static void mcp_progress_report_run(struct mcp_progress *p, struct watch *w, const struct proc *run)
{
	const struct output *newer;
	char text[LOOK_BACK];
	uint64_t value;
	size_t len;

	w->due = false;
	if (w->run != run->seq) { /* the first, or of several the next */
		w->run = run->seq;
		w->before = w->sent;
		w->out_seen = 0;
	}
	newer = run->out.total > w->out_seen ? &run->out : &run->err;
	value = w->before + run->out.total + run->err.total;
	if (w->started ? value <= w->sent : !value)
		return;
	len = mcp_progress_newest_line(newer, text);
	if (mcp_progress_report(p, w, value, -1, text, len))
		w->out_seen = run->out.total;
}

static const struct proc *mcp_progress_run_of(const struct mcp_progress *p, const struct watch *w)
{
	const struct req *r = req_find(p->m->reqs, w->handle);

	return r && r->run && !r->cancelled ? proctab_get(p->m->cap->procs, r->run) : NULL;
}

static void mcp_progress_on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct mcp_progress *p = timer->data;
	int64_t now = clock_mono_ms();
	bool more = false;

	(void)events;
	for (struct watch *w = p->first; w; w = w->next) {
		const struct proc *run = w->due && now >= w->next_ms ? mcp_progress_run_of(p, w)
								     : NULL;

		if (run)
			mcp_progress_report_run(p, w, run);
		more |= w->due;
	}
	if (more)
		loop_timer_start(loop, &p->timer, EVERY_MS / 4);
}

/* ---- watched requests ---- */

struct mcp_progress *mcp_progress_new(struct mcp *m)
{
	struct mcp_progress *p = mem_zalloc(sizeof(*p));

	p->m = m;
	loop_timer_init(&p->timer, mcp_progress_on_timer, p);
	return p;
}

static void mcp_progress_free_watch(struct watch *w)
{
	free(w->token);
	free(w);
}

void mcp_progress_free(struct mcp_progress *p)
{
	if (!p)
		return;
	loop_timer_stop(p->m->cap->loop, &p->timer);
	while (p->first) {
		struct watch *next = p->first->next;

		mcp_progress_free_watch(p->first);
		p->first = next;
	}
	free(p);
}

/* A text that is not too long, or a whole number, which may be written 2.0. */
static bool mcp_progress_is_token(const json_t *token)
{
	double value = json_is_real(token) ? json_real_value(token) : 0;

	return (json_is_number(token) && trunc(value) == value) ||
	       (json_is_string(token) && json_string_length(token) <= TOKEN_MAX);
}

void mcp_progress_watch(struct mcp_progress *p, const struct req *r, const struct mcp_shape *shape)
{
	const json_t *token = json_object_get(mcp_meta(r->root), "progressToken");
	struct watch *w;

	if (!mcp_progress_is_token(token))
		return;
	w = mem_zalloc(sizeof(*w));
	w->handle = r->handle;
	w->token = json_dumps(token, JSON_ENCODE_ANY);
	w->shape = shape;
	w->next = p->first;
	p->first = w;
}

static struct watch *mcp_progress_find(const struct mcp_progress *p, uint64_t handle)
{
	struct watch *w = p->first;

	while (w && w->handle != handle)
		w = w->next;
	return w;
}

bool mcp_progress_say(struct mcp_progress *p, const struct req *r, int64_t value, int64_t total,
		      const char *text)
{
	struct watch *w = mcp_progress_find(p, r->handle);

	return w && mcp_progress_report(p, w, (uint64_t)value, total, text,
					utf8_cut(text, strlen(text), 4 * MESSAGE_MAX));
}

void mcp_progress_drop(struct mcp_progress *p, uint64_t handle)
{
	struct watch **at = &p->first;

	while (*at) {
		struct watch *w = *at;

		if (w->handle != handle) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		mcp_progress_free_watch(w);
		return;
	}
}

void mcp_progress_on_output(struct mcp_progress *p, const struct proc *run)
{
	int64_t now;

	if (!p->first)
		return;
	now = clock_mono_ms();
	for (struct watch *w = p->first; w; w = w->next) {
		if (mcp_progress_run_of(p, w) != run)
			continue;
		w->due = true;
		if (now >= w->next_ms)
			mcp_progress_report_run(p, w, run);
		else if (!loop_timer_is_set(&p->timer))
			loop_timer_start(p->m->cap->loop, &p->timer, (double)(w->next_ms - now));
	}
}
