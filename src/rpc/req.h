/*
 * req - one request from its parse to its single answer.
 *
 * Other modules keep a request's handle, never a pointer. It is answered exactly once: its
 * handler writes the result into req_result(), then req_ok() or one of the req_fail functions
 * shapes the answer with the request's dialect, queues it and frees the request. A request that
 * its client cancelled in a dialect with silent_cancel is freed without an answer.
 *
 * Ownership: the table owns requests; a request owns its parsed root and its
 * handler's `task` (freed by task_free).
 */
#ifndef PROCPEN_RPC_REQ_H
#define PROCPEN_RPC_REQ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/result.h"
#include "os/loop.h"
#include "rpc/outq.h"

struct req;
struct reqtab;
struct cap_call; /* cap/cap.h; opaque here, as is the next */
struct cap_row;

enum req_asked { REQ_ASKED, REQ_ASK_BY_ANSWER, REQ_CANNOT_ASK };

/* For how long an answer is to count, as it says: "once" or nothing, "session", anything else. */
enum req_remember { REQ_ONCE, REQ_SESSION, REQ_UNKNOWN_TIME };

/* A human's answer to a question. */
struct req_answer {
	bool allowed;
	const char *why; /* it is not allowed; NULL: it is */
	enum req_remember remember;
};

/*
 * A request that is not answered at once holds a slot until it is. Requests that wait share
 * `limits.requests` slots. Requests that end runs have slots of their own, so that a run can always
 * be ended: when all of these are in use, the oldest holder is answered with the state so far
 * (struct req.answer_now).
 */
enum req_slot { REQ_SLOT_NONE, REQ_SLOT_WAIT, REQ_SLOT_END, REQ_SLOTS };

#define REQ_SLOT_END_MAX 256

/* How one dialect speaks. Handlers never see which one it is. */
struct dialect {
	void *ctx;           /* its own state; its functions find it by r->dialect->ctx */
	int revision;        /* of its protocol, by its own numbering */
	size_t page_bytes;   /* of text in a page of process.logs, both streams together */
	size_t text_bytes;   /* encoded bytes that texts of a process may take in one answer */
	size_t list_bytes;   /* encoded bytes that a list of records may take in one answer */
	size_t summary_bytes; /* the most that the default of max_output_bytes may be */
	int yield_ms;        /* default of process.run's yield_ms */
	int eof_ms;          /* how long a request may stay open after the end of the input, unless
			      * server.eof_seconds is set; 0: the server does not wait for it */
	int wait_max_ms;     /* the longest that an answer may wait for a run; 0: no bound */
	bool silent_cancel;  /* a cancelled request gets no answer */
	bool cleans;         /* output of a terminal comes as what it shows (base/term.h), unless
			      * the caller asks for its bytes */
	bool outlined;       /* it needs the outline of a result as well as its JSON */
	bool from_operator;  /* requests are the operator's command lines: already checked by the
			      * parser, and started without a notice */
	bool events;         /* its client understands notifications about runs and the server */
	bool shares_stdio;   /* a command has our standard descriptors, and nothing is kept */
	/* Gets our end of the terminal of a run, and relays it; nothing is kept. NULL: the run
	 * keeps what comes. @ctx is that of the dialect. */
	void (*take_terminal)(void *ctx, int fd);
	const struct termios *terminal_settings; /* of that one; borrowed */

	/* Shape one answer as one line (no newline) into @line. ok() may take the bytes of @result.
	 * @partial: the result of a call that failed and still has one; or NULL. */
	void (*ok)(const struct req *r, struct result *result, struct buf *line);
	void (*fail)(const struct req *r, const struct err *e, const struct result *partial,
		     struct buf *line);

	/*
	 * Send the host a notice before a start. @notice: the object {capability, tier,
	 * command, intent ...} as JSON; its texts are bounded (cap/notice.h). May be NULL.
	 */
	void (*notify)(const struct req *r, const struct buf *notice);

	/*
	 * Ask a human. REQ_ASKED: req_confirmed() is called exactly once, later or from
	 * within, unless the request ends first.
	 * REQ_ASK_BY_ANSWER: the question is the answer of this request, and the client
	 * calls again; the caller answers with req_question().
	 * REQ_CANNOT_ASK: this client cannot ask. NULL means the same.
	 */
	enum req_asked (*confirm)(struct req *r, const struct buf *notice, int deadline_ms);

	/* Shape the question as an answer; needed by a dialect that asks by answer. */
	void (*question)(const struct req *r, const struct buf *notice, struct buf *line);
};

/*
 * The longest line that is written, without its newline. A longer answer becomes an
 * error.
 */
#define REQ_LINE_MAX ((1u << 20) - 1)

/* Of the line of a batch, what is kept for each answer that is still to come: an error. */
#define REQ_BATCH_EACH 1000

/* An array of requests that is answered by one array. */
struct req_batch;

