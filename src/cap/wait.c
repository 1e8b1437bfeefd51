#include "cap/wait.h"

#include <stdlib.h>

#include "base/mem.h"

struct wait {
	uint64_t request;
	uint64_t seq;
	unsigned events;
	wait_fn fn;
	struct wait *next;
};

void wait_release(struct wait_list *list)
{
	while (list->first) {
		struct wait *next = list->first->next;

		free(list->first);
		list->first = next;
	}
}

void wait_add(struct wait_list *list, const struct req *r, const struct proc *p, unsigned events,
	      wait_fn fn)
{
	struct wait *w = mem_zalloc(sizeof(*w));

	BUG_IF(r->slot == REQ_SLOT_NONE); /* slots bound the number of waits */
	w->request = r->handle;
	w->seq = p->seq;
	w->events = events;
	w->fn = fn;
	w->next = list->first;
	list->first = w;
}

void wait_drop(struct wait_list *list, uint64_t handle)
{
	struct wait **at = &list->first;

	while (*at) {
		struct wait *w = *at;

		if (w->request != handle) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w);
	}
}

/* Remove the waits for @events of run @seq from the list. */
static struct wait *wait_take_matching(struct wait_list *list, uint64_t seq, unsigned events)
{
	struct wait **at = &list->first, *taken = NULL;

	while (*at) {
		struct wait *w = *at;

		if (w->seq != seq || !(w->events & events)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		w->next = taken;
		taken = w;
	}
	return taken;
}

/* Off the list before the call, because a callback may answer, start and wait again. */
void wait_wake(struct wait_list *list, struct reqtab *reqs, struct cap *c, struct proc *p,
	       unsigned events)
{
	struct wait *w = wait_take_matching(list, p->seq, events), *next;

	for (; w; w = next) {
		struct req *r = req_find(reqs, w->request);

		next = w->next;
		if (r && w->fn(c, r, p, events)) {
			w->next = list->first;
			list->first = w;
		} else {
			free(w);
		}
	}
}
