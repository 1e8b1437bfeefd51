/*
 * A rule against a simple command. A word of the command is compared as a pattern too: a byte that
 * is not known before it runs stands for any text, so two patterns fit if one text can fit both.
 */
#include "policy/rule.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "blocklist/path.h"
#include "policy/dir.h"

/* Steps of the budget for a word that is compared, besides those for its bytes. */
#define WORK_WORD 2u
/* And for system calls that follow paths. */
#define WORK_REALPATH 3000u
#define WORK_STATS 3000u

/* Part of a word: [s, s + len), with what each byte is (NULL: all known). */
struct rule_part {
	const char *s;
	const uint8_t *kind;
	size_t len;
	size_t gone_from, gone_to; /* may be missing */
	bool guess; /* bytes that are not known may be any; else they fit a * only */
	bool operand; /* it stands behind --, so it is not an option */
};

static bool rule_fits_part_known_at(const struct rule_part *p, size_t i)
{
	return (!p->kind || p->kind[i] == SHELL_LITERAL) && (i < p->gone_from || i >= p->gone_to);
}

static bool rule_fits_part_known(const struct rule_part *p)
{
	for (size_t i = 0; i < p->len; i++)
		if (!rule_fits_part_known_at(p, i))
			return false;
	return true;
}

static struct rule_part rule_fits_part_of(const struct rule *r, const struct shell_word *w)
{
	return (struct rule_part){ w->text.s, w->kind, w->text.len, w->gone_from, w->gone_to,
				   r->guesses, false };
}

/* ---- patterns ---- */

/* The alternative of @all behind *@at, which is the first if that is NULL. False: there is none. */
static bool rule_fits_alternative(const char *all, const char **at, size_t *len)
{
	if (*at && !(*at)[*len])
		return false;
	*at = *at ? *at + *len + 1 : all;
	*len = strcspn(*at, "|");
	return true;
}

/* The places of a pattern of @len bytes that a text has reached: reached[i] is before byte i. None
 * is before @from or behind @to. */
struct rule_reach {
	bool reached[RULE_ONE_MAX + 1];
	const char *pattern;
	size_t len, from, to;
};

/* A * may stand for no text. */
static void rule_fits_reach_stars(struct rule_reach *r)
{
	for (size_t i = r->from; i <= r->to && i < r->len; i++)
		if (r->reached[i] && r->pattern[i] == '*') {
			r->reached[i + 1] = true;
			r->to = i == r->to ? i + 1 : r->to;
		}
}

/* Any byte that a * stands for. */
#define ANY_OF_STAR '\0'

/* Any text: every place behind the first one that is reached. */
static bool rule_fits_reach_any(struct rule_reach *r)
{
	bool any = false;

	r->to = r->len;
	for (size_t i = r->from; i <= r->to; i++)
		any = r->reached[i] |= any;
	return any;
}

static bool rule_fits_reach_byte(struct rule_reach *r, char c)
{
	size_t end = r->to < r->len ? r->to + 1 : r->len;
	bool any = false, before = false;

	for (size_t i = r->from; i <= end; i++) {
		bool here = r->reached[i];

		r->reached[i] = (here && i < r->len && r->pattern[i] == '*') ||
				(before && r->pattern[i - 1] == c && c != '*');
		if (r->reached[i]) {
			r->from = any ? r->from : i;
			r->to = i;
			any = true;
		}
		before = here;
	}
	rule_fits_reach_stars(r);
	return any;
}

/* Most words and programs are others, as the first letter tells. */
static bool rule_fits_letter(const struct rule_part *p, const char *name)
{
	return !p->len || *name == '*' || *name == *p->s || !rule_fits_part_known_at(p, 0);
}

/* And most of those that a * begins end otherwise. */
static bool rule_fits_last_letter(const struct rule_part *p, const char *pattern, size_t len)
{
	char last = pattern[len - 1];

	return !p->len || last == '*' || last == p->s[p->len - 1] ||
	       !rule_fits_part_known_at(p, p->len - 1);
}

