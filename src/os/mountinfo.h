/*
 * mountinfo - takes lines of /proc/self/mountinfo apart (proc_pid_mountinfo(5)), and tells when the
 * file has changed.
 */
#ifndef PROCPEN_OS_MOUNTINFO_H
#define PROCPEN_OS_MOUNTINFO_H

#include <stdbool.h>
#include <stdint.h>

#define MOUNTINFO_PATH "/proc/self/mountinfo"

/* One mount; the texts lie in the line. */
struct mountinfo {
	uint64_t id;
	const char *device; /* "major:minor" of the file system */
	const char *root;   /* the directory or file of it that is mounted */
	const char *point;  /* where */
	const char *type, *options;
};

/* Take @line apart, in place. Returns 0, or -1 if it is no such line. */
int mountinfo_parse(char *line, struct mountinfo *m);

/* A descriptor for mountinfo_changed(), which the caller closes, or -1. */
int mountinfo_watch(void);

/* Have the mounts changed since the last call, or since mountinfo_watch()? -1: yes. */
bool mountinfo_changed(int fd);

#endif
