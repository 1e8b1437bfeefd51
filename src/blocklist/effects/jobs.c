/*
 * Programs that read lines in their own format: at, crontab, make, iptables-restore and nft,
 * parted, chpasswd.
 */
#include "blocklist/effects/readers.h"

#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/autorun.h"
#include "blocklist/effects/files.h"
#include "blocklist/effects/input.h"

/* Such text may not be valid shell, and its commands do not share the standard input. */
#define LINE_FLAGS (ACTION_LENIENT | ACTION_NO_INPUT)

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

/* What is known of @file, if the text wrote it. */
static const struct shell_word *jobs_written(const struct written_files *files,
					     const struct shell_word *file,
					     struct action_list *out)
{
	return files ? files_content(files_find(files, file), out->budget, out->arena) : NULL;
}

/* So many makefiles and crontabs that run each other are read; most are one and the same. One that
 * goes on beside its copy may be a fork bomb. */
#define RECIPES_MAX 2

static bool jobs_is_repeated(const struct place *at)
{
	return at->recipes >= RECIPES_MAX && !at->beside;
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
		text = jobs_is_repeated(at) ? NULL : jobs_written(at->files, file, out);
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
				 lines[i].text.len, LINE_FLAGS | ACTION_RECIPE);
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

/* ---- make ---- */

/* The file of make's -f, --file or --makefile at word *@i, or NULL. */
static const struct shell_word *jobs_makefile_option(const struct command *cmd, size_t *i,
						     struct action_list *out)
{
	static const char *const forms[] = { "--file=", "--makefile=", "-f" };
	const struct shell_word *w = &cmd->words[*i];
	struct shell_word *file;

	if (word_in(w, " -f --file --makefile "))
		return *i + 1 < cmd->count ? &cmd->words[++*i] : NULL;
	for (size_t k = 0; k < 3; k++) {
		if (!word_begins(w, forms[k]))
			continue;
		file = shell_alloc(out->arena, sizeof(*file));
		*file = word_slice(w, strlen(forms[k]), w->text.len, out->arena);
		return file;
	}
	return NULL;
}

/* The known makefile of -f NAME, -f - or -f <(...), or NULL. *@named: there is a -f; *@input: it is
 * standard input. */
static const struct shell_word *jobs_makefile_text(const struct command *cmd,
						   struct action_list *out, bool *named,
						   bool *input)
{
	static const char stdin_names[] = " - /dev/stdin /dev/fd/0 ";

	*named = *input = false;
	for (size_t i = 1; i < cmd->count; i++) {
		const struct shell_word *file = jobs_makefile_option(cmd, &i, out);
		const struct shell_word *written;

		if (!file)
			continue;
		*named = true;
		*input = word_in(file, stdin_names);
		if (*input)
			return cmd->at->input;
		if (file->content)
			return file->content;
		written = jobs_written(cmd->at->files, file, out);
		if (written)
			return written;
	}
	return NULL;
}

/* The Makefile that earlier commands wrote, or NULL. */
static const struct shell_word *jobs_written_makefile(const struct written_files *files,
						      struct action_list *out)
{
	static const char *const names[] = { "Makefile", "makefile", "GNUmakefile" };
	static const uint8_t kind[16];

	for (size_t i = 0; i < 3; i++) {
		struct shell_word name = { .text = { .s = names[i], .len = strlen(names[i]) },
					   .kind = kind };
		const struct shell_word *text = jobs_written(files, &name, out);

		if (text)
			return text;
	}
	return NULL;
}

/* NAME = VALUE, also with := ::= ?= of a makefile. */
struct jobs_variable {
	char *forms[2]; /* $(NAME) and ${NAME} */
	struct shell_word value;
};

/* More are not looked at. */
#define VARIABLES_MAX 32

