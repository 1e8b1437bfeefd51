/*
 * err - the one error object.
 *
 * Fallible functions return 0 or -1 and take a `struct err *` last. It is left
 * untouched on success. Lower layers fill it and never log; the code that answers the
 * request turns it into the wire form once (docs/protocol.md, "Errors").
 *
 * The types, their codes, whether a retry can help and the default hint come
 * from schema/errors.json (generated: gen/errors.h).
 *
 * Ownership: the struct lives in the caller's memory; `details` is owned by it
 * and freed by err_release(). An all-zero struct is "no error".
 */
#ifndef PROCPEN_BASE_ERR_H
#define PROCPEN_BASE_ERR_H

#include <jansson.h>
#include <stdbool.h>

#include "gen/errors.h" /* enum err_type: ERR_NONE, ERR_INVALID_PARAMS, ... */

struct err {
	enum err_type type;
	int sys;           /* the errno that caused it, 0 if none */
	bool lasting;      /* no retry helps, though it does for other errors of the type */
	unsigned left_out; /* actions of the type that are of no use here: bit i, the one at i */
	char message[768]; /* what failed, where and why */
	char hint[1024];   /* what to do next; empty: the type's default */
	json_t *details;   /* object, or NULL */
};

#define ERR_TEXT_MAX 1024 /* longest text of a client or the machine in details */

/* A way to go on, for programs. */
struct err_action {
	const char *name; /* "check_path" */
	const char *text;
};

/* One row of schema/errors.json. */
struct err_row {
	const char *name;      /* "ProcessNotFound" */
	int code;              /* JSON-RPC code */
	bool retryable;        /* default; see err_retryable() */
	const char *hint;      /* default hint */
	const struct err_action *actions; /* ended by name == NULL; or NULL: none */
};
extern const struct err_row err_rows[]; /* indexed by enum err_type */

/* Define a local one that is "no error". Its 1.8 KB of texts are not cleared: each request passes
 * many. */
#define ERR_LOCAL(name) struct err name; err_init(&(name))
static inline void err_init(struct err *e)
{
	e->type = ERR_NONE;
	e->sys = 0;
	e->lasting = false;
	e->left_out = 0;
	*e->message = *e->hint = '\0';
	e->details = NULL;
}

/* Fill @e (type, message, no hint, no details). Always returns -1: `return err_set(...)`. */
int err_set(struct err *e, enum err_type type, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set(), and remember errno value @sys; its text is appended as ": Text (ENAME)". */
int err_sys(struct err *e, enum err_type type, int sys, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* As err_set() with InvalidParams, and name the parameter of the call that is to blame. */
int err_invalid(struct err *e, const char *parameter, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Put a text before the message of an error already set; of a long message the end is cut. Returns
 * -1. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Set the hint of an error already set; the present one may be an argument. Returns -1. */
int err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Name the parameter that is to blame for an error already set, in details. Returns -1. */
int err_parameter(struct err *e, const char *name);

/* Add a member to details; steals @value (NULL is ignored). */
void err_detail(struct err *e, const char *name, json_t *value);

/* Like err_detail(), for a text of a client or the machine: cut at ERR_TEXT_MAX bytes. */
void err_detail_text(struct err *e, const char *name, const char *text);

/* Does errno @sys say that something ran out which may be there again later: processes, memory,
 * descriptors, disk space? (errno(3): EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC, EDQUOT) */
bool err_is_shortage(int sys);

/* The error's own hint; else what ran out if its errno is a shortage; else its type's default. */
const char *err_hint_text(const struct err *e);

/* The symbolic name of an errno value ("ENOENT"); "E<number>", valid until the next call, if Linux
 * has none. */
const char *err_sys_name(int sys);

/* Can the same call succeed later? Says what the type says, but true for a shortage, and false for
 * what is lasting. */
bool err_retryable(const struct err *e);

/* Free details and make @e "no error" again. */
void err_release(struct err *e);

#endif
