/*
 * The lines of a log begin and end alike, so number, instance and hash are read where they stand:
 * the time that it takes is that of the hashes. Only lines that refer to files are parsed.
 *
 * Servers may write, begin and remove files meanwhile. As long as there are new ones, these are
 * read and those that may have grown are read on; what is between files is judged at the end.
 */
#include "policy/audit_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/json.h"
#include "base/mem.h"
#include "policy/audit_dir.h"
#include "policy/audit_lines.h"

#define HASH_LEN (DIGEST_TEXT_SIZE - 1)
#define INSTANCE_LEN 16
#define TIME_LEN 24 /* 2026-11-21T08:00:00.123Z */

/* What verification needs of a line. */
struct verify_line {
	uint64_t seq;
	const char *instance, *prev; /* INSTANCE_LEN and HASH_LEN bytes */
	bool stops;
};

/* One file, as far as it was read. */
struct verify_file {
	char name[AUDIT_DIR_NAME_MAX]; /* first, for audit_dir_order() */
	off_t offset;              /* behind its last whole line */
	uint64_t lines;            /* with the torn one */
	uint64_t first_seq, seq;   /* 0: no line */
	char first_prev[HASH_LEN + 1], first_hash[HASH_LEN + 1];
	char hash[HASH_LEN + 1];   /* of the last line */
	char after[HASH_LEN + 1];  /* of what follows it and is no line; or "" */
	char previous[AUDIT_DIR_NAME_MAX]; /* the file that it follows; or "" */
	bool due;  /* to be read, or read on */
	bool gone; /* removed after it was listed */
	bool read, torn, stopped, held, followed, shared, foreign;
};

struct verify {
	int dir;
	uid_t owner;
	struct verify_file *files; /* sorted by name */
	size_t count;
	json_t *wanted;            /* name: what names it */
	char horizon[AUDIT_DIR_NAME_MAX]; /* the newest file that procpen removed; or "" */
	struct audit_verdict *verdict;
	audit_verify_fn report;
	void *ctx;
};

__attribute__((format(printf, 5, 6)))
static void audit_verify_say(struct verify *v, const char *kind, const char *file, uint64_t line,
			     const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	v->verdict->problems++;
	v->report(v->ctx, &(struct audit_problem){ kind, file, line, text });
}

/* ---- one line ---- */

/* Step over @expected at *@p. */
static bool audit_verify_take(const char **p, const char *end, const char *expected)
{
	size_t len = strlen(expected);

	if ((size_t)(end - *p) < len || memcmp(*p, expected, len))
		return false;
	*p += len;
	return true;
}

/* Step over @len bytes of @set. */
static bool audit_verify_take_bytes(const char **p, const char *end, size_t len, const char *set)
{
	if ((size_t)(end - *p) < len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!(*p)[i] || !strchr(set, (*p)[i]))
			return false;
	*p += len;
	return true;
}

static uint64_t audit_verify_take_number(const char **p, const char *end)
{
	uint64_t number = 0;

	while (*p < end && **p >= '0' && **p <= '9' && number < UINT64_MAX / 100)
		number = number * 10 + (uint64_t)(*(*p)++ - '0');
	return number;
}

/* Read the members that every line begins and ends with; false: this is no line of a log. */
static bool audit_verify_read_line(const struct audit_text *text, struct verify_line *line)
{
	static const char hex[] = "0123456789abcdef", tail[] = "\"prev\":\"";
	const char *p = text->bytes, *end = p + text->len;
	const char *last = end - (strlen(tail) + HASH_LEN + 2);

	if (text->torn || text->cut || last < p || !audit_verify_take(&p, end, "{\"time\":\"") ||
	    !audit_verify_take_bytes(&p, end, TIME_LEN, "0123456789-:.TZ") ||
	    !audit_verify_take(&p, end, "\",\"seq\":"))
		return false;
	line->seq = audit_verify_take_number(&p, end);
	if (!line->seq || !audit_verify_take(&p, end, ",\"instance\":\""))
		return false;
	line->instance = p;
	if (!audit_verify_take_bytes(&p, end, INSTANCE_LEN, hex) ||
	    !audit_verify_take(&p, end, "\",\"event\":\""))
		return false;
	line->stops = audit_verify_take(&p, end, "server_stop\"");
	if (!audit_verify_take(&last, end, tail))
		return false;
	line->prev = last;
	return audit_verify_take_bytes(&last, end, HASH_LEN, hex) &&
	       audit_verify_take(&last, end, "\"}");
}

