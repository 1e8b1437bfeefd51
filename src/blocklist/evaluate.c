#include "blocklist/evaluate.h"

#include <string.h>

#include "base/mem.h"
#include "blocklist/altered.h"
#include "blocklist/budget.h"
#include "blocklist/command/action.h"
#include "blocklist/command/list.h"
#include "blocklist/command/names.h"
#include "blocklist/command/word.h"
#include "blocklist/effects/dataflow.h"
#include "blocklist/effects/effects.h"
#include "blocklist/effects/fork_bomb.h"
#include "blocklist/effects/input.h"
#include "blocklist/effects/script.h"
#include "blocklist/effects/surroundings.h"
#include "blocklist/effects/wrapper.h"

/* Deeper nesting is text.too_complex. */
#define DEPTH_MAX 40
/*
 * Steps of the budget for a command, for a word, for a command where flows are followed, and for
 * names that a pattern is compared with.
 */
#define WORK_COMMAND 26u
#define WORK_WORD 4u
#define WORK_FLOW 20u
/* For a command that is looked at by altered_by_script(). */
#define WORK_ALTERED 40u
#define WORK_PATTERN 1200u
/* And where the length, the first and the last character are not known. */
#define WORK_PATTERN_OPEN 6000u
/* Names with unknown parts that are compared with all names of the table. */
#define PATTERNS_MAX 100
/* In a text with more functions than this, a function hides no program. */
#define FUNCTIONS_MAX 64
/* For the folder of a program with a relative path. */
#define WORK_FOLDER 60u
/* Actions of one reader that take no memory of the budget. */
#define ACTIONS_OWN 4

/* A script, and the command of it that is judged. */
struct script_run {
	struct shell_script script;
	struct dataflow flows;
	struct subshells subshells;
	struct directories start; /* where the script begins */
	struct place inside;   /* what the places of its commands have in common */
	bool keeps_directory;  /* a cd in it counts behind it: source */
	bool lenient;          /* it may be no shell text after all */
	const char *source;    /* the text that it is read from, or NULL */
	size_t source_len;
	unsigned repeats;      /* how often it has started itself again */
	const struct shell_word *from_input;  /* the text, if it is the input of all (e->input), */
	const struct shell_word *outer_input; /* which is in use then: it comes back here */
	uint32_t next;         /* command to judge */
	/* The next functions of the script to meet, and the end of the definition that the command
	 * stands in, with the directory behind it. */
	size_t function;
	uint32_t defined_to;
	struct directories outside;
	size_t bytes;          /* of the budget, to give back */
	/* Before the command: if it leaves nothing behind, its memory is used again. */
	struct shell_arena_mark mark;
	unsigned files_version;
	const struct pushed *pushed;
};

/*
 * Something that is run, and what is still to be judged of it: the actions in @list, and
 * then those that @more reads into it. An action that runs something pushes a frame for it.
 */
struct evaluation_frame {
	struct evaluation_frame *below;
	struct shell_arena_mark mark; /* of the stack's memory, to free it */
	unsigned depth;           /* wrappers and texts around it */
	struct place at;          /* of the actions */
	struct action_list list;
	struct action own[ACTIONS_OWN]; /* the first memory of @list */
	size_t next;              /* action to judge */
	bool returns;             /* to @before when the list ends */
	struct directories before;
	bool (*more)(struct evaluation *e, struct evaluation_frame *f); /* NULL: no more */
	/* What @more reads: a command, or the script @run, if that is not NULL. */
	struct command cmd;
	bool foreign;                /* its program is in a folder that is not the system's */
	struct name_pattern pattern; /* of its name */
	unsigned step;               /* the next reader, or the next name to compare */
	struct script_run *run;
};

/* Below, true means that something is blocked, and why is in @e->finding. */

static bool evaluate_blocked(struct evaluation *e, const char *effect, uint32_t start,
			     uint32_t end)
{
	return rules_find_effect(effect, start, end, &e->finding);
}

static bool evaluate_too_complex(struct evaluation *e, uint32_t at)
{
	return evaluate_blocked(e, "text.too_complex", at, at);
}

/* Text from @flow is run. */
static bool evaluate_flow(struct evaluation *e, unsigned flow, uint32_t start, uint32_t end)
{
	if (flow & FLOW_REMOTE)
		return evaluate_blocked(e, "pipe.remote", start, end);
	return evaluate_blocked(e, flow & FLOW_DECODED ? "pipe.decoded" : "pipe.filtered", start,
				end);
}

/*
 * Charge @steps and the rules' work since the last call to the budget. True: the budget or the
 * memory is spent.
 */
static bool evaluate_spend(struct evaluation *e, uint64_t steps)
{
	uint64_t all = steps + e->rules.work;

	e->rules.work = 0;
	return !shell_budget_take(&e->budget, all) || shell_arena_spent(&e->arena);
}

/* ---- the stack ---- */

static void evaluate_clear_list(struct evaluation *e, struct evaluation_frame *f)
{
	f->list = (struct action_list){ .arena = &e->arena, .budget = &e->budget,
					.args = &e->args, .list = f->own, .room = ACTIONS_OWN };
	f->next = 0;
	f->returns = false;
}

static void evaluate_save_directory(struct evaluation *e, struct evaluation_frame *f)
{
	f->returns = true;
	directories_copy(&f->before, &e->directories);
}

static bool evaluate_is_too_deep(const struct evaluation *e)
{
	return e->top && e->top->depth >= DEPTH_MAX;
}

