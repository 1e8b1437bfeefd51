#include "blocklist/effects/autorun.h"

#include "base/mem.h"
#include "base/str.h"
#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/readers.h"

/* A hook of git by its name, for core.hooksPath, husky and templates put them anywhere. */
static bool autorun_hook(const struct shell_text *file)
{
	static const char hooks[] =
		" applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit "
		"prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge "
		"post-rewrite pre-push pre-receive post-receive post-update ";
	const char *base = str_base_name(file->s);

	return list_has(hooks, base, file->len - (size_t)(base - file->s));
}

static bool autorun_file(const struct shell_word *file)
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
	if (autorun_hook(&file->text))
		return true;
	for (size_t i = 0; i < COUNT_OF(ends); i++)
		if (file->text.len >= strlen(ends[i]) &&
		    strcmp(s + file->text.len - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

size_t autorun_cron_skip(const char *s, bool user)
{
	size_t skip = strspn(s, " \t");
	int fields = (s[skip] == '@' ? 1 : 5) + user;

	while (fields-- > 0) {
		skip += strcspn(s + skip, " \t");
		skip += strspn(s + skip, " \t");
	}
	return skip;
}

/* The commands in @text, which is written to @file. */
static void autorun_written(const struct shell_word *file, const struct shell_word *text,
			    struct action_list *out)
{
	bool cron = strstr(file->text.s, "/etc/crontab") || strstr(file->text.s, "/etc/cron.d/");
	bool unit = strstr(file->text.s, "/systemd/") != NULL;
	struct shell_word *lines;
	struct action *a;
	size_t n;

	if (!cron && !unit) {
		action_text(out, text, ACTION_LENIENT | ACTION_NO_INPUT);
		a = &out->list[out->count - 1];
		a->words = file;
		a->count = 1;
		return;
	}
	n = word_items(text, true, out->budget, out->arena, &lines);
	for (size_t i = 0; i < n; i++) {
		const char *s = lines[i].text.s, *equals = strchr(s, '=');
		size_t skip = cron ? autorun_cron_skip(s, true) : 0;

		if (unit && (strncmp(s, "Exec", 4) || !equals))
			continue;
		if (unit)
			skip = (size_t)(equals + 1 - s) + strspn(equals + 1, "-@:+! ");
		if (skip < lines[i].text.len)
			action_text_part(out, &lines[i], skip, lines[i].text.len,
					 ACTION_LENIENT | ACTION_NO_INPUT);
	}
}

/* curl URL | tee ~/.bashrc, sudo tee -a /etc/crontab */
static void autorun_tee(const struct place *at, const struct shell_command *c,
			struct action_list *out)
{
	size_t tee = 0;

	if (!c->input && !(at->input_flow & FLOW_REMOTE))
		return;
	while (tee < c->word_count && tee < 4 && !name_in(&c->words[tee], " tee "))
		tee++;
	for (size_t i = tee + 1; tee < 4 && i < c->word_count; i++) {
		if (!autorun_file(&c->words[i]))
			continue;
		if (c->input)
			autorun_written(&c->words[i], c->input, out);
		else
			action_flow(out, at->input_flow & FLOW_REMOTE, c->words, c->word_count);
		return;
	}
}

void autorun_read(const struct place *at, struct action_list *out)
{
	const struct shell_command *c = place_command(at);

	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];

		if ((r->op != SHELL_TO && r->op != SHELL_APPEND) || !autorun_file(&r->target))
			continue;
		if (c->output) {
			autorun_written(&r->target, c->output, out);
			return;
		}
		action_flow(out, dataflow_output(at->flows, at->index) & FLOW_REMOTE, c->words,
			    c->word_count);
	}
	autorun_tee(at, c, out);
}

/* curl -o ~/.bashrc URL, wget -P /etc/cron.d URL */
void read_download(const struct command *cmd, struct action_list *out)
{
	for (size_t i = 1; i + 1 < cmd->count; i++) {
		const char *s = cmd->words[i].text.s;
		size_t len = cmd->words[i].text.len;

		if (s[0] == '-' && len > 1 &&
		    (strchr("oOP", s[len - 1]) || strstr(s, "--output")) &&
		    autorun_file(&cmd->words[i + 1]))
			action_flow(out, FLOW_REMOTE, cmd->words, cmd->count);
	}
}

/* /etc/init.d/ufw stop is service ufw stop */
void read_init_script(const struct command *cmd, struct action_list *out)
{
	const struct shell_word *path = &cmd->words[0];
	struct shell_word *list;

	if (!word_begins(path, "/etc/init.d/") && !word_begins(path, "/etc/rc.d/"))
		return;
	list = shell_alloc(out->arena, (cmd->count + 1) * sizeof(*list));
	list[0] = *path;
	list[1] = word_slice(path, (size_t)(cmd->program.s - path->text.s), path->text.len,
			     out->arena);
	memcpy(list + 2, cmd->words + 1, (cmd->count - 1) * sizeof(*list));
	action_named(out, name_lookup("service", 7), list, cmd->count + 1);
}