/* ---- references to files ---- */

/* @name is a file that must be there, and why; @anew: instead of what was said of it before. */
__attribute__((format(printf, 4, 5)))
static void audit_verify_want(struct verify *v, const json_t *name, bool anew, const char *why, ...)
{
	const char *text = json_string_value(name);
	va_list args;

	if (!text || strlen(text) >= AUDIT_DIR_NAME_MAX ||
	    (!anew && json_object_get(v->wanted, text)))
		return;
	va_start(args, why);
	json_object_set_new(v->wanted, text, json_vsprintf(why, args));
	va_end(args);
}

/* Keep what the line says about files, if it does. */
static void audit_verify_read_names(struct verify *v, struct verify_file *f,
				    const struct audit_text *text)
{
	json_t *line, *name;
	const char *to;
	size_t i;

	if (f->lines > 1 && !memmem(text->bytes, text->len, "\"pruned_to\":", 12) &&
	    !memmem(text->bytes, text->len, "\"beside\":", 9))
		return;
	line = json_loadb(text->bytes, text->len, JSON_ALLOW_NUL, NULL); /* an id may have one */
	to = json_get_str(line, "pruned_to", "");
	if (strlen(to) < AUDIT_DIR_NAME_MAX && audit_dir_compare(to, v->horizon) > 0)
		strcpy(v->horizon, to);
	json_array_foreach(json_object_get(line, "beside"), i, name)
		audit_verify_want(v, name, false, "%s names it", f->name);
	if (f->lines == 1) {
		snprintf(f->previous, sizeof(f->previous), "%s",
			 json_get_str(line, "previous_file", ""));
		audit_verify_want(v, json_object_get(line, "previous_file"), true,
				  "%s goes on after it with seq %" PRIu64, f->name, f->first_seq);
	}
	json_decref(line);
}

/* ---- the lines of a file ---- */

static void audit_verify_check_junk(struct verify *v, struct verify_file *f,
				    const struct audit_text *text)
{
	if (text->cut)
		f->after[0] = '\0';
	else
		digest_text(text->bytes, text->len, f->after);
	f->torn = text->torn; /* maybe it is being written */
	if (!f->torn)
		audit_verify_say(v, "changed", f->name, f->lines,
			   "this is not a line of an audit log: torn, changed or inserted");
}

/* Does @line follow the one before it? */
static void audit_verify_check_order(struct verify *v, struct verify_file *f,
				     const struct verify_line *line)
{
	if (line->seq == f->seq + 1 && !memcmp(line->prev, f->hash, HASH_LEN))
		return;
	if (*f->after && line->seq == f->seq + 2 && !memcmp(line->prev, f->after, HASH_LEN))
		return; /* the torn line before it was named */
	if (line->seq == f->seq + 1)
		audit_verify_say(v, "changed", f->name, f->lines - 1,
			   "this line was changed: the next one has another hash of it");
	else if (line->seq > f->seq + 1)
		audit_verify_say(v, "missing", f->name, f->lines,
			   "before this line those with seq %" PRIu64 " to %" PRIu64
			   " are missing or unreadable", f->seq + 1, line->seq - 1);
	else
		audit_verify_say(v, "order", f->name, f->lines,
			   "seq %" PRIu64 " comes after %" PRIu64 ": a copy, or moved", line->seq,
			   f->seq);
}

