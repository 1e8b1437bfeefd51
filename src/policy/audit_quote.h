/*
 * audit_quote - which quotes are open at a place in a command, byte by byte.
 *
 * For masking: the value of a secret is a shell word, and where that ends depends on the quotes
 * that it stands in. Commands stand in commands (sh -c "mysql -p'x'"), so it follows quotes in
 * quotes: level 0 is the text, level 1 what its quotes hold, and so on. What the deepest level
 * holds is not looked into.
 *
 * It knows words only: no here-documents, no substitutions, and in prose an apostrophe opens a
 * quote. So a caller must not trust it alone to find where something ends.
 */
#ifndef PROCPEN_POLICY_AUDIT_QUOTE_H
#define PROCPEN_POLICY_AUDIT_QUOTE_H

#include <stdbool.h>

#define AUDIT_QUOTE_LEVELS 3

struct audit_quote {
	struct {
		char open;    /* the quote, or 0 */
		bool ansi;    /* it is that of $'...' */
		bool dollar;  /* the byte before was a $ */
		bool escaped; /* the byte before was a backslash that escapes */
	} levels[AUDIT_QUOTE_LEVELS];
	bool in_word, in_comment; /* of level 0 */
	unsigned plain; /* bytes of a name before, as far as they matter */
};

/* Is @c a quote? */
bool audit_quote_is_mark(char c);

/* The start of a text for the shell; or of an argument, which is as if quoted as a whole. */
void audit_quote_init(struct audit_quote *q, bool argument);

/* Step over @c. Returns the level at which it ends words: a blank or separator that is not quoted
 * there; AUDIT_QUOTE_LEVELS: it ends none. */
unsigned audit_quote_step(struct audit_quote *q, char c);

/* How many quotes, one in the other, hold what comes next. */
unsigned audit_quote_depth(const struct audit_quote *q);

/* Does a backslash escape what comes next? */
bool audit_quote_is_escaped(const struct audit_quote *q);

#endif
