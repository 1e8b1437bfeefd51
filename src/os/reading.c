#include "os/reading.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/procfs_kept.h"

#define WORD_BITS (8 * sizeof(unsigned long))

/* How a system call waits for files: the argument that names them, and how. */
enum form { READ, POLL, SELECT, EPOLL };

static const struct {
	long number;
	enum form form;
} calls[] = {
	{ SYS_read, READ }, { SYS_readv, READ }, { SYS_splice, READ },
	{ SYS_ppoll, POLL }, { SYS_pselect6, SELECT }, { SYS_epoll_pwait, EPOLL },
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, EPOLL },
#endif
#ifdef SYS_poll
	{ SYS_poll, POLL },
#endif
#ifdef SYS_select
	{ SYS_select, SELECT },
#endif
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, EPOLL },
#endif
};

/* What is not there says nothing if /proc hides all of the process (proc(5), hidepid). */
static enum reading reading_nothing(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return access(path, F_OK) && !procfs_is_gone(pid) ? READING_UNKNOWN : READING_NO;
}

static bool reading_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A program that asks for a password opens /dev/tty, which is another file. */
static bool reading_is_file(const struct stat *st, const struct reading_file *file)
{
	struct stat own;

	return (!fstat(file->fd, &own) && reading_is_same(st, &own)) ||
	       (file->terminal && !stat("/dev/tty", &own) && reading_is_same(st, &own));
}

/* @how, if the descriptor is the file. Of a process that has hidden since its files in /proc were
 * opened, these still tell the call, but nothing tells what any of its descriptors is. */
static enum reading reading_descriptor(pid_t pid, int fd, const struct reading_file *file,
				       enum reading how)
{
	char path[64], *at;
	struct stat st;

	at = procread_put_number(procread_put(path, "/proc/"), (unsigned)pid);
	procread_put_number(procread_put(at, "/fd/"), (unsigned)fd);
	if (stat(path, &st))
		return errno == EACCES || errno == EPERM ? READING_UNKNOWN : reading_nothing(pid);
	return reading_is_file(&st, file) ? how : READING_NO;
}

/* Read @size bytes at @address of @pid. */
static bool reading_copy(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec here = { bytes, size }, there = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static enum reading reading_poll(pid_t pid, uint64_t set, uint64_t count,
				 const struct reading_file *file)
{
	struct pollfd fds[READING_SET];
	enum reading one = READING_NO;

	count = count < READING_SET ? count : READING_SET;
	if (!reading_copy(pid, set, fds, count * sizeof(*fds)))
		return READING_UNKNOWN;
	for (uint64_t i = 0; i < count && one == READING_NO; i++)
		if (fds[i].fd >= 0 && fds[i].events & POLLIN)
			one = reading_descriptor(pid, fds[i].fd, file, READING_POLLS);
	return one;
}

static enum reading reading_select(pid_t pid, uint64_t count, uint64_t set,
				   const struct reading_file *file)
{
	unsigned long words[READING_SET / WORD_BITS] = { 0 };
	enum reading one = READING_NO;

	count = count < READING_SET ? count : READING_SET;
	if (!set)
		return READING_NO;
	if (!reading_copy(pid, set, words, (count + WORD_BITS - 1) / WORD_BITS * sizeof(*words)))
		return READING_UNKNOWN;
	for (uint64_t fd = 0; fd < count && one == READING_NO; fd++)
		if (words[fd / WORD_BITS] >> fd % WORD_BITS & 1)
			one = reading_descriptor(pid, (int)fd, file, READING_POLLS);
	return one;
}

/* Lines such as "tfd: 0 events: 19 data: 0 pos:0 ino:1f2e sdev:d" (proc(5)). */
static enum reading reading_epoll(pid_t pid, int set, const struct reading_file *file)
{
	char path[64], line[256];
	enum reading one = READING_NO;
	unsigned events;
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, set);
	f = fopen(path, "re");
	if (!f)
		return READING_UNKNOWN;
	for (int i = 0; one == READING_NO && i < READING_SET && fgets(line, sizeof(line), f); i++)
		if (sscanf(line, "tfd: %d events: %x", &fd, &events) == 2 && events & POLLIN)
			one = reading_descriptor(pid, fd, file, READING_POLLS);
	fclose(f);
	return one;
}

/* @text: the arguments of the call, in hexadecimal. */
static enum reading reading_call(pid_t pid, long number, const char *text,
				 const struct reading_file *file)
{
	uint64_t args[2];
	char *end;

	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		if (calls[i].number != number)
			continue;
		args[0] = strtoull(text, &end, 16);
		args[1] = strtoull(end, NULL, 16);
		switch (calls[i].form) {
		case READ:
			return reading_descriptor(pid, (int)args[0], file, READING_BLOCKS);
		case POLL:
			return reading_poll(pid, args[0], args[1], file);
		case SELECT:
			return reading_select(pid, args[0], args[1], file);
		case EPOLL:
			return reading_epoll(pid, (int)args[0], file);
		}
	}
	return READING_NO;
}

/* @text: a number and its arguments; "running"; or -1, where it sleeps outside a call. */
static enum reading reading_syscall(pid_t pid, const char *text, const struct reading_file *file)
{
	const char *at = text;
	long number = (long)procread_number(&at);

	return at > text ? reading_call(pid, number, at, file) : READING_NO;
}

/* @thread: its directory, below @directory. One that has gone has nothing there. */
static enum reading reading_thread(pid_t pid, int directory, const char *thread,
				   const struct reading_file *file)
{
	AUTO_CLOSE int fd = -1;
	char path[64], text[256];
	ssize_t n = -1;

	snprintf(path, sizeof(path), "%.50s/syscall", thread);
	fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return errno == ESRCH || faccessat(directory, thread, F_OK, 0)
			       ? reading_nothing(pid)
			       : READING_UNKNOWN;
	text[n] = '\0';
	return reading_syscall(pid, text, file);
}

static enum reading reading_threads(pid_t pid, const struct reading_file *file, int *threads)
{
	enum reading most = READING_NO, one;
	const struct dirent *entry;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (!d)
		return reading_nothing(pid);
	while (*threads > 0 && (entry = readdir(d))) {
		if (*entry->d_name == '.')
			continue;
		--*threads;
		one = reading_thread(pid, dirfd(d), entry->d_name, file);
		most = one > most ? one : most;
	}
	closedir(d);
	return most;
}

static enum reading reading_process(const struct procfs_process *p,
				    const struct reading_file *file, int *threads)
{
	const char *text;
	char path[64];

	if (p->stat.state == 'T' && !file->stopped) /* its call is still that of the read */
		return READING_NO;
	if (p->stat.threads != 1)
		return reading_threads(p->pid, file, threads);
	--*threads;
	if (procfs_kept_read(p->pid, PROCFS_SYSCALL, &text) > 0)
		return reading_syscall(p->pid, text, file);
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)p->pid, (int)p->pid);
	return reading_thread(p->pid, AT_FDCWD, path, file);
}

enum reading reading_of(const struct procfs_process *processes, int count,
			const struct reading_file *file)
{
	enum reading most = READING_NO, one;
	int threads = READING_THREADS;

	for (int i = 0; i < count && threads; i++) {
		one = reading_process(&processes[i], file, &threads);
		most = one > most ? one : most;
	}
	return threads || most > READING_UNKNOWN ? most : READING_UNKNOWN;
}
