/*
 * Thirteen patterns, tried in one pass over the text. A pattern is a sequence of literal
 * pieces and gaps. A match is tried wherever its first two bytes are; because pieces
 * are fixed and no pattern begins with white space, each byte is read a bounded number
 * of times. The one pattern with free text inside (dd) searches its pieces in order.
 */
#include "blocklist/literal.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

struct text {
	const char *s;
	size_t len;
};

struct span {
	size_t start, end;
};

/* Conditions on the text around a match. */
enum edge {
	EDGE_NONE = 0,
	EDGE_WORD_BEFORE = 1, /* no word character before it */
	EDGE_WORD_AFTER = 2,  /* no word character after it */
	EDGE_WORD_NEXT = 4,   /* a word character after it */
	EDGE_TEXT_END = 8,    /* only white space after it */
};

struct rule {
	const char *id;
	const char *shape; /* the pattern as people write it */
	/*
	 * The matcher's form. ' ' is one or more white space, '~' is any amount of
	 * it, anything else stands for itself.
	 */
	const char *pattern;
	unsigned edges; /* enum edge */
	const char *suggestion;
	/* Instead of @pattern, if that cannot express it. */
	bool (*find)(const struct text *t, struct span *m);
};

static bool literal_find_dd(const struct text *t, struct span *m);

#define AVOID_POWER \
	"Ask the user to do it. If the word is only data here, ask the operator for " \
	"blocklist.literal_match=command"

static const struct rule rules[] = {
	{ "literal.rm_root", "rm -rf / at the end", "rm -rf /", EDGE_WORD_BEFORE | EDGE_TEXT_END,
	  "Name one path in the workspace, for example: rm -rf ./build", NULL },
	{ "literal.rm_root_glob", "rm -rf /*", "rm -rf /*", EDGE_WORD_BEFORE,
	  "Name one path in the workspace, for example: rm -rf ./build/*", NULL },
	{ "literal.mkfs", "mkfs.<type>", "mkfs.", EDGE_WORD_BEFORE | EDGE_WORD_NEXT,
	  "Make one in an image file: truncate -s 64M ./fs.img && mkfs -t ext4 -F ./fs.img", NULL },
	{ "literal.dd_disk", "dd if=... of=/dev/sd...", NULL, EDGE_NONE,
	  "Write to an image file in the workspace, for example: "
	  "dd if=/dev/zero of=./disk.img bs=1M count=64", literal_find_dd },
	{ "literal.redirect_disk", "> /dev/sd...", ">~/dev/sd", EDGE_NONE,
	  "Write to a file in the workspace, for example: > ./disk.img", NULL },
	{ "literal.chmod_root", "chmod -R 777 / at the end", "chmod -R 777 /",
	  EDGE_WORD_BEFORE | EDGE_TEXT_END,
	  "Change one path in the workspace, and only as far as needed, for example: "
	  "chmod -R u+rwX ./dir", NULL },
	{ "literal.fork_bomb", ":(){ :|:& };:", ":~(~)~{~:~|~:~&~}~;~:", EDGE_NONE,
	  "Bound the number of parallel processes, for example: xargs -P 4", NULL },
	{ "literal.shutdown", "the word shutdown", "shutdown", EDGE_WORD_BEFORE | EDGE_WORD_AFTER,
	  AVOID_POWER, NULL },
	{ "literal.reboot", "the word reboot", "reboot", EDGE_WORD_BEFORE | EDGE_WORD_AFTER,
	  AVOID_POWER, NULL },
	{ "literal.init_runlevel_0", "init 0", "init 0", EDGE_WORD_BEFORE | EDGE_WORD_AFTER,
	  AVOID_POWER, NULL },
	{ "literal.init_runlevel_6", "init 6", "init 6", EDGE_WORD_BEFORE | EDGE_WORD_AFTER,
	  AVOID_POWER, NULL },
	{ "literal.firewalld_off", "systemctl disable firewalld", "systemctl disable firewalld",
	  EDGE_WORD_BEFORE, "Show its state instead: systemctl status firewalld", NULL },
	{ "literal.iptables_flush", "iptables -F", "iptables -F", EDGE_WORD_BEFORE,
	  "List the rules instead: iptables -S", NULL },
};

static const char *const shells[] = {
	"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox", "csh", "tcsh",
	"rbash", "bash-static", "$0", "$SHELL", "SHELL", "$BASH", "eval", "stdin",
};

static bool literal_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool literal_word_at(const struct text *t, size_t at)
{
	return at < t->len && str_is_name_char(t->s[at]);
}

static bool literal_edges_hold(const struct text *t, struct span m, unsigned edges)
{
	if ((edges & EDGE_WORD_BEFORE) && m.start > 0 && str_is_name_char(t->s[m.start - 1]))
		return false;
	if ((edges & EDGE_WORD_AFTER) && literal_word_at(t, m.end))
		return false;
	if ((edges & EDGE_WORD_NEXT) && !literal_word_at(t, m.end))
		return false;
	if (edges & EDGE_TEXT_END)
		for (size_t i = m.end; i < t->len; i++)
			if (!literal_is_space(t->s[i]))
				return false;
	return true;
}