static bool jobs_is_name_char(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* False: @line sets none. */
static bool jobs_read_variable(const struct shell_word *line, struct shell_arena *arena,
			       struct jobs_variable *v)
{
	const char *s = line->text.s;
	size_t len = 0, from, to = line->text.len;

	while (jobs_is_name_char(s[len]))
		len++;
	from = len + strspn(s + len, " \t");
	from += strspn(s + from, ":?");
	if (!len || s[from] != '=')
		return false;
	from++;
	from += strspn(s + from, " \t");
	while (to > from && strchr(" \t", s[to - 1]))
		to--;
	for (size_t i = 0; i < 2; i++) {
		v->forms[i] = shell_alloc(arena, len + 4);
		v->forms[i][0] = '$';
		v->forms[i][1] = i ? '{' : '(';
		memcpy(v->forms[i] + 2, s, len);
		v->forms[i][len + 2] = i ? '}' : ')';
	}
	v->value = word_slice(line, from, to, arena);
	return true;
}

static size_t jobs_read_variables(const struct shell_word *lines, size_t n,
				  struct shell_arena *arena, struct jobs_variable *list)
{
	size_t count = 0;

	for (size_t i = 0; i < n && count < VARIABLES_MAX; i++)
		count += jobs_read_variable(&lines[i], arena, &list[count]);
	return count;
}

/* The later variable first: it may have taken the place of an earlier one, or be made of it. */
static struct shell_word jobs_expand(const struct shell_word *line,
				     const struct jobs_variable *list, size_t count,
				     struct action_list *out)
{
	struct shell_word text = *line;

	for (size_t i = count; i-- > 0 && strchr(text.text.s, '$');)
		for (size_t k = 0; k < 2 && action_charge(out, text.text.len); k++)
			if (strstr(text.text.s, list[i].forms[k]))
				text = word_replace(&text, list[i].forms[k],
						    strlen(list[i].forms[k]), &list[i].value,
						    out->budget, out->arena);
	return text;
}

/* The length of the plain name in @line, NAME: ...; 0: it is no rule of just that target. */
static size_t jobs_plain_target(const struct shell_word *line)
{
	const char *s = line->text.s;
	size_t len = 0, colons;

	while (jobs_is_name_char(s[len]) || s[len] == '-')
		len++;
	colons = strspn(s + len, ":");
	return colons && s[len + colons] != '=' ? len : 0;
}

/* Steps to look at a place that names a target. */
#define WORK_FOUND 16u

/* The next place from @s on where the name of @len characters at @name is a whole word; or NULL. */
static const char *jobs_find_name(const struct shell_word *text, const char *s, const char *name,
				  size_t len)
{
	const char *start = text->text.s, *end = start + text->text.len;

	while ((s = memmem(s, (size_t)(end - s), name, len)) != NULL) {
		if ((s == start || !jobs_is_name_char(s[-1])) && !jobs_is_name_char(s[len]))
			break;
		s += len;
	}
	return s;
}

/* Does @text name the target @name besides in its own rules and .PHONY? */
static bool jobs_needs(const struct shell_word *text, const char *name, size_t len,
		       struct action_list *out)
{
	const char *s = text->text.s, *line;

	while ((s = jobs_find_name(text, s, name, len)) != NULL && action_charge(out, WORK_FOUND)) {
		for (line = s; line > text->text.s && line[-1] != '\n';)
			line--;
		if (strncmp(line, ".PHONY", 6) != 0 && !(line == s && s[len] == ':'))
			return true;
		s += strcspn(s, "\n");
	}
	return false;
}

/* May @cmd make the target of @len characters at @name in the makefile @text? Not one that neither
 * of them names otherwise. */
static bool jobs_is_made(const struct command *cmd, const struct shell_word *text,
			 const char *name, size_t len, struct action_list *out)
{
	if (!action_charge(out, 1 + text->text.len / 8))
		return true;
	for (size_t i = 1; i < cmd->count; i++)
		if (word_has_unknown(&cmd->words[i]) ||
		    jobs_find_name(&cmd->words[i], cmd->words[i].text.s, name, len))
			return true;
	return jobs_needs(text, name, len, out);
}

/* The end of the reference $X, $(NAME) or ${NAME} at @s; NULL: it is $@ or the like. */
static const char *jobs_reference_end(const char *s)
{
	if (s[1] == '(' || s[1] == '{')
		return strchr(s, s[1] == '(' ? ')' : '}');
	return jobs_is_name_char(s[1]) ? s + 1 : NULL;
}

/* Behind the part of a plain name at @s, whose other parts are references. */
static const char *jobs_name_end(const char *s)
{
	const char *end;

	for (;; s++) {
		end = *s == '$' ? jobs_reference_end(s) : NULL;
		if (end)
			s = end;
		else if (!jobs_is_name_char(*s) && *s != '-')
			return s;
	}
}

/* Is the reference at @s a part of a name, as in $(X)name, name$(X) and $(X)$(Y), but not in
 * -I$(X) and $(X)/name? */
static bool jobs_is_in_name(const struct shell_word *text, const char *s)
{
	const char *end = jobs_reference_end(s), *start = s;

	while (start > text->text.s && (jobs_is_name_char(start[-1]) || start[-1] == '-'))
		start--;
	return end && *start != '-' && (start < s || jobs_name_end(end + 1) > end + 1) &&
	       !strchr("./=%", *jobs_name_end(end + 1)) &&
	       !(start > text->text.s && strchr("./=%", start[-1]));
}

/* Does the % at @s stand in a rule or variable? If not, it is in a recipe up to *@recipe. */
static bool jobs_is_pattern(const struct shell_word *text, const char *s, const char **recipe)
{
	const char *line = s;

	if (s < *recipe)
		return false;
	while (line > text->text.s && line[-1] != '\n')
		line--;
	*recipe = s + strcspn(s, "\n");
	return *line != '\t';
}

/* May the makefile make targets that it does not name: of other files, computed names, or a first
 * one that depends on a condition? %.o: %.c makes none with a plain name. */
static bool jobs_hides_names(const struct shell_word *text, struct action_list *out)
{
	static const char *const words[] = {
		"include", "sinclude", "ifeq", "ifneq", "ifdef", "ifndef", "define", "eval",
		"call", "foreach", "addprefix", "addsuffix", "join", "subst",
	};
	const char *s = text->text.s, *recipe = s, *word = s;

	if (word_has_unknown(text) || !action_charge(out, 1 + text->text.len / 8))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (jobs_find_name(text, s, words[i], strlen(words[i])))
			return true;
	for (; (s = strpbrk(s, "$%")) != NULL; s += 1 + (*s == '$' && s[1] == '$')) {
		if (*s == '%' && s[1] != '.' && jobs_is_pattern(text, s, &recipe))
			return true;
		if (*s == '%' || s < word || s[1] == '$')
			continue;
		if (jobs_reference_end(s))
			word = jobs_name_end(s);
		else if (s[1] == '(' || s[1] == '{')
			return true; /* it has no end */
		if (jobs_is_in_name(text, s))
			return true;
	}
	return false;
}

/* Of more it is not asked who names them: that searches the text for each. */
#define RULES_MAX 256u

/* Lines of recipes, and the text after ; in a rule. */
static void jobs_recipes(const struct command *cmd, const struct shell_word *text,
			 struct action_list *out)
{
	struct shell_word *lines = NULL;
	size_t n = word_items(text, true, out->budget, out->arena, &lines), count;
	struct jobs_variable *list = shell_alloc(out->arena, VARIABLES_MAX * sizeof(*list));
	bool made = true, all = jobs_hides_names(text, out);
	size_t rules = 0;

	count = jobs_read_variables(lines, n, out->arena, list);
	for (size_t i = 0; i < n; i++) {
		const char *s = lines[i].text.s, *recipe = s[0] == '\t' ? s : strchr(s, ';');
		size_t target = jobs_plain_target(&lines[i]);
		struct shell_word line;

		if (target) /* the first is made without a name */
			made = all || !rules++ || rules > RULES_MAX ||
			       jobs_is_made(cmd, text, s, target, out);
		else if (!strchr("\t#", s[0]))
			made = true;
		if (!recipe || !made)
			continue;
		recipe += 1 + strspn(recipe + 1, " \t@+-"); /* @: make does not print it */
		line = word_slice(&lines[i], (size_t)(recipe - s), lines[i].text.len, out->arena);
		line = jobs_expand(&line, list, count, out);
		action_text(out, &line, LINE_FLAGS | ACTION_RECIPE);
	}
}

void read_make(const struct command *cmd, struct action_list *out)
{
	bool named, input;
	const struct shell_word *text = jobs_makefile_text(cmd, out, &named, &input);

	if (!named && !jobs_is_repeated(cmd->at) && cmd->at->files && cmd->at->files->count)
		text = jobs_written_makefile(cmd->at->files, out);
	if (input)
		action_flow(out, cmd->at->input_flow, cmd->words, cmd->count);
	if (text)
		jobs_recipes(cmd, text, out);
}
