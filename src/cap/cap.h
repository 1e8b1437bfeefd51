/*
 * cap - the gate, and the shape of a capability.
 *
 * Every call of every dialect goes through cap_call(), in this order:
 *
 *   workspace  there must be one                                    BadDirectory
 *   schema     types, bounds, unknown names; aliases; defaults,     InvalidParams ...
 *              but for a start, which takes parameters without;
 *              skipped for a command line (dialect.from_operator)
 *   prepare    the capability reads its parameters and fills the    InvalidParams
 *              blocklist's input
 *   slot       a call that will wait needs one (rpc/req.h)          LimitReached
 *   blocklist  only rows with CAP_COMMAND, and before any look-up:  CommandBlocked
 *              the verdict is the same on every machine
 *   rules      the operator's, in the same pass; they set the tier  PermissionDenied
 *   replay     is it a repeat, which starts nothing of its own? then   InvalidParams
 *              the call before answers it, without the steps below
 *   queue      a start waits here while starts are slow (cap/starts.h)
 *   resolve    directory, environment, program; the run that is     PathOutOfScope,
 *              named, and what it must be for the call; no effect   ProcessNotFound ...
 *              yet
 *   postpone   a long text waits here while it is judged in turns
 *   judge      for a capability that judges with what came before;   CommandBlocked
 *              behind the question where a human is asked, and
 *              before it as a trial
 *   tier       deny, confirm (waits for a human, unless a grant of  PermissionDenied
 *              the session allows the call, cap/grant.h), notify
 *   audit      the attempt is on disk, or a read is counted         PermissionDenied
 *   start      the effect
 *
 * A capability is one file in schema/ and one file here with a `struct cap_ops`;
 * the generator emits its row. It contains no policy.
 */
#ifndef PROCPEN_CAP_CAP_H
#define PROCPEN_CAP_CAP_H

#include <stdbool.h>

#include "base/schema.h"
#include "blocklist/blocklist.h"
#include "cap/follow.h"
#include "cap/grep.h"
#include "cap/metrics.h"
#include "cap/repeat.h"
#include "cap/run_key.h"
#include "cap/slices.h"
#include "cap/starts.h"
#include "cap/wait.h"
#include "policy/audit.h"
#include "policy/config.h"
#include "policy/grants.h"
#include "policy/tier.h"
#include "policy/project.h"
#include "policy/ruling.h"
#include "policy/run_shell.h"
#include "policy/scope.h"
#include "proc/proctab.h"
#include "rpc/req.h"

/* Begins what a hint says to models alone; the command line leaves it out. */
#define CAP_TO_MODEL "Do not retry it; "

struct cap;
struct cap_row;

enum cap_flag {
	CAP_COMMAND = 1, /* judged by the blocklist */
	CAP_STARTS = 2,  /* starts a process: its audit record must be on disk first; many of its
			  * calls may wait, so it takes parameters without their defaults */
	CAP_LONG = 4,    /* tools/list asks hosts to show more of its result than they do by
			  * default */
	CAP_ENDS = 8,    /* ends runs that other calls wait for: takes a REQ_SLOT_END */
	CAP_PLAIN = 16,  /* a method of the plain dialect and no tool */
	CAP_READS = 32,  /* changes nothing (readOnlyHint): the audit log counts its calls */
	CAP_UNLISTED = 64, /* a tool that tools/list shows only with mcp.tools=all */
	CAP_ANYWHERE = 128, /* needs no workspace */
};

enum cap_outcome {
	CAP_DONE,    /* the result is written (req_result) */
	CAP_WAITING, /* req_ok() or req_fail() will be called later */
	CAP_FAILED,  /* the error is in call->e */
	CAP_BLOCKED, /* likewise, for call->verdict, which is on record: some of it may be done */
};

/* What a grant of the session binds of a call (cap/grant.h). */
struct cap_grant {
	unsigned char digest[DIGEST_SIZE];
	const char *lacks; /* why none can bind it, static; NULL: one can */
	unsigned number;   /* of the grant that allows the call; 0: none */
};

/*
 * One call on its way through the gate. Made by cap_call(), owned by its request (struct
 * req.call); everything it points to belongs to the request and its task.
 */