/* A frame for what stands at @at, @levels deeper than the top. */
static struct evaluation_frame *evaluate_push(struct evaluation *e, const struct place *at,
					      unsigned levels)
{
	struct shell_arena_mark mark = shell_arena_mark(&e->stack);
	struct evaluation_frame *f = shell_alloc_raw(&e->stack, sizeof(*f));

	f->below = e->top;
	f->mark = mark;
	f->depth = (e->top ? e->top->depth : 0) + levels;
	f->at = *at;
	f->more = NULL;
	f->run = NULL;
	evaluate_clear_list(e, f);
	e->top = f;
	return f;
}

static void evaluate_pop(struct evaluation *e)
{
	struct shell_arena_mark mark = e->top->mark; /* lies in what it frees */
	struct script_run *run = e->top->run;

	if (run && run->from_input)
		e->input = run->outer_input;
	if (run) {
		shell_script_free(&run->script);
		e->budget.bytes = run->bytes;
	}
	e->top = e->top->below;
	shell_arena_rewind(&e->stack, &mark);
}

/* ---- a program ---- */

/* Does @cmd act on the network alone, and that is not the machine's? */
static bool evaluate_is_apart(const struct command *cmd)
{
	return cmd->at->netns &&
	       command_in(cmd, " ip tc ifconfig route bridge iptables ip6tables nft ebtables "
			       "iptables-legacy iptables-nft ipset conntrack ipvsadm ifdown ifup ");
}

/* The rules of the table. @guess: the program is only one that may be meant. */
static bool evaluate_rules(struct evaluation *e, const struct command *cmd, bool guess)
{
	uint32_t start = cmd->words[0].start;

	if (evaluate_is_apart(cmd))
		return false;
	if (evaluate_spend(e, budget_of_words(cmd->words, cmd->count)))
		return evaluate_too_complex(e, start);
	e->rules.limit = e->budget.work;
	e->rules.each = cmd->at->each;
	if (rules_judge_program(&e->rules, cmd->name, cmd->words, cmd->count, guess, &e->finding))
		return true;
	return evaluate_spend(e, 0) && evaluate_too_complex(e, start);
}

/* The rules, and then what a wrapper runs. */
static bool evaluate_named(struct evaluation *e, const struct command *cmd,
			   struct action_list *out)
{
	if (evaluate_rules(e, cmd, false))
		return true;
	if (name_wrapper(cmd->name))
		wrapper_read(name_wrapper(cmd->name), cmd, out);
	return false;
}

/* Next of a known program: what one of its readers finds. */
static bool evaluate_more_effects(struct evaluation *e, struct evaluation_frame *f)
{
	if (!effects_read(&f->cmd, &f->step, &f->list))
		f->more = NULL;
	else if (evaluate_spend(e, 0))
		return evaluate_too_complex(e, f->cmd.words[0].start);
	return false;
}

/* First of a known program: the rules of the table. */
static bool evaluate_more_rules(struct evaluation *e, struct evaluation_frame *f)
{
	f->more = evaluate_more_effects;
	f->step = 0;
	f->cmd.name = name_lookup(f->cmd.program.s, f->cmd.program.len);
	if (!f->cmd.name)
		return false;
	if (f->foreign && !name_wrapper(f->cmd.name))
		return evaluate_rules(e, &f->cmd, true);
	return evaluate_named(e, &f->cmd, &f->list);
}

/* Next of a name that is a pattern: a name of the table that fits it. */
static bool evaluate_more_names(struct evaluation *e, struct evaluation_frame *f)
{
	while (f->step < blocklist_name_count && !name_pattern_fits(&f->pattern, f->step))
		f->step++;
	if (f->step == blocklist_name_count) {
		f->more = NULL;
		return false;
	}
	f->cmd.name = &blocklist_names[f->step++];
	return evaluate_named(e, &f->cmd, &f->list);
}

/* A name with globs or unknown parts. */
static bool evaluate_pattern(struct evaluation *e, struct evaluation_frame *f,
			     const uint8_t *kind)
{
	const struct shell_text *base = &f->cmd.program;
	const struct shell_word *name = &f->cmd.words[0];

	if (name_pattern_fits_any(name, base, kind))
		return false;
	if (strpbrk(base->s, " \t\n")) /* no program has such a name */
		return false;
	if (e->rules.patterns++ >= PATTERNS_MAX)
		return evaluate_too_complex(e, name->start);
	f->pattern = name_pattern_make(base, kind, &e->arena);
	shell_budget_take(&e->budget, f->pattern.open && !f->pattern.first && !f->pattern.last
			  ? WORK_PATTERN_OPEN : WORK_PATTERN);
	f->step = 0;
	f->more = evaluate_more_names;
	return false;
}

/* Judge @words in place of those of @f: a cd among them counts for what follows. */
static void evaluate_instead(struct evaluation_frame *f, const struct shell_word *words,
			     size_t count)
{
	f->list.keeps_directory = true;
	action_words(&f->list, words, count, 0);
}

/* 777, u+x, a=rwx, me:me: what chmod or chown gets first, and grep -r or ls -R hardly. */
static bool evaluate_is_mode(const struct shell_word *w)
{
	const char *s = w->text.s + strspn(w->text.s, "ugoa");

	return *w->text.s && (!w->text.s[strspn(w->text.s, "01234567")] ||
			      (*s && strchr("+=-", *s)) || strchr(w->text.s, ':'));
}

