#include "policy/rule.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/schema.h"
#include "base/str.h"
#include "base/utf8.h"

#define AT(member) offsetof(struct rule, member)

const struct rule_member rule_members[] = {
	{ "id", RULE_STRING, 0, false, "Its name in answers, questions and the audit log." },
	{ "program", RULE_STRINGS, AT(programs), false,
	  "The program, by its name without the folder or by its absolute path; without it any." },
	{ "subcommand", RULE_STRINGS, AT(subcommand), false,
	  "The first operand of the command, such as push of git, or the first ones, such as "
	  "volume rm of docker; words and without then look after it." },
	{ "words", RULE_STRINGS, AT(words), false,
	  "Each must be among the words of the command, in any order; a|b are alternatives, * "
	  "stands for any text." },
	{ "without", RULE_STRINGS, AT(without), false,
	  "None of these is among the words of the command." },
	{ "ignore", RULE_STRINGS, AT(ignore), false,
	  "Words of the command that do not count for words; \"-i *\" is the word after -i." },
	{ "pattern_unless", RULE_STRINGS, AT(pattern_unless), false,
	  "The first operand, such as grep's pattern, does not count for words either, unless one "
	  "of these options is there." },
	{ "text", RULE_STRINGS, AT(text), false,
	  "Each is somewhere in a word of the command or in its standard input, as far as these "
	  "are known; upper and lower case and the amount of white space do not matter." },
	{ "without_text", RULE_STRINGS, AT(without_text), false, "None of these is there." },
	{ "directory", RULE_STRING, AT(directory), true,
	  "The command runs in this directory, or below it." },
	{ "capability", RULE_STRINGS, 0, true, "process.run, process.input; without it both." },
	{ "decision", RULE_STRING, 0, true, "allow, notify, confirm or deny." },
	{ "reason", RULE_STRING, AT(reason), false,
	  "Why, for the agent and for the human who is asked." },
	{ "suggestion", RULE_STRING, AT(suggestion), false, "What to do instead." },
	{ "until", RULE_STRING, AT(until), true, "The last day that it holds, as in 2027-01-31." },
	{ "why", RULE_STRING, 0, true, "For the reader of the file." },
	{ "environment", RULE_STRINGS, AT(environment), true,
	  "allow: variables that the request may set; * stands for any text." },
	{ "stdin", RULE_BOOLEAN, AT(input), true, "allow: the request may give standard input." },
	{ "user", RULE_STRINGS, AT(users), true, "allow: users that the request may name." },
	{ "examples", RULE_STRINGS, AT(examples), false,
	  "Commands that it matches, tested at every start." },
	{ "counterexamples", RULE_STRINGS, AT(counterexamples), false,
	  "Commands that it does not match." },
	{ NULL, RULE_STRING, 0, false, NULL },
};

static const char *const decisions[] = { "allow", "notify", "confirm", "deny" };

/* ---- members ---- */

static int rule_fail(const struct rule *r, struct err *e, const char *member, const char *what)
{
	return err_set(e, ERR_INVALID_PARAMS, "rule \"%.64s\": %s %s", r->id ? r->id : "?", member,
		       what);
}

static const struct rule_member *rule_member_find(const char *name, enum rule_source from)
{
	for (const struct rule_member *m = rule_members; m->name; m++)
		if (!strcmp(m->name, name) && !(m->own && from == RULE_OF_PACK))
			return m;
	return NULL;
}

static int rule_fail_unknown(const struct rule *r, const char *name, struct err *e)
{
	const char *names[COUNT_OF(rule_members)] = { NULL };

	for (size_t i = 0; rule_members[i].name; i++)
		names[i] = rule_members[i].name;
	err_set(e, ERR_INVALID_PARAMS, "rule \"%.64s\": unknown member \"%.64s\"",
		r->id ? r->id : "?", name);
	schema_say_nearest(e, name, names);
	return err_hint(e, "`procpen config schema` has all members of a rule.");
}

/* A text that people read as it is: UTF-8 without hidden characters, and not empty. */
static bool rule_is_text(const json_t *value, size_t max)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value), used;

	if (!len || len > max || strlen(text) != len)
		return false;
	for (size_t at = 0; at < len; at += used)
		if (utf8_next(text + at, len - at, &used) != UTF8_VALID ||
		    utf8_is_hidden(text + at, used))
			return false;
	return true;
}

