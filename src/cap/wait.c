#include "cap/wait.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"

/* A wait is on two lists: that of its run, and a chain of requests. */
struct wait {
	uint64_t request;
	unsigned events;
	wait_fn fn;
	struct wait_run *run;
	struct wait *next, **at;           /* of the same run; @at points to this one */
	struct wait *chain_next, **chain_at; /* of requests with the same hash */
};

/* The waits for one run; there is at least one. */
struct wait_run {
	uint64_t seq;
	unsigned events; /* the events of all of them, and perhaps of some that have gone */
	struct wait *first;
	struct wait_run *next;
};

static struct wait_run **wait_find_run(struct wait_list *list, uint64_t seq)
{
	struct wait_run **at = &list->runs[seq % WAIT_CHAINS];

	while (*at && (*at)->seq != seq)
		at = &(*at)->next;
	return at;
}

static void wait_link(struct wait_list *list, struct wait *w, uint64_t seq)
{
	struct wait **chain = &list->requests[w->request % WAIT_CHAINS];
	struct wait_run **at = wait_find_run(list, seq);

	if (!*at) {
		*at = mem_zalloc(sizeof(**at));
		(*at)->seq = seq;
	}
	w->run = *at;
	w->run->events |= w->events;
	w->next = w->run->first;
	w->at = &w->run->first;
	if (w->next)
		w->next->at = &w->next;
	w->run->first = w;
	w->chain_next = *chain;
	w->chain_at = chain;
	if (w->chain_next)
		w->chain_next->chain_at = &w->chain_next;
	*chain = w;
}

/* Take @w off its lists; the run goes with its last wait. */
static void wait_unlink(struct wait_list *list, struct wait *w)
{
	struct wait_run **at;

	*w->at = w->next;
	if (w->next)
		w->next->at = w->at;
	*w->chain_at = w->chain_next;
	if (w->chain_next)
		w->chain_next->chain_at = w->chain_at;
	if (w->run->first)
		return;
	at = wait_find_run(list, w->run->seq);
	*at = w->run->next;
	free(w->run);
}

void wait_release(struct wait_list *list)
{
	for (size_t i = 0; i < WAIT_CHAINS; i++)
		while (list->requests[i]) {
			struct wait *w = list->requests[i];

			wait_unlink(list, w);
			free(w);
		}
}

void wait_add(struct wait_list *list, const struct req *r, const struct proc *p, unsigned events,
	      wait_fn fn)
{
	struct wait *w = mem_zalloc(sizeof(*w));

	BUG_IF(r->slot == REQ_SLOT_NONE); /* slots bound the number of waits */
	w->request = r->handle;
	w->events = events;
	w->fn = fn;
	wait_link(list, w, p->seq);
}

double wait_ms(const struct req *r)
{
	double ms = (double)json_get_int(r->params, "wait_ms", 0), max = r->dialect->wait_max_ms;

	return max && ms > max ? max : ms;
}

void wait_drop(struct wait_list *list, uint64_t handle)
{
	struct wait *w = list->requests[handle % WAIT_CHAINS], *next;

	for (; w; w = next) {
		next = w->chain_next;
		if (w->request != handle)
			continue;
		wait_unlink(list, w);
		free(w);
	}
}

/* Take the waits for @events of run @seq off the lists. */
static struct wait *wait_take_matching(struct wait_list *list, uint64_t seq, unsigned events)
{
	struct wait_run *run = *wait_find_run(list, seq);
	struct wait *w, *next, *taken = NULL;

	if (!run || !(run->events & events))
		return NULL;
	run->events = 0;
	for (w = run->first; w; w = w->next)
		run->events |= w->events & events ? 0 : w->events;
	for (w = run->first; w; w = next) {
		next = w->next;
		if (!(w->events & events))
			continue;
		wait_unlink(list, w);
		w->next = taken;
		taken = w;
	}
	return taken;
}

/* Off the lists before the call, because a callback may answer, start and wait again. */
void wait_wake(struct wait_list *list, struct reqtab *reqs, struct cap *c, struct proc *p,
	       unsigned events)
{
	struct wait *w = wait_take_matching(list, p->seq, events), *next;
	uint64_t seq = p->seq;

	for (; w; w = next) {
		struct req *r = req_find(reqs, w->request);

		next = w->next;
		if (r && w->fn(c, r, p, events))
			wait_link(list, w, seq);
		else
			free(w);
	}
}
