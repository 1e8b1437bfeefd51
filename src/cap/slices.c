#include "cap/slices.h"

#include "base/clock.h"

#define SLICE_US 2000

static void slices_on_turn(struct ev_loop *loop, ev_prepare *turn, int events)
{
	struct slices *s = turn->data;
	int64_t until_us = clock_mono_us() + SLICE_US;

	(void)events;
	do {
		struct slices_job *job = s->first;

		slices_drop(job);
		if (job->work(job->data, until_us))
			slices_add(s, loop, job);
	} while (s->first && clock_mono_us() < until_us);
}

static void slices_on_more(struct ev_loop *loop, ev_idle *more, int events)
{
	(void)loop;
	(void)more;
	(void)events;
}

/* A prepare watcher runs when the events of the turn before have all been handled, so requests are
 * answered first, and in every turn, however many events there are. */
static void slices_begin(struct slices *s, struct ev_loop *loop)
{
	s->loop = loop;
	ev_prepare_init(&s->turn, slices_on_turn);
	ev_idle_init(&s->more, slices_on_more);
	s->turn.data = s;
	ev_prepare_start(loop, &s->turn);
	ev_idle_start(loop, &s->more);
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
	if (!ev_is_active(&s->turn))
		slices_begin(s, loop);
}

void slices_drop(struct slices_job *job)
{
	struct slices *s = job->queue;

	if (!s)
		return;
	job->queue = NULL;
	*(job->prev ? &job->prev->next : &s->first) = job->next;
	*(job->next ? &job->next->prev : &s->last) = job->prev;
	if (s->first)
		return;
	ev_prepare_stop(s->loop, &s->turn);
	ev_idle_stop(s->loop, &s->more);
}