/* The program is unknown: try the words as those of rm -rf, chmod and dd. */
static bool evaluate_guesses(struct evaluation *e, const struct command *cmd)
{
	struct args *args = &e->rules.args;
	const struct blocklist_name *guesses[] = { name_lookup("rm", 2),
						   name_lookup("chmod", 5),
						   name_lookup("dd", 2) };

	args_read(args, cmd->words, cmd->count, NULL, false);
	e->rules.each = false;
	for (size_t i = 0; i < COUNT_OF(guesses); i++) {
		if (i == 0 && !(args_has(args, " -f --force ") &&
				args_has(args, " -r -R --recursive ")))
			continue;
		if (i == 1 && !(args->operand_count && evaluate_is_mode(args->operands[0])))
			continue;
		if (rules_judge_program(&e->rules, guesses[i], cmd->words, cmd->count, true,
					&e->finding))
			return true;
	}
	return false;
}

static bool evaluate_unknown(struct evaluation *e, struct evaluation_frame *f)
{
	const struct shell_word *words = f->cmd.words;
	bool itself = place_command(&f->at) && words == place_command(&f->at)->words;
	/* After a wrapper an unknown word may be an option's value, unless it is the only one. */
	unsigned flow = dataflow_of_program(&f->at, words, f->cmd.count) &
			(itself || f->cmd.count == 1 ? FLOW_TEXTS : FLOW_REMOTE);

	if (f->at.each)
		flow |= f->at.input_flow & FLOW_FILTERED;
	if (flow)
		return evaluate_flow(e, flow, words[0].start, words[0].end);
	if (f->cmd.count < 2)
		return false;
	if (evaluate_guesses(e, &f->cmd))
		return true;
	/* It may be empty, or a wrapper like sudo. */
	if (words[1].text.len && words[1].text.s[0] != '-' && !word_unknown_at(&words[1], 0))
		evaluate_instead(f, words + 1, f->cmd.count - 1);
	return false;
}

/* A function hides the program of its name after its definition and in its own body. */
static bool evaluate_is_function(const struct place *at, const struct shell_word *word)
{
	const struct shell_command *c = place_command(at);
	const struct shell_script *s = at->script;

	if (!c || !s->function_count || s->function_count > FUNCTIONS_MAX || word != &c->words[0])
		return false;
	for (size_t i = 0; i < s->function_count; i++)
		if (s->functions[i].name[0] == word->text.s[0] &&
		    word_is(word, s->functions[i].name) &&
		    ((s->functions[i].end <= c->start && c->start < s->functions[i].gone) ||
		     (s->functions[i].start <= c->start && c->start < s->functions[i].end)))
			return true;
	return false;
}

/* Run ./x.sh that the text wrote, or ./x that it copied from a program. */
static void evaluate_own_file(struct evaluation *e, struct evaluation_frame *f)
{
	const struct shell_word *words = f->cmd.words;
	const struct written_file *file = files_find(&e->files, &words[0]);
	struct shell_word *copy;

	/* A name without a slash is looked for in PATH, but that of mktemp has one. */
	if (!file || (!file->program && !strchr(words[0].text.s, '/') &&
		      !word_unknown_at(&words[0], 0)) ||
	    (file->is_copy && !file->program && !file->is_known))
		return;
	if (!file->program) {
		action_file(&f->list, &words[0], words, f->cmd.count, ACTION_LENIENT);
		return;
	}
	copy = shell_alloc(&e->arena, f->cmd.count * sizeof(*copy));
	memcpy(copy, words, f->cmd.count * sizeof(*copy));
	copy[0] = *file->program;
	copy[0].start = words[0].start;
	copy[0].end = words[0].end;
	evaluate_instead(f, copy, f->cmd.count);
}

/* A program that its name tells, or not, or not quite. */
static bool evaluate_program_of(struct evaluation *e, struct evaluation_frame *f)
{
	const struct shell_word *name = &f->cmd.words[0];
	const struct shell_text *base = &f->cmd.program;
	const uint8_t *kind = name->kind + (base->s - name->text.s);
	bool function;

	if (!base->len) {
		if (f->cmd.count > 1 && !name->text.len)
			evaluate_instead(f, name + 1, f->cmd.count - 1);
		return false;
	}
	function = evaluate_is_function(&f->at, name);
	if (e->files.count && !function)
		evaluate_own_file(e, f);
	if (base->len == 1 && word_unknown_at(name, name->text.len - 1))
		return evaluate_unknown(e, f);
	if (name_is_pattern(base, kind))
		return evaluate_pattern(e, f, kind);
	if (function)
		return false;
	f->more = evaluate_more_rules;
	return false;
}

/* ---- reports ---- */

/* What the redirections of @c make of @run. */
static void evaluate_report_redirects(const struct shell_command *c, struct blocklist_run *run)
{
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];

		run->writes |= altered_writes(r);
		run->is_fed |= altered_feeds(r);
		if (r->op == SHELL_FROM && r->fd <= 0)
			run->input_file = &r->target;
	}
}

