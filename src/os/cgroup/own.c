#include "os/cgroup/own.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/cgroup/fs.h"

#define LEVELS_MAX 32 /* of groups above the server's */
#define STAT_MAX 8192 /* bytes of memory.stat */
#define PAGE_MAX 65536 /* of any architecture that Linux has control groups on */

/* Take the place of @version that counts memory. */
static void own_find(struct cgroup_own *own, const struct cgroup_fs *fs, int version)
{
	struct cgroup_place places[CGROUP_PLACES_MAX];
	bool shortage;
	char why[640];
	int count = cgroup_places_find(fs, version, places, &shortage, why, sizeof(why));

	for (int i = 0; i < count; i++) {
		if (own->dir < 0 && (version == 2 || places[i].roles & 1U << CGROUP_ROLE_MEMORY)) {
			*own = (struct cgroup_own){ .dir = places[i].dir, .version = version };
			places[i].dir = -1;
		}
		cgroup_place_close(&places[i]);
	}
}

static void own_open_at(struct cgroup_own *own, const struct cgroup_fs *fs)
{
	own->dir = -1;
	own_find(own, fs, 1);
	if (own->dir < 0)
		own_find(own, fs, 2);
}

void cgroup_own_open(struct cgroup_own *own)
{
	if (!own->sought)
		own_open_at(own, &cgroup_fs_kernel);
	own->sought = true;
}

void cgroup_own_close(struct cgroup_own *own)
{
	mem_cleanup_close(&own->dir);
}

/* Version 1 writes "none" as the highest whole number of pages. */
static int64_t own_limit_v1(int dir)
{
	char text[STAT_MAX];
	int64_t limit;

	if (cgroup_read(dir, "memory.stat", text, sizeof(text)) < 0)
		return -1;
	limit = cgroup_find_number(text, "hierarchical_memory_limit");
	return limit > INT64_MAX - PAGE_MAX ? -1 : limit;
}

/* Walk up: a group's own file does not show what holds for all of its siblings. The root has no
 * such file, and neither has what lies above the mount. */
static int64_t own_limit_v2(int dir)
{
	AUTO_CLOSE int at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int64_t least = -1;

	for (int i = 0; at >= 0 && i < LEVELS_MAX; i++) {
		int64_t limit = cgroup_read_number(at, "memory.max", NULL);
		int above;

		if (limit >= 0 && (least < 0 || limit < least))
			least = limit;
		if (faccessat(at, "memory.max", F_OK, 0))
			break;
		above = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		mem_cleanup_close(&at);
		at = above;
	}
	return least;
}

int64_t cgroup_own_memory_limit(const struct cgroup_own *own)
{
	int64_t limit = -1;

	if (own->dir >= 0)
		limit = own->version == 1 ? own_limit_v1(own->dir) : own_limit_v2(own->dir);
	return limit < 0 ? INT64_MAX : limit;
}

int64_t cgroup_own_oom_kills(const struct cgroup_own *own)
{
	if (own->dir < 0)
		return -1;
	return cgroup_read_number(own->dir,
				  own->version == 1 ? "memory.oom_control" : "memory.events",
				  "oom_kill");
}
