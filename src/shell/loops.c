/*
 * Loops. The body of one over words is walked for each of them, but for many that are alike; that
 * of another one for a turn and, if it assigns variables, for one that follows, or as many as its
 * test has if that compares constants.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "shell/expand.h"

#define WORK_TURN 200u /* of a loop with a test, in another loop */

/* ---- while, until ---- */

/* Walk the body of a loop once. */
static void loops_turn(struct expander *e, const struct ast_node *n)
{
	struct join end, *continues = e->jumps.continues;

	join_start(e, &end);
	end.outer = continues;
	e->jumps.continues = &end;
	eval_walk(e, n->body);
	e->jumps.continues = continues;
	branch_end_jumps(e, &end, n->body);
}

/* Behind a loop: by its end, unless it is @endless, or by a break in it. */
static void loops_end(struct expander *e, struct join *breaks, bool endless)
{
	if (endless && breaks->branches > 0) {
		vars_undo(e, breaks->mark);
		join_end(e, breaks, false);
	} else {
		branch_end_jumps(e, breaks, NULL);
	}
}

/* ast_single(), but for what is negated. */
static const struct ast_node *loops_only_member(const struct ast_node *n)
{
	while (n && !n->negated && (n->type == AST_LIST || n->type == AST_PIPE) && n->body &&
	       !n->body->next)
		n = n->body;
	return n;
}

/* Turns of a loop whose test is known, of a loop in no other; of one in another. */
#define KNOWN_TURNS_MAX 16u
#define KNOWN_INNER_MAX 4u

/* -lt and the like of two numbers, = and != of two texts. */
static enum status loops_compare(const char *a, const char *op, const char *b)
{
	static const char *const ops[] = { "-lt", "-le", "-eq", "-ge", "-gt", "-ne" };
	char *end_a, *end_b;
	long long x = strtoll(a, &end_a, 10), y = strtoll(b, &end_b, 10);
	bool holds[] = { x < y, x <= y, x == y, x >= y, x > y, x != y };

	if (!strcmp(op, "=") || !strcmp(op, "=="))
		return !strcmp(a, b) ? STATUS_OK : STATUS_FAILED;
	if (!strcmp(op, "!="))
		return strcmp(a, b) ? STATUS_OK : STATUS_FAILED;
	for (size_t i = 0; i < COUNT_OF(ops) && *a && *b && !*end_a && !*end_b; i++)
		if (!strcmp(op, ops[i]))
			return holds[i] ? STATUS_OK : STATUS_FAILED;
	return STATUS_UNKNOWN;
}

/* What [ ], [[ ]] or test says of constants; UNKNOWN: of others, or of more than a comparison. */
static enum status loops_constant_test(const struct shell_command *c)
{
	const char *name = c->word_count ? shell_word_constant(&c->words[0]) : NULL, *w[3];
	size_t count = c->word_count - (name && !strcmp(name, "[")) - 1;

	if (!name || (name[0] != '[' && strcmp(name, "test") != 0) || !count || count > 3)
		return STATUS_UNKNOWN;
	for (size_t i = 0; i < count; i++)
		if (!(w[i] = shell_word_constant(&c->words[i + 1])) || c->words[i + 1].gone_to)
			return STATUS_UNKNOWN;
	if (count == 1)
		return *w[0] ? STATUS_OK : STATUS_FAILED;
	if (count == 3)
		return loops_compare(w[0], w[1], w[2]);
	if (!strcmp(w[0], "-n") || !strcmp(w[0], "-z"))
		return !*w[1] == (w[0][1] == 'z') ? STATUS_OK : STATUS_FAILED;
	return STATUS_UNKNOWN;
}

/* A turn of a loop. */
struct turn {
	unsigned number;   /* 1 or more */
	enum status known; /* what its test says, if that compares constants; OK: it runs */
	uint32_t test;     /* the command which that is, or SHELL_NONE */
};

/* Walk the condition of a loop before the turn @t. */
static enum status loops_condition(struct expander *e, const struct ast_node *n,
				   struct turn *t)
{
	const struct ast_node *test = loops_only_member(n->condition);
	uint32_t first = (uint32_t)e->script->command_count;
	enum status s;

