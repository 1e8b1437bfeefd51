#include "cap/starts.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

#define SLOW_US 500  /* a start that takes longer had no idle shim */
#define TURN_US 1000 /* of starts in one turn of the loop */
#define ARRIVAL_TURNS 8 /* while more of a burst arrives, these go to the input alone */
#define QUIET_TURNS 2 /* then starts no longer queue: the input had its turn without one */

struct starts_entry {
	struct starts_entry *next;
	struct reqtab *reqs;
	uint64_t handle;
	const char *rule;
	starts_fn start;
};

static struct starts_entry *starts_remove_first(struct starts *s)
{
	struct starts_entry *entry = s->first;

	s->first = entry->next;
	if (!s->first)
		s->last = NULL;
	return entry;
}

/* Take the entry of request @handle out of the queue. */
static struct starts_entry *starts_remove(struct starts *s, uint64_t handle)
{
	struct starts_entry *entry, *before = NULL;

	for (entry = s->first; entry->handle != handle; entry = entry->next)
		before = entry;
	if (!before)
		return starts_remove_first(s);
	before->next = entry->next;
	if (s->last == entry)
		s->last = before;
	return entry;
}

/* Start the call of @entry, which is in no queue, unless its request has ended; frees it. */
static void starts_begin(struct starts_entry *entry)
{
	struct req *r = req_find(entry->reqs, entry->handle);

	if (r) {
		r->on_cancel = r->answer_now = NULL; /* the capability sets its own */
		entry->start(r, entry->rule);
	}
	free(entry);
}

/* Start for TURN_US. The last start tells whether the burst is still a slow one. */
static void starts_take_turn(struct starts *s)
{
	int64_t now = clock_mono_us(), until = now + TURN_US, begin;

	while (s->first && now < until) {
		begin = now;
		starts_begin(starts_remove_first(s));
		now = clock_mono_us();
		s->slow = now - begin >= SLOW_US;
	}
}

static void starts_on_work(struct ev_loop *loop, ev_idle *w, int events)
{
	struct starts *s = w->data;
	bool arriving = s->slow && s->arrived && s->put_off < ARRIVAL_TURNS;

	(void)events;
	s->quiet = s->first ? 0 : s->quiet + 1;
	s->put_off = arriving ? s->put_off + 1 : 0;
	s->arrived = false;
	if (!arriving)
		starts_take_turn(s);
	if (!s->first && (!s->slow || s->quiet >= QUIET_TURNS))
		ev_idle_stop(loop, w);
}

static void starts_on_cancel(void *ctx, struct req *r)
{
	struct reqtab *reqs = r->tab;
	uint64_t handle = r->handle;

	starts_begin(starts_remove(ctx, handle));
	r = req_find(reqs, handle);
	if (r && r->on_cancel)
		r->on_cancel(r->on_cancel_ctx, r);
}

static void starts_add(struct starts *s, struct req *r, const char *rule, starts_fn start)
{
	struct starts_entry *entry = mem_zalloc(sizeof(*entry));

	entry->reqs = r->tab;
	entry->handle = r->handle;
	entry->rule = rule;
	entry->start = start;
	*(s->last ? &s->last->next : &s->first) = entry;
	s->last = entry;
	s->arrived = true;
	r->on_cancel = starts_on_cancel;
	r->on_cancel_ctx = s;
}

/* A start was slow: let the next ones queue. */
static void starts_slow_down(struct starts *s, struct ev_loop *loop)
{
	s->loop = loop;
	s->quiet = 0;
	s->slow = true;
	ev_idle_init(&s->work, starts_on_work);
	ev_set_priority(&s->work, EV_MAXPRI); /* so that floods of output do not stop it */
	s->work.data = s;
	ev_idle_start(loop, &s->work);
}

void starts_take(struct starts *s, struct ev_loop *loop, struct req *r, const char *rule,
		 starts_fn start)
{
	int64_t begin = clock_mono_us();

	if (ev_is_active(&s->work)) {
		starts_add(s, r, rule, start);
		return;
	}
	start(r, rule);
	if (clock_mono_us() - begin >= SLOW_US)
		starts_slow_down(s, loop);
}

void starts_flush(struct starts *s)
{
	while (s->first)
		starts_begin(starts_remove_first(s));
	if (ev_is_active(&s->work))
		ev_idle_stop(s->loop, &s->work);
}
