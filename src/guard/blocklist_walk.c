#include "guard/blocklist_walk.h"

#include <string.h>

#include "base/mem.h"
#include "guard/blocklist_bomb.h"
#include "guard/blocklist_flow.h"
#include "guard/blocklist_stage.h"

/* Steps of the budget for a command, a word, and names that a pattern is compared with. */
#define WORK_COMMAND 20u
#define WORK_WORD 4u
#define WORK_REDIRECT 60u
#define WORK_PATTERN 1200u
/* And where the length, the first and the last character are not known. */
#define WORK_PATTERN_OPEN 6000u
/* What wrappers and code may put together. */
#define MEMORY_MAX (16u << 20)
/* More than the longest request over the protocol has room for. */
#define COMMANDS_MAX 70000u
/*
 * The steps of a verdict, of 3 ns or less each: a text of up to WORK_SHORT bytes may take
 * one millisecond, whatever its loops and functions make of it. A longer one is a program,
 * and gets more for each byte, up to the most that any verdict may take.
 */
#define WORK_BASE 330000u
#define WORK_SHORT 10000u
#define WORK_BYTE 240u
#define WORK_MAX 4800000u
/* A longer input does not go through the parser: every command may be the one that reads it. */
#define INPUT_MAX (32u << 10)
/* Names with unknown parts that are compared with all names of the table. */
#define PATTERNS_MAX 100
/* Subshells in each other whose working directories are told apart. */
#define SUBSHELLS_MAX 8
/* With more functions than this, none hides a program. */
#define FUNCTIONS_MAX 64

bool walk_found(struct blocklist_walk *w, const char *id, uint32_t start, uint32_t end)
{
	return blocklist_found(id, start, end, &w->finding);
}

bool walk_too_complex(struct blocklist_walk *w, uint32_t at)
{
	return walk_found(w, "text.too_complex", at, at);
}

/* ---- one command ---- */

bool walk_named(struct blocklist_walk *w, const struct blocklist_name *name,
		       const struct shell_word *words, size_t count, bool guess,
		       const struct blocklist_stage *at)
{
	if (walk_charge_words(w, words, count))
		return walk_too_complex(w, words[0].start);
	w->rules.each = at->each;
	if (blocklist_judge_program(&w->rules, name, words, count, guess, &w->finding))
		return true;
	if (walk_spent(w, 0))
		return walk_too_complex(w, words[0].start);
	return !guess && name->wrapper && walk_wrapper(w, name->wrapper, words, count, at);
}

/* The program is not known, but its words fit one that nobody would run on them. */
static bool walk_unknown_name(struct blocklist_walk *w, const struct shell_word *words,
			      size_t count, const struct blocklist_stage *at)
{
	struct blocklist_args *args = &w->rules.args;
	const struct blocklist_name *guesses[] = { blocklist_lookup("rm", 2),
						   blocklist_lookup("chmod", 5),
						   blocklist_lookup("dd", 2) };

	bool itself = at->script && at->index != SHELL_NONE &&
		      words == at->script->commands[at->index].words;
	unsigned flow = walk_word_flow(at, &words[0]);

	if (walk_flow(w, itself ? flow : flow & FLOW_REMOTE, words, 1))
		return true;
	if (count < 2)
		return false;
	blocklist_args_read(args, words, count, NULL, false);
	w->rules.each = false;
	for (size_t i = 0; i < COUNT_OF(guesses); i++) {
		if (i == 0 && !(blocklist_args_has(args, " -f --force ") &&
				blocklist_args_has(args, " -r -R --recursive ")))
			continue;
		if (blocklist_judge_program(&w->rules, guesses[i], words, count, true, &w->finding))
			return true;
	}
	/* It may be empty, or a wrapper like sudo. */
	return words[1].text.len && words[1].text.s[0] != '-' && !word_unknown_at(&words[1], 0) &&
	       walk_words(w, words + 1, count - 1, at);
}

/* A pattern for names, and what tells most names apart from it at a glance. */
struct name_pattern {
	char *text;
	size_t len;
	char first;  /* 0: any */
	char last;   /* the same */
	size_t least; /* characters that it stands for */
	bool open;   /* or more */
};

