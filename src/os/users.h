/*
 * users - the accounts in /etc/passwd.
 *
 * Reads that file each time and asks no other name service: those load libraries into the
 * server and may wait for the network.
 */
#ifndef PROCPEN_OS_USERS_H
#define PROCPEN_OS_USERS_H

#include <stdint.h>

#include "base/err.h"

struct user {
	char *name, *home; /* owned; NULL: no user */
	uint32_t uid, gid;
};

/* Fill @user. Returns 0, or -1 with InvalidParams if there is no such account. */
int users_find(const char *name, struct user *user, struct err *e);
void users_release(struct user *user);

#endif
