#include "os/confine_mounts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mem.h"
#include "os/shim_proto.h"

#define ENTRIES_MAX 60 /* the keeper holds two descriptors for each */

/* Is @path @top, or inside it? By whole components. */
static bool is_within(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (len == 1)
		return true; /* "/" */
	return !strncmp(path, top, len) && (path[len] == '\0' || path[len] == '/');
}

static void add_entry(struct confine_mounts *m, uint32_t kind, const char *path)
{
	size_t len = strlen(path) + 1, size = (sizeof(struct shim_mount) + len + 7) & ~(size_t)7;
	struct shim_mount head = { .kind = kind, .size = (uint32_t)size };
	struct stat st;

	if (m->size + size > SHIM_PATHS_MAX) {
		m->left_out++;
		return;
	}
	/* What is hidden may come to be later, and may be anything. */
	if (kind == SHIM_MOUNT_WRITABLE && !stat(path, &st)) {
		head.dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
		head.ino = st.st_ino;
	}
	memcpy(m->entries + m->size, &head, sizeof(head));
	memcpy(m->entries + m->size + sizeof(head), path, len);
	m->size += size;
}

/* The canonical path that @path would have: of what is there already, and the rest as it is
 * written. The keeper follows no link, so one that stays in a path would end in nothing. */
static char *resolve_missing(const char *path)
{
	AUTO_FREE char *front = mem_strdup(path);
	char *real = NULL, *slash, *all;

	while (!real && (slash = strrchr(front, '/')) && slash != front) {
		*slash = '\0';
		real = realpath(front, NULL);
	}
	if (!real)
		return mem_strdup(path);
	all = mem_zalloc(strlen(real) + strlen(path) + 1);
	strcpy(stpcpy(all, strcmp(real, "/") ? real : ""), path + strlen(front));
	free(real);
	return all;
}

/* Canonical paths of @list. What does not exist (yet) is left out, or kept. */
static char **resolve(struct confine_mounts *m, const char *const *list, bool keep_missing)
{
	char **paths = mem_zalloc((ENTRIES_MAX + 1) * sizeof(*paths));
	size_t count = 0;

	for (; list && *list; list++) {
		char *path = count < ENTRIES_MAX ? realpath(*list, NULL) : NULL;

		if (!path && keep_missing && count < ENTRIES_MAX)
			path = resolve_missing(*list);
		if (path)
			paths[count++] = path;
		else
			m->left_out++;
	}
	return paths;
}

static void free_paths(char **paths)
{
	for (size_t i = 0; paths[i]; i++)
		free(paths[i]);
	free(paths);
}

/* Is paths[i] inside another of them (or the same again)? */
static bool is_nested(char *const *paths, size_t i)
{
	for (size_t k = 0; paths[k]; k++)
		if (k != i && is_within(paths[i], paths[k]) &&
		    (k < i || strcmp(paths[i], paths[k])))
			return true;
	return false;
}

static bool covers_any(const char *hidden, char *const *writable)
{
	for (; *writable; writable++)
		if (is_within(*writable, hidden))
			return true;
	return false;
}

/* The outermost of @writable that holds @path: one inside another can be renamed like anything in
 * it. NULL: none does. */
static const char *outermost(const char *path, char *const *writable)
{
	const char *top = NULL;

	for (; *writable; writable++)
		if (is_within(path, *writable) && (!top || strlen(*writable) < strlen(top)))
			top = *writable;
	return top;
}

/* A command could rename a directory above @hidden: those below a writable one are pinned, from
 * the top on. */
static void pin_above(struct confine_mounts *m, const char *hidden, char *const *writable)
{
	AUTO_FREE char *path = mem_strdup(hidden);
	const char *top = outermost(hidden, writable);

	if (!top)
		return;
	for (char *end = strchr(path + strlen(top) + 1, '/'); end; end = strchr(end + 1, '/')) {
		*end = '\0';
		add_entry(m, SHIM_MOUNT_PIN, path);
		*end = '/';
	}
}

void confine_mounts_build(struct confine_mounts *m, const char *const *writable,
			  const char *const *hidden)
{
	char **kept, **covered;
	int before;

	*m = (struct confine_mounts){ .entries = mem_zalloc(SHIM_PATHS_MAX) };
	kept = resolve(m, writable, false);
	for (size_t i = 0; kept[i]; i++)
		if (!is_nested(kept, i))
			add_entry(m, SHIM_MOUNT_WRITABLE, kept[i]);
	before = m->left_out;
	covered = resolve(m, hidden, true);
	for (size_t i = 0; covered[i]; i++) {
		if (covers_any(covered[i], kept) || is_within(covered[i], "/proc")) {
			m->unhidden++;
			continue;
		}
		pin_above(m, covered[i], kept);
		add_entry(m, SHIM_MOUNT_HIDE, covered[i]);
	}
	m->unhidden += m->left_out - before;
	free_paths(kept);
	free_paths(covered);
}

void confine_mounts_release(struct confine_mounts *m)
{
	free(m->entries);
	*m = (struct confine_mounts){ 0 };
}