/* Lengths of the names of the table. */
static uint8_t name_lengths[2048];

static void fill_lengths(void)
{
	BUG_IF(blocklist_name_count > COUNT_OF(name_lengths));
	for (unsigned i = 0; i < blocklist_name_count; i++)
		name_lengths[i] = (uint8_t)strlen(blocklist_names[i].name);
}

static struct name_pattern make_pattern(const struct shell_text *base, const uint8_t *kind,
					struct shell_arena *arena)
{
	struct name_pattern p = { .text = shell_alloc(arena, base->len * 2 + 1) };

	for (size_t i = 0; i < base->len; i++) {
		bool glob = kind[i] == SHELL_GLOB && base->s[i] != ']';
		bool plain = kind[i] == SHELL_LITERAL;

		if (glob && base->s[i] == '[')
			while (i + 1 < base->len && base->s[i] != ']')
				i++;
		if (plain && strchr("*?\\", base->s[i]))
			p.text[p.len++] = '\\';
		else if (plain && !p.len)
			p.first = base->s[i];
		p.text[p.len] = plain ? base->s[i] : glob && base->s[i] != '*' ? '?' : '*';
		p.last = plain ? base->s[i] : '\0';
		p.least += plain || p.text[p.len] == '?';
		p.open |= !plain && p.text[p.len] == '*';
		p.len++;
	}
	return p;
}

static bool pattern_fits(const struct name_pattern *p, unsigned i)
{
	const char *name = blocklist_names[i].name;
	size_t len = name_lengths[i];

	if ((p->first && name[0] != p->first) || (p->last && name[len - 1] != p->last) ||
	    (p->open ? len < p->least : len != p->least))
		return false;
	return blocklist_glob_fits(p->text, p->len, name, len);
}

/* A name with globs or unknown parts: each name of the table that fits it. */
static bool walk_pattern_name(struct blocklist_walk *w, const struct shell_text *base,
			      const uint8_t *kind, const struct shell_word *words, size_t count,
			      const struct blocklist_stage *at)
{
	struct name_pattern pattern;

	if (strpbrk(base->s, " \t\n")) /* no program has such a name */
		return false;
	if (w->rules.patterns++ >= PATTERNS_MAX)
		return walk_too_complex(w, words[0].start);
	if (!name_lengths[0])
		fill_lengths();
	pattern = make_pattern(base, kind, &w->arena);
	shell_budget_take(&w->budget, pattern.open && !pattern.first && !pattern.last
					      ? WORK_PATTERN_OPEN : WORK_PATTERN);
	for (unsigned i = 0; i < blocklist_name_count; i++)
		if (pattern_fits(&pattern, i) &&
		    walk_named(w, &blocklist_names[i], words, count, false, at))
			return true;
	return false;
}

/* A function of the text hides the program of its name, unless one could take it away. */
static bool is_function(const struct blocklist_stage *at, const struct shell_word *word)
{
	const struct shell_script *s = at->script;
	uint32_t start;

	if (!s || !s->function_count || s->function_count > FUNCTIONS_MAX ||
	    at->index == SHELL_NONE ||
	    word != &s->commands[at->index].words[0])
		return false;
	start = s->commands[at->index].start;
	for (size_t i = 0; i < s->function_count; i++)
		if (s->functions[i].name[0] == word->text.s[0] &&
		    strcmp(s->functions[i].name, word->text.s) == 0 &&
		    (s->functions[i].end <= start ||
		     (s->functions[i].start <= start && start < s->functions[i].end)))
			return true;
	return false;
}

/* A literal pattern at the start of the command. */
static bool literal_command(struct blocklist_walk *w, const struct shell_text *base,
			    const struct shell_word *words, size_t count)
{
	struct shell_word joined;
	size_t skip = words[0].text.len - base->len;

	if (!w->literals)
		return false;
	joined = shell_wrap_join(words, count, &w->arena);
	if (!blocklist_literal_at_start(joined.text.s + skip, joined.text.len - skip, &w->literal))
		return false;
	w->finding.start = words[0].start;
	w->finding.end = words[count - 1].end;
	return true;
}

