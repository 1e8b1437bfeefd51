#include "policy/ruling.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "shell/words.h"

/* Programs of one text that are looked up; each takes some hundred system calls. */
#define PROGRAMS_MAX 16
#define WORK_PROGRAM 2000u

/* What installed_lacks() says of a program. */
struct ruling_program {
	char *name, *path;
	const char *lacks;
};

struct ruling_state {
	const struct ruling_request *request;
	const struct blocklist_input *in;
	struct ruling *out;
	bool any; /* a command was reported */
	struct rule_work work; /* on the command that is looked at */
	uint64_t steps_max;    /* with as many, none is left */
	struct ruling_program programs[PROGRAMS_MAX];
	size_t program_count;
};

/* What decides on one simple command. */
struct ruling_choice {
	enum tier tier;
	const struct rule *rule;
	const char *pack;
};

/* ---- words for people ---- */

/* Bytes of @w that are known, hidden characters escaped, a ? for each part that is not. */
static size_t ruling_show_word(const struct shell_word *w, char *out, size_t size)
{
	size_t len = 0;

	for (size_t i = 0, used; i < w->text.len && len + 8 < size; i += used) {
		size_t left = w->text.len - i;

		used = 1;
		if (w->kind[i] == SHELL_UNKNOWN || w->kind[i] == SHELL_UNKNOWN_FIELDS) {
			out[len++] = '?';
			continue;
		}
		utf8_next(w->text.s + i, left, &used);
		len += utf8_show(out + len, size - len - 1, w->text.s + i, used);
	}
	out[len] = '\0';
	return len;
}

void ruling_show(const struct blocklist_run *run, char *out, size_t size)
{
	size_t len = 0;

	*out = '\0';
	for (size_t i = 0; i < run->count && len + 12 < size; i++) {
		if (i)
			out[len++] = ' ';
		len += ruling_show_word(&run->words[i], out + len, size - len - 4);
	}
}

/* ---- exceptions ---- */

static bool ruling_covers_name(const struct rule *r, const char *name, size_t len)
{
	AUTO_FREE char *text = mem_strndup(name, len);

	for (const char **one = r->environment; one && *one; one++)
		if (rule_text_fits(*one, text))
			return true;
	return false;
}

static bool ruling_covers_assigns(const struct rule *r, const struct shell_assign *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!ruling_covers_name(r, list[i].name, strlen(list[i].name)))
			return false;
	return true;
}

static bool ruling_covers_environment(const struct ruling_state *s, const struct rule *r,
				      const struct blocklist_run *run)
{
	for (const char *const *one = s->in->environment; one && *one; one++)
		if (!ruling_covers_name(r, *one, strcspn(*one, "=")))
			return false;
	return ruling_covers_assigns(r, run->assigns, run->assign_count) &&
	       ruling_covers_assigns(r, run->more_assigns, run->more_assign_count);
}

static bool ruling_covers_user(const struct ruling_state *s, const struct rule *r)
{
	return !s->request->user ||
	       (r->users && str_is_listed(s->request->user, (const char *const *)r->users));
}

/* Does the shell itself run @run, whatever program of the name is installed? */
static bool ruling_is_builtin(const struct ruling_state *s, const struct blocklist_run *run)
{
	bool shell = !s->in->no_shell && (!s->in->args || s->in->shell);

	return shell && run->is_direct && shell_words_is_builtin(run->words[0].text.s);
}

/* The same answer for the whole text. NULL: there are too many. */
static const struct ruling_program *ruling_find_program(struct ruling_state *s, const char *name)
{
	struct ruling_program *p = s->programs, *end = s->programs + s->program_count;

	while (p < end && strcmp(p->name, name))
		p++;
	if (p < end || s->program_count == PROGRAMS_MAX)
		return p < end ? p : NULL;
	s->program_count++;
	s->work.steps += WORK_PROGRAM;
	p->name = mem_strdup(name);
	p->lacks = installed_lacks(s->request->installed, name, &p->path);
	return p;
}

static void ruling_release_programs(struct ruling_state *s)
{
	for (size_t i = 0; i < s->program_count; i++) {
		free(s->programs[i].name);
		free(s->programs[i].path);
	}
}

