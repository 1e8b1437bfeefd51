#include "os/sandbox/mount_alias.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "os/mountinfo.h"
#include "os/sandbox/mount_id.h"

struct mounts {
	char **lines; /* what the texts of `at` lie in */
	struct mountinfo *at;
	size_t count;
};

struct aliases {
	char **paths; /* NULL-terminated */
	size_t count;
};

static void mount_alias_add_line(struct mounts *m, const char *text)
{
	char *line = mem_strdup(text);

	m->lines = mem_realloc(m->lines, (m->count + 1) * sizeof(*m->lines));
	m->at = mem_realloc(m->at, (m->count + 1) * sizeof(*m->at));
	if (mountinfo_parse(line, &m->at[m->count]))
		free(line);
	else
		m->lines[m->count++] = line;
}

static void mount_alias_read(struct mounts *m)
{
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	FILE *list = fopen(MOUNTINFO_PATH, "re");

	while (list && getline(&line, &room, list) > 0)
		mount_alias_add_line(m, line);
	if (list)
		fclose(list);
}

static void mount_alias_release(struct mounts *m)
{
	while (m->count)
		free(m->lines[--m->count]);
	free(m->lines);
	free(m->at);
}

/* The rest of @path behind @top ("" or "/..."), or NULL if it does not lie there. */
static const char *mount_alias_rest(const char *path, const char *top)
{
	size_t len = strcmp(top, "/") ? strlen(top) : 0;

	if (strncmp(path, top, len) || (path[len] && path[len] != '/'))
		return NULL;
	return strcmp(path + len, "/") ? path + len : "";
}

static char *mount_alias_join(const char *top, const char *rest)
{
	return mem_printf("%s%s", *rest && !strcmp(top, "/") ? "" : top, rest);
}

/* The mount that shows at @path, or at the first directory above it that is there; NULL: another
 * one by now. */
static const struct mountinfo *mount_alias_mount_of(const struct mounts *m, const char *path)
{
	AUTO_FREE char *front = mem_strdup(path);
	AUTO_CLOSE int fd = -1;
	uint64_t id = 0;
	char *slash;

	while ((fd = open(*front ? front : "/", O_PATH | O_NOFOLLOW | O_CLOEXEC)) < 0 &&
	       (slash = strrchr(front, '/')))
		*slash = '\0';
	if (fd < 0 || mount_id(fd, &id))
		return NULL;
	for (size_t i = 0; i < m->count; i++)
		if (m->at[i].id == id)
			return &m->at[i];
	return NULL;
}

/* Where the mount @other shows the file @inside of its file system, or a part of that. On the heap,
 * or NULL. */
static char *mount_alias_in(const struct mountinfo *other, const char *inside)
{
	const char *rest = mount_alias_rest(inside, other->root);

	if (rest)
		return mount_alias_join(other->point, rest);
	return mount_alias_rest(other->root, inside) ? mem_strdup(other->point) : NULL;
}

static void mount_alias_keep(struct aliases *a, char *name)
{
	a->paths = mem_realloc(a->paths, (a->count + 2) * sizeof(*a->paths));
	a->paths[a->count++] = name;
	a->paths[a->count] = NULL;
}

/* Add the other names of @path, on @mount, outside of @top. Another mount may cover one of them. */
static void mount_alias_add(struct aliases *a, const struct mounts *m,
			    const struct mountinfo *mount, const char *path, const char *top)
{
	const char *rest = mount ? mount_alias_rest(path, mount->point) : NULL;
	AUTO_FREE char *inside = rest ? mount_alias_join(mount->root, rest) : NULL;

	for (const struct mountinfo *other = m->at; inside && other < m->at + m->count; other++) {
		char *name = other == mount || strcmp(other->device, mount->device)
				     ? NULL
				     : mount_alias_in(other, inside);

		if (name && !mount_alias_rest(name, top) && mount_alias_mount_of(m, name) == other)
			mount_alias_keep(a, name);
		else
			free(name);
	}
}

char **mount_alias_find(char *const *paths)
{
	struct aliases a = { .paths = mem_zalloc(sizeof(*a.paths)) };
	struct mounts m = { 0 };

	if (*paths)
		mount_alias_read(&m);
	for (; *paths; paths++) {
		mount_alias_add(&a, &m, mount_alias_mount_of(&m, *paths), *paths, *paths);
		for (const struct mountinfo *in = m.at; in < m.at + m.count; in++)
			if (strcmp(in->point, *paths) && mount_alias_rest(in->point, *paths))
				mount_alias_add(&a, &m, in, in->point, *paths);
	}
	mount_alias_release(&m);
	return a.paths;
}