/* Can @p be a text that fits the first @len bytes of @pattern? */
static bool rule_fits_pattern(const struct rule_part *p, const char *pattern, size_t len,
			      uint64_t *steps)
{
	struct rule_reach r;
	bool any = true;

	*steps += WORK_WORD;
	if (len && !(rule_fits_letter(p, pattern) && rule_fits_last_letter(p, pattern, len)))
		return false;
	r = (struct rule_reach){ .reached = { true }, .pattern = pattern, .len = len };
	rule_fits_reach_stars(&r);
	for (size_t i = 0; i < p->len && any; i++) {
		*steps += (r.to - r.from) / 4 + 2;
		if (rule_fits_part_known_at(p, i))
			any = rule_fits_reach_byte(&r, p->s[i]);
		else
			any = p->guess ? rule_fits_reach_any(&r)
				       : rule_fits_reach_byte(&r, ANY_OF_STAR);
	}
	return any && r.reached[len];
}

bool rule_text_fits(const char *pattern, const char *text)
{
	const struct rule_part p = { .s = text, .len = strlen(text) };
	uint64_t ignored = 0;

	return rule_fits_pattern(&p, pattern, strlen(pattern), &ignored);
}

/* ---- options ---- */

/* Is it a cluster of short options, such as -xfd? */
static bool rule_fits_part_is_cluster(const struct rule_part *p)
{
	return p->len > 2 && p->s[0] == '-' && p->s[1] != '-' && rule_fits_part_known_at(p, 0) &&
	       rule_fits_part_known_at(p, 1);
}

static bool rule_fits_is_short_option(const char *pattern, size_t len)
{
	return len == 2 && pattern[0] == '-' && pattern[1] != '-' && pattern[1] != '*';
}

static bool rule_fits_cluster_has(const struct rule_part *p, char letter, bool sure)
{
	for (size_t i = 1; i < p->len; i++)
		if (rule_fits_part_known_at(p, i) ? p->s[i] == letter : !sure && p->guess)
			return true;
	return false;
}

/* Does the value, from byte @at on, switch an option off? @guess: of what is not known. */
static bool rule_fits_part_is_off(const struct rule_part *p, size_t at, bool guess)
{
	static const char *const off[] = { "", "0", "f", "n", "no", "off", "none", "null",
					   "false" };

	for (size_t i = at; i < p->len; i++)
		if (!rule_fits_part_known_at(p, i))
			return guess;
	for (size_t i = 0; i < COUNT_OF(off); i++)
		if (strlen(off[i]) == p->len - at && !strncasecmp(off[i], p->s + at, p->len - at))
			return true;
	return false;
}

static bool rule_fits_part_is(const struct rule_part *p, const char *text)
{
	return p->len == strlen(text) && !memcmp(p->s, text, p->len) && rule_fits_part_known(p);
}

static bool rule_fits_is_long_option(const char *pattern, size_t len)
{
	return len > 2 && !strncmp(pattern, "--", 2);
}

/* Is it --name=VALUE of the option --name? */
static bool rule_fits_part_has_value(const struct rule_part *p, const char *pattern, size_t len)
{
	if (!rule_fits_is_long_option(pattern, len) || p->len <= len || p->s[len] != '=' ||
	    memcmp(p->s, pattern, len))
		return false;
	for (size_t i = 0; i <= len; i++)
		if (!rule_fits_part_known_at(p, i))
			return false;
	return true;
}

/* Is it --no-name of the option --name? */
static bool rule_fits_part_is_negation(const struct rule_part *p, const char *pattern, size_t len)
{
	static const char no[] = "--no-";
	const size_t no_len = sizeof(no) - 1;

	return rule_fits_is_long_option(pattern, len) && p->len == no_len + len - 2 &&
	       !memcmp(p->s, no, no_len) && !memcmp(p->s + no_len, pattern + 2, len - 2) &&
	       rule_fits_part_known(p);
}

/* Is it -n=VALUE, or a cluster with it, of the option -n, whose value switches it off? */
static bool rule_fits_part_is_short_off(const struct rule_part *p, const char *pattern, size_t len)
{
	const char *sign = memchr(p->s, '=', p->len);

	return rule_fits_is_short_option(pattern, len) && rule_fits_part_is_cluster(p) && sign &&
	       sign[-1] == pattern[1] &&
	       rule_fits_part_is_off(p, (size_t)(sign + 1 - p->s), p->guess);
}

/* Does it switch one of the alternatives @text off, which stood before it? */
static bool rule_fits_part_revokes(const struct rule_part *p, const char *text)
{
	const char *one = NULL;
	size_t len;

	while (rule_fits_alternative(text, &one, &len))
		if (rule_fits_part_is_negation(p, one, len) ||
		    rule_fits_part_is_short_off(p, one, len) ||
		    (rule_fits_part_has_value(p, one, len) &&
		     rule_fits_part_is_off(p, len + 1, p->guess)))
			return true;
	return false;
}