static bool has_pattern(const struct shell_text *base, const uint8_t *kind)
{
	for (size_t i = 0; i < base->len; i++)
		if (kind[i] != SHELL_LITERAL)
			return true;
	return false;
}

/*
 * A pattern that fits nearly any name says nothing: one with less than a letter, or two
 * letters beside an unknown part; but /sbin/???? says its length.
 */
static bool fits_any(const struct shell_word *word, const struct shell_text *base,
		     const uint8_t *kind)
{
	size_t letters = 0;
	bool open = false, unknown = false;

	for (size_t i = 0; i < base->len; i++) {
		char c = base->s[i];

		letters += kind[i] == SHELL_LITERAL &&
			   ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
		unknown |= kind[i] != SHELL_LITERAL && kind[i] != SHELL_GLOB;
		open |= c == '*' && kind[i] == SHELL_GLOB;
	}
	if (unknown)
		return letters < 2;
	return !letters && (open || word->text.s[0] != '/');
}

/* /etc/init.d/ufw stop is service ufw stop */
static bool walk_init_script(struct blocklist_walk *w, const struct shell_word *words,
			     size_t count, const struct blocklist_stage *at)
{
	const char *s = words[0].text.s, *slash = strrchr(s, '/');
	struct shell_word *list;

	if (!slash || (strncmp(s, "/etc/init.d/", 12) && strncmp(s, "/etc/rc.d/", 10)))
		return false;
	list = shell_alloc(&w->arena, (count + 1) * sizeof(*list));
	list[0] = words[0];
	list[1] =
		shell_wrap_slice(&words[0], (size_t)(slash + 1 - s), words[0].text.len, &w->arena);
	memcpy(list + 2, words + 1, (count - 1) * sizeof(*list));
	return walk_named(w, blocklist_lookup("service", 7), list, count + 1, false, at);
}

/* ./x.sh, which the text wrote before, or ./x, which is a copy of a program. */
static bool walk_own_file(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			  const struct blocklist_stage *at)
{
	const struct blocklist_file *f = blocklist_file_find(&w->files, &words[0]);
	struct shell_wrap wrap = { .kind = WRAP_FILE, .words = words, .count = count };
	struct blocklist_stage inner = *at;
	struct shell_word *list;

	inner.lenient = true;
	if (!f->program && !strchr(words[0].text.s, '/')) /* looked for in PATH, not here */
		return false;
	if (f->program) {
		list = shell_alloc(&w->arena, count * sizeof(*list));
		memcpy(list, words, count * sizeof(*list));
		list[0] = f->content;
		list[0].start = words[0].start;
		list[0].end = words[0].end;
		return walk_words(w, list, count, at);
	}
	return walk_file(w, &wrap, false, &inner);
}

static bool walk_program(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			 const struct blocklist_stage *at)
{
	bool foreign;
	struct shell_text base = blocklist_base_name(&words[0], &foreign);
	const uint8_t *kind = words[0].kind + (base.s - words[0].text.s);
	const struct blocklist_name *name;

	if (!base.len)
		return count > 1 && !words[0].text.len && walk_words(w, words + 1, count - 1, at);
	if (base.len == 1 && word_unknown_at(&words[0], words[0].text.len - 1))
		return walk_unknown_name(w, words, count, at);
	if (has_pattern(&base, kind) && fits_any(&words[0], &base, kind))
		return false;
	if (has_pattern(&base, kind))
		return walk_pattern_name(w, &base, kind, words, count, at);
	if (is_function(at, &words[0]))
		return false;
	if (literal_command(w, &base, words, count) || walk_init_script(w, words, count, at))
		return true;
	if (w->files.count && blocklist_file_find(&w->files, &words[0]) &&
	    walk_own_file(w, words, count, at))
		return true;
	name = blocklist_lookup(base.s, base.len);
	if (name && walk_named(w, name, words, count, foreign && !name->wrapper, at))
		return true;
	return walk_special(w, base.s, base.len, words, count, at) ||
	       walk_more(w, name, base.s, base.len, words, count, at) ||
	       (name && (name->flow & FLOW_KIND_HIDDEN) &&
		walk_hidden(w, name, words, count, at));
}

