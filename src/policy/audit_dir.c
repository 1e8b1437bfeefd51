#include "policy/audit_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define SUFFIX ".jsonl"

/* ---- names ---- */

bool audit_dir_is_log(const char *name)
{
	size_t len = strlen(name);

	return len < AUDIT_DIR_NAME_MAX && len > strlen(SUFFIX) && name[0] != '.' &&
	       !strcmp(name + len - strlen(SUFFIX), SUFFIX);
}

int audit_dir_compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	/* The suffix counts as the end. */
	unsigned char x = *a == '.' ? 0 : (unsigned char)*a, y = *b == '.' ? 0 : (unsigned char)*b;

	return x - y;
}

int audit_dir_order(const void *a, const void *b)
{
	return audit_dir_compare(a, b);
}

bool audit_dir_is_shared(const char *name)
{
	return !strncmp(name + strspn(name, "0123456789"), AUDIT_DIR_RUN, strlen(AUDIT_DIR_RUN));
}

static void audit_dir_add(struct audit_dir_names *list, const char *name)
{
	if (!(list->count & (list->count + 1))) /* 0, 1, 3, 7 ...: full */
		list->names = mem_realloc(list->names,
					  sizeof(*list->names) * 2 * (list->count + 1));
	strcpy(list->names[list->count++], name);
}

int audit_dir_list(int dir, struct audit_dir_names *list)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);

	*list = (struct audit_dir_names){ 0 };
	if (!stream) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	errno = 0;
	for (struct dirent *entry; (entry = readdir(stream));)
		if (audit_dir_is_log(entry->d_name))
			audit_dir_add(list, entry->d_name);
	int error = errno;

	closedir(stream);
	if (list->count)
		qsort(list->names, list->count, sizeof(*list->names), audit_dir_order);
	errno = error;
	return error ? -1 : 0;
}

void audit_dir_release(struct audit_dir_names *list)
{
	free(list->names);
	*list = (struct audit_dir_names){ 0 };
}

int audit_dir_open(const char *path, struct audit_dir_names *list, struct err *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error;

	*list = (struct audit_dir_names){ 0 };
	error = fd < 0 || audit_dir_list(fd, list) ? errno : 0;
	if (!error && list->count)
		return fd;
	if (fd >= 0)
		close(fd);
	if (error && error != ENOENT) {
		err_sys(e, ERR_PERMISSION_DENIED, error, "cannot read the audit log \"%.256s\"",
			path);
		return err_hint(e, "Name the state directory with --state-dir.");
	}
	err_set(e, ERR_BAD_DIRECTORY, "there is no audit log in \"%.256s\"", path);
	return err_hint(e, "Name the state directory with --state-dir. If it is this one, nothing "
			   "was recorded yet, or the log was removed.");
}

/* ---- logs in use ---- */

void audit_dir_hold(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	(void)!fcntl(fd, F_OFD_SETLK, &lock);
}

/* Asks as a reader would, whom only a writer's lock keeps out: where nothing hides the log from a
 * command, that can take a reader's, and a killed server must not seem to live. */
bool audit_dir_is_held(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1 };

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}
