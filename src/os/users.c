#include "os/users.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ACCOUNTS "/etc/passwd"

int users_find(const char *name, struct user *user, struct err *e)
{
	FILE *list = fopen(ACCOUNTS, "re");
	const struct passwd *row;

	*user = (struct user){ 0 };
	while (list && (row = fgetpwent(list)))
		if (!strcmp(row->pw_name, name)) {
			user->name = mem_strdup(row->pw_name);
			user->home = mem_strdup(row->pw_dir && *row->pw_dir ? row->pw_dir : "/");
			user->uid = row->pw_uid;
			user->gid = row->pw_gid;
			break;
		}
	if (list)
		fclose(list);
	if (user->name)
		return 0;
	err_set(e, ERR_INVALID_PARAMS, "user: \"%.64s\" has no account in " ACCOUNTS, name);
	return err_hint(e, "Use the name of an account in that file, not a number.");
}

void users_release(struct user *user)
{
	free(user->name);
	free(user->home);
	*user = (struct user){ 0 };
}