struct req {
	struct reqtab *tab;
	uint64_t handle;
	const struct dialect *dialect;
	const struct cap_row *row; /* the capability called */
	char *id;                  /* raw JSON token; never NULL (notifications make no request) */
	char *key;                 /* its canonical spelling; may be the same memory */
	json_t *root;              /* the message, owned; once it is routed, only `params` of it */
	json_t *params;            /* inside root; checked and normalised by the gate */
	struct req_batch *batch;   /* or NULL */
	size_t share;              /* this request may use 1/share of the reply caps (batches) */
	enum req_slot slot;      /* the slot that it holds */
	int64_t since_ms;          /* when it arrived, clock_mono_ms() */
	bool cancelled;
	bool overdue;              /* past its time after the end of the input: being ended */
	uint64_t run;              /* struct proc.seq of the run it started or waits for; or 0 */
	void *extra;               /* state of the dialect, freed with free(); or NULL */
	struct cap_call *call;     /* state of the gate, from req_zalloc(); or NULL */
	void *task;                /* state of the handler */
	void (*task_free)(void *task);
	void (*on_cancel)(void *ctx, struct req *r); /* must lead to an answer; or NULL */
	void *on_cancel_ctx;
	/* A human has answered. Set before asking. */
	void (*on_confirmed)(struct req *r, const struct req_answer *answer);
	/* Called first when the request is about to be answered with @e. */
	void (*on_fail)(struct req *r, const struct err *e);
	/* Answer at once with the state so far. Set by handlers that wait for a run, and by every
	 * holder of REQ_SLOT_END; else NULL. */
	void (*answer_now)(void *ctx, struct req *r);
	void *answer_now_ctx;
	ev_timer timer;            /* for the owner of the task; stopped when the request ends */
	void (*on_timer)(void *ctx, struct req *r);
	void *on_timer_ctx;
	struct req *next, *prev;   /* all open requests, oldest first */
	struct req *id_next, *handle_next; /* the table's hash chains */
};

/* @waiting_max: how many may wait at once. @out: NULL when no dialect of it writes a line. */
struct reqtab *reqtab_new(struct ev_loop *loop, struct outq *out, int waiting_max);
void reqtab_free(struct reqtab *t);
struct outq *reqtab_outq(struct reqtab *t);

/* Call @fn when a request has ended (so that its question is dropped). Set once. */
void reqtab_on_end(struct reqtab *t, void (*fn)(void *ctx, uint64_t handle), void *ctx);

/* Let @fn complete each error that a request is answered with. Set once. */
void reqtab_on_fail(struct reqtab *t, void (*fn)(void *ctx, struct err *e), void *ctx);

/*
 * A new request. Consumes @root (also on failure). @id is a raw token, copied.
 * Returns NULL with InvalidRequest when the same id is in flight (the caller then
 * answers with id null).
 */
struct req *req_new(struct reqtab *t, const struct dialect *d, const char *id, size_t id_len,
		    json_t *root, struct req_batch *batch, struct err *e);

/* Zeroed memory for what lives as long as @r, for slab_free(); at most SLAB_MAX bytes. */
void *req_zalloc(struct req *r, size_t size);

/*
 * Give @r a slot, because it will stay open, unless @slot is none or it holds one already.
 * Call it before the request has any effect. Returns 0, or -1 with LimitReached; for
 * REQ_SLOT_END always 0, but another request may be answered.
 */
int req_take_slot(struct req *r, enum req_slot slot, struct err *e);
bool reqtab_full(const struct reqtab *t, enum req_slot slot); /* req_take_slot() will fail */

struct req *req_find(struct reqtab *t, uint64_t handle);               /* NULL if answered */

/* By id: a raw token, or a value. Ids are compared as values: 1.0 is 1, "\u0061" is "a". */
struct req *req_find_id(struct reqtab *t, const char *id, size_t len);
struct req *req_find_value(struct reqtab *t, const json_t *id); /* NULL: not found */

struct req *reqtab_first(struct reqtab *t);                            /* then ->next */
int reqtab_count(const struct reqtab *t);

/*
 * Begin the result of @r: its members go into the writer that is returned. The table writes one
 * result at a time, so nothing that could answer another request may happen before req_ok().
 */
struct jsonw *req_result(struct req *r);

/*
 * Answer and free the request. An answer longer than REQ_LINE_MAX becomes an
 * InternalError. req_fail() drops a result that was begun; req_fail_partial() sends it as
 * the error's detail `result`. Both release @e.
 */
void req_ok(struct req *r);
void req_fail(struct req *r, struct err *e);
void req_fail_partial(struct req *r, struct err *e);

/* The answer is the question that struct dialect.confirm was given as @notice. */
void req_question(struct req *r, const struct buf *notice);

/*
 * The client cancels: marks it and calls on_cancel. Without one the request ends
 * here: silently, or as Cancelled in a dialect that wants an answer.
 */
void req_cancel(struct req *r);

/* The human's answer to the question of request @handle; ignored when that has ended. */
void req_confirmed(struct reqtab *t, uint64_t handle, const struct req_answer *answer);

/* What the member `remember` of an answer says; NULL: it has none. */
enum req_remember req_read_remember(const json_t *value);

/* Arm the request's one timer. */
void req_timer(struct req *r, double ms, void (*fn)(void *ctx, struct req *r), void *ctx);

/* Reply caps for this request (dialect's, divided by share). */
size_t req_page_bytes(const struct req *r);
size_t req_text_bytes(const struct req *r);
size_t req_list_bytes(const struct req *r);

/*
 * A batch of @count elements; each adds one answer by batch_add(), with @len 0 for
 * none. When all are in the array is queued (nothing, if no element had an answer)
 * and the batch frees itself.
 */
struct req_batch *batch_new(struct reqtab *t, size_t count);
void batch_add(struct req_batch *b, const char *answer, size_t len);

/* Does an answer of @len bytes fit into a line, or with @b into the rest of the batch's line? */
bool req_fits(const struct req_batch *b, size_t len);

/* The error for a message with the @id of an open request; sets @e. */
void req_duplicate_id(struct err *e, const json_t *id);

/* The error that is sent instead of an answer that does not fit; sets @e. */
void req_too_large(struct err *e);

/* Queue an answer that belongs to no request, such as a parse error. @batch may be NULL. */
void reqtab_send(struct reqtab *t, struct req_batch *batch, const char *line, size_t len);

#endif