/* Report @words, of which @program may be said to be the first. True: the budget is spent. */
static bool evaluate_report(struct evaluation *e, const struct place *at,
			    const struct shell_word *words, size_t count,
			    const struct shell_text *program)
{
	static const struct path_dir unknown;
	const struct shell_command *c = place_command(at);
	struct blocklist_run run = { .words = words, .count = count, .at = e->reached,
				     .steps = e->budget.work,
				     .directory = e->directories.searched ? &unknown
									  : &e->directories.now,
				     .has_moved = e->directories.moved, .assigns = at->assigns,
				     .assign_count = at->assign_count, .is_fed = at->input.text,
				     .is_altered = at->altered };
	bool foreign;

	if (!e->in->on_run)
		return false;
	run.input = place_input(at);
	if (program) {
		run.program = *program;
	} else if (count) {
		run.program = name_base(&words[0], &foreign);
		run.program_kind = words[0].kind + (run.program.s - words[0].text.s);
		run.is_function = evaluate_is_function(at, &words[0]);
	}
	if (at->script) {
		run.sets_variables = at->script->sets_variables;
		run.sets_path = at->script->sets_path;
		run.sets_home = at->script->sets_home;
	}
	if (c) {
		run.is_direct = words == c->words;
		run.more_assigns = c->assigns;
		run.more_assign_count = c->assign_count;
		run.is_idle = (c->context & SHELL_IN_FUNCTION) && !(c->context & SHELL_IN_CALL);
		run.is_test = (c->context & SHELL_TEST) != 0;
		run.is_loop = (c->context & SHELL_IN_LOOP) != 0;
		run.is_inner = (c->context & (SHELL_IN_SUBSTITUTION | SHELL_IN_PROCESS)) != 0;
		run.is_apart = (c->context & (SHELL_IN_SUBSHELL | SHELL_BACKGROUND)) != 0;
		run.is_fed |= c->piped_from != SHELL_NONE || c->input ||
			      (c->context & SHELL_IN_PROCESS);
		run.redirects = c->redirects;
		run.redirect_count = c->redirect_count;
		evaluate_report_redirects(c, &run);
	}
	return evaluate_spend(e, e->in->on_run(e->in->on_run_ctx, &run)) &&
	       evaluate_too_complex(e, count ? words[0].start : 0);
}

/* What @word, /dev/fd/N or below it, names, if a redirection opened a path for N that is still in
 * the same place; else NULL. */
static const struct shell_word *evaluate_opened_path(struct evaluation *e, const struct place *at,
						     const struct shell_word *word)
{
	size_t end;
	const struct shell_redirect *r = input_opened(at, word, &end);
	struct shell_word rest, *path;

	if (!r || (r->op != SHELL_FROM && r->op != SHELL_BOTH) || r->target.content ||
	    !shell_word_constant(&r->target) ||
	    (r->target.text.s[0] != '/' && e->directories.moved))
		return NULL;
	rest = word_slice(word, end, word->text.len, &e->arena);
	path = shell_alloc(&e->arena, sizeof(*path));
	*path = word_concat(&r->target, &rest, &e->arena);
	path->start = word->start;
	path->end = word->end;
	return path;
}

/* The words of @a, with paths for /dev/fd/N that a redirection opened. */
static const struct shell_word *evaluate_opened(struct evaluation *e, const struct action *a,
						const struct place *at)
{
	struct shell_word *words = NULL;

	for (size_t i = 1; i < a->count; i++) {
		const struct shell_word *path = evaluate_opened_path(e, at, &a->words[i]);

		if (path && !words) {
			words = shell_alloc(&e->arena, a->count * sizeof(*words));
			memcpy(words, a->words, a->count * sizeof(*words));
		}
		if (path)
			words[i] = *path;
	}
	return words ? words : a->words;
}

/* Does @word, a relative path, lead elsewhere than to a program of the system, as ./halt does not
 * behind cd /sbin? */
static bool evaluate_leads_elsewhere(struct evaluation *e, const struct shell_word *word)
{
	static const char folders[] = " /bin /sbin /usr/bin /usr/sbin /usr/local/bin "
				      "/usr/local/sbin ";
	const char *slash = memrchr(word->text.s, '/', word->text.len);
	struct shell_word folder = word_slice(word, 0, (size_t)(slash + 1 - word->text.s),
					      &e->arena);
	char path[32];

	shell_budget_take(&e->budget, WORK_FOLDER + 2 * word->text.len);
	return !directories_path(&e->directories, &folder, path, sizeof(path)) ||
	       !list_has(folders, path, strlen(path));
}

static bool evaluate_words(struct evaluation *e, const struct action *a, const struct place *at)
{
	struct evaluation_frame *f;

	if (!a->count)
		return false;
	if (evaluate_is_too_deep(e) || evaluate_spend(e, WORK_COMMAND + WORK_WORD * a->count))
		return evaluate_too_complex(e, a->words[0].start);
	f = evaluate_push(e, at, 1);
	f->cmd = (struct command){ .words = evaluate_opened(e, a, at), .count = a->count,
				   .at = &f->at,
				   .program = name_base(&a->words[0], &f->foreign) };
	f->foreign = f->foreign && evaluate_leads_elsewhere(e, &a->words[0]);
	return evaluate_report(e, &f->at, a->words, a->count, NULL) || evaluate_program_of(e, f);
}

/* Words of a program that they do not name themselves. */
static bool evaluate_words_as(struct evaluation *e, const struct action *a,
			      const struct place *at)
{
	struct evaluation_frame *f = evaluate_push(e, at, 0);
	struct shell_text name = { .s = a->name->name, .len = strlen(a->name->name) };

	f->cmd = (struct command){ .words = a->words, .count = a->count, .at = &f->at,
				   .program = name_base(&a->words[0], &f->foreign),
				   .name = a->name };
	return evaluate_report(e, &f->at, a->words, a->count, &name) ||
	       evaluate_named(e, &f->cmd, &f->list);
}