/* ---- words ---- */

/* A rule that is compared with a command. */
struct rule_search {
	const struct rule *r;
	const struct blocklist_run *run;
	struct rule_miss *miss;
	uint64_t *steps;
	size_t first; /* words are looked for behind this one of the command */
	bool sure;    /* no byte that decides is unknown */
	bool if_on;   /* the last word that sets an option counts */
	bool ignores; /* what the rule ignores does not count */
	bool stars;   /* a * stands for unknown bytes also if @sure */
};

/* Is @p one of the alternatives @text? @sure: no byte that decides is unknown. */
static bool rule_fits_word(const struct rule_search *s, const struct rule_part *p, const char *text,
			   bool sure)
{
	bool may = !sure || rule_fits_part_known(p);
	struct rule_part by_star = *p;
	const char *one = NULL;
	size_t len;

	by_star.guess &= !sure;
	while (rule_fits_alternative(text, &one, &len)) {
		if (p->operand && *one == '-')
			continue;
		if ((may || (s->stars && strspn(one, "*") < len)) &&
		    rule_fits_pattern(&by_star, one, len, s->steps))
			return true;
		if (rule_fits_is_short_option(one, len) && rule_fits_part_is_cluster(p) &&
		    rule_fits_cluster_has(p, one[1], sure) &&
		    !(s->if_on && rule_fits_part_is_short_off(p, one, len)))
			return true;
		if (may && rule_fits_part_has_value(p, one, len) &&
		    !(s->if_on && rule_fits_part_is_off(p, len + 1, false)))
			return true;
	}
	return false;
}

/* May the word become several words? */
static bool rule_fits_part_is_fields(const struct rule_part *p)
{
	for (size_t i = 0; p->kind && i < p->len; i++)
		if (p->kind[i] == SHELL_UNKNOWN_FIELDS || p->kind[i] == SHELL_GLOB)
			return true;
	return false;
}

/* The word @i of the command; behind the last one the file that a redirection has it read, which is
 * as good as a named one, but is never guessed. Not where the rule allows. NULL: none. */
static const struct shell_word *rule_fits_next(const struct rule_search *s, size_t i)
{
	const struct blocklist_run *run = s->run;

	if (i < run->count)
		return &run->words[i];
	return i > run->count || s->r->decision == TIER_AUTONOMOUS ? NULL : run->input_file;
}

/* How the word @text of a rule is among those of a command. */
enum rule_fits_occurs { OCCURS_NOT, OCCURS_ONCE, OCCURS };

/* The length of the option of an alternative "-i *" of ignore, of @len bytes; 0: it is another. */
static size_t rule_fits_value_option(const char *text, size_t len)
{
	static const char behind[] = " *";
	const size_t behind_len = sizeof(behind) - 1;

	return *text == '-' && len > behind_len &&
	       !memcmp(text + len - behind_len, behind, behind_len) ? len - behind_len : 0;
}

/* Does the rule ignore the word @p by itself? */
static bool rule_fits_part_is_ignored(const struct rule_search *s, struct rule_part p)
{
	const struct rule *r = s->r;
	size_t len;

	if (r->guesses && rule_fits_part_is_fields(&p))
		return false;
	p.guess = false;
	for (size_t i = 0; r->ignore && r->ignore[i]; i++)
		for (const char *one = NULL; rule_fits_alternative(r->ignore[i], &one, &len); )
			if (!rule_fits_value_option(one, len) &&
			    rule_fits_pattern(&p, one, len, s->steps))
				return true;
	return false;
}

/* Does the rule ignore the word behind the option @p? In a cluster the first option with a value
 * takes the rest for it, and the next word only if there is no rest. */
static bool rule_fits_part_wants(const struct rule_search *s, const struct rule_part *p)
{
	const struct rule *r = s->r;
	bool cluster = rule_fits_part_is_cluster(p);
	const char *first = NULL;
	size_t len;

	if (!rule_fits_part_known(p))
		return false;
	for (size_t i = 0; r->ignore && r->ignore[i]; i++)
		for (const char *one = NULL; rule_fits_alternative(r->ignore[i], &one, &len); ) {
			size_t name = rule_fits_value_option(one, len);

			*s->steps += WORK_WORD;
			if (name && name == p->len && !memcmp(p->s, one, name))
				return true;
			if (cluster && rule_fits_is_short_option(one, name)) {
				size_t before = first ? (size_t)(first - p->s) : p->len;
				const char *at = memchr(p->s + 1, one[1], before - 1);

				first = at ? at : first;
			}
		}
	return first && first == p->s + p->len - 1;
}