/* Is what runs the program that @r names? NULL, or why not. */
static const char *ruling_lacks_program(struct ruling_state *s, const struct rule *r,
					const struct blocklist_run *run)
{
	const char *written = run->words[0].text.s;
	const struct ruling_program *found, *named;

	if (!s->request->installed)
		return "where commands may write is not known here";
	if (ruling_is_builtin(s, run))
		return shell_words_is_plain_builtin(written)
			? NULL : "a command of the shell has its name";
	found = ruling_find_program(s, written);
	named = found && *written == '/' ? ruling_find_program(s, run->program.s) : found;
	if (!named)
		return "its text has too many programs";
	if (found->lacks || str_is_listed(found->path, (const char *const *)r->programs))
		return found->lacks;
	if (!str_is_listed(run->program.s, (const char *const *)r->programs))
		return "the rule names another path";
	if (named->lacks || !strcmp(named->path, found->path))
		return named->lacks;
	return "PATH finds another program of the name";
}

/* Why @r is not an exception for @run, which it fits as @fit says; NULL: it is one. */
static const char *ruling_lacks(struct ruling_state *s, const struct rule *r,
				const struct blocklist_run *run, enum rule_fit fit)
{
	if (fit < RULE_FITS)
		return "a word is not known, or not named by the rule";
	if (!r->programs)
		return "the rule names no program";
	if (run->is_function || run->is_idle || run->is_inner || run->is_test)
		return "it is part of a function, a substitution or a test";
	if (run->sets_variables)
		return "its text sets variables by a loop, arithmetic, ${...} or the like";
	if (run->is_altered)
		return "another command of its text, or one around it, may change what it does";
	if (!ruling_covers_environment(s, r, run))
		return "a variable is set that the rule does not name";
	if ((s->request->has_input || run->is_fed) && !r->input)
		return "it is given standard input, and the rule does not say so";
	if (!ruling_covers_user(s, r))
		return "it runs as a user that the rule does not name";
	if (run->writes)
		return "its output is redirected to a file";
	if (s->request->has_log_file)
		return "its output goes to a log_file";
	/* cd goes by names: it may fail, and a link may lead elsewhere by the time it is done. */
	if (r->directory && run->has_moved)
		return "a cd came before it";
	return ruling_lacks_program(s, r, run);
}

/* ---- one simple command ---- */

static void ruling_report(const struct ruling_state *s, const struct blocklist_run *run,
			  const struct rule *r, const char *pack, enum rule_fit fit,
			  const char *lacks)
{
	const struct ruling_look look = { .run = run, .rule = r, .pack = pack, .fit = fit,
					  .lacks = lacks };

	if (s->request->watch && fit != RULE_OTHER_PROGRAM)
		s->request->watch->on_look(s->request->watch->ctx, &look);
}

/* A rule for another capability, or whose time is over, fits nothing. */
static enum rule_fit ruling_fit(struct ruling_state *s, const struct rule *r,
				const struct blocklist_run *run)
{
	bool counts = (r->capabilities & s->request->capability) && !rule_is_over(r);

	return counts ? rule_fits(r, run, NULL, &s->work) : RULE_OTHER_PROGRAM;
}

/* Make @choice as strict as the rules of @set that match. */
static void ruling_raise(struct ruling_state *s, const struct blocklist_run *run,
			 const struct ruleset *set, const char *pack, struct ruling_choice *choice)
{
	for (size_t i = 0; set && i < set->count && s->work.steps < s->steps_max; i++) {
		const struct rule *r = &set->list[i];
		enum rule_fit fit = ruling_fit(s, r, run);

		ruling_report(s, run, r, pack, fit, NULL);
		if (fit >= RULE_MAY_FIT &&
		    (r->decision > choice->tier || (r->decision == choice->tier && !choice->rule)))
			*choice = (struct ruling_choice){ r->decision, r, pack };
	}
}

/* The operator's own rules: the strictest that matches; an exception only where it is
 * a true one. */
static void ruling_own(struct ruling_state *s, const struct blocklist_run *run,
		       struct ruling_choice *choice)
{
	const struct ruleset *set = s->request->book->own;
	struct ruling_choice own = { TIER_AUTONOMOUS, NULL, NULL };
	bool excepted = false;

