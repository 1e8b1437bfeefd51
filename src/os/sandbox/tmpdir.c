/*
 * The lock file alone decides who may remove a directory: commands can change their directory in
 * any way, its mode included, but cannot write the lock file beside it. The server creates the lock
 * file before the directory and removes it after it, so the next server removes whatever a killed
 * one leaves, at any point.
 */
#include "os/sandbox/tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "os/reaper.h"
#include "os/sandbox/rmtree.h"
#include "os/stdio.h"

#define USERS_PLACE "tmp-users"
#define LOCK_SUFFIX ".lock"
#define LOCK_NAME_SIZE (IDS_INSTANCE_SIZE + sizeof(LOCK_SUFFIX) - 1)
#define LOCK_MODE 0200 /* any process that can open it could lock it */
#define MAKING_S 10     /* longer than a server takes from the lock file to the directory */
#define END_US 1000000  /* short, because the host waits for our exit */
#define CLEAN_AGAIN_MS 10000 /* while commands are refused, each one would start a cleaner */
#define CLEANER_NICE 10 /* low, but makes progress on a busy machine */
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct tmpdir {
	char *parent, *place_path, *path;
	bool for_users;
	mode_t mode;   /* of the directories; 0711 for users */
	int place;     /* <parent>/tmp, or for users; -1: not opened */
	int lock;      /* our lock file, locked */
	int fd;        /* the directory; -1: not made */
	dev_t dev;     /* of it */
	ino_t ino;
	struct reaper *reaper;
	pid_t cleaner; /* 0: none */
	int64_t clean_again_ms;
};

static struct tmpdir *tmpdir_new_at(const char *parent, const char *instance, bool for_users,
				    struct reaper *reaper)
{
	struct tmpdir *t = mem_zalloc(sizeof(*t));

	t->parent = mem_strdup(parent);
	t->for_users = for_users;
	t->mode = for_users ? 0711 : 0700;
	t->reaper = reaper;
	t->place = t->lock = t->fd = -1;
	/* tmp and tmp-users have different modes, and may have the same parent. */
	t->place_path = mem_printf("%s/%s", parent, for_users ? USERS_PLACE : TMPDIR_PLACE);
	t->path = mem_printf("%s/%s", t->place_path, instance);
	return t;
}

struct tmpdir *tmpdir_new(const char *parent, const char *instance, struct reaper *reaper)
{
	return tmpdir_new_at(parent, instance, false, reaper);
}

struct tmpdir *tmpdir_new_for_users(const char *parent, const char *instance,
				    struct reaper *reaper)
{
	return tmpdir_new_at(parent, instance, true, reaper);
}

const char *tmpdir_path(const struct tmpdir *t)
{
	return t->path;
}

static const char *tmpdir_place_name(const struct tmpdir *t)
{
	return t->place_path + strlen(t->parent) + 1;
}

static const char *tmpdir_instance_name(const struct tmpdir *t)
{
	return t->path + strlen(t->place_path) + 1;
}

/* ---- the place ---- */

static int tmpdir_hint(const struct tmpdir *t, struct err *e)
{
	return err_hint(e, "The operator must correct this, or %s",
			t->for_users ? "unset sandbox.user and sandbox.users"
				     : "choose another place: --state-dir DIR");
}

static int tmpdir_failed(const struct tmpdir *t, struct err *e)
{
	err_sys(e, ERR_SANDBOX_UNAVAILABLE, errno,
		"cannot create the private temporary directory %.300s",
		t->place < 0 ? t->place_path : t->path);
	return err_is_shortage(e->sys) ? -1 : tmpdir_hint(t, e);
}

/* Create the missing parents; the writer of the record also creates its directory. */
static int tmpdir_make_parents(const struct tmpdir *t)
{
	AUTO_FREE char *copy = mem_strdup(t->parent);

	for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -1;
		*at = '/';
	}
	if (mkdir(copy, 0700) < 0)
		return errno == EEXIST ? 0 : -1;
	return t->for_users ? chmod(copy, t->mode) : 0; /* mkdir() applies the umask */
}

