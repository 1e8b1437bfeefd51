#include "os/sandbox/mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mem.h"
#include "base/str.h"
#include "os/mountinfo.h"
#include "os/sandbox/mount_alias.h"
#include "os/shim/proto.h"

#define ENTRIES_MAX 60 /* per list; the shim holds two descriptors for each */
_Static_assert(CONFINE_MOUNTS_WRITABLE_MAX + 4 <= ENTRIES_MAX,
	       "two temporary directories, /dev/shm and /dev/mqueue have room");
#define DEVICES_MAX 512 /* bytes of the entries for devices */

const char *const confine_mounts_usual[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", NULL,
};

static uint32_t mounts_entry_size(const char *path)
{
	return (uint32_t)((sizeof(struct shim_mount) + strlen(path) + 1 + 7) & ~(size_t)7);
}

/* Write an entry to the end of @to, whose length is *@at and which has room for it. */
static void mounts_put_entry(uint8_t *to, size_t *at, const struct shim_mount *head,
			     const char *path)
{
	memset(to + *at, 0, head->size); /* the bytes of a plan are compared */
	memcpy(to + *at, head, sizeof(*head));
	memcpy(to + *at + sizeof(*head), path, strlen(path));
	*at += head->size;
}

static void mounts_add_entry(struct confine_mounts *m, uint32_t kind, const char *path)
{
	struct shim_mount head = { .kind = kind, .size = mounts_entry_size(path) };
	struct stat st;

	if (m->size + head.size > SHIM_PATHS_MAX - DEVICES_MAX) {
		m->left_out++;
		return;
	}
	/* The file at another path may appear or be replaced later. */
	if ((kind == SHIM_MOUNT_WRITABLE || kind == SHIM_MOUNT_SHARED_MEMORY) &&
	    !stat(path, &st)) {
		head.dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
		head.ino = st.st_ino;
	}
	m->entries = mem_realloc(m->entries, m->size + head.size);
	mounts_put_entry(m->entries, &m->size, &head, path);
}

/* Remove empty components, "." and a trailing slash (which would require a directory). */
static char *mounts_normalize_path(const char *path)
{
	char *copy = mem_strdup(path), *to = copy;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len && !(len == 1 && *path == '.')) {
			*to++ = '/';
			memcpy(to, path, len);
			to += len;
		}
		path += len + (path[len] == '/');
	}
	*to = '\0';
	return copy;
}

/* The canonical path that @path would have: resolve the part that exists and append the rest. The
 * shim follows no link, so it could not open a path with one left in it. */
static char *mounts_resolve_missing(const char *path)
{
	AUTO_FREE char *front = mem_strdup(path), *real = NULL;
	char *slash;

	while (!real && (slash = strrchr(front, '/')) && slash != front) {
		*slash = '\0';
		real = realpath(front, NULL);
	}
	if (!real)
		return mem_strdup(path);
	return mem_printf("%s%s", strcmp(real, "/") ? real : "", path + strlen(front));
}

static char *mounts_resolve_hidden(const char *path)
{
	AUTO_FREE char *tidied = mounts_normalize_path(path);
	char *real = realpath(*tidied ? tidied : "/", NULL);

	return real ? real : mounts_resolve_missing(tidied);
}

/* Leave @path out if a part of it is a link: a command may have made it. */
static char *mounts_resolve_writable(const char *path)
{
	char *real = realpath(path, NULL);

	if (!real || !strcmp(real, path))
		return real;
	free(real);
	return NULL;
}

/* A device file, or a directory of such. Not a file system of its own below /dev. */
static char *mounts_copy_device(const char *path)
{
	struct stat st, dev;
	bool is_device = !stat(path, &st) &&
			 (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ||
			  (S_ISDIR(st.st_mode) && str_path_lies_in(path, "/dev") &&
			   !stat("/dev", &dev) && dev.st_dev == st.st_dev));

	return is_device ? mem_strdup(path) : NULL;
}

/* Apply @one to each of @list, up to ENTRIES_MAX results; skips those for which it returns NULL. */
static char **mounts_resolve_list(const char *const *list, char *(*one)(const char *path))
{
	char **paths = mem_zalloc((ENTRIES_MAX + 1) * sizeof(*paths));
	size_t count = 0;

	for (; list && *list && count < ENTRIES_MAX; list++) {
		paths[count] = one(*list);
		count += paths[count] != NULL;
	}
	return paths;
}