	if (!n->condition)
		return STATUS_UNKNOWN;
	s = eval_condition(e, n->condition);
	if (test && test->type == AST_ARITH) {
		t->known = s;
	} else if (test && e->script->command_count == first + 1) {
		t->known = loops_constant_test(&e->script->commands[first]);
		t->test = first;
	}
	if (!n->negated)
		return s;
	t->known = eval_negate(t->known);
	return eval_negate(s);
}

/* Does the test of @t compare the same as that of the turn @before? Then nothing counts. */
static bool loops_tests_same(const struct expander *e, const struct turn *t,
			     const struct turn *before)
{
	const struct shell_command *c = e->script->commands;

	if (t->test == SHELL_NONE || before->test == SHELL_NONE ||
	    c[t->test].word_count != c[before->test].word_count)
		return false;
	for (size_t i = 0; i < c[t->test].word_count; i++)
		if (strcmp(c[t->test].words[i].text.s, c[before->test].words[i].text.s) != 0)
			return false;
	return true;
}

/* May there be a turn behind @t, which has @assigned a variable? */
static bool loops_has_next(struct expander *e, const struct turn *t, const struct turn *before,
			   bool assigned)
{
	if (!assigned || e->loops > 2 || expand_failed(e))
		return false;
	return t->number == 1 ||
	       (t->known == STATUS_OK && !loops_tests_same(e, t, before) &&
		t->number < (e->loops > 1 ? KNOWN_INNER_MAX : KNOWN_TURNS_MAX));
}

static void loops_charge_turn(struct expander *e)
{
	if (e->loops < 2)
		return;
	expand_charge(e, WORK_TURN);
	e->turn_fuel += WORK_TURN;
}

/*
 * Walk the body of a loop that runs any number of times, behind the turn @before. The first turn is
 * followed by a second one if it assigned a variable, so that the body sees its own values: a turn
 * begins with what the one before has left. Others follow while the test is known to hold, and
 * counts. Returns whether the loop goes on: OK: until it is left by a jump.
 */
static enum status loops_body(struct expander *e, const struct ast_node *n,
			      const struct turn *before)
{
	struct join j;
	size_t mark = vars_mark(e);
	struct turn t = { before->number + 1, STATUS_UNKNOWN, SHELL_NONE };
	enum status s = loops_condition(e, n, &t);
	bool runs = t.known == STATUS_OK || (t.number == 1 && before->known == STATUS_OK);

	if (t.number > 1 && before->known == STATUS_OK && t.known == STATUS_FAILED)
		return s; /* it has ended */
	loops_charge_turn(e);
	join_start(e, &j);
	j.test = n;
	j.fails = true;
	loops_turn(e, n);
	if (loops_has_next(e, &t, before, vars_mark(e) != mark))
		loops_body(e, n, &t);
	join_branch(e, &j, false);
	join_end(e, &j, !runs);
	return s;
}

/* The read of a known input that the condition @n is; or NULL. */
static const struct ast_node *loops_read(const struct expander *e, const struct ast_node *n)
{
	n = loops_only_member(n);
	if (!e->io.input || !n || n->type != AST_SIMPLE || !ast_is_word(n->words, "read"))
		return NULL;
	return n;
}

/* Is there a character in it that is not missing in some cases? */
static bool loops_has_certain(const struct value *v)
{
	for (uint32_t i = 0; i < v->len; i++)
		if (char_is_known(&v->v[i]) && !v->v[i].name)
			return true;
	return false;
}

/* A read that ends a loop finds no more of its @input: its variables are empty, or what stands in
 * the last line if that has no end. */
static void loops_end_of_input(struct expander *e, const struct ast_node *n,
			       const struct value *input)
{
	struct place place = eval_save_place(e);
	size_t mark = vars_mark(e);

	redirect_set_input(e, value_text(e, "", n->start));
	eval_walk(e, n);
	if (!input->len || input->v[input->len - 1].c != '\n')
		join_maybe(e, mark);
	eval_restore_place(e, &place);
}

/* ---- for ((...)) ---- */

/* Values of i in for ((i=0; i<n; i++)) that are followed one by one. */
#define TURNS_MAX 6u

/* How many values i has behind @first, if @test is i<limit or i>limit; more than RANGE_MAX: that is
 * not known. *@down: each is less than the one before. */
