#include "blocklist/rules.h"

#include <string.h>

#include "base/mem.h"
#include "blocklist/command/list.h"
#include "blocklist/command/names.h"

/* ---- work ---- */

/*
 * Steps of a rule or an effect; of a lookup of an option in a list, and of an operand in a list
 * or selector; of a path, besides its characters.
 */
#define WORK_RULE 5u
#define WORK_OPTION 1u
#define WORK_OPERAND 4u
#define WORK_PATH 24u
/* At least the rules of the table with "effects". */
#define RULES_ON_EFFECTS_MAX 128

/* Charge @steps. True: the limit is passed. */
static bool rules_spend(struct rules *r, uint64_t steps)
{
	r->work += steps;
	return r->limit && r->work > r->limit;
}

/* As args_has(). */
static bool rules_has(struct rules *r, const char *list)
{
	return !rules_spend(r, 1 + WORK_OPTION * r->args.option_count) &&
	       args_has(&r->args, list);
}

static uint64_t rules_classify(struct rules *r, const struct shell_word *word, size_t skip,
			       enum path_reach reach)
{
	uint64_t classes;

	if (rules_spend(r, WORK_PATH + 2 * (uint64_t)word->text.len))
		return 0;
	classes = path_classify(word, skip, r->dir, reach);
	rules_spend(r, path_steps_taken());
	return classes;
}

/* ---- effects ---- */

/* Of modes an unknown part counts as empty where the command itself goes through the tree: find
 * "$X/" | xargs chmod is everyday. Nor where chmod is but a @guess: $RUN -R "$A/$B" may be grep. */
static enum path_reach rules_reach_of(const struct rules *r, const char *effect, bool guess)
{
	static const char trees[] =
		" mode_home mode_call replace killers unmount mount mirror mirror_host ";

	if (list_has(" remove_tree clean ", effect, strlen(effect)))
		return REACH_TREE_OR_EMPTY;
	if (strcmp(effect, "mode_tree") == 0)
		return guess || r->each ? REACH_TREE : REACH_TREE_OR_EMPTY;
	if (strcmp(effect, "move") == 0)
		return REACH_NAMED_OR_EMPTY;
	return list_has(trees, effect, strlen(effect)) ? REACH_TREE : REACH_FILE;
}

/* The rules on effects, in the order of the table. */
static struct {
	const struct blocklist_rule *list[RULES_ON_EFFECTS_MAX];
	size_t count;
} rules_on_effects;

static void rules_find_on_effects(void)
{
	for (unsigned i = 0; i < blocklist_rule_count; i++) {
		if (!strtab_get(blocklist_rules[i].effects))
			continue;
		BUG_IF(rules_on_effects.count == RULES_ON_EFFECTS_MAX);
		rules_on_effects.list[rules_on_effects.count++] = &blocklist_rules[i];
	}
}

static const struct blocklist_rule *rules_effect_rule(const char *effect, uint64_t classes,
						      bool guess)
{
	if (!rules_on_effects.count)
		rules_find_on_effects();
	for (size_t i = 0; i < rules_on_effects.count; i++) {
		const struct blocklist_rule *rule = rules_on_effects.list[i];

		if ((!rule->targets || !classes || (rule->targets & classes)) &&
		    (!guess || rule->guess) &&
		    list_has(strtab_get(rule->effects), effect, strlen(effect)))
			return rule;
	}
	return NULL;
}

bool rules_find_effect(const char *effect, uint32_t start, uint32_t end, struct finding *f)
{
	const struct blocklist_rule *rule = rules_effect_rule(effect, 0, false);

	if (!rule)
		return false;
	*f = (struct finding){ .rule = rule, .start = start, .end = end };
	return true;
}

bool rules_judge_effect(struct rules *r, const char *effect,
			const struct shell_word *word, size_t skip, bool guess,
			struct finding *f)
{
	enum path_reach reach = rules_reach_of(r, effect, guess);
	uint64_t classes = rules_classify(r, word, skip, reach);
	const struct blocklist_rule *rule =
		classes ? rules_effect_rule(effect, classes, guess) : NULL;

	if (!rule || !rule->targets)
		return false;
	*f = (struct finding){ .rule = rule, .start = word->start, .end = word->end,
					 .classes = classes & rule->targets };
	path_describe(word, skip, r->dir, reach, f->classes, &f->match);
	return true;
}

/* ---- operands ---- */

/* An operand: a word from a byte on. */
struct operand {
	const struct shell_word *word;
	size_t skip;
};

static const char target_directory[] = " -t --target-directory ";
/* With one of them sed and awk have no script among their operands. */
static const char script_options[] = " -e --expression -f --file --source ";

/* A word TYPE:PATH,OPTION of socat: where the path begins; it is cut at the comma. */
static size_t rules_socat_skip(const struct shell_word *w)
{
	static const char types[] = " OPEN open FILE file GOPEN gopen CREATE create CREAT creat ";
	const char *colon = memchr(w->text.s, ':', w->text.len);

	if (!colon || !list_has(types, w->text.s, (size_t)(colon - w->text.s)))
		return SIZE_MAX;
	return (size_t)(colon + 1 - w->text.s);
}

