/*
 * users - accounts of this machine, as /etc/passwd lists them.
 *
 * That file only, read anew each time: the name services that could know more would load
 * libraries into the server and may wait for the network.
 */
#ifndef PROCPEN_OS_USERS_H
#define PROCPEN_OS_USERS_H

#include <stdint.h>

#include "base/err.h"

struct user {
	char *name, *home; /* owned; NULL: nobody */
	uint32_t uid, gid;
};

/* Fill @user. Returns 0, or -1 with InvalidParams: there is no such account. */
int users_find(const char *name, struct user *user, struct err *e);
void users_release(struct user *user);

#endif
