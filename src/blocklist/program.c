/* One command by its name: known, a pattern, unknown, or what the text wrote before. */
#include "blocklist/stage.h"

#include <string.h>

#include "base/mem.h"
#include "blocklist/walk.h"

/* Steps of the budget for a command, and names that a pattern is compared with. */
#define WORK_COMMAND 20u
#define WORK_PATTERN 1200u
/* And where the length, the first and the last character are not known. */
#define WORK_PATTERN_OPEN 6000u
/* Names with unknown parts that are compared with all names of the table. */
#define PATTERNS_MAX 100

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

	/* Behind a wrapper it may be an option's value or an assignment, unless it is all. */
	if (walk_flow(w, itself || count == 1 ? flow : flow & FLOW_REMOTE, words, 1) ||
	    (at->each && walk_flow(w, at->input_flow & FLOW_FILTERED, words, 1)))
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

/* ---- names that are patterns ---- */

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

/* ---- a program ---- */

/* A function of the text hides the program of its name, unless one could take it away. */
static bool is_function(const struct blocklist_stage *at, const struct shell_word *word)
{
	const struct shell_script *s = at->script;
	uint32_t start;

	if (!s || !s->function_count || s->function_count > WALK_FUNCTIONS_MAX ||
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
	if (walk_init_script(w, words, count, at))
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
	if (w->depth >= WALK_DEPTH_MAX || walk_spent(w, WORK_COMMAND + WALK_WORD * count))
		return walk_too_complex(w, words[0].start);
	w->depth++;
	blocked = walk_program(w, words, count, at);
	w->depth--;
	return blocked;
}
