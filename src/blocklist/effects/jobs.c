/*
 * Programs that read lines or arguments in their own format: at, sbatch and its kind, crontab,
 * iptables-restore, nft and ufw, parted, chpasswd.
 */
#include "blocklist/effects/readers.h"

#include <ctype.h>
#include <string.h>

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

/* What the file @name holds, or standard input for -; NULL: unknown. */
static const struct shell_word *jobs_file(const struct command *cmd, const struct shell_word *name,
					  struct action_list *out)
{
	const struct place *at = cmd->at;

	if (word_is_stdin(name))
		return place_input(at);
	return place_is_repeated(at) ? name->content : files_text(at->files, name, out);
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

/* What nft reads: a known file of -f, <(...) or one that the text wrote, or standard input. */
static const struct shell_word *jobs_nft_text(const struct command *cmd, struct action_list *out)
{
	for (size_t i = 1; i < cmd->count; i++) {
		const struct shell_word *word = &cmd->words[i];
		const struct shell_text *s = &word->text;

		if (word_begins(word, "--file=")) {
			struct shell_word name = word_slice(word, strlen("--file="), s->len,
							    out->arena);
			return jobs_file(cmd, &name, out);
		}
		if (i + 1 < cmd->count &&
		    (word_is(word, "--file") ||
		     (s->len > 1 && s->s[0] == '-' && s->s[1] != '-' && s->s[s->len - 1] == 'f')))
			return jobs_file(cmd, &cmd->words[i + 1], out);
	}
	return place_input(cmd->at);
}

static size_t jobs_lines(const struct command *cmd, struct action_list *out,
			 struct shell_word **lines)
{
	const struct shell_word *text =
		command_in(cmd, " nft ") ? jobs_nft_text(cmd, out) : place_input(cmd->at);