/* Accept only a directory that no other user can change: the server trusts the names in it. Always
 * accept mode 0700, which mkdir() sets before the mode for users. */
static int tmpdir_check_place(const struct tmpdir *t, int place, struct err *e)
{
	struct stat st;
	mode_t mode;

	if (fstat(place, &st) < 0)
		return tmpdir_failed(t, e);
	mode = st.st_mode & 07777 & ~(mode_t)S_ISGID; /* inherited from the directory above */
	if (st.st_uid == geteuid() && (mode == t->mode || mode == 0700))
		return fchmod(place, t->mode) < 0 ? tmpdir_failed(t, e) : 0;
	if (st.st_uid != geteuid())
		err_set(e, ERR_SANDBOX_UNAVAILABLE,
			"%.300s cannot be the place of the private temporary directory: it "
			"belongs to uid %u", t->place_path, st.st_uid);
	else
		err_set(e, ERR_SANDBOX_UNAVAILABLE,
			"%.300s cannot be the place of the private temporary directory: its mode "
			"is %04o instead of %04o", t->place_path, mode, t->mode);
	return tmpdir_hint(t, e);
}

static int tmpdir_open_place(struct tmpdir *t, struct err *e)
{
	AUTO_CLOSE int parent = -1, place = -1;

	if (t->place >= 0)
		return 0;
	if (tmpdir_make_parents(t))
		return tmpdir_failed(t, e);
	parent = open(t->parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0 || (mkdirat(parent, tmpdir_place_name(t), 0700) < 0 && errno != EEXIST))
		return tmpdir_failed(t, e);
	place = openat(parent, tmpdir_place_name(t), OPEN_DIRECTORY);
	if (place < 0)
		return tmpdir_failed(t, e);
	if (tmpdir_check_place(t, place, e))
		return -1;
	t->place = place;
	place = -1;
	return 0;
}

/* ---- the lock ---- */

static void tmpdir_lock_name(const char *instance, char name[LOCK_NAME_SIZE])
{
	snprintf(name, LOCK_NAME_SIZE, "%s" LOCK_SUFFIX, instance);
}

static bool tmpdir_lock_is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       (st->st_mode & 07777) == LOCK_MODE && st->st_nlink == 1 && !st->st_size;
}

/* Open and lock the lock file of @instance. Returns its descriptor, or -1 with errno: EAGAIN while
 * another process holds it, EPERM if it is not as we create it. */
static int tmpdir_lock_open(int place, const char *instance, int flags)
{
	char name[LOCK_NAME_SIZE];
	struct stat st;
	int fd, error = 0;

	tmpdir_lock_name(instance, name);
	fd = openat(place, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, LOCK_MODE);
	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)
		error = errno;
	else if (!st.st_nlink)
		error = EAGAIN; /* its owner has just removed the file */
	else if (!tmpdir_lock_is_ours(&st))
		error = EPERM;
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

static void tmpdir_unlink_lock(const struct tmpdir *t, const char *instance)
{
	char name[LOCK_NAME_SIZE];

	tmpdir_lock_name(instance, name);
	unlinkat(t->place, name, 0);
}

/* Create and lock our own lock file. */
static int tmpdir_lock_create(const struct tmpdir *t)
{
	int fd = tmpdir_lock_open(t->place, tmpdir_instance_name(t), O_CREAT | O_EXCL),
	    saved = errno;

	if (fd < 0 && saved != EEXIST && saved != EAGAIN) { /* EAGAIN: somebody has locked it */
		tmpdir_unlink_lock(t, tmpdir_instance_name(t));
		errno = saved;
	}
	return fd;
}

/* ---- removing ---- */