/* Is the first operand the pattern or script of the command, and no file? */
static bool rule_fits_has_pattern(const struct rule_search *s)
{
	const char **options = s->r->pattern_unless;

	for (size_t i = 0; options && options[i]; i++)
		for (size_t j = 1; j < s->run->count; j++) {
			struct rule_part p = rule_fits_part_of(s->r, &s->run->words[j]);

			if (rule_fits_word(s, &p, options[i], false))
				return false;
		}
	return options;
}

/* How far the words of a command were followed, and what the last one of them is. */
struct rule_walk {
	size_t count;
	bool value;    /* the option before takes it */
	bool pattern;  /* the next operand is one */
	bool operands; /* -- came */
	bool unknown;  /* a word is not known, so these are not either */
	bool operand;  /* it is neither an option nor a value that the rule ignores */
	bool aside;    /* it does not count: a value that looks like no option, or the pattern */
};

static void rule_fits_follow(const struct rule_search *s, struct rule_walk *walk)
{
	struct rule_part p = rule_fits_part_of(s->r, &s->run->words[walk->count]);
	bool dash = !walk->operands && p.len > 1 && p.s[0] == '-', option = dash && !walk->value;

	*s->steps += WORK_WORD;
	walk->unknown |= s->r->guesses && !rule_fits_part_known(&p);
	walk->operand = !walk->value && !option;
	walk->aside = !walk->unknown && !dash && (walk->value || walk->pattern);
	walk->pattern &= walk->value || option;
	walk->operands |= option && rule_fits_part_is(&p, "--");
	walk->value = option && rule_fits_part_wants(s, &p);
}

/* Does the rule ignore word @i of the command: by itself, as the value of an option, or as the
 * pattern before the files? @walk: as the last word left it. */
static bool rule_fits_ignores(const struct rule_search *s, struct rule_walk *walk, size_t i)
{
	const struct rule_part p = rule_fits_part_of(s->r, rule_fits_next(s, i));

	if (rule_fits_part_is_ignored(s, p))
		return true;
	while (walk->count < i && walk->count + 1 < s->run->count) {
		if (walk->count++ == s->first)
			walk->pattern = rule_fits_has_pattern(s);
		rule_fits_follow(s, walk);
	}
	return walk->count == i && walk->aside;
}

/* OCCURS_ONCE: as a word that is not known, but is one word, and so no other of the rule's. */
static enum rule_fits_occurs rule_fits_occurs(const struct rule_search *s, const char *text)
{
	enum rule_fits_occurs best = OCCURS_NOT;
	struct rule_walk walk = { .count = 0 };
	const struct shell_word *w;
	bool if_on = s->if_on, operands = false, open = false; /* behind --name of it, alone */

	for (size_t i = s->first + 1; (if_on || best < OCCURS) && (w = rule_fits_next(s, i)); i++) {
		struct rule_part p = rule_fits_part_of(s->r, w);
		bool fits, file = i >= s->run->count;

		p.operand = operands;
		p.guess &= !file;
		fits = rule_fits_word(s, &p, text, s->sure) &&
		       !(s->ignores && rule_fits_ignores(s, &walk, i));
		if (fits)
			best = file || rule_fits_part_known(&p) || rule_fits_part_is_fields(&p)
				       ? OCCURS : OCCURS_ONCE;
		else if (if_on && (rule_fits_part_revokes(&p, text) ||
				   (open && rule_fits_part_is(&p, "false"))))
			best = OCCURS_NOT;
		open = fits && rule_fits_is_long_option(p.s, p.len) && !memchr(p.s, '=', p.len);
		operands |= if_on && rule_fits_part_is(&p, "--");
	}
	return best;
}

static size_t rule_fits_count_unknown(const struct rule_search *s)
{
	size_t count = 0;

	for (size_t i = 1; i < s->run->count; i++) {
		struct rule_part p = rule_fits_part_of(s->r, &s->run->words[i]);

		count += !rule_fits_part_known(&p);
	}
	return count;
}

static bool rule_fits_not(const struct rule_search *s, const char *member, const char *element)
{
	s->miss->member = member;
	s->miss->element = element;
	return false;
}

