/*
 * One pass over the directory, in the order in which the file system has it, keeps the oldest and
 * the newest names and adds up the sizes; then the oldest are chosen one by one until the bounds
 * hold. They go when that is on record.
 */
#include "policy/audit_prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"

#define OLDEST_MAX 256
#define LOOKS_STEP 32   /* 50 us, or some milliseconds when the disk must be read */
#define REMOVALS_STEP 8 /* dearer: the file system frees the blocks */

struct audit_prune_log {
	char name[AUDIT_DIR_NAME_MAX];
	int64_t size, written;
	bool goes; /* chosen; or another process has removed it */
};

struct audit_prune {
	char *path;
	DIR *stream;
	struct audit_prune_bounds bounds;
	int64_t total; /* bytes of all logs that are left */
	struct audit_prune_log oldest[OLDEST_MAX]; /* sorted */
	size_t oldest_count, next; /* of them, those before `next` have been judged ... */
	size_t removed;            /* ... and those before this that go are gone */
	char newest[AUDIT_PRUNE_BESIDE_MAX][AUDIT_DIR_NAME_MAX]; /* the newest first */
	size_t newest_count;
	char newest_run[AUDIT_DIR_NAME_MAX]; /* of `procpen run`; or "" */
};

struct audit_prune *audit_prune_new(const char *path, const struct audit_prune_bounds *bounds)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct audit_prune *p;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	p = mem_zalloc(sizeof(*p));
	p->path = mem_strdup(path);
	p->stream = stream;
	p->bounds = *bounds;
	return p;
}

void audit_prune_free(struct audit_prune *p)
{
	if (!p)
		return;
	closedir(p->stream);
	free(p->path);
	free(p);
}

/* ---- looking ---- */

static void audit_prune_note_old(struct audit_prune *p, const char *name, const struct stat *st)
{
	size_t at = p->oldest_count;

	while (at && audit_dir_compare(name, p->oldest[at - 1].name) < 0)
		at--;
	if (at == OLDEST_MAX)
		return;
	p->oldest_count += p->oldest_count < OLDEST_MAX;
	memmove(&p->oldest[at + 1], &p->oldest[at],
		(p->oldest_count - 1 - at) * sizeof(*p->oldest));
	p->oldest[at] = (struct audit_prune_log){ .size = st->st_size, .written = st->st_mtime };
	strcpy(p->oldest[at].name, name);
}

static void audit_prune_note_new(struct audit_prune *p, const char *name)
{
	size_t at = p->newest_count;

	if (!utf8_valid(name, strlen(name)))
		return; /* no line can name it */
	while (at && audit_dir_compare(name, p->newest[at - 1]) > 0)
		at--;
	if (at == AUDIT_PRUNE_BESIDE_MAX || (at && !strcmp(name, p->newest[at - 1])))
		return;
	p->newest_count += p->newest_count < AUDIT_PRUNE_BESIDE_MAX;
	memmove(p->newest[at + 1], p->newest[at],
		(p->newest_count - 1 - at) * sizeof(*p->newest));
	strcpy(p->newest[at], name);
}