bool walk_words(struct blocklist_walk *w, const struct shell_word *words, size_t count,
		       const struct blocklist_stage *at)
{
	bool blocked;

	if (!count)
		return false;
	if (w->depth >= WALK_DEPTH_MAX || walk_spent(w, WORK_COMMAND + WORK_WORD * count))
		return walk_too_complex(w, words[0].start);
	w->depth++;
	blocked = walk_program(w, words, count, at);
	w->depth--;
	return blocked;
}

/* ---- one script ---- */

/* : > FILE empties it. */
static bool writes_nothing(const struct shell_command *c)
{
	const struct shell_word *w = c->words;

	if (c->word_count == 0)
		return true;
	if (c->word_count == 1)
		return word_is(w, ":") || word_is(w, "true") || word_is(w, "echo");
	return c->word_count == 2 &&
	       (word_is(w, "cat") || word_is(w, "echo") || word_is(w, "printf")) &&
	       (word_is(w + 1, "/dev/null") || word_is(w + 1, "-n") || !w[1].text.len);
}

static bool walk_redirects(struct blocklist_walk *w, const struct shell_command *c)
{
	shell_budget_take(&w->budget, WORK_REDIRECT * c->redirect_count);
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		const char *effect = r->op == SHELL_APPEND ? "append"
				     : r->op == SHELL_TO || r->op == SHELL_BOTH ? "write" : NULL;

		if (effect && r->op == SHELL_TO && writes_nothing(c) &&
		    blocklist_judge_effect(&w->rules, "wipe", &r->target, 0, false, &w->finding))
			return true;
		if (effect && blocklist_judge_effect(&w->rules, effect, &r->target, 0, false,
						     &w->finding)) {
			w->finding.start = c->start;
			w->finding.end = c->end;
			return true;
		}
	}
	return false;
}

/* PAGER='rm -rf ~' man x: variables whose text a program runs. */
static bool walk_assigns(struct blocklist_walk *w, const struct shell_assign *list, size_t count,
			 const struct blocklist_stage *at)
{
	static const char run[] =
		" PROMPT_COMMAND PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR "
		"GIT_SSH_COMMAND GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF LESSOPEN LESSEDIT LESSCLOSE "
		"BROWSER RSYNC_RSH SUDO_EDITOR GIT_PROXY_COMMAND SHELLOPTS_COMMAND ";
	struct blocklist_stage inner = *at;

	inner.lenient = true;
	for (size_t i = 0; i < count; i++) {
		struct shell_wrap file = { .kind = WRAP_FILE, .words = &list[i].value, .count = 1 };
		struct shell_word text = list[i].value;
		size_t skip = strspn(text.text.s, "|-");

		if (list[i].value.content && blocklist_listed(" BASH_ENV ENV ", list[i].name,
							      strlen(list[i].name)) &&
		    walk_file(w, &file, false, &inner))
			return true;
		if (!blocklist_listed(run, list[i].name, strlen(list[i].name)))
			continue;
		if (skip)
			text = shell_wrap_slice(&text, skip, text.text.len, &w->arena);
		if (walk_nested(w, &text, NULL, 0, &inner))
			return true;
	}
	return false;
}

/* Does a redirection give it another standard input? */
static bool has_input(const struct shell_command *c)
{
	for (size_t i = 0; i < c->redirect_count; i++)
		if (c->redirects[i].fd <= 0 &&
		    (c->redirects[i].op == SHELL_FROM || c->redirects[i].op == SHELL_HERE ||
		     c->redirects[i].op == SHELL_STRING))
			return true;
	return false;
}

/* sh < /dev/stdin */
static bool reads_outer_input(const struct shell_command *c)
{
	static const char names[] = " /dev/stdin /dev/fd/0 /proc/self/fd/0 ";

	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_word *file = &c->redirects[i].target;

		if (c->redirects[i].op == SHELL_FROM &&
		    blocklist_listed(names, file->text.s, file->text.len))
			return true;
	}
	return false;
}