static uint64_t loops_turns(struct expander *e, const struct chars *test, int64_t first, bool *down)
{
	size_t at = 0, from;
	int64_t limit;

	while (at < test->len && test->v[at].c != '<' && test->v[at].c != '>')
		at++;
	*down = at < test->len && test->v[at].c == '>';
	from = at + 1 + (at + 1 < test->len && test->v[at + 1].c == '=');
	if (from >= test->len ||
	    !expand_arith(e, &(struct chars){ .v = test->v + from, .len = test->len - from },
			  &limit))
		return UINT64_MAX;
	if (*down ? limit > first : limit < first)
		return 0;
	return (*down ? (uint64_t)first - (uint64_t)limit : (uint64_t)limit - (uint64_t)first) -
	       (from == at + 1 && limit != first);
}

/* i of for ((i=2; i<65535; i++)), which is @first, has the next values too, and others. */
static void loops_note_range(struct expander *e, const struct ast_node *n, const char *name,
			     const struct chars *test, int64_t first, bool by_one)
{
	bool down;
	uint64_t turns = loops_turns(e, test, first, &down);
	bool range = turns > RANGE_MAX && turns <= INT64_MAX;
	struct value *all = NULL;
	char number[24];

	for (uint64_t i = 0; i <= turns && i <= TURNS_MAX && (i == 0 || !range); i++) {
		snprintf(number, sizeof(number), "%lld",
			 (long long)((uint64_t)first + (down ? 0 - i : i)));
		values_add(e, &all, value_text(e, number, n->start));
	}
	if (turns > TURNS_MAX || !by_one)
		values_add(e, &all, value_unknown_set(e, range ? SHELL_RANGE : NAME_NUMBER,
							   n->start));
	vars_set(e, name, all);
}

static size_t loops_semicolon(const struct chars *text, size_t at)
{
	while (at < text->len && text->v[at].c != ';')
		at++;
	return at;
}

/* The name at the start of @s, behind blanks; NULL: there is none. */
static const char *loops_first_name(struct expander *e, const char *s)
{
	size_t len = 0;

	s += strspn(s, " \t\n");
	while (str_is_name_char(s[len]))
		len++;
	return len ? shell_copy(e->arena, s, len) : NULL;
}

/* The header of for ((i=1; ...)): the first assignment, and how far i goes. Returns i, or NULL. */
static const char *loops_header(struct expander *e, const struct ast_node *n)
{
	struct chars text = { 0 };
	size_t first_end, test_end;
	const char *start = NULL, *step = NULL, *name = NULL;
	int64_t first;

	expand_parts(e, n->words->parts, &text, EXPAND_ONE);
	first_end = loops_semicolon(&text, 0);
	test_end = loops_semicolon(&text, first_end + 1);
	if (test_end < text.len) {
		start = chars_string(e, text.v, first_end);
		step = chars_string(e, text.v + test_end, text.len - test_end);
	}
	if (start)
		name = loops_first_name(e, start);
	if (name && expand_arith(e, &(struct chars){ .v = text.v, .len = first_end }, &first) &&
	    vars_value(e, name))
		loops_note_range(e, n, name,
				 &(struct chars){ .v = text.v + first_end + 1,
						  .len = test_end - first_end - 1 },
				 first, step && (strstr(step, "++") || strstr(step, "--")));
	else
		name = NULL;
	chars_release(&text);
	return name;
}

/* Behind the loop @name has a value that it has in no turn. */
static void loops_after_header(struct expander *e, const struct ast_node *n, const char *name)
{
	struct value *all = NULL;
	const struct assignment *b = vars_get(e, name);

	if (b)
		values_add(e, &all, b->values);
	values_add(e, &all, value_unknown_set(e, NAME_NUMBER, n->start));
	vars_set(e, name, all);
}

/* Is the text of for ((a; b; c)) one without a b? */
static bool loops_has_no_test(const struct ast_word *w)
{
	const struct ast_part *p = w->parts;
	const char *s = p && !p->next && p->type == PART_TEXT
				? memchr(p->text.s, ';', p->text.len) : NULL;
	const char *end = s ? p->text.s + p->text.len : NULL;

	for (s = s ? s + 1 : NULL; s && s < end && (*s == ' ' || *s == '\t');)
		s++;
	return s && s < end && *s == ';';
}

/* while true, while :, until false, for ((;;)) */
static bool loops_is_endless(const struct ast_node *n)
{
	const struct ast_node *test = loops_only_member(n->condition);

	if (n->words)
		return loops_has_no_test(n->words);
	if (!test || test->type != AST_SIMPLE || !test->words || test->words->next)
		return false;
	return n->negated ? ast_is_word(test->words, "false")
			  : ast_is_word(test->words, "true") || ast_is_word(test->words, ":");
}