/* HOST:/PATH, but not HOST::MODULE: where the path on the other machine begins. */
static size_t rules_host_skip(const struct shell_word *w)
{
	size_t len = strcspn(w->text.s, ":/");

	return len && strncmp(w->text.s + len, ":/", 2) == 0 &&
	       w->text.s[len + 2] != '/' ? len + 1 : SIZE_MAX;
}

/* Does the selector @which select operand @i? *@skip: from this byte on. */
static bool rules_selected(const struct args *a, const char *which, size_t i, size_t *skip)
{
	const struct shell_word *w = a->operands[i];
	size_t count = a->operand_count, len = strlen(which);

	*skip = 0;
	if (which[len - 1] == '=') {
		*skip = len;
		return w->text.len > len && memcmp(w->text.s, which, len) == 0;
	}
	if (strcmp(which, "all") == 0)
		return true;
	if (strcmp(which, "first") == 0)
		return i == 0;
	if (strcmp(which, "first_of_two") == 0)
		return i == 0 && count > 1;
	if (strcmp(which, "rest") == 0)
		return i > 0;
	if (strcmp(which, "files") == 0)
		return i > 0 || args_has(a, script_options);
	if (strcmp(which, "last") == 0)
		return i + 1 == count;
	if (strcmp(which, "but_last") == 0)
		return i + 1 < count;
	if (strcmp(which, "sources") == 0)
		return i + 1 < count || args_has(a, target_directory);
	if (strcmp(which, "dest") == 0)
		return i > 0 && i + 1 == count && !args_has(a, target_directory);
	if (strcmp(which, "dest_second") == 0 || strcmp(which, "second_device") == 0)
		return i == 1;
	if (strcmp(which, "convert_dest") == 0)
		return i + 1 == count && args_word_fits(a->operands[0], " convert dd ");
	if (strcmp(which, "host_dest") == 0) {
		*skip = i > 0 && i + 1 == count ? rules_host_skip(w) : SIZE_MAX;
		return *skip != SIZE_MAX;
	}
	if (strcmp(which, "socat") == 0) {
		*skip = rules_socat_skip(w);
		return *skip != SIZE_MAX;
	}
	return false;
}

/* The next operand that @which selects, from number *@at on; values of options come last. */
static bool rules_next_selected(struct rules *r, const char *which, size_t *at,
				struct operand *out)
{
	const struct args *a = &r->args;
	const struct args_option *option;
	size_t from;

	if (rules_spend(r, WORK_OPERAND))
		return false;
	if (which[0] == '-' || strcmp(which, "dest") == 0) {
		const char *list = which[0] == '-' ? which : target_directory;

		for (from = *at; from < a->option_count;) {
			option = args_next(a, list, &from);
			rules_spend(r, WORK_OPTION * (from - *at));
			*at = from;
			if (option && option->value) {
				*out = (struct operand){ option->value, option->skip };
				return true;
			}
		}
		if (which[0] == '-')
			return false;
		if (*at < a->option_count)
			*at = a->option_count;
	}
	from = strcmp(which, "dest") == 0 ? a->option_count : 0;
	for (; *at < from + a->operand_count && !rules_spend(r, WORK_OPERAND); ++*at)
		if (rules_selected(a, which, *at - from, &out->skip)) {
			out->word = a->operands[(*at)++ - from];
			return true;
		}
	return false;
}

/* With r->each the command gets each file by itself, and needs no -R. */
static bool rules_effect_holds(struct rules *r, const struct blocklist_effect *e)
{
	const char *need = strtab_get(e->need), *unless = strtab_get(e->unless);

	if (unless && rules_has(r, unless))
		return false;
	return !need || ((r->args.any_option || r->each) && strstr(need, " -R ")) ||
	       rules_has(r, need);
}

/* Does the effect hold only since the command gets each file by itself? */
static bool rules_effect_by_each(struct rules *r, const struct blocklist_effect *e)
{
	const char *need = strtab_get(e->need);

	return r->each && need && !r->args.any_option && !rules_has(r, need);
}

/* Is it a glob of some names, as of find / -name 'foo*'? It is no directory for a command without
 * -R, though one may match it. */
static bool rules_picks_some(const struct shell_word *w)
{
	bool glob = false, text = false;

	for (size_t i = w->text.len; i-- > 0 && w->text.s[i] != '/';) {
		glob |= w->kind[i] == SHELL_GLOB;
		text |= w->kind[i] == SHELL_LITERAL && w->text.s[i] != '.';
	}
	return glob && text;
}

static bool rules_judge_effects(struct rules *r, const struct blocklist_program *program,
				bool guess, struct finding *f)
{
	const struct blocklist_effect *e = &blocklist_effects[program->effects];
	const char *name;

	for (; (name = strtab_get(e->name)); e++) {
		struct operand o;
		size_t at = 0;
		bool each;

		if (rules_spend(r, WORK_RULE))
			return false;
		if (!rules_effect_holds(r, e))
			continue;
		each = rules_effect_by_each(r, e);
		while (rules_next_selected(r, strtab_get(e->operands), &at, &o))
			if (!(each && rules_picks_some(o.word)) &&
			    rules_judge_effect(r, name, o.word, o.skip, guess, f))
				return true;
	}
	return false;
}