/* echo x > >(sh), tee >(sh): what goes into the process. All of a command's get the same. */
static const struct shell_word *parent_output(struct blocklist_walk *w,
					      struct blocklist_flows *flows, uint32_t index)
{
	const struct shell_command *parent = &flows->script->commands[index];
	struct shell_word *out;

	if (parent->word_count && word_is(&parent->words[0], "tee"))
		return parent->input;
	if (flows->fed_by == index)
		return flows->fed;
	out = shell_alloc(&w->arena, sizeof(*out));
	flows->fed = blocklist_output(parent, &w->arena, out) ? out : NULL;
	flows->fed_by = index;
	return flows->fed;
}

/* Text that is written where it will be run, or that comes from afar and is put there. */
static bool walk_autorun(struct blocklist_walk *w, const struct shell_command *c,
			 const struct blocklist_stage *at)
{
	struct blocklist_stage inner = *at;
	struct shell_word text;
	size_t tee = 0;

	inner.lenient = true;
	inner.input = NULL;
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];

		if ((r->op != SHELL_TO && r->op != SHELL_APPEND) || !walk_runs_itself(&r->target))
			continue;
		if (blocklist_output(c, &w->arena, &text))
			return walk_own_start(w, &r->target, &text, &inner);
		if (walk_flow(w, blocklist_flow_output(at->flows, at->index) & FLOW_REMOTE,
			      c->words, c->word_count))
			return true;
	}
	if (!c->input && !(at->input_flow & FLOW_REMOTE))
		return false;
	while (tee < c->word_count && tee < 4 && !word_is(&c->words[tee], "tee"))
		tee++;
	for (size_t i = tee + 1; tee < 4 && i < c->word_count; i++)
		if (walk_runs_itself(&c->words[i]))
			return c->input ? walk_own_start(w, &c->words[i], c->input, &inner)
					: walk_flow(w, at->input_flow & FLOW_REMOTE, c->words,
						    c->word_count);
	return false;
}

/* sh -i | nc HOST PORT: whoever is at the other end sees what the shell answers. */
static bool walk_answers(struct blocklist_walk *w, const struct shell_script *s,
			 const struct shell_command *c)
{
	const struct shell_command *from;
	const struct blocklist_name *shell, *sender;

	if (!c->word_count || c->piped_from >= s->command_count)
		return false;
	from = &s->commands[c->piped_from];
	sender = blocklist_lookup(c->words[0].text.s, c->words[0].text.len);
	if (!from->word_count || !sender || !(sender->flow & FLOW_KIND_FETCH))
		return false;
	shell = blocklist_lookup(from->words[0].text.s, from->words[0].text.len);
	if (!shell || !shell->wrapper || shell->wrapper->kind != WRAPPER_SHELL)
		return false;
	for (size_t i = 1; i < from->word_count; i++) {
		if (!word_is(&from->words[i], "-i") && !word_is(&from->words[i], "-s"))
			return false;
		if (walk_spent(w, WORK_WORD))
			return walk_too_complex(w, from->start);
	}
	return walk_found(w, "pipe.remote", from->start, c->end);
}

static bool walk_command(struct blocklist_walk *w, const struct shell_script *s,
			 struct blocklist_flows *flows, uint32_t index)
{
	const struct shell_command *c = &s->commands[index];
	struct blocklist_stage at = {
		.script = s, .flows = flows, .index = index, .input = c->input
	};

	if (!at.input && w->input &&
	    (reads_outer_input(c) || (w->input->text.len > INPUT_MAX && !has_input(c))))
		at.input = w->input;
	if (!at.input && (c->context & SHELL_IN_PROCESS) && c->parent < s->command_count)
		at.input = parent_output(w, flows, c->parent);
	if (!at.input && c->redirect_count)
		at.input = walk_descriptor(s, index);
	at.input_flow = blocklist_flow_input(flows, index);
	if (!at.input_flow && c->piped_from == SHELL_NONE && !has_input(c) &&
	    !(c->context & SHELL_IN_SUBSTITUTION))
		at.input_flow = w->input_flow;
	if (walk_answers(w, s, c) || walk_redirects(w, c) || walk_autorun(w, c, &at) ||
	    walk_assigns(w, c->assigns, c->assign_count, &at))
		return true;
	if (c->word_count && !(c->context & SHELL_TEST) &&
	    walk_words(w, c->words, c->word_count, &at))
		return true;
	if (c->redirect_count || c->word_count > 1)
		blocklist_file_note(&w->files, flows, index, &w->arena);
	return false;
}