struct cap_call {
	struct cap *c;
	struct req *r;
	const struct cap_row *row;
	enum tier tier;
	struct blocklist_input judge; /* the command that it runs or asks about; set by prepare */
	size_t stdin_held; /* bytes behind judge.stdin_bytes there, judged when more comes */
	struct ruling ruling;         /* of the rules; all zero: none was asked for */
	const struct blocklist_verdict *verdict; /* of ops->judge; NULL: none */
	struct cap_grant grant;       /* of a call of tier confirm */
	enum req_remember wish;       /* of the answer to its question */
	struct audit_event event;     /* the attempt; prepare and resolve add what they find */
	bool judged;                  /* ops->judge was called */
	bool counted;                 /* it is among the reads of the audit log */
	struct err *e;                /* start only: why it failed */
};

struct cap_ops {
	/* Read the checked parameters into call->r->task. Returns 0 or -1. May be NULL. */
	int (*prepare)(struct cap_call *call, struct err *e);

	/*
	 * Is the call a repeat of one before? Returns 1 if it is, and was or will be answered as
	 * such; 0 if not; -1. May be NULL.
	 */
	int (*replay)(struct cap_call *call, struct err *e);

	/* Look up the names in them. Must have no effect. Returns 0 or -1. May be NULL. */
	int (*resolve)(struct cap_call *call, struct err *e);

	/* A human has answered since: does that still hold? Returns 0 or -1. May be NULL. */
	int (*recheck)(struct cap_call *call, struct err *e);

	/* Does the call wait for long work before it can be judged? Then cap_resume() takes it up
	 * here again. May be NULL. */
	bool (*postpone)(struct cap_call *call);

	/* Before a human is asked: would judge() block the call now? No effect. Returns 0, or -1
	 * and sets call->verdict. May be NULL. */
	int (*try_judge)(struct cap_call *call, struct err *e);

	/* Judge what depends on earlier calls, right before the notice, the record and the start:
	 * sets call->verdict. Returns whether the call will have an effect. May be NULL. */
	bool (*judge)(struct cap_call *call);

	/* A rule or a human denied the call, for @e: add what else the client must know. May be
	 * NULL. */
	void (*denied)(const struct cap_call *call, struct err *e);

	/* Do what the capability is for. */
	enum cap_outcome (*start)(struct cap_call *call);
};

/* One capability: generated from schema/<name>.json (gen/caps.h). */
struct cap_row {
	const char *name;        /* "process.run" */
	const char *tool_name;   /* "process_run" */
	const char *title, *description, *version;
	enum tier tier;          /* unless the option says otherwise */
	enum config_key tier_option;
	unsigned flags;          /* enum cap_flag */
	const struct schema *input;
	const char *input_json;     /* the parameters as tools/list shows them ... */
	const char *input_all_json; /* ... and with those that it leaves out */
	const char *output_json, *annotations_json;
	const struct cap_ops *ops;
};
extern const struct cap_row cap_rows[]; /* in the order of tools/list; ended by name == NULL */

/* A member of an object that the generator wrote: its value is a JSON text. */
struct cap_text {
	const char *name, *json;
};

/* The services that capabilities use. Everything is borrowed from the caller of context_cap(). */
struct cap {
	const struct cap_row *rows; /* cap_rows; a capability reads the table here, not by its
				     * symbol */
	struct ev_loop *loop;
	const struct config *config;
	const struct project *project;
	const struct rulebook *book;
	struct scope *scope;
	const char *git_common_dir; /* policy/worktree.h; NULL: none */
	struct git_config *git_config; /* policy/git_config.h */
	const struct run_shell *shell;
	char *const *env_base; /* env_base_new() */
	struct audit *audit;
	struct proctab *procs;
	struct confine *confine;
	struct reqtab *reqs;
	const char *instance, *version;
	struct wait_list waits; /* requests that wait for a run; zeroed at first */
	struct follows follows; /* zeroed at first */
	struct slices slices; /* long work of requests; zeroed at first */
	struct grep_queue greps; /* searches of process.logs; zeroed at first */
	struct starts starts; /* slow starts; zeroed at first */
	struct repeat repeat; /* of process.run; all zero at first */
	struct run_keys run_keys; /* likewise */
	struct installed installed; /* of cap/judge; likewise */
	struct grants grants; /* likewise */
	struct metrics metrics;
	unsigned lost_records; /* of the audit log, since a result last told of them */
	bool passes_output; /* output of runs goes to our own stdout and stderr uncounted */
	bool pings;   /* a plain client answers server.ping */
	bool closing; /* the server is shutting down: starts are refused */