static int mounts_list_length(const char *const *list)
{
	int count = 0;

	while (list && list[count])
		count++;
	return count;
}

/* Is paths[i] inside another of them (or the same again)? */
static bool mounts_is_nested(char *const *paths, size_t i)
{
	for (size_t k = 0; paths[k]; k++)
		if (k != i && str_path_lies_in(paths[i], paths[k]) &&
		    (k < i || strcmp(paths[i], paths[k])))
			return true;
	return false;
}

/* The first of @writable inside @hidden, or NULL. */
static const char *mounts_writable_below(const char *hidden, char *const *writable)
{
	while (*writable && !str_path_lies_in(*writable, hidden))
		writable++;
	return *writable;
}

/* The outermost of @writable that contains @path, or NULL. Not an inner one: commands can rename
 * that like anything in the outer one. */
static const char *mounts_outermost_writable(const char *path, char *const *writable)
{
	const char *top = NULL;

	for (; *writable; writable++)
		if (str_path_lies_in(path, *writable) && (!top || strlen(*writable) < strlen(top)))
			top = *writable;
	return top;
}

/* A command could rename a directory above @held: pin those below a writable one, from the top
 * down. */
static void mounts_pin_parents(struct confine_mounts *m, const char *held)
{
	AUTO_FREE char *path = mem_strdup(held);
	const char *top = mounts_outermost_writable(held, m->writable);

	if (!top)
		return;
	for (char *end = strchr(path + strlen(top) + 1, '/'); end; end = strchr(end + 1, '/')) {
		*end = '\0';
		mounts_add_entry(m, SHIM_MOUNT_PIN, path);
		*end = '/';
	}
}

/* Record why @listed, which now resolves to @hidden, stays visible. */
static void mounts_note_visible(struct confine_mounts *m, const char *listed, const char *hidden,
				const char *writable)
{
	const char *is = strcmp(listed, hidden) ? ", which is " : "", *now = *is ? hidden : "";

	if (m->unhidden++)
		return;
	if (writable)
		snprintf(m->visible, sizeof(m->visible),
			 "%.100s%s%.100s holds %.100s, which commands may write", listed, is, now,
			 writable);
	else if (str_path_lies_in(hidden, "/proc"))
		snprintf(m->visible, sizeof(m->visible),
			 "%.100s%s%.100s is in /proc, which is mounted anew for each command",
			 listed, is, now);
	else
		snprintf(m->visible, sizeof(m->visible), "there is no room for %.100s%s%.100s",
			 listed, is, now);
}

static void mounts_hide(struct confine_mounts *m, const char *listed, const char *path)
{
	const char *writable = mounts_writable_below(path, m->writable);
	int before = m->left_out;

	if (!writable && !str_path_lies_in(path, "/proc")) {
		mounts_pin_parents(m, path);
		mounts_add_entry(m, SHIM_MOUNT_HIDE, path);
		if (m->left_out == before)
			return;
	}
	mounts_note_visible(m, listed, path, writable);
}

/* Is paths[i] one of those before it? */
static bool mounts_is_repeated(char *const *paths, int i)
{
	for (int k = 0; k < i; k++)
		if (!strcmp(paths[i], paths[k]))
			return true;
	return false;
}

/* Whatever else shows what is hidden, but what commands may write by that very name: the operator
 * wants it. */
static void mounts_hide_aliases(struct confine_mounts *m)
{
	const char *const *writable = (const char *const *)m->writable;
	char **aliases = mount_alias_find(m->hidden);

	for (int i = 0; aliases[i]; i++)
		if (!mounts_is_repeated(aliases, i) && !str_is_listed(aliases[i], writable))
			mounts_hide(m, aliases[i], aliases[i]);
	mem_list_free(aliases);
}

static void mounts_hide_all(struct confine_mounts *m)
{
	int count = 0;

	for (; m->hidden[count]; count++)
		if (!mounts_is_repeated(m->hidden, count))
			mounts_hide(m, m->listed[count], m->hidden[count]);
	for (; m->listed[count]; count++) {
		m->left_out++;
		mounts_note_visible(m, m->listed[count], m->listed[count], NULL);
	}
	mounts_hide_aliases(m);
}