static int rule_check_strings(const struct rule *r, const struct rule_member *m,
			      const json_t *value, struct err *e)
{
	size_t max = str_is_listed(m->name, (const char *const[]){ "examples", "counterexamples",
								   NULL })
			     ? RULE_TEXT_MAX : RULE_WORD_MAX;
	json_t *one;
	size_t i;

	if (json_array_size(value) > RULE_LIST_MAX)
		return rule_fail(r, e, m->name, "has more than 64 elements");
	json_array_foreach(value, i, one)
		if (!rule_is_text(one, max))
			return rule_fail(r, e, m->name,
					 max == RULE_WORD_MAX
						 ? "takes strings of 1 to 1024 printable bytes"
						 : "takes strings of 1 to 512 printable bytes");
	return json_array_size(value) ? 0 : rule_fail(r, e, m->name, "is empty");
}

static int rule_check_member(const struct rule *r, const struct rule_member *m,
			     const json_t *value, struct err *e)
{
	if (m->type == RULE_BOOLEAN)
		return json_is_boolean(value) ? 0 : rule_fail(r, e, m->name, "is true or false");
	if (m->type == RULE_STRINGS && json_is_array(value))
		return rule_check_strings(r, m, value, e);
	if (rule_is_text(value, m->type == RULE_STRINGS ? RULE_WORD_MAX : RULE_TEXT_MAX))
		return 0;
	return rule_fail(r, e, m->name,
			 m->type == RULE_STRINGS ? "is a string of 1 to 1024 printable bytes, or "
						   "an array of them"
						 : "is a string of 1 to 512 printable bytes");
}

/* All mistakes in one message. */
static int rule_check_members(const struct rule *r, enum rule_source from, struct err *e)
{
	ERR_LOCAL(more);
	const char *name;
	json_t *value;
	int status = 0;

	json_object_foreach(r->source, name, value) {
		const struct rule_member *m = rule_member_find(name, from);

		if (m && !rule_check_member(r, m, value, &more))
			continue;
		if (!m)
			rule_fail_unknown(r, name, &more);
		if (status)
			err_prefix(&more, "%s; ", e->message);
		*e = more;
		status = -1;
	}
	return status;
}

/* ---- values ---- */

static const char *rule_string(const struct rule *r, const char *name)
{
	return json_string_value(json_object_get(r->source, name));
}

/* An array of the strings, on the heap; NULL if the member is absent. */
static const char **rule_strings(const struct rule *r, const char *name)
{
	const json_t *value = json_object_get(r->source, name);
	size_t count = json_is_array(value) ? json_array_size(value) : 1;
	const char **list = value ? mem_zalloc((count + 1) * sizeof(*list)) : NULL;

	for (size_t i = 0; list && i < count; i++)
		list[i] = json_string_value(json_is_array(value) ? json_array_get(value, i)
								 : value);
	return list;
}

/* Letters, digits, and . _ - between them; "tier." is for tiers. */
static int rule_read_id(struct rule *r, enum rule_source from, struct err *e)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	const char *id = json_is_object(r->source) ? rule_string(r, "id") : NULL;

	if (!json_is_object(r->source))
		return err_set(e, ERR_INVALID_PARAMS, "a rule is an object");
	if (!id)
		return err_set(e, ERR_INVALID_PARAMS, "a rule has no id");
	if (!*id || id[strspn(id, letters)] || strlen(id) > RULE_ID_MAX || !strncmp(id, "tier.", 5))
		return err_set(e, ERR_INVALID_PARAMS,
			       "rule \"%.64s\": id has 1 to 64 letters, digits, dots, dashes and "
			       "underscores, and does not begin with \"tier.\"", id);
	r->id = id;
	if (from == RULE_OF_PROJECT) { /* never taken for one of the operator's */
		json_object_set_new(r->source, "id", json_sprintf(RULE_PROJECT "%s", id));
		r->id = rule_string(r, "id");
	}
	return 0;
}

static int rule_read_decision(struct rule *r, enum rule_source from, enum tier decision,
			      struct err *e)
{
	const char *name = rule_string(r, "decision");

