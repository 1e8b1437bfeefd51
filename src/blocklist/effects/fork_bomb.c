#include "blocklist/effects/fork_bomb.h"

#include <string.h>

#include "base/str.h"
#include "blocklist/command/word.h"

/* Functions beyond this are not compared in pairs: the work is quadratic. */
#define PAIRS_MAX 64

static bool fork_bomb_at(uint32_t from, uint32_t to, uint32_t *start, uint32_t *end)
{
	*start = from;
	*end = to;
	return true;
}

/* Does @word call function @g? "$FUNCNAME" is the function that it stands in. */
static bool fork_bomb_names_function(const struct shell_word *word, const char *g)
{
	const struct shell_unknown *unknown = shell_word_unknown(word, 0);

	if (str_is(word->text.s, g))
		return true;
	return unknown && word->text.len == 1 && str_is(unknown->name, "FUNCNAME");
}

/* Does function @f call @g? *@forks: one of the calls starts a process. */
static bool fork_bomb_calls(const struct shell_script *s, const struct shell_function *f,
			    const char *g, bool *forks)
{
	bool called = false;
	uint32_t before = SHELL_NONE;

	*forks = false;
	for (uint32_t i = f->first; i < f->last && i < s->command_count; i++) {
		const struct shell_command *c = &s->commands[i];

		if (!c->word_count || !fork_bomb_names_function(&c->words[0], g))
			continue;
		if (c->context & SHELL_BACKGROUND)
			*forks = true;
		if (c->piped_from != SHELL_NONE &&
		    (c->piped_from == before ||
		     !(c->context & (SHELL_CONDITIONAL | SHELL_IN_LOOP))))
			*forks = true;
		before = i;
		called = true;
	}
	return called;
}

/* A function that starts itself, through at most one other function, in new processes. */
static bool fork_bomb_of_functions(const struct shell_script *s, uint32_t *start, uint32_t *end)
{
	size_t most = s->function_count < PAIRS_MAX ? s->function_count : PAIRS_MAX;

	for (size_t i = 0; i < s->function_count; i++) {
		const struct shell_function *f = &s->functions[i];
		bool there, back;

		if (fork_bomb_calls(s, f, f->name, &there) && there)
			return fork_bomb_at(f->start, f->end, start, end);
		for (size_t k = 0; i < most && k < i; k++)
			if (fork_bomb_calls(s, f, s->functions[k].name, &there) &&
			    fork_bomb_calls(s, &s->functions[k], f->name, &back) && (there || back))
				return fork_bomb_at(f->start, f->end, start, end);
	}
	return false;
}

/* Is command @i the test of an endless loop, or, if it is for ((;;)), the first in it? *@body: from
 * where on all must be in the background. */
static bool fork_bomb_begins_loop(const struct shell_script *s, uint32_t i, uint32_t *body)
{
	const struct shell_command *c = &s->commands[i];
	bool tests = !(c->context & SHELL_BACKGROUND) && c->word_count == 1 &&
		     word_in(&c->words[0], " : true false ");

	*body = i + tests;
	return (c->context & SHELL_ENDLESS) &&
	       (tests || i == 0 || !(s->commands[i - 1].context & SHELL_ENDLESS));
}

/* while true; do X & done, for ((;;)); do X & done: starts processes and never waits. */
static bool fork_bomb_of_loop(const struct shell_script *s, uint32_t *start, uint32_t *end)
{
	for (uint32_t i = 0, k, body; i < s->command_count; i = k > i ? k : i + 1) {
		k = i + 1;
		if (!fork_bomb_begins_loop(s, i, &body))
			continue;
		k = body;
		while (k < s->command_count && (s->commands[k].context & SHELL_IN_LOOP) &&
		       (s->commands[k].context & SHELL_BACKGROUND))
			k++;
		if (k > body &&
		    (k == s->command_count || !(s->commands[k].context & SHELL_IN_LOOP)))
			return fork_bomb_at(s->commands[i].start, s->commands[k - 1].end, start,
					    end);
	}
	return false;
}

static bool fork_bomb_names_shell(const struct shell_word *w)
{
	const char *name = str_base_name(w->text.s);

	return str_is(name, "sh") || str_is(name, "bash") || str_is(name, "dash");
}

/*
 * Is it $0? The parser replaces $0 by the name of the shell: all bytes of that have one offset,
 * or offsets outside of the command.
 */
static bool fork_bomb_is_itself(const struct shell_command *c)
{
	for (size_t i = 0; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];

		if (!fork_bomb_names_shell(w) || !w->text.at)
			return false;
		if (w->text.at[0] != w->text.at[1] && w->text.at[0] >= c->start &&
		    w->text.at[0] < c->end)
			return false;
	}
	return c->word_count > 0;
}

/* Does the command @last, or one before it, feed the command @i, perhaps through others? */
static bool fork_bomb_feeds(const struct shell_script *s, uint32_t last, uint32_t i)
{
	do
		i = s->commands[i].piped_from;
	while (i != SHELL_NONE && i > last);
	return i != SHELL_NONE;
}

/* $0 & $0, $0 | $0, $0 | cat | $0. One that only something else feeds runs alone. */
static bool fork_bomb_of_self(const struct shell_script *s, uint32_t *start, uint32_t *end)
{
	uint32_t first = SHELL_NONE, last = SHELL_NONE;
	bool forks = false;

	for (uint32_t i = 0; i < s->command_count; i++) {
		const struct shell_command *c = &s->commands[i];

		if (!fork_bomb_is_itself(c))
			continue;
		forks |= (c->context & SHELL_BACKGROUND) ||
			 (last != SHELL_NONE && fork_bomb_feeds(s, last, i));
		if (first == SHELL_NONE)
			first = i;
		last = i;
	}
	return forks && last != first &&
	       fork_bomb_at(s->commands[first].start, s->commands[last].end, start, end);
}

bool fork_bomb_find(const struct shell_script *s, uint32_t *start, uint32_t *end)
{
	return fork_bomb_of_functions(s, start, end) || fork_bomb_of_loop(s, start, end) ||
	       fork_bomb_of_self(s, start, end);
}