/* ---- one script ---- */

/* Something at @at, in the outermost text or its input, may change later verdicts. */
static void evaluate_note_change(void *evaluation, uint32_t at)
{
	struct evaluation *e = evaluation;

	if (e->in->on_change && at >= BLOCKLIST_INPUT_BASE)
		e->in->on_change(e->in->on_change_ctx, at - BLOCKLIST_INPUT_BASE);
}

/* The same for the command at hand. One in a function or an alias lies where that is defined, but
 * the call counts as well. */
static void evaluate_note_here(struct evaluation *e, const struct shell_command *c)
{
	evaluate_note_change(e, c->start);
	evaluate_note_change(e, e->reached);
}

/* Does @c, exec with a redirection, open a descriptor for later commands? */
static bool evaluate_opens(const struct shell_command *c)
{
	return c->redirect_count && c->word_count == 1 && word_is(&c->words[0], "exec");
}

/* The command at @f has been judged. */
static void evaluate_end_command(struct evaluation *e, struct evaluation_frame *f)
{
	struct script_run *run = f->run;
	const struct shell_command *c = place_command(&f->at);

	if (c->redirect_count || c->word_count > 1)
		files_note(&e->files, &f->at, &e->budget, &e->arena);
	if (e->files.version != run->files_version || evaluate_opens(c))
		evaluate_note_here(e, c);
	if (e->files.version == run->files_version && e->directories.pushed == run->pushed &&
	    !shell_arena_spent(&e->arena))
		shell_arena_rewind(&e->arena, &run->mark);
}

/* Enter and leave definitions, up to command @next. They run nothing: a cd ends with them. */
static void evaluate_meet_functions(struct evaluation *e, struct script_run *run, uint32_t next)
{
	const struct shell_script *s = &run->script;

	if (run->defined_to && run->defined_to <= next) {
		directories_enter(&e->directories, 0, &run->subshells);
		directories_copy(&e->directories, &run->outside);
		run->defined_to = 0;
	}
	for (; run->function < s->function_count && s->functions[run->function].first <= next;
	     run->function++) {
		const struct shell_function *f = &s->functions[run->function];

		if (!f->uncalled || f->last <= next)
			continue;
		directories_enter(&e->directories, 0, &run->subshells);
		directories_copy(&run->outside, &e->directories);
		run->defined_to = f->last;
	}
}

static bool evaluate_begin_command(struct evaluation *e, struct evaluation_frame *f)
{
	struct script_run *run = f->run;
	const struct shell_command *c = &run->script.commands[run->next];

	if (c->start > e->reached)
		e->reached = c->start;
	run->mark = shell_arena_mark(&e->arena);
	run->files_version = e->files.version;
	run->pushed = e->directories.pushed;
	f->at = run->inside;
	f->at.index = run->next++;
	f->at.beside |= c->context & SHELL_BACKGROUND || c->piped_from != SHELL_NONE;
	f->list.keeps_directory = true;
	evaluate_meet_functions(e, run, f->at.index);
	directories_enter(&e->directories, c->context, &run->subshells);
	input_find(&f->at, e->input, &e->budget, &e->arena);
	if (run->from_input)
		input_rest(&f->at, run->from_input, &e->arena);
	surroundings_read(&f->at, &f->list);
	if (!(c->context & SHELL_TEST) && c->word_count)
		action_words(&f->list, c->words, c->word_count, 0);
	else
		return evaluate_report(e, &f->at, c->words, c->word_count, NULL);
	return false;
}

static bool evaluate_end_script(struct evaluation *e, struct evaluation_frame *f)
{
	const struct shell_script *s = &f->run->script;

	f->more = NULL;
	evaluate_meet_functions(e, f->run, (uint32_t)s->command_count);
	directories_enter(&e->directories, 0, &f->run->subshells);
	if (!f->run->keeps_directory)
		directories_copy(&e->directories, &f->run->start);
	if (s->trouble == SHELL_FINE || (s->trouble == SHELL_SYNTAX && f->run->lenient))
		return false;
	return evaluate_blocked(e, s->trouble == SHELL_SYNTAX ? "text.unparsable"
							      : "text.too_complex",
				s->trouble_at, s->trouble_at);
}

/* Next of a script: a command with its surroundings. */
static bool evaluate_more_commands(struct evaluation *e, struct evaluation_frame *f)
{
	if (f->run->next)
		evaluate_end_command(e, f);
	if (f->run->next == f->run->script.command_count)
		return evaluate_end_script(e, f);
	return evaluate_begin_command(e, f);
}

static bool evaluate_fork_bomb(struct evaluation *e, const struct shell_script *s)
{
	uint32_t start, end;
	size_t others = s->function_count < FUNCTIONS_MAX ? s->function_count : FUNCTIONS_MAX;

	for (size_t i = 0; i < s->function_count; i++)
		if (evaluate_spend(e, others * (s->functions[i].last - s->functions[i].first + 1)))
			return evaluate_too_complex(e, s->functions[i].start);
	return fork_bomb_find(s, &start, &end) &&
	       evaluate_blocked(e, "process.fork_bomb", start, end);
}