	return text ? word_items(text, true, out->budget, out->arena, lines) : 0;
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

/*
 * Jobs of a cluster: sbatch FILE, sbatch --wrap=TEXT, qsub -b y COMMAND, bsub COMMAND. Without one
 * they are read from standard input.
 */
void read_batch(const struct command *cmd, struct action_list *out)
{
	static const char sbatch[] =
		" -A -a -B -b -c -C -d -D -e -F -G -i -J -L -m -M -n -N -o -p -q -S -t -w -x "
		"--account --array --chdir --constraint --cpus-per-task --dependency --error "
		"--export --gres --job-name --mem --nodes --ntasks --output --partition --qos "
		"--time --wrap ";
	static const char qsub[] = " -a -A -b -c -C -d -e -hold_jid -i -j -k -l -m -M -N -o -P -p "
				   "-pe -q -r -S -t -u -v -W -w ";
	static const char bsub[] = " -a -app -b -c -cwd -e -E -F -G -g -i -J -L -M -m -n -o -oo "
				   "-P -q -R -s -sla -sp -t -U -u -W -w ";
	struct args *a = out->args;
	const struct args_option *wrap;
	size_t at, from = 0;

	args_read(a, cmd->words, cmd->count,
		  command_in(cmd, " sbatch ") ? sbatch : command_in(cmd, " qsub ") ? qsub : bsub,
		  true);
	at = a->first_operand;
	wrap = args_next(a, " --wrap ", &from);
	if (wrap && wrap->value) {
		action_text_part(out, wrap->value, wrap->skip, wrap->value->text.len, 0);
	} else if (at == cmd->count || word_is_input(&cmd->words[at])) {
		input_run(cmd, cmd->words, 1, 0, out);
	} else if (command_in(cmd, " bsub ")) {
		struct shell_word text = word_join(cmd->words + at, cmd->count - at, out->arena);

		action_text(out, &text, 0);
	} else if (args_has(a, " -b=y -b=yes ")) {
		action_words(out, cmd->words + at, cmd->count - at, 0);
	} else {
		action_file(out, &cmd->words[at], cmd->words + at, cmd->count - at, 0);
	}
}

/* crontab - and crontab FILE read lines with shell text after the time. */
void read_crontab(const struct command *cmd, struct action_list *out)
{
	const struct place *at = cmd->at;
	const struct shell_word *file = &cmd->words[cmd->count - 1];
	bool named = cmd->count > 1 && !word_is_stdin(file);
	const struct shell_word *text = named ? jobs_file(cmd, file, out) : place_input(at);
	struct shell_word *lines = NULL;
	size_t n;

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

/* A table for iptables-restore without a rule: it leaves the policies alone. */
static bool jobs_has_no_rule(const struct shell_word *text)
{
	const char *s = text->text.s;
	bool table = false;

	if (word_has_unknown(text))
		return false;
	for (; *s; s += strcspn(s, "\n")) {
		s += strspn(s, " \t\n");
		table |= *s == '*' && isalpha((unsigned char)s[1]);
		s += *s == '[' ? strcspn(s, " \n") : 0; /* [packets:bytes] -A ... */
		s += strspn(s, " \t");
		if (*s == '-')
			return false;
	}
	return table;
}

static void jobs_rule_lines(const struct command *cmd, const char *program,
			    struct action_list *out)
{
	const struct place *at = cmd->at;
	const struct shell_word *text = place_input(at), *file;

	if (at->netns)
		return;
	if (cmd->count > 1 && (file = jobs_file(cmd, &cmd->words[cmd->count - 1], out)))
		text = file;
	if (jobs_from_null(at) ||
	    (text && !words_have(cmd->words, cmd->count, " -n --noflush ") &&
	     (jobs_has_no_rule(text) || (cmd->count == 1 && jobs_blank(text)))) ||
	    (cmd->count > 1 && word_is(&cmd->words[cmd->count - 1], "/dev/null")))
		action_found(out, "firewall.empty", cmd->words, cmd->count);
	else
		jobs_command_lines(cmd, program, 1, out);
}

void read_iptables_restore(const struct command *cmd, struct action_list *out)
{
	if (!words_have(cmd->words, cmd->count, " -t --test "))
		jobs_rule_lines(cmd, "iptables", out);
}

/* What it takes to note one more command. */
#define JOBS_PART_STEPS 32

/* The command behind the ; at @at in word @i, with the words up to the next one. */
static void jobs_nft_part(const struct command *cmd, size_t i, size_t at, struct action_list *out)
{
	const struct shell_word *word = &cmd->words[i];
	size_t from = at + 1 + strspn(word->text.s + at + 1, " \t");
	size_t to = from + strcspn(word->text.s + from, ";");
	size_t last = i + 1, count = 1;
	struct shell_word *list;

	while (to == word->text.len && last < cmd->count && cmd->words[last].text.s[0] != ';' &&
	       (last == i + 1 || !strchr(cmd->words[last - 1].text.s, ';')))
		last++;
	list = shell_alloc(out->arena, (last - i + 1) * sizeof(*list));
	list[0] = cmd->words[0];
	if (to > from)
		list[count++] = word_slice(word, from, to, out->arena);
	memcpy(list + count, word + 1, (last - i - 1) * sizeof(*list));
	action_named(out, cmd->name, list, count + last - i - 1);
}

/* nft -f -, nft 'add table x; flush ruleset', nft add table x \; flush ruleset */
void read_nft(const struct command *cmd, struct action_list *out)
{
	for (size_t i = 1; i < cmd->count; i++)
		if (word_begins(&cmd->words[i], "-c") || word_is(&cmd->words[i], "--check"))
			return;
	jobs_rule_lines(cmd, "nft", out);
	for (size_t i = 1; i < cmd->count; i++)
		for (const char *s = cmd->words[i].text.s, *at = s; (at = strchr(at, ';')); at++) {
			if (!action_charge(out, JOBS_PART_STEPS))
				return;
			jobs_nft_part(cmd, i, (size_t)(at - s), out);
		}
}

/* Does the rule of @n words say allow from any, or allow from any to any, and no port? */
static bool jobs_ufw_takes_any(const struct shell_word *words, size_t n)
{
	static const char any[] = " any 0.0.0.0/0 ::/0 ";
	const struct shell_word *last = &words[n - 1];

	if (n > 5 && word_in(last, any) && word_is(last - 1, "to"))
		last -= 2;
	return n > 3 && word_in(last, any) && word_is(last - 1, "from") &&
	       !words_have(words, n, " on out "); /* an interface; what leaves */
}

/*
 * ufw default allow, ufw allow from any: an argument that is left out is the widest one, which the
 * table of rules cannot say. They are judged as with it, without where they go and their ends.
 */
void read_ufw(const struct command *cmd, struct action_list *out)
{
	size_t n = cmd->count;
	size_t skip = n > 2 && word_is(&cmd->words[1], "insert") ? 2
		    : n > 1 && word_in(&cmd->words[1], " prepend rule ");
	const struct shell_word *words = cmd->words + skip;
	struct shell_word *list = shell_alloc(out->arena, (n + 1) * sizeof(*list));
	bool bare;

	n -= skip;
	while (n > 3 && word_in(&words[n - 2], " comment proto "))
		n -= 2;
	bare = n > 2 && word_is(&words[n - 2], "default") && word_is(&words[n - 1], "allow");
	if (!bare && !jobs_ufw_takes_any(words, n))
		return;
	memcpy(list, words, n * sizeof(*list));
	list[0] = cmd->words[0];
	list[n] = word_fixed(bare ? "incoming" : "everything", SHELL_LITERAL, &words[n - 1],
			     out->arena);
	action_named(out, cmd->name, list, n + 1);
}