/* The subshells a command stands in, and the working directory outside of each. */
struct subshells {
	struct {
		unsigned scope;
		struct blocklist_dir outside;
	} list[SUBSHELLS_MAX];
	size_t count;
};

/* cd in a subshell ends with it. Deeper than the list is long it stays. */
static void enter(struct blocklist_walk *w, const struct shell_command *c, struct subshells *s)
{
	unsigned scope = c->context & ~SHELL_CONTEXT_MASK, depth = shell_subshell_depth(scope);

	while (s->count && s->list[s->count - 1].scope != scope &&
	       shell_subshell_depth(s->list[s->count - 1].scope) >= depth)
		blocklist_dir_copy(&w->rules.dir, &s->list[--s->count].outside);
	if (!depth || s->count == SUBSHELLS_MAX ||
	    (s->count && s->list[s->count - 1].scope == scope))
		return;
	s->list[s->count].scope = scope;
	blocklist_dir_copy(&s->list[s->count++].outside, &w->rules.dir);
}

static bool bomb(struct blocklist_walk *w, const struct shell_script *s)
{
	uint32_t start, end;
	size_t others = s->function_count < FUNCTIONS_MAX ? s->function_count : FUNCTIONS_MAX;

	for (size_t i = 0; i < s->function_count; i++)
		if (walk_spent(w, others * (s->functions[i].last - s->functions[i].first + 1)))
			return walk_too_complex(w, s->functions[i].start);
	return blocklist_bomb_find(s, &start, &end) &&
	       walk_found(w, "process.fork_bomb", start, end);
}

static bool walk_script(struct blocklist_walk *w, const struct shell_script *s)
{
	struct blocklist_dir start, before;
	struct subshells subshells;
	struct blocklist_flows flows;
	bool blocked = bomb(w, s);

	subshells.count = 0;
	blocklist_dir_copy(&start, &w->rules.dir);
	blocklist_dir_copy(&before, &start);
	blocklist_flow_read(&flows, s, &w->arena);
	shell_budget_take(&w->budget, WORK_WORD * s->command_count);
	for (uint32_t i = 0; !blocked && i < s->command_count; i++) {
		const struct shell_command *c = &s->commands[i];
		bool defined = (c->context & SHELL_IN_FUNCTION) && !(c->context & SHELL_IN_CALL);
		struct shell_arena_mark mark = shell_arena_mark(&w->arena);
		size_t files = w->files.count;
		uint32_t fed_by = flows.fed_by;

		if (defined)
			blocklist_dir_copy(&before, &w->rules.dir);
		enter(w, c, &subshells);
		blocked = walk_command(w, s, &flows, i);
		if (!blocked && w->files.count == files && flows.fed_by == fed_by &&
		    !shell_arena_spent(&w->arena))
			shell_arena_rewind(&w->arena, &mark);
		if (defined)
			blocklist_dir_copy(&w->rules.dir, &before);
	}
	blocklist_dir_copy(&w->rules.dir, &start);
	return blocked;
}

/* Either the outermost @text, or @word out of another text. */
static bool parse_and_walk(struct blocklist_walk *w, const struct shell_text *text,
			   const struct shell_word *word, const struct shell_setup *setup,
			   bool lenient)
{
	struct shell_script script;
	size_t bytes = w->budget.bytes;
	bool blocked;

	if (word)
		shell_parse_word(word, setup, &w->budget, &script);
	else
		shell_parse_with(text, setup, &w->budget, &script);
	blocked = walk_script(w, &script);
	if (!blocked && script.trouble == SHELL_SYNTAX && !lenient)
		blocked = walk_found(w, "text.unparsable", script.trouble_at, script.trouble_at);
	else if (!blocked && script.trouble != SHELL_FINE && script.trouble != SHELL_SYNTAX)
		blocked = walk_found(w, "text.too_complex", script.trouble_at, script.trouble_at);
	if (blocked && script.trouble != SHELL_FINE && !w->finding.detail &&
	    strncmp(w->finding.rule->id, "text.", 5) == 0)
		w->finding.detail = script.trouble_text;
	shell_script_free(&script);
	w->budget.bytes = bytes;
	return blocked;
}