	for (size_t i = 0; set && i < set->count && s->work.steps < s->steps_max; i++) {
		const struct rule *r = &set->list[i];
		enum rule_fit fit = ruling_fit(s, r, run);
		bool loosens = r->decision < choice->tier || r->decision == TIER_AUTONOMOUS;
		const char *lacks = loosens && fit >= RULE_MAY_FIT ? ruling_lacks(s, r, run, fit)
								   : NULL;

		ruling_report(s, run, r, NULL, fit, lacks);
		if (fit < RULE_MAY_FIT || (lacks && r->decision == TIER_AUTONOMOUS))
			continue;
		excepted |= loosens && !lacks;
		if (!own.rule || r->decision > own.tier)
			own = (struct ruling_choice){ r->decision, r, NULL };
	}
	if (own.rule && (own.tier >= choice->tier || excepted))
		*choice = own;
}

/* @choice decides as the rule before does. */
static void ruling_keep_also(struct ruling *out, const struct ruling_choice *choice)
{
	unsigned i = 0;

	if (!choice->rule || choice->rule == out->rule)
		return;
	while (i < out->also_count && i < RULING_ALSO_MAX && out->also[i].rule != choice->rule)
		i++;
	if (i < RULING_ALSO_MAX)
		out->also[i] = (struct ruling_also){ choice->rule, choice->pack };
	if (i >= out->also_count)
		out->also_count = i + 1;
}

void ruling_join(struct ruling *out, const struct ruling *next)
{
	struct ruling_choice one = { next->tier, next->rule, next->pack };

	if (next->tier > out->tier || (next->tier == out->tier && !out->rule))
		*out = *next;
	if (next->tier < out->tier)
		return;
	ruling_keep_also(out, &one);
	for (unsigned i = 0; i < next->also_count && i < RULING_ALSO_MAX; i++) {
		one.rule = next->also[i].rule;
		one.pack = next->also[i].pack;
		ruling_keep_also(out, &one);
	}
	if (next->also_count > RULING_ALSO_MAX)
		out->also_count = RULING_ALSO_MAX + 1;
}

static void ruling_keep(struct ruling_state *s, const struct blocklist_run *run,
			const struct ruling_choice *choice)
{
	struct ruling *out = s->out;
	bool first = !s->any;

	s->any = true;
	if (!first && choice->tier == out->tier && out->rule)
		ruling_keep_also(out, choice);
	if (!first && (choice->tier < out->tier || (choice->tier == out->tier &&
						    (out->rule || !choice->rule))))
		return;
	out->also_count = 0;
	out->tier = choice->tier;
	out->rule = choice->rule;
	out->pack = choice->pack;
	ruling_show(run, out->shown, sizeof(out->shown));
}

static uint64_t ruling_on_run(void *ctx, const struct blocklist_run *run)
{
	struct ruling_state *s = ctx;
	const struct rulebook *book = s->request->book;
	struct ruling_choice choice = { s->request->tier, NULL, NULL };

	if (run->at < s->request->from)
		return 1;
	s->work = (struct rule_work){ .steps = 1 };
	s->steps_max = run->steps;
	ruling_report(s, run, NULL, NULL, RULE_FITS, NULL);
	for (size_t i = 0; i < book->pack_count; i++)
		ruling_raise(s, run, &book->packs[i].rules, book->packs[i].file->name, &choice);
	ruling_own(s, run, &choice);
	ruling_raise(s, run, book->project, NULL, &choice);
	ruling_keep(s, run, &choice);
	return s->work.steps;
}

void ruling_judge(const struct ruling_request *rq, const struct blocklist_input *in,
		  struct blocklist_verdict *v, struct ruling *out)
{
	struct ruling_state s = { .request = rq, .in = in, .out = out };
	struct blocklist_input watched = *in;

	*out = (struct ruling){ .tier = rq->tier };
	if (rq->watch || (rulebook_count(rq->book) && rq->tier != TIER_DENY)) {
		watched.on_run = ruling_on_run;
		watched.on_run_ctx = &s;
	}
	blocklist_judge(&watched, v);
	ruling_release_programs(&s);
	if (rq->tier == TIER_DENY) /* whatever a watched rule says */
		*out = (struct ruling){ .tier = TIER_DENY };
}