/* ---- rules on programs ---- */

/* A mode like -x looks like an option. */
static bool rules_option_fits(struct rules *r, const struct shell_word *words, size_t count,
			      const char *group)
{
	for (size_t k = 1; k < count && !rules_spend(r, WORK_OPERAND); k++)
		if (words[k].text.s[0] == '-' && args_word_listed(&words[k], group))
			return true;
	return false;
}

static bool rules_operand_fits(struct rules *r, const char *group, size_t i)
{
	const struct shell_word *w = r->args.operands[i];

	/* A list with globs is searched in full, so it costs more. */
	const struct list_notes *notes = list_notes(group);
	uint64_t steps = WORK_OPERAND + (notes->globs ? 4 * (uint64_t)notes->words : 0);

	return !rules_spend(r, steps + w->text.len) && args_word_listed(w, group);
}

/* Each group matches an operand after that of the group before; the first group operand 0. */
static bool rules_words_hold(struct rules *r, const struct shell_word *words, size_t count,
			     const struct blocklist_rule *rule)
{
	size_t at = 0, operands = r->args.operand_count;
	const char *first = strtab_first(rule->words);

	for (const char *list = first; list; list = strtab_next(list)) {
		const char *group = list;
		bool anywhere = list != first || strncmp(group, " ...", 4) == 0, found = false;
		bool options = strstr(group, " -") != NULL;

		if (strncmp(group, " ...", 4) == 0)
			group += 4;
		for (size_t i = at; !found && i <= operands; i++) {
			found = i < operands ? rules_operand_fits(r, group, i)
					     : options && rules_option_fits(r, words, count, group);
			if (found)
				at = i + (i < operands);
			if (!anywhere && i < operands && !options)
				break;
		}
		if (!found)
			return false;
	}
	return true;
}

static bool rules_options_hold(struct rules *r, const struct blocklist_rule *rule)
{
	const char *forbid = strtab_get(rule->forbid);

	if (forbid && rules_has(r, forbid))
		return false;
	for (const char *one = strtab_first(rule->need); one; one = strtab_next(one))
		if (!rules_has(r, one) && !(r->args.any_option && rule->targets))
			return false;
	return true;
}

static bool rules_targets_hold(struct rules *r, const struct blocklist_rule *rule,
			       uint64_t *classes, struct path_match_text *match)
{
	const char *operands = strtab_get(rule->operands), *which = operands ? operands : "all";
	struct operand o;
	size_t at = 0;

	while (rule->targets && rules_next_selected(r, which, &at, &o)) {
		*classes = rule->targets & rules_classify(r, o.word, o.skip, REACH_TREE);
		if (!*classes)
			continue;
		path_describe(o.word, o.skip, r->dir, REACH_TREE, *classes, match);
		return true;
	}
	return !rule->targets;
}

static bool rules_judge_rule(struct rules *r, const struct blocklist_rule *rule,
			     const struct shell_word *words, size_t count, struct finding *f)
{
	struct path_match_text match = { 0 };
	uint64_t classes = 0;

	if (rules_spend(r, WORK_RULE) || (rule->operandless && r->args.operand_count) ||
	    !rules_options_hold(r, rule) ||
	    !rules_words_hold(r, words, count, rule) ||
	    !rules_targets_hold(r, rule, &classes, &match))
		return false;
	*f = (struct finding){ .rule = rule, .start = words[0].start,
					 .end = words[count - 1].end, .classes = classes,
					 .match = match };
	return true;
}

static const char always_inert[] = " --help --version ";

static bool rules_inert(struct rules *r, const struct blocklist_program *program)
{
	const char *inert = program ? strtab_get(program->inert) : NULL;

	return rules_has(r, always_inert) || (inert && rules_has(r, inert));
}

bool rules_judge_program(struct rules *r, const struct blocklist_name *name,
			 const struct shell_word *words, size_t count, bool guess,
			 struct finding *f)
{
	const struct blocklist_program *program = name_program(name);
	bool harmless;

	if (!program && *name_rules(name) == BLOCKLIST_NONE)
		return false;
	args_read(&r->args, words, count, program ? strtab_get(program->values) : NULL, false);
	harmless = rules_inert(r, program);
	if (!harmless && program && rules_judge_effects(r, program, guess, f)) {
		f->start = words[0].start;
		f->end = words[count - 1].end;
		return true;
	}
	for (const uint16_t *rule = name_rules(name); *rule != BLOCKLIST_NONE; rule++)
		if ((!guess || blocklist_rules[*rule].guess) &&
		    (!harmless || blocklist_rules[*rule].always) &&
		    rules_judge_rule(r, &blocklist_rules[*rule], words, count, f))
			return true;
	return false;
}