static void audit_verify_take_line(struct verify *v, struct verify_file *f,
				   const struct audit_text *text, const struct verify_line *line)
{
	char instance[INSTANCE_LEN + 1] = "";

	if (f->seq)
		audit_verify_check_order(v, f, line);
	digest_text(text->bytes, text->len, f->hash);
	if (!f->seq) {
		f->first_seq = line->seq;
		memcpy(f->first_prev, line->prev, HASH_LEN);
		memcpy(f->first_hash, f->hash, HASH_LEN);
	}
	memcpy(instance, line->instance, INSTANCE_LEN);
	if (!f->shared && !f->foreign && !strstr(f->name, instance)) {
		f->foreign = true;
		audit_verify_say(v, "foreign", f->name, f->lines,
			   "this line is of the server %s, not of this file", instance);
	}
	f->seq = line->seq;
	f->after[0] = '\0';
	f->stopped = line->stops;
}

/* Read @f from where it was read to. */
static void audit_verify_read_file(struct verify *v, struct verify_file *f, int fd)
{
	struct audit_text text = { .len = 0 };
	struct audit_lines lines;
	int status;

	f->lines -= f->torn;
	f->torn = false;
	lseek(fd, f->offset, SEEK_SET);
	audit_lines_init(&lines, fd);
	while ((status = audit_lines_next(&lines, &text)) > 0) {
		struct verify_line line;

		f->lines++;
		if (audit_verify_read_line(&text, &line))
			audit_verify_take_line(v, f, &text, &line);
		else
			audit_verify_check_junk(v, f, &text);
		audit_verify_read_names(v, f, &text);
	}
	f->offset = lseek(fd, 0, SEEK_CUR) - (f->torn ? (off_t)text.len : 0);
	if (status < 0)
		audit_verify_say(v, "unreadable", f->name, f->lines + 1, "%s (%s)", strerror(errno),
			   err_sys_name(errno));
	audit_lines_release(&lines);
}

/* Nothing is wrong with that if it is on record. */
static void audit_verify_lose_file(struct verify *v, struct verify_file *f)
{
	json_t *name = json_string(f->name);

	f->gone = true;
	audit_verify_want(v, name, false, "it was removed while the log was read");
	json_decref(name);
}

static void audit_verify_open_file(struct verify *v, struct verify_file *f)
{
	AUTO_CLOSE int fd = openat(v->dir, f->name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	f->shared = audit_dir_is_shared(f->name);
	if (fd < 0 && errno == ENOENT) {
		audit_verify_lose_file(v, f);
		return;
	}
	if (fd < 0 || fstat(fd, &st)) {
		audit_verify_say(v, "unreadable", f->name, 0, "%s (%s)",
			   errno == ELOOP ? "a link stands in its place" : strerror(errno),
			   err_sys_name(errno));
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		audit_verify_say(v, "foreign", f->name, 0, "this is not a regular file");
		return;
	}
	if (!f->read && st.st_uid != v->owner)
		audit_verify_say(v, "foreign", f->name, 0,
			   "it belongs to user %u, the directory to %u",
			   (unsigned)st.st_uid, (unsigned)v->owner);
	f->held = audit_dir_is_held(fd);
	f->read = true;
	audit_verify_read_file(v, f, fd);
}

/* ---- between files ---- */

static struct verify_file *audit_verify_find(struct verify *v, const char *name)
{
	struct verify_file *f = NULL;

	if (v->count)
		f = bsearch(name, v->files, v->count, sizeof(*v->files), audit_dir_order);
	return f && !f->gone ? f : NULL;
}

/* Do the lines of @f begin with the first of a chain? */
static void audit_verify_check_start(struct verify *v, const struct verify_file *f)
{
	if (f->first_seq > 1)
		audit_verify_say(v, "missing", f->name, 1,
			   "before this line those with seq 1 to %" PRIu64 " are missing",
			   f->first_seq - 1);
	else if (strspn(f->first_prev, "0") != HASH_LEN)
		audit_verify_say(v, "changed", f->name, 1,
			   "the first line has the hash of another");
}

/* The file, by whatever name, with the lines that @f follows; or NULL. */
static const struct verify_file *audit_verify_find_lines(const struct verify *v,
							 const struct verify_file *f)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->files[i].seq && v->files[i].seq + 1 == f->first_seq &&
		    !memcmp(v->files[i].hash, f->first_prev, HASH_LEN))
			return v->files + i;
	return NULL;
}

