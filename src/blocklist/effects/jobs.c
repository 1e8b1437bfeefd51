/*
 * Programs that read lines in their own format: at, crontab, iptables-restore and nft, parted,
 * chpasswd.
 */
#include "blocklist/effects/readers.h"

#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/autorun.h"
#include "blocklist/effects/files.h"
#include "blocklist/effects/input.h"

/* ---- input ---- */

static bool jobs_blank(const struct shell_word *word)
{
	return strspn(word->text.s, " \t\n") == word->text.len;
}

/* Comments alone: a crontab without a job. */
static bool jobs_none(const struct shell_word *text)
{
	const char *s = text->text.s;

	for (; *s; s += strcspn(s, "\n")) {
		s += strspn(s, " \t\n");
		if (*s && *s != '#')
			return false;
	}
	return true;
}

/* Is standard input /dev/null? */
static bool jobs_from_null(const struct place *at)
{
	const struct shell_command *c = place_command(at);

	for (size_t i = 0; c && i < c->redirect_count; i++)
		if (c->redirects[i].op == SHELL_FROM &&
		    word_is(&c->redirects[i].target, "/dev/null"))
			return true;
	return false;
}

/* : | crontab - */
static bool jobs_from_nothing(const struct place *at)
{
	const struct shell_command *c = place_command(at);

	if (!c || c->piped_from >= at->script->command_count)
		return false;
	c = &at->script->commands[c->piped_from];
	if (c->word_count == 2)
		return (word_is(c->words, "printf") && !c->words[1].text.len) ||
		       (word_is(c->words, "cat") && word_is(c->words + 1, "/dev/null")) ||
		       (word_is(c->words, "echo") && word_is(c->words + 1, "-n"));
	return c->word_count == 1 && (word_is(c->words, ":") || word_is(c->words, "true"));
}

static size_t jobs_lines(const struct command *cmd, struct action_list *out,
			 struct shell_word **lines)
{
	return cmd->at->input ? word_items(cmd->at->input, true, out->budget, out->arena, lines)
			      : 0;
}

/* ---- jobs ---- */

/* at and batch take shell text from -f FILE or standard input. */
void read_at(const struct command *cmd, struct action_list *out)
{
	for (size_t i = 1; i + 1 < cmd->count; i++)
		if (word_is(&cmd->words[i], "-f"))
			action_file(out, &cmd->words[i + 1], cmd->words, 1, 0);
	input_run(cmd, cmd->words, 1, 0, out);
}

/* crontab - and crontab FILE read lines with shell text after the time. */
void read_crontab(const struct command *cmd, struct action_list *out)
{
	const struct place *at = cmd->at;
	const struct shell_word *file = &cmd->words[cmd->count - 1], *text = at->input;
	bool named = cmd->count > 1 && !word_is(file, "-");
	struct shell_word *lines = NULL;
	size_t n;

	if (named)
		text = place_is_repeated(at) ? NULL
					     : files_content(files_find(at->files, file),
							     out->budget, out->arena);
	if (named && !text)
		return;
	action_charge(out, text ? text->text.len : 0);
	if (text ? jobs_none(text) : jobs_from_null(at) || jobs_from_nothing(at))
		action_found(out, "jobs", cmd->words, cmd->count);
	action_flow(out, named ? 0 : at->input_flow & FLOW_REMOTE, cmd->words, cmd->count);
	n = text ? word_items(text, true, out->budget, out->arena, &lines) : 0;
	for (size_t i = 0; i < n; i++) {
		/* (crontab -l; echo LINE): the unknown part ends before LINE. */
		size_t from = word_unknown_at(&lines[i], 0);

		action_text_part(out, &lines[i],
				 from + autorun_cron_skip(lines[i].text.s + from, false),
				 lines[i].text.len,
				 ACTION_LENIENT | ACTION_NO_INPUT | ACTION_RECIPE);
	}
}

/* ---- passwords ---- */

/* echo root:x | chpasswd, but not under chroot: that is an image's root. */
void read_chpasswd(const struct command *cmd, struct action_list *out)
{
	const struct shell_command *c = place_command(cmd->at);
	struct shell_word *lines = NULL;
	size_t n;

	if (c && word_is(&c->words[0], "chroot"))
		return;
	n = jobs_lines(cmd, out, &lines);
	for (size_t i = 0; i < n; i++)
		if (word_begins(&lines[i], "root:"))
			action_found(out, "root_password", cmd->words, cmd->count);
}

/* ---- lines of arguments ---- */

/* Each line of standard input completes a command of @program: @count words of @cmd first. */
static void jobs_command_lines(const struct command *cmd, const char *program, size_t count,
			       struct action_list *out)
{
	const struct blocklist_name *name = name_lookup(program, strlen(program));
	struct shell_word *lines = NULL, *items, *list;
	size_t n = jobs_lines(cmd, out, &lines);

	for (size_t i = 0; i < n; i++) {
		size_t k = word_items(&lines[i], false, out->budget, out->arena, &items);

		list = shell_alloc(out->arena, (count + k) * sizeof(*list));
		memcpy(list, cmd->words, count * sizeof(*list));
		memcpy(list + count, items, k * sizeof(*list));
		action_named(out, name, list, count + k);
	}
}

void read_parted(const struct command *cmd, struct action_list *out)
{
	jobs_command_lines(cmd, "parted", cmd->count, out);
}

static void jobs_rule_lines(const struct command *cmd, const char *program,
			    struct action_list *out)
{
	const struct place *at = cmd->at;

	if (cmd->count > 1 && word_in(&cmd->words[1], " -t --test "))
		return;
	if (jobs_from_null(at) || (at->input && jobs_blank(at->input) && cmd->count == 1) ||
	    (cmd->count > 1 && word_is(&cmd->words[cmd->count - 1], "/dev/null")))
		action_found(out, "firewall.empty", cmd->words, cmd->count);
	else
		jobs_command_lines(cmd, program, 1, out);
}

void read_iptables_restore(const struct command *cmd, struct action_list *out)
{
	jobs_rule_lines(cmd, "iptables", out);
}

/* nft -f - */
void read_nft(const struct command *cmd, struct action_list *out)
{
	jobs_rule_lines(cmd, "nft", out);
}
