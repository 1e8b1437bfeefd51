/* hide - a user and a /proc that shows him only the processes that he may trace. */
#ifndef PROCPEN_TESTS_UNIT_HIDE_H
#define PROCPEN_TESTS_UNIT_HIDE_H

#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* For good. False: that cannot be. Linux 5.8 is the first whose mounts of /proc have options of their
 * own, and that knows this word. */
static inline bool hide_the_undumpable(void)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("proc", "/proc", "proc", 0, "hidepid=ptraceable") &&
	       !setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534) &&
	       !prctl(PR_SET_DUMPABLE, 1);
}

/* Can it? Says so if not. */
static inline bool can_hide(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child)
		_exit(!hide_the_undumpable());
	if (waitpid(child, &status, 0) == child && !status)
		return true;
	print_message("SKIP: needs root, and a kernel that mounts /proc with hidepid=ptraceable\n");
	return false;
}

#endif