/* Does @f follow @before, its predecessor, to the last line? */
static void audit_verify_check_link(struct verify *v, const struct verify_file *f,
				    const struct verify_file *before)
{
	bool torn = *before->after && !memcmp(f->first_prev, before->after, HASH_LEN);
	const struct verify_file *other;

	if (f->first_seq == before->seq + 1 + torn &&
	    (torn || !memcmp(f->first_prev, before->hash, HASH_LEN)))
		return;
	other = audit_verify_find_lines(v, f);
	if (other)
		audit_verify_say(v, "order", before->name, 0,
			   "other lines are in its place: those before seq %" PRIu64 " are in %s",
			   f->first_seq, other->name);
	else if (f->first_seq > before->seq + 1)
		audit_verify_say(v, "missing", before->name, 0,
			   "at its end the lines with seq %" PRIu64 " to %" PRIu64
			   " are missing or unreadable: %s goes on after them", before->seq + 1,
			   f->first_seq - 1, f->name);
	else if (f->first_seq == before->seq + 1)
		audit_verify_say(v, "changed", before->name, before->lines,
			   "this line was changed: %s has another hash of it", f->name);
	else
		audit_verify_say(v, "order", before->name, 0,
			   "it goes on to seq %" PRIu64 ", but %s, which follows, begins with "
			   "%" PRIu64, before->seq, f->name, f->first_seq);
}

static void audit_verify_check_file(struct verify *v, struct verify_file *f)
{
	struct verify_file *before = *f->previous ? audit_verify_find(v, f->previous) : NULL;

	if (!f->seq)
		return;
	if (!*f->previous)
		audit_verify_check_start(v, f);
	else if (before)
		audit_verify_check_link(v, f, before);
	if (before)
		before->followed = true;
}

/* Is there a later part of @f, whose predecessor may be missing? One that is in use may have no
 * line yet, and one may have gone already. */
static bool audit_verify_goes_on(const struct verify *v, const struct verify_file *f)
{
	const char *instance = strchr(f->name, '-');
	bool found = f->followed;

	for (size_t i = 0; i < v->count && !found; i++) {
		const struct verify_file *next = v->files + i;
		bool unread = !next->seq && (next->held || next->gone);

		found = instance && (next->first_seq > f->seq || unread) &&
			!strncmp(strchrnul(next->name, '-'), instance, INSTANCE_LEN + 1);
	}
	return found;
}

static void audit_verify_check_end(struct verify *v, const struct verify_file *f)
{
	if (f->torn && !f->held)
		audit_verify_say(v, "torn", f->name, f->lines, "the last line is torn");
	if (!f->shared && f->read && !f->stopped && !f->held && !audit_verify_goes_on(v, f))
		audit_verify_say(v, "no_stop", f->name, f->lines,
			   "the server ended without a stop record: it was killed, or lines are "
			   "missing at the end");
}

static void audit_verify_check_missing(struct verify *v)
{
	const char *name;
	json_t *why;

	json_object_foreach(v->wanted, name, why)
		if (!audit_verify_find(v, name) && audit_dir_compare(name, v->horizon) > 0)
			audit_verify_say(v, "missing", name, 0, "the file is missing: %s",
				   json_string_value(why));
}

