/*
 * Texts that a shell gets by another way than its words and its input: descriptors that
 * were opened before, and files that a shell, cron, systemd or git run by themselves.
 * Declared in blocklist_stage.h.
 */
#include "blocklist/stage.h"

#include <stdlib.h>

#include "base/mem.h"
#include "blocklist/walk.h"

/* ---- descriptors ---- */

/* How many commands before are looked at for the exec that opened it. */
#define BEFORE_MAX 32

const struct shell_word *walk_opened(const struct shell_command *c, long fd)
{
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];

		if (r->fd != fd)
			continue;
		if (r->op == SHELL_HERE || r->op == SHELL_STRING)
			return &r->target;
		if (r->op == SHELL_FROM && r->target.content)
			return r->target.content;
	}
	return NULL;
}

const struct shell_word *walk_descriptor(const struct shell_script *s, uint32_t index)
{
	const struct shell_command *c = &s->commands[index];
	long fd = 0;

	for (size_t i = 0; i < c->redirect_count; i++)
		if (c->redirects[i].op == SHELL_DUP && c->redirects[i].fd <= 0)
			fd = strtol(c->redirects[i].target.text.s, NULL, 10);
	for (uint32_t i = index; fd > 2 && i-- > 0 && index - i <= BEFORE_MAX;) {
		const struct shell_command *before = &s->commands[i];
		const struct shell_word *text = NULL;

		if (before->word_count == 1 && word_is(before->words, "exec"))
			text = walk_opened(before, fd);
		if (text)
			return text;
	}
	return NULL;
}

/* ---- files that run by themselves ---- */

bool walk_runs_itself(const struct shell_word *file)
{
	static const char *const ends[] = { "/.bashrc", "/.profile", "/.bash_profile", "/.zshrc",
					    "/.bash_login", "/.zshenv", "/.zprofile",
					    "/.bash_aliases", "/.bash_logout",
					    "/etc/profile", "/etc/bash.bashrc", "/etc/crontab" };
	static const char *const parts[] = { ".git/hooks/", "/etc/profile.d/", "/etc/cron.",
					     "/var/spool/cron/", "/systemd/system/",
					     "/systemd/user/", "/etc/update-motd.d/",
					     "/etc/init.d/", "/etc/network/if-up.d/" };
	const char *s = file->text.s;

	for (size_t i = 0; i < COUNT_OF(parts); i++)
		if (strstr(s, parts[i]))
			return true;
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		if (file->text.len >= strlen(ends[i]) &&
		    strcmp(s + file->text.len - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

/* Where the command begins in a line of a crontab, with a column for the user or not. */
size_t walk_cron_skip(const char *s, bool user)
{
	size_t skip = strspn(s, " \t");
	int fields = (s[skip] == '@' ? 1 : 5) + user;

	while (fields-- > 0) {
		skip += strcspn(s + skip, " \t");
		skip += strspn(s + skip, " \t");
	}
	return skip;
}

bool walk_own_start(struct blocklist_walk *w, const struct shell_word *file,
		    const struct shell_word *text, const struct blocklist_stage *at)
{
	const char *path = file->text.s;
	bool cron = strstr(path, "/etc/crontab") || strstr(path, "/etc/cron.d/");
	bool unit = strstr(path, "/systemd/") != NULL;
	struct shell_word *lines;
	size_t n;

	if (!cron && !unit)
		return walk_nested(w, text, file, 1, at);
	n = walk_items(w, text, true, &lines);
	for (size_t i = 0; i < n; i++) {
		const char *s = lines[i].text.s, *equals = strchr(s, '=');
		size_t skip = cron ? walk_cron_skip(s, true) : 0;

		if (unit && (strncmp(s, "Exec", 4) || !equals))
			continue;
		if (unit)
			skip = (size_t)(equals + 1 - s) + strspn(equals + 1, "-@:+! ");
		if (skip < lines[i].text.len &&
		    walk_rest(w, &lines[i], skip, lines[i].text.len, at))
			return true;
	}
	return false;
}