/* Follow @walk to the next operand, or to what may be it if we guess; else that is options. */
static bool rule_fits_next_operand(const struct rule_search *s, struct rule_walk *walk)
{
	while (++walk->count < s->run->count) {
		struct rule_part p = rule_fits_part_of(s->r, &s->run->words[walk->count]);

		rule_fits_follow(s, walk);
		if (walk->operand && (s->r->guesses || rule_fits_part_known(&p)))
			return true;
	}
	return false;
}

/* The words of an alternative "volume rm" that the operands so far may be: reached[i] is before the
 * one at byte i, or the end. */
struct rule_operands {
	bool reached[RULE_ONE_MAX + 1];
	const char *text;
	size_t len;
	bool any;
};

/* Take the operand @p. What we guess may be no operand, but an option. True: it may be the last. */
static bool rule_fits_take_operand(const struct rule_search *s, struct rule_operands *o,
				   const struct rule_part *p)
{
	bool skips = s->r->guesses && !rule_fits_part_known(p);

	o->any = false;
	for (size_t i = o->len; i-- > 0; ) {
		size_t len;
		bool fits;

		if (!o->reached[i])
			continue;
		len = strcspn(o->text + i, " |");
		fits = rule_fits_pattern(p, o->text + i, len, s->steps);
		/* What may be several words may be all that is left. */
		if (fits && (i + len == o->len || rule_fits_part_is_fields(p)))
			return true;
		if (fits)
			o->reached[i + len + 1] = true;
		o->reached[i] = skips;
		o->any |= fits || skips;
	}
	return false;
}

/* The first place at which the subcommand @text of @len bytes may end, if the operand at @walk and
 * those behind it are its words; else the count. */
static size_t rule_fits_operands(const struct rule_search *s, struct rule_walk walk,
				 const char *text, size_t len)
{
	struct rule_operands o = { .reached = { true }, .text = text, .len = len };

	do {
		struct rule_part p = rule_fits_part_of(s->r, &s->run->words[walk.count]);

		if (s->sure && !rule_fits_part_known(&p))
			break;
		if (rule_fits_take_operand(s, &o, &p)) /* words behind it may be of several, too */
			return walk.count - rule_fits_part_is_fields(&p);
	} while (o.any && rule_fits_next_operand(s, &walk));
	return s->run->count;
}

/* An alternative of the rule's subcommand. */
struct rule_subcommand {
	size_t list;
	const char *one;
	size_t len;
};

/* The place of the last word of the subcommand, for the next alternative @at that fits; the count
 * of words: there is none. */
static size_t rule_fits_subcommand(const struct rule_search *s, struct rule_subcommand *at)
{
	struct rule_walk walk = { .count = 0 };
	size_t place;

	if (!rule_fits_next_operand(s, &walk))
		return s->run->count;
	for (; s->r->subcommand[at->list]; at->list++, at->one = NULL)
		while (rule_fits_alternative(s->r->subcommand[at->list], &at->one, &at->len)) {
			place = rule_fits_operands(s, walk, at->one, at->len);
			if (place < s->run->count)
				return place;
		}
	return s->run->count;
}

/* @first: the place of the last word of the subcommand. */
static bool rule_fits_words_behind(const struct rule_search *s, size_t first)
{
	const struct rule *r = s->r;
	struct rule_search words = *s, without = *s;
	size_t once = 0;

	words.first = without.first = first;
	words.if_on = false;
	words.ignores = r->ignore || r->pattern_unless;
	/* A command without the word may have it, so only a known one excludes, if we guess. */
	without.sure = !s->sure && r->guesses;
	words.stars = true;
	for (size_t i = 0; r->words && r->words[i]; i++) {
		enum rule_fits_occurs occurs = rule_fits_occurs(&words, r->words[i]);

		if (!occurs)
			return rule_fits_not(s, "words", r->words[i]);
		once += occurs == OCCURS_ONCE;
	}
	if (once > 1 && once > rule_fits_count_unknown(s))
		return rule_fits_not(s, "words", r->words[0]);
	for (size_t i = 0; r->without && r->without[i]; i++)
		if (rule_fits_occurs(&without, r->without[i]))
			return rule_fits_not(s, "without", r->without[i]);
	return true;
}

/* Behind any alternative of the subcommand. @if_on: an option that is switched off does not
 * exclude. */
static bool rule_fits_words_occur(struct rule_search *s, bool sure, bool if_on)
{
	struct rule_subcommand at = { .list = 0 };
	size_t first;

	s->sure = sure;
	s->if_on = if_on;
	if (!s->r->subcommand)
		return rule_fits_words_behind(s, 0);
	rule_fits_not(s, "subcommand", s->r->subcommand[0]);
	while ((first = rule_fits_subcommand(s, &at)) < s->run->count)
		if (rule_fits_words_behind(s, first))
			return true;
	return false;
}