/* A frame for the script that the caller parses into the result; @at is where it is run. */
static struct script_run *evaluate_push_script(struct evaluation *e, const struct place *at,
					       unsigned levels)
{
	struct evaluation_frame *f = evaluate_push(e, at, levels);
	struct script_run *run = shell_alloc_raw(&e->stack, sizeof(*run));

	run->bytes = e->budget.bytes;
	run->inside = (struct place){ .script = &run->script, .flows = &run->flows,
				      .index = SHELL_NONE, .files = &e->files,
				      .input_flow = at->input_flow, .elsewhere = at->elsewhere,
				      .netns = at->netns, .altered = at->altered,
				      .beside = at->beside, .recipes = at->recipes };
	run->source = NULL;
	run->repeats = 0;
	run->next = 0;
	run->function = 0;
	run->defined_to = 0;
	run->from_input = NULL;
	run->keeps_directory = false;
	run->subshells.count = 0;
	directories_copy(&run->start, &e->directories);
	f->run = run;
	f->more = evaluate_more_commands;
	return run;
}

static bool evaluate_script(struct evaluation *e, struct script_run *run)
{
	if (evaluate_fork_bomb(e, &run->script))
		return true;
	if (e->in->on_run && !run->inside.altered) {
		run->inside.altered = altered_by_script(&run->script);
		shell_budget_take(&e->budget, run->script.command_count * WORK_ALTERED);
	}
	dataflow_read(&run->flows, &run->script, &e->arena);
	shell_budget_take(&e->budget, run->script.command_count *
				      (WORK_WORD + (run->flows.out ? WORK_FLOW : 0)));
	return false;
}

/* The variables of a nested text: those of the request, where no script has them, and @at's. */
static struct shell_assign *evaluate_variables(struct evaluation *e, const struct place *at,
					       size_t *count)
{
	size_t own = at->script ? 0 : e->variable_count;
	struct shell_assign *all;

	*count = own + at->assign_count;
	all = shell_alloc(&e->arena, (*count + 1) * sizeof(*all));
	if (own)
		memcpy(all, e->variables, own * sizeof(*all));
	if (at->assign_count)
		memcpy(all + own, at->assigns, at->assign_count * sizeof(*all));
	return all;
}

/* The directory in which a shell that starts now finds itself; NULL: not known. */
static const char *evaluate_start_directory(struct evaluation *e)
{
	char path[sizeof(e->directories.now.path)];

	if (!path_dir_text(&e->directories.now, path, sizeof(path)))
		return NULL;
	return shell_copy(&e->arena, path, strlen(path));
}

/* Does @text begin with the standard input of the outermost command? */
static bool evaluate_is_input(const struct shell_word *text)
{
	return text->text.len && text->text.at && text->text.at[0] >= BLOCKLIST_INPUT_BASE;
}

/* @run is the script @text that a shell reads from the input: its commands read the rest. */
static void evaluate_take_input(struct evaluation *e, struct script_run *run,
				const struct shell_word *text)
{
	const uint32_t *at = text->text.at;
	size_t last = text->text.len - 1;

	/* Only parts of it, as `eval "$line"` runs: that reads lines by itself. */
	if (at[last] - at[0] != last || text->text.len != e->input_len) {
		e->input_is_code = true;
		return;
	}
	e->input_is_text = true;
	run->from_input = text;
	run->outer_input = e->input;
	e->input = NULL;
}

/* Does no command of its script come after @at? */
static bool evaluate_is_last(const struct place *at)
{
	return !place_command(at) || at->index + 1 == at->script->command_count;
}

/* Is the command at @at there more than once, with other values each time? */
static bool evaluate_has_choice(const struct place *at)
{
	const struct shell_command *c = place_command(at);

	return c && ((at->index > 0 && c[-1].start == c->start) ||
		     (!evaluate_is_last(at) && c[1].start == c->start));
}

/* Has the script @text started itself again, and does so once more? That says nothing new, but only
 * once in each: one that starts two copies may be a fork bomb. */
static bool evaluate_is_repeated(struct evaluation *e, const struct shell_word *text)
{
	struct script_run *copy = NULL;

	for (struct evaluation_frame *f = e->top; f; f = f->below) {
		if (!f->run || f->run->source != text->text.s ||
		    f->run->source_len != text->text.len)
			continue;
		if (copy)
			return copy->repeats++ == 0;
		copy = f->run;
	}
	return false;
}

static bool evaluate_nested(struct evaluation *e, const struct action *a, const struct place *at)
{
	const struct shell_word *text = a->word;
	struct shell_setup setup = { .args = a->words, .arg_count = a->count,
				     .input = place_input(at), .shell_path = e->in->shell_path,
				     .family = a->flags & ACTION_BASH ? SHELL_FAMILY_BASH
								      : SHELL_FAMILY_POSIX };
	struct script_run *run;
	bool late = a->flags & ACTION_AT_END;
	bool keeps = (a->flags & ACTION_SAME_SHELL) && e->top->list.keeps_directory;

	if ((late && evaluate_is_last(at)) || evaluate_is_repeated(e, text))
		return false;
	if (evaluate_is_too_deep(e) || evaluate_spend(e, text->text.len))
		return evaluate_too_complex(e, text->start);
	if (place_command(at)) {
		setup.outer = at->script;
		setup.outer_command = at->index;
		setup.at_end = late;
		setup.exported_only = !at->same_shell;
	}
	if (evaluate_is_input(text)) {
		setup.on_change = evaluate_note_change;
		setup.on_change_ctx = e;
	}
	setup.in_code = at->lenient && !at->recipes;
	setup.variables = evaluate_variables(e, at, &setup.variable_count);
	if (!at->elsewhere && (!setup.outer || setup.exported_only))
		setup.directory = evaluate_start_directory(e);
	run = evaluate_push_script(e, at, 1);
	run->inside.altered |= altered_by_place(at);
	run->keeps_directory = keeps;
	run->source = text->text.s;
	run->source_len = text->text.len;
	/* An unknown part of the text may hold the missing quote, another value make it whole. */
	run->lenient = at->lenient || word_has_unknown(text) || evaluate_has_choice(at);
	if (evaluate_is_input(text))
		evaluate_take_input(e, run, text);
	shell_parse_word(text, &setup, &e->budget, &run->script);
	run->script.has_cdpath |= setup.outer && setup.outer->has_cdpath;
	return evaluate_script(e, run);
}

