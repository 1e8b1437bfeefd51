/* Finds the server's own groups: /proc/self/cgroup names them, mountinfo has the mount points. */
#include "os/cgroup/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "os/mountinfo.h"

#define SELF_MAX 65536 /* bytes of /proc/self/cgroup */

/* The arguments and the results so far of cgroup_places_find(). */
struct search {
	const struct cgroup_fs *fs;
	int version;
	char *self; /* the text of /proc/self/cgroup */
	struct cgroup_place *places;
	int count;
	unsigned roles; /* already found */
	bool shortage;  /* has kept one from being opened */
	char *why;
	size_t why_size;
};

static bool places_list_has_item(const char *list, const char *item)
{
	size_t len = strlen(item);

	for (const char *at = list; (at = strstr(at, item)); at += len)
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

/* The server's path in the hierarchy of @controller (NULL: version 2), or NULL. The caller frees
 * it. */
static char *places_own_group_path(const char *self, const char *controller)
{
	for (const char *line = self; line && *line;) {
		const char *list = strchr(line, ':'), *end = strchrnul(line, '\n');
		const char *path = list ? strchr(list + 1, ':') : NULL;
		AUTO_FREE char *names = NULL;

		if (!path || path > end)
			return NULL;
		names = mem_strndup(list + 1, (size_t)(path - list - 1));
		if (controller ? places_list_has_item(names, controller) : !*names)
			return mem_strndup(path + 1, (size_t)(end - path - 1));
		line = *end ? end + 1 : end;
	}
	return NULL;
}

/* @own relative to the mount's @root ("" or "/..."), or NULL if it is outside. */
static const char *places_path_below_root(const char *root, const char *own)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(own, root, len) != 0 || (own[len] && own[len] != '/'))
		return NULL;
	if (strstr(own, "/..")) /* above the root of our cgroup namespace */
		return NULL;
	return strcmp(own + len, "/") == 0 ? "" : own + len;
}

/* Open the server's own group through this mount and add it to @s->places. */
static void places_add(struct search *s, const struct mountinfo *m, unsigned roles, const char *own)
{
	const char *inside = places_path_below_root(m->root, own);
	struct cgroup_place *p = &s->places[s->count];
	AUTO_CLOSE int dir = -1;
	char path[PATH_MAX];

	if (!inside) {
		snprintf(s->why, s->why_size,
			 "the server's own control group %s lies outside of what is mounted at %s",
			 own, m->point);
		return;
	}
	if ((size_t)snprintf(path, sizeof(path), "%s%s", m->point, inside) >= sizeof(path))
		return;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	s->shortage |= dir < 0 && err_is_shortage(errno);
	if (dir < 0 || !s->fs->genuine(dir, s->version)) {
		snprintf(s->why, s->why_size,
			 "the server's own control group %s cannot be opened: %s", path,
			 dir < 0 ? cgroup_error_text(errno) : "something else is mounted over it");
		return;
	}
	*p = (struct cgroup_place){ .dir = dir, .roles = roles, .path = mem_strdup(path) };
	dir = -1;
	s->count++;
	s->roles |= roles;
}

static void places_add_v2(struct search *s, const struct mountinfo *m)
{
	AUTO_FREE char *own = places_own_group_path(s->self, NULL);

	if (own && !s->count)
		places_add(s, m, 0, own);
}

/* Controllers mounted together share one place. */
static void places_add_v1(struct search *s, const struct mountinfo *m)
{
	AUTO_FREE char *own = NULL;
	unsigned roles = 0;

	for (int i = 0; i < CGROUP_ROLE_COUNT; i++) {
		if (!places_list_has_item(m->options, cgroup_role_names[i]) || (s->roles & 1U << i))
			continue;
		roles |= 1U << i;
		if (!own)
			own = places_own_group_path(s->self, cgroup_role_names[i]);
	}
	if (own && s->count < CGROUP_PLACES_MAX)
		places_add(s, m, roles, own);
}

static void places_scan_mounts(struct search *s, FILE *list)
{
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	struct mountinfo m;

	while (getline(&line, &room, list) > 0) {
		if (mountinfo_parse(line, &m))
			continue;
		if (s->version == 2 && strcmp(m.type, "cgroup2") == 0)
			places_add_v2(s, &m);
		if (s->version == 1 && strcmp(m.type, "cgroup") == 0)
			places_add_v1(s, &m);
	}
}

int cgroup_places_find(const struct cgroup_fs *fs, int version,
		       struct cgroup_place places[CGROUP_PLACES_MAX], bool *shortage, char *why,
		       size_t size)
{
	AUTO_FREE char *self = mem_zalloc(SELF_MAX);
	struct search s = { .fs = fs, .version = version, .self = self, .places = places,
			    .why = why, .why_size = size };
	FILE *list;

	snprintf(why, size, "no control groups of version %d are mounted", version);
	if (cgroup_read(AT_FDCWD, fs->self, self, SELF_MAX) < 0 ||
	    !(list = fopen(fs->mountinfo, "re"))) {
		s.shortage = err_is_shortage(errno);
		snprintf(why, size, "/proc/self/cgroup and mountinfo cannot be read: %s",
			 cgroup_error_text(errno));
	} else {
		places_scan_mounts(&s, list);
		fclose(list);
	}
	*shortage = s.shortage;
	return s.count;
}

void cgroup_place_close(struct cgroup_place *p)
{
	mem_cleanup_close(&p->dir);
	free(p->path);
	p->path = NULL;
}