static bool mounts_list_equal(char *const *a, char *const *b)
{
	for (; *a && *b && !strcmp(*a, *b); a++)
		b++;
	return !*a && !*b;
}

bool confine_mounts_refresh(struct confine_mounts *m)
{
	char **now = mounts_resolve_list((const char *const *)m->listed, mounts_resolve_hidden);
	bool changed = *now && mountinfo_changed(m->mounts_fd);

	if (!changed && mounts_list_equal(now, m->hidden)) {
		mem_list_free(now);
		return false;
	}
	mem_list_free(m->hidden);
	m->hidden = now;
	m->size = m->fixed_size;
	m->left_out = m->fixed_left_out;
	m->unhidden = 0;
	m->visible[0] = '\0';
	mounts_hide_all(m);
	return true;
}

/* A copy of @list, and behind it what its paths lead to now: a command that changes a link on the
 * way to a hidden path shows nothing by that. */
static char **mounts_list_hidden(const char *const *list)
{
	int count = mounts_list_length(list), end = count;
	char **paths = mem_zalloc((2 * (size_t)count + 1) * sizeof(*paths));

	for (int i = 0; i < count; i++)
		paths[i] = mem_strdup(list[i]);
	for (int i = 0; i < count; i++) {
		free(paths[end]);
		paths[end] = mounts_resolve_hidden(list[i]);
		end += !mounts_is_repeated(paths, end);
	}
	free(paths[end]);
	paths[end] = NULL;
	return paths;
}

bool confine_mounts_can_cover_shm(const char *const *writable)
{
	static const char place[] = "/dev/shm";
	char **paths = mounts_resolve_list(writable, mounts_resolve_writable),
	     *real = realpath(place, NULL);
	bool can = real && !strcmp(real, place) && mounts_list_length(writable) <= ENTRIES_MAX;

	for (size_t i = 0; paths[i]; i++)
		can &= !str_path_lies_in(paths[i], place) && !str_path_lies_in(place, paths[i]);
	free(real);
	mem_list_free(paths);
	return can;
}

/* ---- read-only paths ---- */

/* The end of the component behind the slash at path[at]. */
static size_t mounts_component_end(const char *path, size_t at)
{
	return at + 1 + strcspn(path + at + 1, "/");
}

/* @path, canonical down to the outermost writable directory that it lies in: no command can change
 * a link before that. NULL: it lies in none. */
static char *mounts_resolve_readonly(const char *path, char *const *writable)
{
	AUTO_FREE char *tidied = mounts_normalize_path(path);

	for (size_t end = 0; tidied[end];) {
		AUTO_FREE char *front = NULL, *real = NULL;

		end = mounts_component_end(tidied, end);
		front = mem_strndup(tidied, end);
		real = realpath(front, NULL);
		if (!real)
			return NULL;
		if (mounts_outermost_writable(real, writable))
			return mem_printf("%s%s", real, tidied + end);
	}
	return NULL;
}

static void mounts_protect(struct confine_mounts *m, const char *path)
{
	int before = m->left_out;

	if (mounts_writable_below(path, m->writable))
		return; /* see mounts_hold() */
	mounts_pin_parents(m, path);
	mounts_add_entry(m, SHIM_MOUNT_READONLY, path);
	if (m->left_out != before && !m->overfull)
		m->overfull = mem_strdup(path);
}

static void mounts_protect_all(struct confine_mounts *m, const char *const *list)
{
	size_t count = 0;

	m->readonly = mem_zalloc((size_t)(mounts_list_length(list) + 1) * sizeof(*m->readonly));
	for (; list && *list; list++) {
		char *path = mounts_resolve_readonly(*list, m->writable);

		if (path)
			m->readonly[count++] = path;
	}
	for (size_t i = 0; i < count; i++)
		mounts_protect(m, m->readonly[i]);
}

/* A file in the place of a directory is held, and so is a directory that may not be searched: see
 * SHIM_MOUNT_PIN and namespaces_open_entry(). */
static enum confine_mounts_hold mounts_hold(const struct confine_mounts *m, const char *path)
{
	const char *top = mounts_outermost_writable(path, m->writable);
	struct stat st;