/* One file under two names. */
static void audit_verify_check_copies(struct verify *v)
{
	json_t *seen = json_object();

	for (size_t i = 0; i < v->count; i++) {
		const struct verify_file *f = v->files + i;
		const char *other = json_get_str(seen, f->first_hash, NULL);

		if (other)
			audit_verify_say(v, "order", f->name, 0,
				   "it begins as %s does: a copy", other);
		else if (f->seq)
			json_object_set_new(seen, f->first_hash, json_string(f->name));
	}
	json_decref(seen);
}

/* ---- the directory ---- */

/* Add those of @list that are new. Returns whether there are any. */
static bool audit_verify_add_files(struct verify *v, const struct audit_dir_names *list)
{
	size_t known = v->count;

	v->files = mem_realloc(v->files, (known + list->count) * sizeof(*v->files));
	for (size_t i = 0; i < list->count; i++) {
		if (known && bsearch(list->names[i], v->files, known, sizeof(*v->files),
				     audit_dir_order))
			continue;
		v->files[v->count] = (struct verify_file){ .due = true };
		strcpy(v->files[v->count++].name, list->names[i]);
	}
	if (v->count > known)
		qsort(v->files, v->count, sizeof(*v->files), audit_dir_order);
	return v->count > known;
}

/* Was @f read in a state that may last a moment only? A server locks its file when it has made it,
 * and a line that is being written looks torn. */
static bool audit_verify_is_fresh(const struct verify_file *f)
{
	return f->read && (!f->seq || f->torn);
}

/* Are there files that were made meanwhile? Then others may have grown before. */
static bool audit_verify_find_new(struct verify *v)
{
	struct audit_dir_names list;
	bool found = !audit_dir_list(v->dir, &list) && audit_verify_add_files(v, &list);

	for (size_t i = 0; found && i < v->count; i++) {
		struct verify_file *f = v->files + i;

		f->due |= f->read && (f->held || f->shared || audit_verify_is_fresh(f));
	}
	audit_dir_release(&list);
	return found;
}

static void audit_verify_read_due(struct verify *v)
{
	for (size_t i = 0; i < v->count; i++) {
		if (v->files[i].due && !v->files[i].gone)
			audit_verify_open_file(v, v->files + i);
		v->files[i].due = false;
	}
}

static void audit_verify_count(struct verify *v)
{
	for (size_t i = 0; i < v->count; i++) {
		v->verdict->files += !v->files[i].gone;
		v->verdict->lines += v->files[i].lines;
		v->verdict->running += v->files[i].held;
	}
}

static void audit_verify_all(struct verify *v)
{
	v->wanted = json_object();
	do {
		audit_verify_read_due(v);
	} while (audit_verify_find_new(v));
	for (size_t i = 0; i < v->count; i++)
		v->files[i].due = audit_verify_is_fresh(v->files + i);
	audit_verify_read_due(v);
	audit_verify_count(v);
	for (size_t i = 0; i < v->count; i++)
		audit_verify_check_file(v, v->files + i);
	for (size_t i = 0; i < v->count; i++)
		if (!v->files[i].gone)
			audit_verify_check_end(v, v->files + i);
	audit_verify_check_missing(v);
	audit_verify_check_copies(v);
	json_decref(v->wanted);
	free(v->files);
}

int audit_verify(const char *path, audit_verify_fn report, void *ctx,
		 struct audit_verdict *verdict, struct err *e)
{
	struct verify v = { .verdict = verdict, .report = report, .ctx = ctx };
	struct audit_dir_names list;
	AUTO_CLOSE int dir = audit_dir_open(path, &list, e);
	int status = dir < 0 ? -1 : 0;
	struct stat st;

	*verdict = (struct audit_verdict){ 0 };
	if (!status && fstat(dir, &st))
		status = err_sys(e, ERR_PERMISSION_DENIED, errno, "cannot read the audit log "
				 "\"%.256s\"", path);
	if (!status) {
		v.dir = dir;
		v.owner = st.st_uid;
		audit_verify_add_files(&v, &list);
		audit_verify_all(&v);
	}
	audit_dir_release(&list);
	return status;
}