	r->decision = decision;
	if (from == RULE_OF_PACK)
		return 0;
	if (!name)
		return rule_fail(r, e, "decision", "is missing");
	for (size_t i = 0; i < COUNT_OF(decisions); i++) {
		r->decision = (enum tier)i;
		if (strcmp(name, decisions[i]))
			continue;
		if (from == RULE_OF_PROJECT && !i)
			return rule_fail(r, e, "decision", "is allow, which is for operators only");
		return 0;
	}
	return rule_fail(r, e, "decision", "is none of allow, notify, confirm, deny");
}

static int rule_read_capabilities(struct rule *r, struct err *e)
{
	AUTO_FREE const char **names = rule_strings(r, "capability");

	r->capabilities = names ? 0 : RULE_RUN | RULE_INPUT;
	for (size_t i = 0; names && names[i]; i++) {
		if (!strcmp(names[i], "process.run"))
			r->capabilities |= RULE_RUN;
		else if (!strcmp(names[i], "process.input"))
			r->capabilities |= RULE_INPUT;
		else
			return rule_fail(r, e, "capability",
					 "is neither process.run nor process.input");
	}
	return 0;
}

/* YYYY-MM-DD compares as text. */
static int rule_check_until(const struct rule *r, struct err *e)
{
	if (!r->until || (strlen(r->until) == 10 && clock_is_time(r->until)))
		return 0;
	return rule_fail(r, e, "until", "is not a date such as 2027-01-31");
}

/* Each is matched as a whole in a buffer of bounded size. */
static int rule_check_whole(const struct rule *r, const char *name, const char **list,
			    struct err *e)
{
	for (size_t i = 0; list && list[i]; i++)
		if (strlen(list[i]) > RULE_ONE_MAX)
			return rule_fail(r, e, name, "is longer than 256 bytes");
	return 0;
}

/* With alternatives in one program, or with words behind it, the rule would never match. */
static int rule_check_programs(const struct rule *r, struct err *e)
{
	for (size_t i = 0; r->programs && r->programs[i]; i++) {
		if (strchr(r->programs[i], '|'))
			return rule_fail(r, e, "program",
					 "has a |: several programs are an array");
		if (*r->programs[i] != '/' && strchr(r->programs[i], ' '))
			return rule_fail(r, e, "program", "has a blank: the words behind the "
					 "program are subcommand or words");
	}
	return rule_check_whole(r, "program", r->programs, e);
}

/* PATH decides which program runs, so no rule may leave it to a request. */
static int rule_check_allow(const struct rule *r, struct err *e)
{
	if (!r->programs)
		return rule_fail(r, e, "program", "is missing: an allow names its programs");
	for (size_t i = 0; r->programs[i]; i++)
		if (strchr(r->programs[i], '*'))
			return rule_fail(r, e, "program",
					 "has a *: an allow names its programs whole");
	if (rule_check_whole(r, "environment", r->environment, e))
		return -1;
	for (size_t i = 0; r->environment && r->environment[i]; i++)
		if (rule_text_fits(r->environment[i], "PATH"))
			return rule_fail(r, e, "environment",
					 "covers PATH, with which another program would run");
	return 0;
}

static int rule_check_strict(const struct rule *r, struct err *e)
{
	if (r->environment || r->users || json_object_get(r->source, "stdin"))
		return rule_fail(r, e, "environment, stdin and user", "are for an allow only");
	if (!r->programs && !r->subcommand && !r->words && !r->text && !r->directory)
		return rule_fail(r, e, "program, subcommand, words, text and directory",
				 "are missing: it would match every command");
	return 0;
}

/* An alternative is matched in a buffer of bounded size. */
static int rule_check_alternatives(const struct rule *r, const char *name, const char **list,
				   struct err *e)
{
	for (size_t i = 0; list && list[i]; i++)
		for (const char *text = list[i]; *text; text += *text == '|') {
			size_t len = strcspn(text, "|");

			if (!len || len > RULE_ONE_MAX || (text[len] && !text[len + 1]))
				return rule_fail(r, e, name,
						 "has an alternative that is empty, or longer than "
						 "256 bytes");
			text += len;
		}
	return 0;
}

/* A subcommand of several operands has one blank between them. */
static int rule_check_subcommand(const struct rule *r, struct err *e)
{
	for (const char **one = r->subcommand; one && *one; one++)
		for (const char *s = *one; *s; s++)
			if (*s == ' ' && (s == *one || strchr(" |", s[-1]) || strchr("|", s[1])))
				return rule_fail(r, e, "subcommand",
						 "has an operand that is empty");
	return rule_check_alternatives(r, "subcommand", r->subcommand, e);
}

