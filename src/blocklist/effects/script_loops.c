#include "blocklist/effects/script_loops.h"

#include <stdint.h>
#include <string.h>

/* Bytes looked back for the start of a line. */
#define LINE_MAX_BYTES 256
/* Tokens before a name, or before a list, that are looked at for the start of the loop. */
#define BEFORE_MAX 64
#define HEAD_MAX 12
/* Steps of the budget to look at a token. */
#define WORK_LOOK 6u

static bool script_loops_look(struct script_reader *r)
{
	return action_charge(r->out, WORK_LOOK);
}

size_t script_indent(const struct script_text *t, size_t i)
{
	const char *s = t->text->text.s;
	size_t start = t->tokens[i].start, from = start;

	while (from && s[from - 1] != '\n' && start - from < LINE_MAX_BYTES)
		from--;
	if (from && s[from - 1] != '\n')
		return SIZE_MAX;
	return strspn(s + from, " \t");
}

static bool script_loops_opens(const struct script_text *t, size_t i)
{
	return script_is_char(t, i, '(') || script_is_char(t, i, '[') || script_is_char(t, i, '{');
}

static bool script_loops_closes(const struct script_text *t, size_t i)
{
	return script_is_char(t, i, ')') || script_is_char(t, i, ']') || script_is_char(t, i, '}');
}

/* Behind the bracket that closes what is open at token @i. */
static size_t script_loops_behind(struct script_reader *r, size_t i)
{
	for (size_t depth = 0; i < r->t.count && script_loops_look(r); i++) {
		depth += script_loops_opens(&r->t, i);
		if (script_loops_closes(&r->t, i) && (!depth || !--depth))
			return i + 1;
	}
	return i;
}

/* Where the head of the loop ends that stands in brackets: for (const NAME of LIST),
 * foreach (LIST as $NAME) and for my $NAME (LIST), with NAME at token @i; 0: it does not. */
static size_t script_loops_head(struct script_reader *r, size_t i)
{
	size_t k = i;
	bool sigil = script_is_char(&r->t, i - 1, '$');

	if (sigil && (script_token_in(&r->t, i - 2, " as ") || script_is_char(&r->t, i + 1, '(')))
		return script_loops_behind(r, i + 1);
	while (k && script_token_in(&r->t, k - 1, " const let var "))
		k--;
	if (!k || !script_is_char(&r->t, k - 1, '(') ||
	    !script_token_in(&r->t, k - 2, " for await "))
		return 0;
	return script_loops_behind(r, i + 1);
}

size_t script_loop_body_end(struct script_reader *r, size_t body)
{
	if (body >= r->t.count || script_is_char(&r->t, body, '{'))
		return script_loops_behind(r, body);
	return script_statement_end(&r->t, body);
}

/*
 * Where the loop ends that gives the name at token @i its items: with its block or its statement;
 * with the bracket around [f(x) for x in l], l.forEach(x => ...) and l.each { |x| ... }; or before
 * a line that is indented no further.
 */
size_t script_loop_end(struct script_reader *r, size_t i)
{
	size_t body = script_loops_head(r, i), depth = 0, indent = script_indent(&r->t, i);

	if (body)
		return script_loop_body_end(r, body);
	for (i++; i < r->t.count && script_loops_look(r); i++) {
		if (!depth && script_new_line(&r->t, i) && script_indent(&r->t, i) <= indent)
			return i;
		depth += script_loops_opens(&r->t, i);
		if (script_loops_closes(&r->t, i) && !depth--)
			return i;
	}
	return i;
}

/* Where it begins: what stands in a bracket before for x in l is part of the loop. */
static size_t script_loops_start(const struct script_text *t, size_t i)
{
	size_t depth = 0;

	for (size_t k = i; k-- > 0 && i - k < BEFORE_MAX;) {
		if (!depth && (script_is_char(t, k, '(') || script_is_char(t, k, '[')))
			return k;
		if (!depth && (script_is_char(t, k, ';') || script_is_char(t, k, '{')))
			return i;
		depth += script_loops_closes(t, k);
		depth -= depth && script_loops_opens(t, k);
	}
	return i;
}

/*
 * Does token @i begin a condition by which a loop may leave out files? Not if __name__ ==
 * "__main__", nor one that asks only if they are there, or what they are: if p.is_dir(), and if
 * p.isdigit() of names in /proc. With "or" nothing is left out of what one of its sides takes.
 */
static bool script_loops_condition(struct script_reader *r, size_t i)
{
	const struct script_text *t = &r->t;
	static const char kinds[] = " __name__ is_dir is_file isdir isfile islink is_symlink "
				    "exists existsSync isDirectory isFile directory file isdigit ";
	bool asks = false;

	if (script_is_char(t, i, '&') && script_is_char(t, i + 1, '&'))
		return true;
	if (!script_token_in(t, i, " if unless case when "))
		return false;
	for (size_t k = i + 1; k < t->count && script_loops_look(r) && !script_is_char(t, k, ':') &&
			       !script_is_char(t, k, '{') && !script_new_line(t, k); k++) {
		if (script_token_in(t, k, " not and ") || script_is_char(t, k, '!') ||
		    script_is_char(t, k, '&'))
			return true;
		asks |= script_token_in(t, k, kinds);
	}
	return !asks;
}

bool script_loop_picks(struct script_reader *r, size_t i)
{
	size_t end = script_loop_end(r, i);

	for (size_t k = script_loops_start(&r->t, i); k < end && script_loops_look(r); k++)
		if (script_loops_condition(r, k))
			return true;
	return false;
}

bool script_loop_over_picks(struct script_reader *r, size_t i)
{
	for (size_t k = i; k-- > 1 && i - k < HEAD_MAX;) {
		if (script_token_in(&r->t, k, " in of ") ||
		    (script_is_char(&r->t, k, '(') && script_is_char(&r->t, k - 2, '$')))
			return script_loop_picks(r, k - 1);
		if (script_is_char(&r->t, k, ';') || script_new_line(&r->t, k + 1))
			break;
	}
	return false;
}
