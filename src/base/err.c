#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* printf into a fixed field; a text that does not fit is cut at a character. */
__attribute__((format(printf, 3, 0))) static void err_format_cut(char *out, size_t size,
								 const char *fmt, va_list ap)
{
	int len = vsnprintf(out, size, fmt, ap);

	if (len < 0)
		out[0] = '\0';
	else if ((size_t)len >= size)
		out[size - 1 - utf8_partial_tail(out, size - 1)] = '\0';
}

/* The arguments may point into @e: format first, overwrite @e last. */
static int err_fill(struct err *e, enum err_type type, int sys, const char *message)
{
	err_release(e);
	e->type = type;
	e->sys = sys;
	memcpy(e->message, message, strlen(message) + 1);
	return -1;
}

int err_set(struct err *e, enum err_type type, const char *fmt, ...)
{
	char message[sizeof(e->message)];
	va_list ap;

	va_start(ap, fmt);
	err_format_cut(message, sizeof(message), fmt, ap);
	va_end(ap);
	return err_fill(e, type, 0, message);
}

int err_sys(struct err *e, enum err_type type, int sys, const char *fmt, ...)
{
	char message[sizeof(e->message)], reason[128];
	va_list ap;

	snprintf(reason, sizeof(reason), ": %s (%s)", strerror(sys), err_sys_name(sys));

	/* Cut a long message rather than the reason behind it. */
	va_start(ap, fmt);
	err_format_cut(message, sizeof(message) - strlen(reason), fmt, ap);
	va_end(ap);
	strcat(message, reason);
	return err_fill(e, type, sys, message);
}

int err_invalid(struct err *e, const char *parameter, const char *fmt, ...)
{
	char message[sizeof(e->message)];
	va_list ap;

	va_start(ap, fmt);
	err_format_cut(message, sizeof(message), fmt, ap);
	va_end(ap);
	err_fill(e, ERR_INVALID_PARAMS, 0, message);
	return err_parameter(e, parameter);
}

int err_prefix(struct err *e, const char *fmt, ...)
{
	char message[2 * sizeof(e->message)];
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	err_format_cut(message, sizeof(e->message), fmt, ap);
	va_end(ap);
	strcat(message, e->message);
	len = utf8_cut(message, strlen(message), sizeof(e->message) - 1);
	memcpy(e->message, message, len);
	e->message[len] = '\0';
	return -1;
}

int err_hint(struct err *e, const char *fmt, ...)
{
	char hint[sizeof(e->hint)];
	va_list ap;

	va_start(ap, fmt);
	err_format_cut(hint, sizeof(hint), fmt, ap);
	va_end(ap);
	strcpy(e->hint, hint);
	return -1;
}

void err_detail(struct err *e, const char *name, json_t *value)
{
	if (!value)
		return;
	if (!e->details)
		e->details = json_object();
	json_object_set_new(e->details, name, value);
}

void err_detail_text(struct err *e, const char *name, const char *text)
{
	err_detail(e, name, json_stringn(text, utf8_cut(text, strlen(text), ERR_TEXT_MAX)));
}

/* What ran out, and what to do about it; NULL: @sys is no shortage. */
static const char *err_shortage_hint(int sys)
{
	switch (sys) {
	case EAGAIN:
		return "The limit of processes is reached, of this user, of the control group or "
		       "of the machine: end something with process.kill, or retry later.";
	case ENOMEM:
	case ENOBUFS: /* of a socket */
		return "Memory ran out: end something with process.kill, or retry later.";
	case EMFILE:
		return "The server's descriptors ran out: end runs with process.kill, or retry "
		       "later; the operator can raise `ulimit -n`.";
	case ENFILE:
		return "The machine's open files ran out: retry later.";
	case ETOOMANYREFS:
		return "Programs of the user have sent too many descriptors that nobody has "
		       "taken: end runs with process.kill, or retry later.";
	case ENOSPC:
		return "Space ran out: the disk is full, or so many objects of a kind exist "
		       "(namespaces, watches, mounts): delete files that are not needed, or "
		       "retry later.";
	case EDQUOT:
		return "The disk quota of the user is used up: delete files that are not needed.";
	}
	return NULL;
}

bool err_is_shortage(int sys)
{
	return err_shortage_hint(sys);
}

int err_parameter(struct err *e, const char *name)
{
	err_detail(e, "parameter", json_string(name));
	return -1;
}

const char *err_hint_text(const struct err *e)
{
	const char *shortage = err_shortage_hint(e->sys);

	if (e->hint[0])
		return e->hint;
	return shortage ? shortage : err_rows[e->type].hint;
}

bool err_retryable(const struct err *e)
{
	return !e->lasting && (err_rows[e->type].retryable || err_is_shortage(e->sys));
}

void err_release(struct err *e)
{
	json_decref(e->details);
	err_init(e);
}
