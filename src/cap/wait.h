/*
 * wait - requests that wait for an event of a run.
 *
 * A wait holds two handles (request and run), never a pointer to either. The hook of the
 * process table wakes it; a wait whose request has been answered is dropped. A request may wait for
 * several runs, once for each. An event finds the waits for its run, and passes them all by if none
 * is for an event of its kind: a flood costs waits for other runs, or for an end, nothing.
 */
#ifndef PROCPEN_CAP_WAIT_H
#define PROCPEN_CAP_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/proc.h"
#include "rpc/req.h"

struct cap; /* opaque here: cap/cap.h */
struct wait;
struct wait_run;

/*
 * One of the awaited events came. Returns true to go on waiting for this run; false when the
 * request was answered, or waits for other runs only.
 */
typedef bool (*wait_fn)(struct cap *c, struct req *r, struct proc *p, unsigned events);

#define WAIT_CHAINS 256

/* All waits of one server, by run and by request; an empty list is all zero. */
struct wait_list {
	struct wait_run *runs[WAIT_CHAINS];
	struct wait *requests[WAIT_CHAINS];
};

void wait_release(struct wait_list *list);

/* Call @fn for @r, which holds a slot, on any of @events of @p. */
void wait_add(struct wait_list *list, const struct req *r, const struct proc *p, unsigned events,
	      wait_fn fn);

/* The time that the checked parameter wait_ms gives @r to wait, within its dialect's bound. */
double wait_ms(const struct req *r);

/* The request with @handle has ended: forget its waits. */
void wait_drop(struct wait_list *list, uint64_t handle);

/* Wake those requests of @reqs that wait for @events of @p; @c is passed on. */
void wait_wake(struct wait_list *list, struct reqtab *reqs, struct cap *c, struct proc *p,
	       unsigned events);

#endif