enum status loops_while(struct expander *e, const struct ast_node *n)
{
	const struct function *functions = e->memory->functions;
	const struct ast_node *read = loops_read(e, n->condition);
	struct join left, *breaks = e->jumps.breaks;
	size_t from = e->io.capture ? e->io.capture->len : 0;
	const char *name;
	const struct value *input = e->io.input;
	bool reads = read && loops_has_certain(input), endless;
	const struct turn none = { 0, reads ? STATUS_OK : STATUS_UNKNOWN, SHELL_NONE };
	bool in_background = e->context & SHELL_BACKGROUND;

	name = n->words ? loops_header(e, n) : NULL;
	join_start(e, &left);
	left.outer = breaks;
	e->jumps.breaks = &left;
	e->context &= ~(unsigned)SHELL_ENDLESS;
	e->context |= SHELL_IN_LOOP | SHELL_CONDITIONAL |
		      (!in_background && loops_is_endless(n) ? SHELL_ENDLESS : 0);
	e->loops++;
	endless = loops_body(e, n, &none) == STATUS_OK;
	e->loops--;
	e->jumps.breaks = breaks;
	call_leave(e, functions, n->end);
	if (read)
		loops_end_of_input(e, read, input);
	if (!reads && !endless && !n->words)
		branch_may_be_missing(e, from);
	if (name)
		loops_after_header(e, n, name);
	loops_end(e, &left, endless);
	return STATUS_UNKNOWN;
}

/* ---- for ---- */

/*
 * Plain values that a loop is walked for, by the number of loops around it. Numbers mostly count
 * attempts: beyond these, only until the loop has taken so much work, turns of loops in it apart.
 */
static const size_t plain_max[] = { 64, 8, 4, 2 };
#define NUMBERS_MIN 4u
#define NUMBERS_WORK 12000u