/* ---- text ---- */

/* Of a long input only so much is searched: the rest is data more often than statements. */
#define TEXT_MAX (64u << 10)

static bool rule_fits_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static char rule_fits_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Take byte @at of @p: a blank is any white space, a * any text up to the end of the statement. */
static bool rule_fits_reach_text(struct rule_reach *r, const struct rule_part *p, size_t at)
{
	bool known = rule_fits_part_known_at(p, at), blank = known && rule_fits_is_blank(p->s[at]);
	bool any = false, before = false;
	char c = rule_fits_lower(p->s[at]);

	for (size_t i = 0; i <= r->len; i++) {
		bool here = r->reached[i];
		char last = i ? r->pattern[i - 1] : '\0';

		r->reached[i] = (here && i < r->len && r->pattern[i] == '*' && c != ';') ||
				(here && last == ' ' && blank) ||
				(before && (last == ' ' ? blank
							: known && rule_fits_lower(last) == c));
		any |= r->reached[i];
		before = here && (i == r->len || r->pattern[i] != '*');
	}
	rule_fits_reach_stars(r);
	return any;
}

/* All places of the phrase are followed at once, so that the time does not depend on the text. */
static bool rule_fits_part_says(const struct rule_part *p, const char *phrase, size_t len,
				uint64_t *steps)
{
	size_t end = p->len < TEXT_MAX ? p->len : TEXT_MAX;
	struct rule_reach r;
	bool any = false;
	char first;

	/* A phrase may begin anywhere, so a * before it says nothing. */
	for (; len && *phrase == '*'; len--)
		phrase++;
	first = len ? rule_fits_lower(*phrase) : '\0';
	r = (struct rule_reach){ .pattern = phrase, .len = len, .to = len };
	*steps += WORK_WORD + end / 16;
	for (size_t at = 0; at < end && !r.reached[len]; at++) {
		if (!any && rule_fits_lower(p->s[at]) != first &&
		    !(first == ' ' && rule_fits_is_blank(p->s[at])))
			continue;
		*steps += len / 4 + 1;
		r.reached[0] = true;
		any = rule_fits_reach_text(&r, p, at);
	}
	return r.reached[len];
}

static bool rule_fits_run_says(const struct rule_search *s, const char *phrase, size_t len)
{
	const struct blocklist_run *run = s->run;
	struct rule_part p;

	for (size_t i = 1; i < run->count; i++) {
		p = rule_fits_part_of(s->r, &run->words[i]);
		if (rule_fits_part_says(&p, phrase, len, s->steps))
			return true;
	}
	if (!run->input)
		return false;
	p = rule_fits_part_of(s->r, run->input);
	return rule_fits_part_says(&p, phrase, len, s->steps);
}

/* One of the alternatives @text. */
static bool rule_fits_says(const struct rule_search *s, const char *text)
{
	const char *one = NULL;
	size_t len;

	while (rule_fits_alternative(text, &one, &len))
		if (rule_fits_run_says(s, one, len))
			return true;
	return false;
}

static bool rule_fits_text_occurs(const struct rule_search *s)
{
	const struct rule *r = s->r;

	for (size_t i = 0; r->text && r->text[i]; i++)
		if (!rule_fits_says(s, r->text[i]))
			return rule_fits_not(s, "text", r->text[i]);
	for (size_t i = 0; r->without_text && r->without_text[i]; i++)
		if (rule_fits_says(s, r->without_text[i]))
			return rule_fits_not(s, "without_text", r->without_text[i]);
	return true;
}

/* ---- what an exception covers ---- */

static bool rule_fits_names_letter(const struct rule *r, char letter)
{
	size_t len;

	for (size_t i = 0; r->words[i]; i++)
		for (const char *one = NULL; rule_fits_alternative(r->words[i], &one, &len); )
			if (rule_fits_is_short_option(one, len) && one[1] == letter)
				return true;
	return false;
}

/* Is one of the alternatives @text all of the cluster? */
static bool rule_fits_cluster(const struct rule_part *p, const char *text, uint64_t *steps)
{
	const char *one = NULL;
	size_t len;

	while (rule_fits_alternative(text, &one, &len))
		if (rule_fits_pattern(p, one, len, steps))
			return true;
	return false;
}

