#include "cap/slices.h"

#include "base/clock.h"

#define SLICE_US 2000

static void slices_on_turn(struct ev_loop *loop, ev_idle *turn, int events)
{
	struct slices *s = turn->data;
	struct slices_job *job = s->first;

	(void)events;
	slices_drop(job);
	if (job->work(job->data, clock_mono_us() + SLICE_US))
		slices_add(s, loop, job);
}

void slices_add(struct slices *s, struct ev_loop *loop, struct slices_job *job)
{
	if (job->queue)
		return;
	job->queue = s;
	job->next = NULL;
	job->prev = s->last;
	*(s->last ? &s->last->next : &s->first) = job;
	s->last = job;
	if (ev_is_active(&s->turn))
		return;
	s->loop = loop;
	ev_idle_init(&s->turn, slices_on_turn);
	ev_set_priority(&s->turn, EV_MAXPRI); /* so that floods of input do not stop it */
	s->turn.data = s;
	ev_idle_start(loop, &s->turn);
}

void slices_drop(struct slices_job *job)
{
	struct slices *s = job->queue;

	if (!s)
		return;
	job->queue = NULL;
	*(job->prev ? &job->prev->next : &s->first) = job->next;
	*(job->next ? &job->next->prev : &s->last) = job->prev;
	if (!s->first)
		ev_idle_stop(s->loop, &s->turn);
}
