/*
 * audit - append-only record of every attempt that acts, and of every end.
 *
 * One JSON line per event, fields as in schema/audit.json, each with the SHA-256
 * of the line before it (without its newline), so that a changed or missing line
 * can be detected. The files are in <state>/audit/, mode 0600: those of a server are its own
 * (policy/audit_file.h), `procpen run` shares one a day (policy/audit_share.h). They are opened
 * with O_APPEND | O_NOFOLLOW when the first event is written: a server that is only probed leaves
 * none.
 *
 * A full file is followed by another. With the first end of a run, or the end of the server, after
 * a file was begun, old files are removed and the newest others are named (policy/audit_prune.h).
 *
 * The attempt is written before anything starts. If that fails, the gate decides
 * whether the call goes on (cap/cap.c). An end that cannot be written is kept and written
 * before the next line; beyond 256 ends or 1 MiB, and for other events, a line "lost"
 * counts them. Calls that only read are counted too: a line "reads" once a minute at most.
 */
#ifndef PROCPEN_POLICY_AUDIT_H
#define PROCPEN_POLICY_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/jsonw.h"
#include "policy/audit_sink.h"

#define AUDIT_TEXT_MAX 1024
#define AUDIT_PATH_MAX 4096

struct audit;

/* What is known at the end of a run. */
struct audit_end {
	int exit_code;      /* -1: it did not exit by itself */
	const char *signal; /* that ended it, or NULL */
	const char *reason; /* names_reason() */
	int64_t duration_ms;
	int64_t stdout_size, stderr_size; /* -1: not counted */
	int64_t leftover;   /* -1: not known */
	uint32_t survivors;
	const char *git_config; /* git_config_changes() of the run, or NULL */
};

/* One event; NULL or 0 members are left out. Everything is borrowed. */
struct audit_event {
	const char *event;      /* "attempt" or "end" */
	const char *request_id; /* raw JSON token */
	const char *process_id; /* as the client names it */
	const char *capability;
	const char *tier;       /* "notify" ... */
	const char *decision;   /* allowed, asked, blocked, denied, failed */
	const char *rule;       /* of the blocklist or the rules, or the tier that decided */
	const char *pack;       /* of the rule */
	unsigned grant;         /* of the session: that allowed it, or that the answer made */
	const char *remember;   /* what became of a wish to make one: session, ignored */
	const char *command;    /* shown bounded and redacted ... */
	const char *masked;     /* ... like this; NULL: as a text without arguments */
	const char *const *argv; /* hashed, byte-exact; NULL: the command is, in an attempt */
	const char *cwd;
	const char *log_file;   /* that its output goes to as well */
	const char *user;       /* of the command; NULL: the server's own user */
	const char *intent;     /* shown bounded and redacted */
	const void *input;      /* bytes for a command; counted and hashed, not shown */
	size_t input_len;
	const char *input_text; /* of these, what was judged; shown bounded and redacted */
	bool close;             /* end of file follows them */
	const char *state_filter; /* the runs of this state ... */
	const char *const *process_ids; /* ... are these; ended by NULL */
	const char *outcome;    /* state/reason or exit status of an end, error type of a failure */
	const struct audit_end *end; /* of a run that began */
};

/* How a server ended. */
struct audit_stop {
	uint32_t survivors; /* processes of its runs that may still live */
	const char *gap;    /* the gap of agent.session that allows it; NULL: none */
};

/*
 * @state_dir: where procpen keeps its state (created 0700 on first use).
 * @instance: this server's random name. Opens nothing yet.
 */
struct audit *audit_new(const char *state_dir, const char *instance);
void audit_free(struct audit *a);

/*
 * @a belongs to a server: write a server_start with the first event, and keep a reserve for a full
 * disk (policy/audit_file.h). audit_stopped() writes what is still to be written and the
 * server_stop, if there was any event or read; a log without one is of a server that was killed. 0
 * or -1, as audit_write().
 */
void audit_serves(struct audit *a);
int audit_stopped(struct audit *a, const struct audit_stop *stop, struct err *e);

/* How long and how many logs may become; 0: no bound. Without it nothing is bounded. */
struct audit_bounds {
	int64_t file_bytes;  /* a log so long is followed by another; not 0 */
	int64_t keep_days;   /* logs that were not written for so long are removed */
	int64_t total_bytes; /* of all logs in the directory; the oldest are removed first */
};

void audit_set_bounds(struct audit *a, const struct audit_bounds *bounds);

/* Copy every line to @sink, which it owns from now on; NULL: none. */
void audit_set_sink(struct audit *a, struct audit_sink *sink);

/* Did the sink not take a line? True once; server_stop has how many. */
bool audit_has_sink_lost(struct audit *a);

/* @a has no log of its own: it appends to that of the day (policy/audit_share.h). Call it before
 * the first event. */
void audit_shares(struct audit *a);

/* Append one line. Returns 0 or -1 (PermissionDenied: the path and why it cannot be written). */
int audit_write(struct audit *a, const struct audit_event *event, struct err *e);

/* What the client calls itself, for the attempts that follow; NULL: not known. Cut at 64 bytes. */
void audit_set_client(struct audit *a, const char *name, const char *version);

/* Count a call of @capability, whose name must outlive @a, that only read. Writes nothing now. */
void audit_count_read(struct audit *a, const char *capability);

/* Did the log have to go on in a new file, because its directory was removed or replaced? True once
 * for each time. */
bool audit_has_moved(struct audit *a);

/* Path of the file (also before it exists). */
const char *audit_path(const struct audit *a);

/*
 * The default state directory: $XDG_STATE_HOME/procpen when that is absolute,
 * else $HOME/.local/state/procpen. Heap; NULL when neither is set.
 */
char *audit_default_dir(void);

/*
 * Copy of @text with everything masked that looks like a secret (password=...,
 * Authorization: ..., --token ...), at most AUDIT_TEXT_MAX bytes, cut at a character (then it
 * ends in "..."). @args follow it, with a blank before each; they are whole words, whatever they
 * contain. NULL: none. Heap.
 */
char *audit_redact(const char *text, const char *const *args);

/* Add the text of a client, if it is not NULL, masked in the same way, at most @max bytes. Ids and
 * paths are such texts, too. */
void audit_add_client_text(struct jsonw *w, const char *key, const char *text, size_t max);

/* Copy of the JSON token of a request's id, masked in the same way, with what its escapes stand
 * for. Heap. */
char *audit_redact_id(const char *token);

/* Add the JSON token of a request's id, as it is unless a secret is masked. */
void audit_add_request_id(struct jsonw *w, const char *token);

#endif