static void tmpdir_log_remaining(const struct tmpdir *t, const char *instance,
				 const struct rmtree_rest *rest)
{
	if (rest->late)
		log_warn("%.400s/%s still holds at least %lu temporary files of commands: there "
			 "was no time to remove them; the next procpen that uses %.400s will, or "
			 "remove them by hand", t->place_path, instance, rest->left, t->place_path);
	else
		log_warn("%.400s/%s still holds %lu temporary files of commands: \"%s\" cannot "
			 "be removed: %s (%s); the next procpen that uses %.400s tries again, or "
			 "remove them by hand", t->place_path, instance, rest->left, rest->name,
			 strerror(rest->error), err_sys_name(rest->error), t->place_path);
}

static void tmpdir_log_foreign(const struct tmpdir *t, const char *instance)
{
	log_warn("%.400s/%s and its lock are not as procpen creates them, so it leaves them alone; "
		 "remove them by hand", t->place_path, instance);
}

/* Remove the directory @fd of @instance, then its lock file, which stays if files remain. */
static void tmpdir_remove(const struct tmpdir *t, const char *instance, int fd, int64_t until_us)
{
	struct rmtree_rest rest;

	if (!rmtree_empty(fd, until_us, &rest)) {
		if (!unlinkat(t->place, instance, AT_REMOVEDIR) || errno == ENOENT) {
			tmpdir_unlink_lock(t, instance);
			return;
		}
		rest = (struct rmtree_rest){ .left = 1, .error = errno };
		strcpy(rest.name, instance);
	}
	tmpdir_log_remaining(t, instance, &rest);
}

/* Remove the directory of the dead server @instance. The caller holds its lock. */
static void tmpdir_remove_stale(const struct tmpdir *t, const char *instance)
{
	AUTO_CLOSE int fd = openat(t->place, instance,
				   O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		tmpdir_unlink_lock(t, instance);
	else if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid())
		tmpdir_remove(t, instance, fd, INT64_MAX);
	else
		tmpdir_log_foreign(t, instance);
}

/* ---- after dead servers ---- */

/* The instance that a lock file is named after. */
static bool tmpdir_lock_parse_name(const char *name, char instance[IDS_INSTANCE_SIZE])
{
	size_t len = strlen(name);

	if (len != LOCK_NAME_SIZE - 1 || strcmp(name + IDS_INSTANCE_SIZE - 1, LOCK_SUFFIX))
		return false;
	memcpy(instance, name, IDS_INSTANCE_SIZE - 1);
	instance[IDS_INSTANCE_SIZE - 1] = '\0';
	return ids_is_instance(instance);
}

/* A server creates its directory with the lock held. A lock file without a directory may be so new
 * that its server has not locked it yet: then we must not take the lock. */