/* Does the rule name the word, which is known, or every letter of the cluster? */
static bool rule_fits_names_word(const struct rule_search *s, const struct rule_part *p)
{
	const struct rule *r = s->r;
	bool cluster = rule_fits_part_is_cluster(p);

	for (size_t i = 0; r->words[i]; i++)
		if (cluster ? rule_fits_cluster(p, r->words[i], s->steps)
			    : rule_fits_word(s, p, r->words[i], true))
			return true;
	if (!cluster)
		return false;
	for (size_t i = 1; i < p->len; i++)
		if (!rule_fits_names_letter(r, p->s[i]))
			return false;
	return true;
}

/* All words are known, and a rule with words names each of them. Options before the end of the
 * shortest subcommand that fits must be named, because they may change what it does. */
static bool rule_fits_covers(const struct rule_search *s)
{
	const struct blocklist_run *run = s->run;
	const struct rule *r = s->r;
	struct rule_subcommand at = { .list = 0 };
	struct rule_walk walk = { .count = 0 };
	size_t first = r->subcommand ? run->count : 0, place;

	while (r->subcommand && (place = rule_fits_subcommand(s, &at)) < run->count)
		first = place < first ? place : first;
	while (++walk.count < run->count) {
		struct rule_part p = rule_fits_part_of(r, &run->words[walk.count]);
		bool before = walk.count <= first;

		rule_fits_follow(s, &walk);
		*s->steps += p.len;
		if (!rule_fits_part_known(&p) ||
		    (!(before && walk.operand) &&
		     (r->words ? !rule_fits_names_word(s, &p) : before))) {
			s->miss->word = &run->words[walk.count];
			return false;
		}
	}
	return true;
}

/* ---- program ---- */

/* The name of the program is not known at all. */
static bool rule_fits_program_is_unknown(const struct blocklist_run *run)
{
	for (size_t i = 0; run->program_kind && i < run->program.len; i++)
		if (run->program_kind[i] != SHELL_UNKNOWN &&
		    run->program_kind[i] != SHELL_UNKNOWN_FIELDS)
			return false;
	return run->program_kind && run->program.len;
}

/* Do two paths with the same name at their ends lead to one directory? */
static bool rule_fits_is_same_folder(const char *a, const char *b)
{
	AUTO_FREE char *x = mem_strndup(a, (size_t)(strrchr(a, '/') + 1 - a));
	AUTO_FREE char *y = mem_strndup(b, (size_t)(strrchr(b, '/') + 1 - b));

	return dir_is_same(x, y);
}

/* Does @path lead to one that fits @pattern: in the folder that it is really in, or by a link to a
 * file of the same name? */
static bool rule_fits_leads_to(const char *pattern, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	AUTO_FREE char *folder = mem_strndup(path, (size_t)(name - path));
	AUTO_FREE char *real_folder = dir_real(folder);
	AUTO_FREE char *real = dir_real(path);
	char moved[PATH_MAX + NAME_MAX];

	if (real && !strcmp(strrchr(real, '/') + 1, name) && rule_text_fits(pattern, real))
		return true;
	return real_folder && snprintf(moved, sizeof(moved), "%s/%s", real_folder, name) > 0 &&
	       rule_text_fits(pattern, moved);
}

/* Is the absolute path @written, of the same name, the program @program by another spelling? */
static bool rule_fits_is_spelled(const char *program, const char *written, uint64_t *steps)
{
	AUTO_FREE char *named = mem_strdup(program);
	AUTO_FREE char *folded = mem_strdup(written);

	str_fold_path(named, strlen(named), named);
	str_fold_path(folded, strlen(folded), folded);
	*steps += (strchr(program, '*') ? 2 * WORK_REALPATH : WORK_STATS) + strlen(written);
	if (rule_text_fits(named, folded))
		return true;
	return strchr(program, '*') ? rule_fits_leads_to(named, written)
				    : dir_is_same(program, written) ||
				      rule_fits_is_same_folder(program, written);
}

/* Is the path that is written in the command, which has the name of @program, that program?
 * RULE_MAY_FIT: by another spelling, which may make a decision stricter, not laxer. */
static enum rule_fit rule_fits_path(const char *program, const struct blocklist_run *run,
				    struct rule_work *work)
{
	const char *written = run->program_kind ? shell_word_constant(&run->words[0]) : NULL;
	enum rule_fit fit;
	size_t i = 0;