/* Does @pattern match at @start? *@end: after the match. */
static bool literal_match_at(const struct text *t, size_t start, const char *pattern, size_t *end)
{
	size_t i = start;

	for (; *pattern; pattern++) {
		if (*pattern == ' ' || *pattern == '~') {
			if (*pattern == ' ' && (i >= t->len || !literal_is_space(t->s[i])))
				return false;
			while (i < t->len && literal_is_space(t->s[i]))
				i++;
		} else if (i < t->len && t->s[i] == *pattern) {
			i++;
		} else {
			return false;
		}
	}
	*end = i;
	return true;
}

/* The first match of @pattern with @edges from @from on. */
static bool literal_find_pattern(const struct text *t, size_t from, const char *pattern,
				 unsigned edges, struct span *m)
{
	for (size_t i = from; i < t->len; i++) {
		const char *hit = memchr(t->s + i, pattern[0], t->len - i);

		if (!hit)
			return false;
		i = (size_t)(hit - t->s);
		m->start = i;
		if (literal_match_at(t, i, pattern, &m->end) && literal_edges_hold(t, *m, edges))
			return true;
	}
	return false;
}

/* The word dd, then if=, then of=/dev/sd, with any text between them. */
static bool literal_find_dd(const struct text *t, struct span *m)
{
	struct span input, output;

	if (!literal_find_pattern(t, 0, "dd", EDGE_WORD_BEFORE | EDGE_WORD_AFTER, m) ||
	    !literal_find_pattern(t, m->end, "if=", EDGE_NONE, &input) ||
	    !literal_find_pattern(t, input.end, "of=/dev/sd", EDGE_NONE, &output))
		return false;
	m->end = output.end;
	return true;
}

/*
 * Rules by their first byte and by their second, as bits: their intersection for two bytes of the
 * text is the rules to try there, which are few.
 */
static uint16_t first_byte[256], second_byte[256];
static bool begins_filled;

/* The pattern that the rule begins with; dd for the rule that has none. */
static const char *literal_beginning(const struct rule *r)
{
	return r->pattern ? r->pattern : "dd";
}

static void literal_fill_begins(void)
{
	for (size_t r = 0; r < COUNT_OF(rules); r++) {
		const char *p = literal_beginning(&rules[r]);
		uint16_t bit = (uint16_t)(1u << r);
		bool blank = p[1] == ' ' || p[1] == '~';

		first_byte[(unsigned char)p[0]] |= bit;
		for (unsigned c = 0; c < 256; c++)
			if ((blank && literal_is_space((char)c)) || c == (unsigned char)p[1] ||
			    (p[1] == '~' && c == (unsigned char)p[2]))
				second_byte[c] |= bit;
	}
	begins_filled = true;
}

/* The rules still searched for, and the first match of each that was found. */
struct search {
	unsigned left, found;
	struct span spans[COUNT_OF(rules)];
};

static void literal_try_rules(const struct text *t, size_t at, unsigned may, struct search *s)
{
	for (; may; may &= may - 1) {
		unsigned r = (unsigned)__builtin_ctz(may);
		struct span m = { at, at };

		if (rules[r].find) { /* it searches the rest of the text, once */
			s->left &= ~(1u << r);
			if (rules[r].find(t, &s->spans[r]))
				s->found |= 1u << r;
		} else if (literal_match_at(t, at, rules[r].pattern, &m.end) &&
			   literal_edges_hold(t, m, rules[r].edges)) {
			s->spans[r] = m;
			s->found |= 1u << r;
		}
		/* Only rules that precede this one matter now. */
		if (s->found)
			s->left &= (s->found & -s->found) - 1;
	}
}

/* The first rule of the table that matches anywhere in @t. */
static const struct rule *literal_find_rule(const struct text *t, struct span *m)
{
	struct search s = { .left = (1u << COUNT_OF(rules)) - 1 };
	const unsigned char *p = (const unsigned char *)t->s;

	if (!begins_filled)
		literal_fill_begins();
	for (size_t i = 0; i + 1 < t->len; i++) {
		unsigned may = first_byte[p[i]] & second_byte[p[i + 1]] & s.left;

		if (may)
			literal_try_rules(t, i, may, &s);
	}
	if (!s.found)
		return NULL;
	unsigned first = (unsigned)__builtin_ctz(s.found);

	*m = s.spans[first];
	return &rules[first];
}

/* ---- stdin of a shell ---- */

static bool literal_splits_words(char c)
{
	return literal_is_space(c) || (c && strchr(";|&()<>{}!#\\'\"`=", c));
}

static bool literal_is_shell(const char *word, size_t len)
{
	const char *slash = memrchr(word, '/', len);

	if (slash) {
		len -= (size_t)(slash + 1 - word);
		word = slash + 1;
	}
	for (size_t i = 0; i < COUNT_OF(shells); i++)
		if (strlen(shells[i]) == len && memcmp(shells[i], word, len) == 0)
			return true;
	return false;
}

bool literal_names_shell(const char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t start = i;

		while (i < len && !literal_splits_words(s[i]))
			i++;
		if (literal_is_shell(s + start, i - start))
			return true;
		i += i < len;
	}
	return false;
}

/* ---- public ---- */

bool literal_find(const char *s, size_t len, struct literal *out)
{
	const struct text t = { s, len };
	struct span m;
	const struct rule *r = literal_find_rule(&t, &m);

	if (!r)
		return false;
	*out = (struct literal){ .id = r->id, .shape = r->shape,
					   .suggestion = r->suggestion,
					   .start = m.start, .end = m.end };
	return true;
}