static void audit_prune_look_at(struct audit_prune *p, const char *name, bool own)
{
	struct stat st;

	/* Gone, or not a log: readdir(3) keeps names for longer than a step. */
	if (fstatat(dirfd(p->stream), name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return;
	p->total += st.st_size;
	if (audit_dir_is_shared(name) && audit_dir_compare(name, p->newest_run) > 0)
		strcpy(p->newest_run, name);
	if (own)
		return;
	audit_prune_note_old(p, name, &st);
	audit_prune_note_new(p, name);
}

/* Returns whether there are more. */
static bool audit_prune_look(struct audit_prune *p, const char *own)
{
	for (int i = 0; i < LOOKS_STEP; i++) {
		const struct dirent *entry = readdir(p->stream);

		if (!entry)
			return false;
		if (audit_dir_is_log(entry->d_name))
			audit_prune_look_at(p, entry->d_name, !strcmp(entry->d_name, own));
	}
	return true;
}

/* ---- choice and removal ---- */

static bool audit_prune_is_old(const struct audit_prune *p, int64_t written)
{
	return p->bounds.keep_seconds && time(NULL) - written > p->bounds.keep_seconds;
}

static bool audit_prune_is_above(const struct audit_prune *p)
{
	return p->bounds.total_bytes && p->total > p->bounds.total_bytes;
}

/* May the log @name go, by what it is now? One of `procpen run` may once it is closed for more,
 * which its mode says, and another follows it, or when it is old. One without a line frees nothing,
 * and a server may have made it just now and not hold it yet. */
static bool audit_prune_may_go(const struct audit_prune *p, const char *name)
{
	AUTO_CLOSE int fd = openat(dirfd(p->stream), name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	bool old;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return false;
	old = audit_prune_is_old(p, st.st_mtime);
	if (!old && (!st.st_size || !audit_prune_is_above(p)))
		return false;
	if (!audit_dir_is_shared(name))
		return !audit_dir_is_held(fd);
	return old || (!(st.st_mode & S_IWUSR) && strcmp(name, p->newest_run) != 0);
}

static bool audit_prune_is_gone(const struct audit_prune *p, const char *name)
{
	struct stat st;

	return fstatat(dirfd(p->stream), name, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
}

static void audit_prune_take_out(struct audit_prune *p, const char *name)
{
	for (size_t i = 0; i < p->newest_count; i++) {
		if (strcmp(p->newest[i], name))
			continue;
		p->newest_count--;
		memmove(p->newest[i], p->newest[i + 1],
			(p->newest_count - i) * sizeof(*p->newest));
		return;
	}
}

/*
 * Choose @log if it is out of bounds. Returns whether it goes: another process may have removed it
 * since it was seen, or have written it. One that is newer than @own stays: the record of its
 * removal would go before those that name it do.
 */
static bool audit_prune_choose(struct audit_prune *p, struct audit_prune_log *log, const char *own,
			       struct audit_prune_found *found)
{
	if (audit_dir_compare(log->name, own) > 0 ||
	    (!audit_prune_is_old(p, log->written) && !audit_prune_is_above(p)))
		return false;
	if (audit_prune_may_go(p, log->name)) {
		found->removed++;
		strcpy(found->last, log->name);
	} else if (!audit_prune_is_gone(p, log->name)) {
		return false;
	}
	p->total -= log->size;
	audit_prune_take_out(p, log->name);
	log->goes = true;
	return true;
}

/* When some of the newest were removed, others are the newest. */
static void audit_prune_list(struct audit_prune *p, struct audit_prune_found *found)
{
	for (size_t i = 0; i < p->oldest_count; i++)
		if (!p->oldest[i].goes)
			audit_prune_note_new(p, p->oldest[i].name);
	memcpy(found->beside, p->newest, sizeof(found->beside));
	found->beside_count = p->newest_count;
}

/* Is the directory no longer at its path? Then somebody may want it as it is. */
static bool audit_prune_is_moved(const struct audit_prune *p)
{
	struct stat there, ours;

	return stat(p->path, &there) || fstat(dirfd(p->stream), &ours) ||
	       there.st_dev != ours.st_dev || there.st_ino != ours.st_ino;
}

bool audit_prune_step(struct audit_prune *p, const char *own, struct audit_prune_found *found)
{
	int chosen = 0;

	if (audit_prune_is_moved(p))
		return false;
	if (!p->next && audit_prune_look(p, own))
		return true;
	for (; p->next < p->oldest_count && chosen < REMOVALS_STEP; p->next++)
		chosen += audit_prune_choose(p, &p->oldest[p->next], own, found);
	if (p->next < p->oldest_count)
		return true;
	audit_prune_list(p, found);
	return false;
}

void audit_prune_remove(struct audit_prune *p)
{
	if (p->removed < p->next && audit_prune_is_moved(p))
		p->removed = p->next;
	for (; p->removed < p->next; p->removed++)
		if (p->oldest[p->removed].goes)
			(void)!unlinkat(dirfd(p->stream), p->oldest[p->removed].name, 0);
}