static bool tmpdir_lock_is_fresh(const struct tmpdir *t, const char *instance)
{
	char name[LOCK_NAME_SIZE];
	struct stat st;

	if (!fstatat(t->place, instance, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	tmpdir_lock_name(instance, name);
	return fstatat(t->place, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       st.st_mtime + MAKING_S > clock_wall_ms() / 1000;
}

/* Returns true if the server @instance is dead and left files; @removing: remove them. */
static bool tmpdir_visit_lock(const struct tmpdir *t, const char *instance, bool removing)
{
	AUTO_CLOSE int held = -1;

	if (tmpdir_lock_is_fresh(t, instance))
		return false;
	held = tmpdir_lock_open(t->place, instance, 0);
	if (held < 0 && errno != EPERM)
		return false; /* its server lives */
	if (removing && held < 0)
		tmpdir_log_foreign(t, instance);
	else if (removing)
		tmpdir_remove_stale(t, instance);
	return true;
}

static bool tmpdir_visit_locks(const struct tmpdir *t, bool removing)
{
	int copy = openat(t->place, ".", OPEN_DIRECTORY);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	char instance[IDS_INSTANCE_SIZE];
	const struct dirent *entry;
	bool found = false;

	if (!list && copy >= 0)
		close(copy);
	while (list && (removing || !found) && (entry = readdir(list)))
		if (tmpdir_lock_parse_name(entry->d_name, instance))
			found |= tmpdir_visit_lock(t, instance, removing);
	if (list)
		closedir(list);
	return found;
}

/* Keep only the place, as 0, and a copy of stderr for log lines, as 1. Close all other descriptors
 * of the server: the client's ends, sockets of shims. */
static void tmpdir_cleaner_close_fds(struct tmpdir *t)
{
	dup2(t->place, 0);
	t->place = 0;
	stdio_move_errors(1);
	if (syscall(SYS_close_range, 3U, ~0U, 0) == 0)
		return;
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
}

/* The cleaner process: dies with the server, and has a low priority. */
static _Noreturn void tmpdir_cleaner_run(struct tmpdir *t, pid_t server)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "procpen-clean");
	tmpdir_cleaner_close_fds(t);
	setpriority(PRIO_PROCESS, 0, CLEANER_NICE);
	if (getppid() == server)
		tmpdir_visit_locks(t, true);
	_exit(0);
}

static void tmpdir_cleaner_on_exit(void *ctx, pid_t pid, int wait_status)
{
	struct tmpdir *t = ctx;

	(void)pid;
	(void)wait_status;
	t->cleaner = 0;
}

/* Clean up in a child process: a single unlink() may take long, and the loop must not wait. If fork
 * fails, the next server tries again. */
static void tmpdir_cleaner_start(struct tmpdir *t)
{
	pid_t server = getpid(), pid;
	sigset_t all, before;

	if (!t->reaper || t->cleaner || clock_mono_ms() < t->clean_again_ms ||
	    !tmpdir_visit_locks(t, false))
		return;
	t->clean_again_ms = clock_mono_ms() + CLEAN_AGAIN_MS;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before); /* for the child too: the handlers are the
					        * server's */
	pid = fork();
	if (!pid)
		tmpdir_cleaner_run(t, server);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return;
	t->cleaner = pid;
	reaper_watch(t->reaper, pid, tmpdir_cleaner_on_exit, t);
}

/* Collect the cleaner here: the loop no longer runs. */
static void tmpdir_cleaner_end(struct tmpdir *t, int64_t until_us)
{
	if (!t->cleaner)
		return;
	reaper_unwatch(t->reaper, t->cleaner);
	while (!waitpid(t->cleaner, NULL, WNOHANG)) {
		if (clock_mono_us() >= until_us) {
			kill(t->cleaner, SIGKILL);
			log_warn("%.400s still holds temporary files of earlier servers' commands: "
				 "there was no time to remove them; the next procpen that uses it "
				 "goes on, or remove them by hand", t->place_path);
			break;
		}
		usleep(1000);
	}
}

/* ---- the directory ---- */

/* Returns the directory's descriptor, or -1 with errno. */
static int tmpdir_make_or_open(int dir, const char *name)
{
	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(dir, name, OPEN_DIRECTORY);
}

/* Make @name in @dir, or take the directory of ours that has come there; a link or a file gives
 * way. The user may have replaced the first one, and without a sandbox so may a command. Returns
 * its descriptor, or -1 with errno. */
static int tmpdir_make_in(int dir, const char *name, mode_t mode)
{
	struct stat st, above;
	int fd = tmpdir_make_or_open(dir, name);

	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR) && !unlinkat(dir, name, 0))
		fd = tmpdir_make_or_open(dir, name);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || fstat(dir, &above) < 0 || st.st_uid != geteuid())
		errno = EPERM;
	else if (st.st_dev != above.st_dev)
		errno = EXDEV; /* something is mounted there */
	else if (!fchmod(fd, mode)) /* mkdir() applies the umask */
		return fd;
	mem_cleanup_close(&fd);
	return -1;
}

static int tmpdir_make_shared_memory(const struct tmpdir *t)
{
	AUTO_CLOSE int fd = -1;

	if (t->for_users)
		return 0;
	fd = tmpdir_make_in(t->fd, TMPDIR_SHARED_MEMORY, 01777);
	return fd < 0 ? -1 : 0;
}