static int rule_check_phrases(const struct rule *r, const char *name, const char **list,
			      struct err *e)
{
	if (rule_check_alternatives(r, name, list, e))
		return -1;
	for (size_t i = 0; list && list[i]; i++)
		for (const char *text = list[i]; *text; text += *text == '|') {
			text += strspn(text, "*");
			if (!*text || *text == '|')
				return rule_fail(r, e, name,
						 "has a * alone, which is in every text");
			text += strcspn(text, "|");
		}
	return 0;
}

static int rule_check_words(const struct rule *r, struct err *e)
{
	return rule_check_programs(r, e) ||
			       rule_check_subcommand(r, e) ||
			       rule_check_alternatives(r, "words", r->words, e) ||
			       rule_check_alternatives(r, "without", r->without, e) ||
			       rule_check_alternatives(r, "ignore", r->ignore, e) ||
			       rule_check_alternatives(r, "pattern_unless", r->pattern_unless,
						       e) ||
			       rule_check_phrases(r, "text", r->text, e) ||
			       rule_check_phrases(r, "without_text", r->without_text, e)
		       ? -1 : 0;
}

static int rule_check_paths(const struct rule *r, struct err *e)
{
	for (size_t i = 0; r->programs && r->programs[i]; i++)
		if (strchr(r->programs[i], '/') &&
		    (r->programs[i][0] != '/' || !strrchr(r->programs[i], '/')[1]))
			return rule_fail(r, e, "program", "is neither a name nor an absolute path");
	if (r->directory && r->directory[0] != '/')
		return rule_fail(r, e, "directory", "is not an absolute path");
	if (!r->words && ((r->ignore && !r->subcommand) || r->pattern_unless))
		return rule_fail(r, e, "words", "is missing: ignore and pattern_unless change what "
				 "counts for it");
	return 0;
}

static void rule_read_values(struct rule *r)
{
	for (const struct rule_member *m = rule_members; m->name; m++) {
		void *value = (char *)r + m->at;

		if (m->at && m->type == RULE_STRINGS)
			*(const char ***)value = rule_strings(r, m->name);
		else if (m->at && m->type == RULE_STRING)
			*(const char **)value = rule_string(r, m->name);
		else if (m->at)
			*(bool *)value = json_is_true(json_object_get(r->source, m->name));
	}
	r->names = rule_strings(r, "program");
	for (size_t i = 0; r->names && r->names[i]; i++)
		if (strrchr(r->names[i], '/'))
			r->names[i] = strrchr(r->names[i], '/') + 1;
	r->real_directory = r->directory ? realpath(r->directory, NULL) : NULL;
}

int rule_read(struct rule *r, json_t *source, const char *origin, enum rule_source from,
	      enum tier decision, struct err *e)
{
	*r = (struct rule){ .source = json_incref(source), .origin = mem_strdup(origin) };
	if (rule_read_id(r, from, e) || rule_check_members(r, from, e))
		return -1;
	rule_read_values(r);
	r->guesses = from != RULE_OF_PACK;
	if (rule_read_decision(r, from, decision, e) || rule_read_capabilities(r, e) ||
	    rule_check_until(r, e) || rule_check_words(r, e) || rule_check_paths(r, e))
		return -1;
	return r->decision == TIER_AUTONOMOUS ? rule_check_allow(r, e) : rule_check_strict(r, e);
}

void rule_release(struct rule *r)
{
	for (const struct rule_member *m = rule_members; m->name; m++)
		if (m->at && m->type == RULE_STRINGS)
			free(*(const char ***)(void *)((char *)r + m->at));
	free(r->names);
	free(r->origin);
	free(r->real_directory);
	json_decref(r->source);
	*r = (struct rule){ .source = NULL };
}

bool rule_is_of_project(const struct rule *r)
{
	return !strncmp(r->id, RULE_PROJECT, strlen(RULE_PROJECT));
}

bool rule_is_over(const struct rule *r)
{
	char now[CLOCK_TEXT_SIZE];

	if (!r->until)
		return false;
	clock_wall_text(clock_wall_ms(), now);
	return strncmp(now, r->until, strlen(r->until)) > 0;
}

const char *rule_decision_name(enum tier decision)
{
	BUG_IF((size_t)decision >= COUNT_OF(decisions));
	return decisions[decision];
}
