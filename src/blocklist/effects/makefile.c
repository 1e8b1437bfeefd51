/*
 * make: the recipes of a makefile whose text is known, and what $(shell ...) and != run in it.
 *
 * All recipes count, but for a rule that make cannot come to: of just one target with a plain
 * name, not the first of the file, that neither the command nor another line names. Where the
 * makefile may make names that it does not spell out, each rule counts.
 */
#include "blocklist/effects/readers.h"

#include "base/mem.h"
#include "base/str.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/files.h"
#include "blocklist/effects/makefile_lines.h"
#include "blocklist/effects/makefile_names.h"

/* Bytes that a step reads of a name with references. */
#define WORK_READ 4u
/* Steps for a reference and for a variable, besides their bytes. */
#define WORK_VARIABLE 20u
/* Values in values that are followed. */
#define VALUES_MAX 32

struct makefile {
	const struct command *cmd; /* that runs it */
	const struct shell_word *text;
	struct shell_word *lines;
	size_t count;
	struct makefile_names variables;
	struct makefile_names targets; /* with plain names; marked: may be made */
	bool sets_others; /* by include, define or a function it may set any variable, or target */
	struct action_list *out;
};

/* ---- the makefile ---- */

/* The file of make's -f, --file or --makefile at word *@i, or NULL. */
static const struct shell_word *makefile_option(const struct command *cmd, size_t *i,
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

/* The one that make takes without -f, if earlier commands wrote it; or NULL. */
static const struct shell_word *makefile_default(const struct command *cmd,
						 struct action_list *out)
{
	static const char *const names[] = { "Makefile", "makefile", "GNUmakefile" };
	static const uint8_t kind[16];
	const struct shell_word *text = NULL;

	for (size_t i = 0; i < 3 && !text; i++) {
		struct shell_word name = { .text = { .s = names[i], .len = strlen(names[i]) },
					   .kind = kind };

		text = files_text(cmd->at->files, &name, out);
	}
	return text;
}

/* The known text of -f NAME, -f - or -f <(...), or of the default makefile; or NULL. */
static const struct shell_word *makefile_text(const struct command *cmd, struct action_list *out)
{
	const struct shell_word *file, *text;
	bool named = false;

	for (size_t i = 1; i < cmd->count; i++) {
		file = makefile_option(cmd, &i, out);
		if (!file)
			continue;
		named = true;
		if (word_is_stdin(file)) {
			action_flow(out, cmd->at->input_flow, cmd->words, cmd->count);
			return place_input(cmd->at);
		}
		text = files_text(cmd->at->files, file, out);
		if (text)
			return text;
	}
	return named || place_is_repeated(cmd->at) ? NULL : makefile_default(cmd, out);
}

/* ---- lines ---- */

/* Behind the reference $X, $(NAME) or ${NAME} at @s, which may hold others; NULL: it is $@ or the
 * like, or has no end. */
static const char *makefile_reference_end(const char *s)
{
	char opening = s[1], closing = opening == '(' ? ')' : '}';
	size_t depth = 0;

	if (opening != '(' && opening != '{')
		return str_is_name_char(opening) ? s + 2 : NULL;
	for (s++; *s; s++) {
		depth += *s == opening;
		depth -= *s == closing;
		if (!depth)
			return s + 1;
	}
	return NULL;
}

/* The = of the assignment in @line, to a variable or to one of a target; or NULL. */
static const char *makefile_assignment(const struct shell_word *line)
{
	const char *s = line->text.s, *end;

	if (*s == '\t')
		return NULL;
	for (; *s && *s != ';'; s = end) {
		if (*s == '=')
			return s;
		end = s + 1 + (s[0] == '$' && s[1] == '$');
		if (*s == '$' && (s[1] == '(' || s[1] == '{'))
			end = makefile_reference_end(s);
		if (!end)
			break; /* make takes no such line */
	}
	return NULL;
}

/* The text of the reference $(shell TEXT) or ${shell TEXT} at @s, up to *@end; or NULL. */
static const char *makefile_shell(const char *s, const char **end)
{
	if ((s[1] != '(' && s[1] != '{') || strncmp(s + 2, "shell", 5) != 0 || !s[7] ||
	    !strchr(" \t\\", s[7]))
		return NULL;
	*end = makefile_reference_end(s);
	*end = *end ? *end - 1 : s + strlen(s);
	return s + 8;
}

/* ---- variables ---- */

/* A value that is put into a text, and those around it. */
struct makefile_open {
	const struct shell_word *value;
	const struct makefile_open *around;
};

/* Is @value one of those at @open, or are these too many? */
static bool makefile_is_open(const struct makefile_open *open, const struct shell_word *value)
{
	unsigned count = 0;

	for (; open && open->value != value && count < VALUES_MAX; open = open->around)
		count++;
	return open != NULL;
}

/* The value of the reference $X, $(NAME) or ${NAME} at @s, of *@len characters; or NULL. */
static const struct shell_word *makefile_value(const struct makefile *m, const char *s, size_t *len)
{
	char closing = s[1] == '(' ? ')' : '}';
	size_t name;

	if (s[1] != '(' && s[1] != '{') {
		*len = 2;
		return str_is_name_char(s[1]) ? makefile_names_value(&m->variables, s + 1, 1)
						 : NULL;
	}
	name = strcspn(s + 2, " \t:$)}");
	*len = name + 3;
	return s[2 + name] == closing ? makefile_names_value(&m->variables, s + 2, name) : NULL;
}

/* Is the reference at @s, of @len characters, $(NAME) of a variable that neither the makefile nor
 * make sets? It is that of the environment, as ${NAME} is to the shell. */
static bool makefile_is_of_environment(const struct makefile *m, const char *s, size_t len)
{
	static const char own[] =
		" CURDIR MAKE MAKEFLAGS MAKEFILES MAKEFILE_LIST MAKECMDGOALS MAKELEVEL "
		"MAKEOVERRIDES MFLAGS SHELL SUFFIXES VPATH RM CC CXX CPP AR AS LD FC LEX YACC TEX ";
	size_t name = len - 3;

	if (m->sets_others || s[1] != '(' || s[len - 1] != ')' || !name ||
	    (s[2] >= '0' && s[2] <= '9'))
		return false;
	for (size_t i = 0; i < name; i++)
		if (!str_is_name_char(s[2 + i]))
			return false;
	return !list_has(own, s + 2, name) && !makefile_names_has(&m->variables, s + 2, name);
}

/* Add ${NAME} to @all for the reference $(NAME) of @len characters at @at in @text. */
static void makefile_put_environment(const struct makefile *m, struct word_builder *all,
				     const struct shell_word *text, size_t at, size_t len)
{
	struct action_list *out = m->out;
	const struct shell_word parts[] = {
		word_fixed("${", SHELL_LITERAL, text, out->arena),
		word_slice(text, at + 2, at + len - 1, out->arena),
		word_fixed("}", SHELL_LITERAL, text, out->arena),
	};

	for (size_t i = 0; i < COUNT_OF(parts); i++)
		word_grow(all, &parts[i], out->budget, out->arena);
}

/* Add @text to @all with the values of its variables, which stands in @around. */
static void makefile_put(const struct makefile *m, struct word_builder *all,
			 const struct shell_word *text, const struct makefile_open *around)
{
	struct action_list *out = m->out;
	const char *start = text->text.s, *from = start, *s = start;
	struct makefile_open open = { .around = around };
	struct shell_word part;
	size_t len;

	while ((s = strchr(s, '$')) != NULL && action_charge(out, WORK_VARIABLE)) {
		open.value = makefile_value(m, s, &len);
		if (open.value ? makefile_is_open(around, open.value)
			       : !makefile_is_of_environment(m, s, len)) {
			s += 1 + (s[1] == '$');
			continue;
		}
		part = word_slice(text, (size_t)(from - start), (size_t)(s - start), out->arena);
		word_grow(all, &part, out->budget, out->arena);
		if (open.value)
			makefile_put(m, all, open.value, &open);
		else
			makefile_put_environment(m, all, text, (size_t)(s - start), len);
		from = s += len;
	}
	part = word_slice(text, (size_t)(from - start), text->text.len, out->arena);
	word_grow(all, &part, out->budget, out->arena);
}

/* @text with the values of its variables. */
static struct shell_word makefile_expand(const struct makefile *m, const struct shell_word *text)
{
	struct word_builder all = { .s = NULL };
	struct shell_word expanded;

	if (!strchr(text->text.s, '$'))
		return *text;
	makefile_put(m, &all, text, NULL);
	if (!all.s)
		return *text; /* the budget is spent */
	expanded = word_grown(&all);
	expanded.start = text->start;
	expanded.end = text->end;
	return expanded;
}

/* @text as what $(shell @text) prints. */
static struct shell_word makefile_printed(const struct shell_word *text, struct shell_arena *arena)
{
	const struct shell_word parts[] = {
		word_fixed("$(shell ", SHELL_LITERAL, text, arena), *text,
		word_fixed(")", SHELL_LITERAL, text, arena),
	};

	return word_concat_all(parts, 3, arena);
}

/* The length of the reference to the name of @len characters at @name that begins @value; or 0. */
static size_t makefile_own_reference(const struct shell_word *value, const char *name, size_t len)
{
	const char *s = value->text.s;

	if (value->text.len < len + 3 || s[0] != '$' || memcmp(s + 2, name, len) != 0)
		return 0;
	if ((s[1] == '(' && s[2 + len] == ')') || (s[1] == '{' && s[2 + len] == '}'))
		return len + 3;
	return 0;
}

/* Set the variable of @len characters at @name to @value, as the character before the = says. */
static void makefile_set(struct makefile *m, const char *name, size_t len,
			 struct shell_word *value, char operator)
{
	struct makefile_names *variables = &m->variables;
	struct shell_arena *arena = m->out->arena;
	size_t own = operator == ':' ? makefile_own_reference(value, name, len) : 0;
	struct shell_word blank;

	if (operator == '+' && makefile_names_value(variables, name, len)) {
		blank = word_fixed(" ", SHELL_LITERAL, value, arena);
		*value = word_concat(&blank, value, arena);
	}
	if (operator == '!')
		*value = makefile_printed(value, arena);
	if (own)
		*value = word_slice(value, own, value->text.len, arena);
	if (operator == ':' || operator == '!')
		*value = makefile_expand(m, value);
	if (operator == '+' || own)
		makefile_names_append(variables, name, len, value);
	else
		makefile_names_set(variables, name, len, value, operator != '?');
}

/*
 * Add the variable that @line sets, a line or a word of the command. What := and != set is made
 * of the values so far. One of a target does not count: other targets have another.
 */
static void makefile_read_variable(struct makefile *m, const struct shell_word *line)
{
	const char *s = line->text.s, *assign = makefile_assignment(line), *end, *name;
	size_t from, to = line->text.len;
	struct shell_word *value;
	char operator;

	if (!assign || !action_charge(m->out, WORK_VARIABLE + to))
		return;
	operator = assign > s ? assign[-1] : '\0';
	for (end = assign; end > s && strchr(":?+!", end[-1]);)
		end--;
	while (end > s && strchr(" \t", end[-1]))
		end--;
	for (name = end; name > s && !strchr(" \t:", name[-1]);)
		name--;
	if (memchr(s, ':', (size_t)(name - s))) {
		makefile_names_add(&m->variables, name, (size_t)(end - name));
		return;
	}
	from = (size_t)(assign + 1 - s) + strspn(assign + 1, " \t");
	while (to > from && strchr(" \t", s[to - 1]))
		to--;
	value = shell_alloc(m->out->arena, sizeof(*value));
	*value = word_slice(line, from, to, m->out->arena);
	makefile_set(m, name, (size_t)(end - name), value, operator);
}

/* Those of its lines and of the command, and the home that make has from its environment. */
static void makefile_read_variables(struct makefile *m)
{
	struct shell_word *home = shell_alloc(m->out->arena, sizeof(*home));

	*home = word_fixed("${HOME}", SHELL_LITERAL, &m->cmd->words[0], m->out->arena);
	makefile_names_init(&m->variables, m->count, m->out);
	makefile_names_set(&m->variables, "HOME", 4, home, true);
	for (size_t i = 0; i < m->count; i++)
		makefile_read_variable(m, &m->lines[i]);
	for (size_t i = 1; i < m->cmd->count; i++)
		makefile_read_variable(m, &m->cmd->words[i]);
}

/* ---- who names a target ---- */

static bool makefile_is_target_char(char c)
{
	return str_is_name_char(c) || c == '-';
}

/* The length of what stands before a colon at the start of the line, if it may be a name; or 0. */
static size_t makefile_head(const char *s)
{
	size_t len = 0;

	while (makefile_is_target_char(s[len]))
		len++;
	return s[len] == ':' ? len : 0;
}

/* The length of the plain name in @line, NAME: ...; 0: it is no rule of just that target. */
static size_t makefile_plain_target(const struct shell_word *line)
{
	const char *s = line->text.s;
	size_t len = makefile_head(s);
	bool is_name = len && str_is_name_char(*s) && str_is_name_char(s[len - 1]);

	return is_name && !makefile_assignment(line) ? len : 0;
}

/* Collect the plain targets, and mark the first, and those that the command or a line outside of
 * their rule names. .PHONY names none. */
static void makefile_mark_targets(struct makefile *m)
{
	struct makefile_names *targets = &m->targets;
	struct shell_word first = { .text = { .s = "" } };
	const struct makefile_name *own = NULL;
	size_t len;

	makefile_names_init(targets, m->count, m->out);
	for (size_t i = 0; i < m->count; i++) {
		len = makefile_plain_target(&m->lines[i]);
		if (len && !first.text.len)
			first = word_slice(&m->lines[i], 0, len, m->out->arena);
		if (len)
			makefile_names_add(targets, m->lines[i].text.s, len);
	}
	makefile_names_mark(targets, &first, NULL);
	for (size_t i = 0; i < m->count; i++) {
		if (!strchr("\t#", m->lines[i].text.s[0])) {
			len = makefile_head(m->lines[i].text.s);
			own = len ? makefile_names_get(targets, m->lines[i].text.s, len) : NULL;
		}
		if (!word_begins(&m->lines[i], ".PHONY"))
			makefile_names_mark(targets, &m->lines[i], own);
	}
	for (size_t i = 1; i < m->cmd->count; i++)
		makefile_names_mark(targets, &m->cmd->words[i], NULL);
}

/* ---- names that are not spelt out ---- */

/* Does @text have the name of @len characters at @name as a word? */
static bool makefile_has_word(const struct shell_word *text, const char *name, size_t len)
{
	const char *start = text->text.s, *s = start, *end = start + text->text.len;

	for (; (s = memmem(s, (size_t)(end - s), name, len)) != NULL; s += len)
		if ((s == start || !str_is_name_char(s[-1])) && !str_is_name_char(s[len]))
			return true;
	return false;
}

/* Of other files, computed, or of a first rule that depends on a condition. */
static bool makefile_has_directive(const struct shell_word *text)
{
	static const char *const words[] = {
		"include", "sinclude", "ifeq", "ifneq", "ifdef", "ifndef", "define", "eval",
		"call", "foreach", "addprefix", "addsuffix", "join", "subst",
	};

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (makefile_has_word(text, words[i], strlen(words[i])))
			return true;
	return false;
}

/* Has a rule or variable a pattern that plain names match? %.o: %.c and out/%: cmd/% match none. */
static bool makefile_has_pattern(const struct makefile *m)
{
	for (size_t i = 0; i < m->count; i++) {
		const char *start = m->lines[i].text.s, *s = start;

		if (*s == '\t')
			continue;
		for (; (s = strchr(s, '%')) != NULL; s++)
			if (s[1] != '.' && (s == start || s[-1] != '/'))
				return true;
	}
	return false;
}

/* Behind the characters of a target and the references at @s. */
static const char *makefile_name_end(const char *s)
{
	const char *end;

	for (;; s = end) {
		end = *s == '$' ? makefile_reference_end(s) : NULL;
		if (!end && makefile_is_target_char(*s))
			end = s + 1;
		if (!end)
			return s;
	}
}

/* Does @name begin a word of @line, behind ./ or not, or its value, which follows @assign? */
static bool makefile_begins_word(const struct shell_word *line, const char *name,
				 const char *assign)
{
	const char *word = name;

	while (word > line->text.s && strchr("./", word[-1]))
		word--;
	if (word > line->text.s && word - 1 != assign &&
	    (makefile_is_target_char(word[-1]) || strchr("=%", word[-1])))
		return false;
	while (word[0] == '.' && word[1] == '/')
		word += 1 + strspn(word + 1, "/");
	return word == name;
}

/* Does @c, behind a name, make it that of a file, of a pattern or of a variable? */
static bool makefile_goes_on(char c)
{
	return c && strchr("./=%", c);
}

/* Is a plain name made with a reference, as in $(X)name, name$(X) and $(X)$(Y), but not -I$(X) and
 * $(X)/name? */
static bool makefile_computes_name(const struct shell_word *line, struct action_list *out)
{
	const char *s = line->text.s, *assign = makefile_assignment(line), *start, *reference, *end;

	while ((s = strchr(s, '$')) != NULL) {
		reference = makefile_reference_end(s);
		if (!reference && (s[1] == '(' || s[1] == '{'))
			return true; /* it has no end */
		if (!reference) {
			s += 1 + (s[1] == '$');
			continue;
		}
		end = makefile_name_end(reference);
		for (start = s; start > line->text.s && makefile_is_target_char(start[-1]);)
			start--;
		if (!action_charge(out, (size_t)(end - start) / WORK_READ))
			return true;
		if ((start < s || end > reference) && *start != '-' && !makefile_goes_on(*end) &&
		    makefile_begins_word(line, start, assign))
			return true;
		s += 2; /* it may hold others */
		if (!memchr(s, '$', (size_t)(reference - s)))
			s = end;
	}
	return false;
}

static bool makefile_computes_names(const struct makefile *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (makefile_computes_name(&m->lines[i], m->out))
			return true;
	return false;
}

/* Does a shell print names in @line: those of a rule, or those that a recipe gives to make? */
static bool makefile_shell_names(const struct makefile *m, const struct shell_word *line)
{
	struct shell_word all;
	const char *s, *end;

	if (*line->text.s == '#' || makefile_assignment(line) || !strchr(line->text.s, '$') ||
	    (*line->text.s == '\t' ? !makefile_has_word(line, "MAKE", 4)
				   : !strchr(line->text.s, ':')))
		return false;
	all = makefile_expand(m, line);
	for (s = all.text.s; (s = strchr(s, '$')) != NULL; s++) {
		if (!makefile_shell(s, &end))
			continue;
		if (!action_charge(m->out, (size_t)(end - s) / WORK_READ) ||
		    makefile_begins_word(&all, s, NULL))
			return true;
	}
	return false;
}

static bool makefile_asks_shell(const struct makefile *m)
{
	const struct shell_word *text = m->text;

	if (!makefile_has_word(text, "shell", 5) && !memmem(text->text.s, text->text.len, "!=", 2))
		return false;
	for (size_t i = 0; i < m->count; i++)
		if (makefile_shell_names(m, &m->lines[i]))
			return true;
	return false;
}

/* May the command run a rule that nothing names? A word of it that is not known may name any. */
static bool makefile_hides_names(const struct makefile *m)
{
	for (size_t i = 1; i < m->cmd->count; i++)
		if (word_has_unknown(&m->cmd->words[i]))
			return true;
	return m->sets_others || makefile_has_pattern(m) || makefile_computes_names(m);
}

/* ---- recipes ---- */

/* @text with each @old as @new. */
static struct shell_word makefile_replace(const struct shell_word *text, const char *old,
					  const char *new, struct action_list *out)
{
	struct shell_word value;

	if (!strstr(text->text.s, old))
		return *text;
	value = word_fixed(new, SHELL_LITERAL, text, out->arena);
	return word_replace(text, old, strlen(old), &value, out->budget, out->arena);
}

/* How much of the recipe @s make does not give to a shell: @ and the like, and what $(if ...) makes
 * of them. */
static size_t makefile_recipe_start(const char *s)
{
	const char *at = s, *end = s;

	while (end) {
		at = end + strspn(end, " \t@+-");
		end = strncmp(at, "$(if ", 5) == 0 ? makefile_reference_end(at) : NULL;
		end = end && str_is_name_char(*end) ? end : NULL;
	}
	return (size_t)(at - s);
}

/* Add bytes [from, to) of @line, which make gives to a shell. */
static void makefile_add(const struct makefile *m, const struct shell_word *line, size_t from,
			 size_t to)
{
	struct action_list *out = m->out;
	struct shell_word text = word_slice(line, from, to, out->arena);

	text = makefile_expand(m, &text);
	text = word_slice(&text, makefile_recipe_start(text.text.s), text.text.len, out->arena);
	text = makefile_replace(&text, "$$", "\1", out); /* begins nothing for make */
	text = makefile_replace(&text, "$(shell ", "$(", out); /* which prints the same */
	text = makefile_replace(&text, "$(if ", "$(or ", out); /* no keyword of the shell */
	text = makefile_replace(&text, "\1", "$", out);
	action_text(out, &text, ACTION_LENIENT | ACTION_NO_INPUT | ACTION_RECIPE);
}

/* Add what make runs where it expands @line or sets its variable by !=. Quotes around it do not
 * count for make. */
static void makefile_add_shells(const struct makefile *m, const struct shell_word *line)
{
	const char *start = line->text.s, *assign = makefile_assignment(line), *s, *text, *end;

	if (assign && assign > start && assign[-1] == '!')
		makefile_add(m, line, (size_t)(assign + 1 - start), line->text.len);
	for (s = start; (s = strchr(s, '$')) != NULL; s++) {
		text = makefile_shell(s, &end);
		if (text && !action_charge(m->out, (size_t)(end - text)))
			return;
		if (text)
			makefile_add(m, line, (size_t)(text - start), (size_t)(end - start));
	}
}

/* Lines of recipes, the text after ; in a rule, and what a shell prints for any line. */
static void makefile_recipes(struct makefile *m)
{
	bool all, made = true;
	size_t target;

	m->sets_others = word_has_unknown(m->text) ||
			 !action_charge(m->out, 1 + m->text->text.len / 8) ||
			 makefile_has_directive(m->text);
	all = makefile_hides_names(m);
	makefile_read_variables(m);
	all = all || makefile_asks_shell(m);
	if (!all)
		makefile_mark_targets(m);
	for (size_t i = 0; i < m->count; i++) {
		const struct shell_word *line = &m->lines[i];
		const char *s = line->text.s, *recipe = s[0] == '\t' ? s : strchr(s, ';');

		target = makefile_plain_target(line);
		if (target)
			made = all || makefile_names_marked(&m->targets, s, target);
		else if (!strchr("\t#", s[0]))
			made = true;
		if (s[0] == '#' || (s[0] == '\t' && !made))
			continue;
		makefile_add_shells(m, line);
		if (recipe && made)
			makefile_add(m, line, (size_t)(recipe + 1 - s), line->text.len);
	}
}

void read_make(const struct command *cmd, struct action_list *out)
{
	struct makefile m = { .cmd = cmd, .text = makefile_text(cmd, out), .out = out };

	if (!m.text)
		return;
	m.count = makefile_lines(cmd, m.text, out, &m.lines);
	makefile_recipes(&m);
}