	if (mounts_writable_below(path, m->writable))
		return CONFINE_MOUNTS_WRITABLE;
	if (m->overfull && !strcmp(path, m->overfull))
		return CONFINE_MOUNTS_NO_ROOM;
	for (size_t end = strcmp(top, "/") ? strlen(top) : 0; path[end];) {
		AUTO_FREE char *front = NULL;

		end = mounts_component_end(path, end);
		front = mem_strndup(path, end);
		if (lstat(front, &st))
			return errno == ENOENT ? CONFINE_MOUNTS_ABSENT : CONFINE_MOUNTS_HELD;
		if (!S_ISDIR(st.st_mode))
			return S_ISLNK(st.st_mode) ? CONFINE_MOUNTS_LINK : CONFINE_MOUNTS_HELD;
	}
	return CONFINE_MOUNTS_HELD;
}

void confine_mounts_each_readonly(const struct confine_mounts *m,
				  void (*fn)(void *ctx, const char *path,
					     enum confine_mounts_hold hold),
				  void *ctx)
{
	for (char **path = m->readonly; path && *path; path++)
		fn(ctx, *path, mounts_hold(m, *path));
}

bool confine_mounts_is_readonly(const struct confine_mounts *m, const char *path)
{
	for (char **top = m->readonly; top && *top; top++)
		if (str_path_lies_in(path, *top) && !mounts_writable_below(*top, m->writable))
			return true;
	return false;
}

/* ---- the table ---- */

void confine_mounts_build(struct confine_mounts *m, const struct confine_mounts_wish *wish)
{
	*m = (struct confine_mounts){
		.entries = mem_zalloc(0),
		.writable = mounts_resolve_list(wish->writable, mounts_resolve_writable),
		.listed = mounts_list_hidden(wish->hidden),
	};
	m->hidden = mounts_resolve_list((const char *const *)m->listed, mounts_resolve_hidden);
	m->mounts_fd = mountinfo_watch(); /* before mount_alias_find() */
	m->devices = mounts_resolve_list((const char *const *)m->writable, mounts_copy_device);
	m->left_out = mounts_list_length(wish->writable) -
		      mounts_list_length((const char *const *)m->writable);
	if (wish->shared_memory) /* first, while there is room */
		mounts_add_entry(m, SHIM_MOUNT_SHARED_MEMORY, wish->shared_memory);
	for (size_t i = 0; m->writable[i]; i++)
		if (!mounts_is_nested(m->writable, i))
			mounts_add_entry(m, SHIM_MOUNT_WRITABLE, m->writable[i]);
	mounts_protect_all(m, wish->readonly);
	m->fixed_size = m->size;
	m->fixed_left_out = m->left_out;
	mounts_hide_all(m);
}

/* Write an entry without device and inode, if it fits. */
static void mounts_write_entry(uint8_t *to, size_t *at, uint32_t kind, const char *path)
{
	const struct shim_mount head = { .kind = kind, .size = mounts_entry_size(path) };

	if (*at + head.size <= SHIM_PATHS_MAX)
		mounts_put_entry(to, at, &head, path);
}

static void mounts_write_pts(const struct confine_mounts *m, uint8_t *to, size_t *at)
{
	AUTO_FREE char *real = realpath("/dev/pts", NULL); /* the shim follows no link */
	bool lent = real && mounts_outermost_writable(real, m->writable);

	if (real)
		mounts_write_entry(to, at, lent ? SHIM_MOUNT_DEVICE : SHIM_MOUNT_HIDE, real);
}

size_t confine_mounts_write(const struct confine_mounts *m, bool no_pts, uint8_t *to)
{
	size_t size = m->size;

	memcpy(to, m->entries, size);
	if (no_pts)
		mounts_write_pts(m, to, &size);
	for (size_t i = 0; confine_mounts_usual[i]; i++)
		mounts_write_entry(to, &size, SHIM_MOUNT_DEVICE, confine_mounts_usual[i]);
	for (size_t i = 0; m->devices[i]; i++)
		mounts_write_entry(to, &size, SHIM_MOUNT_DEVICE, m->devices[i]);
	return size;
}

void confine_mounts_release(struct confine_mounts *m)
{
	if (m->entries)
		mem_cleanup_close(&m->mounts_fd);
	free(m->entries);
	mem_list_free(m->writable);
	mem_list_free(m->devices);
	mem_list_free(m->listed);
	mem_list_free(m->hidden);
	mem_list_free(m->readonly);
	free(m->overfull);
	*m = (struct confine_mounts){ 0 };
}