/* What is unknown in a text may bring the quote that is missing. */
static bool has_unknown(const struct shell_word *text)
{
	for (size_t i = 0; i < text->text.len; i++)
		if (word_unknown_at(text, i))
			return true;
	return false;
}

bool walk_nested(struct blocklist_walk *w, const struct shell_word *text,
		 const struct shell_word *args, size_t arg_count, const struct blocklist_stage *at)
{
	struct shell_setup setup = { .args = args, .arg_count = arg_count, .input = at->input };
	struct shell_assign *all;
	size_t n = at->assign_count + (at->script ? 0 : w->variable_count);
	unsigned outer = w->input_flow;
	bool blocked;

	if (w->depth >= WALK_DEPTH_MAX || walk_spent(w, text->text.len))
		return walk_too_complex(w, text->start);
	w->input_flow = at->input_flow;
	if (at->script && at->index != SHELL_NONE) {
		setup.outer = at->script;
		setup.outer_command = at->index;
		setup.exported_only = !at->same_shell;
	}
	all = shell_alloc(&w->arena, (n + 1) * sizeof(*all));
	if (!at->script && w->variable_count)
		memcpy(all, w->variables, w->variable_count * sizeof(*all));
	if (at->assign_count)
		memcpy(all + (n - at->assign_count), at->assigns, at->assign_count * sizeof(*all));
	setup.variables = all;
	setup.variable_count = n;
	w->depth++;
	blocked = parse_and_walk(w, NULL, text, &setup, at->lenient || has_unknown(text));
	w->depth--;
	w->input_flow = outer;
	return blocked;
}

/* ---- entry ---- */

static uint64_t work_for(size_t bytes)
{
	size_t more = bytes > WORK_SHORT ? bytes - WORK_SHORT : 0;
	uint64_t work = WORK_BASE + WORK_BYTE * (uint64_t)more;

	return work < WORK_MAX ? work : WORK_MAX;
}

void blocklist_walk_init(struct blocklist_walk *w, size_t bytes)
{
	memset(w, 0, sizeof(*w));
	shell_arena_init(&w->arena, MEMORY_MAX);
	w->budget = (struct shell_budget)SHELL_BUDGET_INIT;
	w->budget.commands = COMMANDS_MAX;
	w->budget.work = work_for(bytes);
}

void blocklist_walk_release(struct blocklist_walk *w)
{
	shell_arena_release(&w->arena);
	blocklist_args_release(&w->rules.args);
}

/* Something was given up because there was too much of it: what was not judged is not run. */
static bool left_over(struct blocklist_walk *w)
{
	if (!walk_spent(w, 0))
		return false;
	walk_too_complex(w, 0);
	w->finding.detail = "more work than a text of its length may take";
	return true;
}

bool blocklist_walk_text(struct blocklist_walk *w, const struct shell_text *text,
			 const struct shell_word *args, size_t arg_count,
			 const struct shell_word *input)
{
	struct shell_setup setup = { .variables = w->variables,
				     .variable_count = w->variable_count, .args = args,
				     .arg_count = arg_count, .input = input };

	w->input = input;
	if (input && input->text.len > INPUT_MAX)
		setup.input = NULL;
	return parse_and_walk(w, text, NULL, &setup, w->no_shell) || left_over(w);
}

bool blocklist_walk_words(struct blocklist_walk *w, const struct shell_word *words, size_t count,
			  const struct shell_word *input)
{
	struct blocklist_stage at = { .index = SHELL_NONE, .input = input };

	return walk_words(w, words, count, &at) || left_over(w);
}
