/*
 * starts - spreads a burst of slow starts over turns of the loop.
 *
 * A start with namespaces of its own takes more than a millisecond of the one thread, and sixty of
 * them would keep a later ping waiting for all. So while starts are slow they queue, in the order
 * of their requests, and between two turns of them the loop serves everything else. A start that
 * an idle shim serves is quick and never waits on its own.
 *
 * A call queues before its names are looked up and its host is told, which is most of its work
 * before the start, or when a human has allowed it. A queued call holds its slot, and no run
 * exists yet: process.list does not show it. Cancelling it takes it up and then cancels what that
 * came to, so the answer is that of any other run.
 */
#ifndef PROCPEN_CAP_STARTS_H
#define PROCPEN_CAP_STARTS_H

#include <stdbool.h>

#include "os/loop.h"
#include "rpc/req.h"

struct starts_entry;

typedef void (*starts_fn)(struct req *r, const char *rule);

struct starts {
	struct ev_loop *loop; /* of the watcher below while it is active */
	struct starts_entry *first, *last;
	ev_idle work;    /* active while starts queue */
	int quiet;       /* turns in a row with an empty queue */
	int put_off;     /* turns in a row in which starts had to wait for the input */
	bool slow;       /* the last start was */
	bool arrived;    /* a start has come since the last turn */
};

/* Call start(@r, @rule) now, or in a later turn of @loop if @r is open then. @rule must live as
 * long. @s is zeroed at first, and never moves after a call. */
void starts_take(struct starts *s, struct ev_loop *loop, struct req *r, const char *rule,
		 starts_fn start);

/* Start all that wait, and let nothing wait until the next slow start. */
void starts_flush(struct starts *s);

#endif