/* ---- actions ---- */

/* Text of another language. */
static bool evaluate_code(struct evaluation *e, const struct action *a, const struct place *at)
{
	struct evaluation_frame *f;

	if (evaluate_is_too_deep(e))
		return false;
	e->input_is_code |= evaluate_is_input(a->word);
	f = evaluate_push(e, at, 1);
	f->at.args = a->words;
	f->at.arg_count = a->count;
	f->at.lenient = true;
	f->at.altered = true;
	script_read(a->word, a->flags & ACTION_AWK, &f->at, &f->list);
	return evaluate_spend(e, 0) && evaluate_too_complex(e, a->word->start);
}

static bool evaluate_run_text(struct evaluation *e, const struct action *a,
			      const struct place *at)
{
	return a->flags & ACTION_FOREIGN ? evaluate_code(e, a, at) : evaluate_nested(e, a, at);
}

/* sh /dev/fd/N */
static bool evaluate_descriptor(struct evaluation *e, const struct action *a,
				const struct place *at)
{
	size_t end;
	const struct shell_redirect *opened = input_opened(at, a->word, &end);
	struct action inside = *a;
	struct place apart = *at;

	if (!end || end < a->word->text.len)
		return false;
	if (!opened && at->input_flow & FLOW_TEXTS)
		return evaluate_flow(e, at->input_flow, a->word->start, a->word->end);
	/* Another shell that reads the lines of this one is judged by them. */
	if (!opened && at->input_is_rest && !(a->flags & ACTION_FOREIGN))
		return false;
	inside.word = opened ? input_text(opened) : input_standard(at, e->input);
	if (!opened)
		apart.input.text = NULL;
	return inside.word && evaluate_run_text(e, &inside, &apart);
}

/* Is @file "$x/y", a path in a directory that is not known? It is not text, whatever x is. */
static bool evaluate_is_path(const struct shell_word *file)
{
	const char *slash = strchr(file->text.s, '/');

	return slash && file->kind[0] == SHELL_UNKNOWN &&
	       file->kind[slash - file->text.s] == SHELL_LITERAL;
}

/* sh FILE: the text is known for <(...) and for a file that the text wrote. */
static bool evaluate_file(struct evaluation *e, const struct action *a, const struct place *at)
{
	const struct shell_word *file = a->word, *content = file->content;
	const struct written_file *written = content ? NULL : files_find(&e->files, file);
	struct action inside = *a;
	/* A file that sed made can be read first, so it is not "filtered". */
	unsigned flow = (evaluate_is_path(file) ? 0 : dataflow_origin(at, file)) |
			(written ? written->flow & ~(unsigned)FLOW_FILTERED : 0);

	if (flow & FLOW_TEXTS)
		return evaluate_flow(e, flow, file->start, file->end);
	if (!content)
		content = files_content(written, &e->budget, &e->arena);
	if (!content)
		return evaluate_descriptor(e, a, at);
	inside.word = content;
	return evaluate_run_text(e, &inside, at);
}

/* The place of what action @a, of a command at @at, runs. */
static struct place evaluate_place(const struct action *a, const struct place *at)
{
	struct place p = *at;

	if (a->flags & ACTION_NO_INPUT)
		p.input.text = NULL;
	p.each |= (a->flags & ACTION_EACH) != 0;
	p.same_shell |= (a->flags & ACTION_SAME_SHELL) != 0;
	p.lenient |= (a->flags & ACTION_LENIENT) != 0;
	p.recipes += (a->flags & ACTION_RECIPE) != 0;
	p.beside &= !(a->flags & ACTION_RECIPE);
	p.elsewhere |= (a->flags & ACTION_ELSEWHERE) != 0;
	p.elsewhere &= !(a->flags & ACTION_HOST);
	p.netns |= (a->flags & ACTION_NETNS) != 0;
	p.netns &= !(a->flags & ACTION_HOST);
	if (a->input) {
		p.input.text = a->input;
		p.input_is_rest = false;
	}
	if (a->assign_count) {
		p.assigns = a->assigns;
		p.assign_count = a->assign_count;
	}
	return p;
}

/* May the command of the top frame, which runs what @a says, change what that does? */
static bool evaluate_alters(const struct evaluation *e, const struct action *a)
{
	const struct evaluation_frame *f = e->top;

	return f->run ? a->words != place_command(&f->at)->words : altered_by_wrapper(&f->cmd, a);
}

/* May the cd @a find its directory by CDPATH? */
static bool evaluate_searches(const struct action *a, const struct place *at)
{
	const char *to = a->word ? a->word->text.s : "/";

	if (!at->script || !at->script->has_cdpath || a->flags & ACTION_TURN)
		return false;
	if (strspn(to, ".") <= 2)
		to += strspn(to, ".");
	return *to && *to != '/' && a->word->kind[0] != SHELL_TILDE;
}

