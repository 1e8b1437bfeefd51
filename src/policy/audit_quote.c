#include "policy/audit_quote.h"

#include <string.h>

#include "base/str.h"

#define ARGUMENT 1 /* as a quote: one that nothing closes */

/* So many bytes of a name leave no backslash and no $ behind: more of them change nothing. */
#define SETTLED 2

void audit_quote_init(struct audit_quote *q, bool argument)
{
	*q = (struct audit_quote){ .in_word = argument };
	if (argument)
		q->levels[0].open = ARGUMENT;
}

bool audit_quote_is_mark(char c)
{
	return c == '"' || c == '\'';
}

static bool audit_quote_is_end(char c)
{
	return c != '\0' && strchr(" \t\r\n`&|;", c);
}

/* Is a backslash more than itself? In quotes within quotes, which may be JSON or Python as well as
 * shell, always. */
static bool audit_quote_can_escape(const struct audit_quote *q, unsigned level)
{
	char open = q->levels[level].open;

	return open != ARGUMENT && (open != '\'' || level > 0 || q->levels[level].ansi);
}

static unsigned audit_quote_feed(struct audit_quote *q, unsigned level, char c);

/* @c follows a backslash at @level. */
static unsigned audit_quote_feed_escaped(struct audit_quote *q, unsigned level, char c)
{
	q->levels[level].escaped = false;
	if (c == '\n')
		return AUDIT_QUOTE_LEVELS;
	if (q->levels[level].open == '"' && !strchr("$`\"\\", c))
		audit_quote_feed(q, level + 1, '\\');
	return audit_quote_feed(q, level + 1, c);
}

/* @c is not quoted at @level. */
static unsigned audit_quote_feed_bare(struct audit_quote *q, unsigned level, char c)
{
	bool dollar = q->levels[level].dollar;

	q->levels[level].dollar = c == '$';
	if (audit_quote_is_end(c)) {
		memset(q->levels + level, 0, (AUDIT_QUOTE_LEVELS - level) * sizeof(q->levels[0]));
		return level;
	}
	if (!audit_quote_is_mark(c))
		return audit_quote_feed(q, level + 1, c);
	q->levels[level].open = c;
	q->levels[level].ansi = dollar;
	return AUDIT_QUOTE_LEVELS;
}

static unsigned audit_quote_feed(struct audit_quote *q, unsigned level, char c)
{
	if (level == AUDIT_QUOTE_LEVELS)
		return level;
	if (q->levels[level].escaped)
		return audit_quote_feed_escaped(q, level, c);
	if (c == '\\' && audit_quote_can_escape(q, level)) {
		q->levels[level].escaped = true;
		return AUDIT_QUOTE_LEVELS;
	}
	if (!q->levels[level].open)
		return audit_quote_feed_bare(q, level, c);
	if (c != q->levels[level].open)
		return audit_quote_feed(q, level + 1, c);
	q->levels[level].open = 0;
	return AUDIT_QUOTE_LEVELS;
}

/* An apostrophe in a comment opens nothing. */
static unsigned audit_quote_step_comment(struct audit_quote *q, char c)
{
	q->in_comment = c != '\n';
	return audit_quote_is_end(c) ? 0 : AUDIT_QUOTE_LEVELS;
}

unsigned audit_quote_step(struct audit_quote *q, char c)
{
	const bool escaped = q->levels[0].escaped, plain = str_is_name_char(c);
	unsigned ends;

	if (plain && q->plain == SETTLED)
		return AUDIT_QUOTE_LEVELS;
	q->plain = plain ? q->plain + 1 : 0;
	q->in_comment |= c == '#' && !q->in_word;
	if (q->in_comment) {
		q->plain = 0;
		return audit_quote_step_comment(q, c);
	}
	ends = audit_quote_feed(q, 0, c);
	/* behind a "(" a comment may follow at once */
	q->in_word = ends > 0 && (c != '(' || escaped || q->levels[0].open);
	return ends;
}

unsigned audit_quote_depth(const struct audit_quote *q)
{
	unsigned depth = 0;

	while (depth < AUDIT_QUOTE_LEVELS && q->levels[depth].open)
		depth++;
	return depth;
}

bool audit_quote_is_escaped(const struct audit_quote *q)
{
	const unsigned depth = audit_quote_depth(q); /* what is deeper is one byte of this level */

	for (unsigned level = 0; level <= depth && level < AUDIT_QUOTE_LEVELS; level++)
		if (q->levels[level].escaped)
			return true;
	return false;
}