	/* Why there is no workspace: calls that need one are refused with that. NULL: there is
	 * one. */
	const struct err *no_workspace;

	int64_t held_until_ms; /* see cap_hold() */

	/* Where there is none: make @path the workspace, at the client's wish. 0 or -1. */
	int (*set_workspace)(void *ctx, const char *path, struct err *e);
	void *set_workspace_ctx;

	/* Write the outcome of an end record. NULL: "state/reason", or the name of the error. */
	void (*name_outcome)(const struct proc *p, char *text, size_t size);

	/* Called last, with every event of a run, for a dialect. May be NULL. */
	void (*on_run)(void *ctx, struct proc *p, unsigned events);
	void *on_run_ctx;
};

/* By "process.run" or "process_run"; NULL if there is none. */
const struct cap_row *cap_find(const struct cap *c, const char *name);

/* Why there will never be a capability called @name, or NULL. */
const char *cap_why_none(const char *name);

/*
 * Call r->row with r->params, which the dialect has checked to be an object. Answers the
 * request now or later.
 */
void cap_call(struct cap *c, struct req *r);

/* The workspace may come soon: for up to @ms, calls that need one wait for cap_let_go(), and are
 * judged then. They hold slots as other calls that wait. */
void cap_hold(struct cap *c, int ms);
void cap_let_go(struct cap *c);

/* Call start() of @call and answer by its outcome. For a capability too: once more, when what its
 * start() had to wait for is there. */
void cap_go(struct cap_call *call);

/* For a capability, in prepare or before cap_resume(): the tier of @call is what @ruling says. */
void cap_set_ruling(struct cap_call *call, const struct ruling *ruling);

/* Record @call, a repeat: it is answered for @p. */
void cap_replayed(struct cap_call *call, const struct proc *p);

/* Go through the gate from the step replay on. For a repeat too, when the call before has ended
 * without a run: as if there had been none. */
void cap_go_on(struct cap_call *call);

/* Record that @call has failed, before its start or later, and answer it with @e (released). */
void cap_fail(struct cap_call *call, struct err *e);

/* The same for a client that has cancelled @call before it has started anything. */
void cap_fail_cancelled(struct cap_call *call);

/* The server ends before the command has begun: sets @e, returns -1; as struct req.answer_now, it
 * answers @r with that. */
int cap_set_late(struct err *e);
void cap_answer_late(void *ctx, struct req *r);

/* What @call was postponed for is done. Its request may be over after this. */
void cap_resume(struct cap_call *call);

/* Would a call of @row fail with LimitReached because too many requests wait? */
bool cap_is_full(struct cap *c, const struct cap_row *row, const json_t *params);

/*
 * Record an attempt to call @row that was refused with an error of type @why and so never became a
 * request, such as one with a duplicate id. @id is its raw token.
 */
void cap_refused(struct cap *c, const struct cap_row *row, const json_t *params, const char *id,
		 size_t id_len, enum err_type why);

/*
 * Check a request (raw @id) that has the effect of a call of @row on run @process_id, but is not
 * one (tasks/cancel). Records the attempt. Returns 0, or -1 with PermissionDenied if the tier
 * denies it or needs a confirmation.
 */
int cap_permit(struct cap *c, const struct cap_row *row, const char *id, size_t id_len,
	       const char *process_id, struct err *e);

/* The tier of @row under the operator's options. */
enum tier cap_tier(const struct cap *c, const struct cap_row *row);

/* Can a call of @row ask a human, by its tier or by a rule? */
bool cap_may_ask(const struct cap *c, const struct cap_row *row);

/* Write @event to the audit log. What is lost is logged, and counted for the next result. */
void cap_record(struct cap *c, const struct audit_event *event);

#endif
