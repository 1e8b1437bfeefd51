/*
 * run_user - the user that a run changes to: the account that its request names, the
 * operator's sandbox.user, or none (the server's own user).
 */
#ifndef PROCPEN_CAP_RUN_USER_H
#define PROCPEN_CAP_RUN_USER_H

#include "os/sandbox/types.h"
#include "os/users.h"
#include "policy/config.h"

/*
 * Fill @user (name NULL: the server's own user) and the credentials of @request.
 * @wanted: the request's parameter, or NULL. Returns 0, or -1 with PermissionDenied (the
 * operator does not list it), InvalidParams (the server is not root, no such account), or
 * SandboxUnavailable (the same for the operator's sandbox.user).
 */
int run_user_read(const struct config *config, const char *wanted, struct user *user,
		  struct confine_request *request, struct err *e);

#endif