	if (program[0] != '/' || !written || written[0] != '/' || rule_text_fits(program, written))
		return RULE_FITS;
	for (; i < COUNT_OF(work->paths) && work->paths[i].program; i++)
		if (!strcmp(work->paths[i].program, program))
			return work->paths[i].fit;
	fit = rule_fits_is_spelled(program, written, &work->steps) ? RULE_MAY_FIT
								   : RULE_OTHER_PROGRAM;
	if (i < COUNT_OF(work->paths)) {
		work->paths[i].program = program;
		work->paths[i].fit = fit;
	}
	return fit;
}

static enum rule_fit rule_fits_program(const struct rule *r, const struct blocklist_run *run,
				       struct rule_work *work)
{
	enum rule_fit best = RULE_OTHER_PROGRAM;
	const struct rule_part p = { .s = run->program.s, .kind = run->program_kind,
				     .len = run->program.len, .guess = r->guesses };

	++work->steps;
	if (!r->programs)
		return RULE_FITS;
	for (size_t i = 0; r->names[i] && best < RULE_FITS; i++)
		if (rule_fits_letter(&p, r->names[i]) &&
		    rule_fits_pattern(&p, r->names[i], strlen(r->names[i]), &work->steps)) {
			enum rule_fit fit = rule_fits_path(r->programs[i], run, work);

			best = fit > best ? fit : best;
		}
	return best;
}

static bool rule_fits_program_is_sure(const struct blocklist_run *run)
{
	const struct rule_part p = { .s = run->program.s, .kind = run->program_kind,
				     .len = run->program.len };

	return rule_fits_part_known(&p) && !run->is_function && shell_word_constant(&run->words[0]);
}

/* ---- directory ---- */

static bool rule_fits_is_in(const struct rule *r, const char *path)
{
	return str_path_lies_in(path, r->directory) ||
	       (r->real_directory && str_path_lies_in(path, r->real_directory));
}

/* Where links lead at present, of the rule's path too. Commands can change links: what fits only by
 * them may make a decision stricter, not laxer. */
static bool rule_fits_leads_in(const struct rule *r, const char *path, uint64_t *steps)
{
	AUTO_FREE char *directory = dir_real(r->directory);
	AUTO_FREE char *real = dir_real(path);

	*steps += WORK_REALPATH + WORK_REALPATH;
	return (real && rule_fits_is_in(r, real)) ||
	       (directory && str_path_lies_in(real ? real : path, directory));
}

/* By its name, and where links lead. */
static enum rule_fit rule_fits_directory(const struct rule *r, const struct blocklist_run *run,
					 uint64_t *steps)
{
	char path[512];

	if (!r->directory)
		return RULE_FITS;
	if (!path_dir_text(run->directory, path, sizeof(path)))
		return RULE_MAY_FIT;
	if (rule_fits_is_in(r, path))
		return RULE_FITS;
	return rule_fits_leads_in(r, path, steps) ? RULE_MAY_FIT : RULE_OTHER_DIRECTORY;
}

/* ---- all ---- */

enum rule_fit rule_fits(const struct rule *r, const struct blocklist_run *run,
			struct rule_miss *miss, struct rule_work *work)
{
	struct rule_miss ignored = { .member = NULL };
	struct rule_search s = { .r = r, .run = run, .miss = miss ? miss : &ignored,
				 .steps = &work->steps };
	enum rule_fit program, where;
	bool unknown;

	program = run->count ? rule_fits_program(r, run, work) : RULE_OTHER_PROGRAM;
	if (program == RULE_OTHER_PROGRAM)
		return RULE_OTHER_PROGRAM;
	unknown = rule_fits_program_is_unknown(run);
	/* $X status: some part of it must be known; and a definition alone runs nothing. */
	if (!rule_fits_words_occur(&s, unknown || !r->programs || run->is_idle, true) ||
	    !rule_fits_text_occurs(&s))
		return RULE_OTHER_WORDS;
	if (unknown && r->programs && (run->is_idle || !r->guesses))
		return RULE_OTHER_PROGRAM;
	where = rule_fits_directory(r, run, &work->steps);
	if (where != RULE_FITS)
		return where;
	/* What a value switches off is a guess, so it makes no exception. */
	if (program != RULE_FITS || !rule_fits_program_is_sure(run) ||
	    !rule_fits_words_occur(&s, true, false))
		return RULE_MAY_FIT;
	return rule_fits_covers(&s) ? RULE_FITS : RULE_FITS_MORE;
}