/* Judge what is done at once; what is run becomes the top frame. */
static bool evaluate_action(struct evaluation *e, const struct action *a, const struct place *at)
{
	struct place inner = evaluate_place(a, at);
	uint32_t start = a->count ? a->words[0].start : 0;
	uint32_t end = a->count ? a->words[a->count - 1].end : 0;

	inner.altered = at->altered || evaluate_alters(e, a);
	switch (a->kind) {
	case ACTION_WORDS:
		return evaluate_words(e, a, &inner);
	case ACTION_NAMED:
		return evaluate_words_as(e, a, &inner);
	case ACTION_TEXT:
		return evaluate_run_text(e, a, &inner);
	case ACTION_FILE:
		return evaluate_file(e, a, &inner);
	case ACTION_TOUCH:
		return rules_judge_effect(&e->rules, a->effect, a->word, 0, false, &e->finding);
	case ACTION_FOUND:
		return evaluate_blocked(e, a->effect, start, end);
	case ACTION_FLOW:
		return evaluate_flow(e, a->flow, start, end);
	case ACTION_CHDIR:
		if (place_command(at))
			evaluate_note_here(e, place_command(at));
		directories_change(&e->directories, a, &e->budget, &e->arena);
		e->directories.searched |= evaluate_searches(a, at);
		return false;
	case ACTION_PRINT:
		return false;
	}
	return false;
}

/* ---- the loop ---- */

/* One action of the top frame, or the next list of it, or its end. */
static bool evaluate_step(struct evaluation *e)
{
	struct evaluation_frame *f = e->top;

	if (f->next < f->list.count) {
		if (!f->next && !f->list.keeps_directory)
			evaluate_save_directory(e, f);
		return evaluate_action(e, &f->list.list[f->next++], &f->at);
	}
	if (f->returns)
		directories_copy(&e->directories, &f->before);
	if (!f->more) {
		evaluate_pop(e);
		return false;
	}
	evaluate_clear_list(e, f);
	return f->more(e, f);
}

/* What @f, around the finding, has to say of it. */
static void evaluate_name_finding(struct evaluation *e, const struct evaluation_frame *f)
{
	const struct action *a = f->next ? &f->list.list[f->next - 1] : NULL;

	if (a && a->end) {
		e->finding.start = a->start;
		e->finding.end = a->end;
	}
	if (f->run && f->run->script.trouble != SHELL_FINE && !e->finding.detail &&
	    strncmp(strtab_get(e->finding.rule->id), "text.", 5) == 0)
		e->finding.detail = f->run->script.trouble_text;
}

/* The budget ended before all was judged: block. */
static bool evaluate_left_over(struct evaluation *e)
{
	if (!evaluate_spend(e, 0))
		return false;
	evaluate_too_complex(e, 0);
	e->finding.detail = "more work than a text of its length may take";
	return true;
}

/* Judge what is on the stack until it is empty, or something is blocked, as @blocked says. */
static bool evaluate_all(struct evaluation *e, bool blocked)
{
	while (e->top && !blocked)
		blocked = evaluate_step(e);
	for (; e->top; evaluate_pop(e))
		evaluate_name_finding(e, e->top);
	return blocked || evaluate_left_over(e);
}

/* ---- entry ---- */

static bool evaluate_find_path(const void *directories, const struct shell_word *name, char *out,
			       size_t size)
{
	return directories_path(directories, name, out, size);
}

void evaluation_init(struct evaluation *e, const struct blocklist_input *in, size_t bytes)
{
	memset(e, 0, sizeof(*e));
	e->in = in;
	e->rules.dir = &e->directories.now;
	e->files.find_path = evaluate_find_path;
	e->files.find_path_ctx = &e->directories;
	budget_init(&e->budget, &e->arena, bytes);
	shell_arena_init(&e->stack, SIZE_MAX);
}

void evaluation_release(struct evaluation *e)
{
	shell_arena_release(&e->stack);
	shell_arena_release(&e->arena);
	args_release(&e->rules.args);
	args_release(&e->args);
}

bool evaluate_text(struct evaluation *e, const struct shell_text *text,
		   const struct shell_word *args, size_t arg_count,
		   const struct shell_word *input)
{
	struct shell_setup setup = { .variables = e->variables,
				     .variable_count = e->variable_count,
				     .directory = evaluate_start_directory(e), .args = args,
				     .arg_count = arg_count, .input = input,
				     .shell_path = e->in->shell_path,
				     .family = e->in->shell_family,
				     .outermost = true };
	struct place nowhere = { .index = SHELL_NONE };
	struct script_run *run = evaluate_push_script(e, &nowhere, 0);

	e->input = input;
	e->input_was_read |= input != NULL; /* it is parsed with the text */
	e->input_len = input ? input->text.len : 0;
	if (input && input->text.len > INPUT_PARSED_MAX)
		setup.input = NULL;
	run->lenient = e->in->no_shell;
	shell_parse_with(text, &setup, &e->budget, &run->script);
	return evaluate_all(e, evaluate_script(e, run));
}

bool evaluate_program(struct evaluation *e, const struct shell_word *words, size_t count,
		      const struct shell_word *input)
{
	struct place at = { .index = SHELL_NONE, .input = { input, &e->input_was_read },
			    .files = &e->files };
	struct action all = { .kind = ACTION_WORDS, .words = words, .count = count };

	e->input_len = input ? input->text.len : 0;
	return evaluate_all(e, evaluate_words(e, &all, &at));
}