static bool loops_is_plain_value(const struct shell_word *w)
{
	for (size_t i = 0; i < w->text.len; i++) {
		char c = w->text.s[i];

		if (w->kind[i] != SHELL_LITERAL ||
		    !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			return false;
	}
	return true;
}

static bool loops_is_number(const struct shell_word *w)
{
	return w->text.s[strspn(w->text.s, "0123456789")] == '\0';
}

/* Does IFS hold blanks only? They leave no empty field, as the : of IFS=: does. */
static bool loops_splits_at_blanks(struct expander *e)
{
	const struct value *ifs = vars_value(e, "IFS");

	for (uint32_t i = 0; ifs && i < ifs->len; i++)
		if (!char_is_known(&ifs->v[i]) || !strchr(" \t\n", ifs->v[i].c))
			return false;
	return ifs || !vars_get(e, "IFS");
}

/* The value in a turn for @w. $x and $(y) that are empty make no turn. */
static struct value *loops_value(struct expander *e, const struct shell_word *w)
{
	struct value *v = word_value(e, w);
	const struct shell_unknown *u = shell_word_unknown(w, 0);
	/* "${a[@]}" keeps empty elements, such as empty lines that mapfile has read. */
	bool array = w->quoted && u && u->name && isalpha((unsigned char)*u->name);
	bool alone = v->len == 1 && !array && loops_splits_at_blanks(e);

	for (uint32_t i = 0; i < v->len; i++)
		if (w->kind[i] == SHELL_UNKNOWN_FIELDS)
			v->v[i].c = alone ? UNKNOWN_SET : UNKNOWN_GIVEN;
	return v;
}

static void loops_values(struct expander *e, const struct ast_node *n, const struct words *values)
{
	size_t level = e->loops < 3 ? e->loops : 3, plain = 0;
	uint64_t begin = e->fuel + e->turn_fuel;
	bool skipped = false;

	e->loops++;
	for (size_t i = 0; i < values->len && !expand_failed(e); i++) {
		if (loops_is_plain_value(&values->v[i]) &&
		    (plain++ >= plain_max[level] ||
		     (plain > NUMBERS_MIN && loops_is_number(&values->v[i]) &&
		      begin - e->fuel - e->turn_fuel > NUMBERS_WORK))) {
			skipped = true;
			continue;
		}
		vars_set(e, n->name, loops_value(e, &values->v[i]));
		loops_turn(e, n);
	}
	if (skipped || values->len == 0) {
		vars_set(e, n->name, value_unknown_set(e, "{..}", n->start));
		loops_turn(e, n);
	}
	e->loops--;
}

static bool loops_same_unknowns(const struct shell_word *a, const struct shell_word *b)
{
	for (uint32_t i = 0; i < a->unknown_count; i++)
		if (a->unknowns[i].is_set != b->unknowns[i].is_set ||
		    a->unknowns[i].is_given != b->unknowns[i].is_given ||
		    strcmp(a->unknowns[i].name, b->unknowns[i].name) != 0)
			return false;
	return true;
}

/* Is @word among the first @count of @words, with the same unknown parts? */
static bool loops_has_word(struct expander *e, const struct words *words, size_t count,
			   const struct shell_word *word)
{
	expand_charge(e, count);
	for (size_t i = 0; i < count; i++) {
		const struct shell_word *w = &words->v[i];

		if (w->text.len == word->text.len && w->unknown_count == word->unknown_count &&
		    !w->gone_to && !word->gone_to && !w->content && !word->content &&
		    memcmp(w->text.s, word->text.s, w->text.len) == 0 &&
		    memcmp(w->kind, word->kind, w->text.len) == 0 && loops_same_unknowns(w, word))
			return true;
	}
	return false;
}

/*
 * The words of a loop, in each choice of values; those of later choices that are new. @last: the
 * last one of each choice, which the variable has afterwards. Returns whether there are several.
 */
static bool loops_words(struct expander *e, const struct ast_node *n, struct words *out,
			struct value **last)
{
	static struct ast_param all = { .name = "@" };
	struct ast_part part = { .type = PART_PARAM, .quoted = true, .param = &all };
	struct ast_part quotes = { .type = PART_TEXT, .quoted = true, .next = &part };
	struct ast_word word = { .parts = &quotes, .start = n->start, .end = n->end };
	struct choice c;

	choice_start(e, &c);
	while (choice_next(e, &c)) {
		struct words words = { 0 };
		size_t before = out->len;

		if (n->plain_for)
			expand_word(e, &word, &words);
		for (const struct ast_word *w = n->words; w && !expand_failed(e); w = w->next)
			expand_word(e, w, &words);
		for (size_t i = 0; i < words.len && !expand_failed(e); i++)
			if (!loops_has_word(e, out, before, &words.v[i]))
				word_add(e, out, &words.v[i]);
		if (words.len > 0)
			values_add(e, last, word_value(e, &words.v[words.len - 1]));
		words_release(&words);
	}
	choice_end(e, &c);
	return c.count > 1;
}

/* Behind the loop its variable is @last, of @several choices, or what the body assigns. */
static void loops_after_words(struct expander *e, const struct ast_node *n, struct value *last,
			      bool several)
{
	const struct assignment *b = vars_get(e, n->name);

	if (!b || !last || !(several || last->other))
		return;
	values_add(e, &last, b->values); /* the body may assign it */
	vars_set(e, n->name, last);
}

/* May there be no turn, since all of @words come from $x or $(...), which may be empty? */
static bool loops_may_have_none(const struct words *words)
{
	for (size_t i = 0; i < words->len; i++) {
		const struct shell_word *w = &words->v[i];

		if (w->quoted || w->text.len != 1 || w->kind[0] != SHELL_UNKNOWN_FIELDS)
			return false;
	}
	return true;
}

enum status loops_for(struct expander *e, const struct ast_node *n)
{
	struct words values = { 0 };
	struct value *last = NULL;
	size_t from = e->io.capture ? e->io.capture->len : 0;
	const struct function *functions = e->memory->functions;
	bool several = loops_words(e, n, &values, &last);
	size_t mark = vars_mark(e);
	struct join left, *breaks = e->jumps.breaks;

	join_start(e, &left);
	left.outer = breaks;
	e->jumps.breaks = &left;
	e->context |= SHELL_IN_LOOP;
	loops_values(e, n, &values);
	e->jumps.breaks = breaks;
	loops_after_words(e, n, last, several);
	loops_end(e, &left, false);
	if (loops_may_have_none(&values)) {
		join_maybe(e, mark);
		branch_may_be_missing(e, from);
		call_leave(e, functions, n->end);
	}
	words_release(&values);
	return STATUS_UNKNOWN;
}