static int tmpdir_make_directory(struct tmpdir *t)
{
	struct stat st;

	t->fd = tmpdir_make_in(t->place, tmpdir_instance_name(t), t->mode);
	if (t->fd >= 0 && !fstat(t->fd, &st) && !tmpdir_make_shared_memory(t)) {
		t->dev = st.st_dev;
		t->ino = st.st_ino;
		return 0;
	}
	if (t->fd >= 0)
		unlinkat(t->fd, TMPDIR_SHARED_MEMORY, AT_REMOVEDIR);
	mem_cleanup_close(&t->fd);
	return -1;
}

/* All or nothing. */
static int tmpdir_make_locked(struct tmpdir *t)
{
	int saved;

	if (t->lock < 0)
		t->lock = tmpdir_lock_create(t);
	if (t->lock < 0)
		return -1;
	if (!tmpdir_make_directory(t))
		return 0;
	saved = errno;
	unlinkat(t->place, tmpdir_instance_name(t), AT_REMOVEDIR);
	tmpdir_unlink_lock(t, tmpdir_instance_name(t));
	mem_cleanup_close(&t->lock);
	errno = saved;
	return -1;
}

int tmpdir_make(struct tmpdir *t, struct err *e)
{
	if (t->fd >= 0)
		return 0;
	if (tmpdir_open_place(t, e))
		return -1;
	tmpdir_cleaner_start(t); /* first: it may free the space that is missing */
	if (!tmpdir_make_locked(t))
		return 0;
	tmpdir_failed(t, e);
	mem_cleanup_close(&t->place); /* the place may be a different one at the next try */
	return -1;
}

bool tmpdir_is_gone(const struct tmpdir *t)
{
	struct stat st;

	return t->fd >= 0 && (lstat(t->path, &st) ? errno == ENOENT
						  : st.st_dev != t->dev || st.st_ino != t->ino);
}

/* Is our lock file where the next server looks for it? */
static bool tmpdir_lock_is_there(const struct tmpdir *t)
{
	char name[LOCK_NAME_SIZE];
	struct stat place, named, lock;

	tmpdir_lock_name(tmpdir_instance_name(t), name);
	return !fstat(t->place, &place) && !lstat(t->place_path, &named) &&
	       place.st_dev == named.st_dev && place.st_ino == named.st_ino &&
	       !fstat(t->lock, &lock) && !fstatat(t->place, name, &named, AT_SYMLINK_NOFOLLOW) &&
	       lock.st_dev == named.st_dev && lock.st_ino == named.st_ino;
}

/* The lock stays: a server that starts meanwhile would take what is there for a dead one's. */
void tmpdir_forget(struct tmpdir *t)
{
	log_warn("the private temporary directory %.400s was removed or replaced: the next command "
		 "gets a new one there", t->path);
	mem_cleanup_close(&t->fd);
	if (tmpdir_lock_is_there(t))
		return;
	mem_cleanup_close(&t->lock);
	mem_cleanup_close(&t->place);
}

/* Only this user can write the directory, so whatever is there is ours. */
int tmpdir_make_for(struct tmpdir *t, uint32_t uid, uint32_t gid, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	char name[16];

	if (tmpdir_make(t, e))
		return -1;
	snprintf(name, sizeof(name), "%" PRIu32, uid);
	if (mkdirat(t->fd, name, 0700) < 0 && errno != EEXIST)
		return tmpdir_failed(t, e);
	fd = openat(t->fd, name, OPEN_DIRECTORY);
	return fd < 0 || fchown(fd, uid, gid) < 0 ? tmpdir_failed(t, e) : 0;
}

void tmpdir_free(struct tmpdir *t)
{
	int64_t until_us = clock_mono_us() + END_US;

	if (!t)
		return;
	if (t->fd >= 0)
		tmpdir_remove(t, tmpdir_instance_name(t), t->fd, until_us);
	tmpdir_cleaner_end(t, until_us);
	mem_cleanup_close(&t->fd);
	mem_cleanup_close(&t->lock);
	mem_cleanup_close(&t->place);
	free(t->parent);
	free(t->place_path);
	free(t->path);
	free(t);
}
